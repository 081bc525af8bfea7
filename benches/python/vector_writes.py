"""What deletion vectors cost a writer: upserts that are visible at once, beside the same upserts without vectors.

    python benches/python/vector_writes.py [--rows 5000000] [--shares 0.01,0.1,0.5] [--rounds 3]

Two tables of `--rows` rows x 10 columns (the suite's `base` files, one bucket, compacted into the highest level), one
with `deletion-vectors.enabled`. Each share of the keys, drawn at random, is upserted into a fresh copy of both by one
`t.upsert`: with vectors it writes level 0 and runs the lookup compaction that marks the old rows before it returns;
without it writes level 0 and compacts only when the size rules say so, and readers merge. Prints medians, their ratio,
and what a full read takes afterwards.
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

import numpy as np
import pyarrow as pa
import siltstone as st

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "suite"))
from generate import SEED, rows_of
from scenarios import COLUMNS

MODES = {"with vectors": {"deletion-vectors.enabled": "true"}, "without": {}}


def timed(work: Callable[[], Any]) -> float:
    """Seconds of one call, the disk being quiet before."""
    os.sync()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def build(place: pathlib.Path, options: dict[str, str], rows: pa.Table) -> None:
    """A compacted table."""
    cat = st.connect(str(place))
    cat.create_database("b")
    table = cat.create_table("b.t", COLUMNS, primary_key=["id"], options={"bucket": "1", **options})
    table.upsert(rows)
    table.maintenance.compact(full=True)


def once(base: pathlib.Path, place: pathlib.Path, upserts: pa.Table) -> tuple[float, float]:
    """Seconds of the upsert and of a full read after it, on a copy of the table."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(base, place)
    write = timed(lambda: st.connect(str(place)).table("b.t").upsert(upserts))
    read = timed(lambda: st.connect(str(place)).table("b.t").scan().to_arrow())
    return write, read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--shares", default="0.01,0.1,0.5")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    rng = np.random.default_rng([SEED, 5])
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        rows = rows_of(rng.permutation(args.rows), rng)
        for mode, options in MODES.items():
            build(place / mode, options, rows)
        del rows
        print("| upserts | with vectors s | without s | ratio | read after: with s | without s |")
        print("|--:|--:|--:|--:|--:|--:|")
        for share in map(float, args.shares.split(",")):
            count = int(args.rows * share)
            upserts = rows_of(rng.permutation(args.rows)[:count], rng)
            found = {mode: [once(place / mode, place / "copy", upserts) for _ in range(args.rounds)] for mode in MODES}
            (write, read), (plain, merge) = (
                [statistics.median(each) for each in zip(*found[mode], strict=True)] for mode in MODES
            )
            print(
                f"| {share:.0%} ({count:,}) | {write:.2f} | {plain:.2f} | {write / plain:.1f} | {read:.2f} | {merge:.2f} |"
            )


if __name__ == "__main__":
    main()
