"""Deletion vectors between us and real Java: each reads, goes on with and compacts what the other wrote."""

import json
import random

import java_oracle
import pytest

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(900)]

SCHEMA = {"p": "STRING", "id": "BIGINT", "v": "INT", "s": "STRING"}
ENGINES = {
    "deduplicate": {},
    "sequence": {"sequence.field": "v"},
    "partial-update": {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    "aggregation": {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    "lookup": {"changelog-producer": "lookup"},
}


def rows(found):
    return sorted((r["p"], r["id"], r["v"] if r["v"] is not None else -1, r["s"] or "") for r in found)


def ours(t, **version):
    return rows(t.scan(**version).to_arrow().to_pylist())


def agree(oracle, t):
    for snapshot in t.history(100):
        theirs = rows(oracle.call("read", t.location, f"scan.snapshot-id={snapshot.id}"))
        assert ours(t, version=snapshot.id) == theirs, snapshot
    found = oracle.call("fsck", t.location, check=False)[0]
    assert not found["problems"], found


def data(ids, n, p="a"):
    return [{"p": p, "id": i, "v": i % 7 + n, "s": f"s{n}"} for i in ids]


@pytest.mark.parametrize("bits", ["32", "64"])
@pytest.mark.parametrize("partition_by", [(), ("p",)], ids=["plain", "partitioned"])
@pytest.mark.parametrize("engine", ENGINES)
def test_java_and_we_go_on_with_each_others_vectors(make, oracle, engine, partition_by, bits):
    options = {"deletion-vectors.enabled": "true", "bucket": "2", **ENGINES[engine]}
    if bits == "64":
        options["deletion-vectors.bitmap64"] = "true"
    t = make(SCHEMA, [*partition_by, "id"], list(partition_by), **options)
    rng = random.Random(1)
    for n in range(4):
        t.upsert(data(rng.sample(range(200), 60) if n else range(200), n, "b" if partition_by and n % 2 else "a"))
    if engine != "aggregation":
        t.append(data([7, 8], 9), row_kind="-D")
    agree(oracle, t)
    step = {"op": "write", "rows": [["+I", "a", i, 1000 + i, "java"] for i in range(3, 60, 4)]}
    oracle.call("apply", t.location, json.dumps(step))
    oracle.call("compact", t.location)
    t.upsert(data(range(0, 60, 5), 50))
    agree(oracle, t)
    oracle.call("compact", t.location, "--full")
    t.upsert(data(range(0, 60, 6), 60))
    t.compact(full=True)
    agree(oracle, t)


@pytest.mark.parametrize("bits", ["32", "64"])
@pytest.mark.parametrize("buckets", ["unaware", "fixed"])
def test_java_and_we_delete_rows_of_one_append_table(make, oracle, buckets, bits):
    options = {"deletion-vectors.enabled": "true"}
    if bits == "64":
        options["deletion-vectors.bitmap64"] = "true"
    if buckets == "fixed":
        options |= {"bucket": "2", "bucket-key": "id"}
    t = make(SCHEMA, [], **options)
    for n in range(3):
        t.append(data(range(n * 20, n * 20 + 20), n))
    t.delete(where="id IN (1, 2, 21, 41, 42, 43)")
    agree(oracle, t)
    oracle.call("append-delete", t.location, json.dumps({"id": [3, 22]}))
    t.update({"s": "'new'"}, where="id IN (4, 44)")
    agree(oracle, t)
    oracle.call("compact", t.location, "--full")
    t.delete(where="id = 5")
    t.compact(full=True)
    agree(oracle, t)
    assert t.scan().count() == 60 - 9


@pytest.mark.parametrize("release", ["0.9.0", "1.0.0"])
def test_older_releases_read_32_bit_vectors(release, make):
    t = make(SCHEMA, ["id"], **{"deletion-vectors.enabled": "true", "bucket": "1"})
    t.upsert(data(range(3000), 0))
    t.compact(full=True)
    t.upsert(data(range(0, 3000, 30), 1))
    a = make(SCHEMA, [], **{"deletion-vectors.enabled": "true"})
    a.append(data(range(100), 0))
    a.delete(where="id < 10")
    with java_oracle.open_oracle(release) as java:
        for table in (t, a):
            assert rows(java.call("read", table.location)) == ours(table)
