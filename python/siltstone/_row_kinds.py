"""Kinds of rows that a write is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from siltstone._args import optional_text, shown, text
from siltstone.errors import InvalidRowKind

if TYPE_CHECKING:
    from siltstone import _core

RowKinds = str | Sequence[str] | Any


def row_kinds(row_kind: RowKinds | None, table: _core.Table) -> str | list[str] | None:
    """One kind, or a list with one per row."""
    if row_kind is None or isinstance(row_kind, str):
        return optional_text("row_kind", row_kind)
    if hasattr(row_kind, "to_pylist"):
        row_kind = row_kind.to_pylist()
    # a set has no order, and the keys of a mapping are no kinds of rows
    if not isinstance(row_kind, Iterable) or isinstance(row_kind, (AbstractSet, Mapping)):
        raise InvalidRowKind(
            f"row_kind={shown(row_kind)} is neither one of +I -U +U -D nor a list of them",
            context={"table": table.name},
        )
    return [text("row_kind", _kind(kind)) for kind in row_kind]


def _kind(kind: Any) -> str:
    """One kind as text; what is none is refused by the core, which quotes it."""
    try:
        return "null" if kind is None else str(kind)
    except ValueError:  # Python writes no integer of more than 4300 digits
        return shown(kind)
