"""File indexes in both directions: Java finds rows by ours, and its tables go on with indexes of both."""

import datetime as dt
import decimal
import json
import pathlib

import pytest
import rows
import siltstone as st

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]

COLUMNS = {
    "k": "INT NOT NULL",
    "b": "BOOLEAN",
    "i1": "TINYINT",
    "i2": "SMALLINT",
    "i8": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "dec": "DECIMAL(12, 3)",
    "day": "DATE",
    "t": "TIME(3)",
    "ts3": "TIMESTAMP(3)",
    "ts6": "TIMESTAMP(6)",
    "s": "STRING",
    "y": "BYTES",
    "m": "MAP<STRING, INT>",
}
KINDS = {
    "bloom-filter": "k,i1,i2,i8,f,d,day,t,ts3,ts6,s,y,m[a],m[zz]",
    "bitmap": "k,b,i1,i2,i8,f,d,day,t,ts3,ts6,s,m[a],m[zz]",
    "bsi": "k,i1,i2,i8,dec,day,t,ts3,ts6,m[a]",
    "range-bitmap": "k,b,i1,i2,i8,f,d,dec,day,t,ts3,ts6,s,m[a],m[zz]",
}
#: what they look for, as Java and as we write it
ASKED = [
    ("equal", "k", [37], "k = 37"),
    ("in", "i8", [3, -3, 1000], "i8 IN (3, -3, 1000)"),
    ("lessThan", "i2", [-5], "i2 < -5"),
    ("greaterOrEqual", "i1", [5], "i1 >= 5"),
    ("equal", "s", ["text 3"], "s = 'text 3'"),
    ("notEqual", "s", ["text 3"], "s <> 'text 3'"),
    ("equal", "day", ["2024-03-02"], "day = '2024-03-02'"),
    ("equal", "ts6", ["2024-01-01T00:00:07.000003"], "ts6 = '2024-01-01 00:00:07.000003'"),
    ("lessThan", "ts3", ["2024-01-01T00:00:03.000"], "ts3 < '2024-01-01 00:00:03'"),
    ("equal", "d", [1.5], "d = 1.5"),
    ("equal", "b", [True], "b"),
    ("greaterOrEqual", "dec", ["4.000"], "dec >= 4"),
    ("equal", "t", ["00:00:05.001"], "t = '00:00:05.001'"),
    ("isNull", "s", [], "s IS NULL"),
    ("equal", "s", ["text 99"], "s = 'text 99'"),
    ("in", "k", [1000, 2000], "k IN (1000, 2000)"),
]


def row(k):
    if k % 11 == 0:
        return {"k": k}
    n = k % 20 - 10
    start = dt.datetime(2024, 1, 1)
    return {
        "k": k,
        "b": k % 3 == 0,
        "i1": n,
        "i2": -n,
        "i8": n,
        "f": k / 4,
        "d": n / 2,
        "dec": decimal.Decimal(n) / 2,
        "day": dt.date(2024, 3, 1) + dt.timedelta(days=k % 7),
        "t": dt.time(0, 0, k % 9, 1000),
        "ts3": start + dt.timedelta(seconds=k % 8),
        "ts6": start + dt.timedelta(seconds=k % 8, microseconds=3),
        "s": f"text {k % 13}",
        "y": bytes([k % 5]),
        "m": [("a", k % 4), ("b", None)][: k % 3],
    }


def unindexed(t):
    return st.open_table(t.location, options={"file-index.read.enabled": "false"})


def found_by_both(oracle, t, exact):
    """Java's rows, left out by index alone, have all that match; of exact indexes no other."""
    whole, narrowed = len(oracle.call("read", t.location)), 0
    for op, column, values, text in ASKED:
        ours = t.scan(filter=text).to_arrow().to_pylist()
        unread = unindexed(t).scan(filter=text).to_arrow().to_pylist()
        assert sorted(r["k"] for r in ours) == sorted(r["k"] for r in unread), text
        asked = json.dumps({"column": column, "op": op, "values": values})
        theirs = oracle.call("read", t.location, f"--where={asked}")
        assert {r["k"] for r in ours} <= {r["k"] for r in theirs}, text
        narrowed += len(theirs) < whole
        if exact(column):
            assert sorted(r["k"] for r in ours) == sorted(r["k"] for r in theirs), text
    assert narrowed >= 3


@pytest.mark.parametrize("threshold", ["1 mb", "1 b"])
@pytest.mark.parametrize("kind", KINDS)
def test_java_finds_rows_by_our_indexes(make, oracle, kind, threshold):
    plain = {column.partition("[")[0] for column in KINDS["bloom-filter"].split(",")}
    items = {f"file-index.bloom-filter.{column}.items": 400 for column in sorted(plain)}
    extra = {"bloom-filter": items, "bitmap": {"file-index.bitmap.s.version": 1}}
    options = {f"file-index.{kind}.columns": KINDS[kind], "file-index.in-manifest-threshold": threshold}
    t = make(COLUMNS, **options, **extra.get(kind, {}), metadata__stats_mode="none")
    t.append([row(k) for k in range(200)])
    t.append([row(k) for k in range(200, 300)])
    assert rows.same(oracle, t).num_rows == 300
    # NOT EQUAL of Java's bitmaps has the nulls, too
    found_by_both(oracle, t, lambda c: kind in ("bsi", "range-bitmap") and c in KINDS[kind].split(",") and c != "s")
    oracle.call("compact", t.location, "--full")
    rows.same(oracle, t)
    folder = pathlib.Path(t.location.removeprefix("file:")) / "bucket-0"
    assert bool(list(folder.glob("*.index"))) == (threshold == "1 b")


