package oracle;

import static oracle.Json.JSON;
import static oracle.Json.hex;
import static oracle.Main.out;
import static oracle.Main.rootMessage;
import static oracle.Metadata.listSnapshots;
import static oracle.Reads.readTable;
import static oracle.Reflect.has;
import static oracle.Reflect.inv;
import static oracle.Tables.load;

import org.apache.paimon.KeyValueFileStore;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.fs.Path;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.utils.SerializationUtils;

import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Reads everything that is reachable and compares it with what the metadata says. */
final class Fsck {
    final String dir;
    boolean quiet;
    final List<String> problems = new ArrayList<>();
    final List<String> warnings = new ArrayList<>();
    final Set<String> reachable = new TreeSet<>();
    final Map<String, String> checked = new HashMap<>();
    long files, rows, manifests, snapshots, indexFiles;

    Fsck(String dir) {
        this.dir = Paths.get(dir).toAbsolutePath().normalize().toString();
    }

    void bad(String s) {
        if (!problems.contains(s)) problems.add(s);
    }

    void reach(java.nio.file.Path p) {
        reachable.add(p.toString());
    }

    ObjectNode summary() {
        ObjectNode o = JSON.createObjectNode();
        o.put("snapshots", snapshots)
                .put("manifests", manifests)
                .put("data_files", files)
                .put("rows_in_files", rows)
                .put("index_files", indexFiles);
        o.set("problems", JSON.valueToTree(problems));
        o.set("warnings", JSON.valueToTree(warnings));
        return o;
    }

    int run(boolean noData) throws Exception {
        FileStoreTable main = load(dir);
        branch(main, "", Paths.get(dir), noData);
        for (String b : main.branchManager().branches()) {
            java.nio.file.Path root = Paths.get(dir, "branch", "branch-" + b);
            branch(
                    (FileStoreTable) inv(main, "switchToBranch", b),
                    "branch " + b + " ",
                    root,
                    noData);
        }
        unreferenced();
        if (!quiet) {
            out.println(summary());
            out.flush();
            for (String p : problems) System.err.println("PROBLEM " + p);
        }
        return problems.isEmpty() ? 0 : 1;
    }

    /** All versions of one branch, whose metadata lie below {@code root}. */
    void branch(FileStoreTable t, String who, java.nio.file.Path root, boolean noData)
            throws Exception {
        try (Stream<java.nio.file.Path> s = Files.walk(root.resolve("schema"))) {
            s.filter(Files::isRegularFile).forEach(this::reach);
        }
        for (Object x : (List<?>) inv(new SchemaManager(t.fileIO(), t.location()), "listAll"))
            if (((TableSchema) x).fields().isEmpty()) bad("schema without fields");
        List<Snapshot> all = new ArrayList<>(listSnapshots(t));
        for (int i = 1; i < all.size(); i++) {
            long before = all.get(i - 1).id(), id = all.get(i).id();
            if (id != before + 1) bad("snapshot ids are not continuous: " + before + ", " + id);
        }
        if (who.isEmpty() && !all.isEmpty()) latestHint(root, all.get(all.size() - 1).id());
        for (String h : new String[] {"EARLIEST", "LATEST"}) reach(root.resolve("snapshot/" + h));
        for (Snapshot s : all) reach(root.resolve("snapshot/snapshot-" + s.id()));
        for (Snapshot s : all) version(t, s, who, "snapshot " + s.id(), noData);
        for (Map.Entry<Snapshot, List<String>> e : t.tagManager().tags().entrySet())
            for (String n : e.getValue()) {
                reach(root.resolve("tag/tag-" + n));
                version(t, e.getKey(), who, "tag " + n, noData);
            }
        if (Files.isDirectory(root.resolve("changelog"))) changelogs(t, root, noData);
    }

    void latestHint(java.nio.file.Path root, long latest) throws Exception {
        java.nio.file.Path hint = root.resolve("snapshot/LATEST");
        if (!Files.exists(hint) || !new String(Files.readAllBytes(hint)).trim().equals("" + latest))
            warnings.add("LATEST hint is missing or wrong");
    }

