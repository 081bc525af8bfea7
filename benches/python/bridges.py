"""Columns and conditions pushed down from polars and DuckDB, beside a scan that names them itself.

    python benches/python/bridges.py [--rows 5000000] [--rounds 7]

One table of `--rows` rows x 10 columns (the suite's kind), one bucket, compacted. Each question is asked through
`scan(columns, filter)`, `st.scan_polars` and DuckDB over `t.to_dataset()`, in turn; the goal is 1.2 times the scan.
DuckDB and polars compute what they answer, so the scan's rows go through `pyarrow.compute` where a sum is asked for.
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
import polars as pl
import pyarrow.compute as pc
import siltstone as st

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "suite"))
from generate import SEED, rows_of
from scenarios import COLUMNS


def build(place: str, count: int) -> Any:
    """A compacted table."""
    rng = np.random.default_rng([SEED, 6])
    cat = st.connect(place)
    cat.create_database("b")
    table = cat.create_table("b.t", COLUMNS, primary_key=["id"], options={"bucket": "1"})
    table.upsert(rows_of(rng.permutation(count), rng))
    table.compact(full=True)
    return cat.table("b.t")


def questions(t: Any, count: int) -> dict[str, dict[str, Callable[[], Any]]]:
    """For each question the ways to ask it; all of a question answer with one number."""
    data, low, high = t.to_dataset(), count // 2, count // 2 + count // 100

    database = duckdb.connect()
    database.register("t", data)

    def sql(text: str) -> Callable[[], Any]:
        return lambda: database.execute(text).fetchone()[0]

    def lazy(ask: Callable[[pl.LazyFrame], pl.LazyFrame]) -> Callable[[], Any]:
        return lambda: ask(st.scan_polars(t)).collect().item()

    keys = f"id >= {low} and id < {high}"
    return {
        "sum of one column of ten": {
            "scan": lambda: pc.sum(t.scan(["c"]).to_arrow()["c"]).as_py(),
            "polars": lazy(lambda f: f.select(pl.col("c").sum())),
            "duckdb": sql("select sum(c)::BIGINT from t"),
        },
        "1 % of the keys": {
            "scan": lambda: pc.sum(t.scan(["c"], filter=keys).to_arrow()["c"]).as_py(),
            "polars": lazy(lambda f: f.filter(pl.col("id") >= low, pl.col("id") < high).select(pl.col("c").sum())),
            "duckdb": sql(f"select sum(c)::BIGINT from t where {keys}"),
        },
        "5 % by a value column": {
            "scan": lambda: pc.sum(t.scan(["c"], filter="city = 'Oslo'").to_arrow()["c"]).as_py(),
            "polars": lazy(lambda f: f.filter(pl.col("city") == "Oslo").select(pl.col("c").sum())),
            "duckdb": sql("select sum(c)::BIGINT from t where city = 'Oslo'"),
        },
        "one key": {
            "scan": lambda: pc.sum(t.scan(["c"], filter=f"id = {low}").to_arrow()["c"]).as_py(),
            "polars": lazy(lambda f: f.filter(pl.col("id") == low).select(pl.col("c").sum())),
            "duckdb": sql(f"select sum(c)::BIGINT from t where id = {low}"),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        t = build(folder, args.rows)
        print("| question | scan ms | polars ms | ratio | DuckDB ms | ratio |")
        print("|---|--:|--:|--:|--:|--:|")
        for question, ways in questions(t, args.rows).items():
            answers = {way: ask() for way, ask in ways.items()}
            if len(set(answers.values())) != 1:
                sys.exit(f"PROBLEM: {question}: {answers}")
            times: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(args.rounds):
                for way, ask in ways.items():
                    start = time.perf_counter()
                    ask()
                    times[way].append(time.perf_counter() - start)
            scan, polars, duck = (1000 * statistics.median(times[way]) for way in ways)
            print(f"| {question} | {scan:.1f} | {polars:.1f} | {polars / scan:.2f} | {duck:.1f} | {duck / scan:.2f} |")


if __name__ == "__main__":
    main()
