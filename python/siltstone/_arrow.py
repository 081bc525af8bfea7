"""Data of pyarrow in a form that the core can read without trusting it.

Neither lengths nor alignment of buffers nor the meaning of an extension type cross the C data interface.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

from siltstone.errors import InvalidArgument, SchemaMismatch, UnsupportedType

#: Extension types whose storage says the same as the type: a text, or bytes.
_KNOWN = frozenset(("arrow.json", "arrow.uuid", "geoarrow.wkb", "geoarrow.wkt", "ogc.wkb"))
_EXTENSION = b"ARROW:extension:name"
#: The end of a Python traceback, as pyarrow writes it into the text of an error.
_INTERRUPTED = re.compile(r"\n +[^\n]*\nKeyboardInterrupt(: [^\n]*)?\s*\Z")
#: What pyarrow, and streams within streams, say of code in Python that failed: its error and where it stood.
_TRACEBACK = re.compile(r"\.? Detail: Python exception: Traceback .*", re.DOTALL)
#: Words of pyarrow in front of what went wrong.
_KIND = re.compile(r"\A(?:Invalid|Unknown error|Type error|Key error|IOError): ")
#: Tables have types of at most 31 levels; those of some thousand would end the process where they are imported.
DEEPEST = 64


def of_pyarrow(data: Any, raised: list[BaseException] | None = None) -> Any:
    """A table, batch or stream of batches, checked, with buffers that are aligned and no view types.

    Args:
        data: What pyarrow has.
        raised: Where what the code of a stream raises is kept: the C data interface carries its text alone.

    Raises:
        InvalidArgument: Data that is broken.
        SchemaMismatch: An extension type whose meaning would be lost.
        UnsupportedType: A type that is too deep.
    """
    from siltstone._pyarrow import pa

    for at in range(len(data.schema)):
        _check_field(data.schema.field(at), at, "", 0)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([_batch(data)])
    elif isinstance(data, pa.Table):
        data = _table(data)
    else:
        data = pa.RecordBatchReader.from_batches(data.schema, _batches(data, [] if raised is None else raised))
    return _without_views(data)


def is_held(data: Any) -> bool:
    """Whether rows lie in memory that stays the caller's as long as ``data`` does: those of pyarrow, but for views.

    Views are copied into texts of our own.
    """
    pa = sys.modules.get("pyarrow")  # whoever has such rows has it loaded
    return pa is not None and isinstance(data, (pa.Table, pa.RecordBatch)) and "view" not in str(data.schema.types)


def is_of_pyarrow(error: Exception) -> bool:
    """Whether an error is one of pyarrow, or was told by it."""
    from siltstone._pyarrow import has_pyarrow, pa

    return has_pyarrow() and (isinstance(error, pa.ArrowException) or _TRACEBACK.search(str(error)) is not None)


def arrow_text(error: Exception) -> str:
    """What an error of pyarrow says, for the text of our own."""
    return _KIND.sub("", without_traceback(str(error)))


def without_traceback(text: str) -> str:
    """A text without the lines of code that a stream's error carries: the cause of the error has them."""
    return _TRACEBACK.sub("", text).rstrip()


def too_deep(column: str) -> UnsupportedType:
    """The error for a type whose levels nobody counts any more."""
    top = column.partition(".")[0]
    message = f"column '{top}' has more than {DEEPEST} nested types in one another, at most 31 can be read back"
    return UnsupportedType(message, context={"column": top})


