"""Rows of one key with equal sequence numbers: of two jobs that were open at the same time.

Both number their rows on from what the table had when they opened it. Of equal rows that of the higher level stays, in
level 0 the one that was committed first: what readers have seen as the row of a key, no compaction changes. In Java the
choice hangs on the keys beside it; here a compaction used to choose otherwise than readers did.
"""

import contextlib
import tempfile

import pytest
import siltstone as st
from hypothesis import given
from hypothesis import strategies as hs

COLUMNS = {"k": "BIGINT", "s": "INT", "v": "STRING", "w": "STRING"}
ENGINES = {
    "deduplicate": {},
    "sequence": {"sequence.field": "s"},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.s.aggregate-function": "sum",
        "fields.v.aggregate-function": "last_value",
        "fields.w.aggregate-function": "listagg",
    },
    "first-row": {"merge-engine": "first-row"},
}
MODES = {
    "plain": {},
    "force-lookup": {"force-lookup": "true"},
    "lookup": {"changelog-producer": "lookup"},
    "full-compaction": {"changelog-producer": "full-compaction"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "vectors-lookup": {"deletion-vectors.enabled": "true", "changelog-producer": "lookup"},
    "merge-on-read": {"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"},
}
#: readers leave level 0 out
HIDES = {"vectors", "vectors-lookup"}
CASES = [
    (engine, mode)
    for engine in ENGINES
    for mode in MODES
    if engine != "first-row" or mode in {"plain", "force-lookup", "lookup"}
]
every_case = pytest.mark.parametrize(("engine", "mode"), CASES, ids=["-".join(case) for case in CASES])


def table(cat, engine, mode, name="t", **options):
    options = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    fixed = {"bucket": "1", "write-only": "true", "num-sorted-run.compaction-trigger": "2"}
    return cat.create_table(
        f"db.{name}", COLUMNS, primary_key=["k"], options=fixed | ENGINES[engine] | MODES[mode] | options
    )


def row(k, v=None, w=None, s=1):
    return {"k": k, "s": s, "v": v, "w": w}


def shown(t, **options):
    t = st.open_table(t.location, options={k.replace("_", "-"): v for k, v in options.items()})
    return {r["k"]: (r["v"], r["w"]) for r in t.scan().to_arrow().to_pylist()}


def read_optimized(t):
    return {r["k"]: (r["v"], r["w"]) for r in t.inspect("ro").to_arrow().to_pylist()}


def replayed(t):
    """What the changelog makes of an empty table."""
    rows = {}
    for r in t.scan(between=(0, t.snapshot().id), mode="changelog", row_kind=True).to_arrow().to_pylist():
        if r["rowkind"] in ("-U", "-D"):
            assert rows.pop(r["k"]) == (r["v"], r["w"]), f"{r} takes back what is not there"
        else:
            assert r["k"] not in rows, f"{r} is there already"
            rows[r["k"]] = (r["v"], r["w"])
    return rows


def open_jobs(t, *jobs):
    """Messages of jobs that are open at the same time: each has its rows ready before any of them commits."""
    with contextlib.ExitStack() as stack:
        messages = []
        writers = [stack.enter_context(st.open_table(t.location).writer()) for _ in jobs]
        for writer, rows in zip(writers, jobs):
            rows, kinds = ([r for r, _ in rows], [k for _, k in rows]) if isinstance(rows[0], tuple) else (rows, None)
            writer.write(rows, kinds)
        for writer in writers:
            messages.append(writer.prepare_commit())
        return messages


def numbers(t):
    return [(f["min_sequence_number"], f["max_sequence_number"]) for f in t.files()]


@every_case
@pytest.mark.parametrize("committed", [(0, 1), (1, 0)], ids=["in-order", "in-reverse"])
@pytest.mark.parametrize("compacted", [False, True], ids=["at-once", "compacted-between"])
def test_the_row_that_was_committed_first_stays(cat, engine, mode, committed, compacted):
    t = table(cat, engine, mode)
    jobs = [[row(1, "a", "x"), row(2, "c")], [row(1, "b", "y"), row(3, "d")]]
    messages = open_jobs(t, *jobs)
    t.commit(messages[committed[0]])
    if compacted:
        t.compact(full=True)
    t.commit(messages[committed[1]])
    first, second = (jobs[at][0] for at in committed)
    whole = (first["v"], first["w"])
    if engine == "aggregation":
        whole = (first["v"], f"{second['w']},{first['w']}")
    late = {row["k"]: (row["v"], row["w"]) for row in (jobs[0][1], jobs[1][1])}
    if mode not in HIDES and engine != "first-row":
        assert shown(t)[1] == whole
        assert shown(t) == {1: whole} | late
    for full in (False, True):
        t.compact(full=full)
        assert shown(t) == {1: whole} | late
    assert read_optimized(t) == {1: whole} | late
    if "changelog-producer" in MODES[mode]:
        assert replayed(t) == {1: whole} | late
    assert t.maintenance.fsck().ok


@every_case
def test_files_that_get_indexes_leave_the_row_that_stays(cat, engine, mode):
    """One that gets an index comes behind the other, whose job had begun after the alter and had it already."""
    t = table(cat, engine, mode)
    with st.open_table(t.location).writer() as early:
        early.write([row(1, "a", "x")])
        t.alter().set_option("file-index.bitmap.columns", "v").commit()
        with st.open_table(t.location).writer() as late:
            late.write([row(1, "b", "y")])
            messages = [early.prepare_commit(), late.prepare_commit()]
    for message in messages:
        st.open_table(t.location).commit(message)
    before = shown(t)
    notes = st.open_table(t.location).rewrite_file_index().notes
    assert [note.split(" ", 1) for note in notes] == [
        ["1", "files have the indexes that the options ask for already"],
        ["1", "files of several jobs keep their order, and the indexes they have: compact them"],
    ]
    assert shown(t) == before
    st.open_table(t.location).compact(full=True)
    assert shown(t) == {1: ("a", "y,x" if engine == "aggregation" else "x")}


@every_case
def test_a_partial_row_of_another_job_fills_what_the_one_that_stays_leaves_open(cat, engine, mode):
    if engine != "partial-update":
        pytest.skip("only partial-update fills columns")
    t = table(cat, engine, mode)
    messages = open_jobs(t, [row(1, "a")], [row(1, "b", "y")])
    for message in messages:
        t.commit(message)
    for full in (None, False, True):
        if full is not None:
            t.compact(full=full)
        if full is not None or mode not in HIDES:
            assert shown(t) == {1: ("a", "y")}


@every_case
def test_a_job_that_commits_late_hides_no_newer_row(cat, engine, mode):
    """Its rows have numbers below those that readers see; moved up as they were, they came first in their level."""
    if engine == "aggregation":
        pytest.skip("every row counts there, whenever it comes")
    t = table(cat, engine, mode, compaction__small_file_ratio="0", num_sorted_run__compaction_trigger="3")
    t.upsert([row(0, "base", "base"), row(9, "base", "base")])
    t.compact(full=True)
    [late] = open_jobs(t, [row(1, "late", "late")])
    t.upsert([row(1, "older", "older"), row(2, "c", "c")])
    t.upsert([row(1, "newer", "newer"), row(2, "c", "c")])
    t.compact(full=True)
    before = shown(t)
    assert before[1] == (("older",) * 2 if engine == "first-row" else ("newer",) * 2)
    t.commit(late)
    assert shown(t) == before
    for full in (False, False, True):
        t.compact(full=full)
        assert shown(t) == before
    assert read_optimized(t) == before
    if "changelog-producer" in MODES[mode]:
        assert replayed(t) == before


@pytest.mark.parametrize("mode", ["plain", "force-lookup", "lookup", "full-compaction", "merge-on-read"])
@pytest.mark.parametrize("engine", ["deduplicate", "sequence", "partial-update"])
def test_a_compaction_of_the_job_that_came_second_does_not_lift_its_rows_over_the_others(cat, engine, mode):
    """It knew nothing of the other job's rows, which readers saw before and after its rows came."""
    t = table(cat, engine, mode)
    compacting = st.open_table(t.location, options={"write-only": "false"})
    with compacting.writer() as second:
        second.write([row(1, "b", "y")])
        [first] = open_jobs(t, [row(1, "a", "x")])
        second.compact(full=True)
        own = second.prepare_commit()
    t.commit(first)
    assert shown(t) == {1: ("a", "x")}
    report = t.commit(own)
    assert any("equal ones" in note for note in report.notes), report.notes
    assert [s.kind for s in report.snapshots] == ["APPEND"]
    assert shown(t) == {1: ("a", "x")}
    t.compact(full=True)
    assert shown(t) == {1: ("a", "x")}
    assert t.maintenance.fsck().ok


@pytest.mark.parametrize("full_first", [False, True])
def test_a_delete_is_older_than_an_equal_addition_whatever_came_first(cat, full_first):
    for name, order in (("t", (0, 1)), ("u", (1, 0))):
        t = table(cat, "deduplicate", "plain", name)
        messages = open_jobs(t, [(row(1, "a"), "+I")], [(row(1, "a"), "-D"), (row(2, "b"), "+I")])
        for at in order:
            t.commit(messages[at])
            if full_first:
                t.compact(full=True)
        for _ in range(2):
            assert shown(t) == {1: ("a", None), 2: ("b", None)}
            t.compact(full=True)


def test_manifests_that_are_merged_keep_the_order_of_commits(cat):
    options = {"manifest__full_compaction_threshold_size": "1 b", "manifest__merge_min_count": "2"}
    t = table(cat, "deduplicate", "plain", **options)
    messages = open_jobs(t, *[[row(1, f"job {n}")] for n in range(6)])
    for message in reversed(messages):
        t.commit(message)
        assert shown(t) == {1: ("job 5", None)}
    t.maintenance.compact_manifests()
    assert shown(t) == {1: ("job 5", None)}
    t.compact(full=True)
    assert shown(t) == {1: ("job 5", None)}


def test_many_files_of_equal_rows_are_spilled_in_the_order_of_their_commits(cat):
    t = table(cat, "deduplicate", "plain", sort_spill_threshold="2")
    messages = open_jobs(t, *[[row(k, f"job {n}") for k in range(4)] for n in range(9)])
    for message in messages:
        t.commit(message)
    expected = dict.fromkeys(range(4), ("job 0", None))
    assert shown(t) == expected
    t.compact(full=True)
    assert shown(t) == expected


STEPS = hs.lists(
    hs.one_of(
        hs.tuples(hs.just("open"), hs.lists(hs.tuples(hs.integers(0, 3), hs.integers(0, 1)), min_size=1, max_size=4)),
        hs.tuples(hs.just("commit"), hs.integers(0, 5)),
        hs.tuples(hs.just("commit"), hs.integers(0, 5)),
        hs.tuples(hs.just("compact"), hs.booleans()),
    ),
    min_size=4,
    max_size=14,
)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in HIDES])
@pytest.mark.parametrize("engine", ["deduplicate", "sequence"])
@given(steps=STEPS)
def test_whatever_jobs_do_at_once_no_compaction_changes_what_readers_see(engine, mode, steps):
    """A model: the row of a key is replaced by one with a larger sequence field or number, never by an equal one."""
    with tempfile.TemporaryDirectory() as folder:
        cat = st.connect(folder)
        cat.create_database("db")
        t = table(cat, engine, mode)
        waiting, expected, written = [], {}, 0
        for step, what in steps:
            if step == "open":
                newest = max((number for _, number in numbers(t)), default=-1)
                rows = [row(k, f"{written + n}", s=s) for n, (k, s) in enumerate(what)]
                written += len(rows)
                waiting.append((newest + 1, rows, *open_jobs(t, rows)))
            elif step == "commit" and waiting:
                first, rows, message = waiting.pop(what % len(waiting))
                t.commit(message)
                for number, r in enumerate(rows, first):
                    rank = (r["s"] if engine == "sequence" else 0, number)
                    if r["k"] not in expected or rank > expected[r["k"]][0]:
                        expected[r["k"]] = (rank, (r["v"], None))
            elif step == "compact":
                t.compact(full=what)
            assert shown(t) == {k: v for k, (_, v) in expected.items()}
        t.compact(full=True)
        assert shown(t) == read_optimized(t) == {k: v for k, (_, v) in expected.items()}
        if "changelog-producer" in MODES[mode] and t.snapshot():
            assert replayed(t) == shown(t)
