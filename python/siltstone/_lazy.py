"""A scan as a frame of polars, or as a lazy one, which pushes columns, conditions and limits into it."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from siltstone._literals import literal
from siltstone._pushed import LEAST_ROWS, batch_rows, of_same_kinds
from siltstone._pyarrow import has_pyarrow

if TYPE_CHECKING:
    import polars as pl

    Scan = Any

Tree = dict[str, Any]

_COMPARISONS = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtEq": "le", "Gt": "gt", "GtEq": "ge"}
_SWAPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_PER_SECOND = {"Milliseconds": 10**3, "Microseconds": 10**6, "Nanoseconds": 10**9}
#: Rows and bytes of batches that are put together into a frame, where polars does not ask for another number of rows.
_ROWS, _BYTES = 1_000_000, 32 << 20
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # a wall clock


class Unknown(Exception):  # never leaves the module
    """Something without a counterpart."""


#: What reading a form of expressions ends with where something has no counterpart.
_LEFT_OUT = (Unknown, LookupError, ValueError, TypeError, ArithmeticError)


def lazy_frame(scan: Scan) -> pl.LazyFrame:
    """The rows of a scan as a lazy frame."""
    import polars as pl
    from polars.io.plugins import register_io_source

    asked: list[Any] = []  # what has told its columns, until rows are asked for

    def schema() -> Any:
        asked[:] = [scan._plan()]  # noqa: SLF001  # Scan's own
        return pl.Schema(asked[0])

    def rows(
        columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        told = asked.pop() if asked else scan
        narrowed = _narrowed(scan, told, columns, predicate, limit, batch_size)
        yield from _frames(narrowed, columns, predicate, limit, batch_size)

    return register_io_source(rows, schema=schema, is_pure=False)


def whole_frame(scan: Scan) -> pl.DataFrame:
    """The rows of a scan, as they were read: put together they would be in memory twice for a moment."""
    import polars as pl

    if not has_pyarrow():
        return pl.DataFrame(scan)
    few = scan.request.get("batch_size") or scan.request.get("limit") is not None
    rows = scan if few else scan.narrowed(batch_size=LEAST_ROWS)
    frame: pl.DataFrame = pl.from_arrow(rows.to_arrow(), rechunk=False)
    return frame


def _frames(
    narrowed: Scan, columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, batch_size: int | None
) -> Iterator[pl.DataFrame]:
    left = limit
    # what a limit leaves out is not read: nothing waits for more rows
    for together in _put_together(narrowed, 0 if limit is not None else batch_size or _ROWS):
        frame = together if predicate is None else together.filter(predicate)
        if columns is not None:
            frame = frame.select(columns) if columns else frame
        if left is not None:
            frame = frame.head(left)
            left -= frame.height
        yield frame
        if left == 0:
            return


def _put_together(scan: Scan, rows: int) -> Iterator[pl.DataFrame]:
    """The batches of a scan as frames of so many rows, so that small ones do not cost a filter each.

    The first one comes at once, and a frame has no more rows than came before it, so that who needs few rows does not
    read much more than these.
    """
    import polars as pl

    waiting: list[pl.DataFrame] = []
    given = count = size = 0
    for batch in scan.to_batches() if has_pyarrow() else scan._core_batches():  # noqa: SLF001  # Scan's own
        waiting.append(pl.DataFrame(batch))
        count += waiting[-1].height
        size += waiting[-1].estimated_size()
        if count >= min(rows, given) or size >= _BYTES:
            yield pl.concat(waiting, rechunk=False)
            given, count, size, waiting = given + count, 0, 0, []
    if waiting:
        yield pl.concat(waiting, rechunk=False)


def _narrowed(
    scan: Scan,
    told: Any,
    columns: list[str] | None,
    predicate: pl.Expr | None,
    limit: int | None,
    batch_size: int | None,
) -> Scan:
    """The scan of what is needed; a limit is for rows that satisfy the whole predicate. ``told`` has its columns."""
    needed = columns
    if predicate is not None:
        scan = scan.narrowed(condition=of_same_kinds(condition_of(predicate), told))
        names = predicate.meta.root_names()
        needed = None if columns is None else [*columns, *[n for n in dict.fromkeys(names) if n not in columns]]
    elif limit is not None:
        scan = scan.narrowed(limit=limit)
    if needed is not None:
        scan = scan.narrowed(columns=needed or _first_name(told))
    if batch_size is None:
        # a limit asks for few rows
        return scan if limit is not None else scan.narrowed(batch_size=batch_rows(scan, told))
    return scan.narrowed(batch_size=max(batch_size, 1))


def _first_name(scan: Scan) -> list[str]:
    import polars as pl

    names: list[str] = pl.Schema(scan).names()
    return names[:1]


def condition_of(predicate: pl.Expr) -> Tree | None:
    """What rows that satisfy an expression satisfy, or None where nothing is known of them."""
    import warnings

    import polars as pl

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the form is that of one version: what is not known is left out
            tree = json.loads(predicate.meta.serialize(format="json"))
        return _condition(tree, exact=False)
    except (pl.exceptions.PolarsError, *_LEFT_OUT, AttributeError):
        return None
    except RecursionError:  # thousands of conditions in each other
        return None


def _condition(tree: Any, *, exact: bool) -> Tree:  # noqa: C901, PLR0911  # one case for each form
    """A condition; unless ``exact``, one that more rows may satisfy."""
    match tree:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            return _all([left, right], exact=exact)
        case {"BinaryExpr": {"left": left, "op": "Or" | "LogicalOr", "right": right}}:
            return {"op": "or", "args": [_condition(left, exact=exact), _condition(right, exact=exact)]}
        case {"BinaryExpr": {"left": left, "op": op, "right": right}}:
            return _comparison(_COMPARISONS[op], left, right)
        case {"Function": {"input": [{"Column": column}], "function": {"Boolean": "IsNull" | "IsNotNull" as test}}}:
            return {"op": "is_null" if test == "IsNull" else "is_not_null", "column": column}
        case {"Function": {"input": [inner], "function": {"Boolean": "Not"}}}:
            return {"op": "not", "args": [_condition(inner, exact=True)]}
        case {"Function": {"input": [{"Column": column}, values], "function": {"Boolean": {"IsIn": how}}}}:
            return _in(column, values, nulls_equal=how.get("nulls_equal", False), exact=exact)
        case {"Function": {"input": [{"Column": c}, low, high], "function": {"Boolean": {"IsBetween": how}}}}:
            closed = how["closed"]
            lower, upper = "ge" if closed in {"Both", "Left"} else "gt", "le" if closed in {"Both", "Right"} else "lt"
            parts = [_compared(lower, c, low), _compared(upper, c, high)]
            return {"op": "and", "args": parts}
        case {"Function": {"input": [{"Column": column}, prefix], "function": {"StringExpr": "StartsWith"}}}:
            plain = str(_value(prefix))
            for special in ("!", "%", "_"):
                plain = plain.replace(special, f"!{special}")
            return {"op": "like", "column": column, "value": f"{plain}%", "escape": "!"}
        case {"Column": column}:
            return {"op": "eq", "column": column, "value": True}
    raise Unknown


def _all(parts: list[Any], *, exact: bool) -> Tree:
    known = []
    for part in parts:
        try:
            known.append(_condition(part, exact=exact))
        except _LEFT_OUT:
            if exact:
                raise
    return {"op": "and", "args": known} if known else {"op": "true"}


def _comparison(op: str, left: Any, right: Any) -> Tree:
    match left, right:
        case {"Column": column}, value:
            return _compared(op, column, value)
        case value, {"Column": column}:
            return _compared(_SWAPPED[op], column, value)
    raise Unknown


def _compared(op: str, column: str, value: Any) -> Tree:
    found = _value(value)
    if found is None or found != found:  # noqa: PLR0124  # nothing equals null; NaN has an order of its own there
        raise Unknown
    return {"op": op, "column": column, "value": literal(found)}


def _in(column: str, values: Any, *, nulls_equal: bool, exact: bool) -> Tree:
    import polars as pl

    match values:
        case {"Literal": {"Scalar": {"List": listed}}} | {"Literal": {"Series": listed}}:
            found = pl.read_ipc_stream(bytes(listed)).to_series(0).to_list()
        case _:
            raise Unknown
    if nulls_equal and None in found:
        raise Unknown
    listed = {"op": "in", "column": column, "values": [literal(value) for value in found if value is not None]}
    if not (exact and nulls_equal):
        return listed
    # null is in no list, which is false then and not unknown: a NOT keeps it
    return {"op": "and", "args": [{"op": "is_not_null", "column": column}, listed]}


def _value(tree: Any) -> Any:
    """The Python value of a literal."""
    match tree:
        case {"Literal": {"Dyn": {"Int": value} | {"Float": value} | {"Str": value}}}:
            return value
        case {"Literal": {"Scalar": {"Date": days}}}:
            return _EPOCH.date() + dt.timedelta(days=days)
        case {"Literal": {"Scalar": {"Datetime": [ticks, unit, zone]}}}:
            micros, rest = divmod(ticks * 10**6, _PER_SECOND[unit])
            if rest or zone not in (None, "UTC", {"inner": "UTC"}):
                raise Unknown
            return (_EPOCH if zone is None else _EPOCH.replace(tzinfo=dt.UTC)) + dt.timedelta(microseconds=micros)
        case {"Literal": {"Scalar": {"Decimal": [unscaled, _, scale]}}}:
            return decimal.Decimal(unscaled).scaleb(-scale, decimal.Context(prec=60))
        case {"Literal": {"Scalar": {**single}}} if len(single) == 1:
            ((name, value),) = single.items()
            kind = str(name)
            if kind in {"String", "StringOwned", "Boolean"} or kind.startswith(("Int", "UInt", "Float")):
                return value
    raise Unknown
