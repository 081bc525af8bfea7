"""Spark's pushed filters as predicates."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from siltstone.errors import InvalidArgument
from siltstone.predicate import Column, Expression, col

if TYPE_CHECKING:
    import pyarrow as pa

_COMPARE: dict[str, Callable[[Column, Any], Expression]] = {
    "EqualTo": operator.eq,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
}


def to_expression(filters: Sequence[Any], schema: pa.Schema) -> Expression | None:
    """The filters that we can evaluate, joined by AND; the others are left to Spark.

    Filters compare what Spark sees: of columns that come to it as other values, only nulls can be asked for.
    """
    changed = {field.name for field in schema if _is_changed(field.type)}
    known = [e for e in (_one(f, changed) for f in filters) if e is not None]
    return functools.reduce(operator.and_, known) if known else None


def _is_changed(t: pa.DataType) -> bool:
    """Whether Spark has no such values: it has microseconds, and no time of day."""
    import pyarrow as pa

    return bool(pa.types.is_time(t) or (pa.types.is_timestamp(t) and t.unit == "ns"))


def _one(f: Any, changed: Collection[str]) -> Expression | None:
    if type(f).__name__ == "Not":
        return None if (inner := _one(f.child, changed)) is None else ~inner
    path: tuple[str, ...] = getattr(f, "attribute", ())
    if len(path) != 1:
        return None
    known = _of_nulls(f, col(path[0]))
    try:
        return _of_values(f, col(path[0])) if known is None and path[0] not in changed else known
    except InvalidArgument:  # a value that stands in no condition, such as an interval
        return None


def _of_nulls(f: Any, column: Column) -> Expression | None:
    kind = type(f).__name__
    if kind == "IsNull":
        return column.is_null()
    return column.is_not_null() if kind == "IsNotNull" else None


def _of_values(f: Any, column: Column) -> Expression | None:
    kind = type(f).__name__
    if kind in _COMPARE:
        return None if f.value is None else _COMPARE[kind](column, f.value)
    if kind == "In":
        return column.is_in(f.value) if all(v is not None for v in f.value) else None
    if kind == "StringStartsWith" and not set("%_\\") & set(f.value):
        return column.like(f.value + "%")
    return None