@pytest.mark.parametrize("threshold", ["1 mb", "1 b"])
def test_indexes_of_tables_with_a_key_and_vectors(make, oracle, threshold):
    t = make(
        {"k": "INT", "s": "STRING", "i": "INT"},
        ["k"],
        bucket=1,
        deletion_vectors__enabled="true",
        file_index__bitmap__columns="s",
        file_index__bsi__columns="i",
        file_index__in_manifest_threshold=threshold,
    )
    for n in range(4):
        t.upsert([{"k": k, "s": f"v{k % 5}", "i": k * n} for k in range(n * 10, n * 10 + 60)])
        oracle.call("apply", t.location, json.dumps({"op": "write", "rows": [["+I", n * 10 + 3, "java", n]]}))
        t.compact()
        ours = rows.same(oracle, t).to_pylist()
        for text, test in [
            ("s = 'java'", lambda r: r["s"] == "java"),
            ("s IN ('v1', 'v2') AND i > 40", lambda r: r["s"] in ("v1", "v2") and r["i"] > 40),
            ("i < 30 OR s <> 'v3'", lambda r: r["i"] < 30 or r["s"] != "v3"),
        ]:
            found = sorted(r["k"] for r in t.scan(filter=text).to_arrow().to_pylist())
            assert found == sorted(r["k"] for r in ours if test(r)), text
    t.delete("s = 'v1'")
    assert t.scan(filter="s = 'v1'").count() == 0
    t.compact(full=True)
    rows.same(oracle, t)


@pytest.mark.parametrize("threshold", ["1 mb", "1 b"])
def test_rows_of_append_tables_that_vectors_delete_are_not_found(make, oracle, threshold):
    t = make(
        {"k": "INT", "s": "STRING"},
        deletion_vectors__enabled="true",
        file_index__range_bitmap__columns="k,s",
        file_index__in_manifest_threshold=threshold,
    )
    t.append([{"k": k, "s": f"v{k % 5}"} for k in range(500)])
    t.delete("k IN (1, 6, 11) OR s = 'v4'")
    oracle.call("append-delete", t.location, json.dumps({"k": [2, 7]}))
    ours = rows.same(oracle, t).to_pylist()
    assert len(ours) == 395
    for text in ["s = 'v1'", "k = 6", "s = 'v2' AND k < 40", "s LIKE 'v%' AND k BETWEEN 5 AND 8"]:
        rows_of = t.scan(filter=text).to_arrow().to_pylist()
        unread = unindexed(t).scan(filter=text).to_arrow().to_pylist()
        assert rows_of == unread


def test_columns_that_were_renamed_and_retyped_keep_what_their_indexes_say(make, oracle):
    t = make({"k": "INT", "s": "STRING"}, file_index__bitmap__columns="k,s", metadata__stats_mode="none")
    t.append([{"k": k, "s": f"v{k % 3}"} for k in range(30)])
    t.alter().rename_column("s", "text").commit()
    t.alter().set_type("k", "BIGINT").commit()
    t.append([{"k": k, "text": f"v{k % 3}"} for k in range(30, 60)])
    assert rows.same(oracle, t).num_rows == 60
    assert t.scan(filter="text = 'v1'").count() == 20
    assert t.scan(filter="k IN (5, 50)").count() == 2
    assert t.scan(filter="text = 'v9'").to_arrow().num_rows == 0


@pytest.mark.parametrize("threshold", ["1 mb", "1 b"])
def test_java_finds_rows_by_indexes_that_were_made_later(make, oracle, threshold):
    t = make(COLUMNS, metadata__stats_mode="none")
    t.append([row(k) for k in range(150)])
    oracle.call("apply", t.location, json.dumps({"op": "write", "rows": [["+I", k] + [None] * 14 for k in (7, 500)]}))
    change = t.alter().set_option("file-index.range-bitmap.columns", KINDS["range-bitmap"])
    change.set_option("file-index.in-manifest-threshold", threshold).commit()
    t.rewrite_file_index()
    assert rows.same(oracle, t).num_rows == 152
    found_by_both(oracle, t, lambda c: c in KINDS["range-bitmap"].split(",") and c != "s")
    oracle.call("compact", t.location, "--full")
    assert rows.same(oracle, t).num_rows == 152


@pytest.mark.parametrize("threshold", ["1 mb", "1 b"])
def test_java_reads_files_whose_indexes_came_and_went(make, oracle, threshold):
    """It takes a deletion in manifests for one of all entries that are the same: after an index was made, taken away, made and
    taken away again it read no rows."""
    t = make({"k": "INT", "s": "STRING"}, metadata__stats_mode="none", file_index__in_manifest_threshold=threshold)
    t.append([{"k": k, "s": f"v{k % 3}"} for k in range(30)])
    for _ in range(2):
        t.alter().set_option("file-index.bitmap.columns", "k,s").commit()
        t.rewrite_file_index()
        assert rows.same(oracle, t).num_rows == 30
        t.alter().remove_option("file-index.bitmap.columns").commit()
        t.rewrite_file_index()
        assert rows.same(oracle, t).num_rows == 30
    found = oracle.call("read", t.location, '--where={"column": "k", "op": "equal", "values": [7]}')
    assert {"k": 7, "s": "v1"} in found
    t.maintenance.compact_manifests()
    assert rows.same(oracle, t).num_rows == 30
    assert not oracle.call("fsck", t.location)[0]["problems"]
