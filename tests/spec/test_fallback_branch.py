"""Reads from two branches: `scan.fallback-branch` and `scan.primary-branch` (semantics f.8)."""

import pickle

import pyarrow as pa
import pytest
import siltstone as st
from siltstone import errors


@pytest.fixture
def t(make):
    """Main has p1, p2 and (later) p3; the branch p2, p3 and (later) p4."""
    t = make({"dt": "STRING", "k": "INT", "v": "STRING"}, ["dt", "k"], ["dt"], bucket=1)
    t.branches.create("b")
    t.append([{"dt": "p1", "k": 1, "v": "main"}, {"dt": "p2", "k": 1, "v": "main"}])
    b = branch(t)
    b.append([{"dt": "p2", "k": 1, "v": "b"}, {"dt": "p3", "k": 1, "v": "b"}, {"dt": "p3", "k": 2, "v": "b"}])
    return t


def branch(t, name="b", **options):
    return st.open_table(t.location, branch=name, options=options)


def rows(t, *args, **kwargs):
    return sorted((r["dt"], r["k"], r["v"]) for r in t.scan(*args, **kwargs).to_arrow().to_pylist())


FALLBACK = [("p1", 1, "main"), ("p2", 1, "main"), ("p3", 1, "b"), ("p3", 2, "b")]
PRIMARY = [("p1", 1, "main"), ("p2", 1, "b"), ("p3", 1, "b"), ("p3", 2, "b")]


def test_partitions_that_main_lacks_come_from_the_fallback_branch(t):
    t.alter().set_option("scan.fallback-branch", "b").commit()
    assert rows(t) == FALLBACK
    assert t.scan().count() == 4
    assert t.scan(limit=3).count() == 3 == len(t.scan(limit=3).to_arrow())
    assert rows(t, filter="dt >= 'p2'") == FALLBACK[1:]
    # p2 is in main, so its row in the branch does not come, whatever the condition on rows
    assert rows(t, filter="v = 'b'") == FALLBACK[2:]
    assert t.scan(filter="v = 'b'").count() == 2
    assert t.scan(["v"], "dt = 'p3'").to_arrow().column_names == ["v"]


def test_writes_go_to_main_and_take_the_partition_over(t):
    t.alter().set_option("scan.fallback-branch", "b").commit()
    t.append([{"dt": "p3", "k": 9, "v": "main"}])
    assert rows(t) == [*FALLBACK[:2], ("p3", 9, "main")]
    assert [("p2", 1, "b"), ("p3", 1, "b"), ("p3", 2, "b")] == rows(branch(t))
    assert t.delete(where="v = 'b'").rows == 0


def test_the_primary_branch_comes_first(t):
    t.alter().set_option("scan.primary-branch", "b").commit()
    assert rows(t) == PRIMARY
    t.append([{"dt": "p1", "k": 2, "v": "main"}])
    assert rows(branch(t, **{"scan.primary-branch": "main"})) == [
        ("p1", 1, "main"),
        ("p1", 2, "main"),
        ("p2", 1, "main"),
        *FALLBACK[2:],
    ]


def test_a_read_may_name_the_branch_by_itself(t):
    assert rows(t) == FALLBACK[:2]
    assert rows(st.open_table(t.location, options={"scan.fallback-branch": "b"})) == FALLBACK
    assert rows(st.open_table(t.location, options={"scan.primary-branch": "b"})) == PRIMARY


def test_splits_carry_their_branch(t):
    t.alter().set_option("scan.fallback-branch", "b").commit()
    splits = pickle.loads(pickle.dumps(t.scan().splits()))
    tables = [pa.table(split) for split in splits]
    assert len({table.schema for table in tables}) == 1
    found = sorted((r["dt"], r["k"], r["v"]) for table in tables for r in table.to_pylist())
    assert found == FALLBACK
    assert "$branch_b" in t.scan().explain()


def test_columns_that_may_be_null_in_one_branch_may_be_null_in_the_result(make):
    t = make({"dt": "STRING", "k": "INT NOT NULL", "v": "STRING"}, (), ["dt"])
    t.branches.create("b")
    b = branch(t)
    b.alter().set_nullable("k", True).commit()
    t.append([{"dt": "p1", "k": 1, "v": "main"}])
    b.append([{"dt": "p2", "k": None, "v": "b"}])
    both = st.open_table(t.location, options={"scan.fallback-branch": "b"})
    table = both.scan().to_arrow()
    assert sorted((row["dt"], row["k"]) for row in table.to_pylist()) == [("p1", 1), ("p2", None)]
    assert table.schema.field("k").nullable and not t.scan().to_arrow().schema.field("k").nullable
    assert {pa.table(split).schema for split in both.scan().splits()} == {table.schema}


def test_versions_go_together_by_time(t):
    first = t.snapshot()
    branch(t).append([{"dt": "p4", "k": 1, "v": "b"}])
    t.append([{"dt": "p3", "k": 1, "v": "main"}])
    t.tags.create("now")
    t.alter().set_option("scan.fallback-branch", "b").commit()
    # before the first snapshot of the branch its earliest counts, as in Java
    assert rows(t, version=first.id) == FALLBACK
    assert rows(t, version=2) == [*FALLBACK[:2], ("p3", 1, "main"), ("p4", 1, "b")]
    assert rows(t, as_of=t.snapshot().time) == rows(t)
    # a tag of main says nothing about the branch
    assert rows(t, tag="now") == [*FALLBACK[:2], ("p3", 1, "main")]
    # Java answers this time with an error; the branch was not there yet
    assert rows(t, as_of=first.time) == FALLBACK[:2]


