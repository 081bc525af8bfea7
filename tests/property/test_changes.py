"""Changes replayed onto an empty dictionary give the table at each snapshot, whatever was written and compacted."""

import shutil
import tempfile

import pyarrow as pa
import siltstone as st
from hypothesis import given
from hypothesis import strategies as hs
from test_schedules import KEYS, ROWS, VALUES, dicts, play

STEP = hs.one_of(
    hs.tuples(hs.just("upsert"), ROWS),
    hs.tuples(hs.just("delete"), ROWS),
    hs.tuples(hs.just("compact"), hs.booleans()),
    hs.tuples(hs.just("overwrite"), hs.sampled_from(["dynamic", "static", "all"]), ROWS),
    hs.tuples(hs.just("truncate"), hs.sampled_from([None, "a"])),
)
PRODUCERS = hs.sampled_from(["none", "input"])
SCHEMA = {"p": "STRING", "k": "INT", "v": "INT"}


def replay(model, rows):
    for kind, p, k, v in rows:
        if kind in ("-D", "-U"):
            model.pop((p, k), None)
        else:
            model[p, k] = v


def state(t, version):
    return {(r["p"], r["k"]): r["v"] for r in t.scan(version=version).to_arrow().to_pylist()}


@given(hs.lists(STEP, min_size=1, max_size=8), PRODUCERS, hs.sampled_from(["1", "3"]), hs.booleans())
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
        t = cat.create_table("db.t", SCHEMA, primary_key=["p", "k"], partition_by=["p"], options=options)
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


@given(hs.lists(STEP, min_size=2, max_size=6), hs.lists(hs.tuples(hs.just("a"), KEYS, VALUES), min_size=1, max_size=5))
def test_a_difference_replayed_onto_its_start_gives_its_end(steps, rows):
    folder = tempfile.mkdtemp()
    try:
        cat = st.connect(folder)
        cat.create_database("db")
        options = {"bucket": "1", "num-sorted-run.compaction-trigger": "2"}
        t = cat.create_table("db.t", SCHEMA, primary_key=["p", "k"], partition_by=["p"], options=options)
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
