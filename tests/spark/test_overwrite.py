"""What an overwrite from Spark replaces: as the session says, unless the write says it itself."""

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone import spark as ss

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

CONF = "spark.sql.sources.partitionOverwriteMode"


@pytest.fixture
def orders(spark, tmp_path):
    warehouse = str(tmp_path / "lake")
    cat = st.connect(warehouse)
    cat.create_database("db")
    ss.enable(spark, warehouse=warehouse)
    t = cat.create_table(
        "db.orders",
        {"dt": "STRING", "id": "INT"},
        primary_key=["dt", "id"],
        partition_by=["dt"],
        options={"bucket": "1"},
    )
    yield t
    spark.conf.unset(CONF)


@pytest.fixture
def fill(spark, orders):
    def fill():
        orders.overwrite([{"dt": d, "id": 1} for d in ("a", "b")], dynamic=False)
        return spark.createDataFrame([("a", 2)], "dt string, id int")

    return fill


def rows(t):
    return sorted((r["dt"], r["id"]) for r in t.scan().to_arrow().to_pylist())


EVERYTHING, ITS_PARTITIONS = [("a", 2)], [("a", 2), ("b", 1)]


def test_overwrite_replaces_what_the_session_says_unless_the_write_says_it(spark, orders, fill):
    """With `dynamic` in the session every partition was wiped."""
    ss.write(fill(), "db.orders", mode="overwrite")
    assert rows(orders) == EVERYTHING
    spark.conf.set(CONF, "dynamic")
    ss.write(fill(), "db.orders", mode="overwrite")
    assert rows(orders) == ITS_PARTITIONS
    ss.write(fill(), "db.orders", mode="overwrite", partition_overwrite="static")
    assert rows(orders) == EVERYTHING


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"overwrite.mode": "full"}, EVERYTHING),
        ({"overwrite.mode": "static", "overwrite.partition": "dt=a"}, ITS_PARTITIONS),
        ({"partitionOverwriteMode": "dynamic"}, ITS_PARTITIONS),
    ],
)
def test_the_format_replaces_what_its_options_say(spark, orders, fill, options, left):
    fill().write.format("siltstone").mode("overwrite").options(**options).save("db.orders")
    assert rows(orders) == left


def test_the_format_refuses_an_overwrite_that_does_not_say_what_it_replaces(spark, orders, fill):
    df = fill()
    for options in ({"overwrite.mode": "static"}, {"overwrite.mode": "static", "overwrite.partition": "f0=1"}):
        with pytest.raises(Exception, match=r"do not fit|'f0' is not a partition column"):
            df.write.format("siltstone").mode("overwrite").options(**options).save("db.orders")
    with pytest.raises(Exception, match="is for mode"):
        df.write.format("siltstone").mode("append").option("overwrite.mode", "full").save("db.orders")
    assert rows(orders) == [("a", 1), ("b", 1)]


def test_system_tables_are_not_written_to(spark, orders, fill):
    """Their rows were written into the table that they are about."""
    df = fill()
    for name in ("db.orders$audit_log", "db.orders$ro", "sys.tables"):
        with pytest.raises(e.UnsupportedFeature, match="only read"):
            ss.write(df, name, mode="overwrite")
        with pytest.raises(Exception, match="only read"):
            df.write.format("siltstone").mode("append").save(name)
        with pytest.raises(e.UnsupportedFeature, match="only read"):
            ss.compact(spark, name, full=True)
    with pytest.raises(e.UnsupportedFeature, match="only read"):
        ss.sql(spark, "CALL sys.create_tag(table => 'db.orders$audit_log', tag => 'v')")
    with pytest.raises(e.UnsupportedFeature):
        ss.sql(spark, "DELETE FROM db.orders$audit_log WHERE id = 1")
    assert rows(orders) == [("a", 1), ("b", 1)] and orders.snapshot().id == 1
