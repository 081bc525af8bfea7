"""Compaction on executors: tasks travel as descriptors, files are read and written where they run."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from siltstone._args import Duration, count
from siltstone._spellings import hinted
from siltstone.compaction import CompactionTask, Ran, overtaken_note, run_tasks
from siltstone.errors import CommitConflict
from siltstone.report import CompactionReport
from siltstone.spark.parallelism import slots
from siltstone.spark.session import connected, table_of

_RESULT = "message binary, overtaken string"
#: Most bytes of descriptors of which each Spark task gets all.
_SENT_TO_ALL = 4 << 20
#: Tasks that are run together: the table is opened once for them.
_TOGETHER = 64

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from siltstone import Expression, Table


@hinted
def compact(
    spark: SparkSession,
    table: str | Table,
    *,
    full: bool = False,
    where: str | Expression | None = None,
    partitions: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    idle: Duration | None = None,
    order_by: str | Sequence[str] | None = None,
    strategy: str | None = None,
    parallelism: int | None = None,
    commit_every: int | None = None,
) -> CompactionReport:
    """Compact a table on Spark's executors, as one commit.

    The driver plans; each task gets a descriptor of a few hundred bytes, rewrites its bucket's files and returns a
    commit message; the driver commits. When a task fails for good nothing is committed and the table is as before.
    ``t.maintenance.plan_compaction(full=..., where=...)`` says beforehand what would be done.

    Args:
        spark: The session.
        table: Name, directory, or table.
        full: Merge each bucket into one run.
        where: A predicate over partition columns.
        partitions: Partition specs, partial ones included; None for all.
        idle: Only partitions that have not been written for this long.
        order_by: Sort the rows of each partition by these columns; a partition is one task.
        strategy: ``order`` (the default), ``zorder`` or ``hilbert``.
        parallelism: Spark tasks, at least one; default as many as run at once, where the session says how many these
            are, else one a bucket. Buckets are spread over them by their bytes.
        commit_every: Commit after this many buckets, at least one; None: one commit.

    Returns:
        What was done. When another commit changed the same files meanwhile, the work is dropped and the buckets are
        planned and compacted again, three times at most; the rows are safe in any case, ``notes`` says what
        happened, and ``given_up`` what was not compacted.
    """
    at_once, every = count("parallelism", parallelism, 1), count("commit_every", commit_every, 1)
    maintenance = table_of(spark, table).maintenance
    return maintenance.compact(
        full=full,
        where=where,
        partitions=partitions,
        idle=idle,
        order_by=order_by,
        strategy=strategy,
        commit_every=every,
        run=lambda tasks: _run(spark, tasks, at_once),
    )


@hinted
def compact_database(
    spark: SparkSession,
    database: str,
    *,
    full: bool = False,
    parallelism: int | None = None,
    commit_every: int | None = None,
) -> dict[str, CompactionReport]:
    """Compact all tables of a database on Spark's executors, one after another.

    Args:
        spark: The session.
        database: A database of the warehouse.
        full: See :func:`compact`.
        parallelism: See :func:`compact`.
        commit_every: See :func:`compact`.

    Returns:
        What was done, by name of the table.

    Example:
        >>> from siltstone import spark as ss
        >>> ss.compact_database(spark, "shop", full=True)  # doctest: +SKIP
    """
    names = [f"{database}.{name}" for name in connected(spark).tables(database)]
    return {name: compact(spark, name, full=full, parallelism=parallelism, commit_every=commit_every) for name in names}


def _run(spark: SparkSession, tasks: Sequence[CompactionTask], parallelism: int | None) -> Ran:
    """Run tasks on executors, the largest first and spread evenly."""
    n = max(1, min(parallelism or slots(spark) or len(tasks), len(tasks)))
    chosen = _spread([t.bytes for t in tasks], n)
    if sum(len(task.token) for task in tasks) <= _SENT_TO_ALL:
        # each of n partitions has one number, and finds its tasks by it: no shuffle comes before
        shares: list[list[bytes]] = [[] for _ in range(n)]
        for slot, task in zip(chosen, tasks, strict=True):
            shares[slot].append(task.token)
        ran = spark.range(0, n, 1, n).mapInArrow(functools.partial(_run_share, shares), _RESULT)
    else:
        rows = [(slot, bytearray(task.token)) for slot, task in zip(chosen, tasks, strict=True)]
        ran = spark.createDataFrame(rows, "slot int, token binary").repartitionById(n, "slot")
        ran = ran.mapInArrow(_run_rows, _RESULT)
    ends = ran.collect()
    return Ran([bytes(end.message) for end in ends if end.message], [end.overtaken for end in ends if end.overtaken])


def _spread(sizes: Sequence[int], n: int) -> list[int]:
    """For each size a slot, each time the least loaded one (sizes come largest first)."""
    load = [0] * n
    chosen = []
    for size in sizes:
        slot = min(range(n), key=load.__getitem__)
        load[slot] += size + 1
        chosen.append(slot)
    return chosen


def _run_share(shares: list[list[bytes]], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run the tasks whose numbers come in."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from _run_all(shares[number])


def _run_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run the tasks that come in."""
    for batch in batches:
        yield from _run_all(batch.column("token").to_pylist())


def _run_all(tokens: list[bytes]) -> Iterator[pa.RecordBatch]:
    """Run tasks; one that was overtaken is reported and does not fail the job."""
    import pyarrow as pa

    for start in range(0, len(tokens), _TOGETHER):
        ends = run_tasks(tokens[start : start + _TOGETHER], threads=1)
        messages = [None if isinstance(end, CommitConflict) else end for end in ends]
        overtaken = [overtaken_note(end) if isinstance(end, CommitConflict) else None for end in ends]
        columns = [pa.array(messages, pa.binary()), pa.array(overtaken, pa.string())]
        yield pa.record_batch(columns, names=["message", "overtaken"])
