package oracle;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The arguments of a command: words, options ({@code --name}, {@code --name=value}), dynamic table
 * options ({@code k=v}).
 */
final class Args {
    final String cmd;
    final List<String> pos = new ArrayList<>();
    final Map<String, String> opts = new LinkedHashMap<>(); // --name or --name=value
    final Map<String, String> dyn = new LinkedHashMap<>(); // k=v

    Args(String[] s) {
        cmd = s.length == 0 ? "" : s[0];
        for (int i = 1; i < s.length; i++) {
            if (s[i].startsWith("--")) {
                int e = s[i].indexOf('=');
                if (e < 0) opts.put(s[i].substring(2), "true");
                else opts.put(s[i].substring(2, e), s[i].substring(e + 1));
            } else if (!pos.isEmpty()
                    && s[i].indexOf('=') > 0
                    && !s[i].startsWith("/")
                    && !s[i].startsWith("{")
                    && !s[i].startsWith("[")) {
                int e = s[i].indexOf('=');
                dyn.put(s[i].substring(0, e), s[i].substring(e + 1));
            } else pos.add(s[i]);
        }
    }

    String pos(int i) {
        if (pos.size() <= i)
            throw new IllegalArgumentException(cmd + ": argument " + (i + 1) + " is missing");
        return pos.get(i);
    }

    boolean flag(String n) {
        return "true".equals(opts.get(n));
    }
}
