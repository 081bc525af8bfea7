"""Rows in and out where pyarrow is not installed: frames of polars, relations of duckdb, and by polars dicts."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from siltstone._args import shown, text
from siltstone._polars_types import (
    has_long_integers,
    has_nulls,
    is_map,
    is_of_python,
    parts,
    refuse_objects,
    with_pairs,
    without_nulls,
)
from siltstone._relations import finite_frame, has_times, is_relation, refuse_types
from siltstone._series import own_series, series
from siltstone.errors import InvalidArgument, SchemaMismatch, UnsupportedFeature

if TYPE_CHECKING:
    import polars as pl

    from siltstone._core import Table as CoreTable

#: Libraries whose streams have buffers as the core reads them.
_KNOWN = frozenset(("_duckdb", "duckdb", "siltstone"))


class Stream:
    """A capsule that was asked for beforehand.

    What is wrong with it is an error of its maker, and not of who reads it; and a maker that lets the interpreter go
    meanwhile does so outside of a call of the core.
    """

    def __init__(self, capsule: Any) -> None:
        """Take what ``__arrow_c_stream__`` returned."""
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """The capsule; it can be read once."""
        return self._capsule


def row_of(at: int, row: Any) -> Mapping[str, Any]:
    """A row as a dict.

    Raises:
        InvalidArgument: It is neither a dict, nor a dataclass, nor a named tuple.
    """
    if isinstance(row, Mapping):
        return row
    if dataclasses.is_dataclass(row) and not isinstance(row, type):
        return {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    if hasattr(row, "_asdict"):  # a named tuple
        found: Mapping[str, Any] = row._asdict()
        return found
    hint = None
    if isinstance(row, (str, os.PathLike)):
        hint = "files are given one at a time, or as a pattern such as 'days/*.parquet'; t.writer() makes one commit"
    elif isinstance(row, (tuple, list)):
        hint = "give a list of dicts or of named tuples, or columns by name: {'id': [1, 2]}"
    elif hasattr(row, "__arrow_c_stream__") or hasattr(row, "columns"):
        hint = "frames are given one at a time; t.writer() makes one commit of several"
    raise InvalidArgument(f"row {at} is a {type(row).__name__}, not a dict", hint=hint)


def plain_stream(data: Any, table: CoreTable, *, others: bool = False) -> Any:
    """Rows as an object with ``__arrow_c_stream__``.

    Args:
        data: What has the rows.
        table: The table whose schema types rows of Python objects.
        others: Columns that the table does not have are read, too, in the types that their values have.

    Raises:
        UnsupportedFeature: They need pyarrow, or polars.
        SchemaMismatch: A value that its column cannot hold exactly.
    """
    library = type(data).__module__.partition(".")[0]
    if is_relation(data):
        return _of_relation(data, table)
    if library in _KNOWN and hasattr(data, "__arrow_c_stream__"):
        return Stream(data.__arrow_c_stream__())
    pl = _polars()
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if isinstance(data, pl.DataFrame):
        return _typed(data, table)
    if library != "pandas" and (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        return _typed(pl.DataFrame(data), table)
    if isinstance(data, Mapping):
        check_columns(data)
        return _frame({text("a column's name", name): given for name, given in data.items()}, table, others=others)
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        rows = [row_of(at, row) for at, row in enumerate(data)]
        found = {text("a column's name", name): None for row in rows for name in row}
        names = found or pl.Schema(table.arrow_schema()).names()[:1]
        return _frame({name: [row.get(name) for row in rows] for name in names}, table, others=others)
    raise UnsupportedFeature(
        f"reading a {type(data).__name__} needs pyarrow, which is not installed",
        hint="pip install pyarrow, or give a polars frame, a relation of duckdb, or a list of dicts",
    )


def _of_relation(relation: Any, table: CoreTable) -> Any:
    refuse_types(relation)
    if not has_times(relation):
        return Stream(relation.__arrow_c_stream__())
    _polars()
    return _typed(finite_frame(relation), table)


def check_columns(columns: Mapping[str, Any]) -> None:
    """Look at a dict of columns.

    Raises:
        InvalidArgument: What stands for a column is no list of values.
    """
    for name, given in columns.items():
        is_single = isinstance(given, (str, bytes, Mapping)) or getattr(given, "ndim", 1) == 0
        if is_single or not (isinstance(given, Iterable) or hasattr(given, "__arrow_c_array__")):
            raise InvalidArgument(
                f"column '{name}' of the dict is {shown(given)}, which is no list of values",
                hint="give a list of dicts, one for each row, or a dict of lists, one for each column",
            )


def _polars() -> Any:
    try:
        import polars as pl
    except ImportError:
        raise UnsupportedFeature(
            "this needs pyarrow or polars, and neither is installed", hint="pip install pyarrow, or polars"
        ) from None
    return pl


def check_lengths(columns: Mapping[str, Any]) -> None:
    """Look at the numbers of values.

    Raises:
        InvalidArgument: They are not the same in all columns.
    """
    if len({len(values) for values in columns.values()}) > 1:
        lengths = ", ".join(f"{name}: {len(values)}" for name, values in columns.items())
        raise InvalidArgument(f"the columns have different numbers of values ({lengths})")


def _frame(columns: Mapping[str, Any], table: CoreTable, *, others: bool) -> pl.DataFrame:
    """Columns of Python values in the table's types; what has a type of its own keeps it, and the core looks at it."""
    pl = _polars()
    known = pl.Schema(table.arrow_schema())
    made = {}
    for name, given in columns.items():
        own = _own_series(name, given)
        if own is None:
            values = list(given)
            if name in known:
                own = series(name, values, known[name])
            elif others:
                own = own_series(name, values)
            else:  # the core refuses it, or leaves it out
                own = pl.Series(name, [None] * len(values), dtype=pl.Boolean)
        made[name] = own
    check_lengths(made)
    return _typed(pl.DataFrame(list(made.values())), table)


