import org.apache.paimon.rest.RESTCatalogServer;
import org.apache.paimon.rest.auth.BearTokenAuthProvider;
import org.apache.paimon.rest.responses.ConfigResponse;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;

/** The REST catalog of Paimon's own tests, until its input ends: FOLDER TOKEN [KEY=VALUE of the configuration...]. */
public class RestServer {
    public static void main(String[] args) throws Exception {
        Map<String, String> defaults = new HashMap<>();
        defaults.put("prefix", "paimon");
        defaults.put("warehouse", "wh");
        for (int i = 2; i < args.length; i++) {
            String[] pair = args[i].split("=", 2);
            defaults.put(pair[0], pair[1]);
        }
        RESTCatalogServer server =
                new RESTCatalogServer(
                        args[0],
                        new BearTokenAuthProvider(args[1]),
                        new ConfigResponse(defaults, new HashMap<>()),
                        "wh");
        server.start();
        System.out.println(server.getUrl());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            // the next commit is done, and answered as a failure
            if (line.equals("lose-the-next-answer")) RESTCatalogServer.commitSuccessThrowException = true;
            System.out.println("done");
        }
        server.shutdown();
        System.exit(0);
    }
}
