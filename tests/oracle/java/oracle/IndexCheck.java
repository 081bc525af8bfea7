package oracle;

import static oracle.IndexJson.indexEntries;
import static oracle.IndexJson.indexJson;
import static oracle.Main.rootMessage;
import static oracle.Reflect.inv;

import org.apache.paimon.Snapshot;
import org.apache.paimon.fs.Path;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.CRC32;

/** Compares deletion vectors and hash indexes with their manifest entries. */
final class IndexCheck {
    final Fsck fsck;

    IndexCheck(Fsck fsck) {
        this.fsck = fsck;
    }

    void index(FileStoreTable t, Snapshot s, Map<String, ManifestEntry> live, String who)
            throws Exception {
        Map<String, ManifestEntry> byName = new HashMap<>();
        for (ManifestEntry e : live.values()) byName.put(e.file().fileName(), e);
        for (IndexManifestEntry e : indexEntries(t, s.indexManifest())) {
            fsck.indexFiles++;
            java.nio.file.Path p = Paths.get(fsck.dir, "index", e.indexFile().fileName());
            if (!Files.exists(p)) {
                try {
                    Path q = (Path) inv(t.store().newIndexFileHandler(), "filePath", e);
                    p = Paths.get(q.toUri().getPath());
                } catch (NoSuchMethodException x) {
                }
            }
            fsck.reach(p);
            if (!Files.exists(p)) {
                fsck.bad(who + ": index file " + e.indexFile().fileName() + " is missing");
                continue;
            }
            if (Files.size(p) != e.indexFile().fileSize())
                fsck.bad(
                        who
                                + ": index file "
                                + e.indexFile().fileName()
                                + " size "
                                + Files.size(p)
                                + ", manifest says "
                                + e.indexFile().fileSize());
            ObjectNode o;
            try {
                o = indexJson(t, e);
            } catch (Throwable x) {
                fsck.bad(who + ": index file " + e.indexFile().fileName() + ": " + rootMessage(x));
                continue;
            }
            if (o.has("dv_ranges")) {
                if (o.get("dv_ranges").size() != e.indexFile().rowCount())
                    fsck.bad(
                            who
                                    + ": deletion index "
                                    + e.indexFile().fileName()
                                    + " has "
                                    + o.get("dv_ranges").size()
                                    + " vectors, rowCount "
                                    + e.indexFile().rowCount());
                byte[] raw = Files.readAllBytes(p);
                if (raw.length == 0 || raw[0] != 1)
                    fsck.bad(
                            who
                                    + ": deletion index "
                                    + e.indexFile().fileName()
                                    + " has version byte "
                                    + (raw.length == 0 ? "none" : "" + raw[0]));
                for (JsonNode r : o.get("dv_ranges")) {
                    // Java itself does not look at the checksum when it reads a vector
                    int off = r.get("offset").asInt(), len = r.get("length").asInt();
                    if (off < 1 || off + 8 > raw.length)
                        fsck.bad(who + ": deletion vector outside of " + e.indexFile().fileName());
                    else {
                        ByteBuffer bb = ByteBuffer.wrap(raw);
                        int size = bb.getInt(off);
                        if (size != len && size + 8 != len || off + 8 + size > raw.length)
                            fsck.bad(
                                    who
                                            + ": deletion vector at "
                                            + off
                                            + " of "
                                            + e.indexFile().fileName()
                                            + " has size "
                                            + size
                                            + ", manifest says "
                                            + len);
                        else {
                            CRC32 crc = new CRC32();
                            crc.update(raw, off + 4, size);
                            if ((int) crc.getValue() != bb.getInt(off + 4 + size))
                                fsck.bad(
                                        who
                                                + ": checksum of the deletion vector at "
                                                + off
                                                + " of "
                                                + e.indexFile().fileName());
                        }
                    }
                    String f = r.get("data_file").asText();
                    if (!byName.containsKey(f)) {
                        fsck.bad(who + ": deletion vector of a file that is not live: " + f);
                        continue;
                    }
                    JsonNode pos = o.path("deleted_positions").path(f);
                    if (pos.size() > 0
                            && pos.get(pos.size() - 1).asLong() >= byName.get(f).file().rowCount())
                        fsck.bad(who + ": deletion vector beyond the end of " + f);
                    if (r.has("cardinality")
                            && !r.get("cardinality").isNull()
                            && r.get("cardinality").asLong() != pos.size()
                            && pos.size() > 0)
                        fsck.bad(
                                who
                                        + ": deletion vector of "
                                        + f
                                        + " has "
                                        + pos.size()
                                        + " positions, cardinality says "
                                        + r.get("cardinality"));
                }
            }
            if (o.has("hashes") && o.get("hashes").size() != e.indexFile().rowCount())
                fsck.bad(
                        who
                                + ": hash index "
                                + e.indexFile().fileName()
                                + " has "
                                + o.get("hashes").size()
                                + " entries, rowCount "
                                + e.indexFile().rowCount());
        }
    }
}
