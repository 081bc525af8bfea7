"""What works where pyarrow is not installed, and what the rest says: each test in a Python that has all but that."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
import siltstone as st

BEFORE = """
import sys
import datetime as dt, decimal, pickle
import polars as pl, pytest
import duckdb
import siltstone as st
from siltstone import errors
cat = st.connect(sys.argv[1])
cat.create_database("db")
TYPES = {"id": int, "s": str, "d": "DECIMAL(12, 2)", "at": "TIMESTAMP(3)", "z": "TIMESTAMP_LTZ(6)", "tags": list[str],
         "m": "MAP<STRING, INT>", "r": "ROW<a INT, b STRING>", "day": dt.date, "b": bytes, "ok": bool, "f": float}
ROW = {"id": 1, "s": "x", "d": decimal.Decimal("1.25"), "at": dt.datetime(2026, 1, 1, 1, 2, 3, 4000),
       "z": dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc), "tags": ["a", None], "m": [("k", 1)], "r": {"a": 1, "b": "y"},
       "day": dt.date(2026, 1, 2), "b": b"z", "ok": True, "f": 0.5}
NULLS = {"id": 2, **dict.fromkeys(list(ROW)[1:])}
t = cat.create_table("db.t", TYPES, primary_key="id")
"""


@pytest.fixture
def run(libraries, tmp_path):
    def run(code, before=BEFORE):
        source = pathlib.Path(st.__file__).parents[1]
        command = [sys.executable, "-S", "-c", before + textwrap.dedent(code), str(tmp_path / "lake")]
        env = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{libraries}"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
        assert done.returncode == 0, done.stderr

    return run


def test_dicts_go_in_and_out(run):
    run("""
    row = ROW | {"m": dict(ROW["m"])}
    t.append([row, NULLS])
    assert t.to_pylist() == [ROW, NULLS] == list(t.scan())
    copy = cat.create_table("db.copy", "id BIGINT, s STRING, n INT")
    copy.append({"id": [1, 2], "s": [None, None]})
    copy.append([{"id": 3, "n": 7}, {"id": 4, "s": "a"}])
    assert [row["n"] for row in copy] == [None, None, 7, None]
    t.upsert([{"id": 1, "s": "new"}])
    t.delete("id = 2"); t.delete(keys=[{"id": 9}]); t.update({"s": st.lit("u")}, "id = 1")
    changes = [{"id": 1, "s": "m"}, {"id": 5, "s": "n"}]
    t.merge(changes, on="id").when_matched_update_all().when_not_matched_insert_all().execute()
    assert {row["id"]: row["s"] for row in t} == {1: "m", 5: "n"}
    assert t.count() == 2
    """)


def test_polars_and_duckdb_go_in_and_out(run):
    run("""
    t.append(pl.DataFrame([ROW | {"m": None}]).drop("m").with_columns(f=None))
    t.append(pl.LazyFrame({"id": [2], "s": ["y"]}))
    t.append(duckdb.sql("select 3::bigint as id, 'z' as s, MAP {'k': 1} as m"))
    frame = t.to_polars()
    assert frame.sort("id")["s"].to_list() == ["x", "y", "z"]
    assert frame.schema["at"] == pl.Datetime("ms")
    assert pl.DataFrame(t).equals(frame)
    assert st.scan_polars(t).filter(pl.col("id") > 1).select("s").collect()["s"].to_list() == ["y", "z"]
    assert st.scan_polars(t).select(pl.len()).collect().item() == 3
    assert t.to_duckdb().filter("id = 3").project("s").fetchall() == [("z",)]
    assert duckdb.sql("select count(*) from t").fetchall() == [(3,)]
    for given in (frame, frame.lazy(), duckdb.sql("from t"), t):
        made = cat.create_table(f"db.c{type(given).__name__}", given)
        made.append(given)
        assert made.count() == 3
    assert cat.create_table("db.types", {"a": pl.Int32, "b": pl.List(pl.String)}).append({"a": [1], "b": [["x"]]}).rows == 1
    """)


def test_the_rest_of_a_table_works(run):
    run("""
    p = cat.create_table("db.p", {"dt": str, "n": int}, partition_by="dt")
    p.append([{"dt": "a", "n": 1}, {"dt": "b", "n": 2}])
    assert [x.spec for x in p.partitions()] == [{"dt": "a"}, {"dt": "b"}]
    assert (p.stats().rows, p.snapshot().id) == (2, 1)
    assert "snapshot" in p._repr_html_() and repr(p).startswith("Table('db.p', partition_by=")
    assert pickle.loads(pickle.dumps(p)).count() == 2
    p.tags.create("v1"); p.append({"dt": ["c"], "n": [3]}); p.rollback(tag="v1"); p.compact(full=True)
    assert p.maintenance.fsck(deep=True).ok
    assert p.inspect("tags").to_pylist()[0]["tag_name"] == "v1"
    """)


def test_what_takes_or_returns_pyarrow_says_what_to_install(run):
    run("""
    t.append([{"id": 1}])
    import pandas as pd
    for attempt in (lambda: t.to_arrow(), lambda: t.schema, lambda: t.get(1), lambda: next(t.scan().to_batches()), lambda: t.head(),
                    lambda: t.to_dataset(), lambda: t.to_pandas(), lambda: t.append("x.parquet"), lambda: next(iter(t.changes())),
                    lambda: t.append(pd.DataFrame({"id": [1]}))):
        with pytest.raises(errors.UnsupportedFeature, match="(?s)pyarrow.*pip install pyarrow"):
            attempt()
    """)


def test_values_are_stored_as_they_are_or_refused(run):
    run("""
    for bad, error in (({"id": [1], "d": [decimal.Decimal("1.234")]}, errors.LengthExceeded), ({"id": ["1"]}, errors.SchemaMismatch),
                       ({"id": [1], "at": [dt.datetime(2026, 1, 1, 0, 0, 0, 1)]}, errors.SchemaMismatch),
                       ({"id": [1, "a"]}, errors.SchemaMismatch), ({"id": [2**70]}, errors.SchemaError), ({"id": [1], "x": [1]}, errors.SchemaMismatch),
                       ({"id": [1], "ok": [object()]}, errors.SchemaMismatch)):
        with pytest.raises(error):
            t.append(bad)
    n = cat.create_table("db.n", {"at": "TIMESTAMP(9)"})
    n.append(pl.DataFrame({"at": pl.Series([1], dtype=pl.Datetime("ns"))}))
    with pytest.raises(errors.UnsupportedFeature, match="nanoseconds"):
        n.to_pylist()
    """)


def test_without_polars_relations_of_duckdb_are_left(run):
    before = BEFORE.replace("import polars as pl, pytest", "import pytest\nsys.modules['polars'] = None")
    run(
        """
    t.append(duckdb.sql("select 3::bigint as id, 'z' as s"))
    assert duckdb.sql("select s from t").fetchall() == [("z",)]
    for attempt in (lambda: t.append([{"id": 1}]), lambda: t.to_pylist()):
        with pytest.raises(errors.UnsupportedFeature, match="pyarrow or polars"):
            attempt()
    """,
        before,
    )


def test_relations_of_duckdb_are_looked_at_without_pyarrow(run):
    """Infinite days, and types whose values Arrow does not have, were stored as other values."""
    run("""
    days = cat.create_table("db.days", {"d": dt.date, "l": "ARRAY<ROW<x TIMESTAMP(6)>>", "m": "MAP<STRING, DATE>"})
    finite = "'2026-01-01'::DATE AS d, [{'x': TIMESTAMP '2026-01-01'}] AS l, MAP {'k': DATE '2026-01-01'} AS m"
    for value in ("DATE '2026-01-01'", "TIMESTAMP '2026-01-01'"):
        name = value.split()[0]
        with pytest.raises(errors.SchemaMismatch, match="infinite day"):
            days.append(duckdb.sql("SELECT " + finite.replace(value, f"'-infinity'::{name}")))
    days.append(duckdb.sql("SELECT " + finite))
    assert days.to_pylist() == [{"d": dt.date(2026, 1, 1), "l": [{"x": dt.datetime(2026, 1, 1)}],
                                 "m": [("k", dt.date(2026, 1, 1))]}]
    bits = cat.create_table("db.bits", {"b": bytes})
    with pytest.raises(errors.SchemaMismatch, match="of DuckDB"):
        bits.append(duckdb.sql("SELECT '101'::BIT AS b"))
    fine = cat.create_table("db.fine", {"a": "TIMESTAMP(9)"})
    fine.append({"a": pl.Series([1577836800000000001]).cast(pl.Datetime("ns"))})
    assert fine.to_polars()["a"].to_physical().to_list() == [1577836800000000001]
    with pytest.raises(errors.InvalidArgument, match="no list of values"):
        fine.append({"a": "text"})
    """)
