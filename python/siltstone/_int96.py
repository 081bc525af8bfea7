"""Times of Parquet's old type INT96, which hold nanoseconds over millions of years: Arrow has room for either one.

pyarrow reads them as nanoseconds, and what lies beyond the years 1677 to 2262 comes out as another time. Several
readings together say what a time is. As milliseconds each is right, up to its last six digits; a finer one that has
room for it rounds down to that, and one that wrapped around does not.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from siltstone._args import shown
from siltstone.errors import SchemaMismatch


def int96_unit(path: str) -> str | None:
    """The unit in which all times of a file are what they are; None when it has none of this type.

    Raises:
        SchemaMismatch: There is none: it has nanoseconds, and years that Arrow's nanoseconds do not have.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        leaves = [file.schema.column(i) for i in range(len(file.schema))]
    columns = sorted({leaf.path for leaf in leaves if leaf.physical_type == "INT96"})
    if not columns:
        return None
    in_nanos, in_micros = True, True
    for millis, micros, nanos in _readings(path, columns, ("ms", "us", "ns")):
        fits = micros // 1000 == millis
        in_nanos &= bool((fits & (nanos // 1000 == micros)).all())
        in_micros &= bool((fits & (micros * 1000 == nanos)).all())  # both modulo 2**64: no digits behind the micros
    if in_nanos:
        return "ns"
    if in_micros:
        return "us"
    raise SchemaMismatch(
        f"{shown(path)} has times (INT96) with nanoseconds, and others beyond the years 1677 to 2262: no type has both",
        hint="write the file with microseconds (TIMESTAMP_MICROS)",
        context={"columns": ", ".join(columns)},
    )


def _readings(path: str, columns: list[str], units: Sequence[str]) -> Iterator[list[Any]]:
    """The numbers of the same times in each of the units, piece by piece."""
    import pyarrow.parquet as pq

    with contextlib.ExitStack() as opened:
        files = [opened.enter_context(pq.ParquetFile(path, coerce_int96_timestamp_unit=unit)) for unit in units]
        for batches in zip(*(file.iter_batches(columns=columns) for file in files), strict=True):
            for arrays in zip(*(_times(batch.columns) for batch in batches), strict=True):
                if len({array.type for array in arrays}) > 1:  # else of another type, and the same in each reading
                    yield [_numbers(array) for array in arrays]


def _numbers(times: Any) -> Any:
    """The numbers of times; zero for null."""
    import pyarrow as pa

    return times.cast(pa.int64()).fill_null(0).to_numpy()


def _times(arrays: list[Any]) -> Iterator[Any]:
    """All arrays of times, those in lists and rows, too."""
    import pyarrow as pa

    for array in arrays:
        if pa.types.is_timestamp(array.type):
            yield array
        elif pa.types.is_struct(array.type):
            yield from _times([array.field(i) for i in range(array.type.num_fields)])
        elif pa.types.is_map(array.type):
            yield from _times([array.keys, array.items])
        elif pa.types.is_nested(array.type):
            yield from _times([array.values])
