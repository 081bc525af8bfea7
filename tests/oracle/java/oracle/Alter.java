package oracle;

import static oracle.Reflect.inv;
import static oracle.Reflect.invStatic;
import static oracle.Tables.parseType;
import static oracle.Tables.texts;

import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;

import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/** Changes of a schema. */
final class Alter {
    static void alterStep(Session c, JsonNode s) throws Exception {
        List<SchemaChange> l = new ArrayList<>();
        for (JsonNode x : s.get("changes")) {
            JsonNode nm = x.get("name");
            Object name =
                    nm == null
                            ? null
                            : nm.isArray() ? texts(nm).toArray(new String[0]) : nm.asText();
            switch (x.get("kind").asText()) {
                case "add_column":
                    {
                        SchemaChange.Move mv =
                                x.has("after")
                                        ? SchemaChange.Move.after(
                                                nm.asText(), x.get("after").asText())
                                        : x.path("first").asBoolean()
                                                ? SchemaChange.Move.first(nm.asText())
                                                : null;
                        l.add(
                                (SchemaChange)
                                        invStatic(
                                                SchemaChange.class,
                                                null,
                                                "addColumn",
                                                name,
                                                parseType(x.get("type")),
                                                x.has("comment") ? x.get("comment").asText() : null,
                                                mv));
                        break;
                    }
                case "rename_column":
                    l.add(
                            (SchemaChange)
                                    invStatic(
                                            SchemaChange.class,
                                            null,
                                            "renameColumn",
                                            name,
                                            x.get("to").asText()));
                    break;
                case "drop_column":
                    l.add((SchemaChange) invStatic(SchemaChange.class, null, "dropColumn", name));
                    break;
                case "update_type":
                    if (name instanceof String)
                        l.add(
                                SchemaChange.updateColumnType(
                                        (String) name, parseType(x.get("type"))));
                    else
                        l.add(
                                (SchemaChange)
                                        invStatic(
                                                SchemaChange.class,
                                                null,
                                                "updateColumnType",
                                                name,
                                                parseType(x.get("type")),
                                                false));
                    break;
                case "nullability":
                    l.add(
                            (SchemaChange)
                                    invStatic(
                                            SchemaChange.class,
                                            null,
                                            "updateColumnNullability",
                                            name,
                                            x.get("nullable").asBoolean()));
                    break;
                case "column_comment":
                    l.add(
                            (SchemaChange)
                                    invStatic(
                                            SchemaChange.class,
                                            null,
                                            "updateColumnComment",
                                            name,
                                            x.get("comment").asText()));
                    break;
                case "default":
                    l.add(
                            (SchemaChange)
                                    invStatic(
                                            SchemaChange.class,
                                            null,
                                            "updateColumnDefaultValue",
                                            new String[] {nm.asText()},
                                            x.get("value").asText()));
                    break;
                case "move":
                    l.add(
                            SchemaChange.updateColumnPosition(
                                    x.has("after")
                                            ? SchemaChange.Move.after(
                                                    nm.asText(), x.get("after").asText())
                                            : SchemaChange.Move.first(nm.asText())));
                    break;
                case "set_option":
                    l.add(SchemaChange.setOption(x.get("key").asText(), x.get("value").asText()));
                    break;
                case "remove_option":
                    l.add(SchemaChange.removeOption(x.get("key").asText()));
                    break;
                case "comment":
                    l.add(SchemaChange.updateComment(x.get("comment").asText()));
                    break;
                default:
                    throw new IllegalArgumentException("change " + x);
            }
        }
        SchemaManager sm =
                new SchemaManager(
                        LocalFileIO.create(),
                        new Path(Paths.get(c.dir).toAbsolutePath().toString()));
        if (s.has("branch"))
            sm = (SchemaManager) inv(sm, "copyWithBranch", s.get("branch").asText());
        sm.commitChanges(l);
    }
}
