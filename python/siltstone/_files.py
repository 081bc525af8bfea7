"""Files of rows by their names: Parquet, ORC, Arrow, CSV and lines of JSON. Each is read by itself, as it is."""

from __future__ import annotations

import contextlib
import glob
import os
import pathlib
import stat
from collections.abc import Iterator, Sequence
from typing import Any

from siltstone._args import directory, shown
from siltstone._arrow import arrow_text, of_pyarrow
from siltstone._csv_rows import csv_reader
from siltstone._csv_types import held_types
from siltstone._int96 import int96_unit
from siltstone._json_rows import json_reader
from siltstone._pyarrow import has_pyarrow
from siltstone.errors import FileMissing, InvalidArgument, SchemaError, SchemaMismatch, SiltstoneError

#: What pyarrow calls them, by the end of a name.
_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".orc": "orc",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}


def is_file_name(value: Any) -> bool:
    """Whether a value is a path, or a text that ends as names of files do."""
    return isinstance(value, os.PathLike) or (isinstance(value, str) and _format(value) is not None)


def _format(path: str) -> str | None:
    plain = path.removesuffix(".gz").removesuffix(".zst")
    return _FORMATS.get(pathlib.PurePath(plain).suffix.lower())


def files_of(data: Any) -> list[Any]:
    """The single files that a name stands for: those that a pattern matches, or those in a directory.

    Anything that names no files, or one file, is the only item of the list as it is.

    Raises:
        FileMissing: There is no such file.
        InvalidArgument: A file whose name does not say what it holds, or that is no regular file.
    """
    if not is_file_name(data) or not has_pyarrow():
        return [data]
    paths = _named(data)
    return [data] if len(paths) == 1 else [pathlib.Path(path) for path in paths]


def file_rows(name: Any, schema: Any, refused: list[SiltstoneError], *, others: bool) -> Any:
    """The rows of a file, or of several that have the same columns, as a reader of pyarrow.

    Args:
        name: Its path. ``*`` and ``?`` make it a pattern.
        schema: The types of columns; files of text are read in them.
        refused: Where errors go that come up while the rows are read: a stream hands on their texts alone.
        others: Columns of files of text that are not in the schema are read, too.

    Raises:
        FileMissing: There is no such file.
        InvalidArgument: A file whose name does not say what it holds, or that cannot be read.
        SchemaMismatch: Files with different columns.
    """
    from siltstone._pyarrow import pa

    paths = _named(name)
    readers = (_opened(path, schema, others=others) for path in paths)
    first = next(readers)
    # whether there may be nulls is for each file to say
    schema = first.schema if len(paths) == 1 else pa.schema([f.with_nullable(True) for f in first.schema])
    return pa.RecordBatchReader.from_batches(schema, _one_by_one(paths, first, schema, readers, refused))


def _one_by_one(
    paths: Sequence[str], first: Any, schema: Any, others: Iterator[Any], refused: list[SiltstoneError]
) -> Iterator[Any]:
    """The batches of one file after the other; never in the types of the first one when theirs are different."""
    from siltstone._pyarrow import pa

    try:
        for at, path in enumerate(paths):
            # what it says about extension types is looked at as that of the first one is
            reader = of_pyarrow(next(others)) if at else first
            if reader.schema.names != first.schema.names or reader.schema.types != first.schema.types:
                raise SchemaMismatch(
                    f"{shown(paths[0])} and {shown(path)} have different columns, or columns of different types",
                    hint="here all rows are one stream; append and overwrite take each file by itself",
                    context={"file": path},
                )
            with _typed(path):
                for batch in reader:
                    yield batch if len(paths) == 1 else pa.RecordBatch.from_arrays(batch.columns, schema=schema)
    except SiltstoneError as e:
        refused.append(e)
        raise


@contextlib.contextmanager
def _typed(path: str) -> Iterator[None]:
    """Whatever is wrong with a file is an error of ours that names it."""
    from siltstone._pyarrow import pa

    try:
        yield
    except SchemaError as e:
        raise type(e)(e.message, hint=e.hint, context=e.context | {"file": path}) from e
    except InvalidArgument as e:
        message = f"{shown(path)} cannot be read: {e.message}"
        raise InvalidArgument(message, hint=e.hint, context=e.context | {"file": path}) from e
    except SiltstoneError:
        raise
    except (pa.ArrowException, OSError, ValueError) as e:
        raise InvalidArgument(f"{shown(path)} cannot be read: {arrow_text(e)}", context={"file": path}) from e


