"""Keys that an index gives their places: writers after a conflict or an abort, assigners of one's own, and tables to mend."""

import pathlib
import struct

import pyarrow as pa
import pytest
import siltstone as st
from siltstone import errors as e


def clean(t):
    assert t.maintenance.fsck(deep=True).problems == []


def values(t):
    found = t.scan().to_arrow().to_pylist()
    by_key = {r["id"]: r["v"] for r in found}
    assert len(by_key) == len(found), "a key twice"
    return by_key


def moving(make, **options):
    return make({"id": "INT", "p": "STRING", "v": "INT"}, ["id"], ["p"], **options)


def row(key, v, partition="a"):
    return {"id": key, "p": partition, "v": v}


def dynamic(make, **options):
    return make(
        {"p": "STRING", "id": "INT", "v": "INT"}, ["p", "id"], ["p"], dynamic_bucket__target_row_num=1, **options
    )


@pytest.mark.parametrize("table", [moving, dynamic])
def test_a_writer_gets_out_of_a_conflict_of_what_it_has_handed_out(make, table):
    """Each of its later messages ended in the same conflict, until discard()."""
    t = table(make, dynamic_bucket__target_row_num=1) if table is moving else table(make)
    t.upsert([row(0, 0)])
    with t.writer() as w:
        for turn in range(3):
            w.write([row(10 * turn + 1, turn), row(10 * turn + 2, turn)])
            messages = w.prepare_commit()
            t.upsert([row(10 * turn + 2, -1, "a" if table is dynamic else "b"), row(10 * turn + 3, -1)])
            with pytest.raises(e.CommitConflict):
                t.commit(messages)
            w.write([row(10 * turn + 1, turn), row(10 * turn + 2, turn)])
            t.commit(w.prepare_commit())
            # and goes on, with what was committed
            w.write([row(10 * turn + 1, turn + 50)])
            t.commit(w.prepare_commit())
            t.abort(messages)
    expected = {0: 0}
    for turn in range(3):
        expected |= {10 * turn + 1: turn + 50, 10 * turn + 2: turn, 10 * turn + 3: -1}
    assert values(t) == expected
    clean(t)


@pytest.mark.parametrize("table", [moving, dynamic])
def test_a_writer_goes_on_from_messages_that_wait_for_their_commit(make, table):
    t = table(make)
    with t.writer() as w:
        w.write([row(k, 1) for k in range(4)])
        first = w.prepare_commit()
        # somebody else, whose keys are none of these
        t.upsert([row(100, 0, "z")])
        w.write([row(k, 2) for k in range(2, 6)])
        second = w.prepare_commit()
        t.commit(first)
        w.write([row(k, 3) for k in range(5, 8)])
        third = w.prepare_commit()
        t.commit(second)
        t.commit(third)
    assert values(t) == {0: 1, 1: 1, 2: 2, 3: 2, 4: 2, 5: 3, 6: 3, 7: 3, 100: 0}
    clean(t)


@pytest.mark.parametrize("partition", ["a", "b"])
def test_no_row_is_left_out_because_of_keys_that_were_aborted(make, partition):
    """Rows of another partition were: `first-row` keeps the row that is there, and it was not."""
    t = moving(make, merge_engine="first-row")
    t.upsert([row(0, 0)])
    with t.writer() as w:
        w.write([row(1, 1), row(2, 1)])
        t.abort(w.prepare_commit())
        w.write([row(1, 2, partition), row(0, 2, partition)])
        t.commit(w.prepare_commit())
        w.write([row(1, 3, "c"), row(2, 3, "c")])
        w.commit()
    assert values(t) == {0: 0, 1: 2, 2: 3}
    clean(t)


@pytest.mark.parametrize("hands_out", [True, False], ids=["prepared", "committed"])
def test_rows_that_were_left_out_are_nowhere_when_what_was_handed_out_is_aborted(make, hands_out):
    """No message told of them: the commit had nothing to do, and said nothing."""
    t = moving(make, merge_engine="first-row")
    with t.writer() as w:
        w.write([row(1, 1)])
        first = w.prepare_commit()
        w.write([row(1, 2, "b")])
        t.abort(first)
        with pytest.raises(e.CommitConflict, match="left out"):
            _ = w.prepare_commit() if hands_out else w.commit()
        w.discard()
        w.write([row(1, 2, "b")])
        w.commit()
    assert values(t) == {1: 2}
    clean(t)


@pytest.mark.parametrize("engine", ["first-row", "partial-update", "deduplicate"])
def test_keys_whose_rows_could_not_be_taken_have_no_place(make, engine):
    """With `keep()` the writer went on from places that no row was in: the next row of the key was left out, or moved."""
    t = moving(make, merge_engine=engine)
    t.upsert([row(10, 1, "b")])
    manifests = pathlib.Path(t.location, "manifest")
    with t.writer() as w:
        w.write([row(5, 0)])
        hidden = manifests.rename(manifests.with_name("hidden"))
        with pytest.raises(e.SiltstoneError):
            w.write([row(1, 1, "b")])
        hidden.rename(manifests)
        with pytest.raises(e.InvalidArgument, match="cannot go on"):
            w.keep()
        w.discard()
        w.write([row(1, 2, "c")])
        w.commit()
    assert values(t) == {10: 1, 1: 2}
    clean(t)


