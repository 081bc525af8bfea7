"""Types for columns of CSV that no table has yet: those that pyarrow finds, where they hold the texts."""

from __future__ import annotations

import decimal
from typing import Any

from siltstone._csv_rows import csv_reader

#: A number whose zeros in front would be lost, or one of base 16.
_ZEROS_IN_FRONT = r"^[ \t]*[+-]?0[0-9xX]"
#: A number that may be beyond what a float has.
_FAR = r"[eE][+-]?[0-9]{3,}"
#: Of shorter numbers a float has every digit.
_LONG = r"[0-9][0-9.]{15,}"
_MOST_DIGITS = 38


def held_types(path: str, schema: Any) -> Any:
    """The columns of a file in types that hold the values of its first 16 MiB.

    Args:
        path: The file.
        schema: Its columns in the types that pyarrow has found.
    """
    from siltstone._pyarrow import pa

    texts = pa.schema([(field.name, pa.string()) for field in schema])
    batch = next(iter(csv_reader(path, texts)), None)
    if batch is None:
        return schema
    fields = [field.with_type(held_type(field.type, batch.column(at))) for at, field in enumerate(schema)]
    return pa.schema(fields)


def held_type(found: Any, texts: Any) -> Any:
    """The type of a column: what pyarrow has found, or DECIMAL or a text where that would lose digits.

    Args:
        found: The type that pyarrow gives the column.
        texts: Its values as they are in the file.
    """
    import pyarrow.compute as pc

    from siltstone._pyarrow import pa

    if pa.types.is_boolean(found):
        numbers = pc.match_substring_regex(texts, r"^[ \t]*[01][ \t]*$")
        return found if pc.min(numbers).as_py() == pc.max(numbers).as_py() else pa.string()
    if not (pa.types.is_integer(found) or pa.types.is_floating(found)):
        return found
    if pc.any(pc.match_substring_regex(texts, _ZEROS_IN_FRONT)).as_py():
        return pa.string()
    if pa.types.is_floating(found):
        far = texts.filter(pc.match_substring_regex(texts, _FAR))
        if not all(_is_held(text) for text in far.to_pylist()):
            return pa.string()
        long = texts.filter(pc.match_substring_regex(texts, _LONG))
        if not all(_is_held(text) for text in long.to_pylist()):
            return _decimal(texts.to_pylist())
    return found


def _is_held(text: str) -> bool:
    """Whether a float has the number."""
    return decimal.Decimal(repr(float(text))) == decimal.Decimal(text.strip())


def _decimal(texts: list[str | None]) -> Any:
    """The DECIMAL that holds all of these numbers, or a text."""
    from siltstone._pyarrow import pa

    whole = scale = 0
    for text in texts:
        _, digits, exponent = decimal.Decimal((text or "0").strip()).as_tuple()
        if not isinstance(exponent, int):  # NaN and infinite numbers
            return pa.string()
        scale = max(scale, -exponent)
        whole = max(whole, len(digits) + exponent)
    return pa.decimal128(whole + scale, scale) if 0 < whole + scale <= _MOST_DIGITS else pa.string()
