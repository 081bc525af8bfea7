"""Python values as Arrow arrays of a table's types: each is stored as it was given, or refused by name.

One rule for all containers: a value fits a column that can hold exactly this value. Integers fit columns of numbers;
floats and Decimals without a fraction fit columns of integers (1.0 is an INT, 1.5 is none). Other floats are for FLOAT
and DOUBLE, other Decimals for DECIMAL: 0.1 is not the same number in both. FLOAT takes the nearest number it has,
unless that is zero or infinite. Nothing is cut or parsed, and an instant is no wall clock. A datetime without zone is
taken as UTC by TIMESTAMP_LTZ. Values of files of text are the same once they are read as :mod:`siltstone._texts` says.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

from siltstone import _scalars as scalars
from siltstone._conversions import converted, listed, mapped, nothing, row
from siltstone._own_types import OwnType, own_type
from siltstone._scalars import Converter
from siltstone.errors import SchemaMismatch

#: What makes of a value of a file of text the one that a column of the type stores; None where no other rule holds.
Leaf = Callable[[Any], Converter | None]


def column(name: str, values: Sequence[Any], kind: Any, leaf: Leaf | None = None, before: int = 0) -> Any:
    """A pyarrow array of ``kind`` with these values.

    Args:
        name: The column.
        values: Its values.
        kind: The type of the array.
        leaf: Conversions of a kind of file, for types that have no types in them.
        before: Rows that stand before these, which messages count.

    Raises:
        SchemaMismatch: A value that the type cannot hold exactly; the message names column, row and value.
        LengthExceeded: A number with too many digits.
    """
    from siltstone._pyarrow import pa

    if _plain(kind).issuperset(map(type, values)):
        try:
            return pa.array(values, kind)
        except (pa.ArrowException, ValueError, OverflowError):
            pass  # the loop below names the value
    taken = converted(name, values, _converter(kind, leaf), before)
    try:
        return pa.array(taken, kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as e:
        raise SchemaMismatch(f"the values do not fit column '{name}': {e}", context={"column": name}) from e


def own_column(name: str, values: Sequence[Any]) -> Any:
    """An array of values of a column that the table does not have, in the type that all of them have.

    Raises:
        SchemaMismatch: There is none.
    """
    return column(name, values, _arrow_type(own_type(name, values)))


def _arrow_type(own: OwnType) -> Any:
    from siltstone._pyarrow import pa

    if own.name == "row":
        return pa.struct([pa.field(name, _arrow_type(part)) for name, part in own.parts.items()])
    if own.name == "list":
        return pa.list_(pa.field("element", _arrow_type(own.parts["element"])))
    if own.name == "decimal":
        return pa.decimal128(*own.digits)
    if own.name == "timestamp":
        return pa.timestamp(own.unit, "UTC" if own.zoned else None)
    return {
        "null": pa.null(), "boolean": pa.bool_(), "integer": pa.int64(), "float": pa.float64(), "string": pa.string(),
        "binary": pa.binary(), "date": pa.date32(), "time": pa.time64("us"),
    }[own.name]  # fmt: skip


def _plain(kind: Any) -> frozenset[type]:
    """The Python types whose values pyarrow stores exactly, or refuses; others are looked at one by one."""
    from siltstone._pyarrow import pa

    t = pa.types
    plain = (
        (t.is_string, str), (t.is_integer, int), (t.is_float64, float), (t.is_boolean, bool), (t.is_binary, bytes),
        (t.is_date, dt.date),
    )  # fmt: skip
    found = next((python for matches, python in plain if matches(kind)), None)
    return frozenset() if found is None else frozenset((found, type(None)))


def _converter(kind: Any, leaf: Leaf | None) -> Converter:
    """What makes of a value, which is not None, the one that pyarrow stores without another change."""
    from siltstone._pyarrow import pa

    t = pa.types
    makers: tuple[tuple[Callable[[Any], bool], Converter], ...] = (
        (t.is_struct, lambda kind: row({f.name: _converter(f.type, leaf) for f in kind})),
        (t.is_map, lambda kind: mapped(_converter(kind.key_type, leaf), _converter(kind.item_type, leaf))),
        (t.is_list, lambda kind: listed(_converter(kind.value_type, leaf))),
        (t.is_null, lambda _: nothing),
        (t.is_integer, lambda kind: scalars.integer(kind.bit_width)),
        (t.is_decimal, lambda kind: scalars.decimal128(kind.precision, kind.scale)),
        (t.is_timestamp, lambda kind: scalars.timestamp(kind.unit, zoned=kind.tz is not None)),
        (t.is_float32, lambda _: scalars.float32),
        (t.is_float64, lambda _: scalars.float64),
        (t.is_boolean, lambda _: scalars.boolean),
        (t.is_string, lambda _: scalars.string),
        (t.is_binary, lambda _: scalars.binary),
        (t.is_date, lambda _: scalars.date),
        (t.is_time32, lambda _: scalars.time_in_millis),
        (t.is_time64, lambda _: scalars.time),
    )
    own = None if leaf is None or t.is_nested(kind) else leaf(kind)
    if own is not None:
        return own
    convert: Converter = next(make(kind) for matches, make in makers if matches(kind))
    return convert
