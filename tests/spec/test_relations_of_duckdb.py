"""Relations of DuckDB as input: what Arrow does not tell apart is refused, at any depth."""

import datetime as dt

import pytest
from siltstone import errors as e

duckdb = pytest.importorskip("duckdb")

LOST = {
    "UHUGEINT": ("340282366920938463463374607431768211455::UHUGEINT", "DECIMAL(38, 0)"),
    "TIME WITH TIME ZONE": ("'10:00:00+05'::TIMETZ", "TIME"),
    "BIT": ("'10101'::BIT", "BYTES"),
    "BIGNUM": ("1::BIGNUM", "BYTES"),
}
INFINITE = {
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP(6)",
    "TIMESTAMP_MS": "TIMESTAMP(3)",
    "TIMESTAMP_NS": "TIMESTAMP(9)",
    "TIMESTAMP_S": "TIMESTAMP(0)",
    "TIMESTAMPTZ": "TIMESTAMP_LTZ(6)",
}
#: A value in each place where one can be, and the column for that.
PLACES = {
    "itself": ("{v}", "{t}"),
    "list": ("[NULL, {v}]", "ARRAY<{t}>"),
    "array": ("[{v}]::{d}[1]", "ARRAY<{t}>"),
    "row": ("{{'x': {v}, 'n': 1}}", "ROW<x {t}, n INT>"),
    "map": ("MAP {{'k': {v}}}", "MAP<STRING, {t}>"),
    "key": ("MAP {{{v}: 'k'}}", "MAP<{t}, STRING>"),
    "deep": ("[{{'x': [{v}]}}]", "ARRAY<ROW<x ARRAY<{t}>>>"),
}


def relation(value, place):
    return duckdb.connect().sql(f"SELECT 1 AS id, {PLACES[place][0].format(v=value, d=value.rpartition('::')[2])} AS a")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", LOST)
def test_types_whose_values_arrow_does_not_have_are_refused(make, kind, place):
    """A UHUGEINT came out negative, a TIMETZ without its offset, a BIT with DuckDB's own padding."""
    value, column = LOST[kind]
    t = make({"id": "INT", "a": PLACES[place][1].format(t=column)})
    given = relation(value, place)
    for call in (
        t.append,
        t.overwrite,
        lambda data: t.merge(data, "t.id = s.id").when_not_matched_insert_all().execute(),
    ):
        with pytest.raises(e.SchemaMismatch, match=f"column 'a' has the type {kind} of DuckDB"):
            call(given)
    assert t.scan().count() == 0


def test_no_table_is_made_of_types_whose_values_arrow_does_not_have(cat):
    """The table had columns of the types in which Arrow has the wrong values."""
    for value, _ in LOST.values():
        with pytest.raises(e.SchemaMismatch, match="of DuckDB"):
            cat.create_table("db.made", relation(value, "deep"))
    assert "made" not in cat.tables("db")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("kind", INFINITE)
def test_infinite_days_and_times_are_refused(make, kind, sign, place):
    """They were stored as the years 5881580 and 294247."""
    t = make({"id": "INT", "a": PLACES[place][1].format(t=INFINITE[kind])})
    with pytest.raises(e.SchemaMismatch, match="column 'a'"):
        t.append(relation(f"'{sign}infinity'::{kind}", place))
    assert t.scan().count() == 0


def test_an_infinite_day_in_a_later_batch_is_refused(make):
    """Rows come piece by piece; each is looked at, and nothing is stored of the ones before."""
    t = make({"id": "BIGINT", "a": "DATE"})
    days = "CASE WHEN i = 299999 THEN 'infinity'::DATE ELSE DATE '2020-01-01' END"
    with pytest.raises(e.SchemaMismatch, match="infinite day"):
        t.append(duckdb.connect().sql(f"SELECT i AS id, {days} AS a FROM range(300000) r(i)"))
    assert t.scan().count() == 0


@pytest.mark.parametrize("place", PLACES)
def test_finite_days_are_stored_as_they_are(make, place):
    """What is not infinite goes in at each of the places."""
    t = make({"id": "INT", "a": PLACES[place][1].format(t="DATE")})
    t.append(relation("'2026-11-20'::DATE", place))
    asked = "SELECT a::VARCHAR FROM given"
    given = relation("'2026-11-20'::DATE", place)
    assert t.scan(["a"]).to_duckdb().query("given", asked).fetchall() == given.query("given", asked).fetchall()


def test_nulls_empty_lists_and_no_rows_are_no_infinite_days(make):
    """The least and the greatest of no days are none."""
    t = make({"id": "INT", "a": "ARRAY<DATE>"})
    t.append(duckdb.connect().sql("SELECT 1 AS id, NULL::DATE[] AS a UNION ALL SELECT 2, []"))
    t.append(duckdb.connect().sql("SELECT 1 AS id, ['infinity'::DATE] AS a LIMIT 0"))
    assert t.scan().count() == 2


def test_what_arrow_has_is_cast_by_duckdb(make):
    """The hints say how: numbers, times and bits that fit are cast in the relation."""
    t = make({"n": "DECIMAL(38, 0)", "t": "TIME(3)", "b": "STRING", "d": "DATE"})
    t.append(
        duckdb.connect().sql(
            "SELECT 5::UHUGEINT::DECIMAL(38, 0) n, '10:00:00+05'::TIMETZ::TIME t, '10101'::BIT::VARCHAR b,"
            " CASE WHEN isfinite(x) THEN x END d FROM (SELECT 'infinity'::DATE AS x)"
        )
    )
    assert t.scan().to_arrow().to_pylist() == [{"n": 5, "t": dt.time(10), "b": "10101", "d": None}]


def test_a_refused_relation_leaves_its_connection_to_others(make):
    """Every other query of the connection failed until the garbage collector ran."""
    t = make({"a": "TIMESTAMP(6)"})
    con = duckdb.connect()
    with pytest.raises(e.SchemaMismatch) as kept:
        t.append(con.sql("SELECT 'infinity'::TIMESTAMP AS a"))
    assert kept.value is not None
    assert con.sql("SELECT 1").fetchall() == [(1,)]
    t.append(con.sql("SELECT TIMESTAMP '2020-01-01' AS a"))
    assert t.scan().count() == 1
