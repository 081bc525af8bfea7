"""Frames of polars, lazy ones too, as data of pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from siltstone._arrow import arrow_text, of_pyarrow
from siltstone._polars_types import refuse_objects
from siltstone.errors import InvalidArgument, SchemaMismatch


def lazy_reader(frame: Any) -> Any:
    """A lazy frame of polars, computed piece by piece."""
    import polars as pl

    from siltstone._pyarrow import pa

    schema = frame.collect_schema()
    first = polars_to_arrow(pl.DataFrame(schema=schema)).schema
    pieces = frame.collect_batches() if hasattr(frame, "collect_batches") else [frame.collect()]

    def batches() -> Iterator[Any]:
        for piece in pieces:
            yield from polars_to_arrow(piece).cast(first).to_batches()

    return pa.RecordBatchReader.from_batches(first, batches())


def polars_to_arrow(frame: Any) -> Any:
    """By way of pyarrow: polars exports columns of its type Null in a form that others do not read."""
    from siltstone._pyarrow import pa

    refuse_objects(frame)
    try:
        return of_pyarrow(frame.to_arrow())
    except (pa.ArrowException, TypeError, ValueError) as e:
        for name, kind in frame.schema.items():
            _polars_column(name, kind, frame)
        raise InvalidArgument(f"the frame cannot be read as Arrow data: {arrow_text(e)}") from e


def _polars_column(name: str, kind: Any, frame: Any) -> None:
    """Refuses a column whose type pyarrow does not have."""
    from siltstone._pyarrow import pa

    try:
        frame[name].to_arrow()
    except (pa.ArrowException, TypeError, ValueError) as e:
        message = f"column '{name}' has the type {kind} of polars, which cannot be read as Arrow data: {arrow_text(e)}"
        raise SchemaMismatch(message, context={"column": name, "got": str(kind)}) from e
