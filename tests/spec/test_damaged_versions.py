"""A snapshot or tag whose file is damaged, in the steps of docs/upkeep.md: what is said, and how the table is whole again."""

import pathlib

import pytest
import siltstone as st
from siltstone import errors as e


@pytest.fixture
def t(make):
    t = make({"k": "INT"}, ["k"], bucket=1, write_only="true")
    for k in range(3):
        t.append([{"k": k}])
    return t


def path(t, name):
    return pathlib.Path(t.location, name)


def problems(t):
    return {finding.code: finding for finding in st.open_table(t.location).maintenance.fsck().problems}


@pytest.mark.parametrize("left", [b"", b'{"version": 3, "id'], ids=["empty", "cut off"])
def test_a_newest_snapshot_that_is_damaged_is_named_and_can_be_left_behind(t, tmp_path, caplog, left):
    """The check said to roll back; rollback, count and even the history failed, without a word of what works."""
    damaged = path(t, "snapshot/snapshot-3")
    damaged.write_bytes(left)
    for fails in (t.count, lambda: t.rollback(version=2), lambda: t.append([{"k": 9}])):
        with pytest.raises(e.CorruptFile, match="snapshot-3") as caught:
            fails()
        assert "move it out of the table's directory" in caught.value.hint
        assert "t.history()" in caught.value.hint
    assert [s.id for s in t.history()] == [2, 1]
    assert "snapshot 3 is left out of the history, its file is damaged" in caplog.text
    assert "roll back to the snapshot before it" in problems(t)["bad-snapshot"].repair
    damaged.rename(tmp_path / "kept")
    t = st.open_table(t.location)
    assert t.rollback(version=2).details["current_snapshot"] == 2
    assert problems(t) == {}
    t.append([{"k": 2}])
    assert t.count() == 3


def test_a_snapshot_between_two_others_is_missed_by_nobody(t, tmp_path):
    """The check said to write its rows again, which were all there, and that 'snapshots 2 to 2' are missing."""
    path(t, "snapshot/snapshot-2").write_bytes(b"")
    assert [s.id for s in t.history()] == [3, 1]
    with pytest.raises(e.CorruptFile, match="snapshot-2") as caught:
        t.expire_snapshots(retain_max=1)
    assert "expire the snapshots before it" in caught.value.hint
    path(t, "snapshot/snapshot-2").rename(tmp_path / "kept")
    found = problems(t)["missing-snapshot"]
    assert found.message.startswith("snapshot 2 is missing: no rows of later versions are lost")
    assert "expire the snapshots before 3" in found.repair
    assert t.count() == 3
    t.expire_snapshots(retain_max=1, retain_min=1)
    assert problems(t) == {}
    assert t.count() == 3


def test_a_tag_that_is_damaged_is_named_and_the_others_are_listed(t, tmp_path, caplog):
    """The list of tags failed as a whole; the page said that a tag can be deleted, which failed, too."""
    for name in ("a", "b"):
        t.tags.create(name, version=1)
    damaged = path(t, "tag/tag-a")
    damaged.write_text("garbage")
    assert [tag.name for tag in t.tags.list()] == ["b"]
    assert "tag 'a' is left out of the list, its file is damaged" in caplog.text
    for fails in (lambda: t.tags.delete("a"), lambda: t.expire_snapshots(retain_max=1, retain_min=1)):
        with pytest.raises(e.CorruptFile, match="tag-a") as caught:
            fails()
        assert "nobody can tell what this tag keeps" in caught.value.hint
        assert "move the file out of the table's directory" in caught.value.hint
    assert "move the file out" in problems(t)["bad-tag"].repair
    assert len(t.history()) == 3
    damaged.rename(tmp_path / "kept")
    assert t.expire_snapshots(retain_max=1, retain_min=1).snapshots == [1, 2]
    assert problems(t) == {}
    assert t.scan(tag="b").count() == 1


def test_a_rollback_to_a_version_that_lacks_a_file_does_not_say_that_it_has_expired(t):
    """It had not: somebody had deleted the file, and no newer version was whole either."""
    first = t.files(version=1)[0]["path"]
    pathlib.Path(first).unlink()
    with pytest.raises(e.SnapshotExpired, match="it is not whole") as caught:
        t.rollback(version=2)
    assert "by an expiry or by hand: t.maintenance.fsck() says which versions lack files" in caught.value.hint
    assert "overwrite the partition" in caught.value.hint
