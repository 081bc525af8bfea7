"""Every merge engine against Java: the same random steps, the same rows, and Java goes on with our table."""

import json
import tempfile

import engines
import pytest
import siltstone as st
from hypothesis import Phase, given, settings
from hypothesis import strategies as hs

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
    rows = data.draw(engines.writes(drawn))
    compacted = data.draw(hs.sets(hs.integers(0, len(rows) - 1)))
    with tempfile.TemporaryDirectory() as folder:
        cat = lake(folder)
        together, apart = engines.create(cat, "db.together", drawn), engines.create(cat, "db.apart", drawn)
        engines.ours(together, ("write", rows))
        for number, row in enumerate(rows):
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
    """Our changelog in the form of Java's."""
    import rows as forms

    for batch in t.changes(start=None, end=None, follow=False):
        table = batch.to_arrow() if hasattr(batch, "to_arrow") else batch
        for text in forms.ours(table):
            yield json.loads(text) | {"_snapshot": batch.snapshot_id}


@pytest.mark.parametrize("partitioned", [False, True], ids=["whole", "partitioned"])
@pytest.mark.parametrize("engine, producer", [(e, p) for e in sorted(PRODUCERS) for p in PRODUCERS[e] if p != "none"])
@settings(max_examples=3, phases=BRIEF)
@given(data=hs.data())
def test_the_changelog_is_the_table_at_each_snapshot(oracle, engine, producer, partitioned, data):
    drawn = data.draw(engines.ENGINES[engine])
    partitions = ("a", "b") if partitioned else ("a",)
    steps = data.draw(engines.steps(drawn, count=(2, 5), partitions=partitions))
    by_compaction = producer == "full-compaction"
    if by_compaction:
        steps = [*steps, ("compact", True)]
    with tempfile.TemporaryDirectory() as folder:
        options = {"changelog_producer": producer, "write_only": str(by_compaction).lower()}
        t = engines.create(lake(folder), "db.t", drawn, partitioned, **options)
        seen = {}
        for step in steps:
            engines.ours(t, step)
            if t.snapshot() and (step[0] == "compact" or not by_compaction):
                seen[t.snapshot().id] = oracle.call("read", t.location)
        agree(oracle, t)
        if t.snapshot() is None:  # every row was ignored
            return
        if producer == "input":
            written = sum(
                len(step[1]) for step in steps if step[0] == "write" and "ignore-delete" not in drawn["options"]
            )
            changes = oracle.call("stream", t.location)
            assert len(changes) == written or "ignore-delete" in drawn["options"]
            return
        keys = ["p", "k"] if partitioned else ["k"]
        changes = oracle.call("stream", t.location)
        state = replayed(changes, keys)
        for snapshot, expected in seen.items():
            before = [rows for at, rows in state.items() if at <= snapshot]
            assert canonical(before[-1] if before else []) == canonical(expected), snapshot
        if engine == "first-row":
            assert {change["_kind"] for change in changes} <= {"+I", "+U"}
