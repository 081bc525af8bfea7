package oracle;

import static oracle.Json.JSON;
import static oracle.Reads.io;
import static oracle.Reflect.inv;
import static oracle.Tables.strMap;
import static oracle.Values.toRow;

import org.apache.paimon.crosspartition.GlobalIndexAssigner;
import org.apache.paimon.crosspartition.IndexBootstrap;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.RowKeyExtractor;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.types.RowType;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Steps that write rows. */
final class Writes {
    static String user(Session c, JsonNode s) {
        return s.has("user") ? s.get("user").asText() : c.user;
    }

    static Iterable<JsonNode> stepRows(JsonNode s) throws Exception {
        if (s.has("rows")) return s.get("rows");
        if (s.has("rows_file")) {
            List<JsonNode> l = new ArrayList<>();
            try (BufferedReader r =
                    Files.newBufferedReader(Paths.get(s.get("rows_file").asText()))) {
                String line;
                while ((line = r.readLine()) != null)
                    if (!line.trim().isEmpty()) l.add(JSON.readTree(line));
            }
            return l;
        }
        return Collections.emptyList();
    }

    static void writeStep(Session c, JsonNode s, boolean overwrite) throws Exception {
        FileStoreTable t = c.table(s);
        String user = user(c, s);
        long id = s.has("commit_id") ? s.get("commit_id").asLong() : c.nextId(t, user);
        try (TableWriteImpl<?> w = t.newWrite(user);
                TableCommitImpl m = t.newCommit(user)) {
            if (overwrite) {
                w.withIgnorePreviousFiles(true);
                m.withOverwrite(strMap(s.get("partition")));
            }
            m.ignoreEmptyCommit(s.path("ignore_empty").asBoolean(true));
            w.withIOManager(io());
            RowType type = t.rowType();
            List<GenericRow> rows = new ArrayList<>();
            for (JsonNode n : stepRows(s)) rows.add(toRow(type, n));
            writeRows(t, w, user, overwrite, rows);
            List<CommitMessage> msgs = w.prepareCommit(s.path("wait").asBoolean(true), id);
            m.commit(id, msgs);
        }
    }

    /** New values of columns of the rows from an id on, as jobs write them beside the others. */
    static void writeColumnsStep(Session c, JsonNode s) throws Exception {
        FileStoreTable t = c.table(s);
        String user = user(c, s);
        List<String> columns = new ArrayList<>();
        for (JsonNode n : s.get("columns")) columns.add(n.asText());
        RowType type = t.rowType().project(columns);
        try (TableWriteImpl<?> w = t.newWrite(user);
                TableCommitImpl m = t.newCommit(user)) {
            w.withIOManager(io());
            inv(w, "withWriteType", type);
            for (JsonNode n : stepRows(s)) w.getWrite().write(BinaryRow.EMPTY_ROW, 0, write(type, n));
            List<CommitMessage> msgs = w.prepareCommit(true, c.nextId(t, user));
            if (s.has("first_row_id")) {
                long next = s.get("first_row_id").asLong();
                for (CommitMessage msg : msgs) {
                    List<DataFileMeta> files =
                            ((CommitMessageImpl) msg).newFilesIncrement().newFiles();
                    for (int i = 0; i < files.size(); i++) {
                        DataFileMeta f = files.get(i);
                        files.set(i, (DataFileMeta) inv(f, "assignFirstRowId", next));
                        next += f.rowCount();
                    }
                }
            }
            m.commit(c.nextId(t, user), msgs);
        }
    }

    @SuppressWarnings("unchecked")
    static <T> T write(RowType type, JsonNode n) throws Exception {
        return (T) toRow(type, n);
    }

    /** Rows to their buckets, as batch jobs of Spark and Flink do it with one assigner. */
    static void writeRows(
            FileStoreTable t,
            TableWriteImpl<?> w,
            String user,
            boolean overwrite,
            List<GenericRow> rows)
            throws Exception {
        if (t.bucketMode().name().equals("KEY_DYNAMIC")) {
            writeByKeys(t, w, overwrite, rows);
            return;
        }
        Object assigner = assigner(t, user, overwrite);
        if (assigner == null) {
            for (GenericRow r : rows) w.write(r);
            return;
        }
        RowKeyExtractor ex = t.createRowKeyExtractor();
        Method assign = assigner.getClass().getMethod("assign", BinaryRow.class, int.class);
        for (GenericRow r : rows) {
            ex.setRecord(r);
            int hash = ex.trimmedPrimaryKey().hashCode();
            w.write(r, (Integer) assign.invoke(assigner, ex.partition(), hash));
        }
    }

    /** Keys may come in any partition. */
    private static void writeByKeys(
            FileStoreTable t, TableWriteImpl<?> w, boolean overwrite, List<GenericRow> rows)
            throws Exception {
        GlobalIndexAssigner assigner = new GlobalIndexAssigner(t);
        assigner.open(0L, io(), 1, 0, (row, bucket) -> writeRow(w, row, bucket));
        try {
            if (!overwrite)
                new IndexBootstrap(t)
                        .bootstrap(1, 0)
                        .forEachRemaining(key -> bootstrapKey(assigner, key));
            for (GenericRow r : rows) assigner.processInput(r);
            assigner.endBoostrap(true);
        } finally {
            assigner.close();
        }
    }

    private static void bootstrapKey(GlobalIndexAssigner assigner, InternalRow key) {
        try {
            assigner.bootstrapKey(key);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void writeRow(TableWriteImpl<?> w, InternalRow row, int bucket) {
        try {
            w.write(row, bucket);
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }

    static Object assigner(FileStoreTable t, String user, boolean overwrite) throws Exception {
        if (!t.bucketMode().name().equals("HASH_DYNAMIC")) return null;
        long target = t.coreOptions().dynamicBucketTargetRowNum();
        if (overwrite) {
            Class<?> c = Class.forName("org.apache.paimon.index.SimpleHashBucketAssigner");
            Constructor<?> k = c.getConstructors()[0];
            return k.getParameterCount() == 3
                    ? k.newInstance(1, 0, target)
                    : k.newInstance(1, 0, target, -1);
        }
        Constructor<?> k =
                Class.forName("org.apache.paimon.index.HashBucketAssigner").getConstructors()[0];
        Object h = t.store().newIndexFileHandler();
        return k.getParameterCount() == 7
                ? k.newInstance(t.snapshotManager(), user, h, 1, 1, 0, target)
                : k.newInstance(t.snapshotManager(), user, h, 1, 1, 0, target, -1);
    }
}
