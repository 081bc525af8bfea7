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
    "input": {"changelog-producer": "input"},
    "partial-update-lookup": {
        "merge-engine": "partial-update",
        "changelog-producer": "lookup",
        "ignore-delete": "true",
    },
    "aggregation-input": {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "sum",
        "changelog-producer": "input",
    },
}
FIRST_ROW = {"none": {}, "lookup": {"changelog-producer": "lookup"}}


def rows(found):
    return sorted((r["p"], r["id"], r["v"] if r["v"] is not None else -1, r["s"] or "") for r in found)


def ours(t, **version):
    return rows(t.scan(**version).to_arrow().to_pylist())


def agree(oracle, t, since=0):
    """The versions after `since` have the same rows for Java and us; returns the latest. Of all of them Java's fsck finds nothing."""
    versions = [s.id for s in t.history(100) if s.id > since]
    for version in versions:
        theirs = rows(oracle.call("read", t.location, f"scan.snapshot-id={version}"))
        assert ours(t, version=version) == theirs, version
    if not since:
        found = oracle.call("fsck", t.location, check=False)[0]
        assert not found["problems"], found
    return max(versions, default=since)


def data(ids, n, p="a"):
    return [{"p": p, "id": i, "v": i % 7 + n, "s": f"s{n}"} for i in ids]


#: Each engine with each kind of bitmap, with partitions and without; all pairs of these two with the first engine.
PAIRS = [
    pytest.param(engine, partition_by, bits, id=f"{engine}-{'partitioned' if partition_by else 'plain'}-{bits}")
    for engine in ENGINES
    for partition_by, bits in [((), "32"), (("p",), "64"), (("p",), "32"), ((), "64")][
        : 4 if engine == "deduplicate" else 2
    ]
]


@pytest.mark.parametrize(("engine", "partition_by", "bits"), PAIRS)
def test_java_and_we_go_on_with_each_others_vectors(make, oracle, engine, partition_by, bits):
    options = {"deletion-vectors.enabled": "true", "bucket": "2", **ENGINES[engine]}
    if bits == "64":
        options["deletion-vectors.bitmap64"] = "true"
    t = make(SCHEMA, [*partition_by, "id"], list(partition_by), **options)
    rng = random.Random(1)
    for n in range(4):
        t.upsert(data(rng.sample(range(200), 60) if n else range(200), n, "b" if partition_by and n % 2 else "a"))
    if not engine.startswith("aggregation"):
        t.append(data([7, 8], 9), row_kind="-D")
    seen = agree(oracle, t)
    step = {"op": "write", "rows": [["+I", "a", i, 1000 + i, "java"] for i in range(3, 60, 4)]}
    oracle.call("apply", t.location, json.dumps(step))
    oracle.call("compact", t.location)
    t.upsert(data(range(0, 60, 5), 50))
    seen = agree(oracle, t, seen)
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
    seen = agree(oracle, t)
    oracle.call("append-delete", t.location, json.dumps({"id": [3, 22]}))
    t.update({"s": "'new'"}, where="id IN (4, 44)")
    seen = agree(oracle, t, seen)
    oracle.call("compact", t.location, "--full")
    t.delete(where="id = 5")
    t.compact(full=True)
    agree(oracle, t)
    assert t.scan().count() == 60 - 9


OVERWRITTEN = {**ENGINES, "first-row": {"merge-engine": "first-row"}}


#: The kinds of bitmap that are tried of all merge engines, and of the first one alone.
BITMAPS = [(engine, "32") for engine in OVERWRITTEN] + [(engine, "64") for engine in list(OVERWRITTEN)[:1]]


