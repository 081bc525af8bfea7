"""A table for a notebook and for a terminal."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from siltstone._visible import visible

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


def _columns(table: Table) -> list[tuple[str, str, str]]:
    key = {*table.primary_key}
    fields = list(table.schema)
    rows = [
        (f.name, str(f.type), ", ".join(["key"] * (f.name in key) + ["NOT NULL"] * (not f.nullable)))
        for f in fields[:_COLUMNS]
    ]
    if len(fields) > _COLUMNS:
        rows.append((f"... {len(fields) - _COLUMNS} more", "", ""))
    return rows


def _history(table: Table) -> list[tuple[str, str, str, str]]:
    found = table.history(_SNAPSHOTS)
    return [(str(s.id), f"{s.time:%Y-%m-%d %H:%M:%S}", s.kind, f"{s.delta_rows:+,}") for s in found]


def html_of_table(table: Table) -> str:
    """The table as HTML: what it is, its columns and its newest versions."""
    facts = "".join(f"<tr><th>{_escaped(name)}</th><td>{_escaped(value)}</td></tr>" for name, value in _facts(table))
    parts = [f"<div><strong>{_escaped(table.name)}</strong><table>{facts}</table>"]
    parts.append(_grid(("column", "type", ""), _columns(table)))
    if history := _history(table):
        parts.append(_grid(("snapshot", "time", "kind", "rows"), history))
    return "".join([*parts, "</div>"])


def _grid(header: tuple[str, ...], rows: list[Any]) -> str:
    head = "".join(f"<th>{_escaped(name)}</th>" for name in header)
    lines = ("".join(f"<td>{_escaped(value)}</td>" for value in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _escaped(value: str) -> str:
    return html.escape(visible(value))


def rich_of_table(table: Table) -> Any:
    """The table for a terminal."""
    from rich.console import Group
    from rich.table import Table as Grid
    from rich.text import Text

    def grid(header: tuple[str, ...], rows: list[Any]) -> Grid:
        made = Grid(box=None, pad_edge=False, show_header=any(header))
        for name in header:
            made.add_column(Text(name))
        for row in rows:
            made.add_row(*(Text(visible(value)) for value in row))
        return made

    history = _history(table)
    parts: list[Any] = [Text(visible(table.name), style="bold"), grid(("", ""), _facts(table)), Text("")]
    parts.append(grid(("column", "type", ""), _columns(table)))
    if history:
        parts += [Text(""), grid(("snapshot", "time", "kind", "rows"), history)]
    return Group(*parts)
