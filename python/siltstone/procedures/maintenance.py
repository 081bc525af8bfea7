"""Procedures that compact, expire and clean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from siltstone._args import count, number, shown
from siltstone.errors import CommitConflict, CommitError, InvalidArgument
from siltstone.procedures.consumers import pattern
from siltstone.procedures.model import DONE, OPTIONS, Answer, Argument, Warehouse, done, names, procedure
from siltstone.procedures.naming import option_map, with_options
from siltstone.report import GIVEN_UP

if TYPE_CHECKING:
    from siltstone import Table
    from siltstone.report import CompactionReport


@procedure(
    "compact",
    Argument("partitions"),
    Argument("compact_strategy"),
    Argument("order_strategy"),
    Argument("order_by"),
    Argument("where"),
    OPTIONS,
    Argument("partition_idle_time"),
    Argument("buckets"),
)
def compact(
    table: Table,
    partitions: str | None = None,
    compact_strategy: str = "full",
    order_strategy: str = "none",
    order_by: str | None = None,
    where: str | None = None,
    partition_idle_time: str | None = None,
    buckets: str | None = None,
    runner: Callable[..., Any] | None = None,
) -> Answer:
    """Compact a table, fully unless ``compact_strategy`` is ``minor``.

    Raises:
        CommitConflict: Other commits got in the way, and buckets were not compacted; Java fails then, too.
    """
    if compact_strategy.lower() not in ("full", "minor"):
        raise InvalidArgument(f"the compact_strategy {shown(compact_strategy)} is neither 'full' nor 'minor'")
    order = _sort_order(order_strategy, order_by)
    partitions = partitions if partitions and partitions.strip() else None
    if partitions is not None and where is not None:
        raise InvalidArgument("sys.compact takes 'partitions' or 'where', not both")
    chosen: dict[str, Any] = {"full": compact_strategy.lower() == "full", "where": where, **order}
    if partitions is not None:
        chosen["partitions"] = partition_specs(partitions)
    if partition_idle_time is not None:
        chosen["idle"] = partition_idle_time
    if runner is not None and buckets is None:
        return _compacted(table, runner(table, **chosen))
    if buckets is None:
        return _compacted(table, table.maintenance.compact(**chosen))
    wanted = _bucket_numbers(buckets)
    plan = table.maintenance.plan_compaction(**chosen)
    tasks = [task for task in plan.tasks if task.bucket in wanted]
    return _compacted(table, table.maintenance.compact(replace(plan, tasks=tasks)))


@procedure("rescale", Argument("bucket_num", int), Argument("partitions"), Argument("where"))
def rescale(
    table: Table, bucket_num: int | None = None, partitions: str | None = None, where: str | None = None
) -> Answer:
    """Give a table, or some partitions, another number of buckets."""
    partitions = partitions if partitions and partitions.strip() else None
    where = where if where and where.strip() else None
    if partitions is not None and where is not None:
        raise InvalidArgument("sys.rescale takes 'partitions' or 'where', not both")
    report = table.rescale(bucket_num, None if partitions is None else partition_specs(partitions), where=where)
    return Answer(DONE.rows, report.notes)


@procedure("rewrite_file_index", Argument("partitions"))
def rewrite_file_index(table: Table, partitions: str | None = None) -> Answer:
    """Give data files the indexes that the table's options ask for."""
    partitions = partitions if partitions and partitions.strip() else None
    return Answer(
        DONE.rows, table.rewrite_file_index(None if partitions is None else partition_specs(partitions)).notes
    )


def _compacted(table: Table, report: CompactionReport) -> Answer:
    """``true`` only when nothing was given up."""
    if not report.given_up:
        return Answer(DONE.rows, report.notes)
    kept = (
        f"snapshot {report.snapshot.id} has what was compacted before it"
        if report.snapshot
        else "nothing was compacted"
    )
    conflict = any(note.startswith(GIVEN_UP) for note in report.given_up)
    raise (CommitConflict if conflict else CommitError)(
        f"{'; '.join(report.given_up)} ({kept})",
        hint="call it again; where one job compacts, let the writers be write-only",
        context={"table": table.name},
    )


def _sort_order(order_strategy: str, order_by: str | None) -> dict[str, Any]:
    """Arguments of a sort compaction; none where rows stay in their order."""
    columns = names(order_by or "")
    if order_strategy.lower() not in ("none", "zorder", "hilbert", "order"):
        raise InvalidArgument(f"the order_strategy {shown(order_strategy)} is none of none, order, zorder, hilbert")
    if columns and order_strategy.lower() == "none":
        raise InvalidArgument("sys.compact takes 'order_by' only with an order_strategy other than 'none'")
    if not columns and order_strategy.lower() != "none":
        raise InvalidArgument(f"sys.compact needs 'order_by' for the order_strategy {shown(order_strategy)}")
    return {"order_by": columns, "strategy": order_strategy} if columns else {}


def _bucket_numbers(text: str) -> set[int]:
    """``0,2`` as bucket numbers."""
    wrong = [part for part in names(text) if not isinstance(number(part), int)]
    if wrong or not names(text):
        raise InvalidArgument(f"{shown(wrong[0] if wrong else text)} is not a bucket number (argument 'buckets')")
    return {int(part) for part in names(text)}


