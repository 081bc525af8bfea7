"""Dicts of columns whose values are Arrow data already: nothing is lost on a way through objects of Python."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from siltstone import errors as e

NANOS = 1_577_836_800_000_000_001
FINE = pl.Series([NANOS, None]).cast(pl.Datetime("ns"))


class Stream:
    """Another library's column."""

    def __init__(self, values):
        self._values = values

    def __arrow_c_stream__(self, requested_schema=None):
        return self._values.__arrow_c_stream__(requested_schema)

    def __iter__(self):
        raise AssertionError("not asked for objects")


@pytest.mark.parametrize(
    "values",
    [
        FINE,
        pa.array([NANOS, None], pa.timestamp("ns")),
        Stream(pa.chunked_array([[NANOS, None]], pa.timestamp("ns"))),
        pd.Series([NANOS, None], dtype="timestamp[ns][pyarrow]"),
        pd.Series([pd.Timestamp(NANOS), pd.NaT]),
        np.array([NANOS, "NaT"], "M8[ns]"),
    ],
    ids=["polars", "pyarrow", "stream", "pandas by arrow", "pandas", "numpy"],
)
def test_nanoseconds_in_a_dict_of_columns_are_stored_or_refused(make, values):
    """A Series of polars was asked for datetimes of Python, which have no nanoseconds: they were dropped silently."""
    t = make({"a": "TIMESTAMP(9)"})
    t.append({"a": values})
    assert t.scan().to_arrow()["a"].cast(pa.int64()).to_pylist() == [NANOS, None]
    with pytest.raises(e.SchemaMismatch, match="'a'"):
        make({"a": "TIMESTAMP(6)"}).append({"a": values})


def test_nanoseconds_in_lists_and_rows_of_polars_are_stored(make):
    """The same at any depth."""
    t = make({"l": "ARRAY<TIMESTAMP(9)>", "r": "ROW<x TIMESTAMP(9)>"})
    lists = pl.Series([[NANOS]]).cast(pl.List(pl.Datetime("ns")))
    rows = pl.Series([{"x": NANOS}]).cast(pl.Struct({"x": pl.Datetime("ns")}))
    t.append({"l": lists, "r": rows})
    stored = t.scan().to_polars()
    assert stored["l"].explode().to_physical().to_list() == [NANOS]
    assert stored["r"].struct.field("x").to_physical().to_list() == [NANOS]


def test_times_of_day_of_polars_are_not_cut(make):
    """1,000,001 ns once were stored as one millisecond."""
    t = make({"a": "TIME(3)"})
    with pytest.raises(e.SchemaMismatch, match="'a'"):
        t.append({"a": pl.Series([1_000_001]).cast(pl.Time)})
    t.append({"a": pl.Series([1_000_000]).cast(pl.Time)})
    assert t.scan().to_arrow().to_pylist() == [{"a": dt.time(0, 0, 0, 1000)}]


def test_series_of_polars_without_arrow_data_are_lists(make):
    """Objects of Python, and integers of 128 bits, go in as they do in a list."""
    t = make({"a": "DECIMAL(38, 0)", "b": "STRING"})
    t.append({"a": pl.Series([2**100], dtype=pl.Int128), "b": pl.Series(["x"], dtype=pl.Object)})
    assert t.scan().to_arrow().to_pylist() == [{"a": 2**100, "b": "x"}]
    t.append({"a": pl.Series([None]), "b": pl.Series(["x"], dtype=pl.Categorical)})
    assert t.scan().count() == 2


@pytest.mark.parametrize("single", [np.array(5), "text", b"bytes", {"k": 1}, 5])
def test_what_is_no_list_of_values_is_no_column(make, single):
    """An array of numpy without a dimension was a TypeError: iteration over a 0-d array."""
    with pytest.raises(e.InvalidArgument, match="no list of values"):
        make({"a": "INT"}).append({"a": single})
