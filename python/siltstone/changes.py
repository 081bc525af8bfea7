"""Reading changes: what each snapshot brought, in order, with or without a memory of how far one came."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from siltstone import _core
from siltstone._args import Time, count, millis, shown, text
from siltstone._frames import objects_of
from siltstone._handle import Collection
from siltstone._looks import Listed, Looks
from siltstone._operation import operation
from siltstone._spellings import Hinted
from siltstone.errors import InvalidArgument

if TYPE_CHECKING:
    import pyarrow as pa

Start = str | Time
Between = tuple[int, int] | tuple[str, str] | tuple[dt.date, dt.date]


class ChangeBatch(Hinted):
    """Some changes of one snapshot: column ``rowkind`` (``+I -U +U -D``) first, then the table's columns.

    Arrow consumers take it as a record batch: ``pa.record_batch(batch)``, ``pl.DataFrame(batch)``.
    """

    __slots__ = ("_batch", "snapshot_id")

    def __init__(self, batch: pa.RecordBatch, snapshot_id: int) -> None:
        """Made by :meth:`siltstone.Table.changes`."""
        self._batch = batch
        self.snapshot_id = snapshot_id

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The rows as Arrow's schema and array capsules."""
        capsules: tuple[object, object] = self._batch.__arrow_c_array__(requested_schema)
        return capsules

    def __arrow_c_schema__(self) -> object:
        """The schema of the rows."""
        return self._batch.schema.__arrow_c_schema__()

    def __len__(self) -> int:
        """Number of rows."""
        rows: int = self._batch.num_rows
        return rows

    def to_arrow(self) -> pa.RecordBatch:
        """The rows as a pyarrow record batch."""
        return self._batch

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        return objects_of(self._batch)

    def __repr__(self) -> str:
        """Snapshot and rows."""
        return f"ChangeBatch(snapshot_id={self.snapshot_id}, rows={len(self)})"


def place(name: str, value: Start | None) -> tuple[str, int | None] | tuple[str, str, int | None] | None:
    """A start or end as the core takes it: a snapshot id, a time, or a text with the time that it says."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, str, dt.date)):
        raise InvalidArgument(f"{name}={shown(value)} is neither a snapshot id nor a tag nor a time")
    if isinstance(value, int):
        return ("snapshot", count(name, value, -(2**63)))
    if isinstance(value, dt.date):
        return ("time", millis(value))
    said = None
    with contextlib.suppress(InvalidArgument):
        said = millis(text(name, value))
    return ("text", text(name, value), said)


def between_argument(between: Any) -> tuple[str, Any, Any] | None:
    """``between`` as the core takes it: two snapshot ids, two tags, or two times."""
    if between is None:
        return None
    pair = list(between) if isinstance(between, Sequence) and not isinstance(between, (str, bytes)) else []
    if len(pair) != 2:  # noqa: PLR2004  # a start and an end
        raise InvalidArgument(f"between={shown(between)} is not a pair: give (start, end)")
    start, end = pair
    if any(isinstance(v, bool) for v in (start, end)):
        raise InvalidArgument(f"between={shown(between)} names no versions")
    if isinstance(start, int) and isinstance(end, int):
        return ("snapshots", count("between", start), count("between", end))
    if isinstance(start, dt.date) and isinstance(end, dt.date):
        return ("times", millis(start), millis(end))
    if isinstance(start, str) and isinstance(end, str):
        return ("names", text("between", start), text("between", end))
    if all(isinstance(v, (int, str)) for v in (start, end)):
        raise InvalidArgument(
            f"between={shown(between)} is a snapshot id and a text: give two tags or two snapshot ids"
        )
    raise InvalidArgument(f"between={shown(between)} is not two snapshot ids, two tags or two times")


def read_changes(stream: _core.Changes) -> Iterator[ChangeBatch]:
    """The batches of a stream. What has been handed out is remembered when the next batch is asked for."""
    from siltstone._pyarrow import pa

    while (progress := stream.progress()) is not None:
        snapshot, batches, wait = progress
        if batches is None or snapshot is None:
            stream.done()
            time.sleep((wait or 0) / 1000)
            continue
        try:
            for batch in batches:
                yield ChangeBatch(pa.record_batch(batch), snapshot)
        finally:
            batches.close()
        stream.done()
    stream.done()


@dataclasses.dataclass(frozen=True)
class Consumer(Looks):
    """How far a reader of changes has come."""

    id: str
    """Its name."""
    next_snapshot: int
    """The snapshot that it reads next; this and later ones do not expire."""
    modified: dt.datetime
    """When it last moved on."""


class Consumers(Collection):
    """The consumers of a table: ``t.consumers``.

    Example:
        >>> t = example_table()
        >>> for batch in t.changes(consumer="audit"):
        ...     pass
        >>> t.consumers.list()[0].next_snapshot
        2
        >>> t.consumers.delete("audit")
        True
    """

    def _held(self) -> list[str]:
        return [consumer.id for consumer in self.list()]

    def list(self) -> list[Consumer]:
        """All consumers, by id."""
        return Listed(
            Consumer(id=name, next_snapshot=next_id, modified=dt.datetime.fromtimestamp(at / 1000, dt.UTC))
            for name, next_id, at in self._table.consumers()
        )

    def reset(self, consumer: str, next_snapshot: int | None = None) -> None:
        """Let a consumer go on with a snapshot; it is made when it does not exist.

        Args:
            consumer: Its id.
            next_snapshot: The snapshot it reads next, or one whose long-lived changelog is left; None for the one after
                the latest.

        Raises:
            SnapshotNotFound: Its changes are not there; the hint names the nearest.
        """
        place = count("next_snapshot", next_snapshot, 1)
        with operation("reset_consumer", self._table) as done:
            self._table.reset_consumer(text("consumer", consumer), place)
            done(f"{consumer} goes on with {'what comes next' if place is None else f'snapshot {place}'}")

    def delete(self, consumer: str) -> bool:
        """Forget a consumer, so that snapshots it has not read may expire.

        Returns:
            Whether there was one.
        """
        with operation("delete_consumer", self._table) as done:
            found = self._table.delete_consumer(text("consumer", consumer))
            done(f"{consumer} is forgotten" if found else f"there is no {consumer}")
        return found
