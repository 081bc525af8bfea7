"""Deletion vectors on primary-key tables: rows at once visible, read without merging; and what is refused."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
import siltstone as st

SCHEMA = {"p": "STRING", "id": "BIGINT", "v": "INT", "s": "STRING"}
VECTORS = {"deletion-vectors.enabled": "true"}
ENGINES = {
    "deduplicate": {},
    "deduplicate-64": {"deletion-vectors.bitmap64": "true"},
    "sequence": {"sequence.field": "v"},
    "partial-update": {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "sum",
        "aggregation.remove-record-on-delete": "true",
    },
    "changelog-lookup": {"changelog-producer": "lookup"},
    "changelog-input": {"changelog-producer": "input"},
}


@pytest.fixture
def cat(tmp_path):
    cat = st.connect(tmp_path)
    cat.create_database("d")
    return cat


def table(cat, name="t", partition_by=(), **options):
    keys = [*partition_by, "id"]
    options = {"bucket": "2", **VECTORS, **{k.replace("_", "-"): v for k, v in options.items()}}
    return cat.create_table(f"d.{name}", SCHEMA, primary_key=keys, partition_by=list(partition_by), options=options)


def data(ids, v=0, p="a"):
    return [{"p": p, "id": i, "v": i * 10 + v, "s": f"s{v}"} for i in ids]


def rows(t, **query):
    return sorted((r["id"], r["v"]) for r in t.scan(["id", "v"], **query).to_arrow().to_pylist())


def deleted(t):
    """Rows that vectors delete, as the plan tells."""
    lines = [line for line in t.scan().explain().splitlines() if line.startswith("deletes")]
    return int(lines[0].split()[1]) if lines else 0


@pytest.mark.parametrize("partition_by", [[], ["p"]], ids=["plain", "partitioned"])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_write_is_visible_at_once_and_read_without_merging(cat, engine, partition_by):
    t = table(cat, partition_by=partition_by, **ENGINES[engine])
    twin = table(cat, "twin", partition_by, **{**ENGINES[engine], "deletion-vectors.enabled": "false"})
    rng = random.Random(engine)
    for step in range(8):
        ids = rng.sample(range(60), 20) if step else range(60)
        batch = data(ids, step, rng.choice("ab") if partition_by else "a")
        kind = "-D" if step % 3 == 2 else "+I"
        if kind == "-D" and engine == "aggregation":
            # merging goes on from the values of a -D row, which a compaction with vectors has dropped (as in Java)
            batch = [{**row, "v": None} for row in batch]
        for one in (t, twin):
            one.append(batch, row_kind=kind)
        assert rows(t) == rows(twin), step
        assert t.scan().count() == twin.scan().count()
        assert all(f["level"] > 0 for f in t.files())
        assert " 0 merged" in t.scan().explain()
        assert t.scan(filter="v >= 200").count() == twin.scan(filter="v >= 200").count()
    for snapshot in t.history(100):
        assert len(rows(t, version=snapshot.id)) == t.scan(version=snapshot.id).count()
    t.compact(full=True)
    assert (rows(t), deleted(t)) == (rows(twin), 0)


def test_rows_and_marks_come_in_one_snapshot_after_the_new_rows(cat):
    t = table(cat, bucket="1", num_levels="4")
    t.upsert(data(range(100)))
    t.compact(full=True)
    report = t.upsert(data([3, 5], 1))
    assert [s.kind for s in report.snapshots] == ["APPEND", "COMPACT"]
    append, compact = (s.id for s in report.snapshots)
    assert rows(t, version=append) == rows(t, version=append - 1)
    assert (5, 51) in rows(t, version=compact)
    assert deleted(t) == 2
    assert report.invisible_rows == 0


def test_example_of_the_design(cat):
    """DV-EXAMPLE: f1 in level 3 has key 1; keys 2 and 9 lie in the level that takes part in the compaction."""
    t = table(cat, bucket="1")
    f1 = [i for i in range(5000) if i not in (2, 9)]
    t.upsert(data(f1))
    t.compact(full=True)
    t.upsert(data([2, 9], 1))
    old = {f["name"]: f["level"] for f in t.files()}
    t.upsert(data([1, 2, 9], 2))
    new = {f["name"]: f["level"] for f in t.files()}
    assert sorted(old.values()) == sorted(new.values())
    assert len(old.keys() & new.keys()) == 1, "the level below was not touched"
    assert deleted(t) == 1, "only key 1 was looked up; 2 and 9 were merged"
    assert rows(t, filter="id IN (1, 2, 4, 9)") == [
        (1, 12),
        (2, 22),
        (4, 40),
        (9, 92),
    ]


def test_a_write_only_writer_leaves_rows_for_a_compaction_and_says_so(cat):
    t = table(cat, write_only="true")
    report = t.upsert(data(range(10)))
    assert report.invisible_rows == 10
    assert t.scan().count() == 0
    t.compact()
    assert rows(t) == [(i, i * 10) for i in range(10)]
    t.upsert(data([1], 5))
    assert rows(t)[1] == (1, 10)
    fresh = st.open_table(t.location, options={"deletion-vectors.merge-on-read": "true"})
    assert rows(fresh)[1] == (1, 15), "merged on read when that is asked for"
    t.compact()
    assert rows(t)[1] == (1, 15)


@pytest.mark.parametrize("bits", ["false", "true"])
def test_merging_on_read_counts_limits_and_filters_as_reading_does(cat, bits):
    t = table(cat, **{"write-only": "true", "deletion-vectors.bitmap64": bits})
    t.upsert(data(range(100)))
    t.compact()
    t.upsert(data(range(10, 20), 1))
    t.compact()
    t.upsert(data(range(15, 25), 2))
    t.append(data([30]), row_kind="-D")
    fresh = st.open_table(t.location, options={"deletion-vectors.merge-on-read": "true"})
    expected = {i: i * 10 for i in range(100)} | {i: i * 10 + 1 for i in range(10, 20)}
    assert rows(t) == sorted(expected.items())
    merged = expected | {i: i * 10 + 2 for i in range(15, 25)}
    del merged[30]
    assert rows(fresh) == sorted(merged.items())
    assert (t.scan().count(), fresh.scan().count()) == (100, 99)
    assert fresh.scan(filter="v > 200").count() == sum(v > 200 for v in merged.values())
    assert len(fresh.scan(limit=7).to_arrow()) == 7
    assert fresh.scan(["s"], "id IN (12, 16, 30)").to_arrow().column("s").to_pylist() == ["s1", "s2"]


def test_new_vectors_take_the_encoding_that_the_table_has_now(cat):
    t = table(cat, bucket="1")
    t.upsert(data(range(100)))
    t.compact(full=True)
    t.upsert(data([1], 1))
    t.alter().set_option("deletion-vectors.bitmap64", "true").commit()
    t.upsert(data([2], 2))
    t.alter().set_option("deletion-vectors.bitmap64", "false").commit()
    t.upsert(data([3], 3))
    assert rows(t, filter="id < 5") == [(0, 0), (1, 11), (2, 22), (3, 33), (4, 40)]
    assert t.scan().count() == 100
    t.compact(full=True)
    assert (deleted(t), t.scan().count()) == (0, 100)


def test_deletes_and_updates_by_condition(cat):
    t = table(cat)
    t.upsert(data(range(20)))
    assert t.delete(where="v >= 100").affected_rows == 10
    assert t.update({"s": "'new'"}, where="id = 3").affected_rows == 1
    assert t.delete(keys=[{"id": 4}]).affected_rows == 1
    assert [r["id"] for r in t.scan().to_arrow().to_pylist() if r["s"] == "new"] == [3]
    assert [i for i, _ in rows(t)] == [0, 1, 2, 3, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("engine", ["vectors", "first-row"])
def test_an_overwrite_shows_its_rows_with_its_only_snapshot(cat, engine):
    """A second snapshot that moves them above level 0 may never come, and readers would find the table empty."""
    options = {"deletion-vectors.enabled": "true"} if engine == "vectors" else {"merge-engine": engine}
    t = table(cat, partition_by=["p"], **{"deletion-vectors.enabled": "false", **options})
    t.upsert([*data(range(10)), *data(range(10), p="b")])
    t.upsert(data([1, 2], 1))
    report = t.overwrite(data([2, 3], 7), partition={"p": "a"})
    assert [s.kind for s in report.snapshots] == ["OVERWRITE"]
    assert (report.invisible_rows, report.notes) == (0, [])
    assert rows(t, filter="p = 'a'") == [(2, 27), (3, 37)]
    assert t.scan().count() == 12
    report = t.overwrite([*data([5], 8), *data([6], 8, p="b")], dynamic=True)
    assert [s.kind for s in report.snapshots] == ["OVERWRITE"]
    assert rows(t) == [(5, 58), (6, 68)]
    assert not t.maintenance.fsck().findings, "nothing of what was compacted away is left"
    # a job that compacts nothing: files that do not overlap go up as they are
    report = st.open_table(t.location, options={"write-only": "true"}).overwrite(data([7], 9), partition={"p": "a"})
    assert (report.invisible_rows, report.notes) == (0, [])
    assert rows(t) == [(6, 68), (7, 79)]


def test_overwriting_and_truncating_forget_vectors(cat):
    t = table(cat, partition_by=["p"])
    t.upsert(data(range(10)))
    t.upsert(data([1, 2], 1))
    t.overwrite(data([2, 3], 7))
    assert rows(t) == [(2, 27), (3, 37)]
    t.upsert(data([2], 8))
    t.truncate()
    assert t.scan().count() == 0
    t.upsert(data([2], 9))
    assert rows(t) == [(2, 29)]


@pytest.mark.parametrize("bits", [32, 64])
def test_many_splits_give_the_same_rows_whoever_drops_the_deleted_ones(cat, bits):
    """Workers drop the deleted rows of later splits, the reader those of the split that it waits for."""
    options = {"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b", "bucket": "5"}
    options["deletion-vectors.bitmap64"] = str(bits == 64).lower()
    t = table(cat, **options)
    expected = {}
    for turn, ids in enumerate([range(12_000), range(0, 12_000, 3), range(300), range(11_700, 12_000)]):
        t.upsert(data(ids, turn))
        expected.update((i, i * 10 + turn) for i in ids)
    t.delete(where="id >= 1500 AND id < 2000")
    expected = {i: v for i, v in expected.items() if not 1500 <= i < 2000}
    scan = t.scan(["id", "v"])
    assert len(scan.splits()) > 5
    assert deleted(t) > 3_000
    whole = scan.to_arrow()
    assert rows(t) == sorted(expected.items())
    assert pa.Table.from_batches(scan.to_batches(), whole.schema) == whole, "the same rows in the same order"
    assert scan.to_arrow() == whole
    assert rows(t, filter="v >= 60000 AND id <> 7500") == sorted(
        (i, v) for i, v in expected.items() if v >= 60_000 and i != 7_500
    )
    for limit in (0, 1, 2_999, len(expected) + 5):
        assert t.scan(["id"], limit=limit).to_arrow().num_rows == min(limit, len(expected))


def test_positions_survive_pruning_of_row_groups_and_pages(cat):
    t = table(cat, bucket="1", **{"parquet.block.size": "65536", "parquet.page.size": "4096"})
    n = 60_000
    t.upsert(pa.table({"p": ["a"] * n, "id": range(n), "v": range(n), "s": [f"{i * 7919}" for i in range(n)]}))
    t.compact(full=True)
    t.delete(where="id >= 30000 AND id < 30010 OR id = 59999")
    assert deleted(t) == 11
    assert rows(t, filter="id >= 29998 AND id < 30012") == [(i, i) for i in (29998, 29999, 30010, 30011)]
    assert rows(t, filter="v > 59997") == [(59998, 59998)]
    assert t.scan(["id"], "s = '237570000'").count() == 0
    assert t.scan().count() == n - 11


def test_switching_the_mode_on_and_off_by_full_compaction(cat):
    t = table(cat, **{"deletion-vectors.enabled": "false", "write-only": "true"})
    t.upsert(data(range(10)))
    t.upsert(data([1], 1))
    before = rows(t)
    t.compact(full=True)
    for key, value in (("modifiable", "true"), ("enabled", "true")):
        t.alter().set_option(f"deletion-vectors.{key}", value).commit()
    t.alter().set_option("write-only", "false").commit()
    assert rows(t) == before
    t.upsert(data([2], 2))
    assert rows(t)[2] == (2, 22)
    # Java skips the level 0 of older versions, too; whoever wants it says so
    assert rows(t, version=2) == []
    as_it_was = st.open_table(t.location, options={"deletion-vectors.enabled": "false"})
    assert rows(as_it_was, version=2) == before
    t.compact(full=True)
    after = rows(t)
    marked = t.snapshot().id - 2
    t.alter().set_option("deletion-vectors.enabled", "false").commit()
    assert rows(t) == after
    t.upsert(data([3], 3))
    assert rows(t)[3] == (3, 33)
    with pytest.raises(st.errors.UnsupportedFeature, match="switched off"):
        rows(t, version=marked)


def test_the_mode_is_not_switched_off_while_vectors_delete_rows(cat):
    """Java would show the deleted rows again, and so did we from the next write on."""
    t = table(cat, **{"deletion-vectors.modifiable": "true"})
    t.upsert(data(range(10)))
    t.compact(full=True)
    t.delete(where="id = 3")
    for alter in (
        lambda: t.alter().set_option("deletion-vectors.enabled", "false").commit(),
        lambda: t.alter().remove_option("deletion-vectors.enabled").commit(),
    ):
        with pytest.raises(st.errors.IllegalSchemaChange, match="would be there again") as caught:
            alter()
        assert (caught.value.context["option"], caught.value.context["table"]) == ("deletion-vectors.enabled", t.name)
    before = rows(t)
    t.compact(full=True)
    t.alter().set_option("deletion-vectors.enabled", "false").commit()
    assert rows(t) == before


@pytest.mark.parametrize("handle", ["opened before they were switched on", "with another value on top"])
def test_the_stored_schema_says_whether_vectors_are_switched_off_and_no_handle(cat, handle):
    """A handle that knew of no vectors switched them off, and rows were there again."""
    t = table(cat, **{"deletion-vectors.enabled": "false", "deletion-vectors.modifiable": "true"})
    t.upsert(data(range(10)))
    t.compact(full=True)
    old = st.open_table(t.location)
    t.alter().set_option("deletion-vectors.enabled", "true").commit()
    t.delete(where="id = 3")
    if handle == "with another value on top":
        old = st.open_table(t.location, options={"deletion-vectors.enabled": "false"})
    with pytest.raises(st.errors.IllegalSchemaChange, match="would be there again"):
        old.alter().set_option("deletion-vectors.enabled", "false").commit()
    assert len(rows(st.open_table(t.location))) == 9


@pytest.mark.parametrize("option", [{"changelog-producer": "full-compaction"}, {"lookup-wait": "false"}])
def test_what_excludes_vectors_is_not_taken_for_one_operation(cat, option):
    """It was taken, and nothing came of it."""
    t = table(cat)
    with pytest.raises(st.errors.InvalidOption) as caught:
        st.open_table(t.location, options=option)
    assert caught.value.context["table"] == t.name


def test_files_with_many_deleted_rows_are_rewritten_when_asked_for(cat):
    t = table(cat, bucket="1", **{"siltstone.compact-deleted-ratio": "0.3"})
    t.upsert(data(range(100)))
    t.compact(full=True)
    t.upsert(data(range(40), 1))
    t.compact()
    assert deleted(t) == 0
    assert t.scan().count() == 100


def test_a_concurrent_compaction_is_refused_without_losing_rows(cat):
    t = table(cat, bucket="1")
    t.upsert(data(range(50)))
    t.compact(full=True)
    other = cat.table("d.t")
    with t.writer() as w:
        w.write(data([1, 2], 1))
        messages = w.prepare_commit()
        other.upsert(data([2, 3], 2))
        other.compact(full=True)
        report = t.commit(messages)
    assert report.notes
    t.compact()
    found = dict(rows(t))
    assert (found[1], found[3], len(found)) == (11, 32, 50)


LOOKS_UP = {
    "vectors": VECTORS,
    "vectors-64": {**VECTORS, "deletion-vectors.bitmap64": "true"},
    "first-row": {"merge-engine": "first-row"},
    "lookup": {"changelog-producer": "lookup"},
}


@pytest.mark.parametrize("engine", LOOKS_UP)
def test_a_key_that_two_writers_bring_at_once_is_there_once(cat, engine):
    """The first writer began with an empty table, so its compaction goes to level 5; the other's went to level 4.

    Neither had seen the other's row, their levels do not overlap, no vector changed: key 1 was shown twice.
    """
    options = {"deletion-vectors.enabled": "false", "bucket": "1", **LOOKS_UP[engine]}
    t = table(cat, **options)
    other = cat.table("d.t")
    with t.writer() as w:
        w.write(data([1], 1))
        messages = w.prepare_commit()
    other.upsert(data(range(100, 200)))
    other.upsert(data([1], 2))
    report = t.commit(messages)
    assert "not seen" in " ".join(report.notes)
    hidden = 0 if engine == "lookup" else 1
    assert report.invisible_rows == hidden
    assert t.scan().count() == 101
    t.compact()
    # the other's sequence number is the larger one; and with first-row its row was visible before the first writer's came
    assert rows(t, filter="id < 100") == [(1, 12)]
    assert t.scan().count() == 101
    t.compact(full=True)
    assert rows(t, filter="id < 100") == [(1, 12)]
    assert t.maintenance.fsck().ok


@pytest.mark.parametrize("engine", LOOKS_UP)
@pytest.mark.parametrize("others", [True, False], ids=["others-brought-keys", "nobody-did"])
def test_a_compaction_outlives_its_snapshot_where_nobody_brought_its_keys(cat, engine, others):
    """What others brought is read from the snapshots since; when those are gone, from where keys are now."""
    options = {"deletion-vectors.enabled": "false", "bucket": "1", **LOOKS_UP[engine]}
    t = table(cat, **options)
    other = cat.table("d.t")
    appender = st.open_table(t.location, options={"write-only": "true"})
    with t.writer() as w:
        w.write(data([1, 2], 1))
        messages = w.prepare_commit()
    other.upsert(data(range(100, 200)))
    (other if others else appender).upsert(data([1], 2))
    for n in range(2):
        appender.upsert(data([300 + n], 2))
    t.maintenance.expire_snapshots(retain_max=1)
    report = t.commit(messages)
    notes = " ".join(report.notes)
    assert ("given up" in notes) == ("have expired" in notes) == others, notes
    t.compact()
    found = rows(t)
    assert len(found) == len(dict(found)) == 104
    assert t.maintenance.fsck().ok
    t.compact(full=True)
    assert rows(t) == found


@pytest.mark.parametrize("engine", LOOKS_UP)
def test_a_writer_outlives_the_snapshots_of_its_own_commits(cat, engine):
    """A writer that was never reset took its own files of expired snapshots for somebody else's.

    From the third commit on, its compactions were given up, and the rows stayed unseen.
    """
    options = {"deletion-vectors.enabled": "false", "bucket": "1", **LOOKS_UP[engine]}
    t = table(cat, **options)
    with t.writer() as w:
        for n in range(8):
            w.write(data([n, 50, 100 + n], n))
            report = t.commit(w.prepare_commit(), commit_user="job")
            assert (report.notes, report.invisible_rows) == ([], 0)
            t.maintenance.expire_snapshots(retain_max=1)
            assert t.scan().count() == 3 + 2 * n
    assert t.maintenance.fsck().ok


@pytest.mark.parametrize("engine", LOOKS_UP)
def test_a_write_whose_compaction_was_overtaken_compacts_again_before_it_returns(cat, engine):
    options = {"deletion-vectors.enabled": "false", "bucket": "1", **LOOKS_UP[engine]}
    t = table(cat, **options)
    t.upsert(data(range(50)))
    other = cat.table("d.t")
    with t.writer() as w:
        w.write(data([1, 77], 1))
        w.compact()
        other.upsert(data([2, 77], 2))
        other.compact(full=True)
        report = w.commit(identifier=4)
        assert [s.kind for s in report.snapshots] == ["APPEND", "COMPACT"]
        assert report.invisible_rows == 0
        assert "done again" in report.notes[0]
        # the compaction has taken no identifier of this user
        w.write(data([78], 1))
        assert w.commit(identifier=5).already_committed is False
    # the rows of key 77 have equal sequence numbers: the one that readers saw first stays
    newest = (10, 20, 772) if engine == "first-row" else (11, 22, 772)
    assert rows(t, filter="id IN (1, 2, 77, 78)") == [(1, newest[0]), (2, newest[1]), (77, newest[2]), (78, 781)]
    assert t.scan().count() == 52
    assert not t.maintenance.fsck().findings


@pytest.mark.parametrize(
    "options",
    [{"merge-engine": "first-row"}, {"changelog-producer": "full-compaction"}, {"lookup-wait": "false"}],
    ids=str,
)
def test_what_excludes_vectors_is_refused(cat, options):
    with pytest.raises(st.errors.SiltstoneError):
        table(cat, **options)
    assert cat.tables("d") == []


class TestDamage:
    """Broken index files are named, whatever is wrong with them."""

    def damaged(self, cat, change):
        t = table(cat, bucket="1")
        t.upsert(data(range(100)))
        t.compact(full=True)
        t.upsert(data([3], 1))
        index = max(Path(t.location, "index").iterdir(), key=lambda p: p.stat().st_mtime_ns)
        content = bytearray(index.read_bytes())
        change(content)
        index.write_bytes(bytes(content))
        return t, index

    @pytest.mark.parametrize(
        ("at", "error"), [(0, "UnsupportedVersion"), (3, "CorruptFile"), (6, "CorruptFile"), (20, "ChecksumMismatch")]
    )
    def test_a_changed_byte_is_noticed(self, cat, at, error):
        def change(content):
            content[at] ^= 0x55

        t, index = self.damaged(cat, change)
        with pytest.raises(getattr(st.errors, error)) as caught:
            t.scan().to_arrow()
        assert index.name in str(caught.value)
        with pytest.raises(st.errors.SiltstoneError):
            t.upsert(data([4], 2))

    def test_a_missing_index_file_is_named(self, cat):
        t, index = self.damaged(cat, lambda content: None)
        index.unlink()
        with pytest.raises(st.errors.SiltstoneError, match=index.name):
            t.scan().to_arrow()
