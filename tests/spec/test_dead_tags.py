"""Tags whose files are gone: their maker died before it looked whether an expiry was faster. Nothing is made of them."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from siltstone import errors as e

SCHEMA = {"id": "BIGINT", "v": "STRING"}


@pytest.fixture
def t(cat):
    """Version 1 has expired but for the tag ``kept``; ``dead`` names version 2, of which nobody has kept anything."""
    t = cat.create_table("db.t", SCHEMA, primary_key=["id"], options={"bucket": "1"})
    for key in range(4):
        t.overwrite([{"id": key, "v": "a"}])
    t.tags.create("kept", version=1)
    t.tags.create("dead", version=2)
    dead, aside = Path(t.location, "tag", "tag-dead"), Path(t.location, "aside")
    dead.rename(aside)
    t.maintenance.expire_snapshots(retain_max=1, retain_min=1, older_than=datetime.now(UTC))
    aside.rename(dead)
    return t


MADE = {
    "the same again": lambda t, tag: t.tags.create(tag, version=1 if tag == "kept" else 2, if_not_exists=True),
    "another tag": lambda t, tag: t.tags.create("new", version=tag),
    "a tag replaced": lambda t, tag: t.tags.replace("newest", version=tag),
    "a new name": lambda t, tag: t.tags.rename(tag, "new"),
    "a branch": lambda t, tag: t.branches.create("b", tag=tag),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_nothing_is_made_of_a_tag_that_keeps_nothing(t, make):
    """It was reported as done, and could not be read."""
    t.tags.create("newest")
    with pytest.raises(e.SnapshotExpired):
        make(t, "dead")
    assert sorted(tag.name for tag in t.tags.list()) == ["dead", "kept", "newest"]
    assert t.branches.list() == []
    assert [row["id"] for row in t.scan(tag="newest").to_arrow().to_pylist()] == [3]


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_tag_that_keeps_its_files_is_a_source_as_before(cat, t, make):
    t.tags.delete("dead")
    t.tags.create("newest")
    make(t, "kept")
    for tag in t.tags.list():
        assert t.scan(tag=tag.name).count() == 1
    for branch in t.branches.list():
        assert cat.table(f"db.t$branch_{branch.name}").scan().count() == 1
    assert t.maintenance.fsck(deep=True).ok
