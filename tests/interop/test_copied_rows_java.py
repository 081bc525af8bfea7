"""Rows that a compaction copies as they are encoded: Java reads them, and its own files are copied from."""

import json

import pytest
import rows as compared
from untouched import COLUMNS, pages, row_groups, rows, twins

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]

BASE = range(0, 40_000, 2)


@pytest.mark.parametrize("version", ["PARQUET_1_0", "PARQUET_2_0"])
@pytest.mark.parametrize("compression", ["zstd", "snappy"])
def test_java_reads_files_with_copied_rows(oracle, make, version, compression):
    t, _ = twins(make, parquet__writer__version=version, file__compression=compression)
    t.append(rows(BASE, 1))
    t.compact(full=True)
    t.append(rows(range(20_001, 20_401), 2))
    t.compact(full=True)
    assert row_groups(t)[0] > 2
    assert compared.same(oracle, t).num_rows == 20_200
    # by the bounds of pages and row groups
    for column, op, value, text in [
        ("id", "equal", 20_000, "id = 20000"),
        ("i", "greaterOrEqual", 2_000_000_000, "i >= 2000000000"),
    ]:
        asked = json.dumps({"column": column, "op": op, "values": [value]})
        theirs = {row["id"] for row in oracle.call("read", t.location, f"--where={asked}")}
        ours = t.scan(["id"], filter=text).to_arrow()["id"].to_pylist()
        assert ours
        assert set(ours) <= theirs


def test_rows_are_copied_from_files_of_java(oracle, make):
    columns = {name: kind for name, kind in COLUMNS.items() if name != "nested"}
    copied, decoded = twins(make, columns)
    for t in (copied, decoded):
        t.append(rows(BASE, 1, columns))
        t.append(rows(range(0, 40_000, 400), 2, columns))
        oracle.call("compact", t.location, "--full")
    (base,) = copied.files()
    kept = pages(base["path"])[0]
    for t in (copied, decoded):
        t.append(rows(range(20_001, 20_401), 3, columns))
        t.compact(full=True)
    assert row_groups(copied)[0] > 2
    assert kept[:2_000] in b"".join(pages(copied.files()[0]["path"]))
    assert copied.scan().to_arrow().equals(decoded.scan().to_arrow())
    compared.same(oracle, copied)
