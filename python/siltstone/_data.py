"""Containers of rows as Arrow streams: Arrow objects, frames of pandas and polars, files, lists of dicts, columns."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from siltstone._args import text
from siltstone._arrow import arrow_text, is_of_pyarrow, of_pyarrow, without_traceback
from siltstone._files import file_rows, is_file_name, known_rows
from siltstone._frames import unwrapped, with_index, without_nan
from siltstone._plain import Stream, check_columns, check_lengths, plain_stream, row_of
from siltstone._polars_rows import lazy_reader, polars_to_arrow
from siltstone._polars_types import is_of_python
from siltstone._progress import counted
from siltstone._pyarrow import has_pyarrow
from siltstone._relations import finite, has_times, is_relation, refuse_types
from siltstone._values import column, own_column
from siltstone.errors import InvalidArgument, SchemaError, SchemaMismatch, SiltstoneError

if TYPE_CHECKING:
    from siltstone._core import Table as CoreTable


@contextlib.contextmanager
def arrow_stream(data: Any, table: CoreTable, *, others: bool = False) -> Iterator[Any]:
    """Anything with rows as an object with ``__arrow_c_stream__``, for one call.

    What ends a program (``SystemExit``, Ctrl-C) and is raised by the code of a stream, or by a signal handler that runs
    in it, is what the call raises; an ``Exception`` is the cause of the call's own.

    Args:
        data: An Arrow PyCapsule producer (pyarrow, polars, duckdb), a frame of pandas or polars, also a lazy one, a
            dataset of pyarrow, the name of a file, a list of dicts or dataclasses, or of batches of pyarrow,
            or a dict of columns.
        table: The table whose schema types rows of Python objects.
        others: Columns that the table does not have are read, too, in the types that their values have.

    Raises:
        InvalidArgument: For anything else, and for Arrow data that is broken.
        SchemaMismatch: A value that its column cannot hold exactly.
    """
    raised: list[BaseException] = []
    refused: list[SiltstoneError] = []
    try:
        data = unwrapped(data)
        if has_pyarrow():
            typing = Typing(table, refused, others=others)
            stream = counted(_stream(data, typing, raised), lambda: known_rows(data))
        else:
            stream = plain_stream(data, table, others=others)
    except SchemaError as e:
        raise type(e)(e.message, hint=e.hint, context={"table": table.name} | e.context) from e
    try:
        yield stream
    except Exception as e:
        own = _of_stream(e, data, table, refused, raised)
        if own is e:
            raise
        if isinstance(own, Exception):
            raise own from (raised[0] if raised and not refused else e)
        raise own from None


def _of_stream(
    e: Exception, data: Any, table: CoreTable, refused: list[SiltstoneError], raised: list[BaseException]
) -> BaseException:
    """What a call raises that read a stream and failed: what the stream itself has to say, else its error."""
    context = {"table": table.name}
    if refused:  # by the reader of a file, and not by the code of a stream
        own = refused[0]
        return type(own)(own.message, hint=own.hint, context=context | own.context)
    if raised and not isinstance(raised[0], Exception):
        return raised[0]
    if not isinstance(e, SiltstoneError):
        # whoever reads by pyarrow gets errors of pyarrow
        failed = f"the input stream failed: {arrow_text(e)}"
        return InvalidArgument(failed, context=context) if is_of_pyarrow(e) else e
    if isinstance(e, SchemaError) and is_file_name(data):
        return type(e)(e.message, hint=e.hint, context=e.context | {"file": str(data)})
    message = without_traceback(e.message)
    return e if message == e.message and not raised else type(e)(message, hint=e.hint, context=e.context)


class Typing:
    """The types of columns of Python objects and of files; and what the reader of a file refuses later on."""

    def __init__(self, table: CoreTable, refused: list[SiltstoneError], *, others: bool) -> None:
        """Those of a table; ``others``: as their values are, where the table has no such column."""
        from siltstone._pyarrow import pa

        self.schema = pa.schema(table.arrow_schema())
        self._known = {f.name: f.type for f in self.schema}
        self.others, self.refused = others, refused

    def column(self, name: str, values: Sequence[Any]) -> Any:
        """Values in the type of their column; the core refuses, or leaves out, one that the table does not have."""
        from siltstone._pyarrow import pa

        kind = self._known.get(name)
        if kind is not None:
            return column(name, values, kind)
        if not self.others:
            return pa.nulls(len(values))
        return own_column(name, values)


def _stream(data: Any, typing: Typing, raised: list[BaseException]) -> Any:  # noqa: C901, PLR0911  # one line for each kind
    from siltstone._pyarrow import pa

    library = type(data).__module__.partition(".")[0]
    if library == "pandas" and hasattr(data, "columns"):
        return _pandas_to_arrow(with_index(data), typing)
    if library == "polars" and hasattr(data, "collect_schema") and hasattr(data, "collect"):
        return of_pyarrow(lazy_reader(data), raised)
    if library == "polars" and hasattr(data, "to_arrow") and hasattr(data, "columns"):
        return polars_to_arrow(data)
    if hasattr(data, "__arrow_c_stream__"):
        known = isinstance(data, (pa.Table, pa.RecordBatch, pa.RecordBatchReader))
        return of_pyarrow(data if known else _read_by_pyarrow(data, typing.refused), raised)
    if hasattr(data, "__arrow_c_array__"):
        try:
            return of_pyarrow(pa.record_batch(data))
        except (pa.ArrowInvalid, TypeError) as e:
            raise _no_rows(data, e, "holds no rows") from e
    if library == "pyarrow" and hasattr(data, "scanner"):
        return of_pyarrow(data.scanner().to_reader(), raised)
    if library == "pyarrow" and hasattr(data, "to_reader"):
        return of_pyarrow(data.to_reader(), raised)
    if is_file_name(data):
        return of_pyarrow(file_rows(data, typing.schema, typing.refused, others=typing.others), raised)
    if isinstance(data, Mapping):
        return of_pyarrow(_columns_to_arrow(data, typing))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rows_to_arrow(data, typing)
    raise InvalidArgument(
        f"{type(data).__name__} holds no rows: give an Arrow object, a frame, a file name, or a list of dicts",
        hint=_instead(data),
    )


#: What to give instead of things of other libraries that are no rows themselves.
_INSTEAD = {
    "numpy": "give columns by name: {'id': array}",
    "pandas": "give a frame: series.to_frame()",
    "deltalake": "give its rows: table.to_pyarrow_dataset()",
    "pyiceberg": "give its rows: table.scan().to_arrow()",
}


def _instead(data: Any) -> str | None:
    library = type(data).__module__.partition(".")[0]
    if library in _INSTEAD:
        return _INSTEAD[library]
    if dataclasses.is_dataclass(data):
        return "put the row into a list"
    if isinstance(data, str):
        return "names of files end with .parquet, .orc, .arrow, .csv or .json"
    return "make a list of it" if isinstance(data, Iterable) else None


def _columns_to_arrow(columns: Mapping[str, Any], typing: Typing) -> Any:
    """A dict of columns as a table of pyarrow."""
    from siltstone._pyarrow import pa

    check_columns(columns)
    made = {text("a column's name", name): _column_to_arrow(name, given, typing) for name, given in columns.items()}
    check_lengths(made)
    return pa.table(made) if made else typing.schema.empty_table()


def _column_to_arrow(name: str, given: Any, typing: Typing) -> Any:
    """Values of a column; what has them as Arrow data is not asked for objects of Python, which have no nanoseconds."""
    from siltstone._pyarrow import pa

    if isinstance(given, (pa.Array, pa.ChunkedArray)):
        return given
    library = type(given).__module__.partition(".")[0]
    try:
        if library == "polars" and hasattr(given, "to_frame") and not is_of_python(given.dtype):
            return polars_to_arrow(given.to_frame(name)).column(0)
        if library == "pandas" and hasattr(getattr(given, "dtype", None), "pyarrow_dtype"):
            return pa.array(given, from_pandas=True)
        if library not in {"pandas", "polars"} and hasattr(given, "__arrow_c_array__"):
            return pa.array(given)
        if library not in {"pandas", "polars"} and hasattr(given, "__arrow_c_stream__"):
            return pa.chunked_array(given)
    except SiltstoneError:
        raise
    except (pa.ArrowException, TypeError, ValueError) as e:
        raise InvalidArgument(f"column '{name}' of the dict cannot be read as Arrow data: {arrow_text(e)}") from e
    return typing.column(name, list(given))


def _read_by_pyarrow(data: Any, refused: list[SiltstoneError]) -> Any:
    """A stream of another library as pyarrow reads it: lengths that cannot be are found before they are used."""
    from siltstone._pyarrow import pa

    looked_at = is_relation(data)
    if looked_at:
        refuse_types(data)
        looked_at = has_times(data)
    stream = Stream(data.__arrow_c_stream__())
    try:
        reader = pa.RecordBatchReader.from_stream(stream)
    except (pa.ArrowException, TypeError, ValueError) as e:
        raise _no_rows(data, e, "gave no Arrow stream that can be read") from e
    return finite(reader, refused) if looked_at else reader


def _no_rows(data: Any, e: Exception, failed: str) -> InvalidArgument:
    """The error for Arrow data that pyarrow takes no rows from."""
    kind = type(data).__name__
    if "non-struct" not in str(e):
        return InvalidArgument(f"{kind} {failed}: {arrow_text(e)}")
    one = f"{kind} holds one column without a name, and no rows"
    return InvalidArgument(one, hint="give a frame, or a dict of columns: {'id': values}")


def _pandas_to_arrow(frame: Any, typing: Typing) -> Any:
    """The columns of a frame; missing values (None, NaN, NaT, NA) are null, objects get the table's types."""
    from siltstone._pyarrow import pa

    names = [text("a column's name", name) for name in frame.columns]
    columns = []
    for at, name in enumerate(names):
        series = frame.iloc[:, at]
        if series.dtype == object:
            values = [without_nan(value) for value in series]
            columns.append(typing.column(name, values))
            continue
        try:
            columns.append(pa.array(series, from_pandas=True))
        except (pa.ArrowException, ValueError, TypeError) as e:
            message = (
                f"column '{name}' of the frame has the type {series.dtype}, which Arrow does not have: {arrow_text(e)}"
            )
            raise SchemaMismatch(message, context={"column": name, "got": str(series.dtype)}) from e
    _once(names)
    return of_pyarrow(pa.table(columns, names=names)) if names else _rows_to_arrow([{}] * len(frame), typing)


