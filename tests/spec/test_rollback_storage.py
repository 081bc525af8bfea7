"""A rollback whose target cannot be read right now, is damaged, or is gone in part: three different errors."""

import os
import pathlib

import pytest
from siltstone import errors as e


@pytest.fixture
def t(make):
    t = make({"k": "INT"}, bucket=-1, write_only="true")
    for k in range(3):
        t.append([{"k": k}])
    return t


def manifests(t):
    paths = pathlib.Path(t.location.removeprefix("file:")).glob("manifest/manifest-*")
    return [path for path in paths if not path.name.startswith("manifest-list")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open every file; rollback_storage.rs has calls that fail")
def test_a_manifest_that_cannot_be_opened_is_no_expired_snapshot(t):
    """The rollback said that the snapshot had expired, with the advice to go back to another version."""
    for path in manifests(t):
        path.chmod(0)
    for dry_run in (True, False):
        with pytest.raises(e.StorageError, match="denied"):
            t.rollback(version=2, dry_run=dry_run)
    for path in manifests(t):
        path.chmod(0o600)
    t.rollback(version=2)
    assert t.scan().count() == 2


def test_a_damaged_manifest_is_a_corrupt_file(t):
    """It was reported as a snapshot that has expired, too."""
    for path in manifests(t):
        path.write_bytes(b"damaged")
    with pytest.raises(e.CorruptFile):
        t.rollback(version=2)
    assert t.snapshot().id == 3


def test_a_version_that_lacks_a_file_has_expired_in_part(t):
    for path in manifests(t):
        path.unlink()
    with pytest.raises(e.SnapshotExpired, match="not whole"):
        t.rollback(version=2)
    assert t.snapshot().id == 3
