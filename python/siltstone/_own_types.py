"""The types that Python values have by themselves: those of columns that a table does not have, in a merge's source."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from siltstone._args import text
from siltstone._conversions import is_list, known_value
from siltstone.errors import SchemaMismatch

#: Deeper types are refused by the core.
_DEEPEST = 200
_DIGITS = 38


@dataclass(frozen=True)
class OwnType:
    """A type that can hold all values that it was found for.

    Attributes:
        name: null, boolean, integer, float, decimal, string, binary, date, time, timestamp, list or row.
        digits: Of a decimal, precision and scale.
        unit: Of a timestamp.
        zoned: Whether timestamps are instants.
        parts: What is in a list (``element``) or row.
    """

    name: str
    digits: tuple[int, int] = (0, 0)
    unit: str = "us"
    zoned: bool = False
    parts: Mapping[str, OwnType] = field(default_factory=dict)


def own_type(column: str, values: Sequence[Any], depth: int = 0) -> OwnType:
    """The type of all values of a column: the order of the values does not matter.

    Raises:
        SchemaMismatch: There is none.
    """
    # one and the same value may be in many places, and in itself
    found = list({id(value): known_value(value) for value in values}.values())
    found = [value for value in found if value is not None]
    if depth > _DEEPEST:
        raise SchemaMismatch(f"the values of column '{column[:40]}' are nested too deeply", context={"column": column})
    if not found:
        return OwnType("null")
    name = next((name for name, types in _TYPES if all(_is_one_of(value, types) for value in found)), None)
    if name is not None:
        return OwnType(name, digits=_digits(found) if name == "decimal" else (0, 0))
    if all(isinstance(value, dt.datetime) for value in found):
        unit = "ns" if any(getattr(value, "nanosecond", 0) for value in found) else "us"
        # where some have a zone and some have none, those with one are refused as no times of a wall clock
        return OwnType("timestamp", unit=unit, zoned=all(value.utcoffset() is not None for value in found))
    if all(isinstance(value, Mapping) for value in found):
        names = dict.fromkeys(text("a field's name", name) for value in found for name in value)
        parts = {name: [value.get(name) for value in found] for name in names}
        return OwnType("row", parts={n: own_type(f"{column}.{n}", part, depth + 1) for n, part in parts.items()})
    if all(map(is_list, found)):
        items = [item for value in found for item in value]
        return OwnType("list", parts={"element": own_type(f"{column}.element", items, depth + 1)})
    kinds = ", ".join(sorted({type(value).__name__ for value in found}))
    raise SchemaMismatch(f"the values of column '{column}' have no common type: {kinds}", context={"column": column})


#: The first of these whose Python types all values have; a bool is no integer, and a datetime no date.
_TYPES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("boolean", (bool,)),
    ("integer", (int,)),
    ("decimal", (int, decimal.Decimal)),
    ("float", (int, float)),
    ("string", (str,)),
    ("binary", (bytes, bytearray, memoryview)),
    ("date", (dt.date,)),
    ("time", (dt.time,)),
)


def _is_one_of(value: Any, types: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in types
    if isinstance(value, dt.datetime):
        return False
    if types == (int,):
        return isinstance(value, int) and -(2**63) <= value < 2**63
    return isinstance(value, types)


def _digits(found: Sequence[Any]) -> tuple[int, int]:
    """Precision and scale of a decimal type for all of these, at most those there are."""
    whole = scale = 0
    for value in found:
        _, digits, exponent = decimal.Decimal(value).as_tuple()
        if isinstance(exponent, int):  # others are refused later
            whole, scale = max(whole, len(digits) + exponent), max(scale, -exponent)
    return min(max(whole + scale, 1), _DIGITS), min(scale, _DIGITS)
