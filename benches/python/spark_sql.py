"""Spark SQL over Paimon tables, beside Spark over its own files; compaction on executors, beside that of one process.

    python benches/python/spark_sql.py [--rows 2000000] [--rounds 5] [--only prune,aggregate,small,compact,write]

One session of local[2]; engines take turns, the first round is not counted, medians. Goals are of the design; what
misses one is marked.

prune      one partition of 1,000 with two buckets each: files are skipped, not read
aggregate  count, sum and group by of a compacted table, beside spark.read.parquet of the very same files
small      a table of three rows, beside the same rows in a parquet table of Spark's own
compact    full compaction of 16, 200 and 2,000 small buckets, beside Table.compact in this process
write      an upsert of all rows into four buckets, beside a parquet write that is clustered and sorted by the same key
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

import pyarrow as pa
import siltstone as st
from pyspark.sql import SparkSession
from siltstone import spark as ss

Job = Callable[[], object]


def session(place: pathlib.Path) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("siltstone-bench").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.warehouse.dir", str(place / "spark")).config(
        "spark.sql.shuffle.partitions", "2"
    )
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    ss.enable(spark, warehouse=str(place / "lake"))
    return spark


def medians(jobs: dict[str, Job], rounds: int) -> dict[str, float]:
    """Seconds of each job; they take turns, and the first round warms up."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(rounds + 1):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            if number:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def say(name: str, ours: float, theirs: float | None, goal: float) -> None:
    """A line: a goal is seconds without another engine, times its seconds with one."""
    value = ours if theirs is None else ours / theirs
    shown = "" if theirs is None else f"  {theirs:8.3f} s  {value:5.2f} x"
    print(f"{name:34} {ours:8.3f} s{shown}  goal {goal:g}{'' if value <= goal else '  MISSED'}", flush=True)


def prune(spark: SparkSession, cat: st.Catalog, args: argparse.Namespace) -> None:
    table = cat.create_table(
        "b.wide",
        {"p": "INT", "id": "INT", "v": "STRING"},
        primary_key=["p", "id"],
        partition_by=["p"],
        options={"bucket": "2", "write-only": "true"},
    )
    ids = range(20_000)
    rows = {"p": [i % 1000 for i in ids], "id": list(ids), "v": ["x"] * len(ids)}
    table.append(pa.table(rows, schema=table.schema))
    query = "SELECT count(*) FROM b.wide WHERE p = 7"
    found = medians({"ours": lambda: ss.sql(spark, query).collect()}, args.rounds)
    say("prune: 1 partition of 1,000", found["ours"], None, 1.5)
    found = medians({"ours": lambda: ss.sql(spark, "SELECT count(*), max(v) FROM b.wide").collect()}, 1)
    print(f"{'prune: all 2,000 buckets':34} {found['ours']:8.3f} s")


def source(rows: int) -> pa.Table:
    ids = pa.array(range(rows), pa.int64())
    columns = {"id": ids, "k": pa.array([i % 100 for i in range(rows)], pa.int32())}
    columns |= {f"v{n}": pa.array([i * 0.5 + n for i in range(rows)]) for n in range(4)}
    return pa.table(columns | {"name": pa.array([f"name {i}" for i in range(rows)])})


def aggregate(spark: SparkSession, cat: st.Catalog, args: argparse.Namespace) -> None:
    data = source(args.rows)
    kinds = {"id": "BIGINT", "k": "INT", "name": "STRING"} | {f"v{n}": "DOUBLE" for n in range(4)}
    kinds = {name: kinds[name] for name in data.column_names}
    table = cat.create_table("b.facts", kinds, primary_key=["id"], options={"bucket": "4"})
    table.upsert(data)
    table.compact(full=True)
    spark.read.parquet(str(pathlib.Path(table.location) / "bucket-*")).createOrReplaceTempView("facts_files")
    for what, selected in (
        ("count(*)", "count(*)"),
        ("sum of one column", "sum(v1)"),
        ("sum of two, one text", "sum(v1), sum(v2), max(name)"),
        ("group by", "k, count(*), sum(v1)"),
    ):
        tail = " GROUP BY k" if what == "group by" else ""
        jobs: dict[str, Job] = {
            "ours": lambda s=selected, t=tail: ss.sql(spark, f"SELECT {s} FROM b.facts{t}").collect(),  # type: ignore[misc]
            "spark": lambda s=selected, t=tail: spark.sql(f"SELECT {s} FROM facts_files{t}").collect(),  # type: ignore[misc]
        }
        found = medians(jobs, args.rounds)
        say(f"aggregate: {what}", found["ours"], found["spark"], 1.3)


