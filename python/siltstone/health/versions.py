"""The versions of a table, and what each of them keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from siltstone.errors import SiltstoneError
from siltstone.health.figures import Keeper, Moment
from siltstone.inspection import Place, scan_of

if TYPE_CHECKING:
    import pyarrow as pa

    Table = Any

#: Snapshots of the timeline: the newest ones.
MOMENTS = 500
#: Names of files that are compared; versions beyond that are not looked at.
COMPARED = 300_000

_PATH, _SIZE = "file_path", "file_size_in_bytes"


@dataclass(frozen=True)
class Versions:
    """What there is of versions.

    Attributes:
        snapshots: The newest ones, oldest first.
        keepers: The newest version, the earlier snapshots as one, tags and branches.
        skipped: Versions whose files were not looked at, because there are too many or they cannot be read.
    """

    snapshots: list[Moment]
    keepers: list[Keeper]
    skipped: int


@dataclass(frozen=True)
class _Version:
    """A version whose files are to be looked at."""

    keeper: int
    branch: str
    snapshot: int
    tag: str | None = None


def versions_of(table: Table, latest: int | None, newest: pa.Table) -> Versions:
    """Find the versions, and compare their files.

    Args:
        table: The table.
        latest: The newest snapshot; what others commit after it is left out.
        newest: Its files.
    """
    moments, keepers, versions = _listed(table, latest or 0)
    sizes: dict[tuple[str, int], int] = {}
    held: list[pa.Table] = []
    seen: set[int] = set()
    left, skipped, last = COMPARED, 0, newest.num_rows
    for version in versions:
        key = version.branch, version.snapshot
        files = newest if version.keeper == 0 else None
        if files is None and last <= left:
            files = _files(table, version)
        if files is None:
            skipped += 1
            continue
        last = files.num_rows
        left -= last
        seen.add(version.keeper)
        held.append(_owned(files, version.keeper))
        sizes[key] = _sum(files)
    done = [replace(m, bytes=sizes.get((table.branch, m.snapshot))) for m in moments]
    return Versions(done, _with_bytes(keepers, held, seen), skipped)


def _listed(table: Table, latest: int) -> tuple[list[Moment], list[Keeper], list[_Version]]:
    """Snapshots, keepers, and the versions of these: the newest, then tags and branches, then earlier snapshots."""
    tags = table.tags.list()
    names: dict[int, list[str]] = {}
    for tag in tags:
        names.setdefault(tag.id, []).append(tag.name)
    history = [s for s in table.history(MOMENTS) if s.id <= latest]
    moments = [Moment(s.id, s.time, s.kind, s.total_rows, None, names.get(s.id, [])) for s in reversed(history)]
    keepers, versions = [], []
    if history:
        keepers.append(Keeper("newest", "", history[0].id))
        versions.append(_Version(0, table.branch, history[0].id))
    for tag in tags:
        versions.append(_Version(len(keepers), table.branch, tag.id, tag.name))
        keepers.append(Keeper("tag", tag.name, tag.id))
    for name in _branches(table):
        there = scan_of(Place(table.location, name, {}), "snapshots", ["snapshot_id"]).to_pylist()
        if there:
            versions.append(_Version(len(keepers), name, there[-1]["snapshot_id"]))
        keepers.append(Keeper("branch", name, there[-1]["snapshot_id"] if there else None))
    if len(history) > 1:
        versions += [_Version(len(keepers), table.branch, s.id) for s in history[1:]]
        keepers.append(Keeper("snapshots", "", history[1].id))
    return moments, keepers, versions


def _branches(table: Table) -> list[str]:
    """Names of the table's other branches."""
    names = ["main", *(branch.name for branch in table.branches.list())]
    return [name for name in names if name != table.branch]


def _files(table: Table, version: _Version) -> pa.Table | None:
    """The data files of a version; None where they cannot be read, as of one that has expired meanwhile."""
    which = {"scan.snapshot-id": str(version.snapshot)}
    options = {"scan.tag-name": version.tag} if version.tag is not None else which
    place = Place(table.location, version.branch, {**table.dynamic_options, **options})
    try:
        return scan_of(place, "files", [_PATH, _SIZE]).to_arrow()
    except SiltstoneError:
        return None


def _sum(files: pa.Table) -> int:
    import pyarrow.compute as pc

    return pc.sum(files[_SIZE]).as_py() or 0


def _owned(files: pa.Table, keeper: int) -> pa.Table:
    import pyarrow as pa

    return files.select([_PATH, _SIZE]).append_column("keeper", pa.repeat(pa.scalar(keeper, pa.int32()), len(files)))


def _with_bytes(keepers: Sequence[Keeper], held: Sequence[pa.Table], seen: set[int]) -> list[Keeper]:
    """The keepers with the size of their files, and of those that no other has."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not held:
        return list(keepers)
    pairs = pa.concat_tables(held).group_by([_PATH, "keeper"]).aggregate([(_SIZE, "max")])
    size = f"{_SIZE}_max"
    sums = pairs.group_by("keeper").aggregate([(size, "sum")])
    files = pairs.group_by(_PATH).aggregate([("keeper", "count"), ("keeper", "min"), (size, "max")])
    alone = files.filter(pc.equal(files["keeper_count"], 1)).group_by("keeper_min").aggregate([(f"{size}_max", "sum")])
    whole = dict(zip(sums["keeper"].to_pylist(), sums[f"{size}_sum"].to_pylist(), strict=True))
    only = dict(zip(alone["keeper_min"].to_pylist(), alone[f"{size}_max_sum"].to_pylist(), strict=True))
    return [
        replace(k, bytes=whole.get(at, 0), only_bytes=only.get(at, 0)) if at in seen else k
        for at, k in enumerate(keepers)
    ]
