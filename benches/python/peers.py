"""Whole jobs beside the best single-node engines on the same files and rows: polars, DuckDB and pyarrow.

    python benches/python/peers.py [--rows 5000000] [--rounds 3] [--only read,filter,...] [--json FILE]

The rows are the suite's: five files of `--rows`/5 random keys that merge to 46 % of them, ten columns, one bucket. The engines
take turns; each round begins with another one, the first round is not counted, medians. Every answer is compared before a
time counts. `../table/goals.py` has the bar of each line, the most that the ratio should be.

read        all columns of the compacted file, beside polars, pyarrow and DuckDB reading the same file into memory
filter      rows of the compacted file by a condition on a value column (one in twenty), beside the same
columns     two columns of ten, beside the same
merge_read  the five files merged, beside pyarrow decoding the same files without merging
write       one file of random rows, beside polars and DuckDB sorting and writing them (zstd; ours is also fsynced)
batch       four files in one batch, beside the four one after the other
compact     the five files into one, beside decoding and encoding them on one thread (pyarrow, no merging): wall and processor time
changed     the compaction after 1 % of the keys of a range have changed, beside copying the compacted file
key         one key of the compacted file (milliseconds, no other engine)
"""

import argparse
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from side_by_side import COLUMNS, SEED, Bench, newest, rows_of, total

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "table"))
from lines import save


def rows_in(table: Any) -> tuple[int, ...]:
    """What a table of ours holds."""
    return total(table.scan().to_arrow())


def rows_of_file(path: str) -> tuple[int, ...]:
    """What a file holds."""
    return total(pq.read_table(path))


def read(bench: Bench, columns: list[str] | None = None) -> None:
    file, names = bench.file(), columns or list(COLUMNS)
    chosen = ", ".join(names)
    jobs = {
        "ours": lambda: bench.compacted.scan(columns).to_arrow(),
        "polars": lambda: pl.read_parquet(file, columns=names),
        "pyarrow": lambda: pq.read_table(file, columns=names),
        "duckdb": lambda: duckdb.sql(f"SELECT {chosen} FROM read_parquet('{file}')").to_arrow_table(),
    }
    expected = None if columns else bench.merged
    found = bench.times(jobs, dict.fromkeys(jobs, total), expected)
    if columns is None:
        bench.against("read", found, "polars", "read")
    else:
        best = min((name for name in found if name != "ours"), key=lambda name: statistics.median(found[name][0]))
        bench.against("two columns", found, best, "columns")


def columns(bench: Bench) -> None:
    read(bench, ["id", "c"])


def filtered(bench: Bench) -> None:
    file = bench.file()
    names = list(COLUMNS)
    query = f"SELECT {', '.join(names)} FROM read_parquet('{file}') WHERE city = 'Oslo'"
    jobs = {
        "ours": lambda: bench.compacted.scan(filter="city = 'Oslo'").to_arrow(),
        "polars": lambda: pl.scan_parquet(file).select(names).filter(pl.col("city") == "Oslo").collect(),
        "duckdb": lambda: duckdb.sql(query).to_arrow_table(),
    }
    bench.against("filter", bench.times(jobs, dict.fromkeys(jobs, total)), "polars", "filter")


def merge_read(bench: Bench) -> None:
    files = sorted(pathlib.Path(bench.runs.location).glob("bucket-0/data-*"))
    jobs: dict[str, Callable[[], Any]] = {
        "ours": lambda: bench.runs.scan().to_arrow(),
        "pyarrow": lambda: [pq.read_table(file) for file in files],
    }
    bench.against("merge-read", bench.times(jobs, {"ours": total}, bench.merged), "pyarrow", "merge_read")


def write(bench: Bench) -> None:
    rows = bench.inputs[0]
    frame = pl.DataFrame(rows)
    connection = duckdb.connect()
    connection.register("rows", rows)
    tables = iter([bench.table() for _ in range(bench.rounds + 1)])

    def ours() -> Any:
        table = next(tables)
        table.upsert(rows)
        return table

    def by_polars() -> str:
        out = bench.new_file()
        frame.sort("id").write_parquet(out, compression="zstd", compression_level=1)
        return out

    def by_duckdb() -> str:
        out = bench.new_file()
        connection.execute(f"COPY (SELECT * FROM rows ORDER BY id) TO '{out}' (FORMAT parquet, COMPRESSION zstd)")
        return out

    jobs = {"ours": ours, "polars": by_polars, "duckdb": by_duckdb}
    checks: dict[str, Callable[[Any], Any]] = dict.fromkeys(jobs, rows_of_file) | {"ours": rows_in}
    bench.against("write", bench.times(jobs, checks, total(rows)), "polars", "write")


