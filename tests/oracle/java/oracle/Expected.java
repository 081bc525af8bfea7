package oracle;

import static oracle.Json.JSON;
import static oracle.Main.out;
import static oracle.Main.rootMessage;
import static oracle.Main.version;
import static oracle.Metadata.listSnapshots;
import static oracle.Metadata.metaRows;
import static oracle.Reads.readTable;
import static oracle.Reads.streamRows;
import static oracle.Steps.doStep;
import static oracle.Tables.createTable;
import static oracle.Tables.load;
import static oracle.Tables.loadAny;
import static oracle.Tables.strMap;

import org.apache.paimon.Snapshot;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;

import java.io.BufferedWriter;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;

/** Tables made from a specification, and everything that Java reads from them. */
final class Expected {
    /** gen SPEC OUT: OUT/table, OUT/spec.json, OUT/expected/*. */
    static int gen(Args a) throws Exception {
        JsonNode spec = JSON.readTree(new File(a.pos(0)));
        java.nio.file.Path o = Paths.get(a.pos(1)).toAbsolutePath();
        String dir = o.resolve("table").toString();
        Files.createDirectories(o);
        if (!a.flag("continue")) createTable(spec, dir);
        Session c = new Session(dir);
        int i = 0;
        List<String> snaps = new ArrayList<>();
        for (JsonNode s : spec.get("steps")) {
            try {
                if (s.get("op").asText().equals("expect")) writeExpected(dir, o, spec, s);
                else doStep(c, s);
            } catch (Throwable e) {
                String t = s.toString();
                throw new IllegalStateException(
                        spec.path("name").asText()
                                + ": step "
                                + i
                                + " "
                                + t.substring(0, Math.min(300, t.length())),
                        e);
            }
            i++;
        }
        writeExpected(dir, o, spec, null);
        Fsck f = new Fsck(dir);
        f.quiet = true;
        int rc = f.run(spec.path("fsck_no_data").asBoolean(false));
        dump(o.resolve("expected/fsck.jsonl"), Collections.singletonList(f.summary()));
        ObjectNode m =
                JSON.createObjectNode()
                        .put("name", spec.path("name").asText())
                        .put("writer", "paimon " + version())
                        .put("fsck", rc == 0 ? "clean" : "problems");
        Files.write(
                o.resolve("expected/about.json"),
                (JSON.writerWithDefaultPrettyPrinter().writeValueAsString(m) + "\n").getBytes());
        out.println(m);
        return 0;
    }

    static void dump(java.nio.file.Path p, List<ObjectNode> rows) throws Exception {
        Files.createDirectories(p.getParent());
        try (BufferedWriter w = Files.newBufferedWriter(p)) {
            for (ObjectNode r : rows) w.write(r + "\n");
        }
    }

    interface Rows {
        List<ObjectNode> get() throws Exception;
    }

    static boolean put(java.nio.file.Path dir, ObjectNode errors, String name, String table, Rows r)
            throws Exception {
        try {
            List<ObjectNode> rows = r.get();
            dump(dir.resolve(name + ".jsonl"), rows);
            return true;
        } catch (Throwable t) {
            errors.put(name, rootMessage(t).replace(table, "{TABLE}"));
            return false;
        }
    }

