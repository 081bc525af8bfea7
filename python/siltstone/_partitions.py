"""Partition specs in the forms in which they are given."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from siltstone._args import optional_text, shown, text, written
from siltstone._numpy import of_numpy
from siltstone.errors import InvalidArgument

#: Where a text was given for a partition.
_CONDITION = "t.delete(where) takes a condition, such as \"dt < '2026-11-20'\", and drops whole partitions"


def partition_list(
    partitions: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None,
) -> list[dict[str, str | None]] | None:
    """Partition specs with values as text, the form in which the core takes them; None, for all partitions, stays None.

    Raises:
        InvalidArgument: Anything that does not name partitions: an empty list, an empty spec, a value that is no value.
    """
    if partitions is None:
        return None
    if isinstance(partitions, Mapping):
        partitions = [partitions]
    listed = (
        list(partitions) if isinstance(partitions, Iterable) and not isinstance(partitions, (str, bytes)) else [None]
    )
    if not all(isinstance(p, Mapping) for p in listed):
        raise InvalidArgument(
            f"{shown(partitions)} is not a partition: give a dict such as {{'dt': '2026-11-20'}}",
            hint=_CONDITION if isinstance(partitions, str) else None,
        )
    if not listed or not all(listed):
        raise InvalidArgument(
            f"{shown(partitions)} names no partition", hint="give a dict such as {'dt': '2026-11-20'}"
        )
    return [partition_spec(p) for p in listed if p is not None]


def partition_spec(partition: Mapping[str, Any] | None) -> dict[str, str | None]:
    """One partition spec with values as text; None is an empty one.

    Raises:
        InvalidArgument: Not a dict, or a value that is no value of a column.
    """
    if partition is None:
        return {}
    if not isinstance(partition, Mapping):
        raise InvalidArgument(f"{shown(partition)} is not a partition: give a dict such as {{'dt': '2026-11-20'}}")
    return {text("a partition column", k): _partition_value(k, v) for k, v in partition.items()}


def _partition_value(column: str, value: Any) -> str | None:
    value = of_numpy(value)
    if value is None or isinstance(value, str):
        return optional_text(column, value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise InvalidArgument(
                f"{shown(value)} in a partition is not UTF-8",
                hint=f"delete the rows where the column is the value: {column} = X'{value.hex()}'",
                context={"column": column},
            ) from None
    if isinstance(value, (int, float, decimal.Decimal, dt.date, dt.time)):
        return value.isoformat(sep=" ") if isinstance(value, dt.datetime) else written(column, value)
    raise InvalidArgument(
        f"{shown(value)} is not the value of a partition column: give a text, number, date or time",
        context={"column": column},
    )


def wall_time(millis: int | None) -> dt.datetime | None:
    """Return a local time as manifests have it, without a zone; None for one that no date can show."""
    try:
        return None if millis is None else dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=millis)  # noqa: DTZ001
    except OverflowError:
        return None
