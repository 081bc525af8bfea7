"""Conditions of Spark's SQL as predicates of a scan, where both mean the same.

A comparison is taken over when Spark compares the column as it is, without a cast of it. What is not known for certain
to be equal is left out: Spark evaluates its own text once more.
"""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import operator
import re
import zoneinfo
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from siltstone.errors import InvalidArgument
from siltstone.predicate import Column, Expression, col
from siltstone.spark.column_names import folded, tells_case

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_WHOLE = re.compile(r"\d{1,18}")
_DECIMAL = re.compile(r"\d{1,18}|(?=[\d.]{2,19}\Z)\d{1,18}\.\d{0,18}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?)?")
#: Decimals of so many digits are compared without a rounding, whatever scale the other side has.
_EXACT_DIGITS = 18
#: Sessions in which a text in double quotes is a name.
_NAMES_CONF = "spark.sql.ansi.doubleQuotedIdentifiers"
_ZONE_CONF = "spark.sql.session.timeZone"

#: Functions whose values depend on which rows go through them, or when; and operators of which rows are not followed.
_DEPENDS = re.compile(
    r"\b(?:rand|randn|random|uniform|randstr|uuid|shuffle|monotonically_increasing_id|spark_partition_id|input_file_\w+"
    r"|java_method|reflect|try_reflect|nextval|match_recognize|transform|identifier)\b|\|>",
    re.IGNORECASE,
)

Binary = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Meaning:
    """What a session makes of names and literals.

    Attributes:
        exact_case: Names differ by case.
        texts: Texts of the statement are known: none has an escape.
        zone: The zone of times; None when Python does not know it.
    """

    exact_case: bool
    texts: bool
    zone: dt.tzinfo | None

    @classmethod
    def of(cls, spark: SparkSession, text: str) -> Meaning:
        """That of a statement in a session."""
        names = str(spark.conf.get(_NAMES_CONF, "false")).lower() != "false"
        try:
            # a default of ours would hide that of Spark, which is the machine's zone
            zone = zoneinfo.ZoneInfo(spark.conf.get(_ZONE_CONF) or "UTC")
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):  # an offset such as +08:00
            zone = None
        return cls(tells_case(spark), "\\" not in text and not (names and '"' in text), zone)

    def folded(self, name: str) -> str:
        """A name in the form in which equal ones are equal."""
        return name if self.exact_case else folded(name)


def depends_on_more_than_values(text: str) -> bool:
    """Whether an expression has functions whose values depend on chance, time or place, or words that are not known."""
    return _DEPENDS.search(text) is not None


def columns_by_name(schema: pa.Schema, meaning: Meaning) -> dict[str, pa.Field]:
    """The columns of a table by the names that mean exactly one of them."""
    found: dict[str, list[pa.Field]] = {}
    for field in schema:
        found.setdefault(meaning.folded(field.name), []).append(field)
    return {name: fields[0] for name, fields in found.items() if len(fields) == 1}


def condition(
    node: Any, columns: Mapping[str, pa.Field], meaning: Meaning, *, whole: bool = False
) -> Expression | None:
    """A condition as a predicate; None where nothing of it can be said.

    Args:
        node: The condition in the statement's tree, whose columns are all of one table.
        columns: The table's columns by their names.
        meaning: What the session makes of names and literals.
        whole: Only all of it will do; otherwise parts joined by AND may be left out.
    """
    from sqlglot import exp

    if not _is_known(node):
        return None
    match node:
        case exp.Paren():
            return condition(node.this, columns, meaning, whole=whole)
        case exp.And() | exp.Or():
            parts = [condition(part, columns, meaning, whole=whole) for part in (node.left, node.right)]
            known = [part for part in parts if part is not None]
            if isinstance(node, exp.And):
                enough = len(known) == len(parts) or (known and not whole)
                return functools.reduce(operator.and_, known) if enough else None
            return functools.reduce(operator.or_, known) if len(known) == len(parts) else None
        case exp.Not():
            inner = condition(node.this, columns, meaning, whole=True)
            return None if inner is None else ~inner
    return _simple(node, columns, meaning)


@functools.cache
def _meant() -> Mapping[type, frozenset[str]]:
    """What says all that a node means: another part, of which a newer sqlglot knows, may turn it into its opposite."""
    from sqlglot import exp

    compared = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.And, exp.Or)
    known: dict[type, set[str]] = {
        **{kind: {"this", "expression"} for kind in compared},
        **{kind: {"this"} for kind in (exp.Paren, exp.Not, exp.Neg, exp.Boolean)},
        exp.Column: {"this", "table", "db", "catalog"},
        exp.Like: {"this", "expression", "negate"},
        exp.In: {"this", "expressions"},
        exp.Between: {"this", "low", "high"},
        exp.Literal: {"this", "is_string"},
        exp.Cast: {"this", "to"},
    }
    return {kind: frozenset(parts) for kind, parts in known.items()}


def _is_known(node: Any) -> bool:
    """Whether a node has no part that is not looked at."""
    parts = _meant().get(type(node))
    return parts is not None and parts.issuperset(name for name, part in node.args.items() if part)


