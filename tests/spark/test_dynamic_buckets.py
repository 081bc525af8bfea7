"""Spark writes tables with dynamic buckets: keys go to tasks that know their buckets, then each bucket to one writer."""

import pathlib

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone import spark as ss

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def orders(spark, tmp_path):
    warehouse = str(tmp_path / "lake")
    cat = st.connect(warehouse)
    cat.create_database("db")
    ss.enable(spark, warehouse=warehouse)
    return cat.create_table(
        "db.orders",
        {"dt": "STRING", "id": "INT", "v": "INT"},
        primary_key=["dt", "id"],
        partition_by=["dt"],
        options={"dynamic-bucket.target-row-num": "30"},
    )


def frame(spark, ids, v):
    rows = [(f"d{i % 2}", i, v) for i in ids]
    return spark.createDataFrame(rows, "dt string, id int, v int").repartition(3)


def test_write_twice_compact_and_read(spark, orders):
    ss.write(frame(spark, range(200), 1), "db.orders")
    ss.write(frame(spark, range(100, 300), 2), "db.orders", mode="upsert")
    ss.compact(spark, "db.orders", full=True)
    found = {r["id"]: r["v"] for r in ss.read(spark, "db.orders").collect()}
    assert found == {i: 2 if i >= 100 else 1 for i in range(300)}
    assert 10 <= orders.inspect("buckets").to_arrow().num_rows <= 12
    assert orders.maintenance.fsck(deep=True).problems == []
    ss.write(frame(spark, range(0, 60, 2), 3), "db.orders", mode="overwrite-partitions")
    found = {r["id"]: r["v"] for r in ss.read(spark, "db.orders").collect()}
    assert found == {i: 2 if i >= 100 else 1 for i in range(1, 300, 2)} | dict.fromkeys(range(0, 60, 2), 3)
    assert orders.maintenance.fsck(deep=True).problems == []


def test_the_format_sends_to_what_clusters(spark, orders):
    with pytest.raises(Exception, match=r"siltstone\.spark\.write"):
        frame(spark, range(10), 1).write.format("siltstone").mode("append").save("db.orders")
    assert orders.snapshot() is None


@pytest.mark.parametrize("assigners", [1, 3])
def test_several_assigners_share_the_keys_of_a_table(spark, orders, assigners):
    cat = st.connect(pathlib.Path(orders.location).parents[1])
    options = {
        "dynamic-bucket.target-row-num": "30",
        "dynamic-bucket.initial-buckets": str(assigners),
        "dynamic-bucket.assigner-parallelism": "4",
    }
    t = cat.create_table("db.shared", orders.schema, primary_key=["dt", "id"], partition_by=["dt"], options=options)
    ss.write(frame(spark, range(0, 400, 2), 1), t, parallelism=3)
    t.upsert([{"dt": "d1", "id": i, "v": 2} for i in range(1, 100, 2)])
    ss.write(frame(spark, range(500), 3), t, parallelism=2)
    ss.write(frame(spark, range(100, 200), 0), t, row_kind="-D")
    found = {r["id"]: r["v"] for r in ss.read(spark, "db.shared").collect()}
    assert found == {i: 3 for i in range(500) if not 100 <= i < 200}
    assert t.scan().count() == 400
    assert t.maintenance.fsck(deep=True).problems == []
    assert sum(s.kind == "APPEND" for s in t.history(100)) == 4


def test_one_row_of_each_of_many_partitions_makes_one_bucket_each(spark, orders):
    rows = [(f"d{i}", i, 1) for i in range(300)]
    df = spark.createDataFrame(rows, "dt string, id int, v int").repartition(4)
    ss.write(df, "db.orders", parallelism=4)
    ss.write(df, "db.orders", parallelism=4)
    assert orders.scan().count() == 300
    assert {r["bucket"] for r in orders.inspect("buckets").to_arrow().to_pylist()} == {0}
    assert orders.maintenance.fsck(deep=True).problems == []


def test_files_of_different_runs_of_an_assigner_are_not_committed(spark, orders, monkeypatch):
    """A key would be in the bucket of one run and not in that of the other: a row lost, or there twice."""
    from siltstone.spark import assigning

    def with_other_runs(t, shared, names, *more):
        for batch in assigning_write(t, shared, names, *more):
            import uuid

            import pyarrow as pa

            at = batch.schema.get_field_index("runs")
            yield batch.set_column(at, "runs", pa.array([str(uuid.uuid4())] * len(batch)))

    assigning_write = assigning._write
    monkeypatch.setattr(assigning, "_write", with_other_runs)
    with pytest.raises(e.CommitConflict, match="different runs"):
        ss.write(frame(spark, range(50), 1), "db.orders")
    assert orders.snapshot() is None


def die_once(marker, row):
    import os
    import pathlib
    import signal

    if row.id == 150:
        try:
            pathlib.Path(marker).touch(exist_ok=False)
        except FileExistsError:
            return row
        os.kill(os.getpid(), signal.SIGKILL)
    return row


def test_a_killed_worker_leaves_no_key_twice_and_loses_none(spark, orders, tmp_path):
    ss.write(frame(spark, range(100), 1), "db.orders")
    before = orders.snapshot().id
    df = frame(spark, range(50, 250), 2)
    with pytest.raises(Exception, match=r"(?i)python worker|crashed|EOF"):
        rows = df.rdd.map(lambda row: die_once(str(tmp_path / "killed"), row)).toDF(df.schema)
        ss.write(rows, "db.orders")
    assert orders.snapshot().id == before
    ss.write(df, "db.orders")
    found = {r["id"]: r["v"] for r in ss.read(spark, "db.orders").collect()}
    assert found == {i: 2 if i >= 50 else 1 for i in range(250)}
    assert orders.scan().count() == 250
    assert orders.maintenance.fsck(deep=True).problems == []
