"""Tables of pyarrow as frames of pandas, with every value as it is; frames whose indexes are columns."""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING, Any

from siltstone._args import shown
from siltstone.errors import InvalidArgument, SchemaMismatch

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def frame_of(table: pa.Table, dtype_backend: str | None = None) -> pd.DataFrame:
    """A frame with the types that pandas calls ``numpy_nullable`` or ``pyarrow``, or with its oldest ones.

    Raises:
        InvalidArgument: Another word.
        SchemaMismatch: A date or time beyond the years of Python.
    """
    known = isinstance(dtype_backend, str) and dtype_backend in {"pyarrow", "numpy_nullable"}
    if dtype_backend is not None and not known:
        raise InvalidArgument(
            f"dtype_backend={shown(dtype_backend)} is not a dtype backend of pandas",
            hint="'numpy_nullable', 'pyarrow' or None",
        )
    try:
        return _frame_of(table, dtype_backend)
    except (OverflowError, ValueError) as e:
        _refuse_beyond_python(table, e)
        raise


def objects_of(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows as dicts.

    Raises:
        SchemaMismatch: A date or time beyond the years of Python.
    """
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except (OverflowError, ValueError) as e:
        _refuse_beyond_python(batch, e)
        raise
    return rows


def _refuse_beyond_python(rows: Any, cause: Exception) -> None:
    """An error for dates and times that no object of Python can be, where these are the reason."""
    for field, column in zip(rows.schema, rows.columns, strict=True):
        if not any(word in str(field.type) for word in ("date", "time")):
            continue
        try:
            column.to_pylist()
        except (OverflowError, ValueError) as e:
            message = f"column '{field.name}' has a value that no object of Python can be: {e}"
            hint = "read it with to_arrow() or to_polars()"
            raise SchemaMismatch(message, hint=hint, context={"column": field.name}) from cause


def _frame_of(table: pa.Table, dtype_backend: str | None) -> pd.DataFrame:
    if dtype_backend is None:
        return pandas_frame(table)
    import pandas as pd

    frame: pd.DataFrame
    if dtype_backend == "pyarrow":
        frame = table.to_pandas(types_mapper=pd.ArrowDtype)
        return frame
    frame = table.to_pandas(types_mapper=_nullable().get, integer_object_nulls=True)
    return _with_columns(frame, _as_objects(table))


def _nullable() -> dict[Any, Any]:
    import pandas as pd

    from siltstone._pyarrow import pa

    return {
        pa.int8(): pd.Int8Dtype(),
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.float32(): pd.Float32Dtype(),
        pa.float64(): pd.Float64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
        pa.string(): pd.StringDtype(),
    }


def pandas_frame(table: pa.Table) -> pd.DataFrame:
    """A frame with every value as it is: a float would not hold each BIGINT, an integer in a row is no moment."""
    import pandas as pd

    from siltstone._pyarrow import pa

    frame: pd.DataFrame = table.to_pandas(integer_object_nulls=True)
    others = _as_objects(table)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count and pa.types.is_integer(column.type):
            wide = {pa.int64(): pd.Int64Dtype()}
            others[name] = column.to_pandas(types_mapper=wide.get)
    return _with_columns(frame, others)


def _with_columns(frame: pd.DataFrame, others: dict[str, Any]) -> pd.DataFrame:
    """The frame with other columns of these names."""
    import pandas as pd

    if not others:
        return frame
    return pd.DataFrame({name: others.get(name, frame[name]) for name in frame.columns}, copy=False)


def _as_objects(table: pa.Table) -> dict[str, Any]:
    """The columns that are objects of Python, because what pyarrow makes of them has other values."""
    import pandas as pd

    columns = zip(table.column_names, table.columns, strict=True)
    return {
        name: pd.Series(column.to_pylist(), dtype=object)
        for name, column in columns
        if _has_nanoseconds_in_rows(column.type) or any(_has_nan_in_lists(chunk) for chunk in column.chunks)
    }


def _has_nan_in_lists(array: pa.Array, *, in_list: bool = False) -> bool:
    """Whether lists have NaN, which would be nulls: of lists of floats pyarrow makes arrays, in which nulls are NaN."""
    import pyarrow.compute as pc

    from siltstone._pyarrow import pa

    kind = array.type
    if pa.types.is_floating(kind):
        return in_list and bool(pc.any(pc.is_nan(array)).as_py())
    if pa.types.is_list(kind):
        return _has_nan_in_lists(array.flatten(), in_list=True)
    if pa.types.is_map(kind):
        return any(_has_nan_in_lists(part) for part in (array.keys, array.items))
    return pa.types.is_struct(kind) and any(_has_nan_in_lists(part) for part in array.flatten())


def _has_nanoseconds_in_rows(kind: pa.DataType, *, in_row: bool = False) -> bool:
    """Whether pyarrow would make integers of moments, which it does with nanoseconds in rows and maps."""
    from siltstone._pyarrow import pa

    if pa.types.is_timestamp(kind):
        return in_row and kind.unit == "ns"
    if pa.types.is_list(kind):
        value = kind.value_type
        return _has_nanoseconds_in_rows(value, in_row=in_row and not pa.types.is_timestamp(value))
    if pa.types.is_map(kind):
        return any(_has_nanoseconds_in_rows(part, in_row=True) for part in (kind.key_type, kind.item_type))
    return pa.types.is_struct(kind) and any(_has_nanoseconds_in_rows(field.type, in_row=True) for field in kind)


def unwrapped(data: Any) -> Any:
    """The frame within one of narwhals; anything else as it is."""
    is_wrapper = type(data).__module__.partition(".")[0] == "narwhals" and hasattr(data, "to_native")
    return data.to_native() if is_wrapper else data


def with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame of pandas with what its index names as columns before its own, as after a ``groupby``.

    Raises:
        SchemaMismatch: It has a column of that name as well.
    """
    named = [level for level, name in enumerate(frame.index.names) if name is not None]
    if not named:
        return frame
    names = [frame.index.names[level] for level in named]
    twice = next((name for name in names if name in frame.columns or names.count(name) > 1), None)
    if twice is not None:
        raise SchemaMismatch(
            f"the frame has '{twice}' as a column and in its index, or twice in its index",
            hint="leave the index out: frame.reset_index(drop=True)",
            context={"column": str(twice)},
        )
    return frame.reset_index(level=named)


def is_column(value: Any) -> bool:
    """Whether something of numpy, pandas, polars or pyarrow is one column of values, which are no rows themselves."""
    if type(value).__module__.partition(".")[0] not in {"numpy", "pandas", "polars", "pyarrow"}:
        return False
    if not hasattr(value, "__len__") or hasattr(value, "columns") or getattr(value, "ndim", 1) != 1:
        return False
    kind = str(getattr(value, "dtype", getattr(value, "type", "")))
    return not kind.lower().startswith("struct")


def without_nan(value: Any) -> Any:
    """None for a missing value of pandas, also inside of arrays of numpy, wherever they are: as columns have it."""
    if not _is_container(value):
        return None if _is_missing(value) else value
    try:
        return _without_nan_in_arrays(value)
    except RecursionError:  # what is too deep is refused as a value of its column
        return value


def _is_container(value: Any) -> bool:
    return type(value) in {dict, list, tuple} or (type(value).__module__ == "numpy" and getattr(value, "ndim", 0) > 0)


def _without_nan_in_arrays(value: Any) -> Any:
    """Lists, tuples and dicts with the values that they have: NaN is no null there, but it is in an array of numpy."""
    if type(value) is dict:
        return {key: _without_nan_in_arrays(item) for key, item in value.items()}
    if type(value) in {list, tuple}:
        return type(value)(_without_nan_in_arrays(item) for item in value)
    if not _is_container(value):
        return value
    if value.dtype.kind == "M":  # not by pandas: it takes units below nanoseconds for these
        import numpy as np

        return [None if np.isnat(item) else item for item in value]
    return [without_nan(item) for item in value]


def _is_missing(value: Any) -> bool:
    import pandas as pd

    if isinstance(value, decimal.Decimal):
        return value.is_qnan()  # a signaling one cannot be compared, and is no missing value either
    return pd.api.types.is_scalar(value) and bool(pd.isna(value))
