"""Primary keys that a call is given: in the table's types, as a condition, and compared with those of rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Iterator
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

from siltstone._literals import literal
from siltstone._scalars import PER_SECOND
from siltstone._values import column
from siltstone.errors import InvalidArgument, NullInKey, SchemaError, SchemaMismatch
from siltstone.predicate import Expression, col

if TYPE_CHECKING:
    import pyarrow as pa

#: The first and the last day that Python has; those of a table begin before and end after them.
_FIRST, _LAST = dt.date.min, dt.date.max
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # a wall clock
_DAY = 86_400


def typed(rows: pa.Table, schema: pa.Schema, table: str) -> pa.Table:
    """The key columns of rows in the types of the table, each value as it is.

    Raises:
        InvalidArgument: The rows lack a column of the key.
        SchemaMismatch: A value that the column cannot hold exactly, as a write says it.
        NullInKey: A value is null.
    """
    from siltstone._pyarrow import pa

    for name in schema.names:
        if name not in rows.column_names and rows.num_rows:
            raise InvalidArgument(
                f"the keys lack the column '{name}' of the primary key",
                hint=f"a key has the columns {', '.join(schema.names)}",
                context={"table": table},
            )
    if not rows.num_rows:
        return schema.empty_table()
    columns = []
    for field in schema:
        try:
            columns.append(_converted(field.name, rows.column(field.name), field.type))
        except SchemaError as e:
            raise type(e)(
                e.message,
                hint=e.hint or "give the keys as rows of the table have them",
                context={"table": table} | e.context,
            ) from e
        if columns[-1].null_count:
            row = columns[-1].is_null().index(True).as_py()
            text = f"row {row} of the keys has null in column '{field.name}', which is NOT NULL"
            raise NullInKey(
                text, hint="leave it out: no row has such a key", context={"table": table, "column": field.name}
            )
    return pa.table(columns, schema=pa.schema([field.with_nullable(True) for field in schema]))


def _converted(name: str, values: Any, kind: Any) -> Any:
    """Values of any type of Arrow in the type of their column, by the rule for values of Python."""
    from siltstone._pyarrow import pa

    t, source = pa.types, values.type
    if source == kind:
        return values
    # those that Python does not have are not turned into its own
    same_family = (
        (t.is_date(source) and t.is_date(kind))
        or (t.is_time(source) and t.is_time(kind))
        or (t.is_timestamp(source) and t.is_timestamp(kind) and (source.tz is None or kind.tz is not None))
    )
    if same_family:
        try:
            cast = values.cast(kind)
            if cast.cast(source).equals(values):
                return cast
            reason = "the column holds no such fractions"
        except pa.ArrowException as e:
            reason = str(e)
        got = {"column": name, "expected": str(kind), "got": str(source)}
        raise SchemaMismatch(f"the values do not fit column '{name}': {reason}", context=got)
    try:
        plain = values.to_pylist()
    except (ValueError, OverflowError) as e:
        raise SchemaMismatch(f"the values do not fit column '{name}': {e}", context={"column": name}) from e
    return column(name, plain, kind)


def holding(keys: pa.Table) -> Expression:
    """What the rows of the keys satisfy, so that others are skipped."""
    return reduce(and_, (_one_of(name, keys.column(name)) for name in keys.column_names))


def _one_of(name: str, values: Any) -> Expression:
    """A condition that holds for each of the values, and for few others."""
    plain: dict[str, Any] = {}
    beyond: dict[str, Expression] = {}
    for value in _literals(values):
        if value is _FIRST or value is _LAST:
            beyond[str(value)] = col(name) < value if value is _FIRST else col(name) > value
        else:
            plain[str(value)] = value
    found = list(beyond.values())
    if len(plain) == 1:
        found.append(Expression({"op": "eq", "column": name, "value": next(iter(plain.values()))}))
    elif plain or not found:
        found.append(Expression({"op": "in", "column": name, "values": list(plain.values())}))
    return reduce(or_, found)


def _literals(values: Any) -> Iterator[Any]:
    """Values as conditions have them; the first or last day of Python for one before or after it."""
    from siltstone._pyarrow import pa

    kind = values.type
    if pa.types.is_date(kind):
        for days in values.cast(pa.int32()).to_pylist():
            yield _moment(days * _DAY, 0, "date", "")
    elif pa.types.is_timestamp(kind):
        per_second = PER_SECOND[kind.unit]
        for ticks in values.cast(pa.int64()).to_pylist():
            seconds, rest = divmod(ticks, per_second)
            yield _moment(seconds, rest * PER_SECOND["ns"] // per_second, "timestamp", "+00:00" if kind.tz else "")
    else:
        yield from map(literal, values.to_pylist())


def _moment(seconds: int, nanos: int, kind: str, zone: str) -> Any:
    try:
        at = _EPOCH + dt.timedelta(seconds=seconds)
    except OverflowError:
        return _FIRST if seconds < 0 else _LAST
    text = at.date().isoformat() if kind == "date" else f"{at.isoformat(sep=' ')}.{nanos:09}{zone}"
    return {"type": kind, "value": text}


def comparable(rows: pa.Table, key: list[str]) -> list[tuple[Hashable, ...]]:
    """The keys of rows, equal where the table says so: 0.0 and -0.0 are two keys, and all NaN are one."""
    return list(zip(*[_hashable(rows.column(name)) for name in key], strict=True))


def _hashable(values: Any) -> list[Hashable]:
    from siltstone._pyarrow import pa

    t, kind = pa.types, values.type
    if t.is_floating(kind):
        return ["NaN" if value != value else value.hex() for value in values.to_pylist()]  # noqa: PLR0124
    if t.is_date(kind) or t.is_timestamp(kind):
        values = values.cast(pa.int32() if t.is_date(kind) else pa.int64())
    found: list[Hashable] = values.to_pylist()
    return found
