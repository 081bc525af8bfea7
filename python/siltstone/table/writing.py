"""What one writes to a table: rows, and messages that writers elsewhere have prepared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from siltstone._args import Size, flag
from siltstone._arrow import is_held
from siltstone._computed import new_values
from siltstone._data import arrow_stream
from siltstone._looks import Listed
from siltstone._operation import operation, told
from siltstone._partitions import partition_list, partition_spec
from siltstone._row_kinds import RowKinds
from siltstone.errors import InvalidArgument
from siltstone.predicate import Expression, condition_of
from siltstone.report import CommitReport, Feature
from siltstone.table.definition import Definition
from siltstone.table.overwriting import overwritten
from siltstone.write import TableWrite, commit_messages, message_list

if TYPE_CHECKING:
    import pyarrow as pa


class Writing(Definition):
    """The methods of :class:`siltstone.Table` that change rows."""

    def append(self, data: Any, row_kind: RowKinds | None = None) -> CommitReport:
        """Add rows as one commit; see :meth:`siltstone.write.TableWrite.write`."""
        return self._added("append", data, row_kind)

    def _added(self, name: str, data: Any, row_kind: RowKinds | None = None) -> CommitReport:
        with operation(name, self._core, unit="rows") as done, TableWrite(self._core, held=is_held(data)) as w:
            w.write(data, row_kind)
            return done(w.commit())

    def upsert(self, data: Any) -> CommitReport:
        """Insert rows or replace those with the same primary key, as one commit.

        Raises:
            InvalidArgument: The table has no primary key.
        """
        if not self.primary_key:
            raise InvalidArgument(f"{self.name} has no primary key: use append", context={"table": self.name})
        return self._added("upsert", data)

    def delete(self, where: str | Expression | None = None, *, keys: Any = None) -> CommitReport:
        """Delete rows, as one commit; give a condition or keys.

        Append tables with ``deletion-vectors.enabled`` mark the rows, others rewrite the files that hold them.
        Primary-key tables write the rows again as ``-D``. A condition on partition columns alone drops the partitions,
        whatever the merge engine; only where the table has a changelog and its engine takes deletes, the rows are
        written as ``-D``, so that the changelog has them. With ``data-evolution.enabled`` rows are not deleted one by
        one. Rows that ``scan.fallback-branch`` brings in are not of this
        branch and stay: open the table on that branch.

        Args:
            where: Condition that the rows satisfy, as for :meth:`scan`.
            keys: Rows with the columns of the primary key, as for :meth:`get`; others are ignored.

        Returns:
            The report; ``affected_rows`` is how many rows were found; with ``keys``, keys without a row may count, too.

        Raises:
            DeleteNotAllowed: The merge engine cannot take a delete; the hint names the option that allows it.
            UnsupportedFeature: Rows of a table with data evolution, but for whole partitions.
            CommitConflict: Other commits changed the same files again and again, or the table was altered since it
                was opened, and columns of these rows would be lost or values changed.

        Example:
            >>> t = example_table()
            >>> t.delete(where="id = 1").affected_rows
            1
            >>> t.delete(keys=[{"id": 2}]).affected_rows
            1
        """
        if (where is None) == (keys is None):
            raise InvalidArgument("give either where or keys; truncate() removes all rows")
        if keys is not None:
            rows = self._key_rows(keys) if self.primary_key else keys
            with operation("delete", self._core, unit="rows") as done, arrow_stream(rows, self._core) as stream:
                return done(self._core.delete_keys(stream))
        return told("delete", self._core, self._core.modify, condition_of(where, "where"), {})

    def update(self, set: Mapping[str, Any], where: str | Expression) -> CommitReport:  # noqa: A002  # SQL's word
        """Give columns new values in the rows that satisfy a condition, as one commit.

        Rows keep their ids (``row-tracking.enabled``). With ``data-evolution.enabled`` only the columns with new values
        are written, into files beside those that have the rows. Rows that ``scan.fallback-branch`` brings in are not of
        this branch and stay as they are.

        Args:
            set: New values by column. A text is a SQL expression over the old row: ``{"status": "'done'", "amount":
                "amount * 2"}``; so is what :func:`siltstone.col` and :func:`siltstone.lit` make. Anything else is the
                value itself: ``{"amount": 5, "day": None}``. SQL has literals, columns, ``+ - * / DIV % ||``, ``CASE
                WHEN``, ``COALESCE``, ``UPPER`` and ``LOWER``. Numbers are computed
                with as in Spark SQL: 7 is an INT, 1.5 a DECIMAL, 15e-1 a DOUBLE; ``/`` keeps the fraction and is a
                DOUBLE, or a DECIMAL where a side is one; ``DIV`` leaves the fraction out. No digit goes without an
                error, as in a write: 7 / 2 is no INT, and a DOUBLE no DECIMAL (``v / 2.0`` is). Beside ``||`` and in
                ``UPPER`` a value has the text that it has when its column becomes STRING; a nested one has none.
            where: Condition that the rows satisfy, as for :meth:`scan`.

        Returns:
            The report; ``affected_rows`` is how many rows were found.

        Raises:
            InvalidArgument: A column of the primary key, a partition column of a table with data evolution, an
                expression that cannot be computed (a division by zero, an overflow), or a merge engine that merges new
                values instead of replacing the old ones.
            SchemaMismatch, LengthExceeded: A value that its column cannot hold, as in a write.
            CommitConflict: Other commits changed the same files again and again, or the table was altered since it
                was opened, and columns of these rows would be lost or values changed.

        Example:
            >>> t = example_table()
            >>> t.update({"item": "upper(item)"}, where="id = 1").affected_rows
            1
        """
        given = new_values("set", set)
        _refuse_twice(given, self)
        return told("update", self._core, self._core.modify, condition_of(where, "where"), given)

    def overwrite(
        self, data: Any, partition: Mapping[str, Any] | None = None, *, dynamic: bool | None = None
    ) -> CommitReport:
        """Replace partitions, or the whole table, by ``data`` as one commit.

        Args:
            data: Rows, as for :meth:`append`.
            partition: Replace these partitions (a partial spec is fine); all rows must belong to them. ``{}`` or None
                with ``dynamic=False`` replaces everything.
            dynamic: Replace only the partitions that occur in ``data``. None: the option
                ``dynamic-partition-overwrite`` (default true) when no partition is given.

        Raises:
            InvalidArgument: A column that is no partition column, a value that it cannot have, or rows of other
                partitions.
        """
        spec, chosen = partition_spec(partition), None if dynamic is None else flag("dynamic", dynamic)
        return overwritten(self._core, data, spec, dynamic=chosen)

    def truncate(
        self,
        partitions: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        *,
        dry_run: bool = False,
    ) -> CommitReport:
        """Remove all rows, or those of some partitions, as one OVERWRITE commit.

        Args:
            partitions: Partition specs, partial ones included; None for the whole table.
            dry_run: Only report the files and rows that would go.

        Raises:
            InvalidArgument: An empty list or spec, a column that is no partition column, or a value it cannot have.
        """
        with operation("truncate", self._core, is_read=flag("dry_run", dry_run)) as done:
            return done(self._core.truncate(partition_list(partitions), dry_run))

    def writer(
        self,
        *,
        commit_user: str | None = None,
        memory_limit: Size | None = None,
        spill_dir: str | None = None,
        overwrite: bool = False,
    ) -> TableWrite:
        """A writer for several batches and commits; what it has not committed when it closes is dropped, and warned of.

        Args:
            commit_user: Name under which it commits; a new one when None.
            memory_limit: Memory for rows that wait, sorting them and merging what was spilled (one half), and for
                encoding them (the other half, but at least 4 MiB of each open file). The rows of one ``write()`` call
                and what a compaction merges (a share of the limit) come on top. Without it the option
                ``write-buffer-size`` bounds the rows that wait, and nothing else.
            spill_dir: Directory for spilled runs; default the system's temporary directory.
            overwrite: The messages of :meth:`siltstone.write.TableWrite.prepare_commit` will be committed by
                ``commit(messages, overwrite=...)``: existing files are not looked at. Another commit refuses them.
        """
        return TableWrite(
            self._core,
            commit_user=commit_user,
            memory_limit=memory_limit,
            spill_dir=spill_dir,
            overwrite=overwrite,
        )

    @property
    def bucket_mode(self) -> str:
        """How rows come into buckets.

        ``fixed`` (a number of buckets), ``dynamic`` (a primary-key table without one: an index of all keys says which
        bucket each is in), ``unaware`` (an append table without one), ``cross-partition`` (as dynamic, with a primary
        key that leaves a partition column out: rows move between partitions) or ``postponed`` (``'bucket' = '-2'``:
        rows wait, and no reader shows them, until :meth:`Table.compact` gives them buckets).

        Example:
            >>> example_table().bucket_mode
            'fixed'
        """
        return self._core.bucket_mode

    def explain(self) -> str:
        """The table in words: its newest version, its keys, and how rows come into buckets.

        Example:
            >>> print(example_table().explain())
            table       shop.orders
            version     snapshot 1, schema 0
            primary key id
            partitions  none
            buckets     fixed: 1 by id
        """
        return self._core.explain()

    def features(self) -> list[Feature]:
        """What of Paimon the newest version uses, and whether that is read and written; what is refused comes first.

        A table that is refused for reading can be asked, too.

        Example:
            >>> [(f.name, f.value) for f in example_table().features()][:2]
            [('buckets', 'fixed: 1 by id'), ('merge engine', 'deduplicate')]
        """
        return Listed(self._core.features())

    @property
    def routing_columns(self) -> list[str]:
        """Columns that decide a row's bucket: partition and bucket keys; none where any writer may take it."""
        return self._core.routing_columns

    def routes(self, data: Any) -> pa.Array:
        """For each row a number that is equal for rows of one (partition, bucket); for engines that cluster rows.

        Args:
            data: Rows with the :attr:`routing_columns`; others are ignored.

        Returns:
            int32, not negative. On tables without partitions it is the bucket.
        """
        from siltstone._pyarrow import pa

        with arrow_stream(data, self._core) as stream:
            return pa.array(self._core.routes(stream), pa.int32())

    def commit(
        self,
        messages: Iterable[bytes],
        *,
        commit_user: str | None = None,
        identifier: int | None = None,
        watermark: int | None = None,
        overwrite: Mapping[str, Any] | None = None,
    ) -> CommitReport:
        """Commit messages that writers prepared elsewhere; see :func:`siltstone.write.commit_messages`.

        Example:
            >>> t = example_table()
            >>> with t.writer() as w:
            ...     w.write([{"id": 9, "item": "cap"}])
            ...     messages = w.prepare_commit()
            >>> t.commit(messages).rows
            1
        """
        return commit_messages(
            self._core,
            messages,
            commit_user=commit_user,
            identifier=identifier,
            watermark=watermark,
            overwrite=overwrite,
        )

    def abort(self, messages: Iterable[bytes]) -> None:
        """Delete the files of messages that will not be committed.

        Files that a snapshot refers to stay, whichever process committed them. Call it only when no other process can
        commit the messages any more: a commit that begins before the files are deleted may be reported although they
        are gone.
        While versions, tags or branches are removed it is not known which files stay: it waits as long as the option
        ``siltstone.upkeep-lock-timeout`` says.

        Raises:
            InvalidArgument: A message of another table or branch.
            UpkeepRunning: An expiry, a rollback or another operation that removes versions did not end in that time;
                nothing was deleted.
            CorruptFile: A message was damaged on its way.
        """
        self._core.abort(message_list(messages))


def _refuse_twice(assigned: Iterable[str], table: Definition) -> None:
    """Names without case mean one column, unless each of them is a column as it is written."""
    seen: dict[str, str] = {}
    for name in assigned:
        other = seen.setdefault(name.lower(), name)
        if other != name and not {other, name} <= {*table.schema.names}:
            raise InvalidArgument(f"set gives one column two values: '{other}' and '{name}' differ only in case")
