"""Branches: versions of their own that share files with the main branch."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from siltstone._args import flag, optional_text, text, version_of, written
from siltstone._handle import Collection
from siltstone._looks import Listed, Looks
from siltstone._operation import operation, told
from siltstone.report import UpkeepReport


@dataclass(frozen=True)
class Branch(Looks):
    """A branch.

    Attributes:
        name: Its name.
        time: When its directory was last changed, with zone UTC.
    """

    name: str
    time: dt.datetime


class Branches(Collection):
    """The branches of a table: ``t.branches``. Open one with ``open_table(path, branch=name)`` or ``db.t$branch_name``.

    Example:
        >>> t = example_table()
        >>> _ = t.tags.create("v1")
        >>> t.branches.create("fix", tag="v1")
        >>> fix = st.open_table(t.location, branch="fix")
        >>> fix.upsert([{"id": 1, "item": "pencil"}]).snapshot.id
        2
        >>> t.branches.fast_forward("fix").details["current_snapshot"]
        2
    """

    def _held(self) -> list[str]:
        return [branch.name for branch in self.list()]

    def list(self) -> list[Branch]:
        """All branches beside main, by name."""
        found = self._table.maintenance.branches()
        return Listed(Branch(name, dt.datetime.fromtimestamp(at / 1000, dt.UTC)) for name, at in found)

    def exists(self, name: str) -> bool:
        """Whether there is a branch of this name; ``main`` always is."""
        return text("name", name) == "main" or any(branch.name == name for branch in self.list())

    def create(self, name: str, *, tag: str | None = None, version: int | str | None = None) -> None:
        """Make a branch.

        Args:
            name: As a tag's, without ``$``, not ``main`` and not digits alone.
            tag: The tag of main that it starts from; the tag cannot be deleted while the branch is there.
            version: The snapshot of main that it starts from, or ``"latest"``; a tag ``fork-<name>`` keeps its files.
                Without tag and version the branch is empty.

        Raises:
            BranchExists: The name is taken.
            InvalidArgument: The name cannot be used.
            TagExists: There is a tag ``fork-<name>`` that was not made for this branch, and a version is given.
            TagNotFound: There is no such tag.
            SnapshotNotFound: There is no such snapshot.
            UpkeepRunning: An expiry, a rollback or a fast-forward was at work all the time.
        """
        start = version_of("version", version)
        start = None if start is None else written("version", start)
        origin = optional_text("tag", tag)
        with operation("create_branch", self._table) as done:
            self._table.maintenance.create_branch(text("name", name), origin, start)
            place = f"tag {origin}" if origin else None if start is None else f"version {start}"
            done(f"{name} begins with {place}" if place else f"{name} is empty")

    def delete(self, name: str, *, dry_run: bool = False) -> UpkeepReport:
        """Delete a branch; its data files stay until orphan files are removed.

        The tag ``fork-<name>`` that was made with it goes, too, unless another branch was made from the same snapshot;
        a tag of that name that was made otherwise stays. A note says so.

        Raises:
            BranchNotFound: There is no such branch; the hint names the nearest.
            VersionInUse: This table is opened on it, reads fall back to it, or main has gone forward to it half-way:
                fast-forward again.
        """
        return told(
            "delete_branch",
            self._table,
            self._table.maintenance.delete_branch,
            text("name", name),
            flag("dry_run", dry_run),
        )

    def rename(self, source: str, target: str) -> None:
        """Give a branch another name.

        Raises:
            BranchNotFound: There is no such branch.
            BranchExists: The new name is taken.
            TagExists: There is a tag ``fork-<target>``, the name that the branch's own tag would get.
            VersionInUse: This table is opened on it, reads fall back to it, or main has gone forward to it half-way.
        """
        with operation("rename_branch", self._table) as done:
            self._table.maintenance.rename_branch(text("source", source), text("target", target))
            done(f"{source} is now {target}")

    def fast_forward(self, name: str, *, dry_run: bool = False) -> UpkeepReport:
        """Make main what the branch is: main's snapshots and tags since the branch's first one give way.

        Args:
            name: The branch.
            dry_run: Only say what would go.

        Raises:
            BranchNotFound: There is no such branch.
            SnapshotNotFound: The branch has no snapshot.
            VersionInUse: Another branch was made from a version of main that would go, or a tag of main that stays
                needs a schema that would go.
        """
        return told(
            "fast_forward",
            self._table,
            self._table.maintenance.fast_forward,
            text("name", name),
            flag("dry_run", dry_run),
        )
