"""Python values as Arrow arrays of a table's types: each is stored as it was given, or refused by name.

One rule for all containers: a value fits a column that can hold exactly this value. Integers fit columns of numbers;
floats and Decimals without a fraction fit columns of integers (1.0 is an INT, 1.5 is none). Other floats are for FLOAT
and DOUBLE, other Decimals for DECIMAL: 0.1 is not the same number in both. FLOAT takes the nearest number it has,
unless that is zero or infinite. Nothing is cut or parsed, and an instant is no wall clock. A datetime without zone is
taken as UTC by TIMESTAMP_LTZ. Values of files of text are the same once they are read as :mod:`siltstone._texts` says.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from siltstone import _scalars as scalars
from siltstone._args import shown
from siltstone._numpy import of_numpy
from siltstone._scalars import Converter
from siltstone.errors import SchemaMismatch

#: What makes of a value of a file of text the one that a column of the type stores; None where no other rule holds.
Leaf = Callable[[Any], Converter | None]

#: What pandas has for a missing value.
_MISSING = ("NaTType", "NAType")


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
    convert = _nullable(_converter(kind, leaf))
    taken = []
    for row, value in enumerate(values, before):
        try:
            taken.append(convert(value))
        except scalars.Misfit as e:
            place = name + e.place
            text = f"the value {scalars.short(e.value)} of row {row} does not fit column '{place}': {e.reason}"
            raise e.error(text, context={"column": place}) from None
    try:
        return pa.array(taken, kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as e:
        raise SchemaMismatch(f"the values do not fit column '{name}': {e}", context={"column": name}) from e


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


def _nullable(convert: Converter) -> Converter:
    def nullable(value: Any) -> Any:
        if value is None or type(value).__name__ in _MISSING:
            return None
        value = of_numpy(value)
        return None if value is None else convert(value)

    return nullable


def _converter(kind: Any, leaf: Leaf | None) -> Converter:
    """What makes of a value, which is not None, the one that pyarrow stores without another change."""
    from siltstone._pyarrow import pa

    t = pa.types
    makers: tuple[tuple[Callable[[Any], bool], Converter], ...] = (
        (t.is_struct, lambda kind: _row(kind, leaf)),
        (t.is_map, lambda kind: _map(kind, leaf)),
        (t.is_list, lambda kind: _list(kind, leaf)),
        (t.is_null, lambda _: _nothing),
        (t.is_integer, lambda kind: scalars.integer(kind.bit_width)),
        (t.is_decimal, lambda kind: scalars.decimal128(kind.precision, kind.scale)),
        (t.is_timestamp, lambda kind: scalars.timestamp(kind.unit, zoned=kind.tz is not None)),
        (t.is_float32, lambda _: scalars.float32),
        (t.is_float64, lambda _: scalars.float64),
        (t.is_boolean, lambda _: scalars.boolean),
        (t.is_string, lambda _: scalars.string),
        (t.is_binary, lambda _: scalars.binary),
        (t.is_date, lambda _: scalars.date),
        (t.is_time, lambda _: scalars.time),
    )
    own = None if leaf is None or t.is_nested(kind) else leaf(kind)
    if own is not None:
        return own
    convert: Converter = next(make(kind) for matches, make in makers if matches(kind))
    return convert


def _nothing(value: Any) -> None:
    raise scalars.Misfit(value, "the column holds nothing but nulls")


def _inside(place: str, convert: Converter) -> Converter:
    """A conversion of a part: what does not fit is at this place."""
    convert = _nullable(convert)

    def inside(value: Any) -> Any:
        try:
            return convert(value)
        except scalars.Misfit as e:
            e.place = place + e.place
            raise

    return inside


def _is_list(value: Any) -> bool:
    listed = isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview))
    return listed or (type(value).__module__ == "numpy" and getattr(value, "ndim", 0) > 0)


def _list(kind: Any, leaf: Leaf | None) -> Converter:
    element = _inside(".element", _converter(kind.value_type, leaf))

    def convert(value: Any) -> list[Any]:
        if not _is_list(value):
            raise scalars.Misfit(value, "the column holds lists")
        return [element(item) for item in value]

    return convert


def _map(kind: Any, leaf: Leaf | None) -> Converter:
    key, item = (
        _inside(".key", _converter(kind.key_type, leaf)),
        _inside(".value", _converter(kind.item_type, leaf)),
    )

    def pairs(value: Any) -> Iterator[tuple[Any, Any]]:
        for pair in value.items() if isinstance(value, Mapping) else value:
            if not _is_list(pair) or len(pair) != 2:  # noqa: PLR2004  # a pair
                raise scalars.Misfit(value, "the column holds dicts, or lists of pairs")
            yield pair[0], pair[1]

    def convert(value: Any) -> list[tuple[Any, Any]]:
        if not isinstance(value, Mapping) and not _is_list(value):
            raise scalars.Misfit(value, "the column holds dicts, or lists of pairs")
        found = [(key(k), item(v)) for k, v in pairs(value)]
        if any(k is None for k, _ in found):
            raise scalars.Misfit(value, "a key is null")
        return found

    return convert


def _row(kind: Any, leaf: Leaf | None) -> Converter:
    fields = {f.name: _inside(f".{f.name}", _converter(f.type, leaf)) for f in kind}

    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise scalars.Misfit(value, "the column holds dicts with the names of its fields")
        for name in value:
            if name not in fields:
                raise scalars.Misfit(value, f"{shown(name)} is not a field")
        return {name: convert(value.get(name)) for name, convert in fields.items()}

    return convert
