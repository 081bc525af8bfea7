"""Spark writes tables with dynamic buckets through one task, which finds the bucket of each key."""

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
    assert orders.inspect("buckets").to_arrow().num_rows == 10
    assert orders.maintenance.fsck(deep=True).problems == []
    ss.write(frame(spark, range(0, 60, 2), 3), "db.orders", mode="overwrite-partitions")
    found = {r["id"]: r["v"] for r in ss.read(spark, "db.orders").collect()}
    assert found == {i: 2 if i >= 100 else 1 for i in range(1, 300, 2)} | dict.fromkeys(range(0, 60, 2), 3)
    assert orders.maintenance.fsck(deep=True).problems == []


def test_what_would_need_several_assigners_is_refused(spark, orders):
    df = frame(spark, range(10), 1)
    with pytest.raises(e.InvalidArgument, match="parallelism=4"):
        ss.write(df, "db.orders", parallelism=4)
    with pytest.raises(Exception, match=r"siltstone\.spark\.write"):
        df.write.format("siltstone").mode("append").save("db.orders")
    assert orders.snapshot() is None
