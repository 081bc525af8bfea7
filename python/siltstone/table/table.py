"""A table: its definition, its versions, and everything one does with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from siltstone import _core
from siltstone._args import Duration, Time, count, flag, millis, optional_text, version_of
from siltstone._looks import Listed
from siltstone._operation import operation, told
from siltstone._partitions import partition_list
from siltstone._pyarrow import has_pyarrow
from siltstone._spellings import Hinted, known_as
from siltstone.alter import Alter
from siltstone.branches import Branches
from siltstone.changes import Consumers
from siltstone.compaction import CompactionPlan
from siltstone.errors import InvalidArgument
from siltstone.maintenance import Maintenance
from siltstone.predicate import Expression, condition_of
from siltstone.report import CommitReport, CompactionReport, UpkeepReport
from siltstone.shared import SharedWrites
from siltstone.table.looks import html_of_table, rich_of_table
from siltstone.table.merging import Merging
from siltstone.table.parts import Parts
from siltstone.table.whole import Whole
from siltstone.table.writing import Writing
from siltstone.tags import Tags
from siltstone.versions import FileEntry, Snapshot

#: More than there can be of anything.
_ALL = 2**63 - 1
#: Letters of columns that a table's own text shows.
_SHOWN = 200


class Table(Parts, Whole, Merging, Writing, Hinted):
    """A Paimon table. Cheap to make and to copy; definitions are read again after :meth:`alter`.

    When another process alters the table, this object keeps the columns that it was opened with: rows are written with
    them, and what would lose or cut values of newer rows, or merge rows by a rule that is not the table's any more, is
    refused or given up (:meth:`update`, :meth:`delete`, :meth:`compact`, :meth:`changes`). Open the table again then.

    Example:
        >>> t = example_table()
        >>> t.primary_key
        ['id']
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as location, dynamic options and branch."""
        return _open, (self.location, self.dynamic_options, self.branch)

    def __repr__(self) -> str:
        """Name, columns, keys and place."""
        parts = [f"Table({self.name!r}"]
        if has_pyarrow():
            columns = ", ".join(f"{field.name}: {field.type}" for field in self.schema)
            parts.append(columns if len(columns) <= _SHOWN else f"{columns[:_SHOWN]}...")
        if self.primary_key:
            parts.append(f"primary_key={self.primary_key}")
        if self.partition_by:
            parts.append(f"partition_by={self.partition_by}")
        return ", ".join([*parts, repr(self.path)]) + ")"

    def _repr_html_(self) -> str:
        return html_of_table(self)

    def __rich__(self) -> Any:
        """The table for a terminal."""
        return rich_of_table(self)

    @property
    def tags(self) -> Tags:
        """The table's tags."""
        return Tags(self._core)

    @property
    def branches(self) -> Branches:
        """The table's branches."""
        return Branches(self._core)

    @property
    def shared_writes(self) -> SharedWrites:
        """Writing a table with dynamic buckets in several processes."""
        return SharedWrites(self._core)

    @property
    def consumers(self) -> Consumers:
        """Readers of changes that the table remembers."""
        return Consumers(self._core)

    @property
    def maintenance(self) -> Maintenance:
        """Maintenance of the table: compaction and manifests."""
        return Maintenance(self._core)

    # ---- versions

    def snapshot(self, version: int | None = None) -> Snapshot | None:
        """The latest snapshot (None for an empty table), or the one with this id.

        Raises:
            SnapshotNotFound: There is no such snapshot; the message names those there are.
        """
        return self._core.snapshot(count("version", version))

    def history(self, limit: int | None = 20) -> list[Snapshot]:
        """The newest snapshots, newest first; with None all of them. A damaged one is left out, with a warning."""
        given = count("limit", limit)
        return Listed(self._core.history(_ALL if given is None else given))

    # ---- maintenance

    def compact(
        self,
        plan: CompactionPlan | None = None,
        *,
        full: bool = False,
        where: str | Expression | None = None,
        partitions: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        idle: Duration | None = None,
        order_by: str | Sequence[str] | None = None,
        strategy: str | None = None,
        progress: bool = False,
        commit_every: int | None = None,
    ) -> CompactionReport:
        """Compact the table; see :meth:`siltstone.maintenance.Maintenance.compact`.

        Example:
            >>> cat = st.connect(tmp)
            >>> cat.create_database("shop")
            >>> t = cat.create_table("shop.trips", {"x": "INT", "y": "INT"})
            >>> t.append([{"x": 3, "y": 1}, {"x": 1, "y": 2}]).rows
            2
            >>> t.compact(order_by=["x", "y"], strategy="zorder").snapshot.kind
            'COMPACT'
            >>> t.scan(["x"]).to_pylist()
            [{'x': 1}, {'x': 3}]
        """
        which: dict[str, Any] = {"where": where, "partitions": partitions, "idle": idle}
        how: dict[str, Any] = {"full": full, "order_by": order_by, "strategy": strategy}
        return self.maintenance.compact(plan, **which, **how, progress=progress, commit_every=commit_every)

    def rescale(
        self,
        buckets: int | None = None,
        partition: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        *,
        where: str | Expression | None = None,
        dry_run: bool = False,
    ) -> CommitReport:
        """Give the table, or some partitions, another number of buckets, as one OVERWRITE commit.

        The rows are written anew; those that wait for buckets stay where they are. What others write to the partitions
        meanwhile is not lost: it is done again then. Of a whole table with fixed buckets the option ``bucket`` gets the
        number first, and new rows go into as many; rows for partitions of another number than the option are refused.

        Args:
            buckets: Buckets of each partition; None: as the option ``bucket`` says.
            partition: Only these partitions, partial specs included.
            where: Only partitions that satisfy this predicate over partition columns.
            dry_run: Only say what would be done, in ``notes``, and how much would be written anew.

        Raises:
            InvalidArgument: A table whose buckets are not of a fixed number, or a number below 1; rows of which a
                compaction is to tell the changelog first.
            CommitConflict: Others wrote to the same partitions again and again; no row was changed.

        Example:
            >>> t = example_table()
            >>> t.rescale(2, dry_run=True).notes[-1]
            'the table would get 2 buckets instead of 1'
            >>> t.rescale(2).snapshot.kind
            'OVERWRITE'
        """
        number = count("buckets", buckets, 1)
        if number is not None and number >= 2**31:
            raise InvalidArgument(f"buckets={number} is more than 2147483647", context={"table": self.name})
        condition, given, is_plan = condition_of(where, "where"), partition_list(partition), flag("dry_run", dry_run)
        with operation("rescale", self._core, is_read=is_plan) as done:
            return done(self._core.rescale(number, condition, given, is_plan))

    def rewrite_file_index(
        self, partition: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> CommitReport:
        """Give data files the indexes that the options ask for now, as one COMPACT commit that writes no rows.

        Files of tables without such options lose their indexes. Columns that a file has with another type get none.
        Files stay as they are whose rows deletion vectors delete (tables without a primary key), that wait for a bucket
        (postponed buckets), or whose order among those of other jobs tells which of equal rows is read (a compaction
        gives these their indexes); ``notes`` counts them.

        Args:
            partition: Only these partitions, partial specs included.

        Raises:
            CommitConflict: Others compacted the same files again and again.

        Example:
            >>> t = example_table()
            >>> t.alter().set_option("file-index.bitmap.columns", "id").commit()
            >>> t.rewrite_file_index().snapshot.kind
            'COMPACT'
        """
        given = partition_list(partition)
        return told("rewrite_file_index", self._core, self._core.rewrite_file_index, given)

    @known_as(retain_last="retain_max=...", num_retained="retain_max=...")
    def expire_snapshots(
        self,
        *,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than: Time | Duration | None = None,
        max_deletes: int | None = None,
        dry_run: bool = False,
    ) -> UpkeepReport:
        """Expire snapshots; see :meth:`siltstone.maintenance.Maintenance.expire_snapshots`."""
        return self.maintenance.expire_snapshots(
            retain_max=retain_max,
            retain_min=retain_min,
            older_than=older_than,
            max_deletes=max_deletes,
            dry_run=dry_run,
        )

    def rollback(
        self,
        version: int | str | None = None,
        *,
        tag: str | None = None,
        as_of: Time | None = None,
        dry_run: bool = False,
    ) -> UpkeepReport:
        """Make a version the latest one: everything later is removed.

        Readers and writers that are at a removed snapshot fail. Data files of removed snapshots stay until orphan files
        are removed. Schemas are not rolled back.

        Args:
            version: Snapshot id, or a text: a tag's name, else a snapshot id.
            tag: Tag name.
            as_of: The newest version at or before this time.
            dry_run: Only say what would be removed.

        Returns:
            What went; ``details`` has ``previous_snapshot`` and ``current_snapshot``.

        Raises:
            SnapshotNotFound: There is no such snapshot.
            SnapshotExpired: It has expired, and no tag keeps it.
            TagNotFound: There is no such tag.
            VersionInUse: A branch was made from a version that would go.

        Example:
            >>> t = example_table()
            >>> t.rollback(version=1).details["current_snapshot"]
            1
        """
        moment = None if as_of is None else millis(as_of)
        place = version_of("version", version), optional_text("tag", tag), moment
        is_plan = flag("dry_run", dry_run)
        return told("rollback", self._core, self._core.maintenance.rollback, *place, is_plan)

    def files(self, *, version: int | None = None) -> list[FileEntry]:
        """The live data files of a snapshot: partition, bucket, level, name, rows, bytes, keys.

        Args:
            version: Snapshot id; None for the latest.
        """
        return Listed(self._core.files(count("version", version)))

    def alter(self) -> Alter:
        """Start a chain of changes of the definition."""
        return Alter(self._core)


def _open(location: str, options: Mapping[str, str], branch: str) -> Table:
    return Table(_core.Table.open(location, dict(options), branch))
