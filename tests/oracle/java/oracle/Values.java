package oracle;

import static oracle.Json.unhex;
import static oracle.Reflect.inv;
import static oracle.Reflect.invStatic;

import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;

import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Values of JSON as Paimon keeps them in memory; README.md describes their form. */
final class Values {
    static Object toInternal(DataType type, JsonNode v) throws Exception {
        if (v == null || v.isNull()) return null;
        switch (type.getTypeRoot().name()) {
            case "CHAR":
            case "VARCHAR":
                return BinaryString.fromString(v.asText());
            case "BOOLEAN":
                return v.asBoolean();
            case "BINARY":
            case "VARBINARY":
                return v.asText().contains(":") ? sketch(v.asText()) : unhex(v.asText());
            case "DECIMAL":
                {
                    DecimalType d = (DecimalType) type;
                    return Decimal.fromBigDecimal(
                            new BigDecimal(v.asText()), d.getPrecision(), d.getScale());
                }
            case "TINYINT":
                return (byte) v.asInt();
            case "SMALLINT":
                return (short) v.asInt();
            case "INTEGER":
                return v.asInt();
            case "BIGINT":
                return v.isTextual() ? Long.parseLong(v.asText()) : v.asLong();
            case "FLOAT":
                return v.isTextual() ? Float.parseFloat(v.asText()) : (float) v.asDouble();
            case "DOUBLE":
                return v.isTextual() ? Double.parseDouble(v.asText()) : v.asDouble();
            case "DATE":
                return (int) LocalDate.parse(v.asText()).toEpochDay();
            case "TIME_WITHOUT_TIME_ZONE":
                return (int) (LocalTime.parse(v.asText()).toNanoOfDay() / 1_000_000L);
            case "TIMESTAMP_WITHOUT_TIME_ZONE":
            case "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
                {
                    String s = v.asText();
                    if (s.endsWith("Z")) s = s.substring(0, s.length() - 1);
                    return Timestamp.fromLocalDateTime(LocalDateTime.parse(s));
                }
            case "ARRAY":
            case "VECTOR":
                {
                    DataType e =
                            type instanceof ArrayType
                                    ? ((ArrayType) type).getElementType()
                                    : (DataType) inv(type, "getElementType");
                    Object[] r = new Object[v.size()];
                    for (int i = 0; i < r.length; i++) r[i] = toInternal(e, v.get(i));
                    return new GenericArray(r);
                }
            case "MAP":
                {
                    MapType m = (MapType) type;
                    Map<Object, Object> r = new LinkedHashMap<>();
                    for (JsonNode e : v)
                        r.put(
                                toInternal(m.getKeyType(), e.get(0)),
                                toInternal(m.getValueType(), e.get(1)));
                    return new GenericMap(r);
                }
            case "MULTISET":
                {
                    MultisetType m = (MultisetType) type;
                    Map<Object, Object> r = new LinkedHashMap<>();
                    for (JsonNode e : v)
                        r.put(toInternal(m.getElementType(), e.get(0)), e.get(1).asInt());
                    return new GenericMap(r);
                }
            case "ROW":
                {
                    List<DataField> f = ((RowType) type).getFields();
                    GenericRow r = new GenericRow(f.size());
                    for (int i = 0; i < f.size(); i++)
                        r.setField(
                                i,
                                toInternal(
                                        f.get(i).type(),
                                        v.isArray() ? v.get(i) : v.get(f.get(i).name())));
                    return r;
                }
            case "BLOB":
                return Class.forName("org.apache.paimon.data.BlobData")
                        .getConstructor(byte[].class)
                        .newInstance((Object) unhex(v.asText()));
            case "VARIANT":
                return invStatic(
                        Class.forName("org.apache.paimon.data.variant.GenericVariant"),
                        null,
                        "fromJson",
                        v.isTextual() ? v.asText() : v.toString());
            default:
                throw new IllegalArgumentException("type " + type);
        }
    }

    /**
     * "rbm32:1,2", "rbm64:1,2", "hll:1,2", "theta:1,2": what the sketch aggregators take as input.
     */
    static byte[] sketch(String s) throws Exception {
        String kind = s.substring(0, s.indexOf(':'));
        long[] v =
                Stream.of(s.substring(s.indexOf(':') + 1).split(","))
                        .mapToLong(Long::parseLong)
                        .toArray();
        int[] w = Arrays.stream(v).mapToInt(x -> (int) x).toArray();
        switch (kind) {
            case "rbm32":
                return (byte[])
                        inv(
                                invStatic(
                                        Class.forName("org.apache.paimon.utils.RoaringBitmap32"),
                                        null,
                                        "bitmapOf",
                                        (Object) w),
                                "serialize");
            case "rbm64":
                return (byte[])
                        inv(
                                invStatic(
                                        Class.forName("org.apache.paimon.utils.RoaringBitmap64"),
                                        null,
                                        "bitmapOf",
                                        (Object) v),
                                "serialize");
            case "hll":
                return (byte[])
                        invStatic(
                                Class.forName("org.apache.paimon.utils.HllSketchUtil"),
                                null,
                                "sketchOf",
                                (Object) w);
            case "theta":
                return (byte[])
                        invStatic(
                                Class.forName("org.apache.paimon.utils.ThetaSketch"),
                                null,
                                "sketchOf",
                                (Object) w);
            default:
                throw new IllegalArgumentException(s);
        }
    }

    static GenericRow toRow(RowType type, JsonNode n) throws Exception {
        GenericRow r = new GenericRow(type.getFieldCount());
        int off = 0;
        if (n.isArray()) {
            r.setRowKind(RowKind.fromShortString(n.get(0).asText()));
            off = 1;
            if (n.size() != type.getFieldCount() + 1)
                throw new IllegalArgumentException(
                        "row has "
                                + (n.size() - 1)
                                + " values, not "
                                + type.getFieldCount()
                                + ": "
                                + n);
        } else if (n.has("_kind")) r.setRowKind(RowKind.fromShortString(n.get("_kind").asText()));
        for (int i = 0; i < type.getFieldCount(); i++) {
            DataField f = type.getFields().get(i);
            JsonNode v = n.isArray() ? n.get(i + off) : n.get(f.name());
            try {
                r.setField(i, toInternal(f.type(), v));
            } catch (Exception e) {
                throw new IllegalArgumentException(f.name() + " " + f.type() + " <- " + v, e);
            }
        }
        return r;
    }
}
