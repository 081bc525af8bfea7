"""What a check finds in versions beyond single files, and what it must not call damage."""

import json

import forging
import pytest
import siltstone as st

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
    options = {"write_only": "true", "manifest__compression": "none"}
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
    t = make({"dt": "STRING", "k": "INT"}, partition_by=["dt"], write_only="true", manifest__compression="none")
    t.append([{"dt": None, "k": 1}, {"dt": "d", "k": 2}])
    assert t.maintenance.fsck().problems == []
    with open(f"{t.location}/snapshot/snapshot-1") as f:
        delta = f"{t.location}/manifest/{json.load(f)['deltaManifestList']}"
    forging.patch(delta, lambda r: r["_PARTITION_STATS"].update(_NULL_COUNTS=[0]))
    forging.sizes(t.location)
    found = st.open_table(t.location).maintenance.fsck().problems
    assert [f.code for f in found] == ["wrong-manifest"] and "null" in found[0].message