@procedure(
    "expire_snapshots",
    Argument("retain_max", int),
    Argument("retain_min", int),
    Argument("older_than"),
    Argument("max_deletes", int),
    OPTIONS,
    schema="deleted_snapshots_count INT",
)
def expire_snapshots(
    table: Table,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than: str | None = None,
    max_deletes: int | None = None,
) -> Answer:
    """Delete old snapshots and the files that nothing else needs; the table's options say what is not given.

    Snapshots beyond ``retain_max`` go whatever their age, the others only when they are older than ``older_than`` or
    ``snapshot.time-retained``; never more than ``max_deletes`` at once.
    """
    numbers = {
        "snapshot.num-retained.max": count("retain_max", retain_max, 1),
        "snapshot.num-retained.min": count("retain_min", retain_min, 1),
        "snapshot.expire.limit": count("max_deletes", max_deletes, 1),
    }
    given = {key: str(number) for key, number in numbers.items() if number is not None}
    age = older_than if older_than and older_than.strip() else None
    report = with_options(table, given).maintenance.expire_snapshots_by_options(older_than=age)
    return Answer([(len(report.details["snapshots"]),)], report.notes)


@procedure(
    "remove_orphan_files",
    Argument("older_than"),
    Argument("dry_run", bool),
    Argument("parallelism", int),
    Argument("mode"),
    schema="deletedFileCount BIGINT, deletedFileTotalLenInBytes BIGINT",
    databases=True,
)
def remove_orphan_files(
    table: Table,
    older_than: str | None = None,
    *,
    dry_run: bool = False,
    parallelism: int | None = None,
    mode: str = "distributed",
) -> Answer:
    """Delete files that nothing refers to, of a table or with ``db.*`` of all tables of a database.

    ``mode`` (``local``, ``distributed``) and ``parallelism`` say in Java where the work is done; here it is always done
    by the threads of this process, with the same result.
    """
    count("parallelism", parallelism, 1)
    if mode.lower() not in ("local", "distributed"):
        raise InvalidArgument(f"the mode {shown(mode)} is neither 'local' nor 'distributed'")
    report = table.maintenance.remove_orphan_files(older_than=older_than or None, dry_run=dry_run)
    return Answer([(report.deleted_files, report.freed_bytes)], report.notes)


@procedure("compact_manifest", OPTIONS)
def compact_manifest(table: Table) -> Answer:
    """Rewrite small manifests into few large ones."""
    return done(table.maintenance.compact_manifests())


@procedure(
    "expire_partitions",
    Argument("expiration_time"),
    Argument("timestamp_formatter"),
    Argument("timestamp_pattern"),
    Argument("expire_strategy"),
    Argument("max_expires", int),
    OPTIONS,
    schema="expired_partitions STRING",
)
def expire_partitions(
    table: Table,
    expiration_time: str | None = None,
    timestamp_formatter: str | None = None,
    timestamp_pattern: str | None = None,
    expire_strategy: str | None = None,
    max_expires: int | None = None,
) -> Answer:
    """Drop partitions that are old; the table's options say what is not given."""
    report = table.maintenance.expire_partitions(
        expiration_time=expiration_time,
        timestamp_formatter=timestamp_formatter,
        timestamp_pattern=timestamp_pattern,
        strategy=expire_strategy,
        max_expires=max_expires,
    )
    return Answer([(name,) for name in report.details["partitions"]] or [("No expired partitions.",)], report.notes)


@procedure(
    "compact_database",
    Argument("including_databases"),
    Argument("including_tables"),
    Argument("excluding_tables"),
    OPTIONS,
    schema="result STRING",
    whole=True,
)
def compact_database(
    warehouse: Warehouse,
    including_databases: str | None = None,
    including_tables: str | None = None,
    excluding_tables: str | None = None,
    options: str = "",
    runner: Callable[..., Any] | None = None,
) -> Answer:
    """Compact all tables whose database, and whose name with it (``db.t``), fit regular expressions."""
    databases = pattern("including_databases", including_databases or ".*")
    including = pattern("including_tables", including_tables or ".*")
    excluding = pattern("excluding_tables", excluding_tables) if excluding_tables else None
    notes: list[str] = []
    compacted = 0
    for name in warehouse.names(databases):
        if not including.fullmatch(name) or (excluding and excluding.fullmatch(name)):
            continue
        table = with_options(warehouse.find(name), option_map(options))
        notes += [f"{name}: {note}" for note in compact(table, runner=runner).notes]
        compacted += 1
    return Answer([(f"Success: {compacted} tables were compacted.",)], notes)


def partition_specs(text: str) -> list[dict[str, str]]:
    """``p=0,q=1;p=1`` as partial partition specs.

    Raises:
        InvalidArgument: A part is not ``column=value``.
    """
    specs = []
    for one in filter(None, (part.strip() for part in text.split(";"))):
        pairs = [pair.partition("=") for pair in one.split(",")]
        if not all(eq and key.strip() for key, eq, _ in pairs):
            raise InvalidArgument(f"{shown(one)} is not a partition such as dt=2026-11-20,hour=8")
        specs.append({key.strip(): value.strip() for key, _, value in pairs})
    return specs
