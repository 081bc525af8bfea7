"""Columns, conditions and limits of other libraries are pushed into scans: what is not needed is not read.

That is shown by files that are gone: a query that needs them fails, one that does not gets its rows.
"""

import datetime as dt
import decimal
import itertools
import json
import pathlib
import subprocess
import sys

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
import siltstone as st
from siltstone import _lazy, _substrait
from siltstone import errors as e

SCHEMA = {
    "id": "BIGINT", "s": "STRING", "f": "DOUBLE", "d": "DATE", "at": "TIMESTAMP(6)", "x": "DECIMAL(10,2)",
    "ok": "BOOLEAN", "b": "BYTES",
}  # fmt: skip


def row(i):
    return {
        "id": i, "s": f"s{i}", "f": i / 2, "d": dt.date(2026, 1, i), "at": dt.datetime(2026, 1, i), "x": decimal.Decimal(i),
        "ok": i % 2 == 0, "b": bytes([i]),
    }  # fmt: skip


@pytest.fixture
def half(make):
    """Ids 1 to 4 in one file, 5 to 8 in another, which is gone."""
    t = make(SCHEMA)
    t.append([row(i) for i in range(1, 5)])
    there = {f["path"] for f in t.files()}
    t.append([row(i) for i in range(5, 9)])
    (gone,) = {f["path"] for f in t.files()} - there
    pathlib.Path(gone).unlink()
    with pytest.raises(e.SiltstoneError):
        t.to_arrow()
    return t


CONDITIONS = [
    ("id < 3", pc.field("id") < 3, pl.col("id") < 3, 2),
    ("3 > id", pc.scalar(3) > pc.field("id"), pl.lit(3) > pl.col("id"), 2),
    ("id in (1, 2)", pc.field("id").isin([1, 2]), pl.col("id").is_in([1, 2]), 2),
    ("id >= 2 and s <> 's3' and id <= 4", (pc.field("id") >= 2) & (pc.field("s") != "s3") & (pc.field("id") <= 4),
     (pl.col("id") >= 2) & (pl.col("s") != "s3") & (pl.col("id") <= 4), 2),
    ("d = date '2026-01-02'", pc.field("d") == dt.date(2026, 1, 2), pl.col("d") == dt.date(2026, 1, 2), 1),
    ("\"at\" < timestamp '2026-01-03'", pc.field("at") < dt.datetime(2026, 1, 3), pl.col("at") < dt.datetime(2026, 1, 3), 2),
    ("x <= 2", pc.field("x") <= decimal.Decimal("2.00"), pl.col("x") <= decimal.Decimal("2.00"), 2),
    ("f < 1.25", pc.field("f") < 1.25, pl.col("f") < 1.25, 2),
    ("id between 2 and 3", (pc.field("id") >= 2) & (pc.field("id") <= 3), pl.col("id").is_between(2, 3), 2),
    ("not (id > 2)", ~(pc.field("id") > 2), ~(pl.col("id") > 2), 2),
    ("id = 1 or id = 2 and ok", (pc.field("id") == 1) | ((pc.field("id") == 2) & pc.field("ok")),
     (pl.col("id") == 1) | ((pl.col("id") == 2) & pl.col("ok")), 2),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "arrow", "polars", "count"), CONDITIONS, ids=[c[0] for c in CONDITIONS])
def test_conditions_are_pushed_down(half, sql, arrow, polars, count):
    data = half.to_dataset()
    assert data.to_table(columns=["id"], filter=arrow).num_rows == count
    assert half.to_polars(lazy=True).filter(polars).select("id").collect().height == count
    if sql != "not (id > 2)":  # DuckDB turns it around in a form of its own
        assert len(duckdb.sql(f"select id from data where {sql}").fetchall()) == count


def test_a_condition_that_is_half_known_skips_by_the_half(half):
    data = half.to_dataset()
    sums = pc.add(pc.field("id"), 1) > 1
    assert data.to_table(filter=(pc.field("id") < 4) & sums).num_rows == 3
    half_known = (pl.col("id") < 4) & (pl.col("s").str.len_chars() == 2)
    assert half.to_polars(lazy=True).filter(half_known).collect().height == 3
    assert _substrait.condition_of(sums, data.schema) is None
    # what is unknown in a NOT or an OR keeps every row
    assert _substrait.condition_of(~((pc.field("id") < 4) & sums), data.schema) is None
    assert _substrait.condition_of((pc.field("id") < 4) | sums, data.schema) is None
    # nor is anything known of what has no form in Substrait at all
    assert _substrait.condition_of(pc.utf8_length(pc.field("s")) == 2, data.schema) is None
    assert _lazy.condition_of(~half_known) is None
    assert _lazy.condition_of((pl.col("id") < 4) | (pl.col("s").str.len_chars() == 2)) is None


