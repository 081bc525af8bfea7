"""Frames that polars gets of a lazy scan: small batches together, the first one at once; and their schema."""

import polars as pl
import pyarrow as pa
import pytest
import siltstone as st
from siltstone import _lazy

TYPES = [
    "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5,2)", "DECIMAL(38,10)", "BOOLEAN", "STRING",
    "CHAR(3)", "VARCHAR(5)", "BYTES", "BINARY(2)", "DATE", "TIME(0)", "TIME(3)", "VARIANT", "ARRAY<INT>",
    "MAP<STRING, INT>", "MULTISET<STRING>", "ROW<a INT, b ARRAY<ROW<x STRING, t TIMESTAMP(3)>>>",
    "ARRAY<TIMESTAMP_LTZ(3)>", *(f"TIMESTAMP({p})" for p in (0, 3, 6, 9)), *(f"TIMESTAMP_LTZ({p})" for p in (0, 3, 6, 9)),
]  # fmt: skip
FILES, ROWS = 30, 10


@pytest.fixture
def parts(make):
    """A file of ten rows in each of 30 partitions."""
    t = make({"id": "INT", "p": "INT", "s": "STRING"}, partition_by=["p"])
    t.append([{"id": i, "p": i // ROWS, "s": f"s{i}"} for i in range(FILES * ROWS)])
    return t


@pytest.fixture(params=[True, False], ids=["pyarrow", "no pyarrow"])
def heights(request, monkeypatch):
    """Of each frame the rows."""
    monkeypatch.setattr(_lazy, "has_pyarrow", lambda: request.param)

    def of(t, columns=None, predicate=None, limit=None, batch_size=None):
        return [frame.height for frame in _lazy._frames(t.scan(), columns, predicate, limit, batch_size)]

    return of


def test_small_batches_come_together_after_the_first(parts, heights):
    """A filter for each of them once took most of the time of a query over many small files."""
    assert heights(parts) == [10, 10, 20, 40, 80, 140]
    assert heights(parts, batch_size=35) == [10, 10, 20, *[40] * 6, 20]
    assert heights(parts, ["id"], pl.col("id") % 2 == 0) == [5, 5, 10, 20, 40, 70]
    assert heights(parts, []) == [10, 10, 20, 40, 80, 140], "a count of rows"
    frame = st.scan_polars(parts).filter(pl.col("id") % 7 == 0).select("s", "id").collect()
    assert sorted(frame.rows()) == sorted((f"s{i}", i) for i in range(0, FILES * ROWS, 7))


def test_batches_that_come_together_are_bounded_in_bytes(parts, heights, monkeypatch):
    monkeypatch.setattr(_lazy, "_BYTES", 1)
    assert heights(parts) == [ROWS] * FILES


def test_a_limit_waits_for_no_more_rows_than_it_needs(parts, heights, monkeypatch):
    read = []
    for name in ("to_batches", "_core_batches"):
        batches = getattr(st.Scan, name)
        monkeypatch.setattr(st.Scan, name, lambda s, b=batches: (read.append(batch) or batch for batch in b(s)))
    condition = pl.col("id").is_finite() & (pl.col("s") != "")
    assert heights(parts, ["id"], condition, 25) == [10, 10, 5]
    assert len(read) == 3


def test_no_rows_are_no_frame_or_an_empty_one(make, heights):
    t = make({"id": "INT"})
    assert sum(heights(t)) == 0
    assert st.scan_polars(t).collect().schema == pl.Schema({"id": pl.Int32()})


@pytest.mark.parametrize("kind", TYPES)
def test_the_schema_is_that_of_the_rows(make, kind):
    t = make({"id": "INT", "c": kind})
    schema = st.scan_polars(t).collect_schema()
    assert schema == pl.DataFrame(pa.schema(t.scan()).empty_table()).schema
    t.append([{"id": 1, "c": None}])
    assert st.scan_polars(t).collect().schema == schema