def given(t, rows, overwrite=False):
    """Messages of a job that gives keys buckets of its own: `rows` has them, by key."""
    plan = t.shared_writes.plan(2, overwrite=overwrite)
    with t.shared_writes.writer(plan, overwrite=overwrite) as w:
        ids, buckets = list(zip(*rows, strict=True))
        columns = {"p": pa.array(["a"] * len(rows)), "id": pa.array(ids, pa.int32()), "v": pa.array(ids, pa.int32())}
        w.write(pa.record_batch(columns | {"bucket": pa.array(buckets, pa.int32())}), None)
        return w.prepare_commit()


def test_a_job_that_gives_a_key_two_buckets_is_refused(make):
    """The commit believed it: the key was there twice, and no writer took the table any more."""
    t = dynamic(make)
    t.commit(given(t, [(1, 0), (2, 1), (3, 1), (1, 0)]))
    for rows in ([(4, 0), (4, 1)], [(4, 5), (4, 6)], [(1, 1)], [(1, 7), (8, 7)]):
        with pytest.raises(e.InvalidArgument, match="one key to two buckets") as raised:
            t.commit(given(t, rows))
        assert "shared_writes.assigner" in raised.value.hint
        assert values(t) == {1: 1, 2: 2, 3: 3}
    with pytest.raises(e.InvalidArgument, match="one key to two buckets"):
        t.commit(given(t, [(1, 1), (1, 2)], overwrite=True), overwrite={"dynamic": False})
    t.commit(given(t, [(1, 0), (4, 7)]))
    assert values(t) == {1: 1, 2: 2, 3: 3, 4: 4}
    t.commit(given(t, [(1, 4), (5, 2)], overwrite=True), overwrite={"dynamic": False})
    assert values(t) == {1: 1, 5: 5}
    clean(t)


def index_of(t, bucket):
    [name] = [r["file_name"] for r in t.inspect("table_indexes").to_arrow().to_pylist() if r["bucket"] == bucket]
    return pathlib.Path(t.location, "index", name)


def test_what_fsck_and_writers_advise_mends_a_table_that_has_a_key_twice(make):
    """They said to delete the key, which was refused as everything else.

    The key lies between the least and the greatest of its file, which writers look up in the index.
    """
    three = {"dynamic_bucket__target_row_num": 3}
    t, alone = [make({"p": "STRING", "id": "INT", "v": "INT"}, ["p", "id"], ["p"], **three) for _ in range(2)]
    t.upsert([row(1, 1), row(2, 2), row(3, 3)])
    alone.upsert([row(2, 2)])
    path = index_of(t, 0)
    content = path.read_bytes()
    hidden = content.replace(index_of(alone, 0).read_bytes(), struct.pack(">i", 7))
    assert hidden != content
    path.write_bytes(hidden)
    t.upsert([row(2, 4)])
    path.write_bytes(content)
    assert t.scan().count() == 4
    for refused in (lambda: t.upsert([row(9, 9)]), lambda: t.delete(keys=[{"p": "a", "id": 2}])):
        with pytest.raises(e.CorruptFile, match="two buckets") as raised:
            refused()
        assert "overwrite it with its own rows, each key once" in raised.value.hint
    advice = {f.code: f.repair for f in t.maintenance.fsck(deep=True).findings}
    assert "overwrite the partition with its own rows, each key once" in advice["key-twice"]
    rows = {r["id"]: r for r in sorted(t.scan().to_arrow().to_pylist(), key=lambda r: r["v"])}
    t.overwrite(list(rows.values()), partition={"p": "a"})
    t.upsert([row(9, 9)])
    assert values(t) == {1: 1, 2: 4, 3: 3, 9: 9}
    t.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    clean(t)


def test_everything_is_compacted_that_was_asked_for_when_rows_are_written_again(make):
    """The rows were, and what compact(full=True) had done was lost without a word."""
    t = dynamic(make)
    t.upsert([row(1, 1)])
    with t.writer() as w:
        w.write([row(1, 2), row(2, 2), row(3, 2)])
        w.compact(full=True)
        # keys of theirs come into other buckets
        t.upsert([row(3, 9), row(2, 9)])
        report = w.commit()
    assert report.notes == []
    assert values(t) == {1: 2, 2: 2, 3: 2}
    files = t.inspect("files").to_arrow().to_pylist()
    assert {f["level"] for f in files} == {5} and len(files) == 3, files
    clean(t)


