"""Frames of pandas and polars: what a table gave is taken back, and objects without a value are refused."""

import datetime as dt
import decimal
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from siltstone import errors as e

D = decimal.Decimal
ROW = {
    "i": 5, "l": 2**53 + 1, "d": D("-12345678901234567890.05"), "f": 1.5, "s": "żółw", "y": b"\xff", "b": True, "day": dt.date(2024, 5, 2),
    "t": dt.time(1, 2, 3, 4000), "ts": dt.datetime(2024, 5, 2, 1, 2, 3, 4000), "a": [1, None], "m": [None, dt.datetime(2024, 5, 2, 1)], "r": {"x": 1, "y": None},
}  # fmt: skip
COLUMNS = {
    "k": "INT", "i": "INT", "l": "BIGINT", "d": "DECIMAL(38,2)", "f": "DOUBLE", "s": "STRING", "y": "BYTES", "b": "BOOLEAN", "day": "DATE",
    "t": "TIME(3)", "ts": "TIMESTAMP(3)", "a": "ARRAY<INT>", "m": "ARRAY<TIMESTAMP(3)>", "r": "ROW<x INT, y STRING>",
}  # fmt: skip


def rows(t):
    return sorted(t.scan().to_arrow().to_pylist(), key=lambda r: r["k"])


@pytest.mark.parametrize("frame", ["to_pandas", "to_polars"])
@pytest.mark.parametrize("some", [True, False], ids=["with-values", "all-null"])
def test_what_a_frame_was_read_from_it_can_be_written_to(make, frame, some):
    columns = {k: v for k, v in COLUMNS.items() if k != "l" or frame == "to_polars"}
    source, target = make(columns), make(columns)
    row = {k: v for k, v in ROW.items() if k in columns} if some else {}
    source.append([{"k": 1, **row}, {"k": 2}])
    target.append(getattr(source.scan(), frame)())
    assert rows(target) == rows(source)


def test_integers_with_gaps_come_from_pandas_as_floats(make):
    t = make({"k": "INT", "i": "SMALLINT"})
    t.append(pd.DataFrame({"k": [1, 2], "i": [7.0, None]}))
    assert [r["i"] for r in rows(t)] == [7, None]
    with pytest.raises(e.SchemaMismatch, match="0.5 of row 1"):
        t.append(pd.DataFrame({"k": [1, 2], "i": [7.0, 0.5]}))


def test_columns_of_nothing_but_nulls_are_taken(make):
    t = make(
        {
            "k": "INT",
            "a": "ARRAY<INT>",
            "r": "ROW<x INT>",
            "m": "MAP<STRING, INT>",
            "s": "STRING",
            "d": "DECIMAL(5,2)",
        }
    )
    for frame in (pd.DataFrame, pl.DataFrame):
        t.append(
            frame({"k": [1, 2], "a": [[], [None]], "r": [{"x": None}, None], "s": [None, None], "d": [None, None]})
        )
    nulls = pa.table({"k": [1], "a": pa.array([[None]]), "r": pa.array([{"x": None}]), "m": pa.nulls(1)})
    t.append(nulls)
    assert [r["a"] for r in rows(t)] == [[], [], [None], [None], [None]]


def test_the_index_of_pandas_is_left_out(make):
    t = make({"k": "INT"})
    t.append(pd.DataFrame({"k": [1, 2, 3]}, index=[7, 8, 9]).query("k > 1"))
    assert [r["k"] for r in rows(t)] == [2, 3]


def test_objects_of_pandas_have_the_type_of_their_column_or_are_refused(make):
    t = make({"k": "INT", "s": "STRING", "d": "DECIMAL(9,2)", "u": "TIMESTAMP(3)"})
    t.append(pd.DataFrame({"k": [1], "s": ["a"], "d": [D("1E+3")], "u": [None]}, dtype=object))
    assert rows(t) == [{"k": 1, "s": "a", "d": D("1000.00"), "u": None}]
    for column, value in {"s": object(), "d": 1.5, "u": dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "k": "1"}.items():
        with pytest.raises(e.SchemaMismatch, match=f"of row 1 does not fit column '{column}'"):
            t.append(pd.DataFrame({column: pd.Series([None, value], dtype=object)}))
    with pytest.raises(e.SchemaMismatch, match="'s'"):
        t.append(pd.DataFrame({"s": pd.Series([1 + 2j])}))
    with pytest.raises(e.SchemaMismatch, match="twice"):
        t.append(pd.DataFrame([[1, 2]], columns=["k", "k"]))


