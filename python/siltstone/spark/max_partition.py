"""``sys.max_pt('db.t')``: the largest value of a table's first partition column, among partitions with rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from siltstone.errors import InvalidArgument
from siltstone.procedures.parse import text_of

if TYPE_CHECKING:
    from siltstone import Table

_CALL = re.compile(
    r"""
      (?P<kept>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*.*?\*/)
    | \b(?:(?:paimon|siltstone)\s*\.\s*)?sys\s*\.\s*max_pt\s*\(\s*(?P<table>'[^']*'|"[^"]*")\s*\)
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def with_max_partitions(query: str, find: Callable[[str], Table]) -> str:
    """The statement with the values in the places of the calls.

    Raises:
        InvalidArgument: A table without partitions.
    """
    return _CALL.sub(lambda m: m["kept"] or _literal(find(text_of(m["table"]))), query)


def _literal(table: Table) -> str:
    import pyarrow as pa

    if not table.partition_by:
        raise InvalidArgument(f"max_pt: {table.name} has no partitions", context={"table": table.name})
    first = table.partition_by[0]
    found = table.inspect("partitions", ["partition"], "record_count > 0").to_arrow().column(0).to_pylist()
    values: list[str] = [name.partition("/")[0].removeprefix(f"{first}=") for name in found]
    if not values:
        return "NULL"
    if pa.types.is_integer(table.schema.field(first).type):
        return str(max(map(int, values)))
    return "'" + max(values).replace("\\", "\\\\").replace("'", "\\'") + "'"
