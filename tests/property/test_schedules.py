"""Random schedules of writes, deletes, compactions, overwrites and reads, against a dictionary.

With Java present a second test lets Java take turns on the same table.
"""

import shutil
import tempfile

import pyarrow as pa
import pytest
import siltstone as st
from hypothesis import given, settings
from hypothesis import strategies as hs

KEYS = hs.integers(-3, 12)
VALUES = hs.one_of(hs.none(), hs.integers(-100, 100))
ROWS = hs.lists(hs.tuples(hs.sampled_from(["a", "b"]), KEYS, VALUES), min_size=1, max_size=15)
STEP = hs.one_of(
    hs.tuples(hs.just("upsert"), ROWS),
    hs.tuples(hs.just("delete"), ROWS),
    hs.tuples(hs.just("mixed"), hs.lists(hs.tuples(hs.sampled_from(["+I", "+U", "-U", "-D"]), ROWS), max_size=3)),
    hs.tuples(hs.just("compact"), hs.booleans()),
    hs.tuples(hs.just("overwrite"), hs.sampled_from(["dynamic", "static", "all"]), ROWS),
    hs.tuples(hs.just("truncate"), hs.sampled_from([None, "a"])),
)
OPTIONS = hs.fixed_dictionaries(
    {
        "bucket": hs.sampled_from(["1", "3", "-1"]),
        "dynamic-bucket.target-row-num": hs.sampled_from(["2", "2000000"]),
        "write-only": hs.sampled_from(["true", "false"]),
        "num-sorted-run.compaction-trigger": hs.sampled_from(["2", "5"]),
        "target-file-size": hs.sampled_from(["1kb", "128mb"]),
    }
)


def dicts(rows):
    return [{"p": p, "k": k, "v": v} for p, k, v in rows]


def play(t, model, step):
    """Carry out a step on the table and on the model {(p, k): v}."""
    kind = step[0]
    if kind in ("upsert", "delete"):
        t.append(dicts(step[1]), row_kind="+I" if kind == "upsert" else "-D")
        apply(model, "+I" if kind == "upsert" else "-D", step[1])
    elif kind == "mixed":
        with t.writer() as w:
            for row_kind, rows in step[1]:
                w.write(dicts(rows), row_kind)
                apply(model, row_kind, rows)
            w.commit()
    elif kind == "compact":
        t.compact(full=step[1])
    elif kind == "overwrite":
        overwrite(t, model, step[1], step[2])
    elif kind == "truncate":
        t.truncate(None if step[1] is None else {"p": step[1]})
        forget(model, lambda p: step[1] is None or p == step[1])


def overwrite(t, model, mode, rows):
    if mode == "static":
        rows = [r for r in rows if r[0] == "a"]
        t.overwrite(dicts(rows), partition={"p": "a"})
        forget(model, lambda p: p == "a")
    else:
        t.overwrite(dicts(rows), dynamic=mode == "dynamic")
        touched = {r[0] for r in rows}
        forget(model, lambda p: mode == "all" or p in touched)
    apply(model, "+I", rows)


def apply(model, row_kind, rows):
    for p, k, v in rows:
        if row_kind in ("-D", "-U"):
            model.pop((p, k), None)
        else:
            model[p, k] = v


def forget(model, gone):
    for key in [key for key in model if gone(key[0])]:
        del model[key]


def content(t, **version):
    rows = t.scan(**version).to_arrow().to_pylist()
    found = {(r["p"], r["k"]): r["v"] for r in rows}
    assert len(found) == len(rows), "a key twice"
    return found


def new_table(folder, options):
    cat = st.connect(folder)
    cat.create_database("db")
    schema = {"p": "STRING", "k": "INT", "v": "INT"}
    return cat.create_table("db.t", schema, primary_key=["p", "k"], partition_by=["p"], options=options)


@given(OPTIONS, hs.lists(STEP, max_size=10))
def test_the_table_is_the_dictionary_at_every_snapshot(options, steps):
    folder = tempfile.mkdtemp()
    try:
        t = new_table(folder, options)
        model, seen = {}, {}
        for step in steps:
            play(t, model, step)
            assert content(t) == model
            if snapshot := t.snapshot():
                seen[snapshot.id] = dict(model)
        for version, then in seen.items():
            assert content(t, version=version) == then
            assert t.scan(version=version).count() == len(then)
        where = {k: v for k, v in model.items() if v is not None and v > 10 and k[1] < 8}
        found = t.scan(filter="v > 10 AND k < 8").to_arrow().to_pylist()
        assert {(r["p"], r["k"]): r["v"] for r in found} == where
        assert t.maintenance.fsck(deep=True).problems == []
    finally:
        shutil.rmtree(folder)


