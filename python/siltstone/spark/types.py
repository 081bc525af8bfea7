"""Arrow schema to Spark schema and back, and batches cast between the two.

Spark has microseconds and no time of day: TIMESTAMP(9) loses its last three digits, TIME comes as INT milliseconds.
Wall-clock timestamps are ``timestamp_ntz``, instants ``timestamp`` (the mapping of Spark's own helpers differs
between versions and would shift wall clocks).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

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


def to_spark(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch of a table with the types that Spark expects."""
    return _cast(batch, schema)


def from_spark(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch of Spark with the table's types where Spark has none (TIME); columns are matched without case.

    Raises:
        SchemaMismatch: Two columns differ only in case.
    """
    import pyarrow as pa

    from siltstone.errors import SchemaMismatch

    wanted = {f.name.lower(): f for f in schema}
    names, columns = [], []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        field = wanted.get(name.lower())
        known = name if field is None else field.name
        if known in names:
            raise SchemaMismatch(f"two columns are called '{known}' when case is ignored")
        if field is not None and pa.types.is_time(field.type) and pa.types.is_integer(column.type):
            column = column.cast(pa.int32()).cast(field.type)  # noqa: PLW2901  # the column in the table's type
        names.append(known)
        columns.append(column)
    return pa.record_batch(columns, names=names)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    if batch.schema.equals(schema):
        return batch
    columns = [_cast_column(c, f.type) for c, f in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast_column(column: Any, t: pa.DataType) -> Any:
    """A cast that may drop digits below microseconds, and nothing else."""
    column = _in_microseconds(column)
    return column if column.type.equals(t) else column.cast(t, safe=False)


def _in_microseconds(column: Any) -> Any:
    """An array with the microsecond in which each nanosecond lies, at any depth; casts go towards 1970 instead."""
    import pyarrow as pa

    t = column.type
    if pa.types.is_timestamp(t) and t.unit == "ns":
        return _microseconds(column)
    if "[ns" not in str(t):
        return column
    if pa.types.is_struct(t):
        parts = [_in_microseconds(column.field(at)) for at in range(t.num_fields)]
        fields = [f.with_type(part.type) for f, part in zip(t, parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=column.is_null())
    if pa.types.is_map(t):
        keys, items = _in_microseconds(column.keys), _in_microseconds(column.items)
        key, item = t.key_field.with_type(keys.type), t.item_field.with_type(items.type)
        entries = pa.StructArray.from_arrays([keys, items], fields=[key, item])
        return _with_values(column, pa.map_(key, item), entries)
    values = _in_microseconds(column.values)
    return _with_values(column, pa.list_(t.value_field.with_type(values.type)), values)


def _with_values(column: Any, t: pa.DataType, values: Any) -> Any:
    """A list or map with the same offsets over other values."""
    import pyarrow as pa

    buffers = column.buffers()[:2]
    return pa.Array.from_buffers(t, len(column), buffers, column.null_count, column.offset, [values])


def _microseconds(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    nanos = column.cast(pa.int64())
    towards_zero = pc.divide(nanos, 1000)
    below = pc.less(nanos, pc.multiply(towards_zero, 1000)).cast(pa.int64())
    return pc.subtract(towards_zero, below).cast(pa.timestamp("us", column.type.tz))
