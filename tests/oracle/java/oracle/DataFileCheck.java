package oracle;

import static oracle.FileJson.keyType;
import static oracle.FileJson.valueStatsCols;
import static oracle.Main.rootMessage;
import static oracle.Reflect.has;
import static oracle.Reflect.inv;

import org.apache.paimon.KeyValue;
import org.apache.paimon.KeyValueFileStore;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;

import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** Compares one data file with its manifest entry: rows, keys, sequence numbers, statistics. */
final class DataFileCheck {
    final Fsck fsck;

    DataFileCheck(Fsck fsck) {
        this.fsck = fsck;
    }

    void dataFile(FileStoreTable t, ManifestEntry e, String who, boolean noData) throws Exception {
        DataFileMeta f = e.file();
        java.nio.file.Path p = fsck.path(t, e, null);
        fsck.reach(p);
        for (String x : f.extraFiles()) {
            java.nio.file.Path q = fsck.path(t, e, x);
            fsck.reach(q);
            if (!Files.exists(q)) fsck.bad(who + ": extra file " + q + " is missing");
        }
        if (!Files.exists(p)) {
            fsck.bad(who + ": data file " + Paths.get(fsck.dir).relativize(p) + " is missing");
            return;
        }
        if (fsck.checked.containsKey(p.toString())) return;
        fsck.checked.put(p.toString(), "");
        fsck.files++;
        if (Files.size(p) != f.fileSize())
            fsck.bad(
                    who
                            + ": "
                            + f.fileName()
                            + " size "
                            + Files.size(p)
                            + ", manifest says "
                            + f.fileSize());
        if (noData) return;
        try {
            if (t.primaryKeys().isEmpty()) append(t, e, who);
            else keyValue(t, e, who);
        } catch (Throwable x) {
            fsck.bad(who + ": " + f.fileName() + " cannot be read: " + rootMessage(x));
        }
    }

    FileStoreTable asWritten(FileStoreTable t, DataFileMeta f) throws Exception {
        if (f.schemaId() == t.schema().id()) return t;
        TableSchema old = new SchemaManager(t.fileIO(), t.location()).schema(f.schemaId());
        Map<String, String> o = new HashMap<>(old.options());
        o.put("path", t.location().toString());
        return t.copy(old.copy(o));
    }

