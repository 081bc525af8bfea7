"""Printing rows: a table for people, or a record a row where the table would be too wide, and JSON lines for programs.

What is printed comes from tables of others: characters that a terminal obeys or that change the order of what is read
are shown as escapes, and so are those that the output's encoding lacks.
"""

from __future__ import annotations

import base64
import csv
import datetime as dt
import decimal
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from siltstone._visible import visible

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from siltstone.cli.context import App

FORMATS = ["table", "json", "csv"]
#: Characters that a long value of a table gets at least; otherwise each row is printed as a record.
_NARROWEST = 10
#: Between two columns.
_GAP = 2
#: The width of a pipe, which has none.
_UNFOLDED = 1 << 20


def rows(
    app: App,
    items: Iterable[Mapping[str, Any]],
    columns: list[str] | None = None,
    *,
    null: str = "",
    spare: Sequence[str] = (),
) -> None:
    """Print rows: one JSON object a line, or a table with the given columns.

    Args:
        app: Where to print.
        items: The rows.
        columns: Which of their values, in order; None for all.
        null: What a table shows in the place of None.
        spare: Columns that a table leaves out, one after another, where whole values do not fit beside each other.
    """
    if app.output == "json":
        for item in items:
            click.echo(json_text(item))
        return
    if app.output == "csv":
        _csv(items, columns)
        return
    items = list(items)
    names = columns or list(dict.fromkeys(name for item in items for name in item))
    cells = {name: [_cell(item.get(name), null) for item in items] for name in names}
    for name in spare:
        if sum(max(map(len, [name, *column])) + _GAP for name, column in cells.items()) - _GAP > _width():
            del cells[name]
    _table(app, list(cells), [list(line) for line in zip(*cells.values(), strict=True)])


def record(app: App, item: Mapping[str, Any]) -> None:
    """Print one object: JSON, or two columns."""
    if app.output == "json":
        click.echo(json_text(item))
        return
    if app.output == "csv":
        _csv([item], None)
        return
    _table(app, ["", ""], [[name, _cell(value)] for name, value in item.items()], header=False)


def _csv(items: Iterable[Mapping[str, Any]], columns: list[str] | None) -> None:
    """Rows as CSV, with the names of columns first; null is nothing, and a nested value JSON."""
    escaped = visible if sys.stdout.isatty() else str

    def line(values: Iterable[str]) -> None:
        text = io.StringIO()
        # before Python 3.13 only what ends a line here is quoted, and readers take a carriage return for an end, too
        csv.writer(text, lineterminator="\r\n").writerow([escaped(value) for value in values])
        click.echo(text.getvalue().removesuffix("\r\n"))

    names = columns
    if names is not None:
        line(names)
    for item in items:
        if names is None:
            names = list(item)
            line(names)
        line([_cell(item.get(name)) for name in names])


def _table(app: App, names: list[str], cells: list[list[str]], *, header: bool = True) -> None:
    from rich.console import Console

    console = Console(no_color=not app.color, soft_wrap=False, width=_width())
    names, cells = [_printed(name) for name in names], [[_printed(cell) for cell in line] for line in cells]
    if not header or _fits(names, cells, console.width):
        console.print(_grid(cells, names if header else None, len(names)))
        return
    for at, line in enumerate(cells):
        if at:
            console.print()
        console.print(_grid([list(pair) for pair in zip(names, line, strict=True)], None, 2))


def _width() -> int:
    """The width to fit into: what is asked for, if a column fits into it, or the terminal's."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked) >= _NARROWEST:
        return int(asked)
    # in a pipe nothing is folded: who reads it has no width
    return os.get_terminal_size(sys.stdout.fileno()).columns or 80 if sys.stdout.isatty() else _UNFOLDED


def _fits(names: list[str], cells: list[list[str]], width: int) -> bool:
    """Whether columns side by side are wide enough to be read."""
    longest = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    return sum(min(length, _NARROWEST) + _GAP for length in longest) - _GAP <= width


def _grid(cells: list[list[str]], header: list[str] | None, columns: int) -> RichTable:
    from rich.table import Table
    from rich.text import Text

    grid = Table(show_header=header is not None, box=None, pad_edge=False)
    for name in header or [""] * columns:
        grid.add_column(Text(name), overflow="fold")
    for line in cells:
        grid.add_row(*map(Text, line))
    return grid


def _cell(value: Any, null: str = "") -> str:
    if value is None:
        return null
    if isinstance(value, (list, dict)):
        return json_text(value)
    return str(plain(value))


def _printed(text: str) -> str:
    """A text as a table shows it."""
    text = visible(text)
    return text if _can_encode(text) else text.encode(_encoding(), "backslashreplace").decode(_encoding())


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def drawn(mark: str, plain_mark: str) -> str:
    """A letter that pictures are drawn with: another one in pipes, and where the terminal lacks it."""
    return mark if sys.stdout.isatty() and _can_encode(mark) else plain_mark


def _can_encode(text: str) -> bool:
    try:
        text.encode(_encoding(), getattr(sys.stdout, "errors", None) or "strict")
    except UnicodeEncodeError:
        return False
    return True


def json_text(value: Any) -> str:
    """A value as JSON, with escapes where a terminal would obey."""
    text = _dumped(value, ascii_only=False)
    return text if visible(text) == text and _can_encode(text) else _dumped(value, ascii_only=True)


def _dumped(value: Any, *, ascii_only: bool) -> str:
    try:
        return json.dumps(value, default=plain, ensure_ascii=ascii_only, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), default=plain, ensure_ascii=ascii_only, allow_nan=False)


def _finite(value: Any) -> Any:
    """JSON has no word for NaN and infinities: they become texts."""
    if isinstance(value, float):
        return value if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


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
