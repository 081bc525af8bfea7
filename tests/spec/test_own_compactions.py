"""Compactions of a writer that goes on after its messages were handed out: they count on what is in the table, and nothing else."""

import pytest

COLUMNS = {"k": "BIGINT", "v": "BIGINT"}
SUM = {"merge_engine": "aggregation", "fields__default_aggregate_function": "sum", "changelog_producer": "lookup"}
FIRST = {"merge_engine": "first-row"}
ENGINES = pytest.mark.parametrize(("options", "both"), [(SUM, 105), (FIRST, 100)], ids=["sum", "first-row"])


def rows(n, v, start=0):
    return [{"k": start + k, "v": v} for k in range(n)]


def found(t):
    return {r["k"]: r["v"] for r in t.scan().to_arrow().to_pylist()}


def two(w, between=lambda message: None):
    """Messages of 50 rows, and of the first three of their keys again."""
    w.write(rows(50, 100))
    first = w.prepare_commit()
    between(first)
    w.write(rows(3, 5))
    return first, w.prepare_commit()


def compacted(t):
    t.compact(full=True)
    return found(t)


@ENGINES
def test_rows_that_were_never_committed_are_not_looked_up(make, options, both):
    """The compaction of the second message had looked into the first one's file: acknowledged rows were lost."""
    t = make(COLUMNS, ["k"], bucket=1, **options)
    with t.writer() as w:
        first, second = two(w)
    t.abort(first)
    report = t.commit(second)
    assert [s.kind for s in report.snapshots] == ["APPEND"]
    assert any("not in the table" in note for note in report.notes)
    assert compacted(t) == dict.fromkeys(range(3), 5)


@ENGINES
@pytest.mark.parametrize("late", [False, True])
def test_rows_that_were_rolled_back_are_not_looked_up(make, options, both, late):
    t = make(COLUMNS, ["k"], bucket=1, **options)
    before = t.upsert([{"k": 99, "v": 1}]).snapshots[0].id
    with t.writer() as w:

        def committed(message):
            t.commit(message)
            if not late:
                t.rollback(version=before)

        _, second = two(w, committed)
    if late:
        t.rollback(version=before)
    t.commit(second)
    assert compacted(t) == dict.fromkeys(range(3), 5) | {99: 1}


@ENGINES
def test_messages_may_be_committed_in_another_order(make, options, both):
    t = make(COLUMNS, ["k"], bucket=1, **options)
    with t.writer() as w:
        first, second = two(w)
    t.commit(second)
    t.commit(first)
    # the rows of the first message are the older ones, whenever they come
    assert compacted(t) == dict.fromkeys(range(50), 100) | dict.fromkeys(range(3), both)


@ENGINES
@pytest.mark.parametrize("at_once", [False, True])
def test_what_a_compaction_made_that_was_given_up_is_not_looked_up(make, options, both, at_once):
    """Another writer had brought keys into its range; the next one of the same writer counted its rows twice."""
    t = make(COLUMNS, ["k"], bucket=1, **options)
    with t.writer() as w:
        w.write(rows(50, 100))
        first = w.prepare_commit()
        if at_once:
            w.write(rows(3, 5))
            second = w.prepare_commit()
        t.upsert(rows(10, 1, start=20))
        given_up = t.commit(first)
        assert [s.kind for s in given_up.snapshots] == ["APPEND"] and given_up.notes
        if not at_once:
            w.write(rows(3, 5))
            second = w.prepare_commit()
        t.commit(second)
    twenties = dict.fromkeys(range(20, 30), 101 if options is SUM else 1)
    assert compacted(t) == dict.fromkeys(range(50), 100) | dict.fromkeys(range(3), both) | twenties


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"changelog_producer": "full-compaction"},
        {**SUM, "changelog_producer": "none", "aggregation__remove_record_on_delete": "true"},
        {"changelog_producer": "lookup"},
        {"force_lookup": "true"},
        {"deletion_vectors__enabled": "true"},
        {**SUM, "aggregation__remove_record_on_delete": "true"},
        {"sequence__field": "v"},
        {"sequence__field": "v", "deletion_vectors__enabled": "true"},
    ],
    ids=[
        "plain",
        "changelog",
        "sum",
        "lookup",
        "force-lookup",
        "vectors",
        "sum-lookup",
        "sequence",
        "sequence-vectors",
    ],
)
def test_a_compaction_brings_no_deleted_row_back(cat, make, options, compact):
    """It dropped a delete, because its writer had opened the bucket before another one brought the row."""
    t = make(COLUMNS, ["k"], bucket=1, **options)
    other = cat.table(t.name, options={"write-only": "true"})
    with t.writer() as w:
        w.write(rows(10, 100, start=100))
        other.upsert([{"k": 1, "v": 1}])
        if compact:
            t.compact(full=True)
        w.write([{"k": 1, "v": 2}], "-D")
        w.compact(full=True)
        report = w.commit()
    # with deletion vectors rows wait for a compaction to be shown
    shown = [s.id for s in report.snapshots if s.kind == "COMPACT" or "deletion_vectors__enabled" not in options]
    for version in shown:
        assert t.scan(filter="k = 1", version=version).to_arrow().num_rows == 0, report
    assert compacted(t) == dict.fromkeys(range(100, 110), 100)