def test_objects_of_polars_are_refused_by_name(make):
    t = make({"k": "INT", "y": "BYTES"})
    with pytest.raises(e.SchemaMismatch, match="column 'y' has the type Object") as raised:
        t.append(pl.DataFrame({"k": [1], "y": [object()]}, schema={"k": pl.Int32, "y": pl.Object}))
    assert raised.value.context["column"] == "y"
    lazy = pl.LazyFrame({"k": [1], "y": [object()]}, schema={"k": pl.Int32, "y": pl.Object})
    with pytest.raises(e.SchemaMismatch, match="column 'y' has the type Object"):
        t.append(lazy)
    assert t.scan().count() == 0


def test_a_pandas_frame_has_each_bigint_also_beside_nulls(cat):
    """A float took its place: 9007199254740993 became 9007199254740992.0, and was stored so when the frame came back."""
    t = cat.create_table("db.wide", {"k": "INT", "l": "BIGINT", "a": "ARRAY<BIGINT>", "i": "INT"})
    rows = [
        {"k": 1, "l": 2**53 + 1, "a": [2**53 + 1, None], "i": 5},
        {"k": 2, "l": None, "a": None, "i": None},
    ]
    t.append(rows)
    frame = t.scan().to_pandas().sort_values("k", ignore_index=True)
    assert int(frame["l"][0]) == 2**53 + 1
    assert int(frame["a"][0][0]) == 2**53 + 1
    assert frame["i"][0] == 5
    t.truncate()
    t.append(frame)
    assert sorted(t.scan().to_arrow().to_pylist(), key=lambda row: row["k"]) == rows


@pytest.mark.parametrize(
    "kind",
    ["ROW<a TIMESTAMP(9)>", "ARRAY<ROW<a TIMESTAMP(9)>>", "MAP<STRING, TIMESTAMP(9)>", "ROW<a ROW<b TIMESTAMP_LTZ(9)>>",
     "ROW<a ARRAY<TIMESTAMP(9)>>", "ARRAY<TIMESTAMP(9)>"],
)  # fmt: skip
def test_moments_inside_of_rows_are_moments_in_pandas(make, kind):
    """They were integers, which a write then refused."""
    moment = dt.datetime(2024, 1, 1, tzinfo=dt.UTC if "LTZ" in kind else None)
    value = {"ROW<a TIMESTAMP(9)>": {"a": moment}, "ARRAY<ROW<a TIMESTAMP(9)>>": [{"a": moment}, None],
             "MAP<STRING, TIMESTAMP(9)>": {"k": moment}, "ROW<a ROW<b TIMESTAMP_LTZ(9)>>": {"a": {"b": moment}},
             "ROW<a ARRAY<TIMESTAMP(9)>>": {"a": [moment]}, "ARRAY<TIMESTAMP(9)>": [moment]}[kind]  # fmt: skip
    t = make({"id": "INT", "v": kind})
    t.append([{"id": 1, "v": value}, {"id": 2, "v": None}])
    frame = t.scan().to_pandas()
    t.overwrite(frame)
    assert t.scan(filter="id = 1").to_arrow().to_pylist()[0]["v"] == (
        list(value.items()) if kind.startswith("MAP") else value
    )
    assert t.scan(filter="id = 2").to_arrow().to_pylist()[0]["v"] is None


@pytest.mark.parametrize("buckets", [{"bucket": 1}, {"bucket": 4}, {"bucket": -1}, {"bucket": -2}, None])
def test_a_frame_may_be_filled_again_after_it_was_written(make, buckets):
    """Rows of one bucket were held where the frame has them: the commit stored what the frame had by then."""
    t = make({"id": "BIGINT", "v": "DOUBLE"}, [] if buckets is None else ["id"], **(buckets or {}))
    frame = pd.DataFrame({"id": [1, 2, 3], "v": [0.5, 1.5, 2.5]})
    with t.writer() as w:
        for step in range(3):
            w.write(frame)
            frame.loc[:, "id"] += 3
            frame.loc[:, "v"] = step
        w.commit()
    t.compact()
    assert sorted(t.scan().to_arrow()["id"].to_pylist()) == list(range(1, 10))


def test_rows_that_are_written_again_are_those_that_were_given(make):
    """After a conflict the rows of a writer came from the frame as it was by then."""
    t = make({"id": "BIGINT", "v": "DOUBLE"}, ["id"], dynamic_bucket__target_row_num=1)
    frame = pd.DataFrame({"id": [1, 2], "v": [0.5, 1.5]})
    with t.writer() as w:
        w.write(frame)
        frame.loc[:, "id"] += 30
        t.upsert([{"id": 2, "v": 9.0}, {"id": 1, "v": 9.0}])
        w.commit()
    assert rows_by_id(t) == {1: 0.5, 2: 1.5}


def rows_by_id(t):
    return {r["id"]: r["v"] for r in t.scan().to_arrow().to_pylist()}