def _check_field(field: Any, at: int, within: str, depth: int) -> None:
    """Refuses names that are no text and unknown extension types, in a field and in its parts."""
    from siltstone._pyarrow import pa

    try:
        place = within + field.name
    except UnicodeDecodeError as e:
        where = f"a field of column '{within[:-1]}'" if within else f"column {at}"
        raise InvalidArgument(f"the name of {where} of the input is not UTF-8: {e}") from e
    kind, extension = field.type, (field.metadata or {}).get(_EXTENSION)
    if isinstance(kind, pa.BaseExtensionType):
        extension, kind = kind.extension_name.encode(), kind.storage_type
    if extension is not None and extension.decode(errors="replace") not in _KNOWN:
        name = extension.decode(errors="replace")
        raise SchemaMismatch(
            f"column '{place}' of the input has the extension type '{name}', whose meaning would be lost",
            hint="convert the column to a type of Arrow itself first",
            context={"column": place, "got": name},
        )
    if depth >= DEEPEST:
        raise too_deep(place)
    if pa.types.is_dictionary(kind):  # its values have no field
        _check_field(pa.field(field.name, kind.value_type), at, within, depth + 1)
    elif pa.types.is_nested(kind):
        for part in range(kind.num_fields):
            _check_field(kind.field(part), part, place + ".", depth + 1)


def _table(table: Any) -> Any:
    from siltstone._pyarrow import pa

    columns = []
    for name, column in zip(table.schema.names, table.columns, strict=True):
        chunks = [_column(name, chunk) for chunk in column.chunks]
        same = all(new is old for new, old in zip(chunks, column.chunks, strict=True))
        columns.append(column if same else pa.chunked_array(chunks, column.type))
    try:
        table.validate()
    except pa.ArrowException as e:
        raise InvalidArgument(f"the input is not valid Arrow data: {arrow_text(e)}") from e
    if not columns:
        return table
    whole = pa.Table.from_arrays(columns, schema=table.schema)
    if len({tuple(map(len, column.chunks)) for column in columns}) == 1:
        return whole
    # on the way to the core the chunks are sliced where those of other columns end
    return pa.Table.from_batches(map(_batch, whole.to_batches()), schema=table.schema)


def _batches(batches: Any, raised: list[BaseException]) -> Iterator[Any]:
    try:
        for batch in batches:
            yield _batch(batch)
    except GeneratorExit:
        raise
    except Exception as e:
        # a stream within a stream of another library comes with texts alone
        raised.append(KeyboardInterrupt() if _INTERRUPTED.search(str(e)) else e)
        raise
    except BaseException as e:  # noqa: BLE001  # it is raised again behind the call
        raised.append(e)
        raise InvalidArgument("the code that makes the batches was interrupted") from None


def _batch(batch: Any) -> Any:
    """One batch; its rows are those of its columns."""
    from siltstone._pyarrow import pa

    try:
        columns = batch.columns
        kept = [_column(name, column) for name, column in zip(batch.schema.names, columns, strict=True)]
        batch.validate()
    except pa.ArrowException as e:
        raise InvalidArgument(f"the input is not valid Arrow data: {arrow_text(e)}") from e
    if all(new is old for new, old in zip(kept, columns, strict=True)):
        return batch
    return pa.RecordBatch.from_arrays(kept, schema=batch.schema)


def _column(name: str, values: Any) -> Any:
    """An array with buffers as long as they must be, at addresses that its offsets can be read from.

    Slices of structs in structs, or in lists of one length, are copied: arrow-rs applies an offset twice when it
    imports them. So are texts of no rows, whose offset may lie behind the bytes that it imports, and what has lists and
    maps of no rows in it, by a copy that gives them offsets of their own.
    """
    from siltstone._pyarrow import pa

    try:
        values.validate()
        wide = any(word in str(values.type) for word in ("large_", "view"))  # others are aligned by the core
        misaligned = any(b is not None and b.size and b.address % (8 if wide else 4) for b in _buffers(values))
        copied, behind = misaligned or _imported_wrongly(values), _has_lists_behind(values)
        if copied or behind or "view" in str(values.type):
            # pyarrow itself copies it before the core sees it, and goes wherever offsets and views lead
            values.validate(full=True)
        values = _copied(values) if copied else values
        # the first copy has the offsets that were there, of a part of the values
        if behind or (copied and _has_lists_behind(values)):
            values = pa.concat_arrays([values, values.slice(0, 0)])
    except pa.ArrowException as e:
        text = f"column '{name}' of the input is not valid Arrow data: {arrow_text(e)}"
        raise InvalidArgument(text, context={"column": name}) from e
    return values


