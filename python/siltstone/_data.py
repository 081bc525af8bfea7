"""Containers of rows as Arrow streams: Arrow objects, frames of pandas and polars, lists of dicts."""

from __future__ import annotations

import contextlib
import decimal
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from siltstone._args import text
from siltstone._arrow import of_pyarrow
from siltstone._values import column
from siltstone.errors import InvalidArgument, SchemaError, SchemaMismatch, SiltstoneError

if TYPE_CHECKING:
    from siltstone._core import Table as CoreTable


@contextlib.contextmanager
def arrow_stream(data: Any, table: CoreTable) -> Iterator[Any]:
    """Anything with rows as an object with ``__arrow_c_stream__``, for one call.

    What ends a program (``SystemExit``, Ctrl-C) and is raised by the code of a stream, or by a signal handler that runs
    in it, is what the call raises; an ``Exception`` is the cause of the call's own.

    Args:
        data: An Arrow PyCapsule producer (pyarrow, polars, duckdb), a pandas frame, or a list of dicts.
        table: The table whose schema types a list of dicts, and columns of Python objects.

    Raises:
        InvalidArgument: For anything else, and for Arrow data that is broken.
        SchemaMismatch: A value that its column cannot hold exactly.
    """
    raised: list[BaseException] = []
    try:
        stream = _stream(data, table, raised)
    except SchemaError as e:
        raise type(e)(e.message, hint=e.hint, context={"table": table.name} | e.context) from e
    try:
        yield stream
    except SiltstoneError as e:
        if not raised:
            raise
        if isinstance(raised[0], Exception):
            raise e from raised[0]
        raise raised[0] from None


def _stream(data: Any, table: CoreTable, raised: list[BaseException]) -> Any:
    import pyarrow as pa

    library = type(data).__module__.partition(".")[0]
    if library == "pandas" and hasattr(data, "columns"):
        return _pandas_to_arrow(data, table)
    if library == "polars" and hasattr(data, "to_arrow") and hasattr(data, "columns"):
        return _polars_to_arrow(data)
    if hasattr(data, "__arrow_c_stream__"):
        known = isinstance(data, (pa.Table, pa.RecordBatch, pa.RecordBatchReader))
        return of_pyarrow(data if known else _read_by_pyarrow(data), raised)
    if hasattr(data, "__arrow_c_array__"):
        try:
            return of_pyarrow(pa.record_batch(data))
        except (pa.ArrowInvalid, TypeError) as e:
            raise InvalidArgument(f"{type(data).__name__} holds no rows: {e}") from e
    if isinstance(data, Mapping):
        raise InvalidArgument("a single dict is not a table of rows: give a list of dicts")
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rows_to_arrow(data, table)
    kind = type(data).__name__
    hint = "call collect() first" if library == "polars" else None
    raise InvalidArgument(f"{kind} holds no rows: give an Arrow object, a pandas frame or a list of dicts", hint=hint)


