package oracle;

import static oracle.Reflect.inv;

import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.IntType;
import org.apache.paimon.types.LocalZonedTimestampType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.TimestampType;

import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;

/** Values as JSON; README.md describes their form. */
final class Json {
    static final ObjectMapper JSON = new ObjectMapper();

    static JsonNode toJson(DataType type, Object v) throws Exception {
        if (v == null) return JSON.nullNode();
        switch (type.getTypeRoot().name()) {
            case "CHAR":
            case "VARCHAR":
                return JSON.getNodeFactory().textNode(v.toString());
            case "BOOLEAN":
                return JSON.getNodeFactory().booleanNode((Boolean) v);
            case "BINARY":
            case "VARBINARY":
                return JSON.getNodeFactory().textNode(hex((byte[]) v));
            case "DECIMAL":
                return JSON.getNodeFactory().textNode(((Decimal) v).toBigDecimal().toPlainString());
            case "TINYINT":
            case "SMALLINT":
            case "INTEGER":
                return JSON.getNodeFactory().numberNode(((Number) v).intValue());
            case "BIGINT":
                return JSON.getNodeFactory().numberNode(((Number) v).longValue());
            case "FLOAT":
                {
                    float f = (Float) v;
                    return Float.isNaN(f) || Float.isInfinite(f)
                            ? JSON.getNodeFactory().textNode(Float.toString(f))
                            : JSON.getNodeFactory().numberNode(f);
                }
            case "DOUBLE":
                {
                    double f = (Double) v;
                    return Double.isNaN(f) || Double.isInfinite(f)
                            ? JSON.getNodeFactory().textNode(Double.toString(f))
                            : JSON.getNodeFactory().numberNode(f);
                }
            case "DATE":
                return JSON.getNodeFactory().textNode(LocalDate.ofEpochDay((Integer) v).toString());
            case "TIME_WITHOUT_TIME_ZONE":
                return JSON.getNodeFactory()
                        .textNode(
                                LocalTime.ofNanoOfDay((Integer) v * 1_000_000L)
                                        .format(DateTimeFormatter.ofPattern("HH:mm:ss.SSS")));
            case "TIMESTAMP_WITHOUT_TIME_ZONE":
                return JSON.getNodeFactory()
                        .textNode(ts((Timestamp) v, ((TimestampType) type).getPrecision()));
            case "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
                return JSON.getNodeFactory()
                        .textNode(
                                ts((Timestamp) v, ((LocalZonedTimestampType) type).getPrecision())
                                        + "Z");
            case "ARRAY":
            case "VECTOR":
                {
                    DataType e =
                            type instanceof ArrayType
                                    ? ((ArrayType) type).getElementType()
                                    : (DataType) inv(type, "getElementType");
                    return arrayJson(e, (InternalArray) v);
                }
            case "MAP":
                return mapJson(
                        ((MapType) type).getKeyType(),
                        ((MapType) type).getValueType(),
                        (InternalMap) v);
            case "MULTISET":
                return mapJson(
                        ((MultisetType) type).getElementType(), new IntType(), (InternalMap) v);
            case "ROW":
                {
                    ObjectNode o = JSON.createObjectNode();
                    InternalRow r = (InternalRow) v;
                    List<DataField> f = ((RowType) type).getFields();
                    for (int i = 0; i < f.size(); i++)
                        o.set(f.get(i).name(), toJson(f.get(i).type(), get(r, f.get(i).type(), i)));
                    return o;
                }
            case "BLOB":
                return JSON.getNodeFactory().textNode(hex((byte[]) inv(v, "toData")));
            case "VARIANT":
                return JSON.getNodeFactory().textNode((String) inv(v, "toJson"));
            default:
                throw new IllegalArgumentException("type " + type);
        }
    }

    static Object get(InternalRow r, DataType t, int i) {
        return r.isNullAt(i) ? null : InternalRow.createFieldGetter(t, i).getFieldOrNull(r);
    }

    static ArrayNode arrayJson(DataType e, InternalArray a) throws Exception {
        ArrayNode n = JSON.createArrayNode();
        InternalArray.ElementGetter g = InternalArray.createElementGetter(e);
        for (int i = 0; i < a.size(); i++) n.add(toJson(e, g.getElementOrNull(a, i)));
        return n;
    }

    static ArrayNode mapJson(DataType k, DataType v, InternalMap m) throws Exception {
        ArrayNode ks = arrayJson(k, m.keyArray()), vs = arrayJson(v, m.valueArray());
        List<ArrayNode> pairs = new ArrayList<>();
        for (int i = 0; i < ks.size(); i++)
            pairs.add(JSON.createArrayNode().add(ks.get(i)).add(vs.get(i)));
        pairs.sort((x, y) -> cmp(x.get(0), y.get(0)));
        ArrayNode n = JSON.createArrayNode();
        n.addAll(pairs);
        return n;
    }

    static String ts(Timestamp t, int p) {
        LocalDateTime l = t.toLocalDateTime();
        String s = l.format(DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss"));
        return p == 0 ? s : s + "." + String.format("%09d", l.getNano()).substring(0, p);
    }

    static String hex(byte[] b) {
        StringBuilder s = new StringBuilder();
        for (byte x : b)
            s.append(Character.forDigit((x >> 4) & 15, 16)).append(Character.forDigit(x & 15, 16));
        return s.toString();
    }

    static byte[] unhex(String s) {
        byte[] b = new byte[s.length() / 2];
        for (int i = 0; i < b.length; i++)
            b[i] = (byte) Integer.parseInt(s.substring(2 * i, 2 * i + 2), 16);
        return b;
    }

    /**
     * null, then booleans and numbers by value, then text by UTF-8 bytes; arrays and objects part
     * by part.
     */
    static int cmp(JsonNode a, JsonNode b) {
        if (a.isNull() || b.isNull()) return a.isNull() ? (b.isNull() ? 0 : -1) : 1;
        if (a.isNumber() && b.isNumber()) return a.decimalValue().compareTo(b.decimalValue());
        if (a.isContainerNode() && b.isContainerNode() && a.size() > 0 && b.size() > 0) {
            Iterator<JsonNode> x = a.iterator(), y = b.iterator();
            while (x.hasNext() && y.hasNext()) {
                int c = cmp(x.next(), y.next());
                if (c != 0) return c;
            }
            return Boolean.compare(x.hasNext(), y.hasNext());
        }
        byte[] p = (a.isTextual() ? a.asText() : a.toString()).getBytes(StandardCharsets.UTF_8);
        byte[] q = (b.isTextual() ? b.asText() : b.toString()).getBytes(StandardCharsets.UTF_8);
        return Arrays.compareUnsigned(p, q);
    }

    static ObjectNode rowJson(RowType type, InternalRow r) throws Exception {
        ObjectNode o = JSON.createObjectNode();
        for (int i = 0; i < type.getFieldCount(); i++) {
            DataField f = type.getFields().get(i);
            o.set(f.name(), toJson(f.type(), get(r, f.type(), i)));
        }
        return o;
    }
}
