"""Variables of Spark in statements about Paimon tables: put in before anything is looked at, as Spark does it."""

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone import spark as ss

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def t(spark, tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("shop")
    t = cat.create_table("shop.k", {"id": int, "dt": str, "n": int}, primary_key=["id"], options={"bucket": "1"})
    t.upsert([{"id": 1, "dt": "2025-06-01", "n": 1}, {"id": 2, "dt": "2026-06-01", "n": 2}])
    ss.enable(spark, warehouse=str(tmp_path / "lake"))
    yield t
    for name in ("cutoff", "inner", "one", "two"):
        spark.conf.unset(name)


def ids(t):
    return sorted(row["id"] for row in t.scan())


def test_rows_are_deleted_by_the_value_of_a_variable(spark, t):
    """DELETE took `${cutoff}` as the text, and deleted every row."""
    ss.sql(spark, "SET cutoff=2026-01-01")
    ss.sql(spark, "UPDATE shop.k SET n = 99 WHERE dt > '${cutoff}'")
    assert [row["n"] for row in t.scan(filter="id = 1")] == [1]
    assert [row["n"] for row in t.scan(filter="id = 2")] == [99]
    ss.sql(spark, "DELETE FROM shop.k WHERE dt > '${spark:cutoff}'")
    assert ids(t) == [1]


@pytest.mark.parametrize(
    "text",
    [
        "${cutoff}",
        "${inner}",
        "x${hiveconf:cutoff}y${cutoff}",
        "${nowhere}",
        "${other:cutoff}",
        "${env:HOME}",
        "$cutoff {}",
    ],
)
def test_values_are_those_of_spark(spark, t, text):
    spark.conf.set("cutoff", "2026")
    spark.conf.set("inner", "in ${cutoff}")
    ss.sql(spark, f"UPDATE shop.k SET dt = '{text}' WHERE id = 1")
    [row] = t.scan(["dt"], filter="id = 1")
    assert row["dt"] == spark.sql(f"SELECT '{text}'").first()[0]


def test_variables_can_be_switched_off(spark, t):
    spark.conf.set("cutoff", "2026")
    spark.conf.set("spark.sql.variable.substitute", "false")
    try:
        ss.sql(spark, "UPDATE shop.k SET dt = '${cutoff}' WHERE id = 1")
    finally:
        spark.conf.unset("spark.sql.variable.substitute")
    assert [row["dt"] for row in t.scan(filter="id = 1")] == ["${cutoff}"]


def test_a_variable_that_names_itself_is_refused(spark, t):
    spark.conf.set("one", "${two}")
    spark.conf.set("two", "${one}")
    with pytest.raises(e.InvalidArgument, match="part of its own value"):
        ss.sql(spark, "DELETE FROM shop.k WHERE dt > '${one}'")
    assert ids(t) == [1, 2]
