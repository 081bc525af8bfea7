"""Rows of a batch as Python values, where Python has them: its years are 1 to 9999, and its times have microseconds."""

from __future__ import annotations

import datetime as dt
from typing import Any

_PER_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
_NANOS = 1_000_000_000
_SECONDS_OF_DAY = 86_400
#: Days and years after which the calendar begins again.
_CYCLE_DAYS, _CYCLE_YEARS = 146_097, 400
_EPOCH = dt.date(1970, 1, 1).toordinal()


def rows_of(batch: Any) -> list[dict[str, Any]]:
    """The rows; days and times that Python has no value for come as ISO texts, at any depth."""
    from siltstone._pyarrow import pa

    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except (OverflowError, ValueError):
        plain = pa.record_batch(batch)
        columns = [_items(column) for column in plain.columns]
        rows = [dict(zip(plain.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]
    return rows


def _items(array: Any) -> list[Any]:
    """The values of an array; all of its days and times are texts when Python lacks one."""
    from siltstone._pyarrow import pa

    t = array.type
    try:
        return list(array.to_pylist())
    except (OverflowError, ValueError):
        if pa.types.is_date(t):
            return [None if days is None else _day(days) for days in array.cast(pa.int32()).to_pylist()]
        if pa.types.is_timestamp(t):
            return [None if ticks is None else _time(ticks, t) for ticks in array.cast(pa.int64()).to_pylist()]
        if pa.types.is_struct(t):
            names = [field.name for field in t]
            rows = zip(*[_items(part) for part in array.flatten()], strict=True)
            return [dict(zip(names, row, strict=True)) if there else None for there, row in _there(array, rows)]
        if pa.types.is_map(t):
            return [None if entries is None else _pairs(entries) for entries in _elements(array)]
        if pa.types.is_list(t):
            return [None if elements is None else _items(elements) for elements in _elements(array)]
        raise


def _there(array: Any, rows: Any) -> Any:
    return zip(array.is_valid().to_pylist(), rows, strict=True)


def _elements(array: Any) -> list[Any]:
    """The elements, or entries, of each row as an array; None for null."""
    return [row.values if row.is_valid else None for row in array]


def _pairs(entries: Any) -> list[tuple[Any, Any]]:
    keys, values = (_items(entries.field(at)) for at in range(2))
    return list(zip(keys, values, strict=True))


def _day(days: int) -> str:
    """The ISO text of a day of any year."""
    cycles, rest = divmod(days + _EPOCH - 1, _CYCLE_DAYS)
    day = dt.date.fromordinal(rest + 1)
    year = day.year + cycles * _CYCLE_YEARS
    return f"{'-' if year < 0 else ''}{abs(year):04d}-{day.month:02d}-{day.day:02d}"


def _time(ticks: int, t: Any) -> str:
    """The ISO text of a time, as :meth:`datetime.datetime.isoformat` writes it; nine digits where six are too few."""
    per_second = _PER_SECOND[t.unit]
    seconds, rest = divmod(ticks, per_second)
    days, second = divmod(seconds, _SECONDS_OF_DAY)
    minute, hour = second // 60 % 60, second // 3600
    nanos = rest * (_NANOS // per_second)
    digits = f".{nanos:09d}" if nanos % 1000 else f".{nanos // 1000:06d}" if nanos else ""
    # tables have instants in UTC
    return f"{_day(days)}T{hour:02d}:{minute:02d}:{second % 60:02d}{digits}{'+00:00' if t.tz else ''}"
