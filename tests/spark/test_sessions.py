"""What a session knows: its warehouse and database, what RESET leaves of that, and what is said where nothing is known."""

import pytest
from siltstone import errors as e
from siltstone import spark as ss

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def orders(spark, shop):
    t = shop.create_table("shop.orders", {"id": "BIGINT", "item": "STRING"}, primary_key="id", options={"bucket": "1"})
    t.upsert([{"id": 1, "item": "pen"}, {"id": 2, "item": "ink"}])
    yield t
    for key in ("spark.paimon.write.merge-schema", "spark.paimon.nope"):
        spark.conf.unset(key)


@pytest.fixture
def other(spark):
    """Another session of the driver; PySpark lets `RDD.toDF` make frames of the one that came last."""
    from pyspark import RDD

    to_frame = RDD.toDF
    yield spark.newSession()
    RDD.toDF = to_frame


def rows(spark, query):
    return [tuple(r) for r in ss.sql(spark, query).collect()]


@pytest.mark.parametrize("reset", ["RESET", "reset ;", "-- all\nRESET"])
def test_reset_leaves_the_warehouse_and_the_database_in_use(spark, orders, reset):
    """RESET forgot the warehouse: DELETE was \"not supported\" from then on, and SELECT knew no table."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    ss.sql(spark, "USE shop")
    ss.sql(spark, "SET spark.sql.shuffle.partitions=7")
    ss.sql(spark, reset)
    assert spark.conf.get("spark.sql.shuffle.partitions") == before
    ss.sql(spark, "DELETE FROM orders WHERE id = 1")
    assert rows(spark, "SELECT id FROM orders") == [(2,)]
    assert ss.read(spark, "orders").count() == 1


def test_reset_of_one_setting_is_sparks(spark, orders):
    ss.sql(spark, "SET spark.sql.shuffle.partitions=7")
    ss.sql(spark, "RESET spark.sql.shuffle.partitions")
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM shop.orders WHERE id = 1",
        "UPDATE shop.orders SET item = 'x'",
        "INSERT INTO shop.orders VALUES (3, 'x')",
        "WITH a AS (SELECT 3 AS id, 'x' AS item) INSERT INTO shop.orders SELECT * FROM a",
        "MERGE INTO shop.orders USING shop.orders s ON true WHEN MATCHED THEN DELETE",
        "ALTER TABLE shop.orders SET TBLPROPERTIES ('a' = 'b')",
        "CREATE TABLE shop.t (id INT)",
        "CREATE DATABASE other",
        "SELECT * FROM shop.orders",
        "SELECT * FROM shop.orders$snapshots",
        "SELECT * FROM paimon_incremental_query('shop.orders', '1', '2')",
        "SHOW TABLES IN shop",
        "USE shop",
        "CALL sys.compact(table => 'shop.orders')",
    ],
)
def test_a_session_without_a_warehouse_says_so(other, orders, query):
    """It said that DELETE is not supported; a new session of a notebook server has no warehouse, either."""
    with pytest.raises(e.InvalidArgument, match="no warehouse is known") as raised:
        ss.sql(other, query)
    assert "siltstone.spark.enable" in raised.value.hint
    assert orders.snapshot().id == 1


def test_what_is_of_spark_works_without_a_warehouse(other):
    assert rows(other, "SELECT 1 + 1") == [(2,)]
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        ss.sql(other, "SELECT nope")
    with pytest.raises(e.UnsupportedFeature, match="CREATE VIEW"):
        ss.sql(other, "CREATE VIEW v AS SELECT 1")


def test_a_switch_of_writes_does_not_stop_reads(spark, orders):
    """Each statement failed, also SELECT and SHOW PARTITIONS, and the hint did not say how to undo the setting."""
    ss.sql(spark, "SET `spark.paimon.write.merge-schema` = true")
    assert rows(spark, "SELECT count(*) FROM shop.orders") == [(2,)]
    assert ss.read(spark, "shop.orders").count() == 2
    more = spark.createDataFrame([(3, "cap", 7)], "id long, item string, stars int")
    for write in (
        lambda: ss.write(more.drop("stars"), "shop.orders"),
        lambda: ss.sql(spark, "INSERT INTO shop.orders VALUES (3, 'cap')"),
        lambda: ss.sql(spark, "INSERT INTO shop.orders SELECT 3, 'cap'"),
    ):
        with pytest.raises(e.UnknownOption, match="Java's connector alone") as raised:
            write()
        assert "spark.conf.unset('spark.paimon.write.merge-schema')" in raised.value.hint
    ss.sql(spark, "DELETE FROM shop.orders WHERE length(item) > 9")
    assert ss.write(more, "shop.orders", merge_schema=True).rows == 1
    spark.conf.unset("spark.paimon.write.merge-schema")
    ss.sql(spark, "INSERT INTO shop.orders VALUES (4, 'nib', 1)")
    ss.sql(spark, "SET `spark.paimon.write.merge-schema` = false")
    assert rows(spark, "SELECT count(*) FROM shop.orders") == [(4,)]


def test_a_setting_that_is_no_option_is_refused_with_the_way_back(spark, orders):
    ss.sql(spark, "SET spark.paimon.nope = 1")
    with pytest.raises(e.UnknownOption, match="'nope'") as raised:
        ss.sql(spark, "SELECT * FROM shop.orders")
    assert "spark.conf.unset('spark.paimon.nope')" in raised.value.hint


def test_names_without_a_database_mean_the_same_everywhere(spark, orders):
    """After USE ss.sql and ss.table found the table, ss.read and ss.write did not."""
    with pytest.raises(e.InvalidArgument):
        ss.read(spark, "orders")
    ss.sql(spark, "USE paimon.shop")
    assert ss.table(spark, "orders").count() == ss.read(spark, "`orders`").count() == 2
    assert ss.read(spark, "orders$snapshots").count() == 1
    ss.write(spark.createDataFrame([(3, "cap")], "id long, item string"), "orders", mode="upsert")
    assert ss.compact(spark, "orders", full=True).given_up == []
    assert ss.read(spark, "shop.orders").count() == 3


def test_two_rows_need_no_200_tasks(spark, orders):
    """The first write of the quick start took more than a minute: two shuffles to 200 tasks each, for two rows."""
    from siltstone.spark.parallelism import write_tasks

    spark.conf.unset("spark.sql.shuffle.partitions")
    try:
        assert write_tasks(spark) == 4  # of local[2]
        spark.conf.set("spark.sql.shuffle.partitions", "5")
        assert write_tasks(spark) == 5
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
