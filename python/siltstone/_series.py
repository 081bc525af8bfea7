"""Python values as series of polars in a table's types, by the rules by which pyarrow's arrays are made of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

from siltstone import _scalars as scalars
from siltstone._conversions import converted, listed, mapped, row
from siltstone._own_types import OwnType, own_type
from siltstone._polars_types import is_map, with_pairs
from siltstone._scalars import Converter
from siltstone.errors import SchemaMismatch


def series(name: str, values: Sequence[Any], kind: Any) -> Any:
    """A series with these values, maps as lists of keys and values.

    Args:
        name: The column.
        values: Its values.
        kind: Its type in polars.

    Raises:
        SchemaMismatch: A value that the type cannot hold exactly; the message names column, row and value.
        LengthExceeded: A number with too many digits.
    """
    import polars as pl

    if _plain(kind).issuperset(map(type, values)):
        try:
            return pl.Series(name, values, dtype=kind, strict=True)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            pass  # the loop below names the value
    taken = converted(name, values, _converter(kind))
    try:
        return pl.Series(name, taken, dtype=with_pairs(kind), strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as e:
        raise SchemaMismatch(f"the values do not fit column '{name}': {e}", context={"column": name}) from e


def _plain(kind: Any) -> frozenset[type]:
    """The Python types whose values polars stores exactly, or refuses; others are looked at one by one."""
    import polars as pl

    plain = {pl.String: str, pl.Float64: float, pl.Boolean: bool, pl.Binary: bytes, pl.Date: dt.date}
    plain |= dict.fromkeys((pl.Int8, pl.Int16, pl.Int32, pl.Int64), int)
    found = plain.get(kind.base_type())
    return frozenset() if found is None else frozenset((found, type(None)))


def _converter(kind: Any) -> Converter:
    """What makes of a value, which is not None, the one that polars stores without another change."""
    import polars as pl

    if is_map(kind):
        return _map(kind)
    nested: dict[Any, Callable[[Any], Converter]] = {
        pl.Struct: lambda kind: row({f.name: _converter(f.dtype) for f in kind.fields}),
        pl.List: lambda kind: listed(_converter(kind.inner)),
        pl.Decimal: lambda kind: scalars.decimal128(kind.precision, kind.scale),
        pl.Datetime: lambda kind: scalars.timestamp(kind.time_unit, zoned=kind.time_zone is not None),
    }
    plain: dict[Any, Converter] = {
        pl.Int8: scalars.integer(8), pl.Int16: scalars.integer(16), pl.Int32: scalars.integer(32),
        pl.Int64: scalars.integer(64), pl.Float32: scalars.float32, pl.Float64: scalars.float64,
        pl.Boolean: scalars.boolean, pl.String: scalars.string, pl.Binary: scalars.binary, pl.Date: scalars.date,
        pl.Time: scalars.time,
    }  # fmt: skip
    base = kind.base_type()
    return nested[base](kind) if base in nested else plain[base]


def _map(kind: Any) -> Converter:
    pairs = mapped(_converter(kind.key), _converter(kind.value))

    def convert(value: Any) -> list[dict[str, Any]]:
        return [{"key": key, "value": item} for key, item in pairs(value)]

    return convert


def own_series(name: str, values: Sequence[Any]) -> Any:
    """A series of values of a column that the table does not have, in the type that all of them have.

    Raises:
        SchemaMismatch: There is none.
    """
    return series(name, values, _polars_type(own_type(name, values)))


def _polars_type(own: OwnType) -> Any:
    import polars as pl

    if own.name == "row":
        return pl.Struct({name: _polars_type(part) for name, part in own.parts.items()})
    if own.name == "list":
        return pl.List(_polars_type(own.parts["element"]))
    if own.name == "decimal":
        return pl.Decimal(*own.digits)
    if own.name == "timestamp":
        return pl.Datetime(own.unit, "UTC" if own.zoned else None)
    return {
        "null": pl.Boolean(), "boolean": pl.Boolean(), "integer": pl.Int64(), "float": pl.Float64(),
        "string": pl.String(), "binary": pl.Binary(), "date": pl.Date(), "time": pl.Time(),
    }[own.name]  # fmt: skip
