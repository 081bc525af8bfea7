package oracle;

import static oracle.Reflect.inv;
import static oracle.Tables.load;
import static oracle.Tables.strMap;

import org.apache.paimon.Snapshot;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.table.FileStoreTable;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** A table that steps work on, and the commit identifiers that were given out. */
class Session {
    final String dir;
    String user = "oracle";
    Map<String, Long> ids = new HashMap<>();
    Long forced;

    Session(String dir) {
        this.dir = dir;
    }

    FileStoreTable open() throws Exception {
        return load(dir);
    }

    FileStoreTable table(JsonNode step) throws Exception {
        FileStoreTable t = open();
        if (step != null && step.has("branch"))
            t = (FileStoreTable) inv(t, "switchToBranch", step.get("branch").asText());
        if (step != null && step.has("dynamic")) t = t.copy(strMap(step.get("dynamic")));
        return t;
    }

    long nextId(FileStoreTable t, String user) throws Exception {
        Long id = ids.get(user);
        if (id == null) {
            Long last = null;
            if (t.snapshotManager().latestSnapshotId() != null) {
                Optional<Snapshot> s = t.snapshotManager().latestSnapshotOfUser(user);
                if (s.isPresent() && s.get().commitIdentifier() != Long.MAX_VALUE)
                    last = s.get().commitIdentifier();
            }
            id = last == null ? 0L : last;
        }
        ids.put(user, id + 1);
        return id + 1;
    }
}
