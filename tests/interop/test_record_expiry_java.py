"""Rows that are too old: real Java's compactions and ours leave the same rows, one after the other and in turn."""

import json
import random
import time

import pytest
import siltstone as st

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]

SCHEMA = {"k": "INT", "t": "BIGINT", "v": "INT"}
DAY = 86_400
ENGINES = {
    "deduplicate": {},
    "partial-update": {},
    "aggregation": {"fields__v__aggregate_function": "sum"},
    "first-row": {},
    "full-compaction": {"changelog_producer": "full-compaction"},
    "lookup": {"changelog_producer": "lookup", "merge_engine": "aggregation", "fields__v__aggregate_function": "sum"},
}


def table(make, name, case):
    engine = {} if case in ("full-compaction", "lookup") else {"merge_engine": case}
    expire = {"record_level__expire_time": "10 d", "record_level__time_field": "t"}
    options = {"bucket": 1, "write_only": "true", **engine, **expire, **ENGINES[case]}
    return make(SCHEMA, ["k"], [], name=name, **options)


def batch(chance, deletes):
    """Rows of 1 and of 30 days, in seconds and in milliseconds, and some without a time."""
    rows = []
    for k in chance.sample(range(12), chance.randrange(1, 8)):
        then = int(time.time()) - chance.choice([1, 30]) * DAY
        kind = "-D" if deletes and chance.random() < 0.2 else "+I"
        rows.append([kind, k, chance.choice([then, then * 1000, None]), chance.randrange(100)])
    return rows


def shown(rows):
    return sorted((r["k"], r["t"], r["v"]) for r in rows)


@pytest.mark.parametrize("case", list(ENGINES))
def test_random_schedules_leave_the_same_rows(make, oracle, case):
    chance = random.Random(len(case))  # noqa: S311  # a test
    ours, java, both = (table(make, name, case) for name in ("ours", "java", "both"))
    deletes = case in ("deduplicate", "full-compaction")
    for turn in range(6):
        rows = batch(chance, deletes and turn > 0)
        for t in ours, java, both:
            with t.writer() as w:
                for kind, *values in rows:
                    w.write([dict(zip(SCHEMA, values, strict=True))], row_kind=kind)
                w.commit()
        if turn % 2:
            st.open_table(ours.location, options={"write-only": "false"}).compact(full=True)
            oracle.call("compact", java.location, "--full")
            if turn == 3:
                oracle.call("compact", both.location, "--full")
            else:
                st.open_table(both.location, options={"write-only": "false"}).compact(full=True)
        expected = shown(oracle.call("read", java.location))
        for t in ours, both:
            assert shown(t.scan().to_arrow().to_pylist()) == expected, (turn, t.name)
            assert shown(oracle.call("read", t.location)) == expected, (turn, t.name)
    assert expected
    for t in ours, java, both:
        assert t.maintenance.fsck(deep=True).problems == []


def test_files_at_the_highest_level_expire_by_their_statistics(make, oracle):
    """By a full compaction after the option was set; files whose rows are all young stay as they are."""
    tables = []
    for name in ("ours", "java"):
        t = make(SCHEMA, ["k"], [], name=name, bucket=1, write_only="true")
        now = int(time.time())
        t.upsert([{"k": k, "t": now - (30 if k % 2 else 1) * DAY, "v": k} for k in range(10)])
        st.open_table(t.location, options={"write-only": "false"}).compact(full=True)
        changes = {"record-level.expire-time": "10 d", "record-level.time-field": "t"}
        sets = [{"kind": "set_option", "key": key, "value": value} for key, value in changes.items()]
        oracle.call("alter", t.location, json.dumps(sets))
        assert st.open_table(t.location).scan().count() == 10
        tables.append(t.location)
    st.open_table(tables[0], options={"write-only": "false"}).compact(full=True)
    oracle.call("compact", tables[1], "--full")
    for location in tables:
        assert [r["k"] for r in sorted(oracle.call("read", location), key=lambda r: r["k"])] == [0, 2, 4, 6, 8]
        t = st.open_table(location)
        last = t.snapshot().id
        st.open_table(location, options={"write-only": "false"}).compact(full=True)
        assert st.open_table(location).snapshot().id == last


def test_with_deletion_vectors_java_does_not_find_an_expired_row_and_leaves_it(make, oracle):
    """Its lookup passes over rows that are too old: the key is there twice. Ours deletes the old row."""
    now = int(time.time())
    found = {}
    for name in ("ours", "java"):
        t = make(SCHEMA, ["k"], [], name=name, bucket=1, deletion_vectors__enabled="true")
        t.upsert([{"k": k, "t": now - 30 * DAY, "v": 1} for k in (1, 2)])
        t.compact(full=True)
        changes = {"record-level.expire-time": "10 d", "record-level.time-field": "t"}
        sets = [{"kind": "set_option", "key": key, "value": value} for key, value in changes.items()]
        oracle.call("alter", t.location, json.dumps(sets))
        if name == "ours":
            st.open_table(t.location).upsert([{"k": 1, "t": now, "v": 2}])
        else:
            oracle.call("apply", t.location, json.dumps({"op": "write", "rows": [["+I", 1, now, 2]]}))
        found[name] = sorted((r["k"], r["v"]) for r in oracle.call("read", t.location))
    assert found == {"ours": [(1, 2), (2, 1)], "java": [(1, 1), (1, 2), (2, 1)]}
