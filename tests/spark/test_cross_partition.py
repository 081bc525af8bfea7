"""Spark writes tables whose keys may come in any partition through one task, which finds where each key is."""

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
        primary_key=["id"],
        partition_by=["dt"],
        options={"dynamic-bucket.target-row-num": "30"},
    )


def frame(spark, rows):
    return spark.createDataFrame(list(rows), "dt string, id int, v int").repartition(3)


def found(spark):
    rows = ss.read(spark, "db.orders").collect()
    by_key = {r["id"]: (r["dt"], r["v"]) for r in rows}
    assert len(by_key) == len(rows), "a key twice"
    return by_key


def test_rows_move_between_partitions(spark, orders):
    ss.write(frame(spark, ((f"d{i % 2}", i, 1) for i in range(200))), "db.orders")
    ss.write(frame(spark, (("d9", i, 2) for i in range(100, 300))), "db.orders", mode="upsert")
    expected = {i: ("d9", 2) if i >= 100 else (f"d{i % 2}", 1) for i in range(300)}
    assert found(spark) == expected
    ss.compact(spark, "db.orders", full=True)
    assert found(spark) == expected
    assert orders.maintenance.fsck(deep=True).problems == []
    ss.write(frame(spark, [("d1", 1, 3), ("d1", 500, 3)]), "db.orders", mode="overwrite-partitions")
    expected = {i: place for i, place in expected.items() if place[0] != "d1"} | {1: ("d1", 3), 500: ("d1", 3)}
    assert found(spark) == expected
    with pytest.raises(e.InvalidArgument, match="leaves as it is"):
        ss.write(frame(spark, [("d1", 0, 4)]), "db.orders", mode="overwrite-partitions")
    ss.write(frame(spark, [("d1", 0, 4)]), "db.orders", mode="overwrite")
    assert found(spark) == {0: ("d1", 4)}
    assert orders.maintenance.fsck(deep=True).problems == []


def test_what_would_need_several_assigners_is_refused(spark, orders):
    df = frame(spark, [("d0", 1, 1)])
    with pytest.raises(e.InvalidArgument, match="parallelism=4"):
        ss.write(df, "db.orders", parallelism=4)
    with pytest.raises(Exception, match=r"siltstone\.spark\.write"):
        df.write.format("siltstone").mode("append").save("db.orders")
    assert orders.snapshot() is None


def test_a_task_that_fails_leaves_the_keys_where_they_were(spark, orders):
    ss.write(frame(spark, [("d0", 1, 1), ("d0", 2, 1)]), "db.orders")
    broken = frame(spark, [("d1", 1, 2), ("d1", None, 2)])
    with pytest.raises(Exception, match="id"):
        ss.write(broken, "db.orders", mode="upsert")
    assert found(spark) == {1: ("d0", 1), 2: ("d0", 1)}
    ss.write(frame(spark, [("d1", 1, 2)]), "db.orders", mode="upsert")
    assert found(spark) == {1: ("d1", 2), 2: ("d0", 1)}
    assert orders.maintenance.fsck(deep=True).problems == []
