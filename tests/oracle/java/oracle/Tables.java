package oracle;

import static oracle.Reflect.inv;

import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.system.SystemTableLoader;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeJsonParser;

import java.lang.reflect.Method;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Opens and makes tables. */
final class Tables {
    static FileStoreTable load(String dir) {
        return FileStoreTableFactory.create(
                LocalFileIO.create(),
                new Path(Paths.get(dir).toAbsolutePath().normalize().toString()));
    }

    /** DIR, DIR$system, DIR$branch_NAME or DIR$branch_NAME$system. */
    static Table loadAny(String spec, Map<String, String> dyn) throws Exception {
        int slash = spec.lastIndexOf('/');
        String[] p = spec.substring(slash + 1).split("\\$");
        FileStoreTable t = load(spec.substring(0, slash + 1) + p[0]);
        String sys = null;
        for (int i = 1; i < p.length; i++) {
            if (p[i].startsWith("branch_"))
                t = (FileStoreTable) inv(t, "switchToBranch", p[i].substring(7));
            else sys = p[i];
        }
        Table r = t;
        if (sys != null) {
            for (Method m : SystemTableLoader.class.getMethods()) {
                if (!m.getName().equals("load")) continue;
                Class<?>[] c = m.getParameterTypes();
                if (c.length == 2 && c[1].isInstance(t)) r = (Table) m.invoke(null, sys, t);
                else if (c.length == 3) r = (Table) m.invoke(null, sys, t.fileIO(), t);
            }
            if (r == t || r == null) throw new IllegalArgumentException("no system table " + sys);
        }
        return dyn == null || dyn.isEmpty() ? r : r.copy(dyn);
    }

    static Map<String, String> strMap(JsonNode n) {
        Map<String, String> m = new LinkedHashMap<>();
        if (n != null)
            n.fields()
                    .forEachRemaining(
                            e ->
                                    m.put(
                                            e.getKey(),
                                            e.getValue().isNull() ? null : e.getValue().asText()));
        return m;
    }

    static DataType parseType(JsonNode n) {
        return DataTypeJsonParser.parseDataType(withIds(n.deepCopy(), new int[] {0}));
    }

    /** Nested row fields need an id in the schema JSON; the table schema reassigns them. */
    static JsonNode withIds(JsonNode n, int[] next) {
        if (n.isObject()) {
            if (n.has("name") && n.has("type") && !n.has("id"))
                ((ObjectNode) n).put("id", next[0]++);
            for (JsonNode c : n) withIds(c, next);
        } else if (n.isArray()) for (JsonNode c : n) withIds(c, next);
        return n;
    }

    static void createTable(JsonNode spec, String dir) throws Exception {
        new SchemaManager(
                        LocalFileIO.create(),
                        new Path(Paths.get(dir).toAbsolutePath().normalize().toString()))
                .createTable(schema(spec));
    }

    static Schema schema(JsonNode spec) {
        Schema.Builder b = Schema.newBuilder();
        for (JsonNode f : spec.get("fields"))
            b.column(
                    f.get("name").asText(),
                    parseType(f.get("type")),
                    f.has("comment") ? f.get("comment").asText() : null);
        if (spec.has("partition_keys")) b.partitionKeys(texts(spec.get("partition_keys")));
        if (spec.has("primary_keys")) b.primaryKey(texts(spec.get("primary_keys")));
        if (spec.has("options")) b.options(strMap(spec.get("options")));
        if (spec.has("comment")) b.comment(spec.get("comment").asText());
        return b.build();
    }

    static List<String> texts(JsonNode n) {
        List<String> l = new ArrayList<>();
        for (JsonNode x : n) l.add(x.asText());
        return l;
    }
}
