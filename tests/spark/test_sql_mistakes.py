"""What ``ss.sql`` and ``ss.write`` say of a mistake, and of what people type who come from elsewhere."""

import logging
import re

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone import spark as ss
from siltstone.spark import relations

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def orders(shop):
    t = shop.create_table("shop.orders", {"id": "BIGINT", "item": "STRING", "price": "DOUBLE"}, primary_key="id")
    t.upsert([{"id": 1, "item": "pen", "price": 2.5}])
    return t


@pytest.mark.parametrize("few", [10_000, 0])
@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("SELECT items FROM shop.orders", "item"),
        ("SELECT id, prise FROM shop.orders VERSION AS OF 1", "price"),
        ("SELECT o.items FROM shop.orders o JOIN shop.orders p ON o.id = p.id", "item"),
        ("SELECT count(*) FROM shop.orders WHERE prise > 1", "price"),
    ],
)
def test_a_column_that_is_not_there_is_answered_with_those_that_are(spark, orders, monkeypatch, few, query, meant):
    """Spark saw only the columns that the statement names, and proposed a name of siltstone's own."""
    monkeypatch.setattr(relations, "FEW_ROWS", few)
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN") as raised:
        ss.sql(spark, query)
    said = str(raised.value).partition("Did you mean")[2].partition("]")[0]
    assert f"`{meant}`" in said and "siltstone" not in said


@pytest.mark.parametrize(
    ("query", "error", "says"),
    [
        ("SELEC count(*) FROM shop.orders", e.InvalidArgument, "did you mean SELECT"),
        ("OPTIMIZE shop.orders", e.UnsupportedFeature, "CALL sys.compact"),
        ("VACUUM shop.orders", e.UnsupportedFeature, "CALL sys.expire_snapshots"),
        ("DESCRIBE HISTORY shop.orders", e.UnsupportedFeature, r"\$snapshots"),
        ("SHOW TABLE EXTENDED IN shop LIKE 'ord*'", e.UnsupportedFeature, "DESCRIBE EXTENDED"),
        ("CACHE TABLE shop.orders", e.UnsupportedFeature, r"table\(spark, 'db.t'\)\.cache\(\)"),
        ("CREATE TABLE shop.v (a INT, v VARIANT)", e.UnsupportedType, r"create_table\("),
        ("CREATE TABLE t (a INT)", e.UnsupportedFeature, "USE names another one"),
        ("SELECT * FROM sys.nope", e.TableNotFound, "all_table_options"),
        ("CALL sys.drop_partition(table => 'shop.orders')", e.UnsupportedFeature, "DROP PARTITION"),
    ],
)
def test_what_is_not_done_says_what_to_do(spark, orders, query, error, says):
    with pytest.raises(e.SiltstoneError) as raised:
        ss.sql(spark, query)
    assert type(raised.value) is error  # a class that the docs name
    assert re.search(says, raised.value.hint)


def test_a_table_named_history_is_described(spark, orders):
    cat = st.connect(orders.location.rpartition("/shop.db")[0])
    cat.create_table("shop.history", {"id": "INT"})
    ss.sql(spark, "USE shop")
    assert ("col_name", "id") in [tuple(r) for r in ss.sql(spark, "DESCRIBE history id").collect()]


def test_refresh_is_for_tables_that_are_there(spark, orders):
    assert ss.sql(spark, "REFRESH TABLE shop.orders").collect() == []
    with pytest.raises(e.TableNotFound):
        ss.sql(spark, "REFRESH TABLE shop.nope")
    spark.range(1).createOrReplaceTempView("v")
    ss.sql(spark, "REFRESH TABLE v")


def test_procedures_are_shown(spark, orders):
    names = {row.procedure for row in ss.sql(spark, "SHOW PROCEDURES IN sys").collect()}
    assert {"compact", "expire_snapshots"} < names


def test_a_comment_of_a_database_is_left_out_with_a_warning_as_in_java(spark, orders, caplog):
    """A script of the jar stopped at its first statement."""
    with caplog.at_level(logging.WARNING):
        ss.sql(spark, "CREATE DATABASE med COMMENT 'medallion'")
    assert "comment" in caplog.text and "left out" in caplog.text
    cat = st.connect(orders.location.rpartition("/shop.db")[0])
    assert "med" in cat.databases()
    with pytest.raises(e.DatabaseExists):
        ss.sql(spark, "CREATE DATABASE med COMMENT 'medallion'")
    with pytest.raises(e.UnsupportedFeature):
        ss.sql(spark, "CREATE DATABASE far WITH DBPROPERTIES ('location' = '/elsewhere')")
    assert "far" not in cat.databases()


def test_a_write_names_the_argument_and_the_type_of_spark(spark, orders):
    more = spark.createDataFrame([(1, "pen", 2.5, 7)], "id long, item string, price double, stars int")
    with pytest.raises(e.SchemaMismatch, match="'stars'") as raised:
        ss.write(more, "shop.orders")
    assert "merge_schema=True" in raised.value.hint and raised.value.context["got"] == "int"
    with pytest.raises(e.SchemaMismatch, match=r"and string in the input[^$]*hint: cast it"):
        ss.write(spark.createDataFrame([(1, "pen", "x")], "id long, item string, price string"), "shop.orders")
    with pytest.raises(e.TableNotFound) as missing:
        ss.write(more, "shop.nope")
    assert "AS SELECT" in missing.value.hint


def test_a_table_that_is_nowhere_is_said_with_the_warehouse(spark, orders, tmp_path):
    """A typing error in the warehouse was only seen as a table that Spark does not know."""
    ss.enable(spark, warehouse=str(tmp_path / "lak"))
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND") as raised:
        ss.sql(spark, "SELECT * FROM shop.orders")
    assert "lak' does not exist" in raised.value.__notes__[0]
    ss.enable(spark, warehouse=str(tmp_path / "lake"))
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND") as raised:
        ss.sql(spark, "SELECT * FROM shop.odd")
    assert raised.value.__notes__ == [f"nor is it in the warehouse {tmp_path / 'lake'}, whose databases are: shop"]


def test_a_column_of_spark_is_no_filter(spark, orders):
    with pytest.raises(e.InvalidArgument, match="Column of Spark") as raised:
        ss.read(spark, "shop.orders", filter=ss.table(spark, "shop.orders").id > 1)
    assert ".where" in raised.value.hint


def test_options_of_other_formats_are_answered_with_those_of_this_one(spark, orders):
    with pytest.raises(Exception, match="did you mean the option 'version' of the format"):
        spark.read.format("siltstone").option("versionAsOf", "1").load("shop.orders").collect()


def test_a_frame_of_spark_makes_a_table(spark, orders):
    """The reason of the refusal was empty, and the frame had been run for it."""
    cat = st.connect(orders.location.rpartition("/shop.db")[0])
    runs = spark.sparkContext.accumulator(0)

    def counted(batches):
        for batch in batches:
            runs.add(1)
            yield batch

    frame = spark.createDataFrame([(1, 2.5, [1])], "id long, price double, tags array<int>")
    frame = frame.mapInArrow(counted, frame.schema)
    t = cat.create_table("shop.copy", frame, primary_key="id", options={"bucket": "1"})
    assert runs.value == 0
    assert cat.create_table("shop.again", frame.schema).schema.names == ["id", "price", "tags"]
    ss.write(frame, "shop.copy")
    assert t.scan().to_arrow().to_pylist() == [{"id": 1, "price": 2.5, "tags": [1]}]