@pytest.mark.parametrize(
    "options",
    [{}, {"sequence__field": "v"}, {"changelog_producer": "lookup"}, {"deletion_vectors__enabled": "true"}],
    ids=["plain", "sequence", "lookup", "vectors"],
)
def test_compactions_of_one_writer_that_deletes_are_never_given_up(make, options):
    """Several compactions in one message, files that stay where they are, and rows that come while one runs."""
    t = make(COLUMNS, ["k"], bucket=1, **options)
    t.upsert(rows(2000, 1, start=10_000))
    t.compact(full=True)
    with t.writer() as w:
        for i in range(12):
            for part in range(3):
                w.write(rows(300, i + 1, start=300 * part))
                w.compact(full=i % 4 == part)
                w.write([{"k": k, "v": i + 1} for k in range(i, 900, 7)], "-D")
            w.write([{"k": 10_000 + i, "v": i + 2}, {"k": 20_000, "v": i + 1}], "-D")
            report = t.commit(w.prepare_commit())
            assert not report.notes
    left = dict.fromkeys(range(10_012, 12_000), 1) | {k: 12 for k in range(900) if k not in range(11, 900, 7)}
    assert compacted(t) == left


@pytest.mark.parametrize(
    "options",
    [SUM, FIRST, {"changelog_producer": "lookup"}, {"deletion_vectors__enabled": "true"}],
    ids=["sum", "first-row", "lookup", "vectors"],
)
def test_a_full_compaction_of_a_message_that_waited_counts_although_older_versions_expired(make, options):
    """What its writer made before had come and gone: it was said not to be in the table, and the compaction given up."""
    t = make(COLUMNS, ["k"], bucket=1, **options)
    t.upsert(rows(50, 0))
    messages = []
    with t.writer() as w:
        for i in range(3):
            w.write([{"k": k, "v": i + 1} for k in range(i * 3, 40)])
            if i == 2:
                w.compact(full=True)
            messages.append(w.prepare_commit())
    reports = []
    for message in messages:
        reports.append(t.commit(message))
        t.expire_snapshots(retain_max=1, retain_min=1)
    assert [s.kind for s in reports[-1].snapshots] == ["APPEND", "COMPACT"], reports[-1]
    values = found(t)
    assert compacted(t) == values and len(values) == 50


def test_messages_that_move_a_file_up_and_take_it_in_expire_like_others(make):
    """Committed by one call, they made every later expiry fail: the file was said to be named by later versions."""
    options = {"compaction__force_up_level_0": "true", "compaction__small_file_ratio": "0"}
    t = make(COLUMNS, ["k"], bucket=1, **options)
    t.upsert(rows(1000, 0, start=1000))
    t.upsert(rows(5, 1))
    with t.writer() as w:
        w.write(rows(1, 1, start=500))
        w.compact(full=True)
        messages = w.prepare_commit()
        w.write(rows(1, 2, start=3))
        w.compact(full=True)
        messages += w.prepare_commit()
    assert not t.commit(messages).notes
    t.upsert(rows(1, 7, start=1))
    shown = found(t)
    for _ in range(2):
        t.upsert(rows(1, 8, start=1))
        t.expire_snapshots(retain_max=1, retain_min=1)
    assert found(t) == shown | {1: 8}
    assert t.maintenance.fsck(deep=True).ok


def test_messages_of_one_writer_that_mark_rows_are_shown_by_one_commit(make):
    """The vectors of the first message, which the second one replaces, were looked for in the table: both were given up."""
    t = make(COLUMNS, ["k"], bucket=1, deletion_vectors__enabled="true")
    t.upsert(rows(100, 0))
    messages = []
    with t.writer() as w:
        for key in (3, 4, 3):
            w.write(rows(1, key + len(messages), start=key))
            messages += w.prepare_commit()
    report = t.commit(messages)
    assert (report.notes, report.invisible_rows) == ([], 0)
    assert found(t) == dict.fromkeys(range(100), 0) | {3: 5, 4: 5}
    t.upsert(rows(1, 9))
    t.expire_snapshots(retain_max=1, retain_min=1)
    assert compacted(t) == dict.fromkeys(range(100), 0) | {3: 5, 4: 5, 0: 9}
    assert t.maintenance.fsck(deep=True).ok


@pytest.mark.parametrize("statement", ["delete", "update"])
def test_a_statement_that_finds_its_rows_done_says_that_they_wait(make, statement):
    """A delete that was cut short before its compaction, repeated, was a success without a word: its rows were still shown."""
    t = make(COLUMNS, ["k"], bucket=1, deletion_vectors__enabled=True, write_only=True)
    t.upsert(rows(10, 1))
    t.compact()
    done = (
        (lambda: t.delete("k < 3")) if statement == "delete" else (lambda: t.update({"v": 2}, where="k < 3 and v = 1"))
    )
    assert done().affected_rows == 3
    report = done()
    assert report.affected_rows == 0 and report.invisible_rows > 0
    assert any("t.compact()" in note for note in report.notes)
    t.compact()
    report = done()
    assert (report.affected_rows, report.invisible_rows, report.notes) == (0, 0, [])
