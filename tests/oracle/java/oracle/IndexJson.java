package oracle;

import static oracle.Json.JSON;
import static oracle.Json.rowJson;
import static oracle.Reflect.has;
import static oracle.Reflect.inv;

import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.index.IndexFileHandler;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Entries of index manifests: deletion vectors and hash indexes, decoded. */
final class IndexJson {
    static ObjectNode indexJson(FileStoreTable t, IndexManifestEntry e) throws Exception {
        ObjectNode o = JSON.createObjectNode();
        o.put("kind", e.kind().name());
        o.set("partition", rowJson(t.schema().logicalPartitionType(), e.partition()));
        o.put("bucket", e.bucket())
                .put("index_type", e.indexFile().indexType())
                .put("file_name", e.indexFile().fileName());
        o.put("file_size", e.indexFile().fileSize()).put("row_count", e.indexFile().rowCount());
        Object dv = null;
        for (String n : new String[] {"dvRanges", "deletionVectorMetas", "deletionVectorsRanges"})
            if (has(IndexFileMeta.class, n)) dv = inv(e.indexFile(), n);
        if (dv instanceof Map) {
            ArrayNode r = o.putArray("dv_ranges");
            for (Map.Entry<?, ?> x : ((Map<?, ?>) dv).entrySet()) {
                ObjectNode q = r.addObject().put("data_file", x.getKey().toString());
                if (has(x.getValue().getClass(), "offset")) {
                    q.put("offset", (Integer) inv(x.getValue(), "offset"))
                            .put("length", (Integer) inv(x.getValue(), "length"));
                    q.set("cardinality", JSON.valueToTree(inv(x.getValue(), "cardinality")));
                } else {
                    q.put("offset", (Integer) inv(x.getValue(), "getLeft"))
                            .put("length", (Integer) inv(x.getValue(), "getRight"));
                }
            }
        }
        if (o.has("dv_ranges")
                && has(IndexFileHandler.class, "readAllDeletionVectors")
                && e.kind() == FileKind.ADD) {
            Map<String, DeletionVector> m = dvs(t, e);
            if (m != null) {
                ObjectNode p = o.putObject("deleted_positions");
                for (String f : new TreeSet<>(m.keySet())) {
                    ArrayNode l = p.putArray(f);
                    for (long x : positions(m.get(f), 200000)) l.add(x);
                }
            }
        }
        if (e.indexFile().indexType().equals("HASH")) {
            int[] h = hashes(t, e);
            if (h != null) {
                ArrayNode l = o.putArray("hashes");
                for (int x : h) l.add(x);
            }
        }
        return o;
    }

    static int[] hashes(FileStoreTable t, IndexManifestEntry e) throws Exception {
        java.nio.file.Path p =
                Paths.get(t.location().toUri().getPath(), "index", e.indexFile().fileName());
        if (!Files.exists(p)) return null;
        ByteBuffer b = ByteBuffer.wrap(Files.readAllBytes(p));
        int[] r = new int[b.remaining() / 4];
        for (int i = 0; i < r.length; i++) r[i] = b.getInt();
        return r;
    }

    @SuppressWarnings("unchecked")
    static Map<String, DeletionVector> dvs(FileStoreTable t, IndexManifestEntry e)
            throws Exception {
        Object h = t.store().newIndexFileHandler();
        try {
            return (Map<String, DeletionVector>) inv(h, "readAllDeletionVectors", e);
        } catch (NoSuchMethodException x) {
            try {
                return (Map<String, DeletionVector>)
                        inv(
                                h,
                                "readAllDeletionVectors",
                                e.partition(),
                                e.bucket(),
                                Collections.singletonList(e.indexFile()));
            } catch (NoSuchMethodException y) {
                try {
                    return (Map<String, DeletionVector>)
                            inv(
                                    h,
                                    "readAllDeletionVectors",
                                    Collections.singletonList(e.indexFile()));
                } catch (NoSuchMethodException z) {
                    return null;
                }
            }
        }
    }

    static List<Long> positions(DeletionVector v, int max) throws Exception {
        List<Long> r = new ArrayList<>();
        long card =
                has(v.getClass(), "getCardinality")
                        ? (Long) inv(v, "getCardinality")
                        : Long.MAX_VALUE;
        for (long p = 0; r.size() < card && p < max; p++) if (v.isDeleted(p)) r.add(p);
        return r;
    }

    @SuppressWarnings("unchecked")
    static List<IndexManifestEntry> indexEntries(FileStoreTable t, String manifest)
            throws Exception {
        return (List<IndexManifestEntry>)
                inv(t.store().indexManifestFileFactory().create(), "read", manifest);
    }
}