def _opened(path: str, schema: Any, *, others: bool) -> Any:
    """The rows of one file in its own columns."""
    with _typed(path):
        kind = _format(path)
        if kind == "csv":
            reader = csv_reader(path, schema)
        elif kind == "json":
            reader = json_reader(path, schema, others=others)
        elif kind == "parquet":
            import pyarrow.parquet as pq

            from siltstone._pyarrow import pa

            # where no thread can be started a scan of a dataset waits for ever, and columns side by side end a process
            file = pq.ParquetFile(path, coerce_int96_timestamp_unit=int96_unit(path))
            reader = pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(use_threads=False))
        else:
            import pyarrow.dataset as ds

            reader = ds.dataset([path], format=kind).scanner().to_reader()
        if not others:
            _refuse_folder(path, schema, reader.schema)
        return reader


def _refuse_folder(path: str, schema: Any, own: Any) -> None:
    """A value of a column that only the name of a folder has would not be stored."""
    for folder in pathlib.PurePath(path).parts[:-1]:
        column, is_value, _ = folder.partition("=")
        if is_value and column in schema.names and column not in own.names:
            raise SchemaMismatch(
                f"the file lies in the folder {shown(folder)}, and has no column '{column}'",
                hint="names of folders are not read: write the column into the file",
                context={"column": column},
            )


def _named(name: Any) -> list[str]:
    """The paths of a name, all of them regular files of one format."""
    path = os.path.expanduser(directory("data", name))  # noqa: PTH111  # a pattern is no path
    paths = _matching(path)
    _check_formats(path, paths)
    for each in paths:
        try:
            is_regular = stat.S_ISREG(pathlib.Path(each).stat().st_mode)
        except (OSError, ValueError):
            raise FileMissing(f"there is no file {shown(each)}", context={"file": each}) from None
        if not is_regular:
            raise InvalidArgument(f"{shown(each)} is no regular file", context={"file": each})
    return paths


def _check_formats(path: str, paths: Sequence[str]) -> None:
    first = _format(paths[0])
    for each in paths:
        if _format(each) is None:
            raise InvalidArgument(
                f"the name of {shown(each)} does not say what it holds", hint=f"names end with {', '.join(_FORMATS)}"
            )
        if _format(each) != first:
            raise InvalidArgument(
                f"{shown(path)} stands for files of different formats: {shown(paths[0])} and {shown(each)}",
                hint="give those of one format: 'days/*.parquet'",
            )


def _matching(path: str) -> list[str]:
    whole = pathlib.Path(path)
    try:
        if whole.is_dir():
            paths = sorted(str(p) for p in whole.rglob("*") if p.is_file() and not _is_hidden(p, len(whole.parts)))
        elif whole.exists() or not glob.has_magic(path):
            paths = [path]
        else:
            found = glob.glob(path, recursive=True)  # noqa: PTH207  # the pattern may be absolute
            fixed = len(pathlib.PurePath(path.partition("**")[0]).parts)
            paths = sorted(p for p in found if "**" not in path or not _is_hidden(p, fixed))
    except (OSError, ValueError) as e:
        raise InvalidArgument(f"{shown(path)} cannot be looked for: {e}", context={"file": path}) from e
    if not paths:
        raise FileMissing(f"there is no file {shown(path)}", context={"file": path})
    return paths


def _is_hidden(path: str | pathlib.PurePath, fixed: int) -> bool:
    """Whether a file is no rows to Spark and others, or a folder on the way to it: ``_temporary``, ``.git``.

    A folder ``_day=3`` is one of a partition. The first parts of the path, as many as are ``fixed``, were named.
    """
    *folders, name = pathlib.PurePath(path).parts[fixed:] or ("",)
    return name.startswith((".", "_")) or any(
        part.startswith(".") or (part.startswith("_") and "=" not in part) for part in folders
    )


def known_rows(data: Any) -> int | None:
    """How many rows data has, where it is at hand: in the footers of files of Parquet, and in a length."""
    if is_file_name(data):
        import pyarrow.parquet as pq

        from siltstone._pyarrow import pa

        paths = _named(data)
        if _format(paths[0]) != "parquet":
            return None
        try:
            return sum(int(pq.read_metadata(path).num_rows) for path in paths)
        except (pa.ArrowException, OSError):
            return None  # the read says what is wrong
    rows = getattr(data, "count_rows", None)  # a dataset
    return int(rows()) if callable(rows) else None


def file_schema(name: str) -> Any:
    """The columns of a file, of several the first one, in the types that its values have."""
    from siltstone._pyarrow import pa

    path = _named(name)[0]
    schema: Any = _opened(path, pa.schema([]), others=True).schema
    if _format(path) != "csv":
        return schema
    with _typed(path):
        return held_types(path, schema)
