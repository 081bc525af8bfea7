"""How many tasks read and write a table: splits are put together as Java's Spark connector does it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from siltstone import _core

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from siltstone import Split, Table

_LOCAL = re.compile(r"local\[(\d+|\*)(?:,\s*\d+)?\]")
_SHUFFLE, _SHUFFLE_DEFAULT = "spark.sql.shuffle.partitions", "200"
#: Tasks of a shuffle for each that runs at once: one that has more rows than others does not leave them idle.
_A_SLOT = 2
_TARGET, _COST = "source.split.target-size", "source.split.open-file-cost"


def slots(spark: SparkSession) -> int | None:
    """How many tasks run at once, as far as the session's configuration says it."""

    def number(key: str) -> int | None:
        value: Any = spark.conf.get(key, None)
        return int(value) if value and str(value).isdecimal() else None

    given = number("spark.sql.leafNodeDefaultParallelism") or number("spark.default.parallelism")
    if given:
        return given
    if found := _LOCAL.fullmatch(str(spark.conf.get("spark.master", None) or "")):
        import os

        return os.cpu_count() or 1 if found[1] == "*" else int(found[1])
    executors = number("spark.executor.instances")
    return executors * (number("spark.executor.cores") or 1) if executors else None


def shuffle_partitions(spark: SparkSession) -> int:
    """The session's ``spark.sql.shuffle.partitions``."""
    return int(spark.conf.get(_SHUFFLE, _SHUFFLE_DEFAULT) or _SHUFFLE_DEFAULT)


def write_tasks(spark: SparkSession, least: int = 1) -> int:
    """How many tasks write, where neither the caller nor the table says it.

    Spark's default of 200 is one for clusters: as few rows as two would be shuffled to 200 tasks. Where nobody has set
    it, a few tasks for each of those that run at once are enough.

    Args:
        spark: The session.
        least: So many, where Spark's own number is not less.
    """
    most = shuffle_partitions(spark)
    at_once = slots(spark)
    if spark.conf.get(_SHUFFLE, None) is not None or at_once is None:
        return most
    return min(most, max(_A_SLOT * at_once, least))


def packed(table: Table, splits: Sequence[Split], tasks: int | None) -> list[list[Split]]:
    """Splits in their order, as many together as fill a task.

    A task gets the bytes of ``source.split.target-size``, or fewer where there would be less than one task a slot; a
    file counts ``source.split.open-file-cost`` more than it has.
    """
    target = _core.size_bytes(_TARGET, table.options.get(_TARGET, "128 mb"))
    cost = _core.size_bytes(_COST, table.options.get(_COST, "4 mb"))
    weights = [split.bytes + cost * len(split.files) for split in splits]
    most = min(target, max(cost, -(-sum(weights) // (tasks or 1))))
    if tasks and most < target:  # the last of the slots would have two tasks one after the other
        most = _least(weights, tasks, most, target)
    groups: list[list[Split]] = []
    room = -1
    for split, weight in zip(splits, weights, strict=True):
        if weight > room:
            groups.append([])
            room = most
        groups[-1].append(split)
        room -= weight
    return groups


def _least(weights: Sequence[int], tasks: int, low: int, high: int) -> int:
    """The least weight of a task with which there are no more tasks than slots; the highest where none is enough."""
    while low < high:
        middle = (low + high) // 2
        if _tasks(weights, middle) <= tasks:
            high = middle
        else:
            low = middle + 1
    return low


def _tasks(weights: Sequence[int], most: int) -> int:
    """How many tasks there are of a weight of at most so much."""
    number, room = 0, -1
    for weight in weights:
        if weight > room:
            number, room = number + 1, most
        room -= weight
    return number
