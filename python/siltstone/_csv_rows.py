"""Rows of files of CSV, read in pieces: columns of the table are read as texts, and each text by the rule of values."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from siltstone._text_columns import read_exactly
from siltstone._texts import of_csv
from siltstone._values import column

#: Bytes that are read at once, in which a row has to fit.
_BLOCK = 1 << 24


def csv_reader(path: str, schema: Any) -> Any:
    """The rows of a file as a reader of pyarrow; columns that the table does not have get types that pyarrow finds.

    Args:
        path: The file. Values are separated by tabs when its name ends with ``.tsv``, before ``.gz`` or ``.zst``.
        schema: The columns of the table, in whose types the values are read.
    """
    import pyarrow.csv as pc

    from siltstone._pyarrow import pa

    known = {field.name: field.type for field in schema}
    plain = pathlib.PurePath(path.removesuffix(".gz").removesuffix(".zst"))
    read = {name: pa.binary() if pa.types.is_binary(kind) else pa.string() for name, kind in known.items()}

    def opened(*, skips: bool) -> Any:
        return pc.open_csv(
            path,
            read_options=pc.ReadOptions(block_size=_BLOCK),
            parse_options=pc.ParseOptions(
                delimiter="\t" if plain.suffix.lower() == ".tsv" else ",",
                newlines_in_values=True,
                ignore_empty_lines=skips,
            ),
            # nothing is null, and "" the empty text
            convert_options=pc.ConvertOptions(
                column_types=read, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
            ),
        )

    rows = opened(skips=True)
    if len(rows.schema) == 1:  # an empty line is a row with null
        rows = opened(skips=False)
    fields = [field.with_type(known.get(field.name, field.type)) for field in rows.schema]
    own = pa.schema(fields)
    return pa.RecordBatchReader.from_batches(own, _batches(rows, own, known))


def _batches(rows: Any, schema: Any, known: Mapping[str, Any]) -> Iterator[Any]:
    from siltstone._pyarrow import pa

    before = 0
    for batch in rows:
        columns = [
            _column(field.name, values, field.type, before) if field.name in known else values
            for field, values in zip(schema, batch.columns, strict=True)
        ]
        before += batch.num_rows
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _column(name: str, texts: Any, kind: Any, before: int) -> Any:
    """Texts as values of a type."""
    import pyarrow.compute as pc

    from siltstone._pyarrow import pa

    if texts.type == kind:
        return texts
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    found = read_exactly(pc.utf8_trim(texts, " \t"), kind)
    return column(name, texts.to_pylist(), kind, of_csv, before) if found is None else found
