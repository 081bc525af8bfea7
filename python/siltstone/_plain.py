"""Rows in and out where pyarrow is not installed: frames of polars, relations of duckdb, and by polars dicts."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from siltstone._args import shown
from siltstone._relations import finite_frame, has_times, is_relation, refuse_types
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
    raise InvalidArgument(f"row {at} is a {type(row).__name__}, not a dict", hint=hint)


def plain_stream(data: Any, table: CoreTable) -> Any:
    """Rows as an object with ``__arrow_c_stream__``.

    Raises:
        UnsupportedFeature: They need pyarrow, or polars.
        SchemaMismatch: Values of a column that have no common type.
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
        return _without_nulls(data, table)
    if library != "pandas" and (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        return _without_nulls(pl.DataFrame(data), table)
    if isinstance(data, Mapping):
        check_columns(data)
        return _frame({n: v if isinstance(v, pl.Series) else list(v) for n, v in data.items()}, table)
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        rows = [row_of(at, row) for at, row in enumerate(data)]
        names = dict.fromkeys(name for row in rows for name in row) or pl.Schema(table.arrow_schema()).names()[:1]
        return _frame({name: [row.get(name) for row in rows] for name in names}, table)
    raise UnsupportedFeature(
        f"reading a {type(data).__name__} needs pyarrow, which is not installed",
        hint="pip install pyarrow, or give a polars frame, a relation of duckdb, or a list of dicts",
    )


def _of_relation(relation: Any, table: CoreTable) -> Any:
    refuse_types(relation)
    if not has_times(relation):
        return Stream(relation.__arrow_c_stream__())
    _polars()
    return _without_nulls(finite_frame(relation), table)


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


def _frame(columns: Mapping[str, Any], table: CoreTable) -> pl.DataFrame:
    """Columns in the types that their values have; the core looks whether these fit."""
    pl = _polars()
    known = pl.Schema(table.arrow_schema())
    series = []
    for name, values in columns.items():
        kind = known.get(name)
        is_map = kind is not None and type(kind).__name__ == "Map"
        try:
            series.append(pl.Series(name, values, dtype=kind if is_map else None, strict=True))
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as e:
            raise SchemaMismatch(
                f"the values of column '{name}' have no common type: {e}", context={"column": name}
            ) from e
    try:
        return _without_nulls(pl.DataFrame(series), table)
    except pl.exceptions.PolarsError as e:
        raise InvalidArgument(f"the columns cannot be put together: {e}") from e


def _without_nulls(frame: pl.DataFrame, table: CoreTable) -> pl.DataFrame:
    """A frame whose columns of nothing but nulls have a type: polars exports its own for these as others do not."""
    pl = _polars()
    for name, kind in frame.schema.items():
        if "Int128" in str(kind):
            raise SchemaMismatch(
                f"column '{name}' has integers of more than 64 bits",
                hint="give decimals",
                context={"column": name, "got": str(kind)},
            )
    lacking = [name for name, kind in frame.schema.items() if "Null" in str(kind) or "Object" in str(kind)]
    if not lacking:
        return frame
    known = pl.Schema(table.arrow_schema())
    try:
        return frame.with_columns(pl.col(name).cast(known.get(name, pl.Boolean)) for name in lacking)
    except pl.exceptions.PolarsError as e:
        raise SchemaMismatch(
            f"column '{lacking[0]}' has the type {frame.schema[lacking[0]]} of polars, which cannot be read: {e}",
            context={"column": lacking[0]},
        ) from e


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
        maps = {name: kind for name, kind in frame.schema.items() if "Map(" in str(kind)}
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
    """A value with lists of pairs in the place of maps."""
    if value is None:
        return None
    if type(kind).__name__ == "Map":
        return [(key, item) for key, item in value.items()]
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