def java_step(oracle, t, model, step):
    """The same step by Java; False when Java has no such step here."""
    kind = step[0]
    if kind in ("upsert", "delete"):
        row_kind = "+I" if kind == "upsert" else "-D"
        rows = [[row_kind, p, k, v] for p, k, v in step[1]]
        oracle.call("apply", t.location, to_json({"op": "write", "rows": rows}))
        apply(model, row_kind, step[1])
    elif kind == "compact":
        oracle.call("compact", t.location, *(["--full"] if step[1] else []))
    else:
        return False
    return True


def to_json(value):
    import json

    return json.dumps(value)


@pytest.mark.java
@pytest.mark.xdist_group("java")
@settings(max_examples=8)
@given(options=OPTIONS, steps=hs.lists(hs.tuples(hs.booleans(), STEP), min_size=2, max_size=7))
def test_java_and_we_take_turns_on_one_table(oracle, options, steps):
    folder = tempfile.mkdtemp()
    try:
        t = new_table(folder, options)
        model = {}
        for javas_turn, step in steps:
            if not (javas_turn and java_step(oracle, t, model, step)):
                play(t, model, step)
            assert content(t) == model
            rows = oracle.call("read", t.location)
            assert {(r["p"], r["k"]): r["v"] for r in rows} == model
        if t.snapshot():
            assert not oracle.call("fsck", t.location, check=False)[0]["problems"]
    finally:
        shutil.rmtree(folder)


# ---- changes

#: Steps whose rows have one kind each, so that what a commit brought is what it says.
PLAIN_STEP = hs.one_of(
    hs.tuples(hs.just("upsert"), ROWS),
    hs.tuples(hs.just("delete"), ROWS),
    hs.tuples(hs.just("compact"), hs.booleans()),
    hs.tuples(hs.just("overwrite"), hs.sampled_from(["dynamic", "static", "all"]), ROWS),
    hs.tuples(hs.just("truncate"), hs.sampled_from([None, "a"])),
)
PRODUCERS = hs.sampled_from(["none", "input"])
CHANGED = {"p": "STRING", "k": "INT", "v": "INT"}


def replay(model, rows):
    for kind, p, k, v in rows:
        if kind in ("-D", "-U"):
            model.pop((p, k), None)
        else:
            model[p, k] = v


def state(t, version):
    return {(r["p"], r["k"]): r["v"] for r in t.scan(version=version).to_arrow().to_pylist()}


@given(hs.lists(PLAIN_STEP, min_size=1, max_size=8), PRODUCERS, hs.sampled_from(["1", "3"]), hs.booleans())
def test_changes_replayed_give_the_table_at_each_snapshot(steps, producer, buckets, write_only):
    folder = tempfile.mkdtemp()
    try:
        cat = st.connect(folder)
        cat.create_database("db")
        options = {
            "bucket": buckets,
            "write-only": str(write_only).lower(),
            "changelog-producer": producer,
            # an overwrite is seen by its delta, which only tables without a changelog have
            "streaming-read-overwrite": str(producer == "none").lower(),
            "num-sorted-run.compaction-trigger": "2",
        }
        t = cat.create_table("db.t", CHANGED, primary_key=["p", "k"], partition_by=["p"], options=options)
        for step in steps:
            if producer == "none" or step[0] not in ("overwrite", "truncate"):
                play(t, {}, step)
        replayed, seen = {}, {}
        for batch in t.changes():
            rows = [tuple(r.values()) for r in pa.record_batch(batch).to_pylist()]
            replay(replayed, rows)
            seen[batch.snapshot_id] = dict(replayed)
        last = {}
        for snapshot in sorted(t.history(100), key=lambda s: s.id):
            last = seen.get(snapshot.id, last)
            assert state(t, snapshot.id) == last, snapshot.id
    finally:
        shutil.rmtree(folder)


@given(
    hs.lists(PLAIN_STEP, min_size=2, max_size=6),
    hs.lists(hs.tuples(hs.just("a"), KEYS, VALUES), min_size=1, max_size=5),
)
def test_a_difference_replayed_onto_its_start_gives_its_end(steps, rows):
    folder = tempfile.mkdtemp()
    try:
        cat = st.connect(folder)
        cat.create_database("db")
        options = {"bucket": "1", "num-sorted-run.compaction-trigger": "2"}
        t = cat.create_table("db.t", CHANGED, primary_key=["p", "k"], partition_by=["p"], options=options)
        t.upsert(dicts(rows))
        for step in steps:
            play(t, {}, step)
        last = t.snapshot().id
        for start in range(last + 1):
            log = t.inspect("audit_log", between=(start, last), mode="diff").to_arrow()
            model = state(t, start) if start else {}
            replay(model, [tuple(r.values()) for r in log.to_pylist()])
            assert model == state(t, last), (start, last)
    finally:
        shutil.rmtree(folder)