def test_a_missing_index_file_says_what_helps(make):
    t = dynamic(make)
    t.upsert([row(1, 1), row(1, 1, "b")])
    path = next(pathlib.Path(t.location, "index").glob("index-*"))
    path.unlink()
    with pytest.raises(e.SiltstoneError, match=path.name) as raised:
        t.upsert([row(2, 2), row(2, 2, "b")])
    assert "overwrite the partition with its own rows" in raised.value.hint
    for partition in "ab":
        t.overwrite([row(1, 1, partition)], partition={"p": partition})
    t.upsert([row(2, 2), row(2, 2, "b")])
    assert t.scan().count() == 4
    vectors = make({"id": "INT", "v": "INT"}, ["id"], name="vectors", bucket=1, deletion_vectors__enabled="true")
    vectors.upsert([{"id": 1, "v": 1}, {"id": 2, "v": 1}])
    vectors.upsert([{"id": 1, "v": 2}])
    for path in pathlib.Path(vectors.location, "index").glob("index-*"):
        path.unlink()
    with pytest.raises(e.SiltstoneError) as raised:
        vectors.scan().to_arrow()
    assert "rows that were deleted would be there again" in raised.value.hint


def test_a_moved_key_is_taken_back_with_its_new_values_as_in_java(make):
    """`DeleteExistingProcessor` sends the new row with the old partition: what the old one was, nobody has read."""
    t = moving(make, changelog_producer="input")
    t.upsert([row(1, 1)])
    t.upsert([row(1, 2, "b")])
    found = t.scan(between=(1, 2), mode="changelog", row_kind=True).to_arrow().to_pylist()
    assert sorted((r["rowkind"], r["p"], r["v"]) for r in found) == [("+I", "b", 2), ("-D", "a", 2)]


def test_the_keys_of_a_fallback_branch_are_its_own(make):
    """As in Java: a branch fills in partitions, and both may have a key."""
    t = moving(make)
    t.upsert([row(1, 1)])
    t.branches.create("other")
    st.open_table(t.location, branch="other").upsert([row(7, 7, "z"), row(8, 8)])
    t.alter().set_option("scan.fallback-branch", "other").commit()
    t = st.open_table(t.location)
    t.upsert([row(7, 9)])
    found = sorted((r["id"], r["p"], r["v"]) for r in t.scan().to_arrow().to_pylist())
    assert found == [(1, "a", 1), (7, "a", 9), (7, "z", 7)]
    clean(t)


@pytest.mark.parametrize("fault", ["of another bucket", "too old"])
def test_an_index_that_says_something_else_is_named_and_made_anew(make, fault):
    """Nothing in such a file tells that it is not the right one; the keys of the rows do."""
    t = dynamic(make)
    t.upsert([row(k, k) for k in range(4)])
    paths = [index_of(t, bucket) for bucket in range(4)]
    first, second = paths[0].read_bytes(), paths[1].read_bytes()
    if fault == "of another bucket":
        paths[0].write_bytes(second)
        paths[1].write_bytes(first)
    else:
        # as a program leaves it that does not know a key which came meanwhile
        paths[0].write_bytes(struct.pack(">i", 7))
    found = {f.code: f.repair for f in t.maintenance.fsck(deep=True).findings}
    expected = "key-in-wrong-bucket" if fault == "of another bucket" else "key-not-in-index"
    assert "overwrite the partition with its own rows, each key once" in found[expected]
    assert values(t) == {k: k for k in range(4)}
    t.overwrite(t.scan().to_arrow(), partition={"p": "a"})
    t.upsert([row(k, 9) for k in range(2, 6)])
    assert values(t) == {0: 0, 1: 1} | dict.fromkeys(range(2, 6), 9)
    t.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    clean(t)


def test_open_writers_with_other_settings_of_their_assigners_agree(make):
    """Each would give the same new keys other buckets."""
    t = make({"id": "INT", "v": "INT"}, ["id"], dynamic_bucket__target_row_num=3)
    settings = [{"target-row-num": "1"}, {"target-row-num": "50"}, {"max-buckets": "2", "target-row-num": "2"}]
    handles = [
        st.open_table(t.location, options={f"dynamic-bucket.{k}": v for k, v in setting.items()})
        for setting in settings
    ]
    writers = [handle.writer() for handle in handles]
    for turn in range(3):
        for number, w in enumerate(writers):
            w.write([{"id": k, "v": 10 * turn + number} for k in range(8 * turn, 8 * turn + 8)])
        for w in writers:
            w.commit()
    for w in writers:
        w.close()
    assert values(t) == {k: 10 * (k // 8) + 2 for k in range(24)}
    clean(t)


def test_at_max_buckets_open_writers_put_keys_into_full_ones(make):
    t = make({"id": "INT", "v": "INT"}, ["id"], dynamic_bucket__target_row_num=2, dynamic_bucket__max_buckets=2)
    with t.writer() as one, t.writer() as two:
        one.write([{"id": k, "v": 1} for k in range(10)])
        two.write([{"id": k, "v": 2} for k in range(5, 15)])
        one.commit()
        two.commit()
    assert values(t) == dict.fromkeys(range(5), 1) | dict.fromkeys(range(5, 15), 2)
    assert {r["bucket"] for r in t.inspect("buckets").to_arrow().to_pylist()} == {0, 1}
    clean(t)
