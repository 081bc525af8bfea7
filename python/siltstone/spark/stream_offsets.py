"""Offsets of a stream: how far it came, said so that another process can tell whether that is the table's still."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from siltstone import _core

if TYPE_CHECKING:
    from siltstone import Table

Offset = dict[str, Any]


class Offsets:
    """Offsets of one table's streams.

    An offset is ``{"snapshot": 7, "full": 0, "checkpoint": {...}}``: everything up to the snapshot was read. The
    checkpoint tells the snapshot from another one that has its id later: after a rollback, a fast-forward, or in a
    table that was made in the place of this one. With ``full`` nothing was read, and the first batch has all rows of
    the version that it ends with; ``snapshot`` names that version, or is 0.
    """

    def __init__(self, table: Table, consumer: str | None) -> None:
        """Keep the table, and the consumer that remembers how far a stream came."""
        self._location, self._branch = table.location, table.branch
        self._consumer = consumer
        self._told: Offset | None = None

    @property
    def _table(self) -> _core.Table:
        """The table as it is now."""
        return _core.Table.open(self._location, {}, self._branch)

    def behind(self, snapshot: int) -> Offset:
        """The offset of a stream that has read everything up to a snapshot; for the same one the same."""
        if self._told is None or self._told["snapshot"] != snapshot:
            self._told = {"snapshot": snapshot, "full": 0, "checkpoint": json.loads(self._table.checkpoint(snapshot))}
        return self._told

    def check(self, *offsets: Offset) -> None:
        """What was read up to the offsets is the table's still, or has expired.

        Raises:
            SnapshotNotFound: A rollback or fast-forward has taken it back, or another table is in its place.
        """
        table = self._table
        for offset in offsets:
            if "checkpoint" in offset:
                table.check_checkpoint(json.dumps(offset["checkpoint"]))

    def resumed(self) -> Offset | None:
        """Where the consumer goes on: with all rows again where it has not read them to their end. None without one.

        Raises:
            SnapshotExpired: What it would read next is gone.
            SnapshotNotFound: What it has read was taken back by a rollback.
        """
        found = None if self._consumer is None else self._table.consumer_place(self._consumer)
        if found is None:
            return None
        next_snapshot, reads_state, read = found
        if reads_state:
            return {"snapshot": 0, "full": 1}
        if read is not None:
            self._told = {"snapshot": next_snapshot - 1, "full": 0, "checkpoint": json.loads(read)}
            return self._told
        offset = self.behind(next_snapshot - 1)
        self._table.consumer_place(str(self._consumer))  # what is behind may have changed since it was looked at
        return offset

    def begun(self, offset: Offset, latest: int) -> Offset:
        """Register the consumer of a stream that begins: what it has not read does not expire.

        Args:
            offset: Where it begins.
            latest: The newest snapshot; a first batch with all rows is of this one, or of a later one.
        """
        if self._consumer is not None:
            if offset["full"]:
                self._table.begin_consumer(self._consumer, offset["snapshot"] or max(latest, 1), None)
            else:
                behind = json.dumps(offset["checkpoint"])
                self._table.begin_consumer(self._consumer, offset["snapshot"] + 1, behind)
        return offset

    def passed(self, offset: Offset) -> None:
        """Let the consumer go on after what was read.

        Raises:
            SnapshotNotFound: That was taken back.
        """
        if self._consumer is not None and offset["snapshot"] and not offset["full"]:
            table = self._table
            said = offset.get("checkpoint")
            text = table.checkpoint(offset["snapshot"]) if said is None else json.dumps(said)
            table.consumer_passed(self._consumer, text)
