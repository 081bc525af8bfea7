package oracle;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Calls what has another name or other arguments in another release. */
final class Reflect {
    static Object inv(Object o, String name, Object... args) throws Exception {
        return invStatic(o.getClass(), o, name, args);
    }

    static Object invStatic(Class<?> c, Object o, String name, Object... args) throws Exception {
        for (Method m : c.getMethods()) {
            if (!m.getName().equals(name) || m.getParameterCount() != args.length) continue;
            Class<?>[] t = m.getParameterTypes();
            boolean ok = true;
            for (int i = 0; i < t.length && ok; i++) {
                Class<?> w =
                        t[i] == int.class
                                ? Integer.class
                                : t[i] == long.class
                                        ? Long.class
                                        : t[i] == boolean.class ? Boolean.class : t[i];
                ok = args[i] == null ? !t[i].isPrimitive() : w.isInstance(args[i]);
            }
            if (!ok) continue;
            try {
                m.setAccessible(true);
                return m.invoke(o, args);
            } catch (InvocationTargetException e) {
                if (e.getCause() instanceof Exception) throw (Exception) e.getCause();
                throw e;
            }
        }
        throw new NoSuchMethodException(c.getName() + "." + name + "/" + args.length);
    }

    static boolean has(Class<?> c, String name) {
        for (Method m : c.getMethods()) if (m.getName().equals(name)) return true;
        return false;
    }
}