@pytest.mark.parametrize(("engine", "bits"), BITMAPS)
def test_java_reads_overwrites_that_need_no_second_snapshot_and_goes_on(make, oracle, engine, bits):
    """Java commits level 0 first and its compaction afterwards; ours has the compacted files at once."""
    options = {"bucket": "2", **OVERWRITTEN[engine]}
    if engine != "first-row":
        options |= {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": str(bits == "64").lower()}
    t = make(SCHEMA, ["p", "id"], ["p"], **options)
    for p in "ab":
        t.upsert(data(range(100), 0, p))
        t.upsert(data(range(0, 100, 3), 1, p))
    seen = 0
    for target in ({"partition": {"p": "a"}}, {"dynamic": True}, {}):
        report = t.overwrite(data(range(10, 60), 7), **target)
        assert [s.kind for s in report.snapshots] == ["OVERWRITE"]
        seen = agree(oracle, t, seen)
        t.upsert(data(range(50, 70), 8))
        step = {"op": "write", "rows": [["+I", "a", i, 1000 + i, "java"] for i in range(3, 60, 4)]}
        oracle.call("apply", t.location, json.dumps(step))
        seen = agree(oracle, t, seen)
    step = {"op": "overwrite", "rows": [["+I", "a", i, 2000 + i, "java"] for i in range(30)], "partition": {"p": "a"}}
    oracle.call("apply", t.location, json.dumps(step))
    t.upsert(data(range(20, 40), 9))
    seen = agree(oracle, t, seen)
    oracle.call("compact", t.location, "--full")
    t.upsert(data(range(0, 60, 6), 60))
    t.compact(full=True)
    agree(oracle, t)


@pytest.mark.parametrize("partition_by", [(), ("p",)], ids=["plain", "partitioned"])
@pytest.mark.parametrize("producer", FIRST_ROW)
def test_java_and_we_go_on_with_each_others_first_rows(make, oracle, producer, partition_by):
    """first-row has no vectors and the same way to be seen: level 0 is not read."""
    options = {"merge-engine": "first-row", "bucket": "2", **FIRST_ROW[producer]}
    t = make(SCHEMA, [*partition_by, "id"], list(partition_by), **options)
    for n in range(3):
        t.upsert(data(range(n * 30, n * 30 + 60), n, "b" if partition_by and n % 2 else "a"))
    seen = agree(oracle, t)
    step = {"op": "write", "rows": [["+I", "a", i, 1000, "java"] for i in range(100, 160, 4)]}
    oracle.call("apply", t.location, json.dumps(step))
    oracle.call("compact", t.location)
    t.upsert(data(range(120, 200), 7))
    seen = agree(oracle, t, seen)
    oracle.call("compact", t.location, "--full")
    t.upsert(data(range(190, 220), 8))
    t.compact(full=True)
    agree(oracle, t)
    assert len(ours(t)) == (280 if partition_by else 220)


WAITING = {
    "vectors": {"deletion-vectors.enabled": "true"},
    "vectors-64": {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"},
    "first-row": {"merge-engine": "first-row", "changelog-producer": "lookup"},
    "lookup": {"changelog-producer": "lookup"},
}


@pytest.mark.parametrize("writer", ["ours", "javas"])
@pytest.mark.parametrize("kind", WAITING)
def test_rows_of_a_write_only_writer_wait_for_our_compaction(make, oracle, kind, writer):
    """What a writer without compaction leaves (pypaimon is one) is shown by ours: to us and to Java."""
    t = make(SCHEMA, ["id"], **{"bucket": "2", "write-only": "true", **WAITING[kind]})

    def write(ids, n):
        if writer == "ours":
            report = t.upsert(data(ids, n))
            assert report.invisible_rows == (0 if kind == "lookup" else len(ids))
        else:
            oracle.call(
                "apply", t.location, json.dumps({"op": "write", "rows": [["+I", *r.values()] for r in data(ids, n)]})
            )

    write(range(50), 0)
    write(range(40, 70), 1)
    seen = 70 if kind == "lookup" else 0
    assert (len(oracle.call("read", t.location)), t.scan().count()) == (seen, seen)
    if "changelog-producer" in WAITING[kind]:
        assert oracle.call("stream", t.location) == []
    t.compact()
    assert len(ours(t)) == 70
    agree(oracle, t)
    write(range(60, 80), 2)
    t.compact()
    assert len(ours(t)) == 80
    agree(oracle, t)


RELEASED = {
    "plain": {},
    "partial-update": ENGINES["partial-update"],
    "lookup": ENGINES["lookup"],
    "input": ENGINES["input"],
}


@pytest.mark.parametrize("release", ["0.9.0", "1.0.0"])
def test_older_releases_read_32_bit_vectors(release, make):
    tables = []
    for options in RELEASED.values():
        for partition_by in ([], ["p"]):
            t = make(
                SCHEMA,
                [*partition_by, "id"],
                partition_by,
                **{"deletion-vectors.enabled": "true", "bucket": "1", **options},
            )
            t.upsert(data(range(3000), 0))
            t.compact(full=True)
            t.upsert(data(range(0, 3000, 30), 1))
            t.append(data([5, 6], 1), row_kind="-D")
            tables.append(t)
    for options in ({}, {"bucket": "2", "bucket-key": "id"}):
        a = make(SCHEMA, [], **{"deletion-vectors.enabled": "true", **options})
        a.append(data(range(100), 0))
        a.delete(where="id < 10")
        tables.append(a)
    with java_oracle.open_oracle(release) as java:
        for table in tables:
            assert rows(java.call("read", table.location)) == ours(table)
