"""Tags: named snapshots, kept until they are deleted or their time is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siltstone._args import Duration, Time, age_limit, duration_text, flag, millis, text, version_of
from siltstone._handle import Collection
from siltstone._looks import Listed
from siltstone._operation import operation, told
from siltstone._spellings import known_as
from siltstone.errors import SnapshotNotFound
from siltstone.report import UpkeepReport
from siltstone.versions import Snapshot, Tag


class Tags(Collection):
    """The tags of a table: ``t.tags``.

    Example:
        >>> t = example_table()
        >>> t.tags.create("v1").id
        1
        >>> t.scan(tag="v1").count() == t.scan().count()
        True
        >>> t.tags.delete("v1").details["tags"]
        ['v1']
    """

    def _held(self) -> list[str]:
        return [tag.name for tag in self.list()]

    def __getitem__(self, name: str) -> Tag:
        """One tag; see :meth:`get`."""
        return self.get(name)

    def list(self) -> list[Tag]:
        """All tags, by snapshot and then name. One whose file is damaged is left out, with a warning of the logger.

        Example:
            >>> example_table().tags.list()
            []
        """
        return Listed(self._table.maintenance.tags())

    def exists(self, name: str) -> bool:
        """Whether there is a tag of this name.

        Example:
            >>> example_table().tags.exists("v1")
            False
        """
        return self._table.maintenance.tag_exists(text("name", name))

    def get(self, name: str) -> Tag:
        """One tag.

        Example:
            >>> t = example_table()
            >>> _ = t.tags.create("v1", retain="30d")
            >>> t.tags.get("v1").time_retained.days
            30

        Raises:
            TagNotFound: There is no such tag; the hint names the nearest.
        """
        return self._table.maintenance.tag(text("name", name))

    @known_as(snapshot_id="version=...", time_retained="retain=...", ignore_if_exists="if_not_exists=...")
    def create(
        self,
        name: str,
        version: int | str | None = None,
        *,
        as_of: Time | None = None,
        retain: Duration | None = None,
        if_not_exists: bool = False,
        allow_numeric: bool = False,
    ) -> Tag:
        """Give a snapshot a name. One small write, whatever the table's size.

        Args:
            name: No slashes, control or invisible characters, spaces at its ends, ``*`` or ``?``; digits alone only
                with ``allow_numeric``. What other programs named differently can be read and deleted.
            version: Snapshot id, or a text: another tag's name, else a snapshot id; None for the latest snapshot.
            as_of: The newest snapshot at or before this time.
            retain: Delete the tag after this long; None: option ``tag.default-time-retained``, else never. A number
                without a unit is milliseconds, as in Java.
            if_not_exists: Return the tag that exists.
            allow_numeric: Allow a name that reads like a snapshot id.

        Example:
            >>> t = example_table()
            >>> t.tags.create("2026-Q4", version=1).id
            1

        Raises:
            TagExists: The name is taken.
            InvalidArgument: The name or the retention cannot be used.
            SnapshotNotFound: There is no such snapshot.
            SnapshotExpired: The snapshot has expired.
            UpkeepRunning: The snapshot is being removed by another job, which does not end; the text says whether the
                tag is there.
        """
        return self._make(name, version, as_of, retain, if_not_exists=if_not_exists, allow_numeric=allow_numeric)

    def replace(
        self,
        name: str,
        *,
        version: int | str | None = None,
        as_of: Time | None = None,
        retain: Duration | None = None,
    ) -> Tag:
        """Let an existing tag name another snapshot.

        Files that only its old snapshot kept are deleted.

        Args:
            name: The tag.
            version: See :meth:`create`.
            as_of: See :meth:`create`.
            retain: Delete the tag after this long from now; None: as long as before (Java drops the retention then),
                else see :meth:`create`.

        Raises:
            TagNotFound: There is no such tag; the hint names the nearest.
            VersionInUse: A branch was made from the tag, and it would name another snapshot.

        Example:
            >>> t = example_table()
            >>> _ = t.tags.create("current", version=1)
            >>> t.tags.replace("current").id == t.snapshot().id
            True
        """
        return self._make(name, version, as_of, retain, replace=True)

    def _make(
        self,
        name: str,
        version: int | str | None,
        as_of: Time | None,
        retain: Duration | None,
        *,
        replace: bool = False,
        if_not_exists: bool = False,
        allow_numeric: bool = False,
    ) -> Tag:
        given: dict[str, Any] = {
            "replace": replace,
            "version": version_of("version", version),
            "tag": None,
            "as_of": None if as_of is None else millis(as_of),
            "retain": None if retain is None else duration_text("retain", retain),
            "if_not_exists": flag("if_not_exists", if_not_exists),
            "allow_numeric": flag("allow_numeric", allow_numeric),
        }
        return told(
            "replace_tag" if replace else "create_tag",
            self._table,
            self._table.maintenance.create_tag,
            text("name", name),
            **given,
        )

    def rename(self, source: str, target: str, *, allow_numeric: bool = False) -> None:
        """Give a tag another name.

        Example:
            >>> t = example_table()
            >>> _ = t.tags.create("a")
            >>> t.tags.rename("a", "b")
            >>> [tag.name for tag in t.tags.list()]
            ['b']

        Raises:
            TagNotFound: There is no such tag.
            TagExists: The new name is taken.
        """
        with operation("rename_tag", self._table) as done:
            self._table.maintenance.rename_tag(
                text("source", source), text("target", target), flag("allow_numeric", allow_numeric)
            )
            done(f"{source} is now {target}")

    def delete(self, name: str, *, dry_run: bool = False) -> UpkeepReport:
        """Delete a tag and the files that nothing else needs.

        Args:
            name: The tag.
            dry_run: Only say what would be deleted.

        Example:
            >>> t = example_table()
            >>> _ = t.tags.create("v1")
            >>> t.tags.delete("v1", dry_run=True).deleted_files
            1

        Raises:
            TagNotFound: There is no such tag.
            VersionInUse: A branch was made from it.
        """
        return told(
            "delete_tag", self._table, self._table.maintenance.delete_tag, text("name", name), flag("dry_run", dry_run)
        )

    def previous(self, name: str) -> str | None:
        """Name of the tag before this one, by commit time; None when it is the first.

        Raises:
            TagNotFound: There is no such tag.
        """
        return self._table.maintenance.tag_neighbour(text("name", name), False)

    def next(self, name: str) -> str | None:
        """Name of the tag after this one, by commit time; None when it is the last.

        Raises:
            TagNotFound: There is no such tag.
        """
        return self._table.maintenance.tag_neighbour(text("name", name), True)

    def expire(self, *, older_than: Time | Duration | None = None, dry_run: bool = False) -> UpkeepReport:
        """Delete tags whose retention is over; ``details["tags"]`` of the report has their names.

        Args:
            older_than: Also tags older than this duration, or made before this time, whatever their retention.
            dry_run: Only say what would be deleted.

        Example:
            >>> example_table().tags.expire().details["tags"]
            []
        """
        limit = age_limit("older_than", older_than)
        return told("expire_tags", self._table, self._table.maintenance.expire_tags, limit, flag("dry_run", dry_run))

    def create_automatic(self) -> UpkeepReport:
        """Make the tags that are due by the option ``tag.automatic-creation``, as each commit does.

        Example:
            >>> example_table().tags.create_automatic().details["created"]
            []
        """
        return told("create_automatic_tags", self._table, self._table.maintenance.create_automatic_tags)

    def create_due(self) -> UpkeepReport:
        """The same as :meth:`create_automatic`."""
        return self.create_automatic()

    def create_from_timestamp(self, name: str, time: Time, *, retain: Duration | None = None) -> Snapshot:
        """Tag the earliest version that was committed at or after a time, and return it.

        A snapshot that has expired counts while a tag keeps it.

        Example:
            >>> t = example_table()
            >>> t.tags.create_from_timestamp("first", 0).id
            1

        Raises:
            SnapshotNotFound: No snapshot is that new.
        """
        at = millis(time)
        versions = self._versions()
        found = [s for s in versions if s.raw["timeMillis"] >= at]
        if not found:
            newest = max(versions, key=lambda s: s.id, default=None)
            raise SnapshotNotFound(
                f"no snapshot was committed at or after {at}",
                hint=f"the latest is {newest.id}, committed at {newest.raw['timeMillis']}"
                if newest
                else "write rows first",
                context={"table": self._table.name},
            )
        return self.create(name, version=min(found, key=lambda s: s.id).id, retain=retain).snapshot

    def _versions(self) -> Sequence[Snapshot]:
        """Snapshots, and those that only tags keep."""
        live = self._table.history(2**31)
        return [*live, *(tag.snapshot for tag in self.list())]
