"""Printing rows: a table for people, JSON lines for programs."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from siltstone.cli.context import App

FORMATS = ["table", "json"]


def rows(app: App, items: Iterable[Mapping[str, Any]], columns: list[str] | None = None) -> None:
    """Print rows: one JSON object a line, or a table with the given columns."""
    if app.output == "json":
        for item in items:
            click.echo(json.dumps(item, default=plain, ensure_ascii=False))
        return
    items = list(items)
    names = columns or list(dict.fromkeys(name for item in items for name in item))
    _table(app, names, [[_cell(item.get(name)) for name in names] for item in items])


def record(app: App, item: Mapping[str, Any]) -> None:
    """Print one object: JSON, or two columns."""
    if app.output == "json":
        click.echo(json.dumps(item, default=plain, ensure_ascii=False))
        return
    _table(app, ["", ""], [[name, _cell(value)] for name, value in item.items()], header=False)


def _table(app: App, names: list[str], cells: list[list[str]], *, header: bool = True) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(show_header=header, box=None, pad_edge=False)
    for name in names:
        grid.add_column(Text(name), overflow="fold")
    for line in cells:
        grid.add_row(*[Text(cell) for cell in line])
    Console(no_color=not app.color, soft_wrap=False).print(grid)


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, (list, dict)):
        return json.dumps(value, default=plain, ensure_ascii=False)
    return str(plain(value))


def plain(value: Any) -> Any:
    """A value that JSON has no word for, as one it has: ISO times, decimal text, base64 bytes."""
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dt.timedelta):
        return str(value)
    return value
