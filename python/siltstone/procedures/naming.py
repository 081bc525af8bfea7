"""Names of tables as SQL writes them, and options as Java's procedures take them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from siltstone import _core
from siltstone._args import shown
from siltstone.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from siltstone import Table

CATALOGS = ("paimon", "siltstone")
"""Catalogs that a name may begin with, wherever the tables are."""
_PART = r"(?:`(?:[^`]|``)+`|[^.`]+)"
_NAME = re.compile(rf"{_PART}(?:\.{_PART})*")
_CATALOG_AND_TABLE = 3


def spark_text(text: str) -> str:
    """A text as Spark's SQL has it in quotes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def plain_name(name: str, catalog: str | None = None) -> str:
    """``db.t`` of ``paimon.db.t`` and of names in backquotes; directories stay as they are.

    Args:
        name: The name as it was given.
        catalog: The catalog in use, whose name may stand before the database, too.

    Raises:
        InvalidArgument: The database's name has a dot: ``db.t`` would be another table.
    """
    if not _has_parts(name):
        return name
    parts = [unquoted(part) for part in re.findall(_PART, name)]
    known = {*CATALOGS, (catalog or "").lower()}
    if len(parts) == _CATALOG_AND_TABLE and parts[0].lower() in known:
        parts = parts[1:]
    if len(parts) > 1 and "." in parts[0]:
        raise InvalidArgument(f"{shown(name)} is not a table: no database has a dot in its name")
    return ".".join(parts)


def has_database(name: str) -> bool:
    """Whether a name, as it was given, is more than that of a table, which may have dots when it is in backquotes."""
    return not _has_parts(name) or len(re.findall(_PART, name)) > 1


def _has_parts(name: str) -> bool:
    """Whether a name consists of parts between dots; directories do not."""
    return not _core.is_path(name) and _NAME.fullmatch(name) is not None


def unquoted(part: str) -> str:
    """A part of a name without its backquotes."""
    return part[1:-1].replace("``", "`") if part.startswith("`") else part


def quoted(part: str) -> str:
    """A part of a name as SQL takes it, whatever is in it."""
    return f"`{part.replace('`', '``')}`"


def option_map(text: str) -> dict[str, str]:
    """``k=v,k2=v2`` as dynamic options.

    Raises:
        InvalidArgument: A part is not ``key=value``.
    """
    options = {}
    for part in filter(str.strip, text.split(",")):
        key, sign, value = part.partition("=")
        if not (sign and key.strip()):
            raise InvalidArgument(f"{shown(part.strip())} is not an option such as bucket=4 (argument 'options')")
        options[key.strip()] = value.strip()
    return options


def with_options(table: Table, options: Mapping[str, str]) -> Table:
    """The same table with more dynamic options."""
    import siltstone as st

    if not options:
        return table
    return st.open_table(table.path, options={**table.dynamic_options, **options})
