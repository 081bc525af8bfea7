package oracle;

import static oracle.Reads.readTable;
import static oracle.Reflect.inv;
import static oracle.Values.toInternal;
import static oracle.Writes.user;

import org.apache.paimon.Snapshot;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.stats.ColStats;
import org.apache.paimon.stats.Statistics;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.types.BigIntType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.IntType;
import org.apache.paimon.types.VarCharType;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Statistics of a table. */
final class Analyze {
    static void analyze(Session c, JsonNode s) throws Exception {
        FileStoreTable t = c.table(s);
        Snapshot sn = t.snapshotManager().latestSnapshot();
        List<ObjectNode> rows = readTable(t, false);
        Map<String, ColStats<?>> cols = new HashMap<>();
        for (DataField f : t.rowType().getFields()) {
            if (!(f.type() instanceof IntType
                    || f.type() instanceof BigIntType
                    || f.type() instanceof VarCharType)) continue;
            TreeSet<JsonNode> v = new TreeSet<>(Json::cmp);
            long nulls = 0, len = 0, max = 0;
            for (ObjectNode r : rows) {
                JsonNode n = r.get(f.name());
                if (n.isNull()) nulls++;
                else {
                    v.add(n);
                    int w =
                            f.type() instanceof IntType
                                    ? 4
                                    : f.type() instanceof BigIntType ? 8 : n.asText().length();
                    len += w;
                    max = Math.max(max, w);
                }
            }
            Comparable<?> mn = v.isEmpty() ? null : (Comparable<?>) toInternal(f.type(), v.first()),
                    mx = v.isEmpty() ? null : (Comparable<?>) toInternal(f.type(), v.last());
            cols.put(
                    f.name(),
                    colStats(
                            f.id(),
                            (long) v.size(),
                            mn,
                            mx,
                            nulls,
                            v.isEmpty() ? 0 : len / Math.max(1, rows.size() - nulls),
                            max));
        }
        long size =
                t.store().newScan().plan().files().stream()
                        .mapToLong(e -> e.file().fileSize())
                        .sum();
        try (TableCommitImpl m = t.newCommit(user(c, s))) {
            inv(
                    m,
                    "updateStatistics",
                    new Statistics(sn.id(), sn.schemaId(), (long) rows.size(), size, cols));
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static ColStats<?> colStats(
            int id, Long d, Comparable mn, Comparable mx, Long n, Long avg, Long max) {
        return ColStats.newColStats(id, d, mn, mx, n, avg, max);
    }
}
