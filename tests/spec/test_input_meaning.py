"""Values of other libraries are stored as what they are, or refused: never as the number or the bytes inside of them."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import siltstone as st
from siltstone import errors as e

NANOS = np.datetime64("2020-01-01T00:00:00.000000001")
NUMBERS = ["BIGINT", "INT", "FLOAT", "DOUBLE", "DECIMAL(20, 0)"]


@pytest.fixture
def table(make):
    return make({"id": "INT", "v": "BIGINT", "l": "ARRAY<BIGINT>", "r": "ROW<a BIGINT>"}, ["id"], bucket=1)


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("value", [NANOS, np.timedelta64(5, "ns"), np.timedelta64(5, "s"), np.datetime64(5, "us")])
def test_a_moment_or_duration_of_numpy_is_no_number(make, kind, value):
    t = make({"id": "INT", "v": kind}, ["id"], bucket=1)
    for rows in ([{"id": 1, "v": value}], pd.DataFrame({"id": [1], "v": pd.Series([value], dtype=object)})):
        with pytest.raises(e.SchemaMismatch, match="'v'"):
            t.append(rows)
    assert t.snapshot() is None


@pytest.mark.parametrize("values", [np.array([NANOS]), np.array([5], "timedelta64[ns]")])
def test_nor_is_one_inside_of_a_list_or_row(table, values):
    inside = [{"id": 1, "l": values}, {"id": 1, "l": list(values)}, {"id": 1, "r": {"a": values[0]}}]
    for row in inside:
        with pytest.raises(e.SchemaMismatch):
            table.append([row])
    with pytest.raises(e.SchemaMismatch):
        table.append(pd.DataFrame({"id": [1], "l": [values]}))
    assert table.snapshot() is None


def test_nanoseconds_of_numpy_are_kept(make):
    t = make({"id": "INT", "ts": "TIMESTAMP(9)", "d": "DATE"}, ["id"], bucket=1)
    before = np.datetime64("1960-02-29T23:59:59.999999999")
    t.append([{"id": 1, "ts": NANOS, "d": np.datetime64("2020-01-01")}, {"id": 2, "ts": before}])
    t.append([{"id": 3, "ts": np.datetime64("NaT", "ns")}])
    t.append(pd.DataFrame({"id": [4], "ts": pd.Series([NANOS], dtype=object)}))
    stored = t.scan(["id", "ts"]).to_arrow().sort_by("id")["ts"].to_numpy()
    assert list(stored[[0, 1, 3]]) == [NANOS, before, NANOS]
    assert np.isnat(stored[2])


def test_an_extension_type_does_not_lose_its_meaning(table):
    """Months since 1970 once were stored for the periods of pandas."""
    period = pd.Series(pd.period_range("2020-05", periods=1, freq="M"))
    with pytest.raises(e.SchemaMismatch, match=r"pandas\.period"):
        table.append(pd.DataFrame({"id": [1], "v": period}))
    plain = pa.array([5], pa.int64())
    marked = {b"ARROW:extension:name": b"acme.money"}
    inner = pa.field("a", pa.int64(), metadata=marked)
    schemas = [
        (pa.field("v", pa.int64(), metadata=marked), plain),
        (pa.field("r", pa.struct([inner])), pa.StructArray.from_arrays([plain], fields=[inner])),
    ]
    for field, values in schemas:
        data = pa.Table.from_arrays(
            [pa.array([1], pa.int32()), values], schema=pa.schema([pa.field("id", pa.int32()), field])
        )
        for form in (data, data.to_batches()[0], data.to_reader()):
            with pytest.raises(e.SchemaMismatch, match=r"acme\.money"):
                table.append(form)
    with pytest.raises(e.SchemaMismatch, match=r"arrow\.bool8"):
        table.append(pa.table({"id": [1], "v": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8()))}))
    assert table.snapshot() is None


def test_nor_does_one_in_a_dictionary(table):
    """A dictionary of arrow.bool8 once was stored as its numbers."""
    flags = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([5], pa.int8()))
    words = pa.DictionaryArray.from_arrays(pa.array([0]), flags)
    inside = pa.StructArray.from_arrays([words], ["a"])
    for name, values in (("v", words), ("r", inside)):
        with pytest.raises(e.SchemaMismatch, match=r"arrow\.bool8"):
            table.append(pa.table({"id": [1], name: values}))
    assert table.snapshot() is None


def test_extension_types_that_are_their_storage_are_stored(make):
    t = make({"id": "INT", "j": "STRING", "u": "BINARY(16)"}, ["id"], bucket=1)
    uuid = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0123456789abcdef"], pa.binary(16)))
    json = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"]))
    t.append(pa.table({"id": pa.array([1], pa.int32()), "j": json, "u": uuid}))
    assert t.scan().to_arrow().to_pylist() == [{"id": 1, "j": "{}", "u": b"0123456789abcdef"}]


@pytest.mark.parametrize("kind", [pl.Int128, pl.List(pl.Int128), pl.Struct({"a": pl.List(pl.Int128)})])
def test_a_type_that_only_polars_has_names_its_column(table, kind):
    """It once was pyarrow's ArrowInvalid."""
    with pytest.raises(e.SchemaMismatch, match=r"'v'.*Int128"):
        table.append(pl.DataFrame({"id": [1], "v": pl.Series([None], dtype=kind)}))


@pytest.mark.parametrize("inside", [False, True])
def test_a_signaling_nan_names_its_column(make, inside):
    """Comparing it is decimal's InvalidOperation."""
    t = make({"id": "INT", "v": "ARRAY<DECIMAL(5, 2)>" if inside else "DECIMAL(5, 2)"}, ["id"], bucket=1)
    value = decimal.Decimal("sNaN")
    cell = np.array([value], dtype=object) if inside else value
    with pytest.raises(e.LengthExceeded, match="'v"):
        t.append(pd.DataFrame({"id": [1], "v": pd.Series([cell], dtype=object)}))
    none = decimal.Decimal("NaN")
    t.append(pd.DataFrame({"id": [1], "v": pd.Series([np.array([none]) if inside else none], dtype=object)}))
    assert t.scan().to_arrow().to_pylist() == [{"id": 1, "v": [None] if inside else None}]


def test_texts_and_bytes_of_numpy_keep_their_zeros_at_the_end(make):
    """Their ``item()`` and ``str()`` leave them out."""
    t = make({"s": "STRING", "b": "BYTES"})
    t.append([{"s": np.str_("x\0"), "b": np.bytes_(b"x\0")}, {"s": np.str_("x"), "b": np.bytes_(b"x")}])
    rows = [{"s": "x\0", "b": b"x\0"}, {"s": "x", "b": b"x"}]
    assert t.scan().to_arrow().to_pylist() == rows
    assert t.scan(filter=st.col("s") == np.str_("x\0")).to_arrow().to_pylist() == rows[:1]


def test_times_of_numpy_inside_of_a_pandas_column_mean_what_they_say(make):
    """pandas takes picoseconds for nanoseconds: they were stored as times a thousand times later."""
    t = make({"a": "ARRAY<TIMESTAMP(9)>"})
    with pytest.raises(e.SchemaMismatch):
        t.append(pd.DataFrame({"a": [np.array([1500], "M8[ps]")]}))
    t.append(pd.DataFrame({"a": [np.array([1500, "NaT"], "M8[ns]")]}))
    assert t.scan().to_arrow()["a"].combine_chunks().flatten().cast("int64").to_pylist() == [1500, None]
