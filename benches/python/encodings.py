"""What the versions of Parquet pages cost and give: bytes a row, and the seconds of writing and reading, beside DuckDB and pyarrow.

    python benches/python/encodings.py [--rows 1000000] [--rounds 3]

The suite's rows in the order of their keys, as a full compaction leaves them, in one file of each writer with the same compression
(zstd, level 1). siltstone writes `parquet.writer.version` = PARQUET_1_0 (its default) and PARQUET_2_0, whose integers are differences
where they have no dictionary; DuckDB and pyarrow write their second versions. What is read back is compared with what was written.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import siltstone as st

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "suite"))
from generate import SEED, rows_of
from scenarios import COLUMNS

#: Integers of pyarrow as ours are; it takes no dictionary for columns whose encoding is named.
DIFFERENCES = dict.fromkeys(("id", "b", "c", "ts"), "DELTA_BINARY_PACKED")


def table_of(place: pathlib.Path, rows: pa.Table, version: str) -> tuple[Callable[[], Any], Callable[[], pa.Table]]:
    """How a table whose pages have this version is written, and read."""
    cat = st.connect(str(place))
    cat.create_database("b")
    options = {"bucket": "1", "write-only": "true", "parquet.writer.version": version}
    table = cat.create_table(f"b.{version.lower()}", COLUMNS, primary_key=["id"], options=options)
    return lambda: table.overwrite(rows), lambda: table.scan().to_arrow()


def files(place: pathlib.Path) -> int:
    """Bytes of the newest Parquet file."""
    return max(place.rglob("*.parquet"), key=lambda path: path.stat().st_mtime_ns).stat().st_size


def with_duckdb(place: pathlib.Path, rows: pa.Table) -> tuple[Callable[[], Any], Callable[[], pa.Table]]:
    path = place / "duckdb.parquet"
    options = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, PARQUET_VERSION V2"
    con = duckdb.connect(config={"preserve_insertion_order": "true"})
    con.register("given", rows)
    return (
        lambda: con.execute(f"COPY given TO '{path}' ({options})"),
        lambda: con.sql(f"FROM read_parquet('{path}')").to_arrow_table(),
    )


def with_pyarrow(place: pathlib.Path, rows: pa.Table) -> tuple[Callable[[], Any], Callable[[], pa.Table]]:
    path = place / "pyarrow.parquet"
    options: dict[str, Any] = {"compression": "zstd", "compression_level": 1, "data_page_version": "2.0"}
    encodings = {"use_dictionary": ["a", "city"], "column_encoding": DIFFERENCES}
    return lambda: pq.write_table(rows, path, **options, **encodings), lambda: pq.read_table(path)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    done = work()
    return time.perf_counter() - start, done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    rows = rows_of(np.arange(args.rows) * 3, np.random.default_rng([SEED, 21]))
    with tempfile.TemporaryDirectory() as folder:
        places = [pathlib.Path(folder, name) for name in ("first", "second", "duckdb", "pyarrow")]
        for place in places:
            place.mkdir()
        writers = {
            "siltstone, PARQUET_1_0": (places[0], *table_of(places[0], rows, "PARQUET_1_0")),
            "siltstone, PARQUET_2_0": (places[1], *table_of(places[1], rows, "PARQUET_2_0")),
            "DuckDB, V2": (places[2], *with_duckdb(places[2], rows)),
            "pyarrow, 2.0, the same encodings": (places[3], *with_pyarrow(places[3], rows)),
        }
        took: dict[str, list[tuple[float, float]]] = {name: [] for name in writers}
        for _ in range(args.rounds):
            for name, (_, write, read) in writers.items():
                written, _ = timed(write)
                seconds, back = timed(read)
                if not back.cast(rows.schema).equals(rows):
                    sys.exit(f"PROBLEM: {name} has other rows")
                took[name].append((written, seconds))
        print("| writer | bytes a row | write s | read s |\n|---|--:|--:|--:|")
        for name, (place, *_) in writers.items():
            write, read = (statistics.median(each) for each in zip(*took[name], strict=True))
            print(f"| {name} | {files(place) / args.rows:.1f} | {write:.2f} | {read:.3f} |")


if __name__ == "__main__":
    main()
