package oracle;

import static oracle.FileJson.statsJson;
import static oracle.FileJson.valueStatsCols;
import static oracle.FileJson.valueStatsType;
import static oracle.Json.JSON;
import static oracle.Json.hex;
import static oracle.Main.out;
import static oracle.Reflect.inv;
import static oracle.Reflect.invStatic;
import static oracle.Steps.doStep;
import static oracle.Tables.createTable;
import static oracle.Tables.load;
import static oracle.Tables.parseType;
import static oracle.Values.toRow;

import org.apache.paimon.data.BinaryArray;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.BigIntType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.IntType;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.SerializationUtils;

import java.io.File;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

/** Test vectors for single functions. */
final class Vectors {
    /** stdin or FILE: {"types":[...],"rows":[[...],...],"buckets":[...]} -> one line a row. */
    static int hash(Args a) throws Exception {
        JsonNode in = JSON.readTree(new File(a.pos(0)));
        for (JsonNode g : in.isArray() ? in : JSON.createArrayNode().add(in)) {
            List<DataField> f = new ArrayList<>();
            int i = 0;
            for (JsonNode t : g.get("types")) f.add(new DataField(i, "f" + i++, parseType(t)));
            RowType rt = new RowType(f);
            InternalRowSerializer serializer = new InternalRowSerializer(rt);
            for (JsonNode r : g.get("rows")) {
                ArrayNode k = JSON.createArrayNode().add("+I");
                r.forEach(k::add);
                BinaryRow b = serializer.toBinaryRow(toRow(rt, k)).copy();
                ObjectNode o = JSON.createObjectNode();
                o.set("types", g.get("types"));
                o.set("values", r);
                o.put("binary_row_hex", hex(b.toBytes()))
                        .put("serialized_hex", hex(SerializationUtils.serializeBinaryRow(b)))
                        .put("hash", b.hashCode());
                ObjectNode bk = o.putObject("bucket");
                if (g.has("buckets"))
                    for (JsonNode n : g.get("buckets"))
                        bk.put(n.asText(), Math.abs(b.hashCode() % n.asInt()));
                if (g.has("buckets")
                        && rt.getFieldCount() == 1
                        && (rt.getTypeAt(0) instanceof IntType
                                || rt.getTypeAt(0) instanceof BigIntType)) {
                    ObjectNode mk = o.putObject("bucket_mod");
                    try {
                        Class<?> ft =
                                Class.forName("org.apache.paimon.CoreOptions$BucketFunctionType");
                        Object mod = ft.getField("MOD").get(null);
                        Object fn =
                                invStatic(
                                        Class.forName("org.apache.paimon.bucket.BucketFunction"),
                                        null,
                                        "create",
                                        mod,
                                        rt);
                        for (JsonNode n : g.get("buckets"))
                            mk.put(n.asText(), (Integer) inv(fn, "bucket", b, n.asInt()));
                    } catch (ClassNotFoundException x) {
                    }
                }
                out.println(o);
            }
        }
        return 0;
    }

    /**
     * {"name":..,"fields":[...],"options":{...},"rows":[[...]]}: writes one append file, prints its
     * statistics.
     */
    static int stats(Args a) throws Exception {
        JsonNode in = JSON.readTree(new File(a.pos(0)));
        for (JsonNode g : in.isArray() ? in : JSON.createArrayNode().add(in)) {
            java.nio.file.Path tmp = Files.createTempDirectory("oracle-stats");
            ObjectNode spec = JSON.createObjectNode();
            spec.set("fields", g.get("fields"));
            ObjectNode op = JSON.createObjectNode().put("bucket", "-1");
            if (g.has("options")) op.setAll((ObjectNode) g.get("options"));
            spec.set("options", op);
            String dir = tmp.resolve("t").toString();
            createTable(spec, dir);
            ArrayNode rows = JSON.createArrayNode();
            for (JsonNode r : g.get("rows")) {
                ArrayNode k = rows.addArray().add("+I");
                r.forEach(k::add);
            }
            Session c = new Session(dir);
            doStep(c, JSON.createObjectNode().put("op", "write").set("rows", rows));
            FileStoreTable t = load(dir);
            for (ManifestEntry e : t.store().newScan().plan().files()) {
                ObjectNode o = JSON.createObjectNode().put("name", g.path("name").asText());
                o.set("fields", g.get("fields"));
                o.set("options", op);
                o.set("rows", g.get("rows"));
                List<String> vc = valueStatsCols(e.file());
                o.set("value_stats_cols", vc == null ? JSON.nullNode() : JSON.valueToTree(vc));
                o.set(
                        "value_stats",
                        statsJson(valueStatsType(t.schema(), vc), e.file().valueStats()));
                byte[] nc = ((BinaryArray) inv(e.file().valueStats(), "nullCounts")).toBytes();
                o.put("null_counts_hex", hex(nc));
                out.println(o);
            }
        }
        return 0;
    }
}