def test_conditions_mean_the_same_beside_nulls_and_odd_values(make):
    t = make({"k": "INT", "id": "BIGINT", "s": "STRING", "f": "DOUBLE"})
    rows = [(1, 1, "a", 0.0), (2, 2, None, float("nan")), (3, None, "%", -0.0), (4, 4, "a%", None)]
    t.append([dict(zip("k id s f".split(), row, strict=True)) for row in rows])
    whole, data = t.to_arrow(), t.to_dataset()
    frame = pl.DataFrame(whole)
    for arrow in (
        pc.field("id").is_null(), pc.field("id").isin([1, None]), pc.field("f") > 0, pc.field("f") == 0.0,
        ~(pc.field("s") == "a"), pc.starts_with(pc.field("s"), "a"), pc.field("f").is_nan(), pc.field("id") != 1,
        ~(pc.field("f") > -1.0), ~(pc.field("f") >= 0.0), ~(pc.field("f") < 1.0), ~(pc.scalar(0.0) < pc.field("f")),
        pc.field("f") != 0.0, ~(pc.field("f") != 0.0), pc.field("f") <= 0.0, pc.field("f") != float("nan"),
    ):  # fmt: skip
        assert data.to_table(filter=arrow)["k"].equals(whole.filter(arrow)["k"]), arrow
    for predicate in (
        pl.col("id").is_null(), pl.col("id").is_in([1, None]), pl.col("f") > 0, pl.col("f") == 0.0,
        ~(pl.col("s") == "a"), pl.col("s").str.starts_with("%"), pl.col("f").is_nan(), pl.col("id") != 1,
        pl.col("id").is_in([1, None], nulls_equal=True), pl.col("f") == float("nan"), pl.col("s").eq_missing(None),
        ~(pl.col("f") > -1.0), ~(pl.col("f") >= 0.0), ~(pl.col("f") < 1.0), pl.col("f") != 0.0, ~(pl.col("f") != 0.0),
    ):  # fmt: skip
        assert t.to_polars(lazy=True).filter(predicate).collect().equals(frame.filter(predicate)), predicate


def test_what_is_not_in_a_list_has_the_rows_with_null(make):
    """Null is in no list for pyarrow: a negated isin() once lost these rows, at any depth."""
    t = make({"k": "INT", "x": "INT", "f": "DOUBLE"})
    values = [(1, None, None), (2, 3, 0.0), (3, 1, -0.0), (4, 2, float("nan")), (5, 4, 1.0)]
    t.append([dict(zip("kxf", row, strict=True)) for row in values])
    whole, data = t.to_arrow(), t.to_dataset()
    x, f = pc.field("x"), pc.field("f")
    for condition in (
        ~x.isin([1, 2]), ~x.isin([]), x.isin([1]), ~(~x.isin([1])), ~(x.isin([1]) | (pc.field("k") == 2)),
        ~(x.isin([1, 3]) & (pc.field("k") > 2)), ~x.isin([1, None]), ~f.isin([0.0]), ~f.isin([-0.0, 1.0]),
        f.isin([0.0]), f.isin([-0.0]), ~(~f.isin([0.0])), ~x.isin([1]) & ~x.isin([2]),
    ):  # fmt: skip
        assert data.to_table(filter=condition)["k"].equals(whole.filter(condition)["k"]), condition
    assert _substrait.condition_of(~x.isin([1]), data.schema) is not None, "it skips files all the same"


def test_what_is_not_in_a_list_of_polars_has_the_rows_with_null(make):
    """With `nulls_equal` null is in no list without one, which is false: a negated is_in() once lost these rows."""
    t = make({"k": "INT", "x": "INT", "s": "STRING"})
    t.append([dict(zip("kxs", row, strict=True)) for row in [(1, None, None), (2, 3, "a"), (3, 1, "b"), (4, 2, "c")]])
    frame = t.to_polars()
    for listed, nulls_equal in itertools.product(([1, 2], [1, None], []), (True, False)):
        x = pl.col("x").is_in(listed, nulls_equal=nulls_equal)
        s = pl.col("s").is_in(["a"], nulls_equal=nulls_equal)
        for condition in (
            x,
            ~x,
            ~(x | (pl.col("k") == 2)),
            ~(x & (pl.col("k") > 2)),
            ~(~x),
            ~(~x | s),
            ~x & ~s,
            ~(x | s),
        ):
            assert st.scan_polars(t).filter(condition).collect().equals(frame.filter(condition)), condition
    assert _lazy.condition_of(~pl.col("x").is_in([1, 2], nulls_equal=True)) is not None, "it skips files all the same"


