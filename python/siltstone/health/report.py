"""The report of a table's health."""

from __future__ import annotations

import datetime as dt
import os
import pathlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from siltstone._args import text
from siltstone._looks import Facts, Grid, Looks, size_text
from siltstone.errors import InvalidArgument, StorageError
from siltstone.health import files as file_figures
from siltstone.health import page
from siltstone.health import versions as version_figures
from siltstone.health.advice import advice_of
from siltstone.health.figures import (
    Advice,
    Bucket,
    Keeper,
    LargePartition,
    Level,
    Moment,
    PartitionClass,
    SizeClass,
    Totals,
)
from siltstone.health.pictures import keeper_name, require_matplotlib

if TYPE_CHECKING:
    Table = Any


@dataclass(frozen=True)
class HealthReport(Looks):
    """How a table is: what it is made of, what its versions keep, and what upkeep would do. Made by ``t.report()``.

    Attributes:
        name: The table.
        location: Its directory.
        branch: The branch.
        time: When it was looked at, with zone UTC.
        snapshot: The version that the figures are of; None for an empty table.
        primary_key: Columns of the primary key.
        totals: The newest version as a whole.
        levels: Its levels.
        buckets: Its buckets with the most runs, and then bytes.
        sizes: How many files there are of which size.
        partition_classes: How many partitions there are of which age and size.
        partitions: The largest partitions.
        snapshots: The newest snapshots, oldest first.
        keepers: What keeps data files.
        skipped_versions: Versions whose files were not looked at, because there are too many or they cannot be read.
        advice: What upkeep would do now.

    Example:
        >>> report = example_table().report()
        >>> report.totals.rows, report.levels[0].files, report.keepers[0].kind
        (2, 1, 'newest')
        >>> "<script" in report.html
        False
    """

    name: str
    location: str
    branch: str
    time: dt.datetime
    snapshot: int | None
    primary_key: list[str]
    totals: Totals
    levels: list[Level] = field(default_factory=list)
    buckets: list[Bucket] = field(default_factory=list)
    sizes: list[SizeClass] = field(default_factory=list)
    partition_classes: list[PartitionClass] = field(default_factory=list)
    partitions: list[LargePartition] = field(default_factory=list)
    snapshots: list[Moment] = field(default_factory=list)
    keepers: list[Keeper] = field(default_factory=list)
    skipped_versions: int = 0
    advice: list[Advice] = field(default_factory=list)

    @property
    def html(self) -> str:
        """The report as one page that needs nothing else.

        Raises:
            InvalidArgument: matplotlib, which draws its pictures, is not installed.
        """
        require_matplotlib()
        return page.page_of(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        Args:
            path: A local path; a file that is there is replaced.

        Raises:
            InvalidArgument: matplotlib is not installed, or that is no path.
            StorageError: The file cannot be written.

        Example:
            >>> example_table().report().save(tmp + ".html")
        """
        file, content = page_file("path", path), self.html
        try:
            file.write_text(content, encoding="utf-8")
        except OSError as e:
            raise StorageError(f"the report cannot be written: {e}", context={"file": str(file)}) from e

    def skipped_note(self) -> str:
        """What it means that versions were not looked at."""
        return (
            f"the files of {self.skipped_versions:,} versions were not looked at (too many, or expired meanwhile): "
            "less than that may be kept by one alone"
        )

    def __str__(self) -> str:
        """The report as plain lines."""
        lines = [self.name, *(f"{name}: {value}" for name, value in self._facts())]
        lines += [f"{a.operation}: {a.failure or a.win}" for a in self.advice]
        return "\n".join(lines)

    def _facts(self) -> Facts:
        version = "none" if self.snapshot is None else f"snapshot {self.snapshot}"
        notes = [("note", self.skipped_note())] if self.skipped_versions else []
        if waiting := self.totals.waiting_rows:
            notes.append(
                ("note", f"{waiting:,} rows are not shown by batch reads before a compaction: run t.compact()")
            )
        return [("version", version), *self.totals._facts(), *notes]  # noqa: SLF001  # a class of this package

    def _grids(self) -> Iterable[Grid]:
        if self.levels:
            yield page.grid_of(self.levels, "level", "files", "runs", "rows", "bytes")
        if self.keepers:
            rows = [
                (keeper_name(k), size_text(k.bytes), size_text(k.only_bytes or 0))
                for k in self.keepers
                if k.bytes is not None
            ]
            yield Grid(("kept by", "bytes", "by this alone"), rows)
        plans = [(a.operation, f"{a.files:,}", size_text(a.bytes), a.failure or a.win) for a in self.advice]
        yield Grid(("upkeep", "files", "size", ""), plans)

    def _repr_html_(self) -> str:
        try:
            require_matplotlib()
        except InvalidArgument:
            return super()._repr_html_()
        return page.fragment_of(self)


def page_file(name: str, path: str | os.PathLike[str]) -> pathlib.Path:
    """The file that a page is to be written to.

    Args:
        name: The argument.
        path: Its value.

    Raises:
        InvalidArgument: That is no path, or matplotlib is not installed.
    """
    file = pathlib.Path(text(name, os.fspath(path) if isinstance(path, os.PathLike) else path))
    require_matplotlib()
    return file


def report_of(table: Table, *, orphans: bool) -> HealthReport:
    """Look at a table; see :meth:`siltstone.Table.report`."""
    latest = table.snapshot()
    version = None if latest is None else latest.id
    now = dt.datetime.now().astimezone()
    found = version_figures.versions_of(table, version or 0)
    compared = version_figures.COMPARED
    figures = file_figures.figures_of(table, version, found.kept, compared, now.replace(tzinfo=None))
    snapshots, keepers, skipped = found.with_bytes(figures)
    return HealthReport(
        name=table.name,
        location=table.location,
        branch=table.branch,
        time=now.astimezone(dt.UTC),
        snapshot=version,
        primary_key=table.primary_key,
        totals=figures.totals,
        levels=figures.levels,
        buckets=figures.buckets,
        sizes=figures.sizes,
        partition_classes=figures.partition_classes,
        partitions=figures.partitions,
        snapshots=snapshots,
        keepers=keepers,
        skipped_versions=skipped,
        advice=advice_of(table, figures, orphans=orphans),
    )