    void version(FileStoreTable t, Snapshot s, String who, String name, boolean noData) {
        try {
            snapshot(t, s, who + name, name.startsWith("snapshot"), noData);
        } catch (Throwable x) {
            bad(name + ": " + rootMessage(x));
        }
    }

    /** Changelogs that outlived their snapshots. */
    void changelogs(FileStoreTable t, java.nio.file.Path root, boolean noData) throws Exception {
        List<java.nio.file.Path> found;
        try (Stream<java.nio.file.Path> s = Files.walk(root.resolve("changelog"))) {
            found = s.filter(Files::isRegularFile).collect(Collectors.toList());
        }
        for (java.nio.file.Path p : found) {
            reach(p);
            if (!p.getFileName().toString().startsWith("changelog-")) continue;
            Snapshot sn = Snapshot.fromJson(new String(Files.readAllBytes(p)));
            try {
                changelog(t, sn, p.getFileName().toString(), noData);
            } catch (Throwable x) {
                bad(p.getFileName() + ": " + rootMessage(x));
            }
        }
    }

    void unreferenced() throws Exception {
        List<java.nio.file.Path> found;
        try (Stream<java.nio.file.Path> s = Files.walk(Paths.get(dir))) {
            found = s.filter(Files::isRegularFile).sorted().collect(Collectors.toList());
        }
        int count = 0;
        for (java.nio.file.Path p : found) {
            if (reachable.contains(p.toString()) || p.getFileName().toString().startsWith("."))
                continue;
            if (count++ < 20) warnings.add("unreferenced file " + Paths.get(dir).relativize(p));
        }
        if (count > 20) warnings.add("unreferenced files in all: " + count);
    }

    java.nio.file.Path mpath(String n) {
        java.nio.file.Path p = Paths.get(dir, "manifest", n);
        reach(p);
        return p;
    }

    static String id(FileStoreTable t, ManifestEntry e) throws Exception {
        return hex(SerializationUtils.serializeBinaryRow(e.partition()))
                + "/"
                + e.bucket()
                + "/"
                + e.file().level()
                + "/"
                + e.file().fileName();
    }

    void snapshot(FileStoreTable t, Snapshot s, String who, boolean delta, boolean noData)
            throws Exception {
        snapshots++;
        Long bs = null, dsz = null;
        if (has(Snapshot.class, "baseManifestListSize")) {
            bs = (Long) inv(s, "baseManifestListSize");
            dsz = (Long) inv(s, "deltaManifestListSize");
        }
        Map<String, ManifestEntry> live = new LinkedHashMap<>();
        List<ManifestEntry> base =
                new ManifestCheck(this).entries(t, s.baseManifestList(), bs, who);
        List<ManifestEntry> del =
                new ManifestCheck(this).entries(t, s.deltaManifestList(), dsz, who);
        Set<String> gone = new HashSet<>();
        for (List<ManifestEntry> part : Arrays.asList(base, del))
            for (ManifestEntry e : part) {
                String k = id(t, e);
                if (e.kind() == FileKind.ADD) {
                    if (live.put(k, e) != null) bad(who + ": file added twice " + k);
                } else if (live.remove(k) == null) gone.add(k);
            }
        for (String g : gone)
            if (live.remove(g) == null) bad(who + ": DELETE entry without an ADD " + g);
        long total = 0;
        for (ManifestEntry e : live.values()) total += e.file().rowCount();
        Object trc = inv(s, "totalRecordCount");
        if (trc != null && ((Long) trc) != total)
            bad(who + ": totalRecordCount " + trc + ", live files hold " + total);
        long d = 0;
        for (ManifestEntry e : del)
            d += e.kind() == FileKind.ADD ? e.file().rowCount() : -e.file().rowCount();
        Object drc = inv(s, "deltaRecordCount");
        if (drc != null && ((Long) drc) != d)
            bad(who + ": deltaRecordCount " + drc + ", delta files hold " + d);
        for (ManifestEntry e : live.values()) new DataFileCheck(this).dataFile(t, e, who, noData);
        if (delta)
            for (ManifestEntry e : del)
                if (e.kind() == FileKind.ADD) new DataFileCheck(this).dataFile(t, e, who, noData);
        levels(t, live.values(), who);
        if (s.changelogManifestList() != null && delta) changelog(t, s, who, noData);
        if (s.indexManifest() != null) {
            if (!Files.exists(mpath(s.indexManifest())))
                bad(who + ": index manifest " + s.indexManifest() + " is missing");
            else new IndexCheck(this).index(t, s, live, who);
        }
        if (s.statistics() != null) {
            java.nio.file.Path p = Paths.get(dir, "statistics", s.statistics());
            reach(p);
            if (!Files.exists(p)) bad(who + ": statistics file is missing");
        }
        if (!noData) readable(t, s, who);
    }

