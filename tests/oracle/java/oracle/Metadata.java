package oracle;

import static oracle.FileJson.entryJson;
import static oracle.FileJson.statsJson;
import static oracle.IndexJson.indexEntries;
import static oracle.IndexJson.indexJson;
import static oracle.Json.JSON;
import static oracle.Main.out;
import static oracle.Reflect.has;
import static oracle.Reflect.inv;
import static oracle.Tables.loadAny;

import org.apache.paimon.Snapshot;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.manifest.ManifestFileMeta;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Everything that a table says about itself. */
final class Metadata {
    static List<Snapshot> listSnapshots(FileStoreTable t) throws Exception {
        List<Snapshot> r = new ArrayList<>();
        Iterator<Snapshot> it = t.snapshotManager().snapshots();
        while (it.hasNext()) r.add(it.next());
        r.sort(Comparator.comparingLong(Snapshot::id));
        return r;
    }

    static int meta(Args a) throws Exception {
        FileStoreTable t = (FileStoreTable) loadAny(a.pos(0), a.dyn);
        for (ObjectNode o : metaRows(t)) out.println(o);
        return 0;
    }

    /**
     * Snapshots, manifest lists, manifest entries and index entries, fully decoded; a manifest is
     * printed once.
     */
    static List<ObjectNode> metaRows(FileStoreTable t) throws Exception {
        List<ObjectNode> res = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        List<Snapshot> all = new ArrayList<>(listSnapshots(t));
        Map<String, String> tags = new TreeMap<>();
        for (Map.Entry<Snapshot, List<String>> e : t.tagManager().tags().entrySet())
            for (String n : e.getValue())
                if (!all.stream().anyMatch(s -> s.id() == e.getKey().id())) all.add(e.getKey());
        for (Snapshot s : all) {
            ObjectNode sn = JSON.createObjectNode().put("type", "snapshot");
            sn.set("snapshot", JSON.readTree(s.toJson()));
            res.add(sn);
            Map<String, List<ManifestFileMeta>> lists = new LinkedHashMap<>();
            Object ml = t.store().manifestListFactory().create();
            for (String l :
                    new String[] {
                        s.baseManifestList(), s.deltaManifestList(), s.changelogManifestList()
                    }) {
                if (l == null || !seen.add(l)) continue;
                @SuppressWarnings("unchecked")
                List<ManifestFileMeta> ms = (List<ManifestFileMeta>) inv(ml, "read", l);
                ObjectNode o = JSON.createObjectNode().put("type", "manifest_list").put("name", l);
                ArrayNode arr = o.putArray("manifests");
                for (ManifestFileMeta m : ms) {
                    ObjectNode x =
                            arr.addObject()
                                    .put("file_name", m.fileName())
                                    .put("file_size", m.fileSize())
                                    .put("num_added_files", m.numAddedFiles())
                                    .put("num_deleted_files", m.numDeletedFiles())
                                    .put("schema_id", m.schemaId());
                    x.set(
                            "partition_stats",
                            statsJson(t.schema().logicalPartitionType(), m.partitionStats()));
                    for (String n :
                            new String[] {
                                "minBucket",
                                "maxBucket",
                                "minLevel",
                                "maxLevel",
                                "minRowId",
                                "maxRowId"
                            })
                        if (has(ManifestFileMeta.class, n)) x.set(n, JSON.valueToTree(inv(m, n)));
                }
                res.add(o);
                for (ManifestFileMeta m : ms) {
                    if (!seen.add(m.fileName())) continue;
                    ObjectNode me =
                            JSON.createObjectNode()
                                    .put("type", "manifest")
                                    .put("name", m.fileName());
                    ArrayNode en = me.putArray("entries");
                    @SuppressWarnings("unchecked")
                    List<ManifestEntry> es =
                            (List<ManifestEntry>)
                                    inv(
                                            t.store().manifestFileFactory().create(),
                                            "read",
                                            m.fileName());
                    for (ManifestEntry e : es) en.add(entryJson(t, t.schema(), e));
                    res.add(me);
                }
            }
            if (s.indexManifest() != null && seen.add(s.indexManifest())) {
                ObjectNode o =
                        JSON.createObjectNode()
                                .put("type", "index_manifest")
                                .put("name", s.indexManifest());
                ArrayNode en = o.putArray("entries");
                for (IndexManifestEntry e : indexEntries(t, s.indexManifest()))
                    en.add(indexJson(t, e));
                res.add(o);
            }
        }
        return res;
    }
}
