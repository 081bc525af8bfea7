"""Postponed buckets and rescaled tables: Java reads, checks and writes on what we have written."""

import json

import pytest

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(900)]

SCHEMA = {"p": "INT", "k": "INT", "v": "STRING"}


def java_writes(oracle, t, rows):
    oracle.call("apply", t.location, json.dumps({"op": "write", "rows": rows}))


def same(oracle, t):
    """Java shows the same rows, and finds nothing wrong."""
    ours = sorted(map(str, t.scan().to_arrow().to_pylist()))
    assert sorted(map(str, oracle.call("read", t.location))) == ours
    assert oracle.call("fsck", t.location, check=False)[0]["problems"] == []
    assert t.maintenance.fsck(deep=True).problems == []
    return len(ours)


def waiting(t):
    return [r for r in t.inspect("files").to_arrow().to_pylist() if r["bucket"] == -2]


def test_java_shows_rows_after_our_compaction_and_not_before(make, oracle):
    t = make(SCHEMA, ["p", "k"], ["p"], bucket=-2, postpone__default_bucket_num=2)
    t.upsert([{"p": k % 2, "k": k, "v": "a"} for k in range(40)])
    assert same(oracle, t) == 0
    t.compact(full=True)
    assert same(oracle, t) == 40
    t.append([{"p": 0, "k": 0}, {"p": 1, "k": 1}], row_kind="-D")
    assert same(oracle, t) == 40
    t.compact()
    assert same(oracle, t) == 38


def test_java_s_waiting_files_are_described_as_ours(make, oracle):
    t = make(SCHEMA, ["p", "k"], ["p"], bucket=-2)
    t.append([{"p": 0, "k": 9, "v": "a"}, {"p": 0, "k": 1, "v": "b"}])
    [ours] = waiting(t)
    java_writes(oracle, t, [["+I", 0, 9, "a"], ["+I", 0, 1, "b"]])
    [java] = [r for r in waiting(t) if r["file_path"] != ours["file_path"]]
    differ = {"file_path", "file_size_in_bytes", "creation_time"}
    assert {k: v for k, v in java.items() if k not in differ} == {k: v for k, v in ours.items() if k not in differ}
    assert java["file_path"].rsplit("/", 2)[1] == "bucket-postpone"


def test_java_s_waiting_files_get_their_buckets_with_ours(make, oracle):
    """With rows of all kinds."""
    t = make(SCHEMA, ["p", "k"], ["p"], bucket=-2)
    t.upsert([{"p": 1, "k": 1, "v": "a"}])
    java_writes(oracle, t, [["+I", 0, 9, "a"], ["+I", 0, 8, "b"], ["-D", 1, 1, "a"], ["+I", 0, 9, None]])
    assert {r["file_format"] for r in waiting(t)} == {"avro"}
    t.compact()
    assert waiting(t) == []
    assert sorted(t.scan().to_arrow().to_pylist(), key=str) == [
        {"p": 0, "k": 8, "v": "b"},
        {"p": 0, "k": 9, "v": None},
    ]
    assert same(oracle, t) == 2


@pytest.mark.parametrize("key", [["p", "k"], []])
def test_java_writes_on_after_a_rescale(make, oracle, key):
    t = make(SCHEMA, key, ["p"], bucket=2, **({} if key else {"bucket_key": "k"}))
    t.append([{"p": k % 2, "k": k, "v": "a"} for k in range(100)])
    t.rescale(5)
    assert same(oracle, t) == 100
    java_writes(oracle, t, [["+I", 0, 200, "b"]] + ([["-D", 0, 2, "a"]] if key else []))
    assert same(oracle, t) == (100 if key else 101)
    t.compact(full=True)
    t.rescale(1)
    assert same(oracle, t) == (100 if key else 101)
