"""A table for a notebook and for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from siltstone._looks import Grid, escaped, html_of_facts, html_of_grid, rich_of
from siltstone._pyarrow import has_pyarrow

if TYPE_CHECKING:
    Table = Any

#: Columns and snapshots that are shown.
_COLUMNS, _SNAPSHOTS = 40, 5


def _facts(table: Table) -> list[tuple[str, str]]:
    latest = table.snapshot()
    facts = [("location", table.path)]
    if table.comment:
        facts.append(("comment", table.comment))
    if table.primary_key:
        facts.append(("primary key", ", ".join(table.primary_key)))
    if table.partition_by:
        facts.append(("partitions", ", ".join(table.partition_by)))
    facts.append(("buckets", table.bucket_mode))
    facts.append(("version", f"snapshot {latest.id} of {latest.time:%Y-%m-%d %H:%M:%S}" if latest else "none"))
    facts.append(("rows in files", f"{latest.total_rows:,}" if latest else "0"))
    return facts


def _columns(table: Table) -> list[Grid]:
    if not has_pyarrow():
        return []
    key = {*table.primary_key}
    fields = list(table.schema)
    rows = [
        (f.name, str(f.type), ", ".join(["key"] * (f.name in key) + ["NOT NULL"] * (not f.nullable)))
        for f in fields[:_COLUMNS]
    ]
    if len(fields) > _COLUMNS:
        rows.append((f"... {len(fields) - _COLUMNS} more", "", ""))
    return [Grid(("column", "type", ""), rows)]


def _history(table: Table) -> list[Grid]:
    found = table.history(_SNAPSHOTS)
    rows = [(str(s.id), f"{s.time:%Y-%m-%d %H:%M:%S}", s.kind, f"{s.delta_rows or 0:+,}") for s in found]
    return [Grid(("snapshot", "time", "kind", "rows"), rows)] if rows else []


def html_of_table(table: Table) -> str:
    """The table as HTML: what it is, its columns and its newest versions."""
    grids = "".join(html_of_grid(grid) for grid in (*_columns(table), *_history(table)))
    return f"<div><strong>{escaped(table.name)}</strong>{html_of_facts(_facts(table))}{grids}</div>"


def rich_of_table(table: Table) -> Any:
    """The table for a terminal."""
    return rich_of(table.name, _facts(table), [*_columns(table), *_history(table)])
