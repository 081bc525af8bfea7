"""Batches of a table with Spark's values, and back: times as microseconds, times of day as INT milliseconds.

Every change is exact or an error, but for one: nanoseconds become the microsecond in which they lie.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from siltstone.errors import SchemaMismatch, UnsupportedType
from siltstone.spark.column_names import ColumnNames

if TYPE_CHECKING:
    import pyarrow as pa

_NANOS_PER_MICRO = 1000
#: How many microseconds a larger unit has.
_MICROS = {"s": 1_000_000, "ms": 1000}
_OTHER_UNIT = re.compile(r"timestamp\[(?:s|ms|ns)\b")
_TIME = re.compile(r"time(?:32|64)\[")
_LARGEST = 2**63 - 1
_LARGEST_INT = 2**31 - 1


def to_spark(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch of a table with the types that Spark expects.

    Raises:
        UnsupportedType: A time that microseconds do not reach.
    """
    import pyarrow as pa

    if batch.schema.equals(schema):
        return batch
    columns = [
        _as(_in_microseconds(column, field.name), field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def from_spark(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch of Spark with the table's types where Spark has none (TIME); columns are matched without case.

    Raises:
        SchemaMismatch: Two columns differ only in case; a number that is no time of day.
    """
    import pyarrow as pa

    wanted = ColumnNames(schema.names)
    names, columns = [], []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        found = wanted.find(name)
        known = name if found is None else found
        if known in names:
            raise SchemaMismatch(f"two columns are called '{known}' when case is ignored")
        names.append(known)
        columns.append(column if found is None else _with_times(column, schema.field(found).type, known))
    return pa.record_batch(columns, names=names)


def _as(column: Any, t: pa.DataType) -> Any:
    return column if column.type.equals(t) else column.cast(t)


def _in_microseconds(column: Any, name: str) -> Any:
    """An array with times of every unit as microseconds, at any depth; ``name`` is the column's, for errors."""
    import pyarrow as pa

    t = column.type
    if not _OTHER_UNIT.search(str(t)):
        return column
    if pa.types.is_timestamp(t):
        return _microseconds(column, name)
    return _rebuilt(column, [_in_microseconds(part, name) for part in _parts(column)])


def _microseconds(column: Any, name: str) -> Any:
    """Nanoseconds become the microsecond in which they lie; casts go towards 1970 instead."""
    import pyarrow as pa
    import pyarrow.compute as pc

    t, ticks = column.type, column.cast(pa.int64())
    if t.unit == "ns":
        towards_zero = pc.divide(ticks, _NANOS_PER_MICRO)
        below = pc.less(ticks, pc.multiply(towards_zero, _NANOS_PER_MICRO)).cast(pa.int64())
        return pc.subtract(towards_zero, below).cast(pa.timestamp("us", t.tz))
    most = _LARGEST // _MICROS[t.unit]
    far = ticks.filter(pc.or_(pc.greater(ticks, most), pc.less(ticks, -most)))
    if len(far):
        raise UnsupportedType(
            f"column '{name}' has a time {far[0].as_py()} {t.unit} from 1970, which Spark's 64 bits of microseconds do "
            "not hold (years -290308 to 294247)",
            hint="leave the column or these rows out",
            context={"column": name},
        )
    return pc.multiply(ticks, _MICROS[t.unit]).cast(pa.timestamp("us", t.tz))


def _with_times(column: Any, t: pa.DataType, name: str) -> Any:
    """An array of Spark's with times of day where a table's type has them, at any depth."""
    import pyarrow as pa

    if not _TIME.search(str(t)):
        return column
    if pa.types.is_time(t):
        return _times(column, t, name) if pa.types.is_integer(column.type) else column
    given = column.type
    if pa.types.is_struct(t) and pa.types.is_struct(given):
        wanted = {f.name.lower(): f.type for f in t}
        types = [wanted.get(f.name.lower(), f.type) for f in given]
    elif pa.types.is_map(t) and pa.types.is_map(given):
        types = [t.key_type, t.item_type]
    elif pa.types.is_list(t) and pa.types.is_list(given):
        types = [t.value_type]
    else:  # the core says that they do not fit
        return column
    return _rebuilt(column, [_with_times(part, kind, name) for part, kind in zip(_parts(column), types, strict=True)])


def _times(column: Any, t: pa.DataType, name: str) -> Any:
    """Milliseconds of a day as times; whether a day has so many is looked at by the core."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wide = column.cast(pa.int64())
    far = wide.filter(pc.or_(pc.greater(wide, _LARGEST_INT), pc.less(wide, -_LARGEST_INT)))
    if len(far):
        raise SchemaMismatch(
            f"the value {far[0].as_py()} does not fit column '{name}', a TIME: milliseconds of a day in Spark",
            context={"column": name},
        )
    return wide.cast(pa.int32()).cast(t)


def _parts(column: Any) -> list[Any]:
    """Fields of a struct, keys and values of a map, elements of a list."""
    import pyarrow as pa

    if pa.types.is_struct(column.type):
        return list(column.flatten())  # null where the struct is, whatever lies below
    return [column.keys, column.items] if pa.types.is_map(column.type) else [column.values]


def _rebuilt(column: Any, parts: list[Any]) -> Any:
    """A struct, map or list of other parts."""
    import pyarrow as pa

    t = column.type
    if pa.types.is_struct(t):
        fields = [f.with_type(part.type) for f, part in zip(t, parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=column.is_null())
    if pa.types.is_map(t):
        fields = [f.with_type(part.type) for f, part in zip((t.key_field, t.item_field), parts, strict=True)]
        return _with_values(column, pa.map_(*fields), pa.StructArray.from_arrays(parts, fields=fields))
    return _with_values(column, pa.list_(t.value_field.with_type(parts[0].type)), parts[0])


def _with_values(column: Any, t: pa.DataType, values: Any) -> Any:
    """A list or map with the same offsets over other values."""
    import pyarrow as pa

    buffers = column.buffers()[:2]
    return pa.Array.from_buffers(t, len(column), buffers, column.null_count, column.offset, [values])
