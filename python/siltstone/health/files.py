"""Figures of files, which the core sums up from one look at the newest version."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from siltstone import _core
from siltstone._partitions import wall_time
from siltstone.health.figures import Bucket, LargePartition, Level, PartitionClass, SizeClass, Totals

if TYPE_CHECKING:
    Table = Any

#: Buckets and partitions that are named one by one.
SHOWN = 30
#: Ages of partitions: the names of the classes, and the hours at which each ends.
AGES = (("1 hour", 1), ("1 day", 24), ("1 week", 168), ("1 month", 730), ("1 year", 8766), ("older", None))


@dataclass(frozen=True)
class KeptVersion:
    """A version whose files are to be looked at.

    Attributes:
        keeper: The number of what keeps it; 0 is the newest version.
        branch: Its branch.
        snapshot: Its id.
        tag: The tag that names it, which may keep it after its expiry.
    """

    keeper: int
    branch: str
    snapshot: int
    tag: str | None = None


@dataclass(frozen=True)
class PlanSums:
    """What a compaction would read.

    Attributes:
        tasks: Tasks of the plan.
        files: Data files.
        bytes: Their size.
        rows: Rows in them.
        failure: Why it cannot be planned; None where it can.
    """

    tasks: int
    files: int
    bytes: int
    rows: int
    failure: str | None = None


@dataclass(frozen=True)
class Figures:
    """Figures of the newest version's files, and of what versions keep.

    Attributes:
        totals: The newest version as a whole.
        levels: Its levels.
        buckets: Its buckets with the most runs, and then bytes.
        sizes: How many files there are of which size.
        partition_classes: How many partitions there are of which age and size.
        partitions: The largest partitions.
        version_bytes: Bytes of each version; None where it was not looked at.
        keeper_bytes: Bytes of each keeper, and of what it alone has; None where none of its versions was looked at.
        compaction: What a compaction would read.
        full_compaction: What a full compaction would read.
    """

    totals: Totals
    levels: list[Level]
    buckets: list[Bucket]
    sizes: list[SizeClass]
    partition_classes: list[PartitionClass]
    partitions: list[LargePartition]
    version_bytes: list[int | None]
    keeper_bytes: list[tuple[int, int] | None]
    compaction: PlanSums
    full_compaction: PlanSums


def levels_of(table: Table) -> list[Level]:
    """Figures of each level, of the version that the table's options name."""
    return [Level(*level) for level in _core.level_figures(table._core)]  # noqa: SLF001  # of this package


def figures_of(
    table: Table, snapshot: int | None, versions: Sequence[KeptVersion], compared: int, now: dt.datetime
) -> Figures:
    """Look at a version of a table.

    Args:
        table: The table.
        snapshot: The version; None for an empty table.
        versions: Versions to compare, the newest one first, those of one keeper together.
        compared: Names of files that are compared; versions beyond that are not looked at.
        now: The local time, without a zone, as manifests have it.
    """
    found: _core.HealthFigures = _core.health(
        table._core,  # noqa: SLF001  # of this package
        snapshot=snapshot,
        versions=[(v.keeper, v.branch, v.snapshot, v.tag) for v in versions],
        compared=compared,
        shown=SHOWN,
        now_millis=(now - dt.datetime(1970, 1, 1)) // dt.timedelta(milliseconds=1),  # noqa: DTZ001  # local time
        age_hours=[hours for _, hours in AGES if hours is not None],
    )
    return Figures(
        Totals(*found.totals),
        [Level(*level) for level in found.levels],
        [Bucket(*bucket) for bucket in found.buckets],
        [SizeClass(*sizes) for sizes in found.sizes],
        [PartitionClass(*partitions) for partitions in found.partition_classes],
        [LargePartition(name, files, rows, size, _zoned(at)) for name, files, rows, size, at in found.partitions],
        found.versions,
        found.keepers,
        PlanSums(*found.compaction),
        PlanSums(*found.full_compaction),
    )


def _zoned(local_millis: int | None) -> dt.datetime | None:
    """A local time with the zone of this machine; None of one that no date can show."""
    local = wall_time(local_millis)
    try:
        return None if local is None else local.astimezone()
    except (OverflowError, ValueError, OSError):
        return None
