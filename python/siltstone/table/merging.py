"""Merging rows of a source into a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from siltstone._args import Size
from siltstone.merge import Merge
from siltstone.table.definition import Definition


class Merging(Definition):
    """The method of :class:`siltstone.Table` that merges."""

    def merge(
        self,
        source: Any,
        on: str | Iterable[str],
        *,
        memory_limit: Size | None = None,
        threads: int | None = None,
    ) -> Merge:
        """Match the rows of a source with those of the table, and say what becomes of them.

        Works on tables with a primary key, and on append tables: with ``deletion-vectors.enabled`` rows are marked,
        without it the files that hold them are written again. The source may be larger than memory: rows that do not
        fit wait on disk, and the table is read once for each part.

        Args:
            source: Rows, as for :meth:`append`; columns that the table does not have may be looked at by conditions.
            on: Names of columns that both sides have, or a condition: ``"t.id = s.id AND t.dt = '2026-11-20'"``.
            memory_limit: Memory for rows of the source; 256 MiB where nothing is said.
            threads: Threads to read the table with; None for all cores.

        Returns:
            The clauses, which are added one by one; :meth:`siltstone.merge.Merge.execute` does it.

        Example:
            >>> t = example_table()
            >>> rows = [{"id": 2, "item": "blue ink"}, {"id": 3, "item": "nib"}]
            >>> t.merge(rows, on="id").when_matched_update_all().when_not_matched_insert_all().execute().inserted_rows
            1
        """
        return Merge(self._core, source, on, memory_limit=memory_limit, threads=threads)
