"""Every merge engine against Java: the same random steps, the same rows, and Java goes on with our table."""

import json
import tempfile
from functools import partial

import engines
import pytest
import rows
import siltstone as st
from hypothesis import Phase, given, settings
from hypothesis import strategies as hs
from siltstone import errors as e

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]

#: examples as they are drawn: making a failing one smaller would keep Java busy for minutes
BRIEF = [Phase.explicit, Phase.reuse, Phase.generate]
#: producers that each engine may have
PRODUCERS = {
    "deduplicate": ["none", "input", "lookup", "full-compaction"],
    "partial-update": ["none", "input", "lookup", "full-compaction"],
    "aggregation": ["none", "input", "lookup", "full-compaction"],
    "first-row": ["none", "lookup"],
}


def lake(folder):
    cat = st.connect(folder)
    cat.create_database("db")
    return cat


def agree(oracle, t, check=True):
    """Java reads our table as we do, and finds nothing wrong with it."""
    found = t.scan().to_arrow()
    assert engines.same(oracle.call("read", t.location), found) is None
    assert t.scan().count() == found.num_rows
    if t.snapshot() and check:
        assert not oracle.call("fsck", t.location, check=False)[0]["problems"]


@pytest.mark.parametrize("engine", sorted(engines.ENGINES))
@settings(max_examples=6, phases=BRIEF)
@given(data=hs.data())
def test_the_same_steps_give_the_same_rows_as_in_java(oracle, engine, data):
    drawn = data.draw(engines.ENGINES[engine])
    steps = data.draw(engines.steps(drawn))
    after = data.draw(engines.steps(drawn, count=(1, 2)))
    # first-row shows rows from level 1 on: commits compact
    write_only = "false" if engine == "first-row" else "true"
    with tempfile.TemporaryDirectory() as folder:
        cat = lake(folder)
        mine = engines.create(cat, "db.mine", drawn, write_only=write_only)
        javas = engines.create(cat, "db.javas", drawn, write_only=write_only)
        for step in steps:
            engines.ours(mine, step)
            engines.javas(oracle, javas.location, step)
        expected = oracle.call("read", javas.location)
        assert engines.same(expected, mine.scan().to_arrow()) is None
        assert engines.same(expected, javas.scan().to_arrow()) is None
        agree(oracle, mine, check=False)
        for step in after:
            engines.javas(oracle, mine.location, step)
            engines.ours(javas, step)
        agree(oracle, mine)
        agree(oracle, javas, check=False)
        assert engines.same(oracle.call("read", mine.location), javas.scan().to_arrow()) is None


@pytest.mark.parametrize("engine", sorted(engines.ENGINES))
@settings(max_examples=5, phases=BRIEF)
@given(data=hs.data())
def test_what_was_merged_before_does_not_matter(oracle, engine, data):
    """One commit, a commit per row, and compactions in between end in the same rows."""
    drawn = data.draw(engines.ENGINES[engine].filter(engines.is_associative)) | {"kinds": engines.INSERTS}
    given_rows = data.draw(engines.writes(drawn))
    compacted = data.draw(hs.sets(hs.integers(0, len(given_rows) - 1)))
    with tempfile.TemporaryDirectory() as folder:
        cat = lake(folder)
        together, apart = engines.create(cat, "db.together", drawn), engines.create(cat, "db.apart", drawn)
        engines.ours(together, ("write", given_rows))
        for number, row in enumerate(given_rows):
            engines.ours(apart, ("write", [row]))
            if number in compacted:
                apart.compact(full=True)
        expected = oracle.call("read", together.location)
        assert engines.same(expected, together.scan().to_arrow()) is None
        assert engines.same(expected, apart.scan().to_arrow()) is None
        agree(oracle, apart)


def replayed(changes, keys):
    """{snapshot: rows} after each snapshot of a changelog."""
    state, after = {}, {}
    for change in changes:
        row = {k: v for k, v in change.items() if k not in ("_snapshot", "_kind")}
        key = tuple(row[k] for k in keys)
        if change["_kind"] in ("-U", "-D"):
            state.pop(key, None)
        else:
            state[key] = row
        after[change["_snapshot"]] = list(state.values())
    return after


def canonical(rows):
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def our_changes(t):
    """Our changelog."""
    for batch in t.changes():
        for text in rows.in_order(batch.to_arrow()):
            yield json.loads(text) | {"_snapshot": batch.snapshot_id}


def javas_changes(oracle, t):
    """The changelog as Java streams it, in the form of ours."""
    return [json.loads(text) for text in rows.theirs_in_order(oracle.call("stream", t.location), t.schema)]


def told_of_keys(changes, keys):
    """What a changelog says of each key, in its order, whatever the snapshots are."""
    told = {}
    for change in changes:
        said = json.dumps({k: v for k, v in change.items() if k != "_snapshot"}, sort_keys=True)
        told.setdefault(tuple(change[k] for k in keys), []).append(said)
    return told


def images_of_keys(changes, keys):
    """The rows that a changelog brought for each key. What it took back, and whether a row replaced another, depends on
    whether such a lone row was rewritten before, and that on the sizes of files."""
    brought = [{k: v for k, v in c.items() if k != "_kind"} for c in changes if c["_kind"] in ("+I", "+U")]
    return told_of_keys(brought, keys)


