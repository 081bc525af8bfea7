package oracle;

import static oracle.FileJson.valueStatsType;
import static oracle.Json.JSON;
import static oracle.Json.cmp;
import static oracle.Json.get;
import static oracle.Json.toJson;
import static oracle.Reflect.inv;

import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.DoubleType;
import org.apache.paimon.types.FloatType;
import org.apache.paimon.types.RowType;

import java.math.BigDecimal;
import java.util.List;

/** Null counts must match; min and max must bound the values. */
final class ColumnCheck {
    final RowType all;
    final RowType st;
    final SimpleStats s;
    final int[] at;
    final long[] nulls;
    final JsonNode[] lo, hi;
    boolean usable;

    ColumnCheck(TableSchema schema, List<String> cols, SimpleStats s) {
        this.s = s;
        all = schema.logicalRowType();
        st = valueStatsType(schema, cols);
        usable = s.minValues().getFieldCount() == st.getFieldCount() && st.getFieldCount() > 0;
        at = new int[st.getFieldCount()];
        for (int i = 0; i < at.length; i++) at[i] = all.getFieldIndex(st.getFields().get(i).name());
        nulls = new long[at.length];
        lo = new JsonNode[at.length];
        hi = new JsonNode[at.length];
    }

    void add(InternalRow r) throws Exception {
        if (!usable) return;
        for (int i = 0; i < at.length; i++) {
            if (at[i] < 0) continue;
            DataType t = st.getTypeAt(i);
            Object v = get(r, t, at[i]);
            if (v == null) {
                nulls[i]++;
                continue;
            }
            switch (t.getTypeRoot().name()) {
                case "ARRAY":
                case "MAP":
                case "ROW":
                case "MULTISET":
                case "VARIANT":
                case "VECTOR":
                case "BLOB":
                    continue;
                default:
            }
            JsonNode j = toJson(t, v);
            if (j.isTextual()
                    && (t.getTypeRoot().name().equals("FLOAT")
                            || t.getTypeRoot().name().equals("DOUBLE"))) continue;
            if (t instanceof DecimalType)
                j = JSON.getNodeFactory().numberNode(new BigDecimal(j.asText()));
            if (lo[i] == null || cmp(j, lo[i]) < 0) lo[i] = j;
            if (hi[i] == null || cmp(j, hi[i]) > 0) hi[i] = j;
        }
    }

    void check(Fsck f, String who) throws Exception {
        if (!usable) return;
        InternalArray nc = (InternalArray) inv(s, "nullCounts");
        for (int i = 0; i < at.length; i++) {
            if (at[i] < 0) continue; // ids of rows, which a read of the table does not show
            DataType t = st.getTypeAt(i);
            String w = who + " column " + st.getFields().get(i).name();
            if (!nc.isNullAt(i) && nc.getLong(i) != nulls[i])
                f.bad(w + ": " + nulls[i] + " nulls, stats say " + nc.getLong(i));
            Object mn = get(s.minValues(), t, i), mx = get(s.maxValues(), t, i);
            JsonNode a = toJson(t, mn), b = toJson(t, mx);
            if (t instanceof DecimalType) {
                if (mn != null) a = JSON.getNodeFactory().numberNode(new BigDecimal(a.asText()));
                if (mx != null) b = JSON.getNodeFactory().numberNode(new BigDecimal(b.asText()));
            }
            if (t instanceof FloatType || t instanceof DoubleType) {
                if (a.isTextual()) mn = null;
                if (b.isTextual()) mx = null;
            }
            if (mn != null && lo[i] != null && cmp(a, lo[i]) > 0)
                f.bad(w + ": min " + lo[i] + " is below the stats " + a);
            if (mx != null && hi[i] != null && cmp(b, hi[i]) < 0)
                f.bad(w + ": max " + hi[i] + " is above the stats " + b);
        }
    }
}
