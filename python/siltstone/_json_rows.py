"""Rows of files of JSON, one object on a line or one list of objects: read in pieces, each value as in a dict."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from siltstone._args import shown, text
from siltstone._text_columns import read_exactly
from siltstone._texts import NumberText, of_json
from siltstone._values import column
from siltstone.errors import InvalidArgument

#: Rows of a batch, and characters after which a batch of fewer rows ends.
_ROWS, _CHARACTERS = 1 << 14, 1 << 22
_ARE_NUMBERS, _ARE_TEXTS = frozenset((int, NumberText, type(None))), frozenset((str, type(None)))
_BLANK = " \t\r\n"


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {shown(twice)} stands twice in one object")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_float=NumberText)


def json_reader(path: str, schema: Any, *, others: bool) -> Any:
    """The rows of a file as a reader of pyarrow.

    The file is read twice: a stream has the same columns from its beginning to its end, and any row may bring one.

    Args:
        path: The file.
        schema: The columns of the table, in whose types the values are read.
        others: Columns that the table does not have are read, too, in the types that pyarrow finds for them.
    """
    from siltstone._pyarrow import pa

    names = dict.fromkeys(name for row, _ in _objects(path) for name in row)
    for name in names:
        text("a column's name", name)
    known = {field.name: field.type for field in schema}
    unknown = [name for name in names if name not in known]
    found = _found_types(path) if others and unknown else {}
    types = {name: known.get(name, found.get(name, pa.null())) for name in names}
    if not types:  # rows of nothing but nulls
        types = dict(list(known.items())[:1])
    return pa.RecordBatchReader.from_batches(pa.schema(list(types.items())), _batches(path, types))


def _batches(path: str, types: Mapping[str, Any]) -> Iterator[Any]:
    from siltstone._pyarrow import pa

    schema, before = pa.schema(list(types.items())), 0
    for rows in _pieces(path):
        if any(name not in types for row in rows for name in row):
            raise InvalidArgument("the file was changed while it was read")
        columns = [_column(name, [row.get(name) for row in rows], kind, before) for name, kind in types.items()]
        before += len(rows)
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _column(name: str, values: Sequence[Any], kind: Any, before: int) -> Any:
    """Values in a type; those of a column that nobody takes are left out."""
    from siltstone._pyarrow import pa

    t = pa.types
    if t.is_null(kind):
        return pa.nulls(len(values))
    found = None
    if (t.is_floating(kind) or t.is_decimal(kind)) and _ARE_NUMBERS.issuperset(map(type, values)):
        found = read_exactly(pa.array([None if v is None else str(v) for v in values], pa.string()), kind)
    elif t.is_temporal(kind) and _ARE_TEXTS.issuperset(map(type, values)):
        with contextlib.suppress(UnicodeEncodeError):  # half a character
            found = read_exactly(pa.array(values, pa.string()), kind)
    return column(name, values, kind, of_json, before) if found is None else found


def _pieces(path: str) -> Iterator[list[dict[str, Any]]]:
    rows, size = [], 0
    for row, source in _objects(path):
        rows.append(row)
        size += len(source)
        if len(rows) >= _ROWS or size >= _CHARACTERS:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _objects(path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The objects of a file, each with its own text."""
    from siltstone._pyarrow import pa

    # with a mark of the byte order, or without
    with io.TextIOWrapper(pa.input_stream(path, compression="detect"), encoding="utf-8-sig") as lines:
        at = 0
        for line in lines:
            if not line.strip(_BLANK):
                continue
            if at == 0 and line.lstrip(_BLANK).startswith("["):
                yield from _listed(line + lines.read())
                return
            row, end = _decoded(line, len(line) - len(line.lstrip(_BLANK)), at)
            if line[end:].strip(_BLANK):
                raise InvalidArgument(
                    f"row {at} is no object of JSON on a line of its own: {shown(line[end:])} follows"
                )
            yield row, line
            at += 1


def _listed(whole: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The objects of a list."""
    place, at = _behind(whole, whole.index("[") + 1), 0
    while not whole.startswith("]", place):
        row, end = _decoded(whole, place, at)
        yield row, whole[place:end]
        at, place = at + 1, _behind(whole, end)
        if whole.startswith(",", place):
            place = _behind(whole, place + 1)
            if whole.startswith("]", place):
                raise InvalidArgument(f"nothing follows the comma behind row {at - 1} of the list")
        elif not whole.startswith("]", place):
            raise InvalidArgument(f"row {at} of the list does not follow a comma")
    if whole[place + 1 :].strip(_BLANK):
        raise InvalidArgument(f"{shown(whole[place + 1 :])} stands behind the list")


def _behind(whole: str, place: int) -> int:
    """The next place that is not blank."""
    while place < len(whole) and whole[place] in _BLANK:
        place += 1
    return place


def _decoded(source: str, place: int, at: int) -> tuple[dict[str, Any], int]:
    try:
        row, end = _DECODER.raw_decode(source, place)
    except RecursionError:
        raise InvalidArgument(f"row {at} nests too deeply") from None
    except ValueError as e:
        raise InvalidArgument(f"row {at} is not JSON: {e}") from e
    if not isinstance(row, dict):
        raise InvalidArgument(
            f"row {at} is {shown(row)}, and no object", hint="a row is an object, on a line or in a list"
        )
    return row, end


def _found_types(path: str) -> dict[str, Any]:
    """The types that pyarrow finds for the columns of a file, which it reads as a whole."""
    import pyarrow.json as pj

    lines = "\n".join(source.strip(_BLANK) for _, source in _objects(path))
    # an object may be longer than a block
    options = pj.ReadOptions(block_size=max(1 << 20, 2 * len(lines.encode())))
    return {field.name: field.type for field in pj.read_json(io.BytesIO(lines.encode()), read_options=options).schema}
