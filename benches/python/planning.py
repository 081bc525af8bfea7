"""How long planning takes on a table of many files: manifests read, entries merged, files pruned, splits packed.

    python benches/python/planning.py [--files 10000] [--commits 20] [--rounds 7]

Makes an append table of `--files` one-row files (one per partition value, so each commit writes files/commits of
them) and times from opening the table to the finished plan: everything, one partition, one file by its statistics,
and the count that needs no data file at all.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

import pyarrow as pa
import siltstone as st

COLUMNS = {"part": "INT", "id": "BIGINT", "name": "STRING", "price": "DECIMAL(12,2)", "at": "TIMESTAMP(6)"} | {
    f"v{i}": "DOUBLE" for i in range(15)
}


def build(warehouse: str, files: int, commits: int) -> None:
    """The table: every row is a file of its own because every row is a partition of its own."""
    cat = st.connect(warehouse)
    cat.create_database("b")
    table = cat.create_table("b.t", COLUMNS, partition_by=["part"], options={"bucket": "-1"})
    each = files // commits
    for number in range(commits):
        ids = range(number * each, (number + 1) * each)
        values = {"part": pa.array(ids, pa.int32()), "id": pa.array(ids, pa.int64())}
        rows = {c: values.get(c, pa.nulls(each, table.schema.field(c).type)) for c in COLUMNS}
        rows["name"] = pa.array([f"name {i}" for i in ids])
        rows |= {f"v{i}": pa.array([k * 0.5 for k in ids]) for i in range(15)}
        table.append(pa.table(rows))


def clock(work: Callable[[], object], rounds: int) -> str:
    """Best and median in milliseconds."""
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    return f"best {min(times[1:]):8.1f} ms, median {statistics.median(times[1:]):8.1f} ms"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        start = time.perf_counter()
        build(place, args.files, args.commits)
        made = time.perf_counter() - start
        manifests = list(pathlib.Path(place).rglob("manifest/manifest-*"))
        size = sum(m.stat().st_size for m in manifests)
        print(
            f"{args.files} files in {args.commits} commits ({made:.1f} s), {len(manifests)} manifest files, {size:,} bytes"
        )
        middle = args.files // 2
        jobs: dict[str, Callable[[], object]] = {
            "plan all": lambda: st.connect(place).table("b.t").scan().splits(),
            "plan one partition": lambda: st.connect(place).table("b.t").scan(filter=f"part = {middle}").splits(),
            "plan one file": lambda: st.connect(place).table("b.t").scan(filter=f"id = {middle}").splits(),
            "count": lambda: st.connect(place).table("b.t").scan().count(),
        }
        for name, work in jobs.items():
            print(f"{name:20} {clock(work, args.rounds)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