def batch(bench: Bench) -> None:
    four = pa.concat_tables(bench.inputs[:4]).combine_chunks()
    tables = iter([bench.table() for _ in range(2 * bench.rounds + 2)])

    def writing(batches: list[pa.Table]) -> Any:
        target = next(tables)
        for rows in batches:
            target.upsert(rows)
        return target

    jobs = {"ours": lambda: writing([four]), "four": lambda: writing(bench.inputs[:4])}
    found = bench.times(jobs, dict.fromkeys(jobs, rows_in), newest(bench.inputs[:4]))
    bench.say("one batch / four", found["ours"][0], found["four"][0], "batch", "ours, in four")


def compacting(tables: list[Any]) -> Callable[[], Any]:
    """A job: each time the next of these tables is compacted, and is the answer."""
    left = iter(tables)

    def job() -> Any:
        table = next(left)
        table.compact(full=True)
        return table

    return job


def compact(bench: Bench) -> None:
    copies = [bench.copy(bench.runs) for _ in range(bench.rounds + 1)]
    files = sorted(pathlib.Path(bench.runs.location).glob("bucket-0/data-*"))
    decoded = pq.read_table(bench.file(), use_threads=False)

    def limit() -> str:
        """Every input is decoded and the output encoded: nothing is merged, one thread."""
        for file in files:
            pq.read_table(file, use_threads=False)
        out = bench.new_file()
        pq.write_table(decoded, out, compression="zstd", compression_level=1)
        return out

    checks = {"ours": rows_in, "limit": rows_of_file}
    pa.set_cpu_count(1)
    found = bench.times({"ours": compacting(copies), "limit": limit}, checks, bench.merged)
    pa.set_cpu_count(os.cpu_count() or 1)
    for number, kind in enumerate(("wall", "cpu")):
        ours, least = found["ours"][number], found["limit"][number]
        bench.say(f"compact / limit, {kind}", ours, least, f"compact_{kind}", "pyarrow, one thread")


def changed(bench: Bench) -> None:
    """Keys of one range have changed: the rest of the file need not be decoded."""
    count = bench.rows // 2
    low = count // 2
    rng = np.random.default_rng([SEED, 9])
    rows = rows_of(np.arange(low, low + count // 100), rng)
    base = bench.copy(bench.compacted)
    base.upsert(rows)
    copies = [bench.copy(base) for _ in range(bench.rounds + 1)]
    file = bench.file()

    def copy() -> None:
        out = bench.new_file()
        shutil.copyfile(file, out)
        with pathlib.Path(out).open("rb") as written:
            os.fsync(written.fileno())

    jobs: dict[str, Callable[[], Any]] = {"ours": compacting(copies), "copy": copy}
    found = bench.times(jobs, {"ours": rows_in}, newest([*bench.inputs, rows]))
    bench.say("1 % changed / copy", found["ours"][0], found["copy"][0], "changed", "copy and fsync")


def key(bench: Bench) -> None:
    rng = np.random.default_rng([SEED, 10])
    present = pq.read_table(bench.file(), columns=["id", "c"])
    times = []
    for number, at in enumerate(rng.integers(0, present.num_rows, 101)):
        wanted = present["id"][int(at)].as_py()
        start = time.perf_counter()
        row = bench.compacted.get(wanted)
        times += [time.perf_counter() - start] if number else []
        if row["c"].to_pylist() != [present["c"][int(at)].as_py()]:
            sys.exit(f"PROBLEM: another row has the key {wanted}: {row}")
    bench.say("one key (ms)", times, [], "key")


JOBS: dict[str, Callable[[Bench], None]] = {
    "read": read,
    "filter": filtered,
    "columns": columns,
    "merge_read": merge_read,
    "write": write,
    "batch": batch,
    "compact": compact,
    "changed": changed,
    "key": key,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--only", type=lambda text: text.split(","), default=list(JOBS), help=f"out of {','.join(JOBS)}"
    )
    parser.add_argument("--json", type=pathlib.Path, help="where the lines of the table are written, too")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(pathlib.Path(folder), args.rows, args.rounds)
        for name in args.only:
            JOBS[name](bench)
    missed = sum(not line.holds(line.goal.bar) for line in bench.lines)
    print(f"{missed} bars missed; load {os.getloadavg()[0]:.1f}")
    save(args.json, bench.lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
