"""Tables whose snapshots were lost, or are hidden by a damaged record: nothing of them is deleted, and ``fsck`` says so."""

import json
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
import siltstone as st
from siltstone import errors as e

SCHEMA = {"id": "BIGINT", "v": "STRING"}


@pytest.fixture
def t(cat):
    t = cat.create_table("db.t", SCHEMA, primary_key=["id"], options={"bucket": "1"})
    for key in range(4):
        t.upsert([{"id": key, "v": "a"}])
    return t


def files(t):
    return sorted(str(path) for path in Path(t.location).rglob("*") if path.is_file() and "siltstone" not in path.parts)


def lose_files(t):
    for path in Path(t.location, "snapshot").glob("snapshot-*"):
        path.unlink()


def lose_directory(t):
    shutil.rmtree(Path(t.location, "snapshot"))


def damage_the_record(t):
    """As if all versions had been taken back."""
    newest = sorted(Path(t.location, "siltstone").glob("removal-*"))[-1]
    record = json.loads(newest.read_text())
    record["rollbacks"][-1]["target"] = 0
    record["rollbacks"][-1]["record"] += 8
    newest.write_text(json.dumps(record))


@pytest.mark.parametrize("lose", [lose_files, lose_directory, damage_the_record], ids=lambda f: f.__name__)
def test_nothing_of_a_table_that_lost_its_snapshots_is_deleted(cat, t, lose):
    """Orphan cleaning took all its data for unused, and expiry deleted the snapshots that were left."""
    t.rollback(version=3)
    t.upsert([{"id": 9, "v": "b"}])
    lose(t)
    left = files(t)
    t = cat.table("db.t")
    now = datetime.now(UTC)
    for upkeep in (
        lambda: t.maintenance.remove_orphan_files(older_than=now, dry_run=False),
        lambda: t.maintenance.remove_orphan_files(older_than=now),
        lambda: t.maintenance.expire_snapshots(retain_max=1, retain_min=1, older_than=now),
    ):
        with pytest.raises(e.CorruptFile, match="no snapshots any more"):
            upkeep()
        assert files(t) == left
    assert "missing-snapshot" in [problem.code for problem in t.maintenance.fsck().problems]


@pytest.mark.parametrize("branched", [False, True])
def test_nothing_is_deleted_where_only_lists_of_manifests_tell_of_snapshots(cat, t, branched):
    """With ``snapshot/`` and the records gone it was taken for a new table, and all its files for a failed writer's."""
    if branched:
        t.branches.create("b")
        shutil.rmtree(Path(t.location, "branch", "branch-b", "snapshot"), ignore_errors=True)
    shutil.copytree(Path(t.location, "snapshot"), Path(t.location).parent / "kept")
    shutil.rmtree(Path(t.location, "snapshot"))
    shutil.rmtree(Path(t.location, "siltstone"), ignore_errors=True)
    left = files(t)
    t = cat.table("db.t")
    for dry_run in (True, False):
        with pytest.raises(e.CorruptFile, match="lists of manifests"):
            t.maintenance.remove_orphan_files(older_than=datetime.now(UTC), dry_run=dry_run)
        assert files(t) == left
    assert "unknown-references" in [warning.code for warning in t.maintenance.fsck().warnings]
    shutil.move(Path(t.location).parent / "kept", Path(t.location, "snapshot"))
    assert t.scan().count() == 4


def test_what_failed_writers_leave_in_a_new_table_is_deleted(cat):
    t = cat.create_table("db.n", SCHEMA, primary_key=["id"], options={"bucket": "1"})
    w = t.writer()
    w.write([{"id": 1, "v": "a"}])
    w.prepare_commit()
    (left,) = (path for path in files(t) if "bucket-0" in path)
    time.sleep(0.01)  # the limit is a millisecond
    report = t.maintenance.remove_orphan_files(older_than=datetime.now(UTC), dry_run=False)
    assert [file.path for file in report.files] == [left]
    # a first commit that died before it published left lists, too: after the next commit they are orphans
    t.upsert([{"id": 2, "v": "b"}])
    stray = Path(t.location, "manifest", "manifest-list-00000000-0000-0000-0000-000000000000-0")
    stray.write_bytes(b"x")
    time.sleep(0.01)  # the limit is a millisecond
    t.maintenance.remove_orphan_files(older_than=datetime.now(UTC), dry_run=False)
    assert not stray.exists()
    assert t.scan().count() == 1


