"""Values and names as SQL text, the form in which the core takes expressions."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
from typing import Any

from siltstone._args import shown, text, written
from siltstone._numpy import of_numpy
from siltstone.errors import InvalidArgument

#: Words that are no names of columns without quotes.
_WORDS = frozenset({
    "and", "between", "bigint", "binary", "bool", "boolean", "bytes", "case", "cast", "char", "character",
    "coalesce", "date", "datetime", "dec", "decimal", "distinct", "div", "double", "else", "end", "escape",
    "false", "float", "from", "ilike", "in", "int", "integer", "is", "like", "local", "lower", "not", "null",
    "numeric", "or", "precision", "real", "s", "safe_cast", "select", "smallint", "source", "string", "t",
    "target", "text", "then", "time", "timestamp", "timestamp_ntz", "tinyint", "true", "try_cast", "unknown",
    "upper", "varbinary", "varchar", "varying", "when", "with", "without", "zone",
})  # fmt: skip


def column_text(name: str) -> str:
    """A column's name as SQL: in quotes where a character of it would be an operator, or the whole of it a keyword."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text("a column's name", name))
    if plain and name.lower() not in _WORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def quoted_text(value: str) -> str:
    """A text in quotes."""
    return "'" + text("a value", value).replace("'", "''") + "'"


def literal_text(value: object) -> str:  # noqa: C901, PLR0911  # one line for each type
    """A Python value as a SQL literal.

    Raises:
        InvalidArgument: A value that no literal has, such as a list.
    """
    value = of_numpy(value)
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return quoted_text(value)
    if isinstance(value, int):
        return written("a value", value)
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return format(value, "f")
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else quoted_text(str(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"X'{bytes(value).hex()}'"
    moment = moment_text(value)
    if moment is not None:
        return moment
    raise InvalidArgument(
        f"{shown(value)} cannot be part of an expression: {type(value).__name__} has no literal",
        hint="compute the rows yourself, and write them with upsert()",
    )


def moment_text(value: Any) -> str | None:
    """A date, time or datetime as a literal that names its type; None for anything else."""
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    return f"TIME '{value.isoformat()}'" if isinstance(value, dt.time) else None


def number_text(value: object) -> str:
    """A literal beside an operator: a float has an exponent, which makes it a DOUBLE there."""
    value = of_numpy(value)
    if isinstance(value, float) and math.isfinite(value):
        shortest = repr(value)
        return shortest if "e" in shortest else f"{shortest}e0"
    return literal_text(value)