    /** Everything Java reads from a table; with `only`, one read asked for by an "expect" step. */
    static boolean writeExpected(String dir, java.nio.file.Path o, JsonNode spec, JsonNode only)
            throws Exception {
        java.nio.file.Path e = o.resolve("expected");
        Files.createDirectories(e);
        ObjectNode err = JSON.createObjectNode();
        if (Files.exists(e.resolve("errors.json")))
            err = (ObjectNode) JSON.readTree(e.resolve("errors.json").toFile());
        ObjectNode errors = err;
        String abs = Paths.get(dir).toAbsolutePath().normalize().toString();
        List<JsonNode> extra = new ArrayList<>();
        if (only != null) extra.add(only);
        else {
            if (spec != null && spec.has("reads"))
                for (JsonNode r : spec.get("reads")) extra.add(r);
            FileStoreTable t = load(dir);
            if (t.snapshotManager().latestSnapshotId() != null) {
                put(e, errors, "latest", abs, () -> readTable(load(dir), false));
                for (Snapshot s : listSnapshots(t))
                    put(
                            e,
                            errors,
                            "snapshot-" + s.id(),
                            abs,
                            () ->
                                    readTable(
                                            loadAny(
                                                    dir,
                                                    Collections.singletonMap(
                                                            "scan.snapshot-id", "" + s.id())),
                                            false));
                for (List<String> names : t.tagManager().tags().values())
                    for (String n : names)
                        put(
                                e,
                                errors,
                                "tag-" + n,
                                abs,
                                () ->
                                        readTable(
                                                loadAny(
                                                        dir,
                                                        Collections.singletonMap(
                                                                "scan.tag-name", n)),
                                                false));
                long first = t.snapshotManager().earliestSnapshotId(),
                        last = t.snapshotManager().latestSnapshotId();
                put(e, errors, "stream", abs, () -> streamRows(load(dir), first, new HashMap<>()));
                if (last > first)
                    put(
                            e,
                            errors,
                            "incremental-" + first + "-" + last,
                            abs,
                            () ->
                                    readTable(
                                            loadAny(
                                                    dir,
                                                    Collections.singletonMap(
                                                            "incremental-between",
                                                            first + "," + last)),
                                            true));
                if (!t.primaryKeys().isEmpty())
                    put(
                            e,
                            errors,
                            "system-audit_log",
                            abs,
                            () -> strip(readTable(loadAny(dir + "$audit_log", null), false), abs));
                if (!(spec != null && spec.path("no_meta").asBoolean()))
                    put(e, errors, "meta", abs, () -> metaRows(load(dir)));
            }
            for (String b : t.branchManager().branches())
                put(
                        e,
                        errors,
                        "branch-" + b,
                        abs,
                        () -> readTable(loadAny(dir + "$branch_" + b, null), false));
            for (String s :
                    new String[] {
                        "snapshots",
                        "schemas",
                        "options",
                        "manifests",
                        "files",
                        "tags",
                        "branches",
                        "partitions",
                        "buckets",
                        "statistics",
                        "aggregation_fields",
                        "table_indexes"
                    })
                put(
                        e,
                        errors,
                        "system-" + s,
                        abs,
                        () -> strip(readTable(loadAny(dir + "$" + s, null), false), abs));
        }
        for (JsonNode r : extra) {
            String name = r.get("name").asText();
            put(
                    e,
                    errors,
                    name,
                    abs,
                    () ->
                            r.has("from_snapshot")
                                    ? streamRows(
                                            (FileStoreTable)
                                                    loadAny(
                                                            dir + r.path("suffix").asText(""),
                                                            null),
                                            r.get("from_snapshot").asLong(),
                                            strMap(r.get("options")))
                                    : strip(
                                            readTable(
                                                    loadAny(
                                                            dir + r.path("suffix").asText(""),
                                                            strMap(r.get("options"))),
                                                    r.path("rowkind").asBoolean()),
                                            abs));
        }
        if (errors.size() > 0)
            Files.write(
                    e.resolve("errors.json"),
                    (JSON.writerWithDefaultPrettyPrinter().writeValueAsString(errors) + "\n")
                            .getBytes(StandardCharsets.UTF_8));
        return errors.size() == 0;
    }

    static List<ObjectNode> strip(List<ObjectNode> rows, String abs) throws Exception {
        List<ObjectNode> r = new ArrayList<>();
        for (ObjectNode o : rows)
            r.add(
                    (ObjectNode)
                            JSON.readTree(
                                    o.toString()
                                            .replace("file:" + abs, "{TABLE}")
                                            .replace(abs, "{TABLE}")));
        return r;
    }
}
