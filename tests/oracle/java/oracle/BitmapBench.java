package oracle;

import static oracle.Main.out;

import org.roaringbitmap.RoaringBitmap;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.CRC32;

/**
 * Deletion-vector bitmaps: for a file of {@code max} rows and a share {@code ratio} of deleted rows
 * it times add, serialize, deserialize and contains. Positions are the first ratio*max values of a
 * fixed pseudo-random permutation of [0, max), see {@link Perm}; they are produced in chunks
 * outside the timed parts, so that only the bitmap work is measured.
 *
 * <p>Arguments: ROUNDS WARMUP MAX[,MAX...] RATIO[,RATIO...]. One JSON line per (max, ratio), each
 * time in milliseconds of this thread's CPU time, the median over ROUNDS.
 */
final class BitmapBench {

    /**
     * A bijection of [0, 2^bits) restricted to [0, max) by cycle walking. Same in every language.
     */
    static final class Perm {
        final long mask;
        final int half;
        final long max;

        Perm(long max) {
            this.max = max;
            int bits = 64 - Long.numberOfLeadingZeros(max - 1);
            if (bits < 2) bits = 2;
            this.mask = (1L << bits) - 1;
            this.half = bits / 2;
        }

        int apply(long i) {
            long x = i;
            do {
                x = (x * 0x9E3779B97F4A7C15L + 0x632BE59BD9B4E019L) & mask;
                x ^= x >>> half;
                x = (x * 0xD6E8FEB86659FD93L) & mask;
                x ^= x >>> half;
                x = (x * 0xCA5A826395121157L) & mask;
                x ^= x >>> half;
            } while (x >= max);
            return (int) x;
        }
    }

    static final int CHUNK = 1 << 22;

    /** The chosen positions, chunk by chunk: in the permutation's order, or ascending. */
    static final class Source {
        final Perm perm;
        final long k;
        final long[] words;
        long i;
        int w;
        long rest;

        Source(long max, long k, boolean ordered) {
            perm = new Perm(max);
            this.k = k;
            words = ordered ? new long[(int) ((max + 63) / 64)] : null;
            if (ordered)
                for (long j = 0; j < k; j++) {
                    int p = perm.apply(j);
                    words[p >>> 6] |= 1L << p;
                }
            rewind();
        }

        void rewind() {
            i = 0;
            w = 0;
            rest = words == null ? 0 : words[0];
        }

        int fill(int[] buf) {
            int n = 0;
            if (words == null) {
                while (n < buf.length && i < k) buf[n++] = perm.apply(i++);
                return n;
            }
            while (n < buf.length) {
                while (rest == 0) {
                    if (++w >= words.length) {
                        w = words.length - 1;
                        return n;
                    }
                    rest = words[w];
                }
                buf[n++] = (w << 6) + Long.numberOfTrailingZeros(rest);
                rest &= rest - 1;
            }
            return n;
        }
    }