def test_views_fall_back_and_streams_do_not(t):
    t.alter().set_option("scan.fallback-branch", "b").commit()
    log = t.inspect("audit_log").to_arrow().to_pylist()
    assert sorted((r["rowkind"], r["dt"]) for r in log) == [("+I", "p1"), ("+I", "p2"), ("+I", "p3"), ("+I", "p3")]
    names = [r["partition"] for r in t.inspect("partitions").to_arrow().to_pylist()]
    assert sorted(names) == ["dt=p1", "dt=p2", "dt=p3"]
    assert len(t.inspect("files").to_arrow()) == 2
    for start in (None, "full"):
        seen = [r["dt"] for batch in t.changes(start=start) for r in pa.record_batch(batch).to_pylist()]
        assert sorted(seen) == ["p1", "p2"]


def test_a_branch_that_is_not_there(t, make, caplog):
    with pytest.raises(errors.BranchNotFound, match="did you mean 'b'") as e:
        t.alter().set_option("scan.fallback-branch", "bb").commit()
    assert e.value.context["option"] == "scan.fallback-branch"
    with pytest.raises(errors.BranchNotFound, match="did you mean 'b'"):
        st.open_table(t.location, options={"scan.fallback-branch": "c"}).scan().count()
    with pytest.raises(errors.BranchNotFound, match="make the table and its branch first"):
        make({"k": "INT"}, scan__fallback_branch="b")


def test_both_options_at_once_are_refused(t):
    both = {"scan.fallback-branch": "b", "scan.primary-branch": "b"}
    with pytest.raises(errors.InvalidOption, match="cannot both be set"):
        st.open_table(t.location, options=both).scan().count()
    t.alter().set_option("scan.fallback-branch", "b").commit()
    with pytest.raises(errors.InvalidOption, match="cannot both be set"):
        t.alter().set_option("scan.primary-branch", "b").commit()


def test_a_branch_that_reads_come_from_is_not_deleted(t):
    for option in ("scan.fallback-branch", "scan.primary-branch"):
        t.alter().set_option(option, "b").commit()
        with pytest.raises(errors.VersionInUse, match=option):
            t.branches.delete("b")
        t.alter().remove_option(option).commit()
    t.branches.delete("b")


def test_a_branch_that_only_another_branch_reads_from_is_not_deleted(t):
    """The options of main alone were looked at."""
    t.branches.create("c")
    t.branches.create("d")
    c = branch(t, "c")
    for option in ("scan.fallback-branch", "scan.primary-branch"):
        c.alter().set_option(option, "b").commit()
        for call in (lambda: t.branches.delete("b"), lambda: t.branches.rename("b", "x")):
            with pytest.raises(errors.VersionInUse, match=f"branch 'c' has the option '{option}'") as caught:
                call()
            assert caught.value.hint == "remove the option first, or let it name one of: main, d"
        c.alter().remove_option(option).commit()
    c.alter().set_option("scan.fallback-branch", "d").commit()
    t.branches.delete("b")
    t.branches.delete("c")
    t.branches.delete("d")
    assert t.branches.list() == []


def test_branches_with_other_columns_are_not_read_together(t):
    t.alter().set_option("scan.fallback-branch", "b").commit()
    branch(t).alter().add_column("w", "INT").commit()
    with pytest.raises(errors.IllegalSchema, match="different columns.*w INT"):
        t.scan().count()
    with pytest.raises(errors.IllegalSchema):
        t.scan().splits()
    t.append([{"dt": "p9", "k": 1, "v": "main"}])


def test_tables_without_partitions_fall_back_as_a_whole(make):
    t = make({"k": "INT", "v": "STRING"}, ["k"], bucket=1)
    t.branches.create("b")
    branch(t).append([{"k": 1, "v": "b"}])
    t.alter().set_option("scan.fallback-branch", "b").commit()
    assert t.scan().to_arrow().to_pylist() == [{"k": 1, "v": "b"}]
    t.append([{"k": 2, "v": "main"}])
    assert t.scan().to_arrow().to_pylist() == [{"k": 2, "v": "main"}]


@pytest.mark.java
@pytest.mark.xdist_group("java")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("option", ["scan.fallback-branch", "scan.primary-branch"])
def test_java_reads_the_same_of_both_branches(t, oracle, option):
    t.append([{"dt": "p1", "k": 1, "v": "again"}])
    oracle.call("apply", t.location, '{"op": "write", "branch": "b", "rows": [["+I", "p4", 7, "java"]]}')
    t.alter().set_option(option, "b").commit()
    oracle.call("apply", t.location, '{"op": "write", "rows": [["+I", "p5", 7, "java"]]}')

    def java(suffix="", *options):
        return sorted(map(str, oracle.call("read", t.location + suffix, *options)))

    def ours(scan):
        return sorted(str(row) for row in scan.to_arrow().to_pylist())

    assert ours(t.scan()) == java()
    assert ours(t.inspect("audit_log")) == java("$audit_log")
    for snapshot in t.history():
        assert ours(t.scan(version=snapshot.id)) == java("", f"scan.snapshot-id={snapshot.id}")
    for between in ((1, 2), (0, 1), (0, 2)):
        assert ours(t.scan(between=between)) == java("", f"incremental-between={between[0]},{between[1]}")
    # the branch has no third snapshot
    with pytest.raises(errors.SnapshotNotFound, match="branch_b"):
        t.scan(between=(2, 3)).count()
    with pytest.raises(RuntimeError, match="3"):
        java("", "incremental-between=2,3")
    names = sorted(row["partition"] for row in oracle.call("read", t.location + "$partitions"))
    assert sorted(row["partition"] for row in t.inspect("partitions").to_arrow().to_pylist()) == names
