"""The figures of a report: plain values, of bounded number however many files a table has."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from siltstone._looks import Looks


@dataclass(frozen=True)
class Totals(Looks):
    """The newest version as a whole.

    Attributes:
        files: Data files.
        rows: Rows in them: of a table with a primary key several may be of one key.
        bytes: Their size.
        retractions: Of the rows, those that take something back (``-U``, ``-D``).
        deleted_rows: Of the rows, those that deletion vectors delete.
        waiting_rows: Of the rows, those that no batch read shows before a compaction.
        buckets: Buckets that have files.
        partitions: Partitions that have files; 0 for a table without partition columns.
    """

    files: int = 0
    rows: int = 0
    bytes: int = 0
    retractions: int = 0
    deleted_rows: int = 0
    waiting_rows: int = 0
    buckets: int = 0
    partitions: int = 0


@dataclass(frozen=True)
class Level(Looks):
    """Files of one level of all buckets.

    Attributes:
        level: Its number.
        files: Data files.
        rows: Rows in them.
        bytes: Their size.
        runs: Sorted runs: each file of level 0 is one, and what a bucket has on a higher level. Files of tables without
            a primary key are not sorted: 0.
    """

    level: int
    files: int
    rows: int
    bytes: int
    runs: int


@dataclass(frozen=True)
class Bucket(Looks):
    """One bucket.

    Attributes:
        partition: Its partition, as ``$files`` shows it.
        bucket: Its number.
        files: Data files.
        rows: Rows in them.
        bytes: Their size.
        runs: Sorted runs, which a reader merges; 0 without a primary key.
        deleted_rows: Rows that deletion vectors delete.
        levels: Bytes of each level.
    """

    partition: str
    bucket: int
    files: int
    rows: int
    bytes: int
    runs: int
    deleted_rows: int = 0
    levels: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SizeClass(Looks):
    """Files of about the same size.

    Attributes:
        least_bytes: The smallest size of the class, a power of two; the largest is below twice that.
        files: Files that lie above level 0, or have no level.
        fresh: Files of level 0 of a table with a primary key.
    """

    least_bytes: int
    files: int
    fresh: int


@dataclass(frozen=True)
class PartitionClass(Looks):
    """Partitions of about the same age and size.

    Attributes:
        age: Which of :data:`siltstone.health.AGES` the time since their last write falls into.
        least_bytes: The smallest size of the class, a power of two; the largest is below twice that.
        partitions: How many.
        bytes: Their size, together.
    """

    age: int
    least_bytes: int
    partitions: int
    bytes: int


@dataclass(frozen=True)
class LargePartition(Looks):
    """One of the largest partitions.

    Attributes:
        partition: Its name, as ``dt=2026-11-20``.
        files: Data files.
        rows: Rows in them.
        bytes: Their size.
        last_update: When its newest file was written, with the zone of this machine.
    """

    partition: str
    files: int
    rows: int
    bytes: int
    last_update: dt.datetime | None


@dataclass(frozen=True)
class Moment(Looks):
    """A snapshot on the timeline.

    Attributes:
        snapshot: Its id.
        time: When it was committed.
        kind: APPEND, COMPACT, OVERWRITE or ANALYZE.
        rows: Rows in its files; None in very old snapshots.
        bytes: Their size; None where its files were not looked at.
        tags: Tags that name it.
    """

    snapshot: int
    time: dt.datetime
    kind: str
    rows: int | None
    bytes: int | None = None
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Keeper(Looks):
    """What keeps data files from being deleted.

    Attributes:
        kind: ``newest`` (the newest version), ``snapshots`` (all earlier ones), ``tag`` or ``branch``.
        name: Name of the tag or branch.
        snapshot: The snapshot; of a branch the newest; None where there is none.
        bytes: Size of its data files; None where they were not looked at.
        only_bytes: Size of those of them that no other keeper has; None where they were not looked at.
    """

    kind: str
    name: str
    snapshot: int | None
    bytes: int | None = None
    only_bytes: int | None = None


@dataclass(frozen=True)
class Advice(Looks):
    """What an operation would do now.

    Attributes:
        operation: ``compact``, ``full compaction``, ``expire snapshots`` or ``remove orphan files``.
        files: Files that it would read (compaction) or delete.
        bytes: Their size.
        win: What that is good for.
        command: How to run it.
        failure: Why it could not be planned; empty where it was.
    """

    operation: str
    files: int = 0
    bytes: int = 0
    win: str = ""
    command: str = ""
    failure: str = ""
