"""Files of rows by their names: Parquet, ORC, Arrow, CSV and lines of JSON."""

from __future__ import annotations

import glob
import io
import json
import os
import pathlib
from collections.abc import Iterator
from typing import Any

from siltstone._args import directory, shown
from siltstone.errors import FileMissing, InvalidArgument

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


def file_rows(name: Any, schema: Any) -> Any:
    """The rows of a file, of the files that a pattern matches, or of those in a directory, as a reader of pyarrow.

    Args:
        name: Its path. ``*`` and ``?`` make it a pattern.
        schema: The types of columns; files of text are read in them.

    Raises:
        FileMissing: There is no such file.
        InvalidArgument: A file whose name does not say what it holds, or that cannot be read.
    """
    from siltstone._pyarrow import pa

    path = os.path.expanduser(directory("data", name))  # noqa: PTH111  # a pattern is no path
    paths = _matching(path)
    kinds = {_format(p) for p in paths}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None:
        raise InvalidArgument(
            f"{shown(path)} does not say what its files hold", hint=f"names end with {', '.join(_FORMATS)}"
        )
    try:
        batches = _text_batches(kind, paths, schema) if kind in {"csv", "json"} else _batches(kind, paths)
        first = next(batches, None)
        if first is None:
            return schema.empty_table().to_reader()
        return pa.RecordBatchReader.from_batches(first.schema, _with_first(first, batches))
    except (pa.ArrowException, OSError, ValueError) as e:
        raise InvalidArgument(f"{shown(path)} cannot be read: {e}", context={"file": path}) from e


def _with_first(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    for batch in rest:
        yield batch if batch.schema.equals(first.schema) else batch.cast(first.schema)


def _matching(path: str) -> list[str]:
    if pathlib.Path(path).is_dir():
        paths = sorted(
            str(p) for p in pathlib.Path(path).rglob("*") if p.is_file() and not p.name.startswith((".", "_"))
        )
    elif pathlib.Path(path).exists() or not glob.has_magic(path):
        paths = [path]
    else:
        paths = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  # the pattern may be absolute
    if not paths or not pathlib.Path(paths[0]).exists():
        raise FileMissing(f"there is no file {shown(path)}", context={"file": path})
    return paths


def _batches(kind: str, paths: list[str]) -> Iterator[Any]:
    import pyarrow.dataset as ds

    yield from ds.dataset(paths, format=kind).to_batches()


def _text_batches(kind: str, paths: list[str], schema: Any) -> Iterator[Any]:
    """Rows of files of text, in the types that their columns have in the table."""
    import pyarrow.csv as pc

    if kind == "json":
        for path in paths:
            yield from _json_table(path, schema).to_batches()
        return
    types = {field.name: field.type for field in schema}
    for path in paths:
        parse = pc.ParseOptions(delimiter="\t" if ".tsv" in path else ",")
        convert = pc.ConvertOptions(column_types=types, strings_can_be_null=False)
        yield from pc.open_csv(path, parse_options=parse, convert_options=convert)


def _json_table(path: str, schema: Any) -> Any:
    """Lines of JSON, or one list of objects."""
    import pyarrow.json as pj

    from siltstone._pyarrow import pa

    with pa.input_stream(path, compression="detect") as stream:
        data = stream.read()
    if data.lstrip()[:1] == b"[":
        rows = json.loads(data)
        data = b"\n".join(json.dumps(row).encode() for row in rows)
    if not data.strip():
        return schema.empty_table()
    names = {*_names(data)}
    wanted = {field.name: field.type for field in schema if field.name in names}
    # days and times are texts in JSON
    read = {name: pa.string() if pa.types.is_temporal(kind) else kind for name, kind in wanted.items()}
    rows = pj.read_json(io.BytesIO(data), parse_options=pj.ParseOptions(explicit_schema=pa.schema(read.items())))
    columns = [rows.column(name).cast(wanted.get(name, rows.schema.field(name).type)) for name in rows.column_names]
    return pa.table(columns, names=rows.column_names)


def _names(data: bytes) -> Iterator[str]:
    for line in data.splitlines():
        if line.strip():
            yield from json.loads(line)


def known_rows(data: Any) -> int | None:
    """How many rows data has, where it is at hand: in the footers of files of Parquet, and in a length."""
    if is_file_name(data):
        import pyarrow.dataset as ds

        from siltstone._pyarrow import pa

        paths = _matching(os.path.expanduser(directory("data", data)))  # noqa: PTH111  # a pattern is no path
        if {_format(p) for p in paths} != {"parquet"}:
            return None
        try:
            return int(ds.dataset(paths, format="parquet").count_rows())
        except (pa.ArrowException, OSError):
            return None  # the read says what is wrong
    rows = getattr(data, "count_rows", None)  # a dataset
    return int(rows()) if callable(rows) else None


def file_schema(name: str) -> Any:
    """The columns of a file, in the types that its values have."""
    from siltstone._pyarrow import pa

    return file_rows(name, pa.schema([])).schema