def passes_through(drawn, producer):
    """Whether a file that is kept as it is may show a lone row that the engine, when asked, would have changed: then the
    changelog of a lookup tells what the engine says, in Java too (semantics a.6 and c.3)."""
    grouped = any(key.endswith(".sequence-group") for key in drawn["options"])
    computes = drawn["engine"] == "aggregation" or grouped
    texts = any(value == "listagg" for value in drawn["options"].values())
    return producer == "lookup" and computes and (grouped or texts or any(k[0] == "-" for k in drawn["kinds"]))


@pytest.mark.parametrize("partitioned", [False, True], ids=["whole", "partitioned"])
@pytest.mark.parametrize("engine, producer", [(e, p) for e in sorted(PRODUCERS) for p in PRODUCERS[e] if p != "none"])
@settings(max_examples=3, phases=BRIEF)
@given(data=hs.data())
def test_the_changelog_is_the_table_at_each_snapshot(oracle, engine, producer, partitioned, data):
    """Ours and Java's reader of it; with Java taking turns as writer and compactor."""
    drawn = data.draw(engines.ENGINES[engine])
    partitions = ("a", "b") if partitioned else ("a",)
    steps = data.draw(engines.steps(drawn, count=(2, 5), partitions=partitions))
    by_compaction = producer == "full-compaction"
    if by_compaction:
        steps = [*steps, ("compact", True)]
    turns = data.draw(hs.lists(hs.booleans(), min_size=len(steps), max_size=len(steps)))
    keys = ["p", "k"] if partitioned else ["k"]
    with tempfile.TemporaryDirectory() as folder:
        options = {"changelog_producer": producer, "write_only": str(by_compaction).lower()}
        cat = lake(folder)
        t = engines.create(cat, "db.t", drawn, partitioned, **options)
        seen = {}
        for step, javas_turn in zip(steps, turns):
            if javas_turn:
                engines.javas(oracle, t.location, step)
            else:
                engines.ours(t, step)
            # only a full compaction tells that changelog
            if t.snapshot() and (step == ("compact", True) or not by_compaction):
                seen[t.snapshot().id] = rows.ours(t.scan().to_arrow())
        agree(oracle, t)
        if t.snapshot() is None:  # every row was ignored; Java streams no table without a snapshot
            assert list(our_changes(t)) == []
            return
        changes, javas = list(our_changes(t)), javas_changes(oracle, t)
        assert canonical(changes) == canonical(javas)
        assert told_of_keys(changes, keys) == told_of_keys(javas, keys)
        if producer == "input":
            ignored = ("-U", "-D") if drawn["options"].get("ignore-delete") == "true" else ()
            written = [row for step in steps if step[0] == "write" for row in step[1] if row[0] not in ignored]
            assert len(changes) == len(written)
            assert sorted(change["_kind"] for change in changes) == sorted(row[0] for row in written)
            return
        if engine == "first-row":
            assert {change["_kind"] for change in changes} <= {"+I", "+U"}
        if passes_through(drawn, producer):
            twin = engines.create(cat, "db.twin", drawn, partitioned, **options)
            for step in steps:
                engines.javas(oracle, twin.location, step)
            assert images_of_keys(changes, keys) == images_of_keys(javas_changes(oracle, twin), keys)
            return
        state = replayed(changes, keys)
        for snapshot, expected in seen.items():
            before = [now for at, now in state.items() if at <= snapshot]
            assert canonical(before[-1] if before else []) == sorted(expected), snapshot


@pytest.mark.parametrize("partitioned", [False, True], ids=["whole", "partitioned"])
@pytest.mark.parametrize("engine, producer", [(e, p) for e in sorted(PRODUCERS) for p in PRODUCERS["deduplicate"]])
def test_each_engine_with_each_producer_in_java(oracle, engine, producer, partitioned, tmp_path):
    """IMP-27: what we allow, Java reads and goes on with; what we refuse, Java refuses."""
    cat = lake(tmp_path / "lake")
    drawn = engines.table(engine, {"v": "INT"}, {}, engines.INSERTS)
    options = {"changelog_producer": producer}
    if producer not in PRODUCERS[engine]:
        with pytest.raises(e.InvalidOption):
            engines.create(cat, "db.t", drawn, partitioned, **options)
        spec = {
            "fields": [{"id": i, "name": n, "type": "INT"} for i, n in enumerate("pkv")],
            "primary_keys": ["p", "k"],
            "partition_keys": ["p"] if partitioned else [],
            "options": {"bucket": "1", "merge-engine": engine, "changelog-producer": producer},
            "steps": [],
        }
        (tmp_path / "spec.json").write_text(json.dumps(spec))
        with pytest.raises(RuntimeError, match="changelog-producer"):
            oracle.call("gen", tmp_path / "spec.json", tmp_path / "java")
        return
    t = engines.create(cat, "db.t", drawn, partitioned, **options)
    for number, kind in enumerate(["+I", "+I", "+U"]):
        values = [(kind, "a", 1, number), (kind, "b" if partitioned else "a", 2, None if number == 2 else 7)]
        step = ("write", values)
        carry_out = partial(engines.javas, oracle, t.location) if number == 1 else partial(engines.ours, t)
        carry_out(step)
        agree(oracle, t)
    t.compact(full=True)
    agree(oracle, t)
    last = {"deduplicate": (2, None), "partial-update": (2, 7), "aggregation": (2, 7), "first-row": (0, 7)}[engine]
    assert [row["v"] for row in sorted(t.scan().to_arrow().to_pylist(), key=lambda row: row["k"])] == list(last)
    if producer != "none":
        assert canonical(our_changes(t)) == canonical(javas_changes(oracle, t))