    /** Java reads the version, and no key comes twice. */
    void readable(FileStoreTable t, Snapshot s, String who) {
        boolean tag = who.contains("tag ");
        String key = tag ? "scan.tag-name" : "scan.snapshot-id";
        String value = tag ? who.substring(who.indexOf("tag ") + 4) : "" + s.id();
        try {
            Set<String> keys = new HashSet<>();
            for (ObjectNode x : readTable(t.copy(Collections.singletonMap(key, value)), false)) {
                StringBuilder k = new StringBuilder();
                for (String c : t.primaryKeys()) k.append(x.get(c)).append('|');
                if (!t.primaryKeys().isEmpty() && !keys.add(k.toString()))
                    bad(who + ": primary key twice in the table: " + k);
            }
        } catch (Throwable x) {
            if (who.startsWith("branch ") && rootMessage(x).contains("doesn't exist"))
                warnings.add(who + ": this release does not find a branch's tags when it reads");
            else bad(who + ": cannot be read: " + rootMessage(x));
        }
    }

    void changelog(FileStoreTable t, Snapshot s, String who, boolean noData) throws Exception {
        if (s.changelogManifestList() == null) return;
        long n = 0;
        for (ManifestEntry e :
                new ManifestCheck(this)
                        .entries(t, s.changelogManifestList(), null, who + " changelog")) {
            if (e.kind() == FileKind.ADD) n += e.file().rowCount();
            new DataFileCheck(this).dataFile(t, e, who + " changelog", noData);
        }
        Object c = inv(s, "changelogRecordCount");
        if (c != null && ((Long) c) != n)
            bad(who + ": changelogRecordCount " + c + ", changelog files hold " + n);
    }

    java.nio.file.Path path(FileStoreTable t, ManifestEntry e, String extra) throws Exception {
        Object pf = t.store().pathFactory().createDataFilePathFactory(e.partition(), e.bucket());
        Object p;
        try {
            p = inv(pf, "toPath", e.file());
        } catch (NoSuchMethodException x) {
            p = inv(pf, "toPath", e.file().fileName());
        }
        java.nio.file.Path q = Paths.get(((Path) p).toUri().getPath());
        return extra == null ? q : q.resolveSibling(extra);
    }

    void levels(FileStoreTable t, Collection<ManifestEntry> live, String who) throws Exception {
        if (t.primaryKeys().isEmpty()) return;
        Map<String, List<ManifestEntry>> g = new HashMap<>();
        for (ManifestEntry e : live)
            if (e.file().level() > 0)
                g.computeIfAbsent(
                                hex(SerializationUtils.serializeBinaryRow(e.partition()))
                                        + "/"
                                        + e.bucket()
                                        + "/"
                                        + e.file().level(),
                                k -> new ArrayList<>())
                        .add(e);
        Comparator<InternalRow> kc = ((KeyValueFileStore) t.store()).newKeyComparator();
        for (Map.Entry<String, List<ManifestEntry>> x : g.entrySet()) {
            List<ManifestEntry> l = x.getValue();
            l.sort((p, q) -> kc.compare(p.file().minKey(), q.file().minKey()));
            for (int i = 1; i < l.size(); i++)
                if (kc.compare(l.get(i - 1).file().maxKey(), l.get(i).file().minKey()) >= 0)
                    bad(
                            who
                                    + ": files overlap on a level above 0: "
                                    + l.get(i - 1).file().fileName()
                                    + ", "
                                    + l.get(i).file().fileName());
        }
    }
}
