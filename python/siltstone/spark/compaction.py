"""Compaction on executors: tasks travel as descriptors, files are read and written where they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from siltstone.maintenance import GIVEN_UP, CompactionTask, run_task
from siltstone.report import CompactionReport
from siltstone.spark.session import table_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from siltstone import Expression, Table

# How often tasks are run when other commits get in their way.
_TRIES = 3


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

    Args:
        spark: The session.
        table: Name, directory, or table.
        full: Merge each bucket into one run.
        where: A predicate over partition columns.
        parallelism: Spark tasks; default one a bucket.
        commit_every: Commit after this many buckets; None: one commit.

    Returns:
        What was done. When another commit changed the same files meanwhile, the work is dropped and the buckets are
        planned and compacted again, three times at most; the rows are safe in any case, and ``notes`` says what
        happened.
    """
    t = table_of(spark, table)

    def plan() -> list[CompactionTask]:
        return t.maintenance.plan_compaction(full=full, where=where).tasks

    tasks = plan()
    done = CompactionReport()
    step = commit_every or max(1, len(tasks))
    for at in range(0, len(tasks), step):
        done = _wave(t, tasks[at : at + step], lambda some: _run(spark, some, parallelism), plan, done)
    return done


def _wave(
    t: Table,
    tasks: Sequence[CompactionTask],
    run: Callable[[Sequence[CompactionTask]], list[bytes]],
    plan: Callable[[], list[CompactionTask]],
    done: CompactionReport,
) -> CompactionReport:
    """Run tasks and commit what they did; again, as the table is then, when other commits got in the way."""
    buckets = {(task.partition, task.bucket) for task in tasks}
    conflict = ""
    for left in reversed(range(_TRIES)):
        report = t.maintenance.commit_compaction(run(tasks), done)
        given_up = [note for note in report.notes[len(done.notes) :] if note.startswith(GIVEN_UP)]
        if not given_up:
            again = f"another commit got in the way of the compaction, which was done again: {conflict}"
            return replace(report, notes=[*report.notes, again]) if conflict else report
        if not left:
            break
        conflict = given_up[0]
        tasks = [task for task in plan() if (task.partition, task.bucket) in buckets]
        if not tasks:
            nothing = f"another commit left nothing to compact: {conflict}"
            return replace(done, notes=[*done.notes, nothing])
    return report


def _run(spark: SparkSession, tasks: Sequence[CompactionTask], parallelism: int | None) -> list[bytes]:
    """Run tasks on executors, the largest first and spread evenly."""
    n = max(1, min(parallelism or len(tasks), len(tasks)))
    slots = _spread([t.bytes for t in tasks], n)
    rows = [(slot, bytearray(task.token)) for slot, task in zip(slots, tasks, strict=True)]
    frame = spark.createDataFrame(rows, "slot int, token binary").repartitionById(n, "slot")
    return [bytes(row.message) for row in frame.mapInArrow(_run_tasks, "message binary").collect()]


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
    import pyarrow as pa

    for batch in batches:
        for token in batch.column("token"):
            message = run_task(token.as_py(), threads=1)
            yield pa.record_batch([pa.array([message], pa.binary())], names=["message"])