def small(spark: SparkSession, cat: st.Catalog, args: argparse.Namespace) -> None:
    table = cat.create_table("b.small", {"id": "INT", "v": "STRING"}, primary_key=["id"], options={"bucket": "1"})
    rows = [(1, "a"), (2, "b"), (3, "c")]
    table.upsert([{"id": i, "v": v} for i, v in rows])
    spark.createDataFrame(rows, "id INT, v STRING").coalesce(1).write.saveAsTable("small_of_spark")
    for what, query in (("count", "SELECT count(*) FROM {}"), ("rows", "SELECT v FROM {} WHERE id = 2")):
        jobs: dict[str, Job] = {
            "ours": lambda q=query: ss.sql(spark, q.format("b.small")).collect(),  # type: ignore[misc]
            "spark": lambda q=query: spark.sql(q.format("small_of_spark")).collect(),  # type: ignore[misc]
        }
        found = medians(jobs, max(args.rounds, 15))
        say(f"small: {what}", found["ours"], found["spark"], 1.3)


def compact(spark: SparkSession, cat: st.Catalog, _: argparse.Namespace) -> None:
    for buckets in (16, 200, 2_000):
        ours, theirs = [], []
        for number in range(3):
            pair = [cat.create_table(f"b.c{buckets}_{number}_{side}", {"p": "INT", "id": "INT", "v": "STRING"},
                                     primary_key=["p", "id"], partition_by=["p"],
                                     options={"bucket": "2", "write-only": "true"}) for side in "ab"]  # fmt: skip
            for table in pair:
                ids = range(buckets * 50)
                columns = {"p": [i % (buckets // 2) for i in ids], "id": list(ids), "v": ["some text"] * len(ids)}
                for _ in range(3):
                    table.upsert(pa.table(columns, schema=table.schema))
            start = time.perf_counter()
            ss.compact(spark, pair[0], full=True)
            middle = time.perf_counter()
            pair[1].compact(full=True)
            ours.append(middle - start)
            theirs.append(time.perf_counter() - middle)
        say(f"compact: {buckets} buckets", statistics.median(ours[1:]), statistics.median(theirs[1:]), 1.15)


def write(spark: SparkSession, cat: st.Catalog, args: argparse.Namespace) -> None:
    data = source(args.rows)
    place = pathlib.Path(cat.create_table("b.raw", {"x": "INT"}).location).parent / "raw.parquet"
    import pyarrow.parquet as pq

    pq.write_table(data, place, row_group_size=128_000)
    frame = spark.read.parquet(str(place))
    kinds = {"id": "BIGINT", "k": "INT", "name": "STRING"} | {f"v{n}": "DOUBLE" for n in range(4)}
    kinds = {name: kinds[name] for name in data.column_names}
    numbers = iter(range(1_000))

    def ours() -> None:
        table = cat.create_table(f"b.w{next(numbers)}", kinds, primary_key=["id"], options={"bucket": "4"})
        ss.write(frame, table)

    def theirs() -> None:
        clustered = frame.repartition(4, "id").sortWithinPartitions("id")
        clustered.write.option("compression", "zstd").parquet(str(place.parent / f"p{next(numbers)}"))

    found = medians({"ours": ours, "spark": theirs}, args.rounds)
    say("write: upsert", found["ours"], found["spark"], 1.25)


JOBS = {"prune": prune, "aggregate": aggregate, "small": small, "compact": compact, "write": write}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(JOBS))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        cat = st.connect(place / "lake")
        cat.create_database("b")
        spark = session(place)
        print(f"Spark {spark.version}, local[2]; load {os.getloadavg()[0]:.1f}")
        for name in args.only:
            JOBS[name](spark, cat, args)
            print(f"  (load {os.getloadavg()[0]:.1f})", flush=True)
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
