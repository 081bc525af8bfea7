"""Numbers in metadata that cannot be true: damage that names the file, never a panic, and nothing is committed on them."""

import glob
import os

import pytest
import siltstone as st
from forging import edit, patch, patch_entries, sizes, versions
from siltstone import errors as e

HOSTILE = (2**63 - 1, -(2**63), -5)

OPERATIONS = {
    "read": lambda t: t.scan().to_arrow(),
    "count": lambda t: t.scan().count(),
    "explain": lambda t: t.scan().explain(),
    "write": lambda t: t.upsert([{"id": 9, "s": "n"}]),
    "delete": lambda t: t.delete("id = 1"),
    "overwrite": lambda t: t.overwrite([{"id": 9, "s": "n"}]),
    "truncate": lambda t: t.truncate(),
    "compact": lambda t: t.compact(full=True),
    "compact manifests": lambda t: t.maintenance.compact_manifests(),
    "analyze": lambda t: t.maintenance.analyze(),
    "partitions": lambda t: t.inspect("partitions").to_arrow(),
    "buckets": lambda t: t.inspect("buckets").to_arrow(),
    "files": lambda t: t.inspect("files").to_arrow(),
    "manifests": lambda t: t.inspect("manifests").to_arrow(),
}
"""What looks at entries, counts them or commits after them."""


@pytest.fixture
def t(make):
    t = make({"id": "BIGINT", "s": "STRING"}, ["id"], bucket=1, write_only="true", manifest__compression="null")
    for n in range(3):
        t.upsert([{"id": n, "s": "a"}])
    return t


def names(location):
    return sorted(os.listdir(location + "/snapshot"))


def refused(location, operation):
    """The error of an operation: damage, with a file, and no new snapshot."""
    before = names(location)
    try:
        OPERATIONS[operation](st.open_table(location))
    except e.SiltstoneError as caught:
        assert not isinstance(caught, e.InternalError), caught
        assert names(location) == before
        return caught
    return None


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "manifests"])
def test_counts_of_a_data_file_that_cannot_be_true_are_damage_of_the_manifest(t, operation):
    for field, number in zip(("_ROW_COUNT", "_FILE_SIZE", "_DELETE_ROW_COUNT"), HOSTILE, strict=True):
        before = {}

        def hostile(entry, field=field, number=number, before=before):
            before[entry["_FILE"]["_FILE_NAME"]] = entry["_FILE"][field]
            entry["_FILE"][field] = number

        patch_entries(t.location, hostile)
        sizes(t.location)
        caught = refused(t.location, operation)
        assert isinstance(caught, e.CorruptFile), (operation, number, caught)
        assert field in str(caught)
        assert "manifest-" in caught.context["file"]
        patch_entries(
            t.location,
            lambda entry, field=field, before=before: entry["_FILE"].update(
                {field: before[entry["_FILE"]["_FILE_NAME"]]}
            ),
        )
        sizes(t.location)
    OPERATIONS[operation](st.open_table(t.location))


@pytest.mark.parametrize("operation", ["read", "write", "truncate", "compact", "compact manifests", "manifests"])
@pytest.mark.parametrize("field", ["_NUM_ADDED_FILES", "_NUM_DELETED_FILES", "_FILE_SIZE"])
def test_counts_of_a_manifest_that_cannot_be_true_are_damage_of_the_list(t, field, operation):
    for number in HOSTILE:
        for path in glob.glob(t.location + "/manifest/manifest-list-*"):
            patch(path, lambda record, number=number: record.update({field: number}))
        for path in versions(t.location):
            edit(path, lambda v: [v.pop(key) for key in list(v) if key.endswith("ManifestListSize")])
        caught = refused(t.location, operation)
        assert isinstance(caught, e.CorruptFile), (operation, number, caught)
        assert field in str(caught)
        assert "manifest-list-" in caught.context["file"]


def test_a_manifest_list_that_counts_other_files_than_its_manifests_hold_is_damage(t):
    for path in glob.glob(t.location + "/manifest/manifest-list-*"):
        patch(path, lambda record: record.update(_NUM_ADDED_FILES=7))
    sizes(t.location)
    caught = refused(t.location, "compact manifests")
    # where it is not checked, manifests are packed anew from what they hold
    assert caught is None or isinstance(caught, e.CorruptFile)
    assert t.scan().count() == 3


@pytest.mark.parametrize("field", ["totalRecordCount", "deltaRecordCount", "changelogRecordCount"])
def test_counts_of_a_snapshot_that_cannot_be_true_are_damage_of_it(t, field):
    for number in (2**63 - 1, -(2**63), *([] if field == "deltaRecordCount" else [-1, -5])):
        edit(t.location + "/snapshot/snapshot-3", lambda v, number=number: v.update({field: number}))
        for operation in OPERATIONS:
            caught = refused(t.location, operation)
            assert isinstance(caught, e.CorruptFile), (operation, number, caught)
            assert field in str(caught)
            assert caught.context["file"].endswith("snapshot-3")


def test_a_snapshot_that_tells_fewer_rows_than_are_taken_away_is_damage(t):
    edit(t.location + "/snapshot/snapshot-3", lambda v: v.update(totalRecordCount=1))
    caught = refused(t.location, "truncate")
    assert isinstance(caught, e.CorruptFile)
    assert "a table of 1 rows cannot change by -3 rows" in str(caught)
    assert t.scan().count() == 3


def test_the_last_sequence_number_is_damage_of_the_manifest(t):
    patch_entries(t.location, lambda entry: entry["_FILE"].update(_MAX_SEQUENCE_NUMBER=2**63 - 1))
    sizes(t.location)
    assert isinstance(refused(t.location, "write"), e.CorruptFile)


@pytest.mark.parametrize("millis", [2**60, -(2**60), 253_402_300_800_000])
def test_a_time_that_no_calendar_has_is_damage_of_the_snapshot_and_no_tag_is_made(t, millis, caplog):
    edit(t.location + "/snapshot/snapshot-3", lambda v: v.update(timeMillis=millis))
    t = st.open_table(t.location)
    assert sorted(version.id for version in t.history()) == [1, 2]
    assert t.inspect("snapshots").to_arrow()["snapshot_id"].to_pylist() == [1, 2]
    assert any("timeMillis" in record.message for record in caplog.records)
    for look in (lambda: t.snapshot(3), lambda: t.tags.create("x")):
        with pytest.raises(e.CorruptFile, match="timeMillis"):
            look()
    assert not glob.glob(t.location + "/tag/*")


def test_the_first_and_the_last_moment_that_a_calendar_has_are_times(t):
    for millis, year in ((-62_135_596_800_000, 1), (253_402_300_799_999, 9999)):
        edit(t.location + "/snapshot/snapshot-3", lambda v, millis=millis: v.update(timeMillis=millis))
        assert st.open_table(t.location).snapshot(3).time.year == year