def test_columns_and_limits_are_pushed_down(make, monkeypatch):
    t = make(SCHEMA)
    t.append([row(i) for i in range(1, 9)])
    asked = []
    plan = st.Scan.to_batches
    monkeypatch.setattr(
        st.Scan, "to_batches", lambda scan: asked.append(scan.request | {"pushed": scan._pushed}) or plan(scan)
    )
    frame = t.to_polars(lazy=True)
    assert frame.select("s").head(2).collect().to_dicts() == [{"s": "s1"}, {"s": "s2"}]
    assert (asked[-1]["columns"], asked[-1]["limit"]) == (["s"], 2)
    assert frame.filter(pl.col("id") > 2).select("s").head(1).collect().to_dicts() == [{"s": "s3"}]
    assert sorted(asked[-1]["columns"]) == ["id", "s"]
    assert asked[-1]["limit"] is None
    assert frame.select(pl.len()).collect().item() == 8
    data = t.to_dataset()
    planned = st.Scan._plan
    monkeypatch.setattr(
        st.Scan, "_plan", lambda scan: asked.append(scan.request | {"pushed": scan._pushed}) or planned(scan)
    )
    assert duckdb.sql("select s from data where id = 3").fetchall() == [("s3",)]
    assert asked[-1]["columns"] == ["s"], "the scan decides the condition"
    assert '"eq"' in str(asked[-1]["filter"])
    assert data.to_table(columns=["s"], filter=pc.field("f") < 1e9).num_rows == 8
    assert sorted(asked[-1]["columns"]) == ["f", "s"], "engines have rules of their own for numbers with NaN"
    assert "lt" in str(asked[-1]["pushed"])
    assert data.to_table(columns={"y": pc.field("id") * 2}, filter=pc.field("id") == 2).to_pylist() == [{"y": 4}]
    assert asked[-1]["columns"] == ["id"]
    assert data.count_rows() == 8
    assert data.count_rows(filter=pc.field("id") > 6) == 2
    assert data.head(3, columns=["id"]).num_rows == 3


def test_a_scan_keeps_its_own_condition_and_version(make):
    t = make(SCHEMA, ["id"], bucket=1)
    t.append([row(i) for i in range(1, 5)])
    t.delete("id = 1")
    old = t.scan(["id", "s"], "id < 4", version=1)
    assert old.to_polars(lazy=True).filter(pl.col("s") != "s2").collect()["id"].to_list() == [1, 3]
    assert old.to_dataset().to_table(filter=pc.field("s") != "s2")["id"].to_pylist() == [1, 3]
    # rows beyond a scan's own limit are not its rows
    first = t.scan(limit=1)
    assert first.to_polars(lazy=True).filter(pl.col("id") == 4).collect().height == 0
    assert first.to_dataset().to_table(filter=pc.field("id") == 4).num_rows == 0


def test_system_tables_go_out_as_themselves(make):
    """A narrowed scan of a system table once was one of the table's rows."""
    t = make(SCHEMA)
    t.append([row(1)])
    t.append([row(2)])
    snapshots = t.inspect("snapshots")
    frame = snapshots.to_polars(lazy=True).filter(pl.col("snapshot_id") > 1).select("commit_kind")
    assert frame.collect().to_dicts() == [{"commit_kind": "APPEND"}]
    data = snapshots.to_dataset()  # noqa: F841  # DuckDB finds it by its name
    assert duckdb.sql("select max(snapshot_id) from data where commit_kind = 'APPEND'").fetchall() == [(2,)]


def test_what_a_dataset_of_a_scan_cannot_do_says_what_can(make):
    data = make(SCHEMA).to_dataset()
    for attempt in (
        lambda: data.take([0]), lambda: data.get_fragments(), lambda: data.replace_schema(pa.schema([])),
        lambda: data.filter(pc.field("id") == 1), lambda: data.to_table(columns=["no"]),
        lambda: data.scanner(nonsense=1),
    ):  # fmt: skip
        with pytest.raises(e.InvalidArgument):
            attempt()
    assert data.to_table().num_rows == 0


