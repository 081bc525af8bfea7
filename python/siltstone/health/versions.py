"""The versions of a table, and what each of them keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from siltstone.errors import BranchNotFound
from siltstone.health.figures import Keeper, Moment
from siltstone.health.files import Figures, KeptVersion
from siltstone.inspection import Place, scan_of

if TYPE_CHECKING:
    Table = Any

#: Snapshots of the timeline: the newest ones.
MOMENTS = 500
#: Names of files that are compared; versions beyond that are not looked at.
COMPARED = 300_000


@dataclass(frozen=True)
class Versions:
    """What there is of versions.

    Attributes:
        branch: The table's branch.
        snapshots: The newest ones, oldest first.
        keepers: The newest version, the earlier snapshots as one, tags and branches.
        kept: The versions of these: the newest, then those of tags and branches, then earlier snapshots.
    """

    branch: str
    snapshots: list[Moment]
    keepers: list[Keeper]
    kept: list[KeptVersion]

    def with_bytes(self, figures: Figures) -> tuple[list[Moment], list[Keeper], int]:
        """Snapshots and keepers with the sizes that were found, and how many versions were not looked at."""
        found = zip(self.kept, figures.version_bytes, strict=True)
        sizes = {
            version.snapshot: size for version, size in found if version.branch == self.branch and size is not None
        }
        of_keepers = [*figures.keeper_bytes, *[None] * (len(self.keepers) - len(figures.keeper_bytes))]
        keepers = [
            keeper if of is None else replace(keeper, bytes=of[0], only_bytes=of[1])
            for keeper, of in zip(self.keepers, of_keepers, strict=True)
        ]
        snapshots = [replace(moment, bytes=sizes.get(moment.snapshot)) for moment in self.snapshots]
        return snapshots, keepers, figures.version_bytes.count(None)


def versions_of(table: Table, latest: int) -> Versions:
    """Find the versions.

    Args:
        table: The table.
        latest: The newest snapshot; what others commit after it is left out.
    """
    tags = table.tags.list()
    names: dict[int, list[str]] = {}
    for tag in tags:
        names.setdefault(tag.id, []).append(tag.name)
    history = [s for s in table.history(MOMENTS) if s.id <= latest]
    moments = [Moment(s.id, s.time, s.kind, s.total_rows, None, names.get(s.id, [])) for s in reversed(history)]
    keepers, versions = [], []
    if history:
        keepers.append(Keeper("newest", "", history[0].id))
        versions.append(KeptVersion(0, table.branch, history[0].id))
    for tag in tags:
        versions.append(KeptVersion(len(keepers), table.branch, tag.id, tag.name))
        keepers.append(Keeper("tag", tag.name, tag.id))
    for name in _branches(table):
        try:
            there = scan_of(Place(table.location, name, {}), "snapshots", ["snapshot_id"]).to_pylist()
        except BranchNotFound:  # just dropped, or without a schema: it keeps nothing
            there = []
        if there:
            versions.append(KeptVersion(len(keepers), name, there[-1]["snapshot_id"]))
        keepers.append(Keeper("branch", name, there[-1]["snapshot_id"] if there else None))
    if len(history) > 1:
        versions += [KeptVersion(len(keepers), table.branch, s.id) for s in history[1:]]
        keepers.append(Keeper("snapshots", "", history[1].id))
    return Versions(table.branch, moments, keepers, versions)


def _branches(table: Table) -> list[str]:
    """Names of the table's other branches."""
    names = ["main", *(branch.name for branch in table.branches.list())]
    return [name for name in names if name != table.branch]