@pytest.mark.parametrize("upkeep", ["orphans", "expire"])
def test_files_of_a_branch_that_lost_its_snapshots_stay(cat, t, upkeep):
    t.branches.create("b", version=2)
    branch = cat.table("db.t$branch_b")
    branch.upsert([{"id": 7, "v": "of the branch"}])
    shutil.move(f"{t.location}/branch/branch-b/snapshot", f"{t.location}/../kept")
    now = datetime.now(UTC)
    with pytest.raises(e.CorruptFile, match="no snapshots any more"):
        if upkeep == "orphans":
            t.maintenance.remove_orphan_files(older_than=now, dry_run=False)
        else:
            t.maintenance.expire_snapshots(retain_max=1, retain_min=1, older_than=now)
    shutil.move(f"{t.location}/../kept", f"{t.location}/branch/branch-b/snapshot")
    assert sorted(row["id"] for row in branch.scan().to_arrow().to_pylist()) == [0, 1, 7]
    assert t.maintenance.fsck(deep=True).ok


def test_a_branch_that_lost_its_snapshots_can_be_deleted(cat, t):
    t.branches.create("b", version=2)
    cat.table("db.t$branch_b").upsert([{"id": 7, "v": "of the branch"}])
    shutil.rmtree(f"{t.location}/branch/branch-b/snapshot")
    t.branches.delete("b")
    t.maintenance.remove_orphan_files(older_than=datetime.now(UTC), dry_run=False)
    assert t.scan().count() == 4


@pytest.mark.parametrize("name", ["t" * 250, "\u3042" * 83])
def test_a_table_of_any_name_that_can_be_made_can_be_dropped(cat, name):
    """What is dropped gets a longer name first."""
    cat.create_table(f"db.{name}", SCHEMA).append([{"id": 1, "v": "x"}])
    cat.drop_table(f"db.{name}")
    assert cat.tables("db") == []


LOST = {
    "snapshots": ["snapshot/snapshot-*"],
    "snapshots and hints": ["snapshot/*"],
    "snapshots and tags": ["snapshot/snapshot-*", "tag/*"],
}
COMMITS = {
    "upsert": lambda t, _: t.append([{"id": 9}]),
    "overwrite": lambda t, _: t.overwrite([{"id": 9}]),
    "statement": lambda t, _: t.delete("id = 1"),
    "messages": lambda t, messages: t.commit(messages),
    "manifests": lambda t, _: t.maintenance.compact_manifests(),
}


@pytest.mark.parametrize("key", [["id"], []])
@pytest.mark.parametrize("commit", COMMITS)
@pytest.mark.parametrize("lost", LOST)
def test_a_table_that_lost_its_snapshots_does_not_begin_anew(make, lost, commit, key):
    """A commit became snapshot 1, and everything before it was forgotten."""
    t = make({"id": "BIGINT"}, key)
    for n in range(3):
        t.append([{"id": n}])
    t.tags.create("v")
    with t.writer() as w:
        w.write([{"id": 7}])
        messages = w.prepare_commit()
    for pattern in LOST[lost]:
        for path in Path(t.location).glob(pattern):
            path.unlink()
    for handle in (t, st.open_table(t.location)):
        with pytest.raises(e.CorruptFile, match="no snapshots any more") as caught:
            COMMITS[commit](handle, messages)
        assert "begin the table anew" in caught.value.hint
    assert not list(Path(t.location).glob("snapshot/snapshot-*"))
