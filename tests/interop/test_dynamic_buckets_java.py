"""Dynamic buckets: Java and we give the same keys the same buckets, and go on with each other's index."""

import decimal
import json
import pathlib
import random
import struct

import pytest
import siltstone as st

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(900)]

TYPES = [
    ({"id": "INT", "v": "INT"}, ["id"], []),
    ({"id": "STRING", "v": "INT"}, ["id"], []),
    ({"p": "STRING", "a": "BIGINT", "b": "STRING", "v": "INT"}, ["b", "p", "a"], ["p"]),
    ({"p": "INT", "d": "DECIMAL(20,2)", "v": "INT"}, ["p", "d"], ["p"]),
]


def values(chance, kind):
    number = chance.randrange(400)
    texts = {"STRING": f"key {number}", "DECIMAL(20,2)": f"{number}.25"}
    return texts.get(kind, number)


def batches(chance, schema, partition):
    """Three inputs that share keys."""
    for n in range(3):
        rows = []
        for _ in range(150):
            row = {name: values(chance, kind) for name, kind in schema.items()}
            row |= {name: (chance.randrange(2) if schema[name] == "INT" else chance.choice("xy")) for name in partition}
            rows.append(row | {"v": n})
        yield rows


def java_writes(oracle, t, rows, kind="write", **more):
    listed = [["+I", *row.values()] for row in rows]
    oracle.call("apply", t.location, json.dumps({"op": kind, "rows": listed, **more}))


def ours(rows):
    return [{k: decimal.Decimal(v) if k == "d" else v for k, v in row.items()} for row in rows]


def placed(t):
    """What the index files of the newest version say: the hashes of each bucket."""
    found = {}
    for entry in t.inspect("table_indexes", filter="index_type = 'HASH'").to_arrow().to_pylist():
        content = pathlib.Path(t.location, "index", entry["file_name"]).read_bytes()
        hashes = struct.unpack(f">{len(content) // 4}i", content)
        assert len(hashes) == entry["row_count"] == len(set(hashes))
        found[entry["partition"], entry["bucket"]] = sorted(hashes)
    return found


@pytest.mark.parametrize("target", [1, 7, 40, 2_000_000])
@pytest.mark.parametrize("number", range(len(TYPES)))
def test_the_same_input_gives_the_same_buckets(make, oracle, number, target):
    schema, key, partition = TYPES[number]
    chance = random.Random(number * 1000 + target)  # noqa: S311  # a test
    a, b, c = (
        make(schema, key, partition, name=f"{n}{number}_{target}", dynamic_bucket__target_row_num=target) for n in "abc"
    )
    for turn, rows in enumerate(batches(chance, schema, partition)):
        a.upsert(ours(rows))
        java_writes(oracle, b, rows)
        # and in turn
        if turn % 2:
            c.upsert(ours(rows))
        else:
            java_writes(oracle, c, rows)
    assert placed(a) == placed(b) == placed(c)
    read = [sorted(map(str, oracle.call("read", t.location))) for t in (a, b, c)]
    assert read[0] == read[1] == read[2]
    for t in (a, b, c):
        assert not oracle.call("fsck", t.location, check=False)[0]["problems"]
        assert t.maintenance.fsck(deep=True).problems == []
        assert t.scan().count() == len(read[0])


@pytest.mark.parametrize("target", [3, 50])
def test_an_overwrite_begins_with_no_index_as_javas(make, oracle, target):
    schema = {"id": "INT", "v": "INT"}
    a, b = (make(schema, ["id"], dynamic_bucket__target_row_num=target, name=n) for n in "ab")
    first = [{"id": i, "v": 1} for i in range(30)]
    second = [{"id": i, "v": 2} for i in range(40, 10, -1)]
    for t in a, b:
        t.upsert(first)
    a.overwrite(second)
    java_writes(oracle, b, second, kind="overwrite")
    assert placed(a) == placed(b)
    third = [{"id": i, "v": 3} for i in range(50)]
    java_writes(oracle, a, third)
    b.upsert(third)
    assert placed(a) == placed(b)
    for t in a, b:
        assert not oracle.call("fsck", t.location, check=False)[0]["problems"]
        assert t.maintenance.fsck(deep=True).problems == []


def test_java_and_we_take_turns_with_compactions_and_deletes(make, oracle):
    t = make({"id": "INT", "v": "INT"}, ["id"], dynamic_bucket__target_row_num=10)
    model = {}
    chance = random.Random(7)  # noqa: S311  # a test
    for turn in range(8):
        rows = [{"id": chance.randrange(80), "v": turn * 100 + i} for i in range(25)]
        if turn % 2:
            java_writes(oracle, t, rows)
        else:
            t.upsert(rows)
        model |= {row["id"]: row["v"] for row in rows}
        if turn % 3 == 1:
            gone = chance.randrange(80)
            t.delete(keys=[{"id": gone}])
            model.pop(gone, None)
        if turn == 3:
            oracle.call("compact", t.location, "--full")
        if turn == 5:
            t.compact(full=True)
    assert {r["id"]: r["v"] for r in t.scan().to_arrow().to_pylist()} == model
    assert {r["id"]: r["v"] for r in oracle.call("read", t.location)} == model
    assert not oracle.call("fsck", t.location, check=False)[0]["problems"]
    assert t.maintenance.fsck(deep=True).problems == []


@pytest.mark.parametrize("release", ["0.9.0", "1.0.0", "1.3.1"])
def test_other_releases_read_our_index(make, release):
    import java_oracle

    t = make({"id": "INT", "v": "INT"}, ["id"], dynamic_bucket__target_row_num=10)
    t.upsert([{"id": i, "v": 1} for i in range(25)])
    with java_oracle.open_oracle(release) as java:
        assert len(java.call("read", t.location)) == 25
        java_writes(java, t, [{"id": i, "v": 2} for i in range(20, 40)])
    reopened = st.open_table(t.location)
    reopened.upsert([{"id": i, "v": 3} for i in range(35, 45)])
    assert reopened.scan().count() == 45
    assert reopened.maintenance.fsck(deep=True).problems == []
