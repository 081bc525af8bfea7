"""What a check finds in versions beyond single files, and what it must not call damage."""

import json
import pathlib
import time

import avro
import forging
import pytest
import siltstone as st
from siltstone import errors as e

BOUNDS = ("_MIN_VALUES", "_MAX_VALUES")


def test_a_long_lived_changelog_does_not_need_the_files_of_a_compaction(make):
    """They go when the next compaction has replaced them; the check called them missing."""
    options = {"write_only": "true", "compaction__min__file_num": 2}
    options |= {"snapshot__num_retained__min": 1, "snapshot__num_retained__max": 2}
    options |= {"changelog__num_retained__min": 1, "changelog__num_retained__max": 50}
    for key, bucket in (([], -1), (["k"], 1)):
        t = make({"k": "INT", "v": "INT"}, key, bucket=bucket, **options)
        for i in range(9):
            t.append([{"k": i, "v": 1}])
            if i % 4 == 3:
                t.compact(full=True)
        t.maintenance.expire_snapshots()
        assert t.maintenance.fsck(deep=True).problems == []
        t.maintenance.remove_orphan_files(older_than="0s", dry_run=False)
        assert t.maintenance.fsck(deep=True).problems == []
        assert sorted(r["k"] for batch in t.changes(start=1) for r in batch.to_pylist()) == list(range(9))


def snapshot(t, version):
    return json.loads(pathlib.Path(f"{t.location}/snapshot/snapshot-{version}").read_text())


def base_list(t, version):
    return f"{t.location}/manifest/{snapshot(t, version)['baseManifestList']}"


def codes(t, deep=False):
    return {finding.code for finding in st.open_table(t.location).maintenance.fsck(deep=deep).problems}


def test_what_a_list_says_of_a_manifest_is_compared_at_every_mention(make):
    """Readers of the newest version go by its list; what an older list says rightly of the manifest does not help them."""
    t = make({"p": "STRING", "k": "INT"}, ["p", "k"], ["p"], bucket=2, write_only="true", manifest__compression="null")
    for n in range(4):
        t.append([{"p": f"d{n}", "k": k} for k in range(3)])
    assert codes(t, deep=True) == set()
    healthy = avro.read(base_list(t, 4))

    def narrow(record):
        bounds = record["_PARTITION_STATS"]
        for bound in ("_MIN_VALUES", "_MAX_VALUES"):
            bounds[bound] = bounds[bound].replace(b"d1", b"d9")

    changes = {
        "partitions": narrow,
        "buckets": lambda record: record.update(_MIN_BUCKET=5, _MAX_BUCKET=5),
        "levels": lambda record: record.update(_MAX_LEVEL=-1),
        "files": lambda record: record.update(_NUM_ADDED_FILES=7),
    }
    for what, change in changes.items():
        forging.patch(base_list(t, 4), change)
        forging.sizes(t.location)
        assert "wrong-manifest" in codes(t), what
        avro.write(base_list(t, 4), *healthy)
        forging.sizes(t.location)
    assert codes(t) == set()


def test_the_size_of_a_list_is_compared_at_every_mention(make):
    t = make({"k": "INT"})
    t.append([{"k": 1}])
    t.tags.create("a")
    t.append([{"k": 2}])
    assert codes(t) == set()
    t.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    t.tags.create("b")
    forging.edit(f"{t.location}/tag/tag-b", lambda tag: tag.update(baseManifestListSize=1))
    assert "wrong-size" in codes(t)


def compacted(make):
    """Two versions of the same rows, compacted."""
    t = make({"k": "INT", "v": "INT"}, ["k"], bucket=1, manifest__compression="null")
    for v in range(2):
        t.append([{"k": k, "v": v} for k in range(5)])
    t.compact(full=True)
    assert codes(t, deep=True) == set()
    return t


def files(t):
    found = pathlib.Path(t.location).rglob("*")
    return sorted(
        p for p in found if p.suffix == ".parquet" or p.parent.name in {"snapshot", "manifest"} or "removal-" in p.name
    )


