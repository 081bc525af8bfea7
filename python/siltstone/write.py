"""Writing: a :class:`TableWrite` collects rows and commits them as one snapshot (and a compaction as another)."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from siltstone import _core
from siltstone._args import Size, count, directory, flag, optional_text, shown, size_bytes
from siltstone._data import arrow_stream
from siltstone._files import files_of
from siltstone._handle import Unpicklable, handed_out
from siltstone._operation import told
from siltstone._partitions import partition_spec
from siltstone._row_kinds import RowKinds, row_kinds
from siltstone.errors import InvalidArgument
from siltstone.report import CommitReport


class TableWrite(Unpicklable):
    """A writer. Use it as a context manager; what was not committed when it closes is deleted.

    Rows that nobody committed, prepared or discarded, when it closes without an error, give a ``UserWarning``.

    A write that raises may have taken a part of its rows. From then on the writer neither writes nor commits
    (:class:`siltstone.errors.WriteFailed`) until :meth:`discard` or :meth:`keep` says what becomes of them.
    Threads that share a writer wait for each other; Ctrl-C ends the wait, and a write that waited has failed then.

    Example:
        >>> t = example_table()
        >>> with t.writer() as w:
        ...     w.write([{"id": 9, "item": "cap"}])
        ...     report = w.commit()
        >>> report.rows
        1
    """

    _instead = "send what prepare_commit() returns, and commit it with Table.commit()"

    def __init__(
        self,
        table: _core.Table,
        *,
        commit_user: str | None = None,
        memory_limit: Size | None = None,
        spill_dir: str | None = None,
        overwrite: bool = False,
        held: bool = False,
    ) -> None:
        """Use :meth:`siltstone.Table.writer`."""
        self._table = table
        self._process, self._waiting, self._closed = os.getpid(), False, False
        limit = size_bytes("memory_limit", memory_limit)
        user, over = optional_text("commit_user", commit_user), flag("overwrite", overwrite)
        spill = None if spill_dir is None else directory("spill_dir", spill_dir)
        self._core = table.writer(commit_user=user, memory_limit=limit, spill_dir=spill, overwrite=over, held=held)

    def write(self, data: Any, row_kind: RowKinds | None = None) -> None:
        """Add rows.

        Whatever they come in, and at any depth, values are stored as they are or refused: nothing is cut, parsed or
        shifted. Columns of integers take integers, and floats and decimals without a fraction; DECIMAL takes integers
        and decimals, no floats; FLOAT and DOUBLE take floats and integers, no decimals. The column must hold the same
        number; only FLOAT takes the nearest to a float that it has. A datetime or Arrow timestamp without zone is UTC
        for a TIMESTAMP_LTZ column, and one with a zone does not fit a TIMESTAMP column. In pandas frames None, NaN, NaT
        and NA are null, and an index without a name is left out.

        Args:
            data: An Arrow object, a pandas or polars frame, a list of dicts, or the name of a file, of a directory, or
                a pattern such as ``"days/*.parquet"``; columns in any order. Each of several files is read by itself,
                with its own columns in its own types.
            row_kind: ``"+I" "-U" "+U" "-D"`` for all rows, or one per row. Where the table has ``rowkind.field``,
                the field wins. Append tables take ``"+I"`` only.

        Raises:
            SchemaMismatch: Unknown or missing columns, or types that do not convert without loss.
            NullInKey: A null in a key column or a NOT NULL column.
            LengthExceeded: A text or number that does not fit its column.
            InvalidRowKind: A row kind that does not exist.
            InvalidArgument: Not rows, or Arrow data that is broken.
            WriteFailed: An earlier write or commit failed.
        """
        try:
            kinds = row_kinds(row_kind, self._table)
            *parts, last = files_of(data)
            for part in parts:
                kinds = self._part(part, kinds)
            with arrow_stream(last, self._table) as stream:
                self._core.write(stream, kinds)
                has_rows = bool(parts) or getattr(stream, "num_rows", None) != 0
        except BaseException:
            self._waiting = False  # who saw the error, and closes, has forgotten nothing
            self._core.fail()
            raise
        self._waiting = self._waiting or has_rows

    def _part(self, data: Any, kinds: str | list[str] | None) -> str | list[str] | None:
        """Adds the rows of one file of several; the kinds of the rows that follow."""
        with arrow_stream(data, self._table) as stream:
            if not isinstance(kinds, list):
                self._core.write(stream, kinds)
                return kinds
            from siltstone._pyarrow import pa

            rows = pa.table(stream)  # how many there are is known at their end
            self._core.write(rows, kinds[: len(rows)])
            return kinds[len(rows) :]

    def discard(self) -> None:
        """Delete the rows that were not committed, and go on with a writer that holds none.

        After a commit that failed its files stay where they are, since it may have been published after all;
        ``t.maintenance.remove_orphan_files()`` deletes them when it was not.

        Example:
            >>> from siltstone.errors import SiltstoneError
            >>> t = example_table()
            >>> with t.writer() as w:
            ...     try:
            ...         w.write([{"id": "no number"}])
            ...     except SiltstoneError:
            ...         w.discard()
            ...     w.write([{"id": 9, "item": "cap"}])
            ...     report = w.commit()
            >>> report.rows
            1
        """
        self._waiting = False
        self._core.discard()

    def keep(self) -> None:
        """After a write that failed: keep the rows that were taken before the error, so that a commit publishes them.

        Which rows of a stream these are is for the caller to know: whole batches, in their order. The error of a
        commit before this call says how many.

        Raises:
            InvalidArgument: The writer itself failed, for example because its disk is full; only :meth:`discard` helps.
            WriteFailed: A commit failed: commit again, or discard.
        """
        self._core.keep()

    def compact(self, *, full: bool = False) -> None:
        """Compact the buckets written to, as part of the next commit."""
        self._core.compact(flag("full", full))

    def prepare_commit(self) -> list[bytes]:
        """Flush, and return one serialized message a bucket, for :meth:`siltstone.Table.commit` somewhere else.

        A message is Java's ``CommitMessage`` in an envelope: a checksum, and the table, branch and schema it is of.
        """
        self._waiting = False
        return handed_out(self._core)

    def commit(
        self, identifier: int | None = None, watermark: int | None = None, *, allow_empty: bool = False
    ) -> CommitReport:
        """Publish what was written.

        After a commit that failed, the same call with the same identifier publishes the same rows, or finds that they
        were published; the writer does nothing else before that or :meth:`discard`.

        Where rows are shown by a compaction (deletion vectors, ``first-row``, lookup changelogs) and another commit
        gets in the way of it, it is done again; ``notes`` says so.

        Args:
            identifier: Explicit identifiers are idempotent for one commit user: one that is not above the user's
                last is reported as committed already. None takes the next free one. ``2**63 - 1`` is Java's number for
                commits of batch jobs, which says nothing: it is committed each time.
            watermark: Event-time watermark, epoch milliseconds; it never goes back.
            allow_empty: Make a snapshot although nothing was written.

        Raises:
            WriteFailed: An earlier write failed, or an earlier commit with another identifier; say first what becomes
                of its rows.
            CommitConflict: Another commit changed what this one relies on; nothing was committed.
            CommitRetriesExhausted: Other writers won every race.
        """
        self._waiting = False
        number = count("identifier", identifier, -(2**63))
        mark, empty = count("watermark", watermark, -(2**63)), flag("allow_empty", allow_empty)
        return told("commit", self._table, self._core.commit, number, mark, empty)

    @property
    def commit_user(self) -> str:
        """The user of its commits."""
        return self._core.commit_user

    def close(self) -> None:
        """Delete what was not committed; a ``UserWarning`` says so, unless an exception is under way."""
        self._close(warns=sys.exc_info()[0] is None, stacklevel=5)

    def _close(self, *, warns: bool, stacklevel: int) -> None:
        forgotten, self._waiting, self._closed = self._waiting and warns, False, True
        self._core.close()
        if forgotten:
            self._warn(stacklevel)

    def _warn(self, stacklevel: int) -> None:
        said = f"a writer of {self._table.name} closed without commit(): rows that were written to it are dropped"
        if os.getpid() == self._process:  # a forked process drops a copy
            warnings.warn(f"{said}; discard() drops them without this warning", UserWarning, stacklevel)

    def __del__(self) -> None:
        """Warn of rows that were never committed."""
        if getattr(self, "_waiting", False):
            self._warn(3)

    def __repr__(self) -> str:
        """The table, and whether rows wait."""
        state = ": closed" if self._closed else ": rows wait for commit()" if self._waiting else ""
        return f"TableWrite({self._table.name!r}{state})"

    def __enter__(self) -> Self:
        """The writer itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self._close(warns=kind is None, stacklevel=4)