class _Stream:
    """A capsule, so that only what is wrong with it is an error of the import."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._capsule


def _read_by_pyarrow(data: Any) -> Any:
    """A stream of another library as pyarrow reads it: lengths that cannot be are found before they are used."""
    import pyarrow as pa

    stream = _Stream(data.__arrow_c_stream__())
    try:
        return pa.RecordBatchReader.from_stream(stream)
    except (pa.ArrowException, TypeError, ValueError) as e:
        raise InvalidArgument(f"{type(data).__name__} gave no Arrow stream that can be read: {e}") from e


def _polars_to_arrow(frame: Any) -> Any:
    """By way of pyarrow: polars exports columns of its type Null in a form that others do not read."""
    import pyarrow as pa

    for name, kind in frame.schema.items():
        if _has_objects(kind):
            raise SchemaMismatch(
                f"column '{name}' has the type Object of polars, which holds addresses and no values",
                hint="give the column a type, for example with map_elements(..., return_dtype=...)",
                context={"column": name, "got": str(kind)},
            )
    try:
        return of_pyarrow(frame.to_arrow())
    except (pa.ArrowException, TypeError, ValueError) as e:
        for name, kind in frame.schema.items():
            _polars_column(name, kind, frame)
        raise InvalidArgument(f"the frame cannot be read as Arrow data: {e}") from e


def _polars_column(name: str, kind: Any, frame: Any) -> None:
    """Refuses a column whose type pyarrow does not have."""
    import pyarrow as pa

    try:
        frame[name].to_arrow()
    except (pa.ArrowException, TypeError, ValueError) as e:
        message = f"column '{name}' has the type {kind} of polars, which cannot be read as Arrow data: {e}"
        raise SchemaMismatch(message, context={"column": name, "got": str(kind)}) from e


def _has_objects(kind: Any) -> bool:
    """Whether a type of polars is Object or has such a part."""
    if str(kind) == "Object":
        return True
    inner = getattr(kind, "inner", None)
    fields = getattr(kind, "fields", ())
    return (inner is not None and _has_objects(inner)) or any(_has_objects(f.dtype) for f in fields)


def _pandas_to_arrow(frame: Any, table: CoreTable) -> Any:
    """A frame without its index; missing values (None, NaN, NaT, NA) are null, objects get the table's types."""
    import pyarrow as pa

    known = {f.name: f.type for f in pa.schema(table.arrow_schema())}
    names = [text("a column's name", name) for name in frame.columns]
    columns = []
    for at, name in enumerate(names):
        series = frame.iloc[:, at]
        if series.dtype == object:
            values = [_without_nan(value) for value in series]
            columns.append(_typed(name, values, known.get(name)))
            continue
        try:
            columns.append(pa.array(series, from_pandas=True))
        except (pa.ArrowException, ValueError, TypeError) as e:
            message = f"column '{name}' of the frame has the type {series.dtype}, which Arrow does not have: {e}"
            raise SchemaMismatch(message, context={"column": name, "got": str(series.dtype)}) from e
    _once(names)
    return of_pyarrow(pa.table(columns, names=names)) if names else _rows_to_arrow([{}] * len(frame), table)


def _without_nan(value: Any) -> Any:
    """None for a missing value of pandas, also inside of its lists, as whole columns have it."""
    if type(value).__module__ != "numpy" or getattr(value, "ndim", 0) == 0:
        return None if _is_missing(value) else value
    import pandas as pd

    items = [pd.Timestamp(item) for item in value] if value.dtype.kind == "M" else list(value)
    return [_without_nan(item) for item in items]


def _is_missing(value: Any) -> bool:
    import pandas as pd

    if isinstance(value, decimal.Decimal):
        return value.is_qnan()  # a signaling one cannot be compared, and is no missing value either
    return pd.api.types.is_scalar(value) and bool(pd.isna(value))


def _once(names: Sequence[str]) -> None:
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise SchemaMismatch(f"column '{twice}' is in the input twice", context={"column": twice})


def _rows_to_arrow(rows: Sequence[Any], table: CoreTable) -> Any:
    """A pyarrow table of dicts, with the table's types for the columns that occur."""
    import pyarrow as pa

    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InvalidArgument(f"row {i} is a {type(row).__name__}, not a dict")
        for name in row:
            text("a column's name", name)
    schema = pa.schema(table.arrow_schema())
    names = dict.fromkeys(name for row in rows for name in row)
    known = {f.name: f.type for f in schema}
    if not rows:
        return schema.empty_table()
    if not names:  # rows of nothing but nulls
        names = dict.fromkeys(schema.names[:1])
    columns = [_typed(name, [row.get(name) for row in rows], known.get(name)) for name in names]
    return pa.table(columns, names=list(names))


def _typed(name: str, values: list[Any], kind: Any) -> Any:
    """Values in the type of their column; the core refuses, or leaves out, a column that the table does not have."""
    import pyarrow as pa

    return pa.nulls(len(values)) if kind is None else column(name, values, kind)
