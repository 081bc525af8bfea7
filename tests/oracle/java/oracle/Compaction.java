package oracle;

import static oracle.Json.hex;
import static oracle.Json.rowJson;
import static oracle.Reads.io;
import static oracle.Reflect.inv;
import static oracle.Reflect.invStatic;
import static oracle.Writes.user;

import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.table.source.EndOfScanException;
import org.apache.paimon.utils.SerializationUtils;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;

/** Compaction of the buckets of a table, whatever {@code write-only} says. */
final class Compaction {
    static void compactStep(Session c, JsonNode s) throws Exception {
        FileStoreTable t = c.table(s).copy(Collections.singletonMap("write-only", "false"));
        String user = user(c, s);
        long id = s.has("commit_id") ? s.get("commit_id").asLong() : c.nextId(t, user);
        boolean full = s.path("full").asBoolean(false);
        if (t.bucketMode().name().contains("UNAWARE")) {
            if ("true".equals(t.options().get("data-evolution.enabled"))) compactRows(t, user, id);
            else compactAppend(t, user, id);
            return;
        }
        try (TableWriteImpl<?> w = t.newWrite(user);
                TableCommitImpl m = t.newCommit(user)) {
            w.withIOManager(io());
            Set<String> done = new HashSet<>();
            for (ManifestEntry e : t.store().newScan().plan().files()) {
                if (s.has("partition") && !partMatch(t, e.partition(), s.get("partition")))
                    continue;
                if (done.add(
                                hex(SerializationUtils.serializeBinaryRow(e.partition()))
                                        + "/"
                                        + e.bucket())
                        && e.bucket() >= 0) w.compact(e.partition(), e.bucket(), full);
            }
            m.commit(id, w.prepareCommit(true, id));
        }
    }

    static boolean partMatch(FileStoreTable t, BinaryRow p, JsonNode want) throws Exception {
        ObjectNode o = rowJson(t.schema().logicalPartitionType(), p);
        Iterator<String> it = want.fieldNames();
        while (it.hasNext()) {
            String k = it.next();
            if (!o.get(k).asText().equals(want.get(k).asText())) return false;
        }
        return true;
    }

    static boolean tracksRows(FileStoreTable t) {
        return "true".equals(t.options().get("row-tracking.enabled"));
    }

    /** As the compactions of Spark and Flink write rows of tables with row tracking. */
    static Object trackedType(FileStoreTable t) throws Exception {
        Class<?> fields = Class.forName("org.apache.paimon.table.SpecialFields");
        return invStatic(fields, null, "rowTypeWithRowTracking", t.rowType());
    }

    /** Tables with data evolution: columns of the same rows come together, and rows that follow. */
    @SuppressWarnings("unchecked")
    static void compactRows(FileStoreTable t, String user, long id) throws Exception {
        String name = "org.apache.paimon.append.dataevolution.DataEvolutionCompactCoordinator";
        Object co =
                Class.forName(name)
                        .getConstructor(FileStoreTable.class, boolean.class, boolean.class)
                        .newInstance(t, false, false);
        List<CommitMessage> msgs = new ArrayList<>();
        while (true) {
            List<Object> tasks;
            try {
                tasks = (List<Object>) inv(co, "plan");
            } catch (EndOfScanException e) {
                break;
            }
            for (Object k : tasks) msgs.add((CommitMessage) inv(k, "doCompact", t, user));
        }
        try (TableCommitImpl m = t.newCommit(user)) {
            m.commit(id, msgs);
        }
    }

    @SuppressWarnings("unchecked")
    static void compactAppend(FileStoreTable t, String user, long id) throws Exception {
        Class<?> cc;
        try {
            cc = Class.forName("org.apache.paimon.append.AppendCompactCoordinator");
        } catch (ClassNotFoundException e) {
            cc = Class.forName("org.apache.paimon.append.UnawareAppendTableCompactionCoordinator");
        }
        Object co = cc.getConstructor(FileStoreTable.class, boolean.class).newInstance(t, false);
        List<CommitMessage> msgs = new ArrayList<>();
        Object write = t.store().newWrite(user);
        inv(write, "withIOManager", io());
        if (tracksRows(t)) inv(write, "withWriteType", trackedType(t));
        while (true) {
            List<Object> tasks;
            try {
                tasks = (List<Object>) inv(co, "run");
            } catch (EndOfScanException e) {
                break;
            }
            for (Object k : tasks) msgs.add((CommitMessage) inv(k, "doCompact", t, write));
            if (tasks.isEmpty()) break;
        }
        try (TableCommitImpl m = t.newCommit(user)) {
            m.commit(id, msgs);
        }
    }
}