def commit_messages(
    table: _core.Table,
    messages: Iterable[bytes],
    *,
    commit_user: str | None = None,
    identifier: int | None = None,
    watermark: int | None = None,
    overwrite: Mapping[str, Any] | None = None,
) -> CommitReport:
    """Commit messages that writers or compaction tasks prepared elsewhere, as one commit.

    After a conflict their files stay, because another process may have the same messages: ``t.abort`` deletes them,
    when no other process can commit them any more, or the next removal of orphan files.

    Args:
        table: The table.
        messages: Serialized commit messages.
        commit_user: User of the commit; a new one when None.
        identifier: See :meth:`TableWrite.commit`.
        watermark: See :meth:`TableWrite.commit`.
        overwrite: What is replaced; None to add. ``{"partition": {"dt": "2026-11-20"}}``: these partitions (a partial
            spec is fine; the rows must belong to them). ``{"dynamic": True}``: the partitions in the messages; of a
            table without partitions everything. ``{"dynamic": False}``: the whole table.

    Raises:
        InvalidArgument: A message of another table or branch, or in Java's bytes, which have neither checksum nor
            table; one of ``writer(overwrite=True)`` without ``overwrite``; ``overwrite`` with other keys, or one that
            does not say what is replaced.
        CorruptFile: A message was damaged on its way.
        CommitConflict: Another commit changed what this one relies on; nothing was committed.
    """
    given = message_list(messages)
    user = optional_text("commit_user", commit_user)
    number = count("identifier", identifier, -(2**63))
    mark = count("watermark", watermark, -(2**63))
    replaced = _overwritten(table, overwrite)
    return told("commit", table, table.commit, given, user, number, mark, False, replaced)


