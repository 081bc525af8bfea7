package oracle;

import static oracle.Alter.alterStep;
import static oracle.Analyze.analyze;
import static oracle.AppendDelete.appendDelete;
import static oracle.Compaction.compactStep;
import static oracle.Json.JSON;
import static oracle.Main.out;
import static oracle.Main.rootMessage;
import static oracle.Reflect.inv;
import static oracle.Tables.load;
import static oracle.Tables.strMap;
import static oracle.Writes.user;
import static oracle.Writes.writeColumnsStep;
import static oracle.Writes.writeStep;

import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.TableCommitImpl;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** One step of a specification: Java goes on with a table, whoever wrote it. */
final class Steps {
    static void doStep(Session c, JsonNode s) throws Exception {
        String op = s.get("op").asText();
        switch (op) {
            case "write":
            case "overwrite":
                writeStep(c, s, op.equals("overwrite"));
                break;
            case "write_columns":
                writeColumnsStep(c, s);
                break;
            case "compact":
                compactStep(c, s);
                break;
            case "append_delete":
                appendDelete(c, s);
                break;
            case "tag":
                {
                    FileStoreTable t = c.table(s);
                    if (s.has("snapshot"))
                        t.createTag(s.get("name").asText(), s.get("snapshot").asLong());
                    else t.createTag(s.get("name").asText());
                    break;
                }
            case "delete_tag":
                c.table(s).deleteTag(s.get("name").asText());
                break;
            case "rename_tag":
                inv(c.table(s), "renameTag", s.get("from").asText(), s.get("to").asText());
                break;
            case "rollback":
                {
                    if (s.has("tag")) c.table(s).rollbackTo(s.get("tag").asText());
                    else c.table(s).rollbackTo(s.get("snapshot").asLong());
                    break;
                }
            case "branch":
                {
                    String n = s.get("name").asText();
                    if (s.has("tag")) c.table(s).createBranch(n, s.get("tag").asText());
                    else c.table(s).createBranch(n);
                    break;
                }
            case "delete_branch":
                c.table(s).deleteBranch(s.get("name").asText());
                break;
            case "fast_forward":
                c.table(s).fastForward(s.get("name").asText());
                break;
            case "expire":
                {
                    ExpireConfig.Builder b = ExpireConfig.builder();
                    b.snapshotRetainMax(s.path("retain_max").asInt(1))
                            .snapshotRetainMin(s.path("retain_min").asInt(1))
                            .snapshotTimeRetain(Duration.ZERO);
                    if (s.has("changelog_retain_max"))
                        b.changelogRetainMax(s.get("changelog_retain_max").asInt())
                                .changelogRetainMin(s.path("changelog_retain_min").asInt(1))
                                .changelogTimeRetain(Duration.ofDays(3650));
                    c.table(s).newExpireSnapshots().config(b.build()).expire();
                    break;
                }
            case "alter":
                alterStep(c, s);
                break;
            case "truncate":
                {
                    FileStoreTable t = c.table(s);
                    try (TableCommitImpl m = t.newCommit(user(c, s))) {
                        if (s.has("partitions")) {
                            List<Map<String, String>> p = new ArrayList<>();
                            for (JsonNode x : s.get("partitions")) p.add(strMap(x));
                            inv(m, "truncatePartitions", p);
                        } else m.truncateTable();
                    }
                    break;
                }
            case "compact_manifests":
                {
                    try (TableCommitImpl m = c.table(s).newCommit(user(c, s))) {
                        inv(m, "compactManifests");
                    }
                    break;
                }
            case "analyze":
                analyze(c, s);
                break;
            case "hint":
                {
                    java.nio.file.Path p = Paths.get(c.dir, "snapshot", s.get("name").asText());
                    if (s.get("value").isNull()) Files.deleteIfExists(p);
                    else Files.write(p, s.get("value").asText().getBytes(StandardCharsets.UTF_8));
                    break;
                }
            case "file":
                {
                    java.nio.file.Path p = Paths.get(c.dir, s.get("path").asText());
                    if (s.path("text").isNull() || !s.has("text")) Files.deleteIfExists(p);
                    else {
                        Files.createDirectories(p.getParent());
                        Files.write(p, s.get("text").asText().getBytes(StandardCharsets.UTF_8));
                    }
                    break;
                }
            case "optional":
                {
                    try {
                        doStep(c, s.get("step"));
                    } catch (Throwable t) {
                        System.err.println("optional step refused: " + rootMessage(t));
                    }
                    break;
                }
            case "sleep":
                Thread.sleep(s.get("ms").asLong());
                break;
            case "fail":
                {
                    try {
                        doStep(c, s.get("step"));
                    } catch (Throwable t) {
                        break;
                    }
                    throw new IllegalStateException("step was expected to fail: " + s.get("step"));
                }
            default:
                throw new IllegalArgumentException("op " + op);
        }
    }

