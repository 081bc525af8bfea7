"""How long the report of a table of many files takes, its page included, and how much memory.

    python benches/python/report.py PLACE [--files 100000] [--commits 20] [--rounds 3]

Makes (once, below PLACE, which takes minutes) an append table and one with a primary key, each of `--files` files of one row in
files/commits partitions. Then a process of its own for each table makes the report `--rounds` times, with the look for orphan files,
and its page; the first page imports matplotlib. The most memory is that of the whole process.
"""

import argparse
import itertools
import pathlib
import resource
import subprocess
import sys
import time

import pyarrow as pa
import siltstone as st

COLUMNS = {"part": "INT", "id": "BIGINT", "name": "STRING", "at": "TIMESTAMP(6)"} | {
    f"v{i}": "DOUBLE" for i in range(5)
}
TABLES = {"append": [], "keys": ["part", "id"]}


def build(place: pathlib.Path, files: int, commits: int) -> None:
    """The tables: each commit writes one file into each partition, and nothing is compacted."""
    cat = st.connect(place)
    cat.create_database("b", if_not_exists=True)
    each = files // commits
    for name, key in TABLES.items():
        options = {"bucket": "1" if key else "-1", "write-only": "true", "siltstone.sync": "false"}
        table = cat.create_table(f"b.{name}", COLUMNS, primary_key=key, partition_by=["part"], options=options)
        rows = {c: pa.nulls(each, table.schema.field(c).type) for c in COLUMNS}
        rows |= {"part": pa.array(range(each), pa.int32()), "id": pa.array(range(each), pa.int64())}
        rows["name"] = pa.array([f"name {n}" for n in range(each)])
        for _ in range(commits):
            table.append(pa.table(rows))


def measure(place: pathlib.Path, name: str, rounds: int) -> None:
    """One table, in this process."""
    table = st.connect(place).table(f"b.{name}")
    for _ in range(rounds):
        marks = [(time.perf_counter(), time.process_time())]
        report = table.report()
        marks.append((time.perf_counter(), time.process_time()))
        page = report.html
        marks.append((time.perf_counter(), time.process_time()))
        parts = [f"{b[0] - a[0]:5.2f} s ({b[1] - a[1]:5.2f} s of processors)" for a, b in itertools.pairwise(marks)]
        print(f"{name:7} {report.totals.files:,} files: figures {parts[0]}, page {parts[1]}, {len(page):,} letters")
    unit = 1 if sys.platform == "darwin" else 1024
    print(f"{name:7} at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / (1 << 20):.0f} MiB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("place", type=pathlib.Path)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--table", choices=TABLES, help="measure only this table, in this process")
    args = parser.parse_args()
    if args.table:
        measure(args.place, args.table, args.rounds)
        return 0
    if not (args.place / "b.db").exists():
        build(args.place, args.files, args.commits)
    for name in TABLES:
        command = [sys.executable, __file__, str(args.place), "--table", name, "--rounds", str(args.rounds)]
        subprocess.run(command, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
