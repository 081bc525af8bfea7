"""``ss.sql``: Paimon tables in plain SQL, without a catalog plugin."""

import time

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone import spark as ss

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def shop(spark, tmp_path):
    warehouse = str(tmp_path / "lake")
    cat = st.connect(warehouse)
    cat.create_database("shop")
    columns = {"id": "BIGINT NOT NULL", "v": "INT", "s": "STRING"}
    t = cat.create_table("shop.orders", columns, primary_key=["id"], options={"bucket": "1"})
    t.upsert([{"id": 1, "v": 10, "s": "a"}, {"id": 2, "v": 20, "s": "b"}])
    time.sleep(0.02)
    t.upsert([{"id": 1, "v": 11, "s": "c"}, {"id": 3, "v": 20, "s": "b"}])
    ss.enable(spark, warehouse=warehouse)
    return t


def rows(spark, query):
    return [tuple(r) for r in ss.sql(spark, query).collect()]


def test_tables_are_read_by_name_at_any_version(spark, shop):
    assert rows(spark, "SELECT * FROM shop.orders ORDER BY id") == [(1, 11, "c"), (2, 20, "b"), (3, 20, "b")]
    assert rows(spark, "SELECT v FROM shop.orders VERSION AS OF 1 ORDER BY id") == [(10,), (20,)]
    joined = "SELECT o.v, x.v FROM shop.orders o JOIN paimon.shop.orders VERSION AS OF 1 AS x USING (id) ORDER BY 1"
    assert rows(spark, joined) == [(11, 10), (20, 20)]
    first = shop.snapshot(1).time
    for time_text in (f"'{first:%Y-%m-%d %H:%M:%S.%f}'", f"{first.timestamp():.3f}"):
        assert rows(spark, f"SELECT count(*) FROM shop.orders TIMESTAMP AS OF {time_text}") == [(2,)]


def test_queries_of_every_shape_give_sparks_answer(spark, shop):
    assert rows(spark, "WITH a AS (SELECT id FROM shop.orders) SELECT sum(id) FROM a") == [(6,)]
    assert rows(spark, "SELECT q.v FROM (SELECT id, v FROM shop.orders) q WHERE q.id = 1") == [(11,)]
    union = "SELECT id FROM shop.orders UNION ALL SELECT id FROM shop.orders VERSION AS OF 1"
    assert sorted(rows(spark, union)) == [(1,), (1,), (2,), (2,), (3,)]
    exists = "SELECT id FROM shop.orders o WHERE EXISTS (SELECT 1 FROM shop.orders VERSION AS OF 1 x WHERE x.s = o.s)"
    assert rows(spark, exists + " ORDER BY id") == [(2,), (3,)]
    assert rows(spark, "SELECT s, count(*) AS n FROM shop.orders GROUP BY s HAVING n > 1") == [("b", 2)]


def test_only_the_columns_of_the_query_are_read(spark, shop):
    plan = rows(spark, "EXPLAIN SELECT upper(s) FROM shop.orders WHERE id > 1")[0][0]
    scan = next(line for line in plan.splitlines() if "BatchScan" in line)
    assert "id#" in scan and "s#" in scan and "v#" not in scan


def test_statements_without_a_paimon_table_reach_spark_untouched(spark, shop):
    assert rows(spark, "SELECT 1 + 1, '$x', 'shop.orders'") == [(2, "$x", "shop.orders")]
    spark.createDataFrame([(7,)], "id INT").createOrReplaceTempView("orders")
    assert rows(spark, "SELECT * FROM orders") == [(7,)]
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        ss.sql(spark, "SELECT * FROM nope.t")
    assert rows(spark, "SHOW FUNCTIONS LIKE 'upper'") == [("upper",)]


def test_errors_name_the_version_or_the_statement(spark, shop):
    with pytest.raises(e.SnapshotNotFound, match="99"):
        ss.sql(spark, "SELECT * FROM shop.orders VERSION AS OF 99")
    with pytest.raises(e.TagNotFound, match="v9"):
        ss.sql(spark, "SELECT * FROM shop.orders VERSION AS OF 'v9'")
    with pytest.raises(e.InvalidArgument, match="is not a time"):
        ss.sql(spark, "SELECT * FROM shop.orders TIMESTAMP AS OF 'noon'")
    with pytest.raises(e.UnsupportedFeature, match="INSERT on the Paimon table"):
        ss.sql(spark, "INSERT INTO shop.orders VALUES (1, 2, 'x')")


def test_procedures_are_called_on_executors_or_here(spark, shop):
    assert rows(spark, "CALL sys.compact(table => 'shop.orders')") == [(True,)]
    assert [f["level"] for f in shop.files()] == [5]
    with pytest.raises(e.InvalidArgument, match=r"no procedure sys\.nope"):
        ss.sql(spark, "CALL sys.nope(table => 'shop.orders')")
