"""A compaction by tasks of Ray, one a bucket, beside the same compaction inside this process.

    python benches/python/ray_compaction.py [--rows 5000000] [--buckets 16] [--rounds 5]

`--rows` rows of the suite's ten columns, five commits that overlap, in one table of so many buckets. Each round compacts fresh copies
both ways, in turn; Ray has as many workers as this machine has cores, started and warm before the clock is. The goal is 1.3 times.
Needs `ray[data]`.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time
from typing import Any

import numpy as np
import ray
import siltstone as st
from siltstone import ray as sr

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "suite"))
from generate import SEED, rows_of
from scenarios import COLUMNS

COMMITS = 5


def build(cat: Any, rows: int, buckets: int) -> Any:
    """A table of overlapping runs in each bucket."""
    rng = np.random.default_rng([SEED, 33])
    options = {"bucket": str(buckets), "write-only": "true"}
    table = cat.create_table("b.base", COLUMNS, primary_key=["id"], options=options)
    for _ in range(COMMITS):
        table.upsert(rows_of(rng.permutation(rows // 2)[: rows // COMMITS], rng))
    return table


def once(cat: Any, base: Any, name: str, way: str) -> tuple[float, int]:
    """Seconds of compacting a copy, and the rows that it has then."""
    place = pathlib.Path(base.location.removeprefix("file:")).with_name(name)
    shutil.copytree(base.location.removeprefix("file:"), place)
    table = cat.table(f"b.{name}")
    os.sync()
    start = time.perf_counter()
    if way == "Ray":
        sr.compact(table, full=True)
    else:
        table.compact(full=True)
    seconds = time.perf_counter() - start
    count = table.scan(["id"]).to_arrow().num_rows
    shutil.rmtree(place)
    return seconds, count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--buckets", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    ray.init(num_cpus=os.cpu_count(), include_dashboard=False, log_to_driver=False)
    with tempfile.TemporaryDirectory() as folder:
        cat = st.connect(folder)
        cat.create_database("b")
        base = build(cat, args.rows, args.buckets)
        took: dict[str, list[float]] = {"in process": [], "Ray": []}
        for number in range(args.rounds + 1):
            found = {way: once(cat, base, f"copy{number}", way) for way in took}
            if len({count for _, count in found.values()}) != 1:
                sys.exit(f"PROBLEM: not the same rows: {found}")
            for way, (seconds, _) in found.items():
                took[way] += [seconds] if number else []  # the first round starts the workers
    ray.shutdown()
    ours, other = (statistics.median(each) for each in took.values())
    print(
        f"{args.buckets} buckets of {args.rows:,} rows: in process {ours:.2f} s, Ray {other:.2f} s, {other / ours:.2f} times"
    )


if __name__ == "__main__":
    main()
