"""Whole jobs beside the best single-node engines on the same files and rows: polars, DuckDB and pyarrow.

    python benches/python/peers.py [--rows 5000000] [--rounds 3] [--only read,filter,columns,merge_read,write,batch,compact,changed,key]

The rows are the suite's: five files of `--rows`/5 random keys that merge to 46 % of them, ten columns, one bucket. The engines
take turns; each round begins with another one, the first round is not counted, medians. Every answer is compared before a
time counts. The bar of each line is what the ratio should be at most; what misses it is marked.

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
import pyarrow.compute as pc
import pyarrow.parquet as pq
import siltstone as st

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "suite"))
from generate import FILES, SEED, rows_of
from scenarios import COLUMNS

Job = Callable[[], Any]
Check = Callable[[Any], Any]


class Bench:
    """The tables, and how a line is measured and shown."""

    def __init__(self, place: pathlib.Path, rows: int, rounds: int) -> None:
        self.place, self.rounds, self.rows = place, rounds, rows
        self.cat = st.connect(place / "lake")
        self.cat.create_database("b")
        self.numbers = iter(range(1_000_000))
        part = rows // FILES
        self.inputs = []
        for number in range(FILES):
            rng = np.random.default_rng([SEED, 1, number])
            self.inputs.append(rows_of(rng.permutation(rows // 2)[:part], rng))
        self.runs = self.table()
        for rows_of_file in self.inputs:
            self.runs.upsert(rows_of_file)
        self.compacted = self.copy(self.runs)
        self.compacted.compact(full=True)
        self.missed = 0
        print(f"{rows:,} rows, {self.count():,} of them stay; {rounds} rounds; load {os.getloadavg()[0]:.1f}")
        print(f"{'':24}{'ours':>10}{'other':>10}  ratio   bar")

    def table(self) -> Any:
        options = {"bucket": "1", "write-only": "true"}
        return self.cat.create_table(f"b.t{next(self.numbers)}", COLUMNS, primary_key=["id"], options=options)

    def copy(self, table: Any) -> Any:
        """The same table under another name, in the same directory's neighbour."""
        target = pathlib.Path(table.location).parent / f"t{next(self.numbers)}"
        shutil.copytree(table.location, target)
        return self.cat.table(f"b.{target.name}")

    def count(self) -> int:
        return int(self.compacted.scan().count())

    def file(self) -> str:
        """The file of the compacted table."""
        (only,) = self.compacted.files()
        return str(only["path"])

    def medians(self, jobs: dict[str, Job], check: Check | None = None) -> dict[str, tuple[float, float]]:
        """Wall and processor seconds; with `check` all answers must agree."""
        wall: dict[str, list[float]] = {name: [] for name in jobs}
        busy: dict[str, list[float]] = {name: [] for name in jobs}
        names = list(jobs)
        for number in range(self.rounds + 1):
            answers = {}
            for name in names[number % len(names) :] + names[: number % len(names)]:
                os.sync()
                used, start = time.process_time(), time.perf_counter()
                answer = jobs[name]()
                if number:
                    wall[name].append(time.perf_counter() - start)
                    busy[name].append(time.process_time() - used)
                answers[name] = check(answer) if check else None
                del answer
            if len({str(answer) for answer in answers.values()}) != 1:
                sys.exit(f"PROBLEM: not the same answers: {answers}")
        return {name: (statistics.median(wall[name]), statistics.median(busy[name])) for name in names}

    def say(self, what: str, ours: float, other: float | None, bar: float | None) -> None:
        """A line: milliseconds, and the ratio (or ours alone) against the bar."""
        value = 1000 * ours if other is None else ours / other
        mark = "" if bar is None else f"{bar:6g}{'' if value <= bar else '  MISSED'}"
        self.missed += bar is not None and value > bar
        shown = f"{'':10}{'':7}" if other is None else f"{1000 * other:10.1f}{value:7.2f}"
        print(f"{what:24}{1000 * ours:10.1f}{shown}{mark}", flush=True)

    def against(self, what: str, found: dict[str, tuple[float, float]], bars: dict[str, float]) -> None:
        for name in found:
            if name != "ours":
                self.say(f"{what} / {name}", found["ours"][0], found[name][0], bars.get(name))


def total(answer: Any) -> int:
    """Rows and the sum of a column, of whatever an engine gives."""
    if isinstance(answer, pl.DataFrame):
        answer = answer.to_arrow()
    return int(answer.num_rows) * 10**12 + int(pc.sum(answer["c"]).as_py())


def read(bench: Bench, columns: list[str] | None = None, what: str = "read") -> None:
    file, names = bench.file(), columns or list(COLUMNS)
    chosen = ", ".join(names)
    found = bench.medians(
        {
            "ours": lambda: bench.compacted.scan(columns).to_arrow(),
            "polars": lambda: pl.read_parquet(file, columns=names),
            "pyarrow": lambda: pq.read_table(file, columns=names),
            "duckdb": lambda: duckdb.sql(f"SELECT {chosen} FROM read_parquet('{file}')").to_arrow_table(),
        },
        total,
    )
    if columns is None:
        bench.against(what, found, {"polars": 1.0})
    else:
        best = min((name for name in found if name != "ours"), key=lambda name: found[name][0])
        bench.against(what, found, {best: 1.05})