def _once(names: Sequence[str]) -> None:
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise SchemaMismatch(f"column '{twice}' is in the input twice", context={"column": twice})


def _rows_to_arrow(rows: Sequence[Any], typing: Typing) -> Any:
    """A pyarrow table of dicts or dataclasses, with the table's types for the columns that occur."""
    from siltstone._pyarrow import pa

    if rows and all(isinstance(part, (pa.RecordBatch, pa.Table)) for part in rows):
        return of_pyarrow(_together(rows))
    rows = [row_of(i, row) for i, row in enumerate(rows)]
    for row in rows:
        for name in row:
            text("a column's name", name)
    names = dict.fromkeys(name for row in rows for name in row)
    if not rows:
        return typing.schema.empty_table()
    if not names:  # rows of nothing but nulls
        names = dict.fromkeys(typing.schema.names[:1])
    columns = [typing.column(name, [row.get(name) for row in rows]) for name in names]
    return pa.table(columns, names=list(names))


def _together(parts: Sequence[Any]) -> Any:
    """Batches and tables of pyarrow as one table."""
    from siltstone._pyarrow import pa

    try:
        return pa.concat_tables([part if isinstance(part, pa.Table) else pa.table(part) for part in parts])
    except pa.ArrowException as e:
        message = f"the batches of the list do not have the same columns: {arrow_text(e)}"
        raise SchemaMismatch(message, hint="write them one at a time; t.writer() makes one commit of several") from e
