"""Parameters of ``ss.sql``: each statement takes them, and each value is the one that Spark itself makes of it."""

import datetime as dt
import decimal

import pytest
from siltstone import errors as e
from siltstone import spark as ss

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

AT = dt.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=dt.timezone(dt.timedelta(hours=2)))
ODD = "a'b\\c ${spark.app.name} {x} ?:id :: \n\u00e9\"`--/*"
VALUES = {
    "small": -7,
    "long": 3_000_000_000,
    "float": -1.5e-7,
    "inf": float("-inf"),
    "nan": float("nan"),
    "yes": True,
    "none": None,
    "bytes": b"\x00a",
    "day": dt.date(2026, 5, 6),
    "at": AT,
    "naive": dt.datetime(2026, 7, 2, 3, 4),
    "exact": decimal.Decimal("-1.50"),
    "whole": decimal.Decimal("5"),
    "odd": ODD,
}


@pytest.fixture
def ev(spark, shop):
    columns = {"id": "INT", "s": "STRING", "at": "TIMESTAMP(6) WITH LOCAL TIME ZONE", "amt": "DECIMAL(8,3)"}
    return shop.create_table("shop.ev", columns, primary_key="id")


@pytest.mark.parametrize("name", VALUES)
def test_a_value_is_what_spark_makes_of_it(spark, shop, name):
    args = {"v": VALUES[name]}
    query = "SELECT :v AS a, typeof(:v) AS t, 1 AS b"
    ours, theirs = ss.sql(spark, query, args=args), spark.sql(query, args=args)
    assert repr(ours.collect()) == repr(theirs.collect())


def test_all_statements_take_them(spark, ev):
    """A call with args= was a TypeError that said nothing else."""
    row = "VALUES (:id, :s, :at, :amt)"
    ss.sql(spark, f"INSERT INTO shop.ev {row}", args={"id": 1, "s": ODD, "at": AT, "amt": decimal.Decimal("-1.5")})
    ss.sql(spark, "INSERT INTO shop.ev (id, s) VALUES (?, ?), (3, 'it?')", args=[2, "it's"])
    found = ss.sql(spark, "SELECT id FROM shop.ev WHERE s = :s AND at = :at", {"s": ODD, "at": AT}).collect()
    assert [r.id for r in found] == [1]
    assert ev.to_pylist()[0]["s"] == ODD
    ss.sql(spark, "UPDATE shop.ev SET s = :s WHERE id - :minus = :id", args={"s": ":id", "minus": -1, "id": 3})
    ss.sql(spark, "DELETE FROM shop.ev WHERE s LIKE ?", args=["%?"])
    merge = "MERGE INTO shop.ev USING (SELECT 1 AS i) q ON ev.id = q.i WHEN MATCHED THEN UPDATE SET s = :s"
    ss.sql(spark, merge, args={"s": "merged"})
    assert [(r["id"], r["s"]) for r in ev.to_pylist()] == [(1, "merged"), (2, ":id")]
    ss.sql(spark, "CALL sys.create_tag(table => :t, tag => 'v1', snapshot => :n)", args={"t": "shop.ev", "n": 2})
    assert ss.sql(spark, "SELECT count(*) FROM shop.ev VERSION AS OF :v", args={"v": "v1"}).first()[0] == 3
    assert ss.sql(spark, "SELECT '?' AS `:x`, '4'::int, /* ? */ ? -- ?", args=[9]).collect() == [("?", 4, 9)]


def test_what_is_no_parameter_says_so(spark, ev):
    with pytest.raises(e.InvalidArgument, match="2 times") as raised:
        ss.sql(spark, "SELECT ?, ?", args=[1])
    with pytest.raises(e.InvalidArgument, match="v is .* a list") as raised:
        ss.sql(spark, "SELECT :v", args={"v": [1]})
    assert "array(:a, :b)" in raised.value.hint
    with pytest.raises(e.InvalidArgument, match="args is 'x'"):
        ss.sql(spark, "SELECT :v", args="x")
    with pytest.raises(Exception, match="UNBOUND_SQL_PARAMETER"):
        ss.sql(spark, "SELECT id FROM shop.ev WHERE id = :y", args={"x": 1})
    spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    try:
        with pytest.raises(e.InvalidArgument, match="escapedStringLiterals is true"):
            ss.sql(spark, "SELECT :v", args={"v": "it's"})
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda spark: ss.sql(spark, "SELECT 1", arg=[]), r"sql\(\) has no argument 'arg': use args="),
        (lambda spark: ss.read(spark, "shop.ev", snapshot_id=1), r"has no argument 'snapshot_id': use version="),
        (lambda spark: ss.table(spark, "shop.ev", version=1), r"siltstone.spark.read\(spark, name, version=...\)"),
        (lambda spark: ss.write(None, "shop.ev", overwrite=True), "use mode='overwrite'"),
        (lambda spark: ss.compact(spark, "shop.ev", partition={}), "use partitions="),
        (lambda spark: ss.compact_database(spark, "shop", parallel=4), "use parallelism="),
        (lambda spark: ss.enable(spark, path="lake"), "use warehouse="),
        (lambda spark: ss.ship(spark, to="there"), "it takes spark"),
    ],
)
def test_arguments_that_there_are_not_say_what_to_type(spark, call, says):
    """docs/errors.md said that they do, and it held for methods alone."""
    with pytest.raises(TypeError, match=says):
        call(spark)
