"""How reports, snapshots, plans and lists of them look in notebooks (HTML) and in terminals (rich)."""

from __future__ import annotations

import dataclasses
import datetime as dt
import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from siltstone._visible import visible

T = TypeVar("T")
Facts = Sequence[tuple[str, str]]

#: Rows of a grid that are shown.
_ROWS = 50
_UNIT, _UNITS = 1024, ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


@dataclasses.dataclass(frozen=True)
class Grid:
    """Rows under a header; more than fit are counted."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def shown(self) -> list[Sequence[str]]:
        """The rows that are shown."""
        kept = list(self.rows[:_ROWS])
        if len(self.rows) > _ROWS:
            kept.append([f"... {len(self.rows) - _ROWS:,} more", *[""] * (len(self.header) - 1)])
        return kept


def size_text(size: int) -> str:
    """A number of bytes as people read it."""
    if size < _UNIT:
        return f"{size} B"
    power = min((size.bit_length() - 1) // 10, len(_UNITS))
    return f"{size / _UNIT**power:.1f} {_UNITS[power - 1]}"


def value_text(name: str, value: Any) -> str:  # noqa: PLR0911  # one line for each kind
    """A value of a field of this name."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        is_size = name == "bytes" or name.startswith("bytes_") or name.endswith("_bytes")
        is_number = name == "id" or name.endswith(("_id", "identifier", "snapshot", "watermark", "bucket"))
        return size_text(value) if is_size else str(value) if is_number else f"{value:,}"
    if isinstance(value, dt.datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {value_text('', item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(value_text("id", item) for item in value)
    if isinstance(value, Looks):
        return value._short()  # noqa: SLF001  # a class of this module
    return str(value)


def shown_fields(thing: Any) -> dict[str, Any]:
    """The fields of a dataclass that its own text has."""
    return {f.name: getattr(thing, f.name) for f in dataclasses.fields(thing) if f.repr}


class Looks:
    """Something that shows itself in notebooks and terminals, by what :meth:`_facts` and :meth:`_grids` say."""

    __slots__ = ()

    def _short(self) -> str:
        """It, in a list or as the value of a field."""
        return str(self)

    def _facts(self) -> Facts:
        """Names and values, one on a line; those that say nothing are left out."""
        fields = shown_fields(self).items()
        return [(_words(name), text) for name, value in fields if (text := value_text(name, value))]

    def _grids(self) -> Iterable[Grid]:
        """What stands below them."""
        return []

    def _repr_html_(self) -> str:
        grids = "".join(html_of_grid(grid) for grid in self._grids())
        return f"<div><strong>{escaped(type(self).__name__)}</strong>{html_of_facts(self._facts())}{grids}</div>"

    def __rich__(self) -> Any:
        """It, for a terminal."""
        return rich_of(type(self).__name__, self._facts(), self._grids())


class Listed(list[T]):
    """A list whose items are shown as the rows of a table.

    Example:
        >>> from siltstone.versions import Snapshot
        >>> history = example_table().history()
        >>> "APPEND" in history._repr_html_()
        True
    """

    __slots__ = ()

    def _grid(self) -> Grid:
        rows = [dict(item) if isinstance(item, Mapping) else shown_fields(item) for item in self[: _ROWS + 1]]
        names = list(dict.fromkeys(name for row in rows for name in row))
        cells = [[value_text(name, row.get(name)) for name in names] for row in rows]
        cells += [[]] * (len(self) - len(cells))  # they are counted only
        return Grid([_words(name) for name in names], cells)

    def _repr_html_(self) -> str:
        return html_of_grid(self._grid()) if self else "<div>none</div>"

    def __rich__(self) -> Any:
        """The rows, for a terminal."""
        return rich_of(None, [], [self._grid()]) if self else "none"


def _words(name: str) -> str:
    return name.replace("_", " ")


def escaped(value: str) -> str:
    """A text in HTML, with escapes for what is not seen."""
    return html.escape(visible(value))


def html_of_facts(facts: Facts) -> str:
    """Names and values as a table of HTML."""
    lines = "".join(f"<tr><th>{escaped(name)}</th><td>{escaped(value)}</td></tr>" for name, value in facts)
    return f"<table>{lines}</table>" if lines else ""


def html_of_grid(grid: Grid) -> str:
    """A grid as a table of HTML."""
    head = "".join(f"<th>{escaped(name)}</th>" for name in grid.header)
    lines = ("".join(f"<td>{escaped(value)}</td>" for value in row) for row in grid.shown())
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def rich_of(title: str | None, facts: Facts, grids: Iterable[Grid]) -> Any:
    """A title, facts and grids for a terminal."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [] if title is None else [Text(visible(title), style="bold")]
    if facts:
        parts.append(_rich_grid(Grid(("", ""), facts), everything=True))
    for grid in grids:
        if parts:
            parts.append(Text(""))
        parts.append(_rich_grid(grid))
    return Group(*parts)


def _rich_grid(grid: Grid, *, everything: bool = False) -> Any:
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, show_header=any(grid.header))
    for name in grid.header:
        made.add_column(Text(visible(name)))
    for row in grid.rows if everything else grid.shown():
        made.add_row(*(Text(visible(value)) for value in row))
    return made