def _buffers(values: Any) -> Iterator[Any]:
    """All buffers of an array, those of dictionaries at any depth among them, which `buffers()` leaves out."""
    from siltstone._pyarrow import pa

    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    yield from values.buffers()
    for part, _ in _parts(values):
        yield from _buffers(part)


def _imported_wrongly(values: Any, *, sliced: bool = False) -> bool:
    """Whether arrow-rs would import a slice of the array, or of what is in it, wrongly.

    Args:
        values: The array.
        sliced: Whether the array's owner may slice it: a struct's field is as long as the struct, or longer.
    """
    from siltstone._pyarrow import pa

    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        return _imported_wrongly(values.storage, sliced=sliced)
    twice = values.offset > 0 and ((sliced and _shares_offset(kind)) or _has_fixed_structs(kind))
    behind = not len(values) and kind in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())
    if twice or behind:
        return True
    return any(_imported_wrongly(part, sliced=within) for part, within in _parts(values))


def _parts(values: Any) -> Iterator[tuple[Any, bool]]:
    """The arrays in an array, and whether they may be sliced where they are."""
    from siltstone._pyarrow import pa

    kind = values.type
    if pa.types.is_struct(kind):
        yield from ((values.field(at), True) for at in range(kind.num_fields))
    elif pa.types.is_map(kind):
        yield from ((values.keys, True), (values.items, True))
    elif pa.types.is_dictionary(kind):
        yield values.dictionary, False
    elif pa.types.is_nested(kind) and hasattr(values, "values"):  # lists, views of them, runs
        yield values.values, pa.types.is_fixed_size_list(kind)


def _shares_offset(kind: Any) -> bool:
    """Whether an array of the type is sliced by slicing its parts."""
    from siltstone._pyarrow import pa

    return bool(pa.types.is_struct(kind) or pa.types.is_fixed_size_list(kind))


def _has_lists_behind(values: Any) -> bool:
    """Whether there are lists or maps of no rows in an array whose values would begin behind the first one."""
    from siltstone._pyarrow import pa

    if isinstance(values, pa.ExtensionArray):
        return _has_lists_behind(values.storage)
    lists = isinstance(values, pa.ListArray | pa.LargeListArray | pa.MapArray)
    if lists and not len(values) and len(values.offsets) and values.offsets[0].as_py():
        return True
    return any(_has_lists_behind(part) for part, _ in _parts(values))


def _has_fixed_structs(kind: Any) -> bool:
    """Whether a struct or list of one length has structs in it that share its offset."""
    from siltstone._pyarrow import pa

    if isinstance(kind, pa.BaseExtensionType):
        return _has_fixed_structs(kind.storage_type)
    if not _shares_offset(kind):
        return False
    parts = [kind.field(at).type for at in range(kind.num_fields)]
    return any(pa.types.is_struct(part) or _has_fixed_structs(part) for part in parts)


def _copied(values: Any) -> Any:
    """The array in memory of its own, which is aligned."""
    from siltstone._pyarrow import pa

    sink = pa.BufferOutputStream()
    batch = pa.record_batch([values], names=["c"])
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    (read,) = pa.ipc.open_stream(sink.getvalue())
    return read.column(0)


def _without_views(data: Any) -> Any:
    """Data of pyarrow without view types: some releases export casts to them with null buffers, which crash.

    Columns of other types are left alone: pyarrow casts a slice of runs to its own type as if it began where the whole
    does.
    """
    from siltstone._pyarrow import pa

    views = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    if not any(f.type in views for f in data.schema):
        return data
    schema = pa.schema([f.with_type(views.get(f.type, f.type)) for f in data.schema], data.schema.metadata)

    def cast(part: Any) -> Any:
        columns = zip(part.columns, schema, strict=True)
        cast = [column.cast(field.type) if column.type in views else column for column, field in columns]
        return type(part).from_arrays(cast, schema=schema)

    if isinstance(data, pa.RecordBatchReader):
        return pa.RecordBatchReader.from_batches(schema, (cast(batch) for batch in data))
    return cast(data)
