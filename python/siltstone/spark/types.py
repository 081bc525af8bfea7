"""Arrow schema to Spark schema and back.

Spark has microseconds and no time of day: TIMESTAMP(9) loses its last three digits, TIME comes as INT milliseconds.
Times that 64 bits of microseconds do not hold are errors. The values themselves are changed in ``values``.
Wall-clock timestamps are ``timestamp_ntz``, instants ``timestamp`` (the mapping of Spark's own helpers differs
between versions and would shift wall clocks).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from siltstone.errors import UnsupportedType

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructField, StructType


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark schema of a table's Arrow schema."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(f.name, _spark_type(f.type), f.nullable) for f in schema])


def _spark_type(t: pa.DataType) -> DataType:
    import pyarrow as pa
    from pyspark.sql import types as st

    if pa.types.is_struct(t):
        return st.StructType([st.StructField(f.name, _spark_type(f.type), f.nullable) for f in t])
    if pa.types.is_map(t):
        return st.MapType(_spark_type(t.key_type), _spark_type(t.item_type), t.item_field.nullable)
    if pa.types.is_list(t):
        return st.ArrayType(_spark_type(t.value_type), t.value_field.nullable)
    if pa.types.is_decimal(t):
        return st.DecimalType(t.precision, t.scale)
    if pa.types.is_timestamp(t):
        return st.TimestampNTZType() if t.tz is None else st.TimestampType()
    simple = {
        "bool": st.BooleanType,
        "int8": st.ByteType,
        "int16": st.ShortType,
        "int32": st.IntegerType,
        "int64": st.LongType,
        "float": st.FloatType,
        "double": st.DoubleType,
        "string": st.StringType,
        "binary": st.BinaryType,
        "date32[day]": st.DateType,
        "time32[ms]": st.IntegerType,
    }
    kind = simple.get(str(t))
    if kind is None:
        raise UnsupportedType(f"Spark has no counterpart of {t}")
    return kind()


def instants(given: DataType, wanted: pa.DataType) -> DataType:
    """A Spark type with instants in the places of those wall clocks that a table's Arrow type has as instants."""
    import pyarrow as pa
    from pyspark.sql import types as st

    if isinstance(given, st.TimestampNTZType):
        return st.TimestampType() if pa.types.is_timestamp(wanted) and wanted.tz is not None else given
    if isinstance(given, st.StructType) and pa.types.is_struct(wanted):
        return st.StructType([_instants(f, list(wanted)) for f in given])
    if isinstance(given, st.ArrayType) and pa.types.is_list(wanted):
        return st.ArrayType(instants(given.elementType, wanted.value_type), given.containsNull)
    if isinstance(given, st.MapType) and pa.types.is_map(wanted):
        key, value = instants(given.keyType, wanted.key_type), instants(given.valueType, wanted.item_type)
        return st.MapType(key, value, given.valueContainsNull)
    return given


def _instants(field: StructField, wanted: Iterable[pa.Field]) -> StructField:
    from pyspark.sql.types import StructField

    kind = next((f.type for f in wanted if f.name.lower() == field.name.lower()), None)
    return field if kind is None else StructField(field.name, instants(field.dataType, kind), field.nullable)


def changed_to_instants(given: StructType, wanted: pa.Schema) -> dict[str, DataType]:
    """Columns with wall clocks that a table has as instants, with the types that they need."""
    fields = [(field, _instants(field, wanted)) for field in given]
    return {field.name: new.dataType for field, new in fields if new.dataType != field.dataType}


def arrow_for_spark(schema: pa.Schema) -> pa.Schema:
    """The Arrow schema that Spark expects for a table's Arrow schema."""
    import pyarrow as pa

    return pa.schema([_field(f) for f in schema])


def _field(f: pa.Field) -> pa.Field:
    import pyarrow as pa

    return pa.field(f.name, _arrow_type(f.type), f.nullable)


def _arrow_type(t: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_struct(t):
        return pa.struct([_field(f) for f in t])
    if pa.types.is_map(t):
        return pa.map_(_arrow_type(t.key_type), _field(t.item_field))
    if pa.types.is_list(t):
        return pa.list_(_field(t.value_field))
    if pa.types.is_timestamp(t):
        return pa.timestamp("us", t.tz)
    if pa.types.is_time(t):
        return pa.int32()
    return t
