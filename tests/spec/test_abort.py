"""Files of messages that are given up: what any version of any branch knows stays."""

import contextlib
from pathlib import Path

import pytest
import siltstone as st
from siltstone import errors as e


@pytest.fixture
def t(make):
    t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=1, write_only="true")
    t.upsert([{"id": 1, "v": "a"}])
    return t


def prepared(table, rows):
    with table.writer() as writer:
        writer.write(rows)
        return writer.prepare_commit()


def ids(table, **version):
    return sorted(table.scan(**version).to_arrow()["id"].to_pylist())


def data_files(table):
    return sorted(path.name for path in Path(table.location).glob("bucket-*/*"))


def expire_all_but_the_newest(t):
    """Nothing but tags and branches keeps what was there before."""
    for _ in range(2):
        t.upsert([{"id": 9, "v": "z"}])
        t.compact(full=True)
    t.maintenance.expire_snapshots(retain_max=1, retain_min=1)


def test_files_that_only_a_tag_keeps_stay(t):
    """Only the snapshots of the branch were asked: an abort of committed messages took the tag's files."""
    messages = prepared(t, [{"id": 2, "v": "b"}])
    t.commit(messages)
    t.tags.create("kept")
    expire_all_but_the_newest(t)
    t.abort(messages)
    assert ids(t, tag="kept") == [1, 2]
    assert t.maintenance.fsck(deep=True).ok


def test_files_that_came_to_main_by_a_fast_forward_stay(t):
    t.tags.create("begin")
    t.branches.create("b", tag="begin")
    branch = st.open_table(t.location, branch="b")
    messages = prepared(branch, [{"id": 2, "v": "b"}])
    branch.commit(messages)
    t.branches.fast_forward("b")
    t.branches.delete("b")
    with contextlib.suppress(e.SiltstoneError):  # the branch is gone, which may be said
        branch.abort(messages)
    assert ids(t) == [1, 2]


def test_files_of_a_branch_that_has_another_name_now_stay(t):
    t.tags.create("begin")
    t.branches.create("b", tag="begin")
    branch = st.open_table(t.location, branch="b")
    messages = prepared(branch, [{"id": 2, "v": "b"}])
    branch.commit(messages)
    t.branches.rename("b", "c")
    with contextlib.suppress(e.SiltstoneError):
        branch.abort(messages)
    assert ids(st.open_table(t.location, branch="c")) == [1, 2]


def test_a_compaction_that_is_committed_twice_takes_nothing_from_a_tag(t):
    """A driver that commits again after a lost answer; the second commit is a conflict, whose files are given up."""
    t.upsert([{"id": 2, "v": "b"}])
    messages = []
    for task in t.maintenance.plan_compaction(full=True).tasks:
        done = task.run()
        messages += done if isinstance(done, list) else [done]
    t.maintenance.commit_compaction(messages)
    t.tags.create("kept")
    expire_all_but_the_newest(t)
    with contextlib.suppress(e.CommitConflict):
        t.maintenance.commit_compaction(messages)
    assert ids(t, tag="kept") == [1, 2]


def test_files_that_nobody_knows_go(t):
    t.tags.create("begin")
    t.branches.create("b", tag="begin")
    before = data_files(t)
    messages = prepared(t, [{"id": 2, "v": "b"}])
    assert len(data_files(t)) == len(before) + 1
    t.abort(messages)
    assert data_files(t) == before
    assert ids(t) == [1]