def columns(bench: Bench) -> None:
    read(bench, ["id", "c"], "two columns")


def filtered(bench: Bench) -> None:
    file = bench.file()
    names = list(COLUMNS)
    found = bench.medians(
        {
            "ours": lambda: bench.compacted.scan(filter="city = 'Oslo'").to_arrow(),
            "polars": lambda: pl.scan_parquet(file).select(names).filter(pl.col("city") == "Oslo").collect(),
            "duckdb": lambda: duckdb.sql(
                f"SELECT {', '.join(names)} FROM read_parquet('{file}') WHERE city = 'Oslo'"
            ).to_arrow_table(),
        },
        total,
    )
    bench.against("filter", found, {"polars": 1.1})


def merge_read(bench: Bench) -> None:
    files = sorted(pathlib.Path(bench.runs.location).glob("bucket-0/data-*"))
    found = bench.medians(
        {
            "ours": lambda: bench.runs.scan().to_arrow(),
            "pyarrow": lambda: [pq.read_table(file) for file in files],
        }
    )
    bench.against("merge-read", found, {"pyarrow": 1.6})


def write(bench: Bench) -> None:
    rows = bench.inputs[0]
    frame = pl.DataFrame(rows)
    out = str(bench.place / "written.parquet")
    connection = duckdb.connect()
    connection.register("rows", rows)
    tables = iter([bench.table() for _ in range(bench.rounds + 1)])
    found = bench.medians(
        {
            "ours": lambda: next(tables).upsert(rows),
            "polars": lambda: frame.sort("id").write_parquet(out, compression="zstd", compression_level=1),
            "duckdb": lambda: connection.execute(
                f"COPY (SELECT * FROM rows ORDER BY id) TO '{out}' (FORMAT parquet, COMPRESSION zstd)"
            ),
        }
    )
    bench.against("write", found, {"polars": 1.25})


def batch(bench: Bench) -> None:
    four = pa.concat_tables(bench.inputs[:4]).combine_chunks()
    pair = iter([(bench.table(), bench.table()) for _ in range(bench.rounds + 1)])
    current: dict[str, Any] = {}

    def table(which: str) -> Any:
        if not current:
            current["ours"], current["four"] = next(pair)
        return current.pop(which)

    def four_times() -> None:
        target = table("four")
        for rows in bench.inputs[:4]:
            target.upsert(rows)

    found = bench.medians({"ours": lambda: table("ours").upsert(four), "four": four_times})
    bench.say("one batch / four", found["ours"][0], found["four"][0], 1.15)


def compact(bench: Bench) -> None:
    copies = iter([bench.copy(bench.runs) for _ in range(bench.rounds + 1)])
    files = sorted(pathlib.Path(bench.runs.location).glob("bucket-0/data-*"))
    compacted, out = bench.file(), str(bench.place / "limit.parquet")

    def limit() -> None:
        """Every input is decoded and the output encoded: nothing is merged, one thread."""
        for file in files:
            pq.read_table(file, use_threads=False)
        rows = decoded[0]
        pq.write_table(rows, out, compression="zstd", compression_level=1)

    decoded = [pq.read_table(compacted, use_threads=False)]
    pa.set_cpu_count(1)
    found = bench.medians({"ours": lambda: next(copies).compact(full=True), "limit": limit})
    pa.set_cpu_count(os.cpu_count() or 1)
    bench.say("compact / limit, wall", found["ours"][0], found["limit"][0], 0.42)
    bench.say("compact / limit, CPU", found["ours"][1], found["limit"][1], 0.78)


def changed(bench: Bench) -> None:
    """Keys of one range have changed: the rest of the file need not be decoded."""
    count = bench.rows // 2
    low = count // 2
    rng = np.random.default_rng([SEED, 9])
    rows = rows_of(np.arange(low, low + count // 100), rng)
    base = bench.copy(bench.compacted)
    base.upsert(rows)
    copies = iter([bench.copy(base) for _ in range(bench.rounds + 1)])
    file, out = bench.file(), bench.place / "copied.parquet"

    def copy() -> None:
        shutil.copyfile(file, out)
        with out.open("rb") as written:
            os.fsync(written.fileno())

    found = bench.medians({"ours": lambda: next(copies).compact(full=True), "copy": copy})
    bench.say("1 % changed / copy", found["ours"][0], found["copy"][0], 1.5)


def key(bench: Bench) -> None:
    rng = np.random.default_rng([SEED, 10])
    times = []
    for number in range(101):
        wanted = int(rng.integers(0, bench.rows // 2))
        start = time.perf_counter()
        bench.compacted.get(wanted)
        times += [time.perf_counter() - start] if number else []
    bench.say("one key (ms)", statistics.median(times), None, 3)


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
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(JOBS))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(pathlib.Path(folder), args.rows, args.rounds)
        for name in args.only:
            JOBS[name](bench)
        print(f"{bench.missed} bars missed; load {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
