"""An explicit identifier is committed once, also where its version has expired and main has gone forward to a branch since.

The records of what had expired were not believed behind a fast-forward to a branch whose first version main had no more, and what had expired
on the branch was recorded there alone: the job committed again, and its rows were there twice.
"""

import pytest


@pytest.fixture
def t(cat):
    return cat.create_table("db.t", {"k": "INT"})


def commit(table, user, identifier, k):
    """Whether the job's commit was there before."""
    with table.writer(commit_user=user) as w:
        w.write([{"k": k}])
        return w.commit(identifier).already_committed


def keys(table):
    return sorted(row["k"] for row in table.to_pylist())


@pytest.mark.parametrize("first", [1, 2])
def test_what_expired_on_main_before_the_branch_began_is_in_it(cat, t, first):
    assert not commit(t, "job", 1, 1)
    for k in range(2, first + 2):
        commit(t, "other", k, k)
    t.branches.create("b", version=t.snapshot().id)
    before = keys(t)
    commit(t, "other", 10, 10)
    commit(t, "late", 1, 11)
    t.expire_snapshots(retain_max=1)
    assert commit(t, "job", 1, 1)
    t.branches.fast_forward("b")
    t = cat["db.t"]
    assert keys(t) == before
    assert commit(t, "job", 1, 1)
    # what main alone had is not in the branch
    assert not commit(t, "late", 1, 11)
    assert keys(t) == [*before, 11]
    assert not t.maintenance.fsck(deep=True).problems


@pytest.mark.parametrize("retain", [1, 2])
def test_what_expired_on_the_branch_comes_with_it(cat, t, retain):
    commit(t, "other", 1, 1)
    t.branches.create("b", version=t.snapshot().id)
    b = cat.table("db.t", branch="b")
    assert not commit(b, "job", 1, 2)
    for k in range(3, 6):
        commit(b, "other", k, k)
    commit(t, "job", 1, 20)
    b.expire_snapshots(retain_max=retain)
    assert commit(b, "job", 1, 2)
    t.branches.fast_forward("b")
    t = cat["db.t"]
    assert keys(t) == [1, 2, 3, 4, 5]
    assert commit(t, "job", 1, 2)
    assert not commit(t, "job", 2, 30)
    assert commit(t, "other", 5, 5)
    assert keys(t) == [1, 2, 3, 4, 5, 30]
    assert not t.maintenance.fsck(deep=True).problems
