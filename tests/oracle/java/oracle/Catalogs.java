package oracle;

import static oracle.Json.JSON;
import static oracle.Main.out;
import static oracle.Reads.readTable;
import static oracle.Reflect.inv;
import static oracle.Steps.doStep;
import static oracle.Tables.schema;
import static oracle.Tables.strMap;

import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.options.Options;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;

import java.util.Collections;
import java.util.List;

/** A catalog of Java's, by its options: what it lists, makes and drops, and steps on its tables. */
final class Catalogs {
    static int run(Args a) throws Exception {
        Options options = Options.fromMap(strMap(JSON.readTree(a.pos(0))));
        try (Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(options))) {
            return run(catalog, a);
        }
    }

    private static int run(Catalog catalog, Args a) throws Exception {
        switch (a.pos(1)) {
            case "databases":
                list(catalog.listDatabases());
                return 0;
            case "tables":
                list(catalog.listTables(a.pos(2)));
                return 0;
            case "create-database":
                catalog.createDatabase(a.pos(2), false);
                return 0;
            case "drop-database":
                catalog.dropDatabase(a.pos(2), false, true);
                return 0;
            case "database":
                // not there in 0.9
                Object database = inv(catalog, "getDatabase", a.pos(2));
                out.println(JSON.valueToTree(inv(database, "options")));
                return 0;
            case "create-table":
                catalog.createTable(name(a.pos(2)), schema(JSON.readTree(a.pos(3))), false);
                return 0;
            case "drop-table":
                catalog.dropTable(name(a.pos(2)), false);
                return 0;
            case "rename-table":
                catalog.renameTable(name(a.pos(2)), name(a.pos(3)), false);
                return 0;
            case "read":
                for (ObjectNode row : readTable(catalog.getTable(name(a.pos(2))), false))
                    out.println(row);
                return 0;
            case "apply":
                apply(catalog, name(a.pos(2)), JSON.readTree(a.pos(3)));
                return 0;
            default:
                throw new IllegalArgumentException("unknown action " + a.pos(1));
        }
    }

    private static void apply(Catalog catalog, Identifier name, JsonNode steps) throws Exception {
        Session session =
                new Session(name.getFullName()) {
                    @Override
                    FileStoreTable open() throws Exception {
                        return (FileStoreTable) catalog.getTable(name);
                    }
                };
        for (JsonNode step : steps.isArray() ? steps : JSON.createArrayNode().add(steps))
            doStep(session, step);
    }

    private static Identifier name(String name) {
        return Identifier.fromString(name);
    }

    private static void list(List<String> names) throws Exception {
        Collections.sort(names);
        for (String name : names) out.println(JSON.writeValueAsString(name));
    }
}
