"""Procedures that take a table back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from siltstone._args import number
from siltstone.errors import InvalidArgument, SnapshotNotFound
from siltstone.procedures.model import Answer, Argument, procedure

if TYPE_CHECKING:
    from siltstone import Table

_BACK = "previous_snapshot_id BIGINT, current_snapshot_id BIGINT"


@procedure("rollback", Argument("version"), Argument("snapshot", int), Argument("tag"), schema=_BACK)
def rollback(table: Table, version: str | None = None, snapshot: int | None = None, tag: str | None = None) -> Answer:
    """Go back to a snapshot or tag; ``version`` is the id of a snapshot or the name of a tag."""
    given: list[dict[str, Any]] = [{"version": snapshot}] if snapshot is not None else []
    given += [{"tag": tag}] if tag is not None else []
    if version is not None:
        given.append({"version": number(version)} if version.isdecimal() else {"tag": version})
    if len(given) != 1:
        raise InvalidArgument("sys.rollback needs one of 'version', 'snapshot' and 'tag'")
    return _rolled_back(table, **given[0])


@procedure("rollback_to_timestamp", Argument("timestamp", int, required=True), schema=_BACK)
def rollback_to_timestamp(table: Table, timestamp: int) -> Answer:
    """Go back to the latest snapshot at or before a time, in epoch milliseconds."""
    return _rolled_back(table, as_of=timestamp)


@procedure("rollback_to_watermark", Argument("watermark", int, required=True), schema=_BACK)
def rollback_to_watermark(table: Table, watermark: int) -> Answer:
    """Go back to the latest snapshot whose watermark is at or before one.

    Raises:
        SnapshotNotFound: There is none.
    """
    for snapshot in table.history(None):
        if snapshot.watermark is not None and snapshot.watermark <= watermark:
            return _rolled_back(table, version=snapshot.id)
    raise SnapshotNotFound(f"no snapshot has a watermark at or before {watermark}", context={"table": table.name})


def _rolled_back(table: Table, **target: Any) -> Answer:
    report = table.rollback(**target)
    return Answer([(report.details["previous_snapshot"], report.details["current_snapshot"])], report.notes)