def _own_series(name: str, given: Any) -> Any:
    """A column that has a type of its own; None where it has Python values."""
    pl = _polars()
    if isinstance(given, pl.Series):
        return None if is_of_python(given.dtype) else given.alias(name)
    is_of_pandas = type(given).__module__.partition(".")[0] == "pandas"
    if is_of_pandas or not (hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__")):
        return None
    try:
        return pl.Series(name, given)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as e:
        raise InvalidArgument(f"column '{name}' of the dict cannot be read as Arrow data: {e}") from e


def _typed(frame: pl.DataFrame, table: CoreTable) -> pl.DataFrame:
    """A frame without types of nothing but nulls, which polars exports as others do not; all values stay."""
    pl = _polars()
    refuse_objects(frame)
    for name, kind in frame.schema.items():
        if has_long_integers(kind):
            raise SchemaMismatch(
                f"column '{name}' has integers of more than 64 bits",
                hint="give decimals",
                context={"column": name, "got": str(kind)},
            )
    known = pl.Schema(table.arrow_schema())
    lacking = {name: without_nulls(kind, known.get(name)) for name, kind in frame.schema.items() if has_nulls(kind)}
    return frame.with_columns(pl.col(name).cast(kind) for name, kind in lacking.items()) if lacking else frame


def rows_of(batches: Iterator[Any]) -> Iterator[dict[str, Any]]:
    """Batches of the core as dicts, with values as pyarrow has them.

    Raises:
        UnsupportedFeature: polars is not installed, or Python has no such value.
    """
    pl = _polars()
    for batch in batches:
        frame = pl.DataFrame(batch)
        for name, kind in frame.schema.items():
            _refuse_nanoseconds(frame[name], kind)
        maps = {name: kind for name, kind in frame.schema.items() if any(map(is_map, parts(kind)))}
        # a dict has each key once
        frame = frame.with_columns(pl.col(name).cast(with_pairs(kind)) for name, kind in maps.items())
        for row in frame.iter_rows(named=True):
            for name, kind in maps.items():
                row[name] = _with_pairs(row[name], kind)
            yield row


def _refuse_nanoseconds(values: Any, kind: Any) -> None:
    if getattr(kind, "time_unit", None) == "ns" and (values.dt.nanosecond() % 1000 != 0).any():
        raise UnsupportedFeature(
            f"column '{values.name}' has nanoseconds, which no datetime of Python has", hint="use to_polars()"
        )


def _with_pairs(value: Any, kind: Any) -> Any:
    """A value with lists of pairs in the place of lists of keys and values, which maps are."""
    if value is None:
        return None
    if is_map(kind):
        return [(_with_pairs(pair["key"], kind.key), _with_pairs(pair["value"], kind.value)) for pair in value]
    if hasattr(kind, "inner"):
        return [_with_pairs(item, kind.inner) for item in value]
    if hasattr(kind, "fields"):
        return {field.name: _with_pairs(value[field.name], field.dtype) for field in kind.fields}
    return value


def schema_of(data: Any) -> Any:
    """The columns of a frame of polars, a relation of duckdb, a table or a scan; None for anything else."""
    library = type(data).__module__.partition(".")[0]
    if library == "polars" and hasattr(data, "collect_schema"):
        return data.collect_schema()
    if library in {"_duckdb", "duckdb"}:
        return _polars().DataFrame(data.limit(0)).schema
    if library != "siltstone" or not hasattr(data, "__arrow_c_stream__"):
        return None
    return _polars().Schema(data if hasattr(data, "__arrow_c_schema__") else data.scan())
