package oracle;

import static oracle.Expected.gen;
import static oracle.Expected.writeExpected;
import static oracle.Json.JSON;
import static oracle.Metadata.meta;
import static oracle.Reads.read;
import static oracle.Reads.stream;
import static oracle.Steps.step;

import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.TimeZone;

/** Drives real Java Paimon: arguments or JSON lines in, JSON lines out; see README.md. */
public final class Main {
    static PrintStream out;

    public static void main(String[] args) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone(System.getProperty("oracle.zone", "UTC")));
        out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
        int rc = 0;
        try {
            rc = run(args);
        } catch (Throwable t) {
            out.flush();
            t.printStackTrace();
            rc = 2;
        }
        out.flush();
        System.exit(rc);
    }

    static int run(String[] args) throws Exception {
        Args a = new Args(args);
        switch (a.cmd) {
            case "gen":
                return gen(a);
            case "read":
                return read(a);
            case "stream":
                return stream(a);
            case "meta":
                return meta(a);
            case "fsck":
                return new Fsck(a.pos(0)).run(a.flag("no-data"));
            case "expected":
                return writeExpected(a.pos(0), new File(a.pos(1)).toPath(), null, null) ? 0 : 1;
            case "write":
            case "compact":
            case "tag":
            case "delete-tag":
            case "rollback":
            case "expire":
            case "alter":
            case "branch":
            case "overwrite":
            case "append-delete":
            case "apply":
                return step(a);
            case "catalog":
                return Catalogs.run(a);
            case "hash":
                return Vectors.hash(a);
            case "stats":
                return Vectors.stats(a);
            case "bench":
                return Bench.run(a);
            case "roaring":
                return BitmapBench.run(a);
            case "time":
                return Bench.one(a);
            case "serve":
                return serve();
            default:
                System.err.println("unknown command " + a.cmd);
                return 64;
        }
    }

    /** One process, many commands: each line of stdin is a JSON array of arguments. */
    static int serve() throws Exception {
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = in.readLine()) != null) {
            if (line.trim().isEmpty()) continue;
            List<String> l = new ArrayList<>();
            for (JsonNode n : JSON.readTree(line)) l.add(n.asText());
            ObjectNode end = JSON.createObjectNode();
            try {
                end.put("_rc", run(l.toArray(new String[0])));
            } catch (Throwable t) {
                end.put("_rc", 2);
                end.put("_error", rootMessage(t));
            }
            out.println(end);
            out.flush();
        }
        return 0;
    }

    static String version() {
        String v = System.getProperty("paimon.version");
        return v == null ? "unknown" : v;
    }

    static String rootMessage(Throwable t) {
        while (t.getCause() != null && t.getCause() != t) t = t.getCause();
        return t.getClass().getName() + ": " + t.getMessage();
    }
}
