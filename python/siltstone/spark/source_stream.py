"""Streams of the data source: rows of a version and then changes as a source, one commit a batch as a sink."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamArrowWriter, DataSourceStreamReader, InputPartition

from siltstone._leftovers import delete_leftovers
from siltstone.errors import InvalidArgument, UnsupportedFeature
from siltstone.spark.parallelism import packed
from siltstone.spark.session import open_named
from siltstone.spark.source_reader import Reader, TokenPartition, scan_of
from siltstone.spark.source_writer import Messages, write_batches
from siltstone.spark.stream_offsets import Offset, Offsets

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import WriterCommitMessage

    from siltstone import Table

#: Where Spark tells a task which query it runs for.
_QUERY_ID = "sql.streaming.queryId"
#: Options of a stream's start that are looked at here; others of ``scan.`` mean nothing for a stream.
START_OPTIONS = ("scan.mode", "scan.snapshot-id", "scan.tag-name", "scan.timestamp-millis", "scan.timestamp")
_FULL, _LATEST = "latest-full", "latest"

_available_now: tuple[type, ...] = ()
try:  # since Spark 4.2
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

    _available_now = (SupportsTriggerAvailableNow,)
except ImportError:
    pass


class _StreamReader(DataSourceStreamReader):
    """Rows of a table as a stream.

    The first batch has all rows of the version that it ends with, or what :class:`Offsets` says was not read yet. Later
    batches have what the snapshots brought: the changelog where the table has one, else the rows that were appended.
    """

    def __init__(
        self,
        table: Table,
        columns: list[str],
        where: Any,
        start: dict[str, str],
        most_rows: int | None,
        consumer: str | None,
    ) -> None:
        """Keep what planning needs.

        Args:
            table: The table, or its ``$audit_log``, which has the kinds of rows.
            columns: Columns, in this order.
            where: What rows must satisfy.
            start: The ``scan.`` options that say where the stream begins.
            most_rows: Where a batch ends, at the end of the snapshot with which it has as many rows.
            consumer: A consumer that remembers how far the stream came.
        """
        self.table = table
        self.columns = columns
        self.where = where
        self.start = start
        self.most_rows = most_rows
        self.offsets = Offsets(table, consumer)
        self.last: int | None = None

    def initialOffset(self) -> Offset:  # noqa: N802  # Spark's name
        """Where a new query begins."""
        latest = self._latest()
        return self.offsets.resumed() or self.offsets.begun(self._begins(latest), latest)

    def _begins(self, latest: int) -> Offset:
        """Where a query without a consumer begins."""
        mode = self.start.get("scan.mode", "default")
        chosen = {key: value for key, value in self.start.items() if key != "scan.mode"}
        if len(chosen) > 1:
            raise InvalidArgument(f"a stream begins in one place, not in {' and '.join(chosen)}")
        if not chosen and mode in ("default", _FULL):
            return {"snapshot": 0, "full": 1}
        if not chosen and mode == _LATEST:
            return self.offsets.behind(latest)
        return self._chosen(mode, chosen)

    def _chosen(self, mode: str, chosen: dict[str, str]) -> Offset:
        """A place that options name: changes from there on, or all rows and then changes."""
        full = mode == "from-snapshot-full"
        if "scan.snapshot-id" in chosen:
            snapshot = int(chosen["scan.snapshot-id"])
        elif "scan.tag-name" in chosen:
            snapshot = self._rows_of.tags.get(chosen["scan.tag-name"]).id
        elif chosen and mode in ("default", "from-timestamp"):
            return self.offsets.behind(self._before(next(iter(chosen.values()))))
        else:
            raise UnsupportedFeature(
                f"scan.mode={mode} of a stream",
                hint="latest-full, latest, or scan.snapshot-id, scan.tag-name, scan.timestamp-millis",
            )
        # all rows of the version, which is looked up by its id, not by the end of the batch
        return {"snapshot": snapshot, "full": 1} if full else self.offsets.behind(snapshot - 1)

    def _before(self, moment: str) -> int:
        """The last snapshot before the first one at or after a time."""
        from siltstone._args import millis

        at = millis(int(moment) if moment.isdecimal() else moment)
        older = [s.id for s in self._rows_of.history(None) if s.raw["timeMillis"] < at]
        return max(older, default=0)

    @property
    def _rows_of(self) -> Table:
        """The table that an ``$audit_log`` is about."""
        import siltstone as st

        return st.open_table(self.table.location, branch=self.table.branch)

    def _latest(self) -> int:
        snapshot = self._rows_of.snapshot()
        return 0 if snapshot is None else snapshot.id

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's name
        """Let the query end with what is there now."""
        self.last = self._latest()

    def getDefaultReadLimit(self) -> Any:  # noqa: N802  # Spark's name
        """As the option says."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

        return ReadAllAvailable() if self.most_rows is None else ReadMaxRows(self.most_rows)

    def latestOffset(self, start: Offset | None = None, limit: Any = None) -> Offset:  # noqa: N802
        """Where the next batch ends."""
        latest = self._latest() if self.last is None else self.last
        most = getattr(limit, "max_rows", getattr(limit, "maxRows", None))
        if start is None:  # Spark 4.1
            return self.offsets.behind(latest) if latest else self.initialOffset()
        self.offsets.check(start)
        if start["full"] and start["snapshot"] and latest >= start["snapshot"]:
            return self.offsets.behind(start["snapshot"])
        if latest <= start["snapshot"]:
            return start
        end = latest
        if most is not None and not start["full"]:
            rows, end = 0, start["snapshot"]
            while end < latest and (rows == 0 or rows < most):
                end += 1
                rows += self._brought(end)
        return self.offsets.behind(end)

    def _brought(self, snapshot: int) -> int:
        found = self._rows_of.snapshot(snapshot)
        return 0 if found is None else max(0, found.delta_rows or 0)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """The splits of a batch: of versions that are the table's still, before and after they were planned."""
        self.offsets.check(start, end)
        planned = self._planned(start, end)
        self.offsets.check(start, end)
        return planned

    def _planned(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        if start["snapshot"] >= end["snapshot"] and not (start["full"] and end["snapshot"]):
            return []
        query: dict[str, Any] = {"filter": self.where, "version": None, "tag": None, "as_of": None, "mode": None}
        if start["full"]:
            query |= {"between": None, "pinned": end["snapshot"]}
        else:
            query |= {"between": (start["snapshot"], end["snapshot"])}
        groups = packed(self.table, scan_of(self.table, self.columns, query).splits(), None)
        return [TokenPartition([split.to_bytes() for split in group]) for group in groups]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The batches of a task's splits."""
        return Reader(self.table, self.columns, {}).read(partition)

    def commit(self, end: Offset) -> None:
        """Let the consumer remember how far the stream came."""
        self.offsets.passed(end)


#: The reader; since Spark 4.2 it can end with what is there when a query begins.
StreamReader: type[_StreamReader] = type("StreamReader", (_StreamReader, *_available_now), {"__module__": __name__})


@dataclasses.dataclass
class StreamMessages(Messages):
    """What one task of a batch wrote, and for which query."""

    query: str | None


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes files in tasks, and commits each batch once: by the query's id and the batch's."""

    def __init__(
        self, table: Table, overwrite: dict[str, Any] | None, row_kind: str | None, named: tuple[str, str] | None
    ) -> None:
        """Keep the table, what each batch replaces, and the table's name in its catalog where that has one."""
        self.table = table
        self.named = named
        self.schema_id = table.schema_id
        self.overwrite = overwrite
        self.row_kind = row_kind

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's batches."""
        from pyspark import TaskContext

        context = TaskContext.get()
        options = {**self.table.dynamic_options, "write-only": "true"}
        messages = write_batches(
            self.table,
            options,
            iterator,
            self.row_kind,
            overwrite=self.overwrite is not None,
            schema_id=self.schema_id,
        )
        return StreamMessages(messages, None if context is None else context.getLocalProperty(_QUERY_ID))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Publish a batch, unless that was done before."""
        of_tasks = [m for m in messages if isinstance(m, StreamMessages)]
        files = [b for m in of_tasks for b in m.messages]
        if not files and self.overwrite is None:
            return
        query = next((m.query for m in of_tasks if m.query), None)
        if query is None:
            raise UnsupportedFeature(
                "Spark does not tell its tasks which streaming query they run for: a batch that is repeated would be "
                "written twice",
                hint="use foreachBatch with siltstone.spark.write(df, table, commit_user=..., identifier=batch_id)",
            )
        # Spark may commit in another process than the one that has opened the table
        table = self.table if self.named is None else open_named(*self.named, self.table.dynamic_options)
        report = table.commit(files, commit_user=query, identifier=batchId, overwrite=self.overwrite)
        if report.already_committed:
            delete_leftovers(table, files)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803  # Spark's
        """Delete the files of the tasks that had finished."""
        self.table.abort([b for m in messages if isinstance(m, StreamMessages) for b in m.messages])
