"""Times of Parquet's old type INT96, which hold nanoseconds over millions of years: Arrow has room for either one.

pyarrow reads them as nanoseconds, and what lies beyond the years 1677 to 2262 comes out as another time. Both readings
together say what a time is: as nanoseconds it is right up to a multiple of 2**64, as microseconds up to its last three
digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from siltstone._visible import shown
from siltstone.errors import SchemaMismatch

_MOST_MICROS = (2**63 - 1) // 1000


def int96_unit(path: str) -> str | None:
    """The unit in which all times of a file are what they are; None when it has none of this type.

    Raises:
        SchemaMismatch: Neither: it has nanoseconds, and years that Arrow's nanoseconds do not have.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        leaves = [file.schema.column(i) for i in range(len(file.schema))]
    columns = sorted({leaf.path for leaf in leaves if leaf.physical_type == "INT96"})
    if not columns:
        return None
    fit, are_whole = True, True
    with (
        pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as micros,
        pq.ParquetFile(path, coerce_int96_timestamp_unit="ns") as nanos,
    ):
        for wide, fine in zip(micros.iter_batches(columns=columns), nanos.iter_batches(columns=columns), strict=True):
            for coarse, exact in zip(_times(wide.columns), _times(fine.columns), strict=True):
                fit &= bool((abs(coarse) < _MOST_MICROS).all())
                are_whole &= bool((exact == coarse * 1000).all())  # modulo 2**64, as both are
    if fit:
        return "ns"
    if are_whole:
        return "us"
    raise SchemaMismatch(
        f"{shown(path)} has times (INT96) with nanoseconds, and times beyond the years 1677 to 2262: no type here has both",
        hint="write the file with microseconds (TIMESTAMP_MICROS)",
        context={"columns": ", ".join(columns)},
    )


def _times(arrays: list[Any]) -> Iterator[Any]:
    """The numbers of all times, those in lists and rows, too; zero for null."""
    import pyarrow as pa

    for array in arrays:
        if pa.types.is_timestamp(array.type):
            yield array.cast(pa.int64()).fill_null(0).to_numpy()
        elif pa.types.is_struct(array.type):
            yield from _times([array.field(i) for i in range(array.type.num_fields)])
        elif pa.types.is_map(array.type):
            yield from _times([array.keys, array.items])
        elif pa.types.is_nested(array.type):
            yield from _times([array.values])
