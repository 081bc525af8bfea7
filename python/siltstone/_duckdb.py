"""Rows for DuckDB, to which names that differ only in the case of their letters are one name."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from siltstone._args import shown
from siltstone._arrow_schema import CSchema, c_schema, children_of
from siltstone._pyarrow import has_pyarrow
from siltstone.errors import InvalidArgument, SiltstoneError, UnsupportedFeature

if TYPE_CHECKING:
    Scan = Any

_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def connected(connection: Any) -> Any:
    """A connection of an argument; None stands for DuckDB's default one.

    Raises:
        InvalidArgument: Something else.
    """
    import duckdb

    if connection is not None and not hasattr(connection, "from_arrow"):
        raise InvalidArgument(
            f"connection={shown(connection)} is not a connection of DuckDB", hint="give duckdb.connect(...)"
        )
    return duckdb if connection is None else connection


def for_duckdb(scan: Scan, failed: list[SiltstoneError] | None = None) -> Any:
    """What DuckDB reads the rows of a scan from: a dataset, or without pyarrow a stream.

    Args:
        scan: The scan.
        failed: Where the dataset puts errors of its reads, which DuckDB makes texts of.

    Raises:
        UnsupportedFeature: Two columns, or two fields of a ROW, whose names differ only in case: DuckDB would give the
            values of one for the other, without a word.
    """
    rows = scan.to_dataset() if has_pyarrow() else scan
    if failed is not None and has_pyarrow():
        rows.failed = failed
    with c_schema(rows.schema if has_pyarrow() else scan) as schema:
        siblings = list(_siblings(schema, ""))
    for place, names in siblings:
        if pair := alike(names):
            what = f"the fields of column '{place}'," if place else "the columns"
            left_out = "the column" if place else "one of them"
            raise UnsupportedFeature(
                f"{what} {shown(pair[0])} and {shown(pair[1])} differ only in case, which DuckDB does not tell apart",
                hint=f"leave {left_out} out, t.scan([...]).to_duckdb(), or read the rows without DuckDB",
                context={"column": place or pair[1]},
            )
    return rows


def alike(names: Iterable[str]) -> tuple[str, str] | None:
    """The first two names that are one to DuckDB, which knows the case of the letters of ASCII alone."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.translate(_SMALL), name)
        if other != name:
            return other, name
    return None


def _siblings(schema: CSchema, place: str) -> Iterator[tuple[str, list[str]]]:
    """The names that stand side by side, at each place."""
    children = children_of(schema)
    yield place, [name for name, _ in children]
    for name, child in children:
        yield from _siblings(child, f"{place}.{name}" if place else name)
