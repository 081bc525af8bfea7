package oracle;

import static oracle.Compaction.compactStep;
import static oracle.Json.JSON;
import static oracle.Reads.io;
import static oracle.Reflect.inv;
import static oracle.Tables.createTable;
import static oracle.Tables.load;
import static oracle.Tables.strMap;

import com.sun.management.OperatingSystemMXBean;

import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.serializer.InternalSerializers;
import org.apache.paimon.data.serializer.Serializer;
import org.apache.paimon.format.FileFormat;
import org.apache.paimon.format.FormatReaderContext;
import org.apache.paimon.format.FormatReaderFactory;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.options.Options;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.RowType;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The phases of one scenario on one table, each with its time. */
final class Phases {
    final JsonNode sc;
    final String inputs, dir;
    final Map<String, List<double[]>> times;
    final Map<String, ObjectNode> facts;
    final Map<String, Long> id = new HashMap<>();
    long commit = 0;

    Phases(
            JsonNode sc,
            String inputs,
            String dir,
            Map<String, List<double[]>> times,
            Map<String, ObjectNode> facts) {
        this.sc = sc;
        this.inputs = inputs;
        this.dir = dir;
        this.times = times;
        this.facts = facts;
    }

    void all() throws Exception {
        createTable(sc, dir);
        for (JsonNode p : sc.get("phases")) phase(p);
    }

    interface Work {
        long go() throws Exception;
    }

