"""Branches that share files with one that has another name by now, with main, or with one that was there before."""

import pytest
from siltstone import errors as e

SCHEMA = {"id": "BIGINT", "v": "STRING"}
KINDS = {"append": {}, "keyed": {"primary_key": ["id"], "options": {"bucket": "1"}}}


@pytest.fixture(params=list(KINDS))
def t(cat, request):
    t = cat.create_table("db.t", SCHEMA, **KINDS[request.param])
    t.append([{"id": 1, "v": "first"}])
    return t


def compacted(t):
    return [task.run() for task in t.maintenance.plan_compaction(full=True).tasks]


def ids(t):
    return sorted(row["id"] for row in t.scan(["id"]).to_arrow().to_pylist())


def prepared(t, key, user="job"):
    with t.writer(commit_user=user) as writer:
        writer.write([{"id": key, "v": "prepared"}])
        return writer.prepare_commit()


def renamed(cat, t):
    t.branches.rename("b", "c")
    t.branches.create("b", version=1)
    return "c"


def deleted_after_a_fast_forward(cat, t):
    t.branches.fast_forward("b")
    t.branches.delete("b")
    t.branches.create("b", version=1)
    return "main"


def rolled_back_after_a_fast_forward(cat, t):
    t.branches.fast_forward("b")
    cat.table("db.t$branch_b").rollback(version=1)
    return "main"


@pytest.mark.parametrize(
    "parted", [renamed, deleted_after_a_fast_forward, rolled_back_after_a_fast_forward], ids=lambda f: f.__name__
)
def test_messages_that_another_branch_has_are_not_committed_again(cat, t, parted):
    """Both branches named the file, and an expiry of the other one, under way already, deleted it: the commit was lost."""
    t.branches.create("b", version=1)
    branch = cat.table("db.t$branch_b")
    messages = prepared(branch, 9)
    branch.commit(messages, commit_user="job", identifier=1)
    there = parted(cat, t)
    again = cat.table("db.t$branch_b")
    with pytest.raises(e.CommitConflict, match="another branch") as told:
        again.commit(messages, commit_user="job", identifier=1)
    assert f"branch: {there}" in str(told.value)
    assert ids(again) == [1]
    again.append([{"id": 9, "v": "again"}])
    assert ids(again) == [1, 9]
    assert t.maintenance.fsck(deep=True).ok


def test_a_compaction_that_another_branch_has_is_not_committed_again(cat, t):
    t.append([{"id": 2, "v": "second"}])
    t.branches.create("b", version=2)
    branch = cat.table("db.t$branch_b")
    messages = compacted(branch)
    assert [s.kind for s in branch.commit(messages).snapshots] == ["COMPACT"]
    t.branches.rename("b", "c")
    t.branches.create("b", version=2)
    again = cat.table("db.t$branch_b")
    with pytest.raises(e.CommitConflict, match="another branch") as told:
        again.commit(messages)
    assert "branch: c" in str(told.value)
    assert ids(again) == ids(cat.table("db.t$branch_c")) == [1, 2]
    assert [s.kind for s in again.commit(compacted(again)).snapshots] == ["COMPACT"]
    assert t.maintenance.fsck(deep=True).ok


def test_a_file_that_changes_its_level_in_one_branch_may_do_so_in_another(cat):
    t = cat.create_table("db.t", SCHEMA, primary_key=["id"], options={"bucket": "1"})
    t.append([{"id": 1, "v": "first"}])
    t.branches.create("b", version=1)
    for of in (t, cat.table("db.t$branch_b")):
        report = of.commit(compacted(of))
        assert [s.kind for s in report.snapshots] == ["COMPACT"]
        assert ids(of) == [1]
    assert t.maintenance.fsck(deep=True).ok


@pytest.mark.parametrize("call", ["append", "overwrite", "writer", "messages"])
def test_an_old_handle_does_not_write_into_a_branch_like_its_own_that_was_made_in_its_place(cat, t, call):
    """It has copies of the same schemas: nothing told it from the branch before."""
    t.branches.create("b", version=1)
    old = cat.table("db.t$branch_b")
    old.append([{"id": 2, "v": "of the old one"}])
    rows = [{"id": 9, "v": "late"}]
    writer = old.writer()
    writer.write(rows)
    messages = prepared(old, 9)
    t.branches.delete("b")
    t.branches.create("b", version=1)
    late = {
        "append": lambda: old.append(rows),
        "overwrite": lambda: old.overwrite(rows),
        "writer": writer.commit,
        "messages": lambda: old.commit(messages),
    }
    with pytest.raises(e.CommitConflict, match="made again"):
        late[call]()
    writer.discard()
    assert ids(cat.table("db.t$branch_b")) == [1]


def test_retention_of_automatic_tags_leaves_the_tags_that_keep_branches(cat):
    """Other programs know by them alone that the files of the branch are needed."""
    options = {"tag.automatic-creation": "batch", "tag.num-retained-max": "1", "tag.batch.customized-name": "newest"}
    t = cat.create_table("db.t", SCHEMA, options=options)
    t.append([{"id": 1, "v": "first"}])
    t.branches.create("b", version=1)
    branch = cat.table("db.t$branch_b")
    for key in (2, 3):
        report = branch.append([{"id": key, "v": "of the branch"}])
        assert not report.notes
    branch.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    t.append([{"id": 4, "v": "of main"}])
    assert sorted(tag.name for tag in t.tags.list()) == ["fork-b", "newest"]
    assert sorted(tag.name for tag in branch.tags.list()) == ["fork-b", "newest"]


def test_the_tag_that_keeps_a_branch_stays_under_any_name(cat, t):
    t.append([{"id": 2, "v": "second"}])
    t.branches.create("b", version=2)
    branch = cat.table("db.t$branch_b")
    branch.append([{"id": 3, "v": "of the branch"}])
    branch.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    with pytest.raises(e.VersionInUse, match="of the main branch"):
        branch.tags.delete("fork-b")
    t.tags.rename("fork-b", "other")
    with pytest.raises(e.VersionInUse, match="was made from"):
        t.tags.delete("other")
    t.branches.delete("b")
    t.tags.delete("other")
    assert not t.tags.list()
