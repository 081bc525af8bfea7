"""What calls report, as plain values that print well and pickle; the extension makes them (``report.rs``)."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass, field
from typing import Any

from siltstone._looks import Facts, Grid, Looks, size_text, value_text
from siltstone.versions import Snapshot

GIVEN_UP = "the compaction was given up"
"""How the note of a commit begins whose compaction another commit got in the way of."""
FAILED = "the compaction failed"
"""How the note of a commit begins whose compaction could not be committed."""


@dataclass(frozen=True)
class CommitReport(Looks):
    """What a commit did.

    Attributes:
        snapshots: The snapshots it made, in order (APPEND, then COMPACT); empty when there was nothing to do.
        rows: Rows written to files, retractions included.
        files: Data files added.
        bytes: Their size.
        affected_rows: Rows that a delete or an update found.
        invisible_rows: Rows that no batch reader shows before a compaction.
        already_committed: The explicit identifier had been committed before; nothing was done.
        notes: What the caller should know: that a compaction was dropped, that old partitions have expired behind it.
    """

    snapshots: list[Snapshot] = field(default_factory=list)
    rows: int = 0
    files: int = 0
    bytes: int = 0
    affected_rows: int = 0
    invisible_rows: int = 0
    already_committed: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def snapshot(self) -> Snapshot | None:
        """The last snapshot made."""
        return self.snapshots[-1] if self.snapshots else None


@dataclass(frozen=True)
class MergeReport(CommitReport):
    """What a merge did.

    Attributes:
        updated_rows: Rows of the table that got new values.
        deleted_rows: Rows of the table that were deleted.
        inserted_rows: Rows of the source that were inserted.
    """

    updated_rows: int = 0
    deleted_rows: int = 0
    inserted_rows: int = 0


@dataclass(frozen=True)
class CompactionReport(Looks):
    """What a compaction did.

    Attributes:
        snapshots: The COMPACT snapshots it made; empty when nothing had to be compacted.
        tasks: Buckets that were compacted.
        files_before: Data files that were replaced.
        files_after: Data files that replace them.
        bytes_before: Size of the replaced files.
        bytes_after: Size of the new files.
        rows_before: Rows in the replaced files.
        rows_after: Rows in the new files.
        notes: What the caller should know.
    """

    snapshots: list[Snapshot] = field(default_factory=list)
    tasks: int = 0
    files_before: int = 0
    files_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    rows_before: int = 0
    rows_after: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def snapshot(self) -> Snapshot | None:
        """The last snapshot made."""
        return self.snapshots[-1] if self.snapshots else None

    @property
    def given_up(self) -> list[str]:
        """Those of the notes that say why buckets were not compacted; empty when all is done."""
        return [note for note in self.notes if note.startswith((GIVEN_UP, FAILED))]


@dataclass(frozen=True)
class PlannedFile(Looks):
    """A file that an operation deletes.

    Attributes:
        path: Full path.
        kind: What it is: data, changelog, manifest, index, statistics, snapshot, tag...
        bytes: Its size as the metadata says it; 0 when it does not say.
        reason: Why it may go.
    """

    path: str
    kind: str
    bytes: int
    reason: str


@dataclass(frozen=True)
class UpkeepReport(Looks):
    """What an operation deleted, or would delete.

    Attributes:
        dry_run: Nothing was done, this is the plan.
        deleted_files: Number of files.
        freed_bytes: Their size, as far as the metadata says it.
        by_kind: Files and bytes of each kind.
        notes: What the caller should know.
        details: Names and ids, by topic: ``snapshots``, ``tags``, ``partitions``, ``current_snapshot``...
    """

    dry_run: bool = False
    deleted_files: int = 0
    freed_bytes: int = 0
    by_kind: dict[str, dict[str, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    _files: list[tuple[str, str, int, str]] = field(default_factory=list, repr=False)

    @property
    def files(self) -> list[PlannedFile]:
        """Every file with its reason, in the order of deletion."""
        return [PlannedFile(*item) for item in self._files]

    @property
    def bytes(self) -> int:
        """The same as ``freed_bytes``."""
        return self.freed_bytes

    @property
    def snapshots(self) -> list[int]:
        """Ids of expired snapshots."""
        return list(self.details.get("snapshots", []))

    @property
    def tags(self) -> list[str]:
        """Names of deleted tags."""
        return list(self.details.get("tags", []))

    def _facts(self) -> Facts:
        done = [
            ("dry run", "yes: nothing was done" if self.dry_run else ""),
            ("files to delete" if self.dry_run else "deleted files", f"{self.deleted_files:,}"),
            ("their size", size_text(self.freed_bytes)),
            *((name.replace("_", " "), value_text("id", value)) for name, value in self.details.items()),
            ("notes", "; ".join(self.notes)),
        ]
        return [(name, value) for name, value in done if value]

    def _grids(self) -> list[Grid]:
        kinds = [(kind, *(value_text(k, v) for k, v in sums.items())) for kind, sums in self.by_kind.items()]
        header = next(iter(self.by_kind.values()), {})
        grids = [Grid(("kind", *header), kinds)] if kinds else []
        if self.dry_run and self._files:
            files = [(kind, path, size_text(size), reason) for path, kind, size, reason in self._files]
            grids.append(Grid(("kind", "path", "size", "reason"), files))
        return grids


@dataclass(frozen=True)
class Feature(Looks):
    """Something of Paimon that a table uses.

    Attributes:
        name: What it is, such as ``file format``; of what is refused, the option or column that asks for it.
        value: What of it is used, or why it is refused.
        support: ``read_and_written``, ``read`` (not written), or ``refused``.
        reason: What to do about it; None where nothing need be done.
    """

    name: str
    value: str
    support: str
    reason: str | None = None


@dataclass(frozen=True)
class Finding(Looks):
    """One thing that is not as it should be.

    Attributes:
        severity: ``problem`` (readers get an error or wrong rows) or ``warning`` (space or time is lost).
        code: Stable name of the kind of thing, such as ``missing-file``.
        place: Where: ``main/snapshot-3``, ``dev/tag-v1``, or a file.
        message: What is wrong.
        repair: What could be done about it.
    """

    severity: str
    code: str
    place: str
    message: str
    repair: str


@dataclass(frozen=True)
class Verdict(Looks):
    """What a check looked at, and what it found.

    Attributes:
        findings: Problems first.
        checked: How many versions, manifests and files were looked at.
    """

    findings: list[Finding] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)

    @property
    def problems(self) -> list[Finding]:
        """Findings that break reads."""
        return [f for f in self.findings if f.severity == "problem"]

    @property
    def warnings(self) -> list[Finding]:
        """Findings that cost space or time only."""
        return [f for f in self.findings if f.severity == "warning"]

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    def _facts(self) -> Facts:
        sums = [("problems", f"{len(self.problems):,}"), ("warnings", f"{len(self.warnings):,}")]
        return [*sums, *((f"checked {name.replace('_', ' ')}", f"{n:,}") for name, n in self.checked.items())]

    def _grids(self) -> list[Grid]:
        header = ("severity", "code", "place", "message", "repair")
        rows = [tuple(str(getattr(finding, name)) for name in header) for finding in self.findings]
        return [Grid(header, rows)] if rows else []


def as_dict(value: Any) -> dict[str, Any]:
    """A report or snapshot as plain JSON-ready values."""
    out = asdict(value)
    out.pop("raw", None)
    out.pop("_files", None)
    for key, item in out.items():
        if isinstance(item, dt.datetime):
            out[key] = item.isoformat()
    if "snapshots" in out:
        out["snapshots"] = [as_dict(s) for s in value.snapshots]
    return out
