"""Single keys and merges: `t.get`, `t.merge` beside the upsert of the same rows, and beside deltalake's merge.

    python benches/python/merges.py [--rows 5000000] [--keyed 10000000] [--rounds 5]

`t.get` asks a compacted table of `--keyed` rows (one bucket) for random keys: one, and 1,000 at once; every
answer is looked at. The merge brings 1 % of `--rows` rows, half of them new, into a table of the suite's ten columns:
matched rows are updated, others inserted. The table has a primary key, and so the upsert of these rows does the same;
deltalake (when it is installed: it is not needed for the rest) merges into a table of its own. Each round works on a
fresh copy; medians.
"""

import argparse
import importlib.util
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

LISTED = 1000


def timed(work: Callable[[], Any]) -> float:
    """Seconds of one call, the disk being quiet before."""
    os.sync()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def gets(place: pathlib.Path, count: int, rounds: int) -> None:
    """Single keys and a thousand of a table."""
    cat = st.connect(str(place))
    cat.create_database("b")
    t = cat.create_table("b.k", {"id": "BIGINT", "v": "BIGINT", "s": "STRING"}, primary_key="id", options={"bucket": 1})
    ids = pa.array(np.random.default_rng(SEED).permutation(count))
    t.upsert(pa.table({"id": ids, "v": pa.compute.multiply(ids, 3), "s": ids.cast(pa.string())}))
    t.compact(full=True)
    rng = np.random.default_rng([SEED, 7])
    for listed, asks in ((1, 200), (LISTED, rounds)):
        times = []
        for number in range(asks + 1):
            keys = rng.integers(0, count, listed).tolist()
            start = time.perf_counter()
            found = t.get(keys)
            seconds = time.perf_counter() - start
            if {row["id"]: row["v"] for row in found.to_pylist()} != {key: 3 * key for key in keys}:
                sys.exit(f"PROBLEM: t.get({keys[:3]}...) gave other rows")
            times += [seconds] if number else []  # the first one opens the files
        print(f"get {listed} of {count:,} keys: median {1000 * statistics.median(times):.2f} ms")


def of_siltstone(base: pathlib.Path, copy: pathlib.Path, rows: pa.Table) -> dict[str, float]:
    """Seconds of a merge and of an upsert of the same rows, each on its own copy."""
    found = {}
    for name in ("merge", "upsert"):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(base, copy)
        t = st.connect(str(copy)).table("b.t")
        if name == "merge":
            whole = t.merge(rows, on="id").when_matched_update_all().when_not_matched_insert_all()
            found[name] = timed(whole.execute)
        else:
            found[name] = timed(lambda t=t: t.upsert(rows))
        found[f"{name} sum"] = pa.compute.sum(t.scan(["c"]).to_arrow()["c"]).as_py()
    return found


def of_deltalake(base: pathlib.Path, copy: pathlib.Path, rows: pa.Table) -> dict[str, float]:
    """Seconds of deltalake's merge."""
    from deltalake import DeltaTable

    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(base, copy)
    t = DeltaTable(str(copy))
    merger = t.merge(rows, "target.id = source.id", source_alias="source", target_alias="target")
    seconds = timed(merger.when_matched_update_all().when_not_matched_insert_all().execute)
    return {
        "deltalake": seconds,
        "deltalake sum": pa.compute.sum(DeltaTable(str(copy)).to_pyarrow_table()["c"]).as_py(),
    }


def merges(place: pathlib.Path, count: int, rounds: int) -> None:
    """1 % of the rows into a table, half of them new."""
    rng = np.random.default_rng([SEED, 8])
    rows = rows_of(rng.permutation(count), rng)
    cat = st.connect(str(place / "ours"))
    cat.create_database("b")
    t = cat.create_table("b.t", COLUMNS, primary_key=["id"], options={"bucket": "1"})
    t.upsert(rows)
    t.compact(full=True)
    engines: list[Callable[..., dict[str, float]]] = [of_siltstone]
    bases = [place / "ours"]
    if importlib.util.find_spec("deltalake"):
        from deltalake import write_deltalake

        write_deltalake(str(place / "delta"), rows.sort_by("id"))
        engines.append(of_deltalake)
        bases.append(place / "delta")
    else:
        print("deltalake is not installed: nothing to compare the merge with")
    del rows
    keys = rng.permutation(count + count // 200)[-count // 100 :]
    keys[: len(keys) // 2] = count + np.arange(len(keys) // 2)
    keys = np.unique(keys)
    source = rows_of(rng.permutation(keys), rng)
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for engine, base in zip(engines, bases, strict=True):
            for name, value in engine(base, place / "copy", source).items():
                found.setdefault(name, []).append(value)
    if len({tuple(found[name]) for name in found if name.endswith(" sum")}) != 1:
        sys.exit(f"PROBLEM: not the same rows: {found}")
    middle = {name: statistics.median(values) for name, values in found.items()}
    print(f"merge of {len(source):,} rows into {count:,}: {middle['merge']:.2f} s")
    print(f"upsert of the same rows: {middle['upsert']:.2f} s, merge / upsert {middle['merge'] / middle['upsert']:.2f}")
    if "deltalake" in middle:
        print(f"deltalake: {middle['deltalake']:.2f} s, deltalake / merge {middle['deltalake'] / middle['merge']:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--keyed", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        gets(pathlib.Path(folder) / "keys", args.keyed, args.rounds)
        merges(pathlib.Path(folder), args.rows, args.rounds)


if __name__ == "__main__":
    main()
