"""Compaction on executors: tasks travel as descriptors, files are read and written where they run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from siltstone._args import count
from siltstone.compaction import CompactionTask, Ran, overtaken_note, run_task
from siltstone.errors import CommitConflict
from siltstone.report import CompactionReport
from siltstone.spark.session import table_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from siltstone import Expression, Table


def compact(
    spark: SparkSession,
    table: str | Table,
    *,
    full: bool = False,
    where: str | Expression | None = None,
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
        parallelism: Spark tasks, at least one; default one a bucket.
        commit_every: Commit after this many buckets, at least one; None: one commit.

    Returns:
        What was done. When another commit changed the same files meanwhile, the work is dropped and the buckets are
        planned and compacted again, three times at most; the rows are safe in any case, ``notes`` says what
        happened, and ``given_up`` what was not compacted.
    """
    at_once, every = count("parallelism", parallelism, 1), count("commit_every", commit_every, 1)
    maintenance = table_of(spark, table).maintenance
    return maintenance.compact(
        full=full, where=where, commit_every=every, run=lambda tasks: _run(spark, tasks, at_once)
    )


def _run(spark: SparkSession, tasks: Sequence[CompactionTask], parallelism: int | None) -> Ran:
    """Run tasks on executors, the largest first and spread evenly."""
    n = max(1, min(parallelism or len(tasks), len(tasks)))
    slots = _spread([t.bytes for t in tasks], n)
    rows = [(slot, bytearray(task.token)) for slot, task in zip(slots, tasks, strict=True)]
    frame = spark.createDataFrame(rows, "slot int, token binary").repartitionById(n, "slot")
    ends = frame.mapInArrow(_run_tasks, "message binary, overtaken string").collect()
    return Ran([bytes(end.message) for end in ends if end.message], [end.overtaken for end in ends if end.overtaken])


def _spread(sizes: Sequence[int], n: int) -> list[int]:
    """For each size a slot, each time the least loaded one (sizes come largest first)."""
    load = [0] * n
    slots = []
    for size in sizes:
        slot = min(range(n), key=load.__getitem__)
        load[slot] += size + 1
        slots.append(slot)
    return slots


def _run_tasks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run tasks; one that was overtaken is reported and does not fail the job."""
    import pyarrow as pa

    for batch in batches:
        for token in batch.column("token"):
            message, overtaken = None, None
            try:
                message = run_task(token.as_py(), threads=1)
            except CommitConflict as conflict:
                overtaken = overtaken_note(conflict)
            yield pa.record_batch(
                [pa.array([message], pa.binary()), pa.array([overtaken], pa.string())], names=["message", "overtaken"]
            )