def _simple(  # noqa: PLR0911  # one line for each kind
    node: Any, columns: Mapping[str, pa.Field], meaning: Meaning
) -> Expression | None:
    """A comparison of one column with literals."""
    import pyarrow as pa
    from sqlglot import exp

    if isinstance(node, exp.Column):
        field = _field(node, columns, meaning)
        return col(field.name) == True if field is not None and pa.types.is_boolean(field.type) else None  # noqa: E712
    flipped = {exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE}
    kind, left = type(node), node.args.get("this")
    right = node.args.get("expression")
    if kind in (exp.EQ, exp.NEQ, *flipped) and isinstance(right, exp.Column) and not isinstance(left, exp.Column):
        kind, left, right = flipped.get(kind, kind), right, left
    field = _field(left, columns, meaning)
    if field is None:
        return None
    column = col(field.name)
    if kind is exp.Is:
        return column.is_null() if isinstance(right, exp.Null) else None
    if kind is exp.Like:
        prefix = _prefix(column, field, right, meaning)
        return ~prefix if prefix is not None and node.args.get("negate") else prefix
    given = _operands(node, kind, right)
    values = [_value(one, field.type, meaning) for one in given]
    if not values or any(value is None for value in values):
        return None
    try:
        return _compared(kind, column, values)
    except InvalidArgument:
        return None


def _operands(node: Any, kind: type, right: Any) -> list[Any]:
    from sqlglot import exp

    if kind is exp.In:
        return list(node.expressions)
    if kind is exp.Between:
        return [node.args["low"], node.args["high"]]
    return [right] if kind in (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE) else []


def _compared(kind: type, column: Column, values: list[Any]) -> Expression | None:
    from sqlglot import exp

    if kind is exp.In:
        return column.is_in(values)
    if kind is exp.Between:
        return column.between(*values)
    compare: dict[type, Binary] = {
        exp.EQ: operator.eq,
        exp.NEQ: operator.ne,
        exp.GT: operator.gt,
        exp.GTE: operator.ge,
        exp.LT: operator.lt,
        exp.LTE: operator.le,
    }
    made: Expression = compare[kind](column, values[0])
    return made


def _field(node: Any, columns: Mapping[str, pa.Field], meaning: Meaning) -> pa.Field | None:
    from sqlglot import exp

    known = isinstance(node, exp.Column) and _is_known(node)
    return columns.get(meaning.folded(node.name)) if known else None


def _prefix(column: Column, field: pa.Field, pattern: Any, meaning: Meaning) -> Expression | None:
    """``LIKE 'abc%'``."""
    import pyarrow as pa

    if not pa.types.is_string(field.type) or (text := _text(pattern, meaning)) is None:
        return None
    start = text.removesuffix("%")
    return column.like(text) if text != start and not set("%_") & set(start) else None


def _value(node: Any, t: pa.DataType, meaning: Meaning) -> Any:  # noqa: PLR0911  # one line for each type
    """A literal that Spark compares with a column of this type as it is; None for any other."""
    import pyarrow as pa
    from sqlglot import exp

    if not _is_known(node):
        return None
    if pa.types.is_boolean(t):
        return bool(node.this) if isinstance(node, exp.Boolean) else None
    if pa.types.is_integer(t):
        return _number(node, _WHOLE, int)
    if pa.types.is_decimal(t):
        return _number(node, _DECIMAL, decimal.Decimal) if t.precision <= _EXACT_DIGITS else None
    if pa.types.is_string(t):
        return _text(node, meaning)
    if pa.types.is_date32(t):
        return _date(node, meaning)
    if pa.types.is_timestamp(t) and t.unit != "ns":
        return _moment(node, t, meaning)
    return None


def _number(node: Any, form: re.Pattern[str], made: Callable[[str], Any]) -> Any:
    from sqlglot import exp

    if isinstance(node, exp.Neg):
        number = _number(node.this, form, made) if isinstance(node.this, exp.Literal) else None
        return None if number is None else -number
    if isinstance(node, exp.Cast) and node.to.is_type("bigint") and isinstance(node.this, exp.Literal):
        node = node.this  # 2L
    plain = isinstance(node, exp.Literal) and not node.is_string and form.fullmatch(str(node.this))
    return made(str(node.this)) if plain else None


def _text(node: Any, meaning: Meaning) -> str | None:
    from sqlglot import exp

    known = meaning.texts and type(node) is exp.Literal and node.is_string
    return str(node.this) if known and "\\" not in node.this else None


def _cast_text(node: Any, meaning: Meaning, *kinds: str) -> str | None:
    """The text of ``'...'``, or of ``DATE'...'`` where that is one of the types."""
    from sqlglot import exp

    if type(node) is exp.Cast and any(node.to.is_type(kind) for kind in kinds):
        node = node.this
    return _text(node, meaning)


def _date(node: Any, meaning: Meaning) -> dt.date | None:
    text = _cast_text(node, meaning, "date")
    try:
        return dt.date.fromisoformat(text) if text is not None and _DATE.fullmatch(text) else None
    except ValueError:
        return None


def _moment(node: Any, t: pa.DataType, meaning: Meaning) -> dt.datetime | None:
    """A time of the session's zone for instants, of no zone for wall clocks."""
    text = _cast_text(node, meaning, *(("timestamptz", "timestampltz") if t.tz else ("timestampntz",)))
    if text is None or not _TIME.fullmatch(text) or (t.tz and meaning.zone is None):
        return None
    try:
        moment = dt.datetime.fromisoformat(text)
        return moment.replace(tzinfo=meaning.zone).astimezone(dt.UTC) if t.tz else moment
    except (ValueError, OverflowError):
        return None
