"""What Spark does with a table of each bucket mode, in a classic session and over Connect: write twice, compact, read, and survive
Python workers that are killed.

``python bucket_modes.py FOLDER MASTER`` runs all of it in a process of its own, whose Spark tries tasks again: those of tests do not,
and where one session is there, the other kind may not be. MASTER is ``local[2,4]`` for a classic session, ``connect`` for the other one.
"""

import contextlib
import pathlib
import sys

import siltstone as st
from siltstone import spark as ss
from siltstone.spark import assigning, writing

#: Primary key and options by mode.
MODES = {
    "fixed": (["p", "id"], {"bucket": "2"}),
    "dynamic": (["p", "id"], {"dynamic-bucket.target-row-num": "30"}),
    "cross-partition": (["id"], {"dynamic-bucket.target-row-num": "30"}),
    "postponed": (["p", "id"], {"bucket": "-2", "postpone.default-bucket-num": "2"}),
    "unaware": ([], {}),
}
SCHEMA = "p string, id int, v int"


def made(folder, mode):
    """A table of a mode, below a folder."""
    catalog = st.connect(pathlib.Path(folder, "lake"))
    catalog.create_database("db", if_not_exists=True)
    key, options = MODES[mode]
    columns = {"p": "STRING", "id": "INT", "v": "INT"}
    name = f"db.{mode.replace('-', '_')}"
    return catalog.create_table(name, columns, primary_key=key, partition_by=["p"], options=options)


def frame(spark, ids, v):
    """Rows of some keys, in several tasks."""
    rows = spark.range(min(ids), max(ids) + 1)
    return rows.selectExpr("concat('d', id % 2) AS p", "CAST(id AS INT) AS id", f"CAST({v} AS INT) AS v").repartition(3)


def dying(df, marker):
    """The same rows; the first worker that comes to the middle is killed."""

    def once(batches):
        import os
        import pathlib
        import signal

        for batch in batches:
            if 120 in batch.column("id").to_pylist() and not pathlib.Path(marker).exists():
                pathlib.Path(marker).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    return df.mapInArrow(once, SCHEMA)


@contextlib.contextmanager
def killed_at_its_end(module, task, marker):
    """A task of ours whose first worker is killed when all is done, but nothing of it was handed on."""
    original = getattr(module, task)

    def run(*arguments):
        import os
        import pathlib
        import signal

        results = list(original(*arguments))
        if not pathlib.Path(marker).exists():
            pathlib.Path(marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield from results

    setattr(module, task, run)
    try:
        yield
    finally:
        setattr(module, task, original)


#: The tasks that write files and that give keys their buckets.
TASKS = {mode: [(writing, "_write_task")] for mode in MODES} | {
    "dynamic": [(assigning, "_assign"), (assigning, "_write")]
}


def live(spark, folder, mode):
    """A table's life; what it should have, it has."""
    t = made(folder, mode)
    assert t.bucket_mode == mode
    write = "append" if mode == "unaware" else "upsert"
    ss.write(frame(spark, range(100), 1), t, mode=write)
    ss.write(frame(spark, range(50, 150), 2), t, mode=write)
    markers = [pathlib.Path(folder, f"{mode}-{task}") for task in ("read", *[name for _, name in TASKS[mode]])]
    with contextlib.ExitStack() as killing:
        for (module, task), marker in zip(TASKS[mode], markers[1:], strict=True):
            killing.enter_context(killed_at_its_end(module, task, str(marker)))
        ss.write(dying(frame(spark, range(100, 200), 3), str(markers[0])), t, mode=write)
    assert [marker.name for marker in markers if not marker.exists()] == []
    ss.compact(spark, t, full=True)
    # append tables keep all rows
    counts = {i: 1 + (50 <= i < 100) + (100 <= i < 150) if mode == "unaware" else 1 for i in range(200)}
    newest = {i: 3 if i >= 100 else 2 if i >= 50 else 1 for i in range(200)}
    found = [r.asDict() for r in ss.read(spark, t).collect()]
    assert {i: [r["id"] for r in found].count(i) for i in range(200)} == counts
    assert {r["id"]: max(o["v"] for o in found if o["id"] == r["id"]) for r in found} == newest
    assert all(r["p"] == f"d{r['id'] % 2}" for r in found)
    assert t.maintenance.fsck(deep=True).problems == []
    assert t.maintenance.remove_orphan_files(
        older_than="0s", dry_run=False
    ).deleted_files  # of the writer that was killed
    assert t.maintenance.fsck(deep=True).problems == []


def main(folder, master):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.enabled", "false")
    spark = (builder.remote("local[2,4]") if master == "connect" else builder.master(master)).getOrCreate()
    try:
        for mode in MODES:
            live(spark, folder, mode)
            sys.stdout.write(f"{mode}\n")
            sys.stdout.flush()
    finally:
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