    static double[] once(long max, double ratio, boolean ordered) throws Exception {
        long k = (long) (max * ratio);
        int[] buf = new int[CHUNK];
        RoaringBitmap bm = new RoaringBitmap();
        long add = 0;
        Source src = new Source(max, k, ordered);
        for (int n; (n = src.fill(buf)) > 0; ) add += addAll(bm, buf, n);
        if (bm.getLongCardinality() != k) throw new IllegalStateException("cardinality");
        // serialize as a version-1 deletion vector: run-optimize, magic + bitmap, crc
        long t = now();
        bm.runOptimize();
        int size = bm.serializedSizeInBytes();
        byte[] out = new byte[size + 4];
        ByteBuffer bb = ByteBuffer.wrap(out);
        bb.putInt(1581511376);
        bm.serialize(bb.slice().order(ByteOrder.LITTLE_ENDIAN));
        long serializePlain = now() - t;
        CRC32 crc = new CRC32();
        crc.update(out);
        long c = crc.getValue();
        long serialize = now() - t;
        // the same through the stream that Java Paimon uses
        t = now();
        ByteArrayOutputStream bos = new ByteArrayOutputStream();
        DataOutputStream dos = new DataOutputStream(bos);
        dos.writeInt(1581511376);
        bm.serialize(dos);
        byte[] out2 = bos.toByteArray();
        CRC32 crc2 = new CRC32();
        crc2.update(out2);
        long serializeStream = now() - t;
        if (!ordered && (crc2.getValue() != c || !Arrays.equals(out, out2)))
            throw new IllegalStateException("serialize");
        bos = null;
        out2 = null;
        // deserialize
        t = now();
        RoaringBitmap rd = new RoaringBitmap();
        rd.deserialize(ByteBuffer.wrap(out, 4, size).slice());
        long deserialize = now() - t;
        // and by stream, one value at a time, as the first design did
        t = now();
        RoaringBitmap rd2 = new RoaringBitmap();
        rd2.deserialize(new DataInputStream(new ByteArrayInputStream(out, 4, size)));
        long deserializeStream = now() - t;
        if (rd2.getLongCardinality() != k) throw new IllegalStateException();
        rd2 = null;
        // contains: every row of the file in order (what a reader does)
        t = now();
        long hit = 0;
        hit = scan(rd, (int) max);
        long containsScan = now() - t;
        if (hit != k) throw new IllegalStateException("contains");
        // contains: each deleted position, in the order of this run
        long containsDeleted = 0;
        src.rewind();
        for (int n; (n = src.fill(buf)) > 0; ) {
            long t0 = now();
            int h = probe(rd, buf, n);
            containsDeleted += now() - t0;
            if (h != n) throw new IllegalStateException();
        }
        return new double[] {
            add / 1e6,
            serializePlain / 1e6,
            serialize / 1e6,
            serializeStream / 1e6,
            deserialize / 1e6,
            deserializeStream / 1e6,
            containsScan / 1e6,
            containsDeleted / 1e6,
            size,
            c
        };
    }

    /** CPU time of this thread: the benchmark has one thread, and other load must not count. */
    static long now() {
        return MX.getCurrentThreadCpuTime();
    }

    static final ThreadMXBean MX = ManagementFactory.getThreadMXBean();

    static long scan(RoaringBitmap b, int max) {
        long hit = 0;
        for (int p = 0; p < max; p++) if (b.contains(p)) hit++;
        return hit;
    }

    static int probe(RoaringBitmap b, int[] buf, int n) {
        int h = 0;
        for (int j = 0; j < n; j++) if (b.contains(buf[j])) h++;
        return h;
    }

    static long addAll(RoaringBitmap bm, int[] buf, int n) {
        long t = now();
        for (int j = 0; j < n; j++) bm.add(buf[j]);
        return now() - t;
    }

    static double median(double[] v) {
        Arrays.sort(v);
        return v.length % 2 == 1 ? v[v.length / 2] : (v[v.length / 2 - 1] + v[v.length / 2]) / 2;
    }

    static int run(Args a) throws Exception {
        int rounds = Integer.parseInt(a.pos(0)), warm = Integer.parseInt(a.pos(1));
        String[] names = {
            "add_ms",
            "serialize_plain_ms",
            "serialize_ms",
            "serialize_stream_ms",
            "deserialize_ms",
            "deserialize_stream_ms",
            "contains_scan_ms",
            "contains_deleted_ms",
            "bytes",
            "crc"
        };
        for (String m : a.pos(2).split(","))
            for (String r : a.pos(3).split(","))
                for (boolean ordered : new boolean[] {false, true}) {
                    long max = Long.parseLong(m);
                    double ratio = Double.parseDouble(r);
                    for (int i = 0; i < warm; i++) once(max, ratio, ordered);
                    double[][] v = new double[names.length][rounds];
                    for (int i = 0; i < rounds; i++) {
                        double[] x = once(max, ratio, ordered);
                        for (int j = 0; j < x.length; j++) v[j][i] = x[j];
                    }
                    StringBuilder sb =
                            new StringBuilder(
                                    "{\"impl\":\"java-roaringbitmap\",\"max\":"
                                            + max
                                            + ",\"ratio\":"
                                            + ratio
                                            + ",\"order\":\""
                                            + (ordered ? "ascending" : "random")
                                            + "\",\"rounds\":"
                                            + rounds);
                    for (int j = 0; j < names.length; j++) {
                        double md = median(v[j]);
                        sb.append(",\"")
                                .append(names[j])
                                .append("\":")
                                .append(
                                        j >= 8
                                                ? String.valueOf((long) md)
                                                : String.format("%.3f", md));
                    }
                    out.println(sb.append("}"));
                }
        return 0;
    }
}
