"""Arrow schema to Spark schema and back, and batches cast between the two.

Spark has microseconds and no time of day: TIMESTAMP(9) loses its last three digits, TIME comes as INT milliseconds.
Wall-clock timestamps are ``timestamp_ntz``, instants ``timestamp`` (the mapping of Spark's own helpers differs
between versions and would shift wall clocks).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from siltstone.errors import UnsupportedType

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType


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
    return column if column.type.equals(t) else column.cast(t, safe=False)
