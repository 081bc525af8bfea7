"""``sys.max_pt('db.t')``: the largest value of a table's first partition column, among partitions with rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from siltstone.errors import InvalidArgument
from siltstone.procedures.naming import spark_text
from siltstone.procedures.parse import text_of

if TYPE_CHECKING:
    import pyarrow as pa

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
    """The largest value, in the order of its type; NULL where all are null, or there are none."""
    import pyarrow as pa

    from siltstone.spark.types import spark_schema

    if not table.partition_by:
        raise InvalidArgument(f"max_pt: {table.name} has no partitions", context={"table": table.name})
    first = table.partition_by[0]
    texts = [value for p in table.partitions() if p.rows and (value := p.spec[first]) is not None]
    if not texts:
        return "NULL"
    kind = table.schema.field(first).type
    if pa.types.is_string(kind):
        # the order of UTF-8, as everywhere in Paimon
        return spark_text(max(texts, key=str.encode))
    largest = max(texts) if pa.types.is_time(kind) else texts[_largest(pa.array(texts).cast(_comparable(kind)))]
    zone = " UTC" if pa.types.is_timestamp(kind) and kind.tz else ""
    return f"CAST({spark_text(largest + zone)} AS {spark_schema(table.schema)[first].dataType.simpleString()})"


def _comparable(kind: pa.DataType) -> pa.DataType:
    """A type that texts of values can be cast to, with the order of the values."""
    import pyarrow as pa

    return pa.timestamp(kind.unit) if pa.types.is_timestamp(kind) else kind


def _largest(values: pa.Array) -> int:
    """The place of the largest one; NaN comes behind all numbers."""
    known = values.to_pylist()
    return max(range(len(known)), key=lambda at: (known[at] != known[at], known[at]))  # NaN is not itself
