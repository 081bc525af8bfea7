"""What a rollback has taken back stays back: for streams, writers, branches and tags that outlive it."""

import pytest
import siltstone as st
from siltstone import errors as e


def rows(t):
    return sorted(row["id"] for row in t.scan(["id"]).to_arrow().to_pylist())


@pytest.fixture
def t(make):
    table = make({"id": "INT"}, bucket=-1)
    for n in range(1, 11):
        table.append([{"id": n}])
    return table


def test_a_stream_says_that_what_it_read_was_taken_back_though_its_id_has_expired_since(t):
    """It went on with the snapshot after the last id that it had read, and passed over those that had come in their place."""
    stream = t.changes(start=1, follow=True)
    read = [next(stream).to_arrow()["id"].to_pylist() for _ in range(10)]
    assert read == [[n] for n in range(1, 11)]
    t.rollback(version=7)
    for n in range(108, 113):
        t.append([{"id": n}])
    t.maintenance.expire_snapshots(retain_max=2, retain_min=2)
    with pytest.raises(e.SnapshotNotFound, match="taken back by a rollback"):
        next(stream)


def test_an_identifier_that_a_rollback_has_taken_back_is_committed_again(make):
    """A writer that had committed it said that it was there, when its id had been given again and had expired."""
    t = make({"id": "INT"}, bucket=-1)
    for n in range(1, 4):
        t.append([{"id": n}])
    writer = t.writer(commit_user="nightly")
    for n in (5, 6):
        writer.write([{"id": n}])
        writer.commit(identifier=n)
    t.rollback(version=3)
    for n in range(10, 14):
        t.append([{"id": n}])
    t.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    writer.write([{"id": 100}])
    assert not writer.commit(identifier=5).already_committed
    writer.close()
    assert rows(t) == [1, 2, 3, 10, 11, 12, 13, 100]


def test_a_tag_outlives_the_changelogs_before_it(make):
    """An expiry of changelogs deleted manifests that a later tag needs, too."""
    options = {"changelog-producer": "lookup", "changelog.num-retained.max": "100", "snapshot.num-retained.max": "50"}
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, **options)
    for n in range(1, 9):
        t.upsert([{"id": n, "v": n}])
    at = t.snapshot().id
    t.tags.create("early", version=at // 3)
    t.tags.create("late", version=at - 1)
    expected = t.scan(tag="late").count()
    t.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    t.tags.delete("early")
    few = st.open_table(t.location, options={"changelog.num-retained.max": "2", "changelog.num-retained.min": "1"})
    few.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    assert t.scan(tag="late").count() == expected
    assert t.maintenance.fsck(deep=True).ok


def test_a_stream_begins_with_the_state_under_the_schema_of_its_changes(make):
    """Its first step had the columns of the snapshot: other values under the name of a column that was given anew."""
    t = make({"id": "INT", "a": "INT", "b": "INT"}, bucket=-1)
    t.append([{"id": 1, "a": 1, "b": 2}])
    t.alter().rename_column("a", "x").rename_column("b", "a").commit()
    t = st.open_table(t.location)
    for options in ({}, {"filter": "a = 2"}):
        stream = t.changes(start="full", columns=["id", "a"], **options)
        read = [row for batch in stream for row in batch.to_arrow().to_pylist()]
        assert read == [{"rowkind": "+I", "id": 1, "a": 2}]


def test_a_view_of_the_highest_level_passes_over_vectors_of_other_files(make):
    """`$ro` of a healthy table with deletion vectors was called damaged."""
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, deletion_vectors__enabled="true")
    t.upsert([{"id": n, "v": 0} for n in range(1000)])
    t.compact(full=True)
    for round_ in range(1, 5):
        t.upsert([{"id": n, "v": round_} for n in range(round_ * 7, round_ * 7 + 15)])
        t.compact()
    assert t.scan().count() == 1000
    assert t.inspect("ro").count() <= 1000
    assert t.maintenance.fsck(deep=True).ok


def test_a_fast_forward_leaves_the_schemas_of_tags_that_stay(make):
    """It deleted or replaced them: the tag could not be read, or lost a column without an error."""
    t = make({"k": "INT", "v": "INT"}, ["k"], bucket=1)
    t.upsert([{"k": 1, "v": 1}])
    t.branches.create("b", version=1)
    t.alter().add_column("salary", "INT").commit()
    t = st.open_table(t.location)
    t.upsert([{"k": 1, "v": 1, "salary": 99}])
    t.tags.create("keep")
    branch = st.open_table(t.location, branch="b")
    for n in range(5):
        branch.upsert([{"k": 2, "v": n}])
    branch.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    with pytest.raises(e.VersionInUse, match="tag 'keep'"):
        t.branches.fast_forward("b")
    assert t.scan(tag="keep").to_arrow().to_pylist() == [{"k": 1, "v": 1, "salary": 99}]


def test_a_lookup_compaction_is_given_up_when_what_it_saw_was_taken_out(make):
    """The row was dropped because its key "was there already", in a file that a truncation had taken out meanwhile."""
    for options in ({"merge_engine": "first-row"}, {"changelog_producer": "lookup"}):
        t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, **options)
        t.append([{"id": 2, "v": 5}])
        t.append([{"id": 1, "v": 5}])
        with t.writer() as w:
            w.write([{"id": 1, "v": 4}])
            messages = w.prepare_commit()
        t.truncate()
        t.commit(messages)
        t.compact(full=True)
        assert t.scan().to_arrow().to_pylist() == [{"id": 1, "v": 4}], options


@pytest.mark.parametrize("to", ["rollback", "branch"])
@pytest.mark.parametrize("kept", ["2", "10"])
def test_a_version_that_comes_back_from_a_tag_names_no_changelog_that_has_expired(cat, make, to, kept):
    """The tag kept the list of the changelog and not its files: they were missing, for streams and for fsck."""
    options = {
        "changelog-producer": "input",
        "snapshot.num-retained.min": "1",
        "snapshot.num-retained.max": "1",
        "snapshot.time-retained": "1ms",
        "changelog.num-retained.min": "1",
        "changelog.num-retained.max": kept,
        "changelog.time-retained": "1h",
    }
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, **options)
    for n in range(1, 6):
        t.append([{"id": n, "v": n}])
        if n == 3:
            t.tags.create("third")
    if to == "rollback":
        t.rollback(tag="third")
        back = t
    else:
        t.branches.create("back", tag="third")
        back = cat.table(f"{t.name}$branch_back")
    assert [row["id"] for batch in back.changes(start=3) for row in batch.to_pylist()] == ([3] if kept == "10" else [])
    assert t.maintenance.fsck(deep=True).ok
    back.append([{"id": 6, "v": 6}])
    t.maintenance.expire_snapshots()
    assert rows(back) == [1, 2, 3, 6]
    assert t.maintenance.fsck(deep=True).ok