    /** The single-step commands: Java goes on with a table that another writer made. */
    static int step(Args a) throws Exception {
        Session c = new Session(a.pos(0));
        if (a.opts.containsKey("user")) c.user = a.opts.get("user");
        ObjectNode s = JSON.createObjectNode();
        switch (a.cmd) {
            case "apply":
                {
                    String src = a.pos(1);
                    JsonNode n =
                            src.startsWith("{") || src.startsWith("[")
                                    ? JSON.readTree(src)
                                    : JSON.readTree(new File(src));
                    for (JsonNode x :
                            n.isArray()
                                    ? n
                                    : n.has("steps")
                                            ? n.get("steps")
                                            : JSON.createArrayNode().add(n)) doStep(c, x);
                    break;
                }
            case "write":
            case "overwrite":
                s.put("op", a.cmd).put("rows_file", a.pos(1));
                if (a.opts.containsKey("partition"))
                    s.set("partition", JSON.readTree(a.opts.get("partition")));
                break;
            case "compact":
                s.put("op", "compact").put("full", a.flag("full"));
                break;
            case "tag":
                s.put("op", "tag").put("name", a.pos(1));
                if (a.opts.containsKey("snapshot"))
                    s.put("snapshot", Long.parseLong(a.opts.get("snapshot")));
                break;
            case "delete-tag":
                s.put("op", "delete_tag").put("name", a.pos(1));
                break;
            case "rollback":
                s.put("op", "rollback");
                if (a.opts.containsKey("tag")) s.put("tag", a.opts.get("tag"));
                else s.put("snapshot", Long.parseLong(a.opts.get("snapshot")));
                break;
            case "expire":
                s.put("op", "expire")
                        .put("retain_max", Integer.parseInt(a.opts.getOrDefault("retain-max", "1")))
                        .put(
                                "retain_min",
                                Integer.parseInt(a.opts.getOrDefault("retain-min", "1")));
                break;
            case "branch":
                s.put("op", "branch").put("name", a.pos(1));
                if (a.opts.containsKey("tag")) s.put("tag", a.opts.get("tag"));
                break;
            case "alter":
                s.put("op", "alter").set("changes", JSON.readTree(a.pos(1)));
                break;
            case "append-delete":
                s.put("op", "append_delete").set("where", JSON.readTree(a.pos(1)));
                break;
        }
        if (!a.cmd.equals("apply")) {
            if (a.opts.containsKey("branch") && !a.cmd.equals("branch"))
                s.put("branch", a.opts.get("branch"));
            if (!a.dyn.isEmpty()) s.set("dynamic", JSON.valueToTree(a.dyn));
            doStep(c, s);
        }
        FileStoreTable t = load(a.pos(0));
        out.println(
                JSON.createObjectNode()
                        .put("ok", true)
                        .put("latest_snapshot", t.snapshotManager().latestSnapshotId()));
        return 0;
    }
}