def test_the_bytes_of_a_partition_have_one_form(make):
    """A DELETE with other padding did not meet its ADD: every row came twice, and the check said that all is well."""

    def flip(value):
        return value[:-4] + bytes([value[-4] ^ 0x20]) + value[-3:]

    for kind in (0, 1):
        for change in (flip, lambda value: value + b"\0", lambda value: value[:-1]):
            t = compacted(make)
            forging.patch_entries(
                t.location,
                lambda entry, kind=kind, change=change: (
                    entry["_KIND"] == kind and entry.update(_PARTITION=change(entry["_PARTITION"]))
                ),
            )
            forging.sizes(t.location)
            t = st.open_table(t.location)
            with pytest.raises(e.CorruptFile):
                t.scan().to_arrow()
            with pytest.raises(e.CorruptFile):
                t.scan(filter="k = 1").to_arrow()
            assert "bad-manifest" in codes(t)


def test_a_manifest_that_is_named_twice_stops_reads_and_expiry(make):
    """What later manifests had deleted came back, and expiry deleted its files."""
    t = compacted(make)
    newest = max(s.id for s in t.history(100))
    schema, records = avro.read(base_list(t, newest))
    avro.write(base_list(t, newest), schema, [*records, records[0]])
    forging.sizes(t.location)
    t = st.open_table(t.location)
    with pytest.raises(e.CorruptFile, match="twice"):
        t.scan().to_arrow()
    assert "bad-manifest-list" in codes(t)
    before = files(t)
    with pytest.raises(e.CorruptFile, match="twice"):
        t.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    assert files(t) == before


def test_an_expiry_deletes_no_file_that_later_versions_name_by_another_entry(make):
    """The DELETE met nothing, so the file stayed live; expiry went by its name and deleted it."""
    t = compacted(make)
    for v in range(2):
        t.append([{"k": k, "v": v} for k in range(5)])
    t.compact(full=True)
    forging.patch_entries(
        t.location,
        lambda entry: entry["_KIND"] == 1 and entry["_FILE"]["_LEVEL"] > 0 and entry["_FILE"].update(_LEVEL=3),
    )
    forging.sizes(t.location)
    t = st.open_table(t.location)
    before = files(t)
    with pytest.raises(e.CorruptFile, match="named by later versions"):
        t.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    assert files(t) == before


def test_a_delete_that_no_file_meets_is_found_in_the_newest_version(make):
    """Live files were compared for the first version only."""
    t = compacted(make)
    forging.patch_entries(t.location, lambda entry: entry["_KIND"] == 1 and entry["_FILE"].update(_LEVEL=3))
    forging.sizes(t.location)
    assert {"unmatched-delete", "wrong-row-count"} <= codes(t)


def test_a_schema_that_files_need_and_that_is_gone_is_found(make):
    """No row could be read, and the check said that all is well."""
    t = make({"k": "INT"}, ["k"], bucket=1, write_only="true", manifest__compression="null")
    t.append([{"k": 1}])
    t.alter().add_column("x", "INT").commit()
    t = st.open_table(t.location)
    t.append([{"k": 2, "x": 1}])
    t.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    assert codes(t, deep=True) == set()
    pathlib.Path(f"{t.location}/schema/schema-0").unlink()
    for deep in (False, True):
        assert codes(t, deep) == {"missing-schema"}


def test_a_schema_id_below_zero_is_damage(make):
    t = make({"k": "INT"}, manifest__compression="null")
    t.append([{"k": 1}])
    forging.patch_entries(t.location, lambda entry: entry["_FILE"].update(_SCHEMA_ID=-1))
    forging.sizes(t.location)
    with pytest.raises(e.CorruptFile, match="_SCHEMA_ID"):
        st.open_table(t.location).scan().to_arrow()
    assert codes(t) == {"bad-manifest"}


def other_bounds(record, change):
    for name in BOUNDS:
        record["_PARTITION_STATS"][name] = change(record["_PARTITION_STATS"][name])


