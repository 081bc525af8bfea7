"""Spark's pushed filters as predicates."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from siltstone.predicate import Column, Expression, col

_COMPARE: dict[str, Callable[[Column, Any], Expression]] = {
    "EqualTo": operator.eq,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
}


def to_expression(filters: Sequence[Any]) -> Expression | None:
    """The filters that we can evaluate, joined by AND; the others are left to Spark."""
    known = [e for e in map(_one, filters) if e is not None]
    return functools.reduce(operator.and_, known) if known else None


def _one(f: Any) -> Expression | None:  # noqa: PLR0911  # one line for each kind
    kind = type(f).__name__
    if kind == "Not":
        return None if (inner := _one(f.child)) is None else ~inner
    path: tuple[str, ...] = getattr(f, "attribute", ())
    if len(path) != 1:
        return None
    column = col(path[0])
    if kind in _COMPARE:
        return None if f.value is None else _COMPARE[kind](column, f.value)
    if kind == "In":
        return column.is_in(f.value) if all(v is not None for v in f.value) else None
    if kind == "IsNull":
        return column.is_null()
    if kind == "IsNotNull":
        return column.is_not_null()
    if kind == "StringStartsWith" and not set("%_\\") & set(f.value):
        return column.like(f.value + "%")
    return None
