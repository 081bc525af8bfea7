package oracle;

import static oracle.Json.JSON;
import static oracle.Json.hex;
import static oracle.Json.rowJson;
import static oracle.Reflect.has;
import static oracle.Reflect.inv;

import org.apache.paimon.data.InternalArray;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.SerializationUtils;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Data files, manifest entries and their statistics, decoded. */
final class FileJson {
    static ObjectNode statsJson(RowType type, SimpleStats s) throws Exception {
        ObjectNode o = JSON.createObjectNode();
        if (s.minValues().getFieldCount() == 0 && type.getFieldCount() > 0) {
            return o.put("empty", true);
        }
        int n = s.minValues().getFieldCount();
        if (n != type.getFieldCount())
            return o.put("fields", n)
                    .put("min_hex", hex(SerializationUtils.serializeBinaryRow(s.minValues())));
        o.set("min", rowJson(type, s.minValues()));
        o.set("max", rowJson(type, s.maxValues()));
        ArrayNode nc = o.putArray("null_counts");
        Object counts = inv(s, "nullCounts");
        InternalArray arr = (InternalArray) counts;
        for (int i = 0; i < arr.size(); i++)
            if (arr.isNullAt(i)) nc.addNull();
            else nc.add(arr.getLong(i));
        o.put("min_hex", hex(SerializationUtils.serializeBinaryRow(s.minValues())));
        o.put("max_hex", hex(SerializationUtils.serializeBinaryRow(s.maxValues())));
        return o;
    }

    static RowType keyType(TableSchema s) {
        List<DataField> f = new ArrayList<>();
        Map<String, DataField> by =
                s.fields().stream().collect(Collectors.toMap(DataField::name, x -> x));
        for (String k : s.trimmedPrimaryKeys()) f.add(by.get(k));
        return new RowType(f);
    }

    static RowType valueStatsType(TableSchema s, List<String> cols) {
        if (cols == null) return s.logicalRowType();
        Map<String, DataField> by =
                s.fields().stream().collect(Collectors.toMap(DataField::name, x -> x));
        // files that a compaction of a row-tracked table wrote have statistics of them
        by.put("_ROW_ID", new DataField(Integer.MAX_VALUE - 5, "_ROW_ID", DataTypes.BIGINT()));
        by.put(
                "_SEQUENCE_NUMBER",
                new DataField(Integer.MAX_VALUE - 1, "_SEQUENCE_NUMBER", DataTypes.BIGINT()));
        List<DataField> f = new ArrayList<>();
        for (String c : cols) f.add(by.get(c));
        return new RowType(f);
    }

    @SuppressWarnings("unchecked")
    static List<String> valueStatsCols(DataFileMeta f) throws Exception {
        return has(f.getClass(), "valueStatsCols") ? (List<String>) inv(f, "valueStatsCols") : null;
    }

    static ObjectNode fileJson(SchemaManager sm, TableSchema cur, DataFileMeta f) throws Exception {
        TableSchema s = f.schemaId() == cur.id() ? cur : sm.schema(f.schemaId());
        ObjectNode o = JSON.createObjectNode();
        o.put("file_name", f.fileName())
                .put("file_size", f.fileSize())
                .put("row_count", f.rowCount());
        RowType kt = keyType(s);
        boolean pk = !s.primaryKeys().isEmpty();
        if (pk && f.minKey().getFieldCount() == kt.getFieldCount()) {
            o.set("min_key", rowJson(kt, f.minKey()));
            o.set("max_key", rowJson(kt, f.maxKey()));
            o.set("key_stats", statsJson(kt, f.keyStats()));
        }
        o.put("min_key_hex", hex(SerializationUtils.serializeBinaryRow(f.minKey())));
        o.put("max_key_hex", hex(SerializationUtils.serializeBinaryRow(f.maxKey())));
        List<String> vc = valueStatsCols(f);
        o.set("value_stats_cols", vc == null ? JSON.nullNode() : JSON.valueToTree(vc));
        o.set("value_stats", statsJson(valueStatsType(s, vc), f.valueStats()));
        o.put("min_sequence_number", f.minSequenceNumber())
                .put("max_sequence_number", f.maxSequenceNumber());
        o.put("schema_id", f.schemaId()).put("level", f.level());
        o.set("extra_files", JSON.valueToTree(f.extraFiles()));
        o.put("creation_time", f.creationTime().toLocalDateTime().toString());
        Object d = inv(f, "deleteRowCount");
        o.set(
                "delete_row_count",
                d instanceof Optional && ((Optional<?>) d).isPresent()
                        ? JSON.valueToTree(((Optional<?>) d).get())
                        : JSON.nullNode());
        if (has(f.getClass(), "embeddedIndex")) {
            byte[] e = (byte[]) inv(f, "embeddedIndex");
            o.put("embedded_index", e == null ? null : hex(e));
        }
        if (has(f.getClass(), "fileSource"))
            o.put(
                    "file_source",
                    ((Optional<?>) inv(f, "fileSource")).map(Object::toString).orElse(null));
        if (has(f.getClass(), "externalPath"))
            o.put(
                    "external_path",
                    ((Optional<?>) inv(f, "externalPath")).map(Object::toString).orElse(null));
        if (has(f.getClass(), "firstRowId")) {
            Object r = inv(f, "firstRowId");
            if (r instanceof Optional) r = ((Optional<?>) r).orElse(null);
            o.set("first_row_id", JSON.valueToTree(r));
        }
        return o;
    }

    static ObjectNode entryJson(FileStoreTable t, TableSchema cur, ManifestEntry e)
            throws Exception {
        ObjectNode o = JSON.createObjectNode();
        o.put("kind", e.kind().name());
        RowType pt = cur.logicalPartitionType();
        o.set("partition", rowJson(pt, e.partition()));
        o.put("partition_hex", hex(SerializationUtils.serializeBinaryRow(e.partition())));
        o.put("bucket", e.bucket()).put("total_buckets", e.totalBuckets());
        o.set("file", fileJson(new SchemaManager(t.fileIO(), t.location()), cur, e.file()));
        return o;
    }
}