@pytest.mark.parametrize(
    "lie",
    [
        lambda r: other_bounds(r, lambda row: row.replace(b"d0", b"d8").replace(b"d1", b"d9")),
        lambda r: r["_PARTITION_STATS"].update(_MAX_VALUES=b""),
        lambda r: r["_PARTITION_STATS"].update(_NULL_COUNTS=[20]),
        lambda r: r.update(_NUM_ADDED_FILES=r["_NUM_ADDED_FILES"] + 1),
        lambda r: r.update(_MAX_BUCKET=-1),
        lambda r: r.update(_FILE_SIZE=r["_FILE_SIZE"] + 1),
    ],
    ids=["bounds", "empty", "nulls", "files", "buckets", "size"],
)
def test_what_a_later_list_says_of_a_manifest_is_compared_with_it(make, lie):
    """Readers of the newest version go by its list; the check looked at the first list that names a manifest."""
    options = {"write_only": "true", "manifest__compression": "null"}
    t = make({"dt": "STRING", "k": "INT"}, ["dt", "k"], partition_by=["dt"], bucket=1, **options)
    for n in range(3):
        t.upsert([{"dt": f"d{n}", "k": n}])
    assert t.maintenance.fsck(deep=True).problems == []
    with open(f"{t.location}/snapshot/snapshot-3") as f:
        forging.patch(f"{t.location}/manifest/{json.load(f)['baseManifestList']}", lie)
    for path in forging.versions(t.location):
        forging.edit(path, lambda version: [version.pop(k) for k in list(version) if k.endswith("ListSize")])
    codes = {f.code for f in st.open_table(t.location).maintenance.fsck().problems}
    assert codes & {"wrong-manifest", "bad-manifest"}, codes


def test_a_null_partition_that_a_list_denies_is_found(make):
    t = make({"dt": "STRING", "k": "INT"}, partition_by=["dt"], write_only="true", manifest__compression="null")
    t.append([{"dt": None, "k": 1}, {"dt": "d", "k": 2}])
    assert t.maintenance.fsck().problems == []
    with open(f"{t.location}/snapshot/snapshot-1") as f:
        delta = f"{t.location}/manifest/{json.load(f)['deltaManifestList']}"
    forging.patch(delta, lambda r: r["_PARTITION_STATS"].update(_NULL_COUNTS=[0]))
    forging.sizes(t.location)
    found = st.open_table(t.location).maintenance.fsck().problems
    assert [f.code for f in found] == ["wrong-manifest"] and "null" in found[0].message


def test_a_missing_file_is_told_with_all_versions_that_need_it(make):
    """Versions 2 to 5 could not be read, the newest among them, and the check named the second one alone."""
    t = make({"k": "INT"}, write_only="true")
    for k in range(5):
        t.append([{"k": k}])
    t.tags.create("kept", version=3)
    (lost,) = {f["name"] for f in t.files(version=2)} - {f["name"] for f in t.files(version=1)}
    next(pathlib.Path(t.location).rglob(lost)).unlink()
    for deep in (False, True):
        (finding,) = [f for f in t.maintenance.fsck(deep=deep).problems if f.code == "missing-file"]
        assert finding.place == "main/snapshot-5"
        assert finding.message.endswith(
            f"{lost} is missing; needed by main/snapshot-2 to main/snapshot-5, the newest version among them"
        )
    with pytest.raises(e.FileMissing, match="says which versions need it; restore the file, or roll back") as caught:
        t.to_pylist()
    assert caught.value.table == t.name
    t.rollback(version=1)
    assert t.maintenance.fsck().problems == []


def test_a_newest_snapshot_that_is_gone_and_still_named_is_a_problem(make):
    """The rows of the last commit were gone, and the check ended with 0 and said: delete the hint."""
    t = make({"k": "INT"})
    for k in range(3):
        t.append([{"k": k}])
    pathlib.Path(f"{t.location}/snapshot/snapshot-3").unlink()
    time.sleep(0.05)  # files of the last milliseconds may be those of a commit that is just being made
    (finding,) = st.open_table(t.location).maintenance.fsck().problems
    assert finding.code == "missing-snapshot"
    assert "snapshot 3 is missing: the hint names 3, and the newest that is there is 2" in finding.message
    assert "snapshot/snapshot-3" in finding.repair


def test_a_rollback_leaves_no_snapshot_that_is_missed(make):
    t = make({"k": "INT"})
    for k in range(3):
        t.append([{"k": k}])
    t.rollback(version=1)
    assert {f.code for f in t.maintenance.fsck().findings} <= {"unreferenced-file"}
    pathlib.Path(f"{t.location}/snapshot/LATEST").write_text("3")  # a rollback that died before the hint
    assert codes(t) == set()
