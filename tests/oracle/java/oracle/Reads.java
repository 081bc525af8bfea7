package oracle;

import static oracle.Json.JSON;
import static oracle.Json.cmp;
import static oracle.Json.rowJson;
import static oracle.Main.out;
import static oracle.Tables.loadAny;

import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.EndOfScanException;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.StreamTableScan;
import org.apache.paimon.table.source.TableRead;
import org.apache.paimon.table.source.TableScan;
import org.apache.paimon.types.RowType;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Batch and streaming reads. */
final class Reads {
    static IOManager io() {
        return IOManager.create(System.getProperty("java.io.tmpdir"));
    }

    static List<ObjectNode> rows(
            Table t, List<Split> splits, TableRead read, boolean kind, RowType type)
            throws Exception {
        List<ObjectNode> rows = new ArrayList<>();
        try (RecordReader<InternalRow> rr = read.createReader(splits)) {
            RecordReader.RecordIterator<InternalRow> it;
            while ((it = rr.readBatch()) != null) {
                InternalRow r;
                while ((r = it.next()) != null) {
                    ObjectNode o = JSON.createObjectNode();
                    if (kind) o.put("_kind", r.getRowKind().shortString());
                    o.setAll(rowJson(type, r));
                    rows.add(o);
                }
                it.releaseBatch();
            }
        }
        return rows;
    }

    static List<ObjectNode> readTable(Table t, boolean kind) throws Exception {
        ReadBuilder rb = t.newReadBuilder();
        TableScan scan = rb.newScan();
        List<Split> splits = new ArrayList<>(scan.plan().splits());
        List<ObjectNode> rows =
                rows(t, splits, rb.newRead().withIOManager(io()), kind, rb.readType());
        sort(rows, sortKeys(t));
        return rows;
    }

    static List<String> sortKeys(Table t) {
        return t.primaryKeys();
    }

    static void sort(List<ObjectNode> rows, List<String> keys) {
        rows.sort(
                (x, y) -> {
                    for (String k : keys) {
                        if (!x.has(k) || !y.has(k)) continue;
                        int c = cmp(x.get(k), y.get(k));
                        if (c != 0) return c;
                    }
                    return keys.isEmpty() ? cmp(x, y) : 0;
                });
    }

    static int read(Args a) throws Exception {
        Table t = loadAny(a.pos(0), a.dyn);
        String where = a.opts.get("where");
        if (where == null) {
            for (ObjectNode o : readTable(t, a.flag("rowkind"))) out.println(o);
            return 0;
        }
        ReadBuilder rb = t.newReadBuilder().withFilter(condition(t.rowType(), JSON.readTree(where)));
        List<Split> splits = new ArrayList<>(rb.newScan().plan().splits());
        List<ObjectNode> rows = rows(t, splits, rb.newRead().withIOManager(io()), false, rb.readType());
        sort(rows, sortKeys(t));
        for (ObjectNode o : rows) out.println(o);
        return 0;
    }

    /** {"column": .., "op": "equal", "values": [..]}; what Java cannot leave out comes, too. */
    static Predicate condition(RowType type, JsonNode c) throws Exception {
        PredicateBuilder b = new PredicateBuilder(type);
        int at = type.getFieldIndex(c.get("column").asText());
        List<Object> values = new ArrayList<>();
        for (JsonNode v : c.path("values")) values.add(Values.toInternal(type.getTypeAt(at), v));
        switch (c.get("op").asText()) {
            case "equal":
                return b.equal(at, values.get(0));
            case "notEqual":
                return b.notEqual(at, values.get(0));
            case "lessThan":
                return b.lessThan(at, values.get(0));
            case "greaterOrEqual":
                return b.greaterOrEqual(at, values.get(0));
            case "in":
                return b.in(at, values);
            case "isNull":
                return b.isNull(at);
            default:
                throw new IllegalArgumentException(c.toString());
        }
    }

    /** Every snapshot's changes as a streaming reader sees them. */
    static List<ObjectNode> streamRows(FileStoreTable t, long from, Map<String, String> dyn)
            throws Exception {
        return streamRows(t, from, dyn, false);
    }

    /** Engines read a stream under the newest schema, the table API under that of its first snapshot. */
    static List<ObjectNode> streamRows(
            FileStoreTable t, long from, Map<String, String> dyn, boolean newestSchema)
            throws Exception {
        Map<String, String> o = new HashMap<>(dyn);
        o.put("scan.mode", "from-snapshot");
        o.put("scan.snapshot-id", String.valueOf(from));
        Table c = newestSchema ? t.copyWithoutTimeTravel(o) : t.copy(o);
        ReadBuilder rb = c.newReadBuilder();
        StreamTableScan scan = rb.newStreamScan();
        TableRead read = rb.newRead().withIOManager(io());
        long latest = t.snapshotManager().latestSnapshotId();
        List<ObjectNode> res = new ArrayList<>();
        while (true) {
            Long before = scan.checkpoint();
            if (before != null && before > latest) break;
            TableScan.Plan plan;
            try {
                plan = scan.plan();
            } catch (EndOfScanException e) {
                break;
            }
            Long after = scan.checkpoint();
            List<ObjectNode> rows =
                    rows(c, new ArrayList<>(plan.splits()), read, true, rb.readType());
            sort(rows, sortKeys(c));
            for (ObjectNode r : rows) {
                ObjectNode n = JSON.createObjectNode();
                n.put("_snapshot", after - 1);
                n.setAll(r);
                res.add(n);
            }
            if (before != null && plan.splits().isEmpty() && after.equals(before)) break;
        }
        return res;
    }

    static int stream(Args a) throws Exception {
        FileStoreTable t = (FileStoreTable) loadAny(a.pos(0), null);
        long from =
                a.opts.containsKey("from")
                        ? Long.parseLong(a.opts.get("from"))
                        : t.snapshotManager().earliestSnapshotId();
        for (ObjectNode o : streamRows(t, from, a.dyn, a.flag("newest-schema"))) out.println(o);
        return 0;
    }
}