def message_list(messages: Iterable[bytes]) -> list[bytes]:
    """Messages of an argument.

    Raises:
        InvalidArgument: For anything but a list of bytes.
    """
    if isinstance(messages, (bytes, str)) or not isinstance(messages, Iterable):
        raise InvalidArgument("messages must be a list of bytes")
    given = list(messages)
    if not all(isinstance(message, bytes) for message in given):
        raise InvalidArgument("messages must be a list of bytes")
    return given


def _overwritten(table: _core.Table, overwrite: Any) -> tuple[dict[str, str | None], bool] | None:
    """Partition spec and whether it is dynamic, of an overwrite that says what it replaces."""
    if overwrite is None:
        return None
    forms = "give {'partition': {...}}, {'dynamic': True} or, to replace the whole table, {'dynamic': False}"
    columns = ", ".join(table.partition_by)
    hint = f"{forms}; partition columns: {columns}" if columns else f"{forms}; the table is not partitioned"
    where = {"table": table.name}
    if not isinstance(overwrite, Mapping):
        raise InvalidArgument(f"overwrite={shown(overwrite)} is not a dict", hint=hint, context=where)
    for key in overwrite:
        if key not in ("partition", "dynamic"):
            raise InvalidArgument(
                f"overwrite={shown(overwrite)} has an unknown key {shown(key)}", hint=hint, context=where
            )
    spec, dynamic = partition_spec(overwrite.get("partition")), overwrite.get("dynamic")
    if dynamic is None and not spec:
        raise InvalidArgument(f"overwrite={shown(overwrite)} does not say what is replaced", hint=hint, context=where)
    return spec, dynamic is not None and flag("dynamic", dynamic)