    void time(String name, Work w) throws Exception {
        System.gc();
        resetPeak();
        OperatingSystemMXBean os =
                (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long c = os.getProcessCpuTime(), t = System.nanoTime();
        long rows = w.go();
        double wall = (System.nanoTime() - t) / 1e9, cpu = (os.getProcessCpuTime() - c) / 1e9;
        if (times != null)
            times.computeIfAbsent(name, k -> new ArrayList<>())
                    .add(new double[] {wall, cpu, rows, peakMb()});
    }

    static void resetPeak() {
        try {
            Files.write(Paths.get("/proc/self/clear_refs"), "5".getBytes());
        } catch (Exception e) {
        }
    }

    static double peakMb() throws Exception {
        for (String l : Files.readAllLines(Paths.get("/proc/self/status")))
            if (l.startsWith("VmHWM:")) return Long.parseLong(l.replaceAll("\\D+", "")) / 1024.0;
        return 0;
    }

    FileStoreTable table(JsonNode p) {
        FileStoreTable t = load(dir);
        return p.has("dynamic") ? t.copy(strMap(p.get("dynamic"))) : t;
    }

    void phase(JsonNode p) throws Exception {
        String name = p.get("name").asText();
        switch (p.get("op").asText()) {
            case "write":
                {
                    for (JsonNode in : p.get("inputs")) {
                        List<GenericRow> rows = input(in.asText(), p);
                        Work w = () -> write(p, rows);
                        if (p.path("sum").asBoolean(true)) acc(name, w);
                        else time(name, w);
                    }
                    flush(name);
                    break;
                }
            case "compact":
                time(
                        name,
                        () -> {
                            long n =
                                    table(p).store().newScan().plan().files().stream()
                                            .mapToLong(e -> e.file().rowCount())
                                            .sum();
                            compactStep(
                                    ctx(),
                                    JSON.createObjectNode()
                                            .put("op", "compact")
                                            .put("full", p.path("full").asBoolean(true))
                                            .set(
                                                    "dynamic",
                                                    p.has("dynamic")
                                                            ? p.get("dynamic")
                                                            : JSON.createObjectNode()));
                            return n;
                        });
                break;
            case "read":
                {
                    int n = p.path("repeat").asInt(1);
                    for (int i = 0; i < n; i++) time(name, () -> read(p));
                    break;
                }
            default:
                throw new IllegalArgumentException();
        }
        if (times != null) facts.put(name, facts(p));
    }

    Session ctx() {
        Session c = new Session(dir);
        c.user = "bench-" + dir.hashCode();
        c.ids.put(c.user, commit++);
        return c;
    }

    double[] sum;

    void acc(String name, Work w) throws Exception {
        Map<String, List<double[]>> m = new HashMap<>();
        Phases b = new Phases(sc, inputs, dir, m, facts);
        b.time(name, w);
        double[] d = m.get(name).get(0);
        if (sum == null) sum = new double[4];
        for (int i = 0; i < 3; i++) sum[i] += d[i];
        sum[3] = Math.max(sum[3], d[3]);
    }

    void flush(String name) {
        if (sum != null && times != null)
            times.computeIfAbsent(name, k -> new ArrayList<>()).add(sum);
        sum = null;
    }

    /** The input rows, in memory, before the clock starts. */
    List<GenericRow> input(String file, JsonNode p) throws Exception {
        RowType type = table(p).rowType();
        List<GenericRow> rows = new ArrayList<>();
        java.nio.file.Path f = Paths.get(inputs, file);
        FileFormat ff = FileFormat.fromIdentifier("parquet", new Options());
        Object rf;
        try {
            rf = inv(ff, "createReaderFactory", type, type, new ArrayList<>());
        } catch (NoSuchMethodException e) {
            rf = inv(ff, "createReaderFactory", type, new ArrayList<>());
        }
        LocalFileIO io = LocalFileIO.create();
        Path path = new Path(f.toAbsolutePath().toString());
        FormatReaderContext ctx = new FormatReaderContext(io, path, Files.size(f));
        InternalRow.FieldGetter[] g = new InternalRow.FieldGetter[type.getFieldCount()];
        List<Serializer<Object>> copies = new ArrayList<>();
        for (int i = 0; i < g.length; i++) {
            g[i] = InternalRow.createFieldGetter(type.getTypeAt(i), i);
            copies.add(InternalSerializers.create(type.getTypeAt(i)));
        }
        try (RecordReader<InternalRow> r = ((FormatReaderFactory) rf).createReader(ctx)) {
            RecordReader.RecordIterator<InternalRow> it;
            while ((it = r.readBatch()) != null) {
                InternalRow x;
                while ((x = it.next()) != null) {
                    GenericRow o = new GenericRow(g.length);
                    for (int i = 0; i < g.length; i++) {
                        Object v = x.isNullAt(i) ? null : g[i].getFieldOrNull(x);
                        // texts and nested values are views of the reader's batch
                        o.setField(i, v == null ? null : copies.get(i).copy(v));
                    }
                    rows.add(o);
                }
                it.releaseBatch();
            }
        }
        return rows;
    }

    long write(JsonNode p, List<GenericRow> rows) throws Exception {
        FileStoreTable t = table(p);
        String user = "bench";
        long cid = ++commit;
        try (TableWriteImpl<?> w = t.newWrite(user);
                TableCommitImpl m = t.newCommit(user)) {
            w.withIOManager(io());
            if (p.has("bucket")) {
                int bucket = p.get("bucket").asInt();
                for (GenericRow r : rows) w.write(r, bucket);
            } else Writes.writeRows(t, w, user, false, rows);
            m.commit(cid, w.prepareCommit(true, cid));
        }
        return rows.size();
    }

    static volatile long sink;

    /** Reads every column of every row and touches each value. */
    long read(JsonNode p) throws Exception {
        FileStoreTable t = table(p);
        ReadBuilder rb = t.newReadBuilder();
        RowType type = rb.readType();
        InternalRow.FieldGetter[] g = new InternalRow.FieldGetter[type.getFieldCount()];
        for (int i = 0; i < g.length; i++)
            g[i] = InternalRow.createFieldGetter(type.getTypeAt(i), i);
        long n = 0, h = 0;
        List<Split> sp = new ArrayList<>(rb.newScan().plan().splits());
        try (RecordReader<InternalRow> r = rb.newRead().withIOManager(io()).createReader(sp)) {
            RecordReader.RecordIterator<InternalRow> it;
            while ((it = r.readBatch()) != null) {
                InternalRow x;
                while ((x = it.next()) != null) {
                    n++;
                    for (InternalRow.FieldGetter f : g) if (f.getFieldOrNull(x) != null) h++;
                }
                it.releaseBatch();
            }
        }
        sink += h;
        return n;
    }

    ObjectNode facts(JsonNode p) {
        ObjectNode o = JSON.createObjectNode();
        FileStoreTable t = load(dir);
        List<ManifestEntry> es = t.store().newScan().plan().files();
        o.put("live_files", es.size())
                .put("live_bytes", es.stream().mapToLong(e -> e.file().fileSize()).sum())
                .put("live_rows_in_files", es.stream().mapToLong(e -> e.file().rowCount()).sum());
        Map<Integer, Integer> lv = new TreeMap<>();
        for (ManifestEntry e : es) lv.merge(e.file().level(), 1, Integer::sum);
        o.set("files_by_level", JSON.valueToTree(lv));
        return o;
    }
}
