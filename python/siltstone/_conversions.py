"""Values of lists, maps and rows by the rules of their parts, whatever library has the types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from siltstone._args import shown
from siltstone._numpy import of_numpy
from siltstone._scalars import Converter, Misfit, short

#: What pandas has for a missing value.
_MISSING = ("NaTType", "NAType")


def converted(name: str, values: Sequence[Any], convert: Converter, before: int = 0) -> list[Any]:
    """The values of a column as it stores them.

    Args:
        name: The column.
        values: Its values.
        convert: What makes of a value, which is not None, the one that is stored.
        before: Rows that stand before these, which messages count.

    Raises:
        SchemaMismatch: A value that the type cannot hold exactly; the message names column, row and value.
        LengthExceeded: A number with too many digits.
    """
    convert = _nullable(convert)
    taken = []
    for row, value in enumerate(values, before):
        try:
            taken.append(convert(value))
        except Misfit as e:
            place = name + e.place
            text = f"the value {short(e.value)} of row {row} does not fit column '{place}': {e.reason}"
            raise e.error(text, context={"column": place}) from None
    return taken


def listed(element: Converter) -> Converter:
    """Lists of such elements."""
    element = _inside(".element", element)

    def convert(value: Any) -> list[Any]:
        if not is_list(value):
            raise Misfit(value, "the column holds lists")
        return [element(item) for item in value]

    return convert


def mapped(key: Converter, item: Converter) -> Converter:
    """Dicts, or lists of pairs, as lists of pairs."""
    key, item = _inside(".key", key), _inside(".value", item)

    def pairs(value: Any) -> Iterator[tuple[Any, Any]]:
        for pair in value.items() if isinstance(value, Mapping) else value:
            if not is_list(pair) or len(pair) != 2:  # noqa: PLR2004  # a pair
                raise Misfit(value, "the column holds dicts, or lists of pairs")
            yield pair[0], pair[1]

    def convert(value: Any) -> list[tuple[Any, Any]]:
        if not isinstance(value, Mapping) and not is_list(value):
            raise Misfit(value, "the column holds dicts, or lists of pairs")
        found = [(key(k), item(v)) for k, v in pairs(value)]
        if any(k is None for k, _ in found):
            raise Misfit(value, "a key is null")
        return found

    return convert


def row(fields: Mapping[str, Converter]) -> Converter:
    """Dicts with some of these fields, as dicts with all of them."""
    fields = {name: _inside(f".{name}", convert) for name, convert in fields.items()}

    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise Misfit(value, "the column holds dicts with the names of its fields")
        for name in value:
            if name not in fields:
                raise Misfit(value, f"{shown(name)} is not a field")
        return {name: convert(value.get(name)) for name, convert in fields.items()}

    return convert


def nothing(value: Any) -> None:
    """Nothing but nulls."""
    raise Misfit(value, "the column holds nothing but nulls")


def known_value(value: Any) -> Any:
    """A value as Python has it; None for what pandas and numpy have for a missing one."""
    return None if value is None or type(value).__name__ in _MISSING else of_numpy(value)


def _nullable(convert: Converter) -> Converter:
    def nullable(value: Any) -> Any:
        value = known_value(value)
        return None if value is None else convert(value)

    return nullable


def _inside(place: str, convert: Converter) -> Converter:
    """A conversion of a part: what does not fit is at this place."""
    convert = _nullable(convert)

    def inside(value: Any) -> Any:
        try:
            return convert(value)
        except Misfit as e:
            e.place = place + e.place
            raise

    return inside


def is_list(value: Any) -> bool:
    """Whether a value can be one of a column of lists."""
    listed = isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview))
    return listed or (type(value).__module__ == "numpy" and getattr(value, "ndim", 0) > 0)