def test_what_an_index_names_is_a_column(make, cat):
    """The keys of a `groupby` were left out without a word: every id was null."""
    t = make({"id": "BIGINT", "x": "DOUBLE"})
    t.append(pd.DataFrame({"id": [1, 2, 1], "x": [0.5, 1.5, 2.5]}).groupby("id").sum())
    assert rows_by_id_and(t, "x") == {1: 3.0, 2: 1.5}
    frame = pd.DataFrame({"day": ["a", "a"], "n": [1, 2], "x": [0.5, 1.5]}).set_index(["day", "n"])
    made = cat.create_table("db.indexed", frame, primary_key=["n"])
    made.upsert(frame)
    assert made.scan().to_arrow().to_pylist() == [{"day": "a", "n": 1, "x": 0.5}, {"day": "a", "n": 2, "x": 1.5}]


def test_an_index_without_a_name_is_left_out(make):
    t = make({"id": "BIGINT", "x": "DOUBLE"})
    t.append(pd.DataFrame({"id": [1, 2], "x": [0.5, 1.5]}, index=["p", "q"]))
    levels = pd.MultiIndex.from_tuples([(3, "p"), (4, "q")], names=["id", None])
    t.append(pd.DataFrame({"x": [2.5, 3.5]}, index=levels))
    assert rows_by_id_and(t, "x") == {1: 0.5, 2: 1.5, 3: 2.5, 4: 3.5}


def test_a_name_of_an_index_and_of_a_column_is_refused(make):
    frame = pd.DataFrame({"id": [1], "x": [0.5]}, index=pd.Index([7], name="id"))
    with pytest.raises(e.SchemaMismatch, match="'id' as a column and in its index") as raised:
        make({"id": "BIGINT", "x": "DOUBLE"}).append(frame)
    assert "reset_index(drop=True)" in raised.value.hint
    levels = pd.MultiIndex.from_tuples([(3, 4)], names=["id", "id"])
    with pytest.raises(e.SchemaMismatch, match="twice in its index"):
        make({"id": "BIGINT", "x": "DOUBLE"}).append(pd.DataFrame({"x": [2.5]}, index=levels))


def rows_by_id_and(t, column):
    return {r["id"]: r[column] for r in t.scan().to_arrow().to_pylist()}


NESTED_FLOATS = {
    "ARRAY<DOUBLE>": lambda v: v,
    "ARRAY<ARRAY<FLOAT>>": lambda v: [v, None],
    "ROW<a ARRAY<DOUBLE>>": lambda v: {"a": v},
    "MAP<STRING, ARRAY<FLOAT>>": lambda v: [("k", v)],
    "MAP<STRING, DOUBLE>": lambda v: [(str(at), item) for at, item in enumerate(v)],
    "ARRAY<ROW<a ARRAY<DOUBLE>, b DOUBLE>>": lambda v: [{"a": v, "b": v[0]}],
}


@pytest.mark.parametrize("backend", [None, "numpy_nullable", "pyarrow"])
@pytest.mark.parametrize("values", [[None, 1.0], [math.nan, 1.0], [math.nan, None, 1.0]], ids=str)
@pytest.mark.parametrize("kind", NESTED_FLOATS)
def test_nulls_and_nan_in_lists_come_back_through_a_frame(make, kind, values, backend):
    """Of lists of floats a frame has arrays, in which a null is NaN: in rows and maps that was stored, and NaN in lists became null."""
    first, second = make({"v": kind}), make({"v": kind})
    first.append([{"v": NESTED_FLOATS[kind](values)}])
    second.append(first.scan().to_pandas(dtype_backend=backend))
    assert repr(second.to_pylist()) == repr(first.to_pylist())


@pytest.mark.parametrize("kind", NESTED_FLOATS)
def test_nan_in_an_array_of_numpy_is_null_wherever_the_array_is(make, kind):
    t, found = make({"v": kind}), NESTED_FLOATS[kind]
    t.append(pd.DataFrame({"v": pd.Series([found(np.array([np.nan, 1.0]))], dtype=object)}))
    is_row = kind.endswith("b DOUBLE>>")
    expected = found([math.nan if kind == "MAP<STRING, DOUBLE>" else None, 1.0])
    expected = [{"a": [None, 1.0], "b": math.nan}] if is_row else expected
    assert repr(t.to_pylist()) == repr([{"v": expected}])


@pytest.mark.parametrize("deep", [True, False], ids=["deep", "holds-itself"])
def test_lists_without_an_end_in_a_frame_are_values_that_do_not_fit(make, deep):
    """Looking for NaN in them was a RecursionError."""
    value = [1]
    if deep:
        for _ in range(3000):
            value = [value]
    else:
        value.append(value)
    with pytest.raises(e.SchemaMismatch, match="does not fit column 'v.element'"):
        make({"v": "ARRAY<INT>"}).append(pd.DataFrame({"v": pd.Series([value], dtype=object)}))
