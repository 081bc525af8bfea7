"""Tables that pypaimon 2.1.0 wrote: it does not compact, so nobody sees their rows until somebody does.

Those of data evolution have rows 0 to 9 and 10 to 14, then v of the first ten, and s of 3 and 12, by their row ids.

`tests/golden/pypaimon` holds them: `id BIGINT, v INT, s STRING`, two buckets, keys 0 to 19 with v = 0 and then 10 to 29
with v = 1. pypaimon itself reads 0 rows of `vectors` and `first_row`, and 30 of `lookup`, whose changelog is empty.
"""

import datetime as dt
import decimal
import pathlib
import tarfile

import pytest
import rows as both
import siltstone as st

TABLES = pathlib.Path(__file__).parents[1] / "golden" / "pypaimon"
SEEN = {"vectors": 0, "first_row": 0, "lookup": 30}


@pytest.fixture(params=SEEN)
def name(request):
    return request.param


@pytest.fixture
def t(name, tmp_path):
    with tarfile.open(TABLES / f"{name}.tar.gz") as tar:
        tar.extractall(tmp_path, filter="data")
    return st.open_table(tmp_path / "table")


def rows(found):
    return sorted((r["id"], r["v"], r["s"]) for r in found)


def expected(name):
    last = 20 if name == "first_row" else 10
    return [(i, int(i >= last), f"s{int(i >= last)}") for i in range(30)]


def told(t):
    return sum(len(batch) for batch in t.changes(start=None, end=None, follow=False))


def test_rows_that_pypaimon_wrote_are_shown_by_a_compaction(name, t):
    assert t.scan().count() == SEEN[name]
    if name != "vectors":
        assert told(t) == 0
    report = t.compact()
    assert [s.kind for s in report.snapshots] == ["COMPACT"]
    assert rows(t.scan().to_arrow().to_pylist()) == expected(name)
    assert not t.maintenance.fsck().findings
    if name != "vectors":
        assert told(t) == 30
    t.upsert([{"id": 5, "v": 9, "s": "ours"}])
    assert t.scan(filter="v = 9").count() == (name != "first_row")


@pytest.mark.java
def test_java_sees_them_after_our_compaction_too(name, t, oracle):
    assert len(oracle.call("read", t.location)) == SEEN[name]
    t.compact()
    assert rows(oracle.call("read", t.location)) == expected(name)
    oracle.call("compact", t.location, "--full")
    assert rows(oracle.call("read", t.location)) == rows(t.scan().to_arrow().to_pylist()) == expected(name)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_spark_executors_compact_them(name, t, spark):
    from siltstone import spark as ss

    report = ss.compact(spark, t.location)
    assert [s.kind for s in report.snapshots] == ["COMPACT"]
    assert rows(t.scan().to_arrow().to_pylist()) == expected(name)


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_columns_that_pypaimon_wrote_by_row_id_are_read_as_it_reads_them(kind, tmp_path):
    with tarfile.open(TABLES / f"evolution_{kind}.tar.gz") as tar:
        tar.extractall(tmp_path, filter="data")
    t = st.open_table(tmp_path / "table")
    first = [{"id": i, "v": 100 + i, "s": f"s0-{i}"} for i in range(10)]
    rows = [*first, *({"id": i, "v": 1, "s": f"s1-{i}"} for i in range(10, 15))]
    rows[3]["s"], rows[12]["s"] = "new3", "new12"
    assert t.scan().to_arrow().sort_by("id").to_pylist() == rows
    assert t.scan(filter="s = 'new12' OR v = 104").to_arrow().sort_by("id")["id"].to_pylist() == [4, 12]
    assert t.scan().count() == 15
    ids = t.inspect("row_tracking", ["id", "_ROW_ID"]).to_arrow().sort_by("id").to_pylist()
    assert ids == [{"id": i, "_ROW_ID": i} for i in range(15)]
    assert t.maintenance.fsck(deep=True).problems == []
    t.update({"v": "v + 1"}, where="id = 12")
    t.compact(full=True)
    rows[12]["v"] = 2
    assert t.scan().to_arrow().sort_by("id").to_pylist() == rows


def opened(name, folder):
    with tarfile.open(TABLES / f"{name}.tar.gz") as tar:
        tar.extractall(folder, filter="data")
    return st.open_table(folder / "table")


def plain(i):
    """Row i of the tables `append_*`, `key_*` and `tracked_*`."""
    return {
        "id": i,
        "v": i % 7,
        "s": None if i % 4 == 0 else f"s{i}",
        "l": [i, i + 1],
        "d": decimal.Decimal(i) / 4,
        "ts": dt.datetime(2024, 1, 1) + dt.timedelta(minutes=i),
    }


def in_order(t, **scan):
    return t.scan(**scan).to_arrow().sort_by("id").to_pylist()


@pytest.mark.java
@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("feature", ["append", "key", "tracked"])
def test_tables_of_each_format_are_read_written_and_compacted(feature, kind, tmp_path, oracle):
    t = opened(f"{feature}_{kind}", tmp_path)
    expected = [plain(i) for i in range(50)]
    assert in_order(t) == expected
    assert in_order(t, filter="s = 's33' or d = 2.5") == [plain(10), plain(33)]
    more = [plain(50)]
    t.upsert(more) if feature == "key" else t.append(more)
    t.compact(full=True)
    assert in_order(t) == [*expected, *more]
    both.same(oracle, t)
    if feature == "tracked":
        ids = t.inspect("row_tracking", ["id", "_ROW_ID"]).to_arrow().sort_by("id").to_pylist()
        assert ids == [{"id": i, "_ROW_ID": i} for i in range(51)]


@pytest.mark.parametrize("name", ["blob", "blob_small"])
def test_blobs_are_read_beside_new_ones(name, tmp_path):
    """`id BIGINT, s STRING, b BLOB`, the second table with files of 1 kB."""
    t = opened(name, tmp_path)
    expected = [{"id": i, "s": f"s{i}", "b": None if i % 3 == 1 else bytes([i]) * (i * 50)} for i in range(25)]
    assert in_order(t) == expected
    more = [{"id": 25, "s": None, "b": b"ours"}, {"id": 26, "s": "s", "b": None}]
    t.append(more)
    t.update({"s": "'changed'"}, where="id = 3")
    t.compact(full=True)
    expected[3]["s"] = "changed"
    assert in_order(t) == [*expected, *more]
    found = t.maintenance.fsck(deep=True).problems  # pypaimon counts no nulls of its BLOB files; ours have none of it
    assert {(p.code, p.place) for p in found} == {("wrong-null-count", f"main/snapshot-{n}") for n in (1, 2)}
    assert all(".blob has" in p.message for p in found)
    assert t.scan(filter="b is null").to_arrow().num_rows == sum(row["b"] is None for row in [*expected, *more])


def test_variants_are_read(tmp_path):
    variants = in_order(opened("variant", tmp_path))
    assert variants == [{"id": 1, "v": "80371693"}, {"id": 2, "v": None}, {"id": 3, "v": '{"n":{"m":{"o":"pond"}}}'}]
