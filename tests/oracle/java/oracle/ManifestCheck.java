package oracle;

import static oracle.Json.cmp;
import static oracle.Json.get;
import static oracle.Json.toJson;
import static oracle.Reflect.has;
import static oracle.Reflect.inv;

import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.manifest.ManifestFileMeta;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.RowType;

import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

/** Compares manifest lists and manifests with what is said of them. */
final class ManifestCheck {
    final Fsck fsck;

    ManifestCheck(Fsck fsck) {
        this.fsck = fsck;
    }

    @SuppressWarnings("unchecked")
    List<ManifestEntry> entries(FileStoreTable t, String list, Long listSize, String who)
            throws Exception {
        java.nio.file.Path lp = fsck.mpath(list);
        if (!Files.exists(lp)) {
            fsck.bad(who + ": manifest list " + list + " is missing");
            return new ArrayList<>();
        }
        if (listSize != null && listSize != Files.size(lp))
            fsck.bad(
                    who
                            + ": manifest list "
                            + list
                            + " size "
                            + Files.size(lp)
                            + ", snapshot says "
                            + listSize);
        List<ManifestEntry> r = new ArrayList<>();
        for (ManifestFileMeta m :
                (List<ManifestFileMeta>)
                        inv(t.store().manifestListFactory().create(), "read", list)) {
            fsck.manifests++;
            java.nio.file.Path p = fsck.mpath(m.fileName());
            if (!Files.exists(p)) {
                fsck.bad(who + ": manifest " + m.fileName() + " is missing");
                continue;
            }
            if (Files.size(p) != m.fileSize())
                fsck.bad(
                        who
                                + ": manifest "
                                + m.fileName()
                                + " size "
                                + Files.size(p)
                                + ", list says "
                                + m.fileSize());
            List<ManifestEntry> es =
                    (List<ManifestEntry>)
                            inv(t.store().manifestFileFactory().create(), "read", m.fileName());
            long add = es.stream().filter(e -> e.kind() == FileKind.ADD).count();
            if (add != m.numAddedFiles() || es.size() - add != m.numDeletedFiles())
                fsck.bad(
                        who
                                + ": manifest "
                                + m.fileName()
                                + " has +"
                                + add
                                + " -"
                                + (es.size() - add)
                                + ", list says +"
                                + m.numAddedFiles()
                                + " -"
                                + m.numDeletedFiles());
            RowType pt = t.schema().logicalPartitionType();
            for (ManifestEntry e : es) {
                for (int i = 0; i < pt.getFieldCount(); i++) {
                    JsonNode v = toJson(pt.getTypeAt(i), get(e.partition(), pt.getTypeAt(i), i));
                    if (v.isNull()) continue;
                    JsonNode
                            lo =
                                    toJson(
                                            pt.getTypeAt(i),
                                            get(
                                                    m.partitionStats().minValues(),
                                                    pt.getTypeAt(i),
                                                    i)),
                            hi =
                                    toJson(
                                            pt.getTypeAt(i),
                                            get(
                                                    m.partitionStats().maxValues(),
                                                    pt.getTypeAt(i),
                                                    i));
                    if (!lo.isNull() && cmp(lo, v) > 0 || !hi.isNull() && cmp(hi, v) < 0)
                        fsck.bad(
                                who
                                        + ": partition "
                                        + v
                                        + " is outside the manifest's partition stats");
                }
                for (String[] q :
                        new String[][] {
                            {"minBucket", "maxBucket", "bucket"}, {"minLevel", "maxLevel", "level"}
                        }) {
                    if (!has(ManifestFileMeta.class, q[0])) continue;
                    Object lo = inv(m, q[0]), hi = inv(m, q[1]);
                    int v = q[2].equals("bucket") ? e.bucket() : e.file().level();
                    if (lo != null && (Integer) lo > v || hi != null && (Integer) hi < v)
                        fsck.bad(
                                who
                                        + ": "
                                        + q[2]
                                        + " "
                                        + v
                                        + " is outside manifest range "
                                        + lo
                                        + ".."
                                        + hi);
                }
            }
            r.addAll(es);
        }
        return r;
    }
}
