"""Columns of a new table are taken from data, or it is said what is wrong with it, in an error of siltstone."""

import dataclasses
from collections import UserString

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from siltstone import errors as e


class Broken:
    """Its code fails."""

    def __arrow_c_schema__(self):
        raise ValueError("no")


class BrokenStream:
    """Its code fails, too."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise LookupError("no")


@dataclasses.dataclass
class Unresolved:
    """A type that nobody knows."""

    a: "NoSuchType"  # noqa: F821, UP037  # that is what is tried


def itself():
    made = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame({"a": [1, "x"]}),
        pd.DataFrame({"a": [2**100]}),
        pl.DataFrame({"a": pl.Series([1], dtype=pl.Int128)}),
        pl.LazyFrame({"a": pl.Series([[1]], dtype=pl.List(pl.Int128))}),
        pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)}),
        pl.LazyFrame({"a": [1]}).select("b"),
        pl.Series([1]),
        {"a": pl.Int128},
        {"a": pl.Object},
        [{"id": 1, "item": "pen"}],
        UserString("a INT"),
        itself(),
        [{"name": "a", "type": itself()}],
        Broken(),
        BrokenStream(),
        Unresolved,
        pa.schema([pa.field(b"\xff", pa.int32())]),
        pa.schema([pa.field("r", pa.struct([pa.field(b"\xff", pa.int32())]))]),
    ],
    ids=range(19),
)
def test_what_cannot_be_columns_says_so(cat, data):
    """Errors of pyarrow, RecursionError and a panic once came out."""
    with pytest.raises((e.SchemaError, e.InvalidArgument)):
        cat.create_table("db.t", data)
    assert cat.tables("db") == []


def test_rows_are_no_columns(cat):
    """'the column None has the key item' was said of a list of rows."""
    with pytest.raises(e.IllegalSchema, match="neither a name nor a type"):
        cat.create_table("db.t", [{"id": 1, "item": "pen"}])