    void keyValue(FileStoreTable cur, ManifestEntry e, String who) throws Exception {
        DataFileMeta f = e.file();
        FileStoreTable t = asWritten(cur, f);
        TableSchema s = t.schema();
        KeyValueFileStore st = (KeyValueFileStore) t.store();
        Object b = inv(inv(st, "newReaderFactoryBuilder"), "copyWithoutProjection");
        Object fac = inv(b, "build", e.partition(), e.bucket(), DeletionVector.emptyFactory());
        Object rdr;
        try {
            rdr = inv(fac, "createRecordReader", f);
        } catch (NoSuchMethodException x) {
            rdr =
                    inv(
                            fac,
                            "createRecordReader",
                            f.schemaId(),
                            f.fileName(),
                            f.fileSize(),
                            f.level());
        }
        Comparator<InternalRow> kc = st.newKeyComparator();
        RowType kt = keyType(s);
        InternalRowSerializer ks = new InternalRowSerializer(kt);
        boolean changelog = who.endsWith("changelog");
        long n = 0, dels = 0, lo = Long.MAX_VALUE, hi = Long.MIN_VALUE;
        BinaryRow prev = null, first = null;
        ColumnCheck cc = new ColumnCheck(s, valueStatsCols(f), f.valueStats());
        @SuppressWarnings("unchecked")
        RecordReader<KeyValue> r = (RecordReader<KeyValue>) rdr;
        try {
            RecordReader.RecordIterator<KeyValue> it;
            while ((it = r.readBatch()) != null) {
                KeyValue kv;
                while ((kv = it.next()) != null) {
                    n++;
                    if (kv.valueKind() == RowKind.DELETE || kv.valueKind() == RowKind.UPDATE_BEFORE)
                        dels++;
                    lo = Math.min(lo, kv.sequenceNumber());
                    hi = Math.max(hi, kv.sequenceNumber());
                    BinaryRow k = ks.toBinaryRow(kv.key()).copy();
                    if (first == null) first = k;
                    if (prev != null && e.bucket() >= 0) {
                        int c = kc.compare(prev, k);
                        if (c > 0)
                            fsck.bad(
                                    who
                                            + ": "
                                            + f.fileName()
                                            + " is not sorted by key at row "
                                            + n);
                        if (c == 0 && !changelog)
                            fsck.bad(who + ": " + f.fileName() + " has a key twice at row " + n);
                    }
                    prev = k;
                    cc.add(kv.value());
                }
                it.releaseBatch();
            }
        } finally {
            r.close();
        }
        fsck.rows += n;
        if (n != f.rowCount())
            fsck.bad(
                    who
                            + ": "
                            + f.fileName()
                            + " has "
                            + n
                            + " rows, manifest says "
                            + f.rowCount());
        Object d = inv(f, "deleteRowCount");
        if (d instanceof Optional
                && ((Optional<?>) d).isPresent()
                && (Long) ((Optional<?>) d).get() != dels)
            fsck.bad(
                    who
                            + ": "
                            + f.fileName()
                            + " has "
                            + dels
                            + " delete rows, manifest says "
                            + ((Optional<?>) d).get());
        if (n > 0 && e.bucket() >= 0) {
            if (kc.compare(first, f.minKey()) < 0 || kc.compare(prev, f.maxKey()) > 0)
                fsck.bad(
                        who + ": " + f.fileName() + " has keys outside the manifest's min/max key");
            else if (kc.compare(first, f.minKey()) != 0 || kc.compare(prev, f.maxKey()) != 0)
                fsck.warnings.add(
                        who + ": " + f.fileName() + " min/max key are wider than its contents");
            if (!changelog && (lo < f.minSequenceNumber() || hi > f.maxSequenceNumber()))
                fsck.bad(
                        who
                                + ": "
                                + f.fileName()
                                + " sequence numbers "
                                + lo
                                + ".."
                                + hi
                                + ", manifest says "
                                + f.minSequenceNumber()
                                + ".."
                                + f.maxSequenceNumber());
        }
        cc.check(fsck, who + ": " + f.fileName());
    }

    void append(FileStoreTable cur, ManifestEntry e, String who) throws Exception {
        DataFileMeta f = e.file();
        FileStoreTable t = asWritten(cur, f);
        DataSplit.Builder b =
                DataSplit.builder()
                        .withSnapshot(1)
                        .withPartition(e.partition())
                        .withBucket(e.bucket())
                        .withDataFiles(Collections.singletonList(f))
                        .isStreaming(false);
        inv(b, "withBucketPath", fsck.path(t, e, null).getParent().toString());
        if (has(b.getClass(), "rawConvertible")) inv(b, "rawConvertible", true);
        if (has(b.getClass(), "withTotalBuckets")) inv(b, "withTotalBuckets", e.totalBuckets());
        ColumnCheck cc = new ColumnCheck(t.schema(), valueStatsCols(f), f.valueStats());
        long[] n = {0};
        try (RecordReader<InternalRow> r = t.newRead().createReader(b.build())) {
            r.forEachRemaining(
                    x -> {
                        n[0]++;
                        try {
                            cc.add(x);
                        } catch (Exception q) {
                            throw new RuntimeException(q);
                        }
                    });
        }
        fsck.rows += n[0];
        if (n[0] != f.rowCount())
            fsck.bad(
                    who
                            + ": "
                            + f.fileName()
                            + " has "
                            + n[0]
                            + " rows, manifest says "
                            + f.rowCount());
        cc.check(fsck, who + ": " + f.fileName());
    }
}
