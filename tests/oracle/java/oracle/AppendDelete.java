package oracle;

import static oracle.Json.cmp;
import static oracle.Json.hex;
import static oracle.Json.rowJson;
import static oracle.Reflect.inv;
import static oracle.Reflect.invStatic;
import static oracle.Writes.user;

import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.SerializationUtils;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Deletion vectors on an append table. */
final class AppendDelete {
    /**
     * Marks rows of an append table as deleted: {"op":"append_delete","where":{"col":[values...]}}.
     */
    @SuppressWarnings("unchecked")
    static void appendDelete(Session c, JsonNode s) throws Exception {
        FileStoreTable t = c.table(s);
        String user = user(c, s);
        long id = c.nextId(t, user);
        Class<?> base =
                Class.forName(
                        "org.apache.paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer");
        Object handler = t.store().newIndexFileHandler();
        Snapshot snap = t.snapshotManager().latestSnapshot();
        RowType type = t.rowType();
        Map<String, Object> maint = new LinkedHashMap<>();
        Map<String, int[]> bucket = new HashMap<>();
        Map<String, BinaryRow> part = new HashMap<>();
        boolean unaware = t.bucketMode().name().contains("UNAWARE");
        for (Split sp : t.newReadBuilder().newScan().plan().splits()) {
            DataSplit ds = (DataSplit) sp;
            for (DataFileMeta f : ds.dataFiles()) {
                DataSplit one =
                        DataSplit.builder()
                                .withSnapshot(ds.snapshotId())
                                .withPartition(ds.partition())
                                .withBucket(ds.bucket())
                                .withBucketPath(ds.bucketPath())
                                .withDataFiles(Collections.singletonList(f))
                                .rawConvertible(true)
                                .isStreaming(false)
                                .build();
                DeletionVector dv = newDv(t);
                long[] pos = {0};
                try (RecordReader<InternalRow> rr = t.newRead().createReader(one)) {
                    rr.forEachRemaining(
                            r -> {
                                try {
                                    ObjectNode o = rowJson(type, r);
                                    boolean hit = true;
                                    Iterator<Map.Entry<String, JsonNode>> it =
                                            s.get("where").fields();
                                    while (it.hasNext()) {
                                        Map.Entry<String, JsonNode> w = it.next();
                                        boolean any = false;
                                        for (JsonNode v : w.getValue())
                                            any |= cmp(v, o.get(w.getKey())) == 0;
                                        hit &= any;
                                    }
                                    if (hit) dv.delete(pos[0]);
                                    pos[0]++;
                                } catch (Exception e) {
                                    throw new RuntimeException(e);
                                }
                            });
                }
                if (dv.isEmpty()) continue;
                String key =
                        hex(SerializationUtils.serializeBinaryRow(ds.partition()))
                                + "/"
                                + ds.bucket();
                Object m = maint.get(key);
                if (m == null) {
                    m =
                            unaware
                                    ? invStatic(
                                            base,
                                            null,
                                            "forUnawareAppend",
                                            handler,
                                            snap,
                                            ds.partition())
                                    : invStatic(
                                            base,
                                            null,
                                            "forBucketedAppend",
                                            handler,
                                            snap,
                                            ds.partition(),
                                            ds.bucket());
                    maint.put(key, m);
                    bucket.put(key, new int[] {ds.bucket()});
                    part.put(key, ds.partition());
                }
                inv(m, "notifyNewDeletionVector", f.fileName(), dv);
            }
        }
        List<CommitMessage> msgs = new ArrayList<>();
        for (String key : maint.keySet()) {
            List<IndexFileMeta> add = new ArrayList<>(), del = new ArrayList<>();
            for (IndexManifestEntry e : (List<IndexManifestEntry>) inv(maint.get(key), "persist"))
                (e.kind() == FileKind.ADD ? add : del).add(e.indexFile());
            Class<?> di = Class.forName("org.apache.paimon.io.DataIncrement");
            Object inc =
                    di.getConstructor(List.class, List.class, List.class, List.class, List.class)
                            .newInstance(
                                    new ArrayList<>(),
                                    new ArrayList<>(),
                                    new ArrayList<>(),
                                    add,
                                    del);
            Class<?> cm = Class.forName("org.apache.paimon.table.sink.CommitMessageImpl");
            msgs.add(
                    (CommitMessage)
                            cm.getConstructor(
                                            BinaryRow.class,
                                            int.class,
                                            Integer.class,
                                            di,
                                            CompactIncrement.class)
                                    .newInstance(
                                            part.get(key),
                                            bucket.get(key)[0],
                                            t.coreOptions().bucket(),
                                            inc,
                                            CompactIncrement.emptyIncrement()));
        }
        try (TableCommitImpl m = t.newCommit(user)) {
            m.commit(id, msgs);
        }
    }

    static DeletionVector newDv(FileStoreTable t) throws Exception {
        boolean b64 = "true".equals(t.options().get("deletion-vectors.bitmap64"));
        return (DeletionVector)
                Class.forName(
                                "org.apache.paimon.deletionvectors."
                                        + (b64 ? "Bitmap64DeletionVector" : "BitmapDeletionVector"))
                        .getConstructor()
                        .newInstance();
    }
}
