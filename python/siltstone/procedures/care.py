"""Procedures that compact, expire and clean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from siltstone.errors import InvalidArgument
from siltstone.procedures.model import DONE, Argument, Rows, procedure

if TYPE_CHECKING:
    from siltstone import Table


@procedure(
    "compact",
    Argument("partitions"),
    Argument("compact_strategy"),
    Argument("where"),
    Argument("partition_idle_time"),
)
def compact(
    table: Table,
    partitions: str | None = None,
    compact_strategy: str = "full",
    where: str | None = None,
    partition_idle_time: str | None = None,
    runner: Callable[..., Any] | None = None,
) -> Rows:
    """Compact a table, fully unless ``compact_strategy`` is ``minor``."""
    if compact_strategy not in ("full", "minor"):
        raise InvalidArgument(f"the compact_strategy '{compact_strategy}' is neither 'full' nor 'minor'")
    if partitions is not None and where is not None:
        raise InvalidArgument("sys.compact takes 'partitions' or 'where', not both")
    chosen: dict[str, Any] = {"full": compact_strategy == "full", "where": where}
    if partitions is not None:
        chosen["partitions"] = partition_specs(partitions)
    if partition_idle_time is not None:
        chosen["idle"] = partition_idle_time
    if runner is None or partitions is not None or partition_idle_time is not None:
        table.maintenance.compact(**chosen)
    else:
        runner(table, **chosen)
    return DONE


@procedure(
    "expire_snapshots",
    Argument("retain_max", int),
    Argument("retain_min", int),
    Argument("older_than"),
    Argument("max_deletes", int),
    schema="deleted_snapshots_count INT",
)
def expire_snapshots(
    table: Table,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than: str | None = None,
    max_deletes: int | None = None,
) -> Rows:
    """Delete old snapshots and the files that nothing else needs."""
    report = table.maintenance.expire_snapshots(
        retain_max=retain_max, retain_min=retain_min, older_than=older_than, max_deletes=max_deletes
    )
    return [(len(report.details["snapshots"]),)]


@procedure(
    "remove_orphan_files",
    Argument("older_than"),
    Argument("dry_run", bool),
    schema="deletedFileCount BIGINT, deletedFileTotalLenInBytes BIGINT",
)
def remove_orphan_files(table: Table, older_than: str | None = None, *, dry_run: bool = False) -> Rows:
    """Delete files that nothing refers to."""
    report = table.maintenance.remove_orphan_files(older_than=older_than or "1d", dry_run=dry_run)
    return [(report.deleted_files, report.freed_bytes)]


@procedure("compact_manifest")
def compact_manifest(table: Table) -> Rows:
    """Rewrite small manifests into few large ones."""
    table.maintenance.compact_manifests()
    return DONE


def partition_specs(text: str) -> list[dict[str, str]]:
    """``p=0,q=1;p=1`` as partial partition specs.

    Raises:
        InvalidArgument: A part is not ``column=value``.
    """
    specs = []
    for one in filter(None, (part.strip() for part in text.split(";"))):
        pairs = [pair.partition("=") for pair in one.split(",")]
        if not all(eq and key.strip() for key, eq, _ in pairs):
            raise InvalidArgument(f"'{one}' is not a partition such as dt=2026-11-20,hour=8")
        specs.append({key.strip(): value.strip() for key, _, value in pairs})
    return specs
