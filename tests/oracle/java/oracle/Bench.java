package oracle;

import static oracle.Json.JSON;
import static oracle.Main.out;
import static oracle.Main.version;

import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Timings of whole jobs; benches/suite/scenarios.py says which. */
final class Bench {
    static int run(Args a) throws Exception {
        JsonNode spec = JSON.readTree(new File(a.pos(0)));
        String inputs = a.pos(1);
        String work = a.pos(2);
        int rounds = Integer.parseInt(a.opts.getOrDefault("rounds", "3"));
        int warm = Integer.parseInt(a.opts.getOrDefault("warmup", "1"));
        Set<String> only =
                a.opts.containsKey("only")
                        ? new HashSet<>(Arrays.asList(a.opts.get("only").split(",")))
                        : null;
        for (JsonNode sc : spec.get("scenarios")) {
            if (only != null && !only.contains(sc.get("name").asText())) continue;
            Map<String, List<double[]>> times = new LinkedHashMap<>();
            Map<String, ObjectNode> facts = new LinkedHashMap<>();
            for (int i = 0; i < warm + rounds; i++) {
                String dir = work + "/" + sc.get("name").asText();
                deleteTree(Paths.get(dir));
                Phases b = new Phases(sc, inputs, dir, i < warm ? null : times, facts);
                b.all();
                if (i < warm)
                    System.err.println(
                            "warmed " + sc.get("name").asText() + " " + (i + 1) + "/" + warm);
            }
            for (Map.Entry<String, List<double[]>> e : times.entrySet()) {
                ObjectNode o =
                        JSON.createObjectNode()
                                .put("impl", "java-paimon-" + version())
                                .put("scenario", sc.get("name").asText())
                                .put("phase", e.getKey())
                                .put("rounds", e.getValue().size());
                double wall = med(e.getValue(), 0),
                        cpu = med(e.getValue(), 1),
                        rows = med(e.getValue(), 2);
                o.put("wall_s", rd(wall))
                        .put("cpu_s", rd(cpu))
                        .put("rows", (long) rows)
                        .put("rows_per_s", Math.round(rows / wall))
                        .put("rows_per_cpu_s", Math.round(rows / cpu));
                o.put("peak_rss_mb", (long) med(e.getValue(), 3));
                ArrayNode all = o.putArray("wall_all");
                for (double[] d : e.getValue()) all.add(rd(d[0]));
                if (facts.containsKey(e.getKey())) o.setAll(facts.get(e.getKey()));
                out.println(o);
                out.flush();
            }
        }
        return 0;
    }

    /** time TABLE read|compact|full: one phase on an existing table, in this fresh JVM. */
    static int one(Args a) throws Exception {
        Map<String, List<double[]>> times = new LinkedHashMap<>();
        ObjectNode sc = JSON.createObjectNode().put("name", "one");
        Phases b = new Phases(sc, null, a.pos(0), times, new HashMap<>());
        String op = a.pos(1);
        int rounds = op.equals("read") ? Integer.parseInt(a.opts.getOrDefault("rounds", "1")) : 1;
        ObjectNode p =
                JSON.createObjectNode()
                        .put("name", op)
                        .put("op", op.equals("read") ? "read" : "compact")
                        .put("full", op.equals("full"))
                        .put("repeat", rounds);
        if (!a.dyn.isEmpty()) p.set("dynamic", JSON.valueToTree(a.dyn));
        b.phase(p);
        List<double[]> l = times.get(op);
        ObjectNode o =
                JSON.createObjectNode()
                        .put("impl", "java-paimon-" + version())
                        .put("phase", op)
                        .put("rounds", rounds);
        o.put("wall_s", rd(med(l, 0)))
                .put("cpu_s", rd(med(l, 1)))
                .put("rows", (long) med(l, 2))
                .put("peak_rss_mb", (long) med(l, 3));
        ArrayNode all = o.putArray("wall_all");
        for (double[] d : l) all.add(rd(d[0]));
        out.println(o);
        return 0;
    }

    static double rd(double d) {
        return Math.round(d * 1000) / 1000.0;
    }

    static double med(List<double[]> l, int k) {
        double[] v = l.stream().mapToDouble(d -> d[k]).sorted().toArray();
        return v.length % 2 == 1 ? v[v.length / 2] : (v[v.length / 2 - 1] + v[v.length / 2]) / 2;
    }

    static void deleteTree(java.nio.file.Path p) throws Exception {
        if (!Files.exists(p)) return;
        try (Stream<java.nio.file.Path> s = Files.walk(p)) {
            for (java.nio.file.Path q :
                    s.sorted(Comparator.reverseOrder()).collect(Collectors.toList()))
                Files.delete(q);
        }
    }
}
