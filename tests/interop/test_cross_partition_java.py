"""Keys that may come in any partition: the same rows as real Java, one after the other and in turn."""

import json
import os
import random

import pytest
import siltstone as st
from siltstone import errors as e

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(900)]

SCHEMA = {"id": "INT", "p": "STRING", "v": "INT", "w": "STRING"}
ENGINES = {
    "deduplicate": {},
    "partial-update": {},
    "aggregation": {"fields__v__aggregate_function": "sum", "fields__w__aggregate_function": "last_non_null_value"},
    "first-row": {"changelog_producer": "lookup"},
    "deduplicate-vectors": {"deletion_vectors__enabled": "true"},
    "deduplicate-lookup": {"changelog_producer": "lookup"},
}


def table(make, name, case, **more):
    engine = case.split("-vectors")[0].split("-lookup")[0]
    options = {"merge_engine": engine, **ENGINES[case], **more}
    return make(SCHEMA, ["id"], ["p"], name=name.replace("-", "_"), **options)


def java_writes(oracle, t, rows, op="write"):
    listed = [[kind, *row.values()] for kind, row in rows]
    oracle.call("apply", t.location, json.dumps({"op": op, "rows": listed}))


def we_write(t, rows):
    with t.writer() as w:
        for kind, row in rows:
            w.write([row], row_kind=kind)
        w.commit()


def batch(chance, deletes):
    rows = []
    for _ in range(chance.randrange(1, 25)):
        row = {
            "id": chance.randrange(30),
            "p": chance.choice(["a", "b", "c", None]),
            "v": chance.choice([None, chance.randrange(100)]),
            "w": chance.choice([None, f"text {chance.randrange(100)}"]),
        }
        rows.append(("-D" if deletes and chance.random() < 0.15 else "+I", row))
    return rows


def places(t):
    """The live rows with their partition and bucket, as far as data files say it: which buckets there are."""
    return sorted({(str(f["partition"]), f["bucket"]) for f in t.inspect("files").to_arrow().to_pylist()})


@pytest.mark.parametrize("seed", range(8 if "SILTSTONE_STRESS" in os.environ else 1))
@pytest.mark.parametrize("case", list(ENGINES))
def test_random_schedules_give_the_same_rows(make, oracle, case, seed):
    chance = random.Random(seed * 100 + len(case))  # noqa: S311  # a test
    target = chance.choice([3, 2_000_000])
    ours, java, both = (
        table(make, f"{n}_{case}_{seed}", case, dynamic_bucket__target_row_num=target) for n in ("ours", "java", "both")
    )
    for turn in range(8 if "SILTSTONE_STRESS" in os.environ else 5):
        rows = batch(chance, deletes=case.startswith("deduplicate") and turn > 0)
        we_write(ours, rows)
        java_writes(oracle, java, rows)
        if turn % 2:
            we_write(both, rows)
        else:
            java_writes(oracle, both, rows)
        if turn in (1, 3):  # Java's compaction leaves vectors of files that have gone; its next write removes them
            ours.compact(full=True)
            oracle.call("compact", java.location, "--full")
            if turn == 1:
                both.compact(full=True)
            else:
                oracle.call("compact", both.location, "--full")
        expected = sorted(map(str, oracle.call("read", java.location)))
        for t in ours, both:
            assert sorted(map(str, oracle.call("read", t.location))) == expected, turn
            assert sorted(map(str, t.scan().to_arrow().to_pylist())) == expected, turn
    for t in ours, java, both:
        assert not oracle.call("fsck", t.location, check=False)[0]["problems"], t.name
        assert t.maintenance.fsck(deep=True).problems == []
        assert t.inspect("table_indexes", filter="index_type = 'HASH'").to_arrow().num_rows == 0


@pytest.mark.parametrize("target", [1, 4])
def test_new_keys_get_the_buckets_that_java_gives_them(make, oracle, target):
    """In a table that has keys; into an empty one Java puts the keys of a batch in the order of the keys."""
    ours, java = (table(make, n, "deduplicate", dynamic_bucket__target_row_num=target) for n in ("ours", "java"))
    for t in ours, java:
        we_write(t, [("+I", {"id": i, "p": "ab"[i % 2], "v": 0, "w": None}) for i in range(10)])
    chance = random.Random(target)  # noqa: S311  # a test
    for _ in range(3):
        rows = batch(chance, deletes=False)
        we_write(ours, rows)
        java_writes(oracle, java, rows)
        assert places(ours) == places(java)


def test_java_ignores_deletes_that_move_keys_and_we_refuse_such_tables(make, oracle):
    """Java leaves the key in both partitions."""
    t = table(make, "t", "deduplicate")
    one = lambda p, v: [("+I", {"id": 1, "p": p, "v": v, "w": None})]  # noqa: E731
    oracle.call("alter", t.location, json.dumps([{"kind": "set_option", "key": "ignore-delete", "value": "true"}]))
    java_writes(oracle, t, one("a", 1))
    java_writes(oracle, t, one("b", 2))
    assert len(oracle.call("read", t.location)) == 2
    with pytest.raises(e.UnsupportedFeature, match="ignore-delete"):
        st.open_table(t.location).upsert([{"id": 1, "p": "c", "v": 3, "w": None}])


@pytest.mark.parametrize("partition", ["a", "b"])
def test_java_adds_what_rows_of_another_partition_take_back_and_we_take_it_back(make, oracle, partition):
    """Java gives such a row the columns of the key's partition, and forgets that it is a -D."""
    ours, java = (table(make, n, "aggregation") for n in ("ours", "java"))
    for rows in [("+I", {"id": 1, "p": "a", "v": 5, "w": "x"})], [("-D", {"id": 1, "p": partition, "v": 2, "w": "x"})]:
        we_write(ours, rows)
        java_writes(oracle, java, rows)
    # no partition column has an aggregate function of its own: the one that all have forgets what is taken back
    taken_back = [{"id": 1, "p": None, "v": 3, "w": None}]
    assert oracle.call("read", ours.location) == ours.scan().to_arrow().to_pylist() == taken_back
    added = [{"id": 1, "p": "a", "v": 7, "w": "x"}]
    assert oracle.call("read", java.location) == (taken_back if partition == "a" else added)
