"""Types of PySpark's frames as Arrow's: a table is made with them, and rows of them are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from siltstone.errors import UnsupportedType

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType

#: What to do with values of types that Paimon does not have.
_INSTEAD = {
    "variant": "to_json(column) is the text that a column of the type VARIANT takes",
    "time": "cast it to a text, or to the number of milliseconds that a column of the type TIME takes",
}


def schema_of_spark(data: Any) -> pa.Schema | None:
    """The columns of a frame of PySpark, or of a ``StructType``, as Arrow's, all nullable; None for anything else."""
    from pyspark.sql.types import StructType

    schema = data if isinstance(data, StructType) else getattr(data, "schema", None)
    return arrow_schema_of_spark(schema) if isinstance(schema, StructType) else None


def arrow_schema_of_spark(schema: StructType) -> pa.Schema:
    """The Arrow schema in which Spark hands rows to Python; all nullable.

    Raises:
        UnsupportedType: Paimon has no such values; the error names the column.
    """
    from siltstone._pyarrow import pa

    fields = []
    for field in schema:
        try:
            fields.append(pa.field(field.name, arrow_of_spark(field.dataType)))
        except UnsupportedType as e:
            message = f"column '{field.name}': {e.message}"
            raise UnsupportedType(message, hint=e.hint, context={"column": field.name}) from None
    return pa.schema(fields)


def arrow_of_spark(t: DataType) -> pa.DataType:
    """The Arrow type in which Spark hands values to Python; all nullable.

    Raises:
        UnsupportedType: Paimon has no such values.
    """
    from pyspark.sql import types as st

    from siltstone._pyarrow import pa

    if isinstance(t, st.StructType):
        return pa.struct([pa.field(f.name, arrow_of_spark(f.dataType)) for f in t])
    if isinstance(t, st.ArrayType):
        return pa.list_(arrow_of_spark(t.elementType))
    if isinstance(t, st.MapType):
        return pa.map_(arrow_of_spark(t.keyType), arrow_of_spark(t.valueType))
    if isinstance(t, st.DecimalType):
        return pa.decimal128(t.precision, t.scale)
    simple: dict[type, pa.DataType] = {
        st.NullType: pa.null(),
        st.BooleanType: pa.bool_(),
        st.ByteType: pa.int8(),
        st.ShortType: pa.int16(),
        st.IntegerType: pa.int32(),
        st.LongType: pa.int64(),
        st.FloatType: pa.float32(),
        st.DoubleType: pa.float64(),
        st.StringType: pa.string(),
        st.CharType: pa.string(),
        st.VarcharType: pa.string(),
        st.BinaryType: pa.binary(),
        st.DateType: pa.date32(),
        st.TimestampType: pa.timestamp("us", "UTC"),
        st.TimestampNTZType: pa.timestamp("us"),
    }
    kind = simple.get(type(t))
    if kind is None:
        name = t.simpleString()
        raise UnsupportedType(f"Paimon has no counterpart of Spark's {name}", hint=_INSTEAD.get(name.partition("(")[0]))
    return kind
