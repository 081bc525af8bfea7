"""Tables and Ray: ``from siltstone import ray as sr`` (extra ``ray``).

Workers need siltstone, too, and must reach the table's files.

Example:
    >>> from siltstone import ray as sr
    >>> ds = sr.read(t, filter="dt = '2026-11-20'")  # doctest: +SKIP
    >>> sr.write(ds.map(clean), "lake/shop.db/orders", mode="upsert")  # doctest: +SKIP
    >>> sr.compact(t, full=True)  # doctest: +SKIP
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from siltstone._args import Duration
from siltstone._bridge import WriteJob, Written, missing, write_job
from siltstone._operation import operation
from siltstone._spellings import hinted
from siltstone.catalog import table_of
from siltstone.compaction import CompactionTask, Ran, overtaken_note, run_task
from siltstone.errors import CommitConflict
from siltstone.predicate import Expression
from siltstone.report import CommitReport, CompactionReport
from siltstone.system import writable
from siltstone.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

_ROUTE = "__siltstone_route"


def _ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError:
        raise missing("Ray Data", "ray") from None
    return ray


def read(table: Table | str, columns: Sequence[str] | None = None, filter: Any = None, **scan: Any) -> Any:  # noqa: A002
    """A table as a dataset of Ray: splits are read by tasks.

    What the dataset is asked for later (``select_columns``, ``filter(expr=...)``) goes into the scan, too.

    Args:
        table: A table, its directory, or ``db.table`` of the catalog that the environment names.
        columns: Columns; None for all.
        filter: A condition, as for :meth:`siltstone.Table.scan`.
        scan: Other arguments of :meth:`siltstone.Table.scan`.

    Raises:
        InvalidArgument: Ray is not installed.

    Example:
        >>> from siltstone import ray as sr
        >>> sr.read("lake/shop.db/orders", ["id"]).count()  # doctest: +SKIP
        2
    """
    ray = _ray()
    from siltstone._ray_data import SplitSource

    return ray.data.read_datasource(SplitSource(table_of(table).scan(columns, filter, **scan)))


@hinted
def write(ds: Any, table: Table | str, mode: str = "append") -> CommitReport:
    """Write a dataset of Ray as one commit.

    Of a table with fixed buckets each (partition, bucket) is written by one task, which holds its rows in memory.
    Append tables without buckets, and tables whose rows wait for buckets, are written by all tasks. Where keys are
    looked up to find their bucket (dynamic buckets) this process is the one writer, and rows come to it batch by batch.
    Files of tasks that were killed stay until :meth:`siltstone.maintenance.Maintenance.remove_orphan_files` deletes
    them.

    Args:
        ds: The dataset.
        table: As for :func:`read`.
        mode: ``append`` or ``upsert`` add rows, ``overwrite`` replaces the table, ``overwrite-partitions`` the
            partitions that occur in ``ds``.

    Raises:
        InvalidArgument: Ray is not installed, another mode, or ``upsert`` on a table without primary key.
        SchemaMismatch: Columns, or their types, do not fit the table.
        CommitConflict: Another commit changed what this one relies on; nothing was committed.
    """
    _ray()
    job = write_job(table, mode)
    with operation("ray_write", job.table.name, unit="rows") as done:
        if job.is_free:
            from siltstone._ray_data import TableSink

            sink = TableSink(job)
            ds.write_datasink(sink)
            return done(job.commit([]) if sink.report is None else sink.report)
        if job.is_routed:
            return done(job.commit(_written_by_bucket(ds, job)))
        batches = ds.iter_batches(batch_format="pyarrow", batch_size=None)
        return done(job.commit([job.write(batches)]))


def _written_by_bucket(ds: Any, job: WriteJob) -> list[Written]:
    def routed(rows: pa.Table) -> pa.Table:
        return rows.append_column(_ROUTE, job.table.routes(rows))

    def written(rows: pa.Table) -> dict[str, list[bytes]]:
        return {"written": [pickle.dumps(job.write([rows.drop_columns([_ROUTE])]))]}

    groups = ds.map_batches(routed, batch_format="pyarrow").groupby(_ROUTE)
    ends = groups.map_groups(written, batch_format="pyarrow").take_all()
    return [pickle.loads(end["written"]) for end in ends]  # noqa: S301  # what our own tasks made


@hinted
def compact(
    table: Table | str,
    *,
    full: bool = False,
    where: str | Expression | None = None,
    partitions: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    idle: Duration | None = None,
    commit_every: int | None = None,
) -> CompactionReport:
    """Compact a table by tasks of Ray, one a bucket, as one commit.

    This process plans and commits; a task gets a descriptor of a few hundred bytes and rewrites the files of its
    bucket. When a task fails for good nothing is committed.

    Args:
        table: As for :func:`read`.
        full: See :meth:`siltstone.maintenance.Maintenance.plan_compaction`.
        where: See there.
        partitions: See there.
        idle: See there.
        commit_every: Commit after this many buckets; None: one commit.

    Raises:
        InvalidArgument: Ray is not installed.
    """
    ray = _ray()
    remote = ray.remote(_run_task)

    def run(tasks: Sequence[CompactionTask]) -> Ran:
        ends = ray.get([remote.remote(task.token) for task in tasks])
        return Ran([message for message, _ in ends if message], [note for _, note in ends if note])

    return writable(table_of(table)).maintenance.compact(
        full=full, where=where, partitions=partitions, idle=idle, commit_every=commit_every, run=run
    )


def _run_task(token: bytes) -> tuple[bytes | None, str | None]:
    """Run a task; one that was overtaken is reported and fails nothing."""
    try:
        return run_task(token, threads=1), None
    except CommitConflict as conflict:
        return None, overtaken_note(conflict)
