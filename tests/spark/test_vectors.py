"""Compaction on Spark's executors of tables whose rows wait for it: deletion vectors, first-row, lookup changelogs."""

from __future__ import annotations

import pytest
import siltstone as st
from siltstone import spark as ss
from siltstone.spark import compaction

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark"), pytest.mark.timeout(900)]

SCHEMA = {"p": "STRING", "id": "BIGINT", "v": "INT", "s": "STRING"}
VECTORS = {"deletion-vectors.enabled": "true"}
KEYED = {
    "vectors": VECTORS,
    "vectors-64": {**VECTORS, "deletion-vectors.bitmap64": "true"},
    "vectors-sequence": {**VECTORS, "sequence.field": "v"},
    "vectors-partial-update": {**VECTORS, "merge-engine": "partial-update"},
    "vectors-aggregation": {**VECTORS, "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    "vectors-lookup": {**VECTORS, "changelog-producer": "lookup"},
    "vectors-input": {**VECTORS, "changelog-producer": "input"},
    "first-row": {"merge-engine": "first-row"},
    "first-row-lookup": {"merge-engine": "first-row", "changelog-producer": "lookup"},
    "lookup": {"changelog-producer": "lookup"},
}
APPEND = {
    "unaware": {**VECTORS, "compaction.min.file-num": "2"},
    "unaware-64": {**VECTORS, "deletion-vectors.bitmap64": "true"},
    "buckets": {**VECTORS, "bucket": "2", "bucket-key": "id"},
}


@pytest.fixture
def lake(spark, tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("db")
    ss.enable(spark, warehouse=str(tmp_path / "lake"))
    return cat


def keyed(lake, options, partition_by=("p",)):
    """A write-only table: its rows wait in level 0."""
    options = {"bucket": "2", "write-only": "true", **options}
    return lake.create_table(
        "db.t", SCHEMA, primary_key=[*partition_by, "id"], partition_by=list(partition_by), options=options
    )


def data(ids, n, p="a"):
    return [{"p": p, "id": i, "v": n, "s": f"s{n}"} for i in ids]


def rows(found):
    return sorted((r["p"], r["id"], r["v"], r["s"]) for r in found)


def ours(t, **query):
    return rows(t.scan(**query).to_arrow().to_pylist())


def orphans(t):
    return t.maintenance.fsck().findings


def agree(spark, oracle, t):
    """Java, Spark through us and we ourselves read the same; nothing is broken, nothing is left over."""
    assert rows(oracle.call("read", t.location)) == ours(t)
    assert rows(r.asDict() for r in ss.read(spark, t.location).collect()) == ours(t)
    assert not oracle.call("fsck", t.location, check=False)[0]["problems"]
    assert not orphans(t)


@pytest.mark.java
@pytest.mark.parametrize("engine", KEYED)
def test_rows_that_nobody_sees_are_shown_by_a_compaction_on_executors(spark, lake, oracle, engine):
    t = keyed(lake, KEYED[engine])
    hidden = engine != "lookup"
    t.upsert(data(range(40), 0))
    t.upsert(data(range(40), 0, "b"))
    if hidden:
        assert (t.scan().count(), oracle.call("read", t.location)) == (0, [])
    report = ss.compact(spark, "db.t")
    assert (report.tasks, [s.kind for s in report.snapshots]) == (4, ["COMPACT"])
    assert t.scan().count() == 80
    agree(spark, oracle, t)
    t.upsert(data(range(0, 60, 3), 1))
    before = ours(t)
    report = ss.compact(spark, t)
    assert [s.kind for s in report.snapshots] == ["COMPACT"]
    assert len(ours(t)) == 86
    assert (ours(t) != before) == hidden
    agree(spark, oracle, t)
    assert ss.compact(spark, t).snapshots == []
    ss.compact(spark, t, full=True)
    assert {f["level"] for f in t.files()} == {5}
    agree(spark, oracle, t)


@pytest.mark.java
@pytest.mark.parametrize("options", APPEND.values(), ids=APPEND)
def test_rows_that_vectors_delete_are_dropped_on_executors(spark, lake, oracle, options):
    t = lake.create_table("db.t", SCHEMA, options=options)
    for n in range(3):
        t.append(data(range(n * 20, n * 20 + 20), n))
    t.delete(where="id IN (1, 2, 21, 41, 42)")
    t.update({"s": "'new'"}, where="id = 22")
    before = ours(t)
    agree(spark, oracle, t)
    report = ss.compact(spark, "db.t", full=True)
    assert [s.kind for s in report.snapshots] == ["COMPACT"]
    assert ours(t) == before
    assert sum(f["rows"] for f in t.files()) == 55
    agree(spark, oracle, t)


@pytest.mark.java
@pytest.mark.parametrize("engine", ["vectors", "first-row", "lookup"])
def test_a_changelog_of_executors_tells_what_java_tells(spark, lake, oracle, engine):
    """The rows of a lookup changelog come with the compaction, also when executors did it."""
    options = {**KEYED[engine], "changelog-producer": "lookup"}
    t = keyed(lake, options)
    for n in range(3):
        t.upsert(data(range(n * 5, n * 5 + 10), n))
        assert [s for s in oracle.call("stream", t.location) if s["_snapshot"] == t.snapshot().id] == []
        ss.compact(spark, t)
    told = {}
    for row in oracle.call("stream", t.location):
        if row["_kind"] in ("+I", "+U"):
            told[row["p"], row["id"]] = row
        else:
            assert told.pop((row["p"], row["id"]))["v"] == row["v"]
    assert rows(told.values()) == ours(t)


def overtaken(monkeypatch, t, times, meanwhile):
    """Something happens between a compaction's work and its commit, for the first so many tries."""
    run, tries = compaction._run, []

    def between(*args):
        ran = run(*args)
        tries.append(len(ran.messages))
        if len(tries) <= times:
            meanwhile(t, len(tries))
        return ran

    monkeypatch.setattr(compaction, "_run", between)
    return tries


def compacting_writer(t, n):
    other = st.open_table(t.location, options={"write-only": "false"})
    other.upsert(data(range(5, 60), 1 + n))


def with_waiting_rows(spark, lake, engine):
    """A table of 50 compacted rows; new ones of the first ten wait in level 0."""
    t = keyed(lake, KEYED[engine], ())
    t.upsert(data(range(50), 0))
    ss.compact(spark, t, full=True)
    t.upsert(data(range(10), 1))
    return t


@pytest.mark.parametrize("engine", ["vectors", "lookup"])
def test_files_that_others_compacted_and_expired_before_executors_came_do_not_fail_the_job(
    spark, lake, engine, monkeypatch
):
    t = with_waiting_rows(spark, lake, engine)
    run, ends = compaction._run, []

    def late(*args):
        if not ends:
            compacting_writer(t, 1)
            t.upsert(data(range(10), 3))
            t.maintenance.expire_snapshots(retain_max=1)
        ends.append(run(*args))
        return ends[-1]

    monkeypatch.setattr(compaction, "_run", late)
    report = ss.compact(spark, t, full=True)
    tasks = len(ends[0].overtaken)
    assert tasks and [(len(ran.messages), len(ran.overtaken)) for ran in ends] == [(0, tasks), (tasks, 0)]
    assert len(report.snapshots) == 1 and "which was done again" in " ".join(report.notes)
    assert len(ours(t)) == 60 and t.maintenance.fsck().ok


@pytest.mark.parametrize("engine", ["vectors", "vectors-64", "first-row", "lookup"])
def test_a_writer_that_always_comes_between_makes_the_compaction_give_up_and_nothing_is_lost(
    spark, lake, engine, monkeypatch
):
    t = with_waiting_rows(spark, lake, engine)

    def again_and_again(t, n):
        compacting_writer(t, n)
        t.upsert(data(range(10), 1 + n))  # waits in level 0, for the next try

    tries = overtaken(monkeypatch, t, 99, again_and_again)
    report = ss.compact(spark, t)
    assert (report.snapshots, len(tries)) == ([], 3)
    assert [note.startswith("the compaction was given up") for note in report.notes] == [True]
    monkeypatch.undo()
    assert not orphans(t), "the files of a compaction that was given up are gone"
    ss.compact(spark, t)
    found = {i: v for _, i, v, _ in ours(t)}
    assert len(ours(t)) == len(found) == 60
    assert (found[7], found[59]) == ((0, 2) if engine == "first-row" else (4, 4))
    ss.compact(spark, t, full=True)
    assert {i: v for _, i, v, _ in ours(t)} == found


@pytest.mark.parametrize("engine", ["vectors", "first-row", "lookup"])
@pytest.mark.parametrize("waits", [True, False], ids=["rows-wait", "nothing-is-left"])
def test_a_compaction_that_a_writer_overtook_is_done_again(spark, lake, engine, waits, monkeypatch):
    t = with_waiting_rows(spark, lake, engine)

    def once(t, n):
        compacting_writer(t, n)
        if waits:
            t.upsert(data(range(55, 70), 3))

    tries = overtaken(monkeypatch, t, 1, once)
    report = ss.compact(spark, t)
    monkeypatch.undo()
    assert len(tries) == 1 + waits
    assert [s.kind for s in report.snapshots] == ["COMPACT"] * waits
    assert ("was done again" if waits else "left nothing to compact") in report.notes[-1]
    assert not orphans(t)
    found = {i: v for _, i, v, _ in ours(t)}
    assert len(ours(t)) == len(found) == (70 if waits else 60)
    newest = (0, 2) if engine == "first-row" else (2, 3 if waits else 2)
    assert (found[7], found[59]) == newest
    ss.compact(spark, t, full=True)
    assert {i: v for _, i, v, _ in ours(t)} == found


def test_appends_that_come_between_do_not_disturb_a_compaction(spark, lake, monkeypatch):
    t = keyed(lake, VECTORS, ())
    t.upsert(data(range(50), 0))
    run = compaction._run

    def meanwhile(*args):
        messages = run(*args)
        t.upsert(data(range(45, 55), 1))
        return messages

    monkeypatch.setattr(compaction, "_run", meanwhile)
    assert [s.kind for s in ss.compact(spark, t).snapshots] == ["COMPACT"]
    assert t.scan().count() == 50
    monkeypatch.undo()
    ss.compact(spark, t)
    assert t.scan().count() == 55
    assert t.scan(filter="v = 1").count() == 10


def test_an_append_tables_compaction_is_done_again_after_a_delete_that_came_between(spark, lake, monkeypatch):
    for name, options in APPEND.items():
        t = lake.create_table(f"db.{name.replace('-', '_')}", SCHEMA, options=options)
        for n in range(3):
            t.append(data(range(n * 20, n * 20 + 20), n))
        t.delete(where="id IN (1, 21)")
        tries = overtaken(monkeypatch, t, 1, lambda t, _: t.delete(where="id IN (2, 22, 42)"))
        report = ss.compact(spark, t, full=True)
        monkeypatch.undo()
        assert len(tries) == 2
        assert [s.kind for s in report.snapshots] == ["COMPACT"]
        assert "was done again" in report.notes[-1]
        assert t.scan().count() == 55
        assert sum(f["rows"] for f in t.files()) == 55, "and no row is left that a vector deletes"
        assert not orphans(t)


def test_rows_written_by_executors_are_seen_when_the_write_returns(spark, lake):
    options = {**VECTORS, "write-only": "false"}
    t = keyed(lake, options, ())
    for n in range(3):
        frame = spark.range(100).selectExpr("'a' as p", f"id + {n * 50} as id", f"{n} as v", f"'s{n}' as s")
        report = ss.write(frame, t, mode="upsert")
        assert [s.kind for s in report.snapshots] == ["APPEND", "COMPACT"]
        assert report.invisible_rows == 0
    assert t.scan().count() == 200
    assert t.scan(filter="v = 2").count() == 100