def test_a_dataset_is_sorted_and_joined(make):
    """pyarrow's own methods once looked for files behind it, and the process ended."""
    t = make({"id": "INT", "s": "STRING"})
    t.append([{"id": 1, "s": "b"}, {"id": 2, "s": "a"}])
    data = t.to_dataset()
    assert data.sort_by([("id", "descending")]).to_table()["id"].to_pylist() == [2, 1]
    assert data.sort_by("s").to_table()["id"].to_pylist() == [2, 1]
    other = t.scan(["id"]).to_dataset()
    assert data.join(other, "id", join_type="inner").to_table().num_rows == 2
    near = data.join_asof(make({"id": "INT", "n": "INT"}).to_dataset(), "id", [], -1).to_table()
    assert near.column_names == ["id", "s", "n"]
    assert near.num_rows == 2
    own = {name for name, member in vars(pads.Dataset).items() if callable(member) and not name.startswith("_")}
    assert own <= vars(type(data)).keys(), "whatever pyarrow adds is looked at"


OF_DATASETS = """
import json, sys
import pyarrow as pa, pyarrow.dataset as ds, siltstone as st
from pyarrow import acero

t = st.open_table(sys.argv[1])
ours, rows = t.to_dataset(), t.to_arrow()
other = ds.dataset(pa.table({"id": [4, 1], "w": [40, 10]}))
for attempt in json.loads(sys.argv[2]):
    try:
        found = eval(attempt)
    except Exception as error:
        found = f"{type(error).__name__} {error}"
    print(json.dumps(found), flush=True)
"""

#: What pyarrow does with a dataset, and the rows; None: an error that says how rows are read.
DONE_BY_PYARROW = {
    "ours.sort_by('id').to_table()['id'].to_pylist()": [1, 4],
    "ours.sort_by([('id', 'descending')]).head(1)['v'].to_pylist()": [8],
    "ours.join(other, 'id').sort_by('id').to_table()['w'].to_pylist()": [10, 40],
    "ours.join(t.scan(filter='id = 4').to_dataset(), 'id', right_suffix='_r').sort_by('id').to_table()['v_r'].to_pylist()":
        [None, 8],
    "ours.join_asof(ds.dataset(pa.table({'id': [1, 4], 'v': [2, 8], 'w': [10, 40]})), 'id', 'v', 0).to_table()['w'].to_pylist()":
        [10, 40],
    "other.join(ours, 'id').to_table()": None,
    "other.to_table().join(ours, 'id')": None,
    "rows.join(ours, 'id')": None,
    "ds.dataset(rows).join_asof(ours, 'id', 'v', 0).to_table()": None,
    "ds.UnionDataset(ours.schema, [ours]).to_table()": None,
    "ds.UnionDataset(ours.schema, [ours]).count_rows()": None,
    "ds.dataset([ours]).to_table()": None,
    "ds.Scanner.from_dataset(ours).to_table()": None,
    "ds.Scanner.from_dataset(ours).count_rows()": None,
    "acero.Declaration('scan', acero.ScanNodeOptions(ours)).to_table()": None,
}  # fmt: skip


def test_what_pyarrow_does_with_a_dataset_by_itself_ends_no_process(make):
    """The dataset had no counterpart in C++: what took it there (a sort, a join, a union, a plan) was a SIGSEGV."""
    t = make({"id": "BIGINT", "v": "BIGINT"})
    t.append([{"id": 1, "v": 2}])
    t.append([{"id": 4, "v": 8}])
    call = [sys.executable, "-c", OF_DATASETS, t.location, json.dumps(list(DONE_BY_PYARROW))]
    ended = subprocess.run(call, capture_output=True, text=True, timeout=100, check=False)
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert (ended.returncode, len(found)) == (0, len(DONE_BY_PYARROW)), ended.stderr
    for (attempt, rows), got in zip(DONE_BY_PYARROW.items(), found, strict=True):
        if rows is None:  # none of these may have found a dataset of no rows
            assert isinstance(got, str), attempt
        else:
            assert got == rows, attempt


@pytest.mark.parametrize(
    "frame", [pl.DataFrame, pl.LazyFrame, pa.table, pd.DataFrame], ids=["polars", "lazy", "arrow", "pandas"]
)
def test_frames_of_narwhals_are_those_within_them(cat, frame):
    given = nw.from_native(frame({"id": [1, 2], "s": ["a", None]}))
    t = cat.create_table("db.t", given)
    assert t.schema.names == ["id", "s"]
    t.append(given)
    assert t.to_pylist() == [{"id": 1, "s": "a"}, {"id": 2, "s": None}]
    assert nw.from_native(t.to_arrow()).filter(nw.col("id") > 1)["id"].to_list() == [2]
    assert nw.from_native(t.to_polars(lazy=True)).filter(nw.col("id") > 1).collect()["id"].to_list() == [2]
