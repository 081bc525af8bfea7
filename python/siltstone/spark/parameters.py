"""Parameters of a statement (``:name`` and ``?``): literals in the text, so that every statement takes them.

Spark binds them where it runs a query; here they are also seen by what finds rows, calls procedures and writes.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from siltstone._args import shown
from siltstone.errors import InvalidArgument
from siltstone.procedures.naming import spark_text
from siltstone.spark.blanks import bare, replaced

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: ``a::int`` is a cast.
_NAMED = re.compile(r"(?<!:):(?!:)(\w+)")
_PLACE = re.compile(r"[?]")
#: With it Spark takes a backslash in a text for itself.
_ESCAPES_CONF = "spark.sql.parser.escapedStringLiterals"


def bound(spark: SparkSession, query: str, args: Mapping[str, Any] | Sequence[Any] | None) -> str:
    """The text with literals where its parameters stand; those without a value stay, and Spark names them.

    Raises:
        InvalidArgument: More or fewer values than places, or a value of another kind.
    """
    if args is None:
        return query
    if isinstance(args, Mapping):
        values = {str(name): _literal(spark, name, value) for name, value in args.items()}
        return replaced(query, _NAMED, lambda m: values.get(m[1], m[0]))
    if isinstance(args, (str, bytes)) or not isinstance(args, Sequence):
        raise InvalidArgument(
            f"args is {shown(args)}", hint="give values by name, args={'x': 1} for :x, or a list of those for each ?"
        )
    literals = [_literal(spark, f"args[{at}]", value) for at, value in enumerate(args)]
    places = bare(query).count("?")
    if places != len(literals):
        raise InvalidArgument(f"the statement has {places} times '?', and args has {len(literals)} values")
    left = iter(literals)
    return replaced(query, _PLACE, lambda _: next(left))


def _literal(spark: SparkSession, name: str, value: Any) -> str:
    """A value of Python as Spark reads it."""
    if type(value).__module__ == "numpy":
        value = value.item()
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return _text(spark, name, value)
    if isinstance(value, (bytes, bytearray)):
        return f"X'{value.hex()}'"
    literal = _moment(value) if isinstance(value, dt.date) else _number(value)
    if literal is None:
        raise InvalidArgument(
            f"the parameter {name} is {shown(value)}, a {type(value).__name__}",
            hint="parameters are numbers, texts, truth values, dates, times, bytes and None; write what else there is "
            "into the statement: array(:a, :b)",
        )
    return literal


def _number(value: Any) -> str | None:
    """A number or truth value; a negative one stands apart from what is before it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return f" {int(value)}"
    if isinstance(value, float):
        text = float.__repr__(value)
        return f" {text}D" if math.isfinite(value) else f"CAST('{text}' AS DOUBLE)"
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return f" {value:f}BD"
    return None


def _moment(value: dt.date) -> str:
    """A date, or a time; without a zone it is one of the machine's, as in PySpark."""
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP'{value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(' ')}Z'"
    return f"DATE'{value.isoformat()}'"


def _text(spark: SparkSession, name: str, value: str) -> str:
    special = set(value) & set("\\'$")
    if special and str(spark.conf.get(_ESCAPES_CONF, "false")).lower() == "true":
        raise InvalidArgument(
            f"the parameter {name} has a quote, '$' or backslash in it, and {_ESCAPES_CONF} is true",
            hint=f"spark.conf.unset('{_ESCAPES_CONF}')",
        )
    return spark_text(value).replace("$", "\\u0024")  # else Spark would put a variable in the place of ${...}
