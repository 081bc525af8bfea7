"""Random schedules of writes, deletes, compactions, overwrites, tags, rollbacks and reads, against a dictionary.

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
    hs.tuples(hs.just("tag"), hs.sampled_from(["one", "two"])),
    hs.tuples(hs.just("rollback"), hs.integers(0, 5)),
)
OPTIONS = hs.fixed_dictionaries(
    {
        "bucket": hs.sampled_from(["1", "3", "-1", "-2"]),
        "postpone.default-bucket-num": hs.sampled_from(["1", "3"]),
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


class Schedule:
    """A table, what it should hold, and what readers should see of that: rows in postponed buckets wait for a compaction."""

    def __init__(self, table):
        self.table = table
        self.postponed = table.options["bucket"] == "-2"
        self.model, self.shown = {}, {}
        #: what was held and shown at the end of each step, by snapshot; at a tag, the snapshot
        self.states, self.tags = {}, {}

    def play(self, step):
        """Carry out a step on the table and on the model."""
        if step[0] == "tag":
            self.tag(step[1])
        elif step[0] == "rollback":
            self.rollback(step[1])
        else:
            play(self.table, self.model, step)
        self.done(step)

    def done(self, step):
        """A step is over, whoever did it."""
        if not self.postponed or step[0] == "compact":
            self.shown = dict(self.model)
        elif step[0] in ("overwrite", "truncate"):
            forget(self.shown, replaced_by(step))
        if snapshot := self.table.snapshot():
            self.states[snapshot.id] = (dict(self.model), dict(self.shown))

    def tag(self, name):
        if snapshot := self.table.snapshot():
            if name in self.tags:
                self.table.tags.delete(name)
            self.table.tags.create(name)
            self.tags[name] = snapshot.id

    def rollback(self, place):
        """To one of the versions that a step ended with, counted from the newest; by its tag where it has one."""
        newest_first = sorted(self.states, reverse=True)
        if not newest_first:
            return
        to = newest_first[min(place, len(newest_first) - 1)]
        tagged = [name for name, snapshot in self.tags.items() if snapshot == to]
        self.table.rollback(**({"tag": tagged[0]} if tagged else {"version": to}))
        self.model, self.shown = (dict(held) for held in self.states[to])
        self.states = {snapshot: state for snapshot, state in self.states.items() if snapshot <= to}
        self.tags = {name: snapshot for name, snapshot in self.tags.items() if snapshot <= to}

    def check(self):
        assert content(self.table) == self.shown


def replaced_by(step):
    """Whether an overwrite or a truncation removes a partition."""
    mode = step[1]
    if step[0] == "truncate":
        return lambda p: mode is None or p == mode
    touched = {"a"} if mode == "static" else {row[0] for row in step[2]}
    return lambda p: mode == "all" or p in touched


@given(OPTIONS, hs.lists(STEP, max_size=10))
def test_the_table_is_the_dictionary_at_every_snapshot(options, steps):
    folder = tempfile.mkdtemp()
    try:
        t = new_table(folder, options)
        schedule = Schedule(t)
        for step in steps:
            schedule.play(step)
            schedule.check()
        for version, (_, shown) in schedule.states.items():
            assert content(t, version=version) == shown
            assert t.scan(version=version).count() == len(shown)
        for name, version in schedule.tags.items():
            assert content(t, tag=name) == schedule.states[version][1]
        where = {k: v for k, v in schedule.shown.items() if v is not None and v > 10 and k[1] < 8}
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
    elif kind == "compact" and t.options["bucket"] != "-2":  # Java moves waiting rows by a job of an engine
        oracle.call("compact", t.location, *(["--full"] if step[1] else []))
    else:
        return False
    return True


def to_json(value):
    import json

    return json.dumps(value)


@pytest.mark.java
@pytest.mark.xdist_group("java")
@settings(max_examples=10)
@given(options=OPTIONS, steps=hs.lists(hs.tuples(hs.booleans(), STEP), min_size=2, max_size=7))
def test_java_and_we_take_turns_on_one_table(oracle, options, steps):
    folder = tempfile.mkdtemp()
    try:
        t = new_table(folder, options)
        schedule = Schedule(t)
        for javas_turn, step in steps:
            if javas_turn and java_step(oracle, t, schedule.model, step):
                schedule.done(step)
            else:
                schedule.play(step)
            schedule.check()
            rows = oracle.call("read", t.location)
            assert {(r["p"], r["k"]): r["v"] for r in rows} == schedule.shown
        for name, version in schedule.tags.items():
            rows = oracle.call("read", t.location, f"scan.tag-name={name}")
            assert {(r["p"], r["k"]): r["v"] for r in rows} == schedule.states[version][1]
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
