"""What one reads of a table: its rows, its changes, and what it says about itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from siltstone._args import Size, Time, flag, optional_text
from siltstone._spellings import known_as
from siltstone.changes import Between, ChangeBatch, Start, place, read_changes
from siltstone.inspection import inspect
from siltstone.predicate import Expression
from siltstone.scan import Scan, scan_request
from siltstone.table.definition import Definition


class Reading(Definition):
    """The methods of :class:`siltstone.Table` that read."""

    def _rows(
        self,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: A002
        limit: int | None = None,
    ) -> Scan:
        return self.scan(columns, filter, limit=limit)

    @known_as(
        where="filter=...",
        predicate="filter=...",
        projection="columns=...",
        select="columns=...",
        snapshot_id="version=...",
        timestamp="as_of=...",
        options="st.open_table(path, options=...), or cat.table(name, options=...)",
    )
    def scan(  # noqa: PLR0913  # one argument for each part of a query
        self,
        columns: Sequence[str] | None = None,
        filter: str | Expression | None = None,  # noqa: A002  # the API's name
        *,
        version: int | str | None = None,
        tag: str | None = None,
        as_of: Time | None = None,
        between: Between | None = None,
        limit: int | None = None,
        mode: str | None = None,
        row_kind: bool = False,
        batch_size: int | None = None,
        memory_limit: Size | None = None,
        threads: int | None = None,
    ) -> Scan:
        """Describe a read. Nothing is read before rows are asked for.

        Args:
            columns: Columns to return, in this order; None for all. ``"a.b.c"`` is a field of rows: a column of that
                name, read without the rest of ``a``, and null where a row around it is. Conditions name whole columns.
            filter: SQL text such as ``"dt = '2026-11-20' AND amount > 10"``, or an expression of :func:`siltstone.col`.
            version: Snapshot id, or a text: a tag's name, else a snapshot id.
            tag: Tag name.
            as_of: The latest snapshot committed at or before this time.
            between: Changes after one version up to another: two snapshot ids, tags or times. Rows that were deleted or
                replaced (``-D``, ``-U``) come only with ``row_kind``, and never from a ``"diff"``.
            limit: At most this many rows.
            mode: How to read ``between``: ``"delta"``, the rows that were appended, as their commits wrote them (of an
                aggregation table what is to be added, not the sums); ``"changelog"``; ``"diff"``, the rows of the end
                that the start has not in the same way: with the same values and row kind, so that a row that was
                written again as ``+U`` is one of them (rows that are gone are in ``inspect("audit_log", between=...,
                mode="diff")``, as ``-D``); None or ``"auto"``: the changelog where the table has one, else the delta;
                tags are compared as with ``"diff"``. As in Java, a difference leaves out the files that both versions
                have: where values are merged (``aggregation``, ``partial-update``), it shows what the others merge to.
            row_kind: Add the column ``rowkind`` (``+I -U +U -D``) in front.
            batch_size: Rows of a batch, at most.
            memory_limit: Memory for decoding and merging: it bounds threads, rows of a batch and runs of a merge, but
                not what each column of an open Parquet file takes, from about 130 KB to some MB.
            threads: Threads to use; None for all cores.

        Raises:
            InvalidArgument: Unknown column, bad predicate, more than one version.
            SnapshotNotFound: No such version; the message names those there are.
            UnsupportedFeature: The table needs something that is not implemented.
        """
        request = scan_request(
            columns,
            filter,
            version=version,
            tag=tag,
            as_of=as_of,
            between=between,
            limit=limit,
            mode=mode,
            row_kind=row_kind,
            batch_size=batch_size,
            memory_limit=memory_limit,
            threads=threads,
        )
        return Scan(self._core.location, self._core.branch, self._core.dynamic_options, request)

    def inspect(  # noqa: PLR0913  # one argument for each part of a query
        self,
        name: str,
        columns: Sequence[str] | None = None,
        filter: str | Expression | None = None,  # noqa: A002  # the API's name
        *,
        version: int | str | None = None,
        tag: str | None = None,
        as_of: Time | None = None,
        between: Between | None = None,
        limit: int | None = None,
        mode: str | None = None,
        batch_size: int | None = None,
        memory_limit: Size | None = None,
        threads: int | None = None,
    ) -> Scan:
        """Describe a read of a system table; ``cat.table("db.t$snapshots")`` is the same.

        Args:
            name: ``snapshots``, ``schemas``, ``options``, ``manifests``, ``files``, ``file_key_ranges``, ``tags``,
                ``branches``, ``consumers``, ``partitions``, ``buckets``, ``aggregation_fields``, ``statistics``,
                ``table_indexes``, ``file_indexes``; or the table's rows as ``audit_log`` (with their kinds, deletes
                included), ``binlog`` (an update is one row of arrays), ``ro`` (only the highest level, no merging) or
                ``row_tracking`` (with ``_ROW_ID`` and ``_SEQUENCE_NUMBER``, the snapshot that made the row what it is).
            columns: Columns to return, in this order; None for all.
            filter: As for :meth:`scan`, over the system table's columns.
            version: Snapshot id, or a text: a tag's name, else a snapshot id; for tables that look at one snapshot.
            tag: Tag name.
            as_of: The latest snapshot committed at or before this time.
            between: ``audit_log`` and ``binlog``: changes between two versions, deletes included.
            limit: At most this many rows.
            mode: How to read ``between``.
            batch_size: Rows of a batch, at most.
            memory_limit: Memory for decoding and merging: it bounds threads, rows of a batch and runs of a merge, but
                not what each column of an open Parquet file takes, from about 130 KB to some MB.
            threads: Threads to use; None for all cores.

        Raises:
            TableNotFound: There is no such system table.
            InvalidArgument: Unknown column, bad predicate, changes of a table that has none, or ids of rows that have
                none.

        Example:
            >>> example_table().inspect("snapshots", ["snapshot_id", "commit_kind"]).to_arrow().to_pylist()
            [{'snapshot_id': 1, 'commit_kind': 'APPEND'}]
        """
        return inspect(
            self._core,
            name,
            columns,
            filter,
            version=version,
            tag=tag,
            as_of=as_of,
            between=between,
            limit=limit,
            mode=mode,
            row_kind=False,
            batch_size=batch_size,
            memory_limit=memory_limit,
            threads=threads,
        )

    def changes(  # one argument for each part of a stream
        self,
        start: Start | None = None,
        end: Start | None = None,
        *,
        consumer: str | None = None,
        follow: bool = False,
        columns: Sequence[str] | None = None,
        filter: str | Expression | None = None,  # noqa: A002  # the API's name
        batch_size: int | None = None,
        memory_limit: Size | None = None,
        threads: int | None = None,
    ) -> Iterator[ChangeBatch]:
        """What each snapshot brought, one snapshot after another: its changelog, or without one its new rows.

        Args:
            start: The first snapshot whose changes are read: an id, a tag, or a time (the first snapshot since then); a
                text is a tag, else a time, else an id. ``"full"``: all rows of the latest snapshot, then changes. None:
                as the ``scan.*`` options say, without any the earliest snapshot.
            end: The last one: an id, a tag, or a time (the last snapshot until then). None: the latest now, or never
                with ``follow``.
            consumer: Go on where the consumer of this name stopped, and remember how far it came, each time the next
                batch is asked for after the last one of a snapshot. ``start`` counts only the first time.
            follow: Wait for new snapshots (``continuous.discovery-interval``).
            columns: Columns besides ``rowkind``; None for all.
            filter: As for :meth:`scan`.
            batch_size: Rows of a batch, at most.
            memory_limit: Memory for decoding rows: as for :meth:`scan`.
            threads: Threads to use; None for all cores.

        Raises:
            SnapshotExpired: The start has expired; the hint names the nearest that is left.
            TagNotFound: No such tag.
            SchemaMismatch: A column that is read got another type since the table was opened; raised by the iterator.

        Example:
            >>> for batch in example_table().changes():
            ...     print(batch.snapshot_id, batch.to_pylist()[0])
            1 {'rowkind': '+I', 'id': 1, 'item': 'pen'}
        """
        request = scan_request(columns, filter, batch_size=batch_size, memory_limit=memory_limit, threads=threads)
        stream = self._core.changes(
            request,
            start=place("start", start),
            end=place("end", end),
            consumer=optional_text("consumer", consumer),
            follow=flag("follow", follow),
        )
        return read_changes(stream)
