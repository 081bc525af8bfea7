"""Snapshots and tags, as plain values that print well and pickle; the extension makes them (``report.rs``)."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, TypedDict

from siltstone._looks import Looks
from siltstone._spellings import Hinted


@dataclass(frozen=True)
class Snapshot(Looks, Hinted):
    """A version of a table (format chapter 3; Java ``Snapshot``).

    Attributes:
        id: Number of the snapshot, from 1.
        time: When it was committed, with zone UTC.
        kind: APPEND, COMPACT, OVERWRITE or ANALYZE.
        user: Commit user.
        identifier: Commit identifier of that user.
        schema_id: The table's schema when it was committed.
        total_rows: Rows in all live files, before merging; None in very old snapshots.
        delta_rows: Rows added less rows removed by this snapshot.
        changelog_rows: Rows of its changelog, when there is one.
        watermark: Event-time watermark, epoch milliseconds.
        raw: The JSON object of the snapshot file.
    """

    id: int
    time: dt.datetime
    kind: str
    user: str
    identifier: int
    schema_id: int
    total_rows: int | None
    delta_rows: int | None
    changelog_rows: int | None
    watermark: int | None
    raw: dict[str, Any] = field(repr=False, compare=False)

    def _short(self) -> str:
        return f"{self.id} ({self.kind})"


class FileEntry(TypedDict):
    """A live data file of a version: one of :meth:`siltstone.Table.files`."""

    partition: str
    bucket: int
    level: int
    name: str
    rows: int
    deleted_rows: int | None
    bytes: int
    schema_id: int
    min_key: list[str | None] | None
    max_key: list[str | None] | None
    min_sequence_number: int
    max_sequence_number: int
    path: str


@dataclass(frozen=True)
class Tag(Looks):
    """A named snapshot.

    Attributes:
        name: The name.
        snapshot: The snapshot that it keeps.
        create_time: When it was made, with zone UTC; only tags with a retention know it. Their files have it as local
            time of the machine that made them, which is taken for the local time here.
        time_retained: How long it is kept from then on; None until it is deleted.
    """

    name: str
    snapshot: Snapshot
    create_time: dt.datetime | None
    time_retained: dt.timedelta | None

    @property
    def id(self) -> int:
        """Id of the snapshot."""
        return self.snapshot.id

    @property
    def tag_name(self) -> str:
        """The name, as the column of ``$tags`` is called."""
        return self.name

    @property
    def tagged_snapshot_id(self) -> int:
        """Id of the snapshot."""
        return self.snapshot.id

    @property
    def schema_id(self) -> int:
        """Schema of the snapshot."""
        return self.snapshot.schema_id

    @property
    def commit_time(self) -> dt.datetime:
        """When the snapshot was committed."""
        return self.snapshot.time

    @property
    def record_count(self) -> int | None:
        """Rows in the snapshot's files, before merging."""
        return self.snapshot.total_rows
