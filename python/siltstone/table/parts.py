"""What a table is made of, in figures, and single rows by their keys."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from siltstone._args import flag, names
from siltstone._data import arrow_stream
from siltstone._looks import Listed, Looks
from siltstone._operation import operation
from siltstone._partitions import partition_list, wall_time
from siltstone.errors import InvalidArgument
from siltstone.report import CommitReport
from siltstone.scan import whole_table
from siltstone.table.keys import comparable, holding, typed
from siltstone.table.reading import Reading

if TYPE_CHECKING:
    import os

    import pyarrow as pa

    from siltstone.health import HealthReport


@dataclass(frozen=True)
class Partition(Looks):
    """A partition.

    Attributes:
        spec: Its values by column, as :meth:`siltstone.Table.drop_partitions` takes them; None is null.
        files: Data files.
        rows: Rows in them: of a table with a primary key several may be of one key.
        bytes: Their size.
        last_update: When the newest of them was written.
    """

    spec: dict[str, str | None]
    files: int
    rows: int
    bytes: int
    last_update: dt.datetime | None


@dataclass(frozen=True)
class TableStats(Looks):
    """A table in figures.

    Attributes:
        name: The table.
        snapshot: The version that the figures are of; None for an empty table.
        rows: Rows in the files: of a table with a primary key several may be of one key.
        deleted_rows: Of them, rows that deletion vectors delete.
        files: Data files.
        bytes: Their size.
        partitions: Partitions that have files.
        buckets: Buckets that have files.
        levels: Files of each level.
        columns: What :meth:`siltstone.maintenance.Maintenance.analyze` found last, by column; empty where it never ran.
    """

    name: str
    snapshot: int | None
    rows: int
    deleted_rows: int
    files: int
    bytes: int
    partitions: int
    buckets: int
    levels: dict[int, int] = field(default_factory=dict)
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)


class Parts(Reading):
    """The methods of :class:`siltstone.Table` that tell its parts."""

    def get(self, keys: Any, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows that have these primary keys, in the order of the keys.

        Only files that may hold one of the keys are read, and of them only the pages.

        Args:
            keys: Rows with the columns of the primary key; others are ignored. A single dict is one key; where the key
                is one column, values of it will do: one, a list, or a column of numpy, pandas, polars or pyarrow.
            columns: Columns to return, in this order; None for all.

        Returns:
            One row for each key that was found.

        Raises:
            InvalidArgument: The table has no primary key, or keys lack one of its columns.
            SchemaMismatch: A value that its column cannot hold exactly, by the rule of writes.
            NullInKey: A value is null.

        Example:
            >>> t = example_table()
            >>> t.get([2, 7, 1]).to_pylist()
            [{'id': 2, 'item': 'ink'}, {'id': 1, 'item': 'pen'}]
        """
        from siltstone._pyarrow import pa

        given = self._keys(keys)
        key = self.primary_key
        wanted = None if columns is None else names("columns", columns)
        read = None if wanted is None else [*wanted, *[k for k in key if k not in wanted]]
        found = self.scan(read, holding(given), threads=1 if given.num_rows == 1 else None)
        rows = whole_table(self._core.plan(found.request))
        places = {values: at for at, values in enumerate(comparable(rows, key))}
        order = [places[values] for values in comparable(given, key) if values in places]
        taken = rows.take(pa.array(order, pa.int64()))
        return taken if wanted is None else taken.select(wanted)

    def _keys(self, keys: Any) -> pa.Table:
        """Keys of an argument, with the types of the table."""
        from siltstone._pyarrow import pa

        key = self.primary_key
        if not key:
            raise InvalidArgument(
                f"{self.name} has no primary key: rows are found by a condition",
                hint="use t.scan(filter=...)",
                context={"table": self.name},
            )
        keys = self._key_rows(keys)
        with arrow_stream(keys, self._core) as stream:
            rows = pa.table(stream)
        return typed(rows, pa.schema([self.schema.field(name) for name in key]), self.name)

    def partitions(self) -> list[Partition]:
        """The partitions of the newest version that have files; none for a table without partition columns.

        Example:
            >>> example_table().partitions()
            []
        """
        names = self.partition_by
        return Listed(
            Partition(dict(zip(names, values, strict=True)), files, rows, size, wall_time(at))
            for values, files, rows, size, at in (self._core.partitions() if names else [])
        )

    def drop_partitions(
        self, partitions: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, dry_run: bool = False
    ) -> CommitReport:
        """Remove partitions with all of their rows, as one OVERWRITE commit.

        Args:
            partitions: Partition specs, partial ones included, or what :meth:`partitions` gives.
            dry_run: Only report the files that would go, and the rows in them.

        Raises:
            InvalidArgument: No partition, a column that is no partition column, or a value it cannot have.

        Example:
            >>> t = st.connect(tmp).create_database("shop") or st.connect(tmp).create_table(
            ...     "shop.days", {"dt": "STRING", "n": "INT"}, partition_by="dt")
            >>> _ = t.append([{"dt": "2026-11-20", "n": 1}, {"dt": "2026-11-21", "n": 2}])
            >>> [p.spec for p in t.partitions()]
            [{'dt': '2026-11-20'}, {'dt': '2026-11-21'}]
            >>> t.drop_partitions({"dt": "2026-11-20"}).rows
            1
        """
        if partitions is None:
            raise InvalidArgument("drop_partitions() needs the partitions to drop", hint="truncate() removes all rows")
        if isinstance(partitions, Partition):
            partitions = [partitions.spec]
        elif isinstance(partitions, Sequence) and not isinstance(partitions, (str, bytes)):
            partitions = [p.spec if isinstance(p, Partition) else p for p in partitions]
        given, is_plan = partition_list(partitions), flag("dry_run", dry_run)
        with operation("drop_partitions", self._core, is_read=is_plan) as done:
            return done(self._core.truncate(given, is_plan))

    def stats(self) -> TableStats:
        """The newest version in figures, from metadata alone.

        Example:
            >>> stats = example_table().stats()
            >>> stats.rows, stats.files, stats.levels
            (2, 1, {0: 1})
        """
        latest = self._core.snapshot(None)
        files = self._core.files(None)
        levels: dict[int, int] = {}
        for file in files:
            levels[file["level"]] = levels.get(file["level"], 0) + 1
        return TableStats(
            name=self.name,
            snapshot=None if latest is None else latest.id,
            rows=sum(file["rows"] for file in files),
            deleted_rows=sum(file["deleted_rows"] or 0 for file in files),
            files=len(files),
            bytes=sum(file["bytes"] for file in files),
            partitions=len({file["partition"] for file in files}),
            buckets=len({(file["partition"], file["bucket"]) for file in files}),
            levels=dict(sorted(levels.items())),
            columns=self._analyzed(),
        )

    def report(self, html: str | os.PathLike[str] | None = None, *, orphans: bool = True) -> HealthReport:
        """Look at the table as a whole: versions, levels, files, partitions, and what upkeep would do. Changes nothing.

        The report shows itself in notebooks and terminals, and as a page (``report.html``, ``report.save(path)``),
        whose pictures need matplotlib: ``pip install 'siltstone[plot]'``.

        Args:
            html: Also write the page to this file.
            orphans: Also look for files that no version needs, which lists the table's directories.

        Raises:
            InvalidArgument: ``html`` is no path, or matplotlib is not installed.
            StorageError: The file cannot be written.

        Example:
            >>> report = example_table().report(html=tmp + ".html")
            >>> report.totals.files, [advice.operation for advice in report.advice]
            (1, ['compact', 'full compaction', 'expire snapshots', 'remove orphan files'])
        """
        from siltstone.health.report import page_file, report_of

        file = None if html is None else page_file("html", html)
        report = report_of(self, orphans=flag("orphans", orphans))
        if file is not None:
            report.save(file)
        return report

    def _analyzed(self) -> dict[str, dict[str, Any]]:
        found = self.inspect("statistics", ["colstat"]).to_pylist()
        text = found[-1]["colstat"] if found else None
        return json.loads(text) if text else {}
