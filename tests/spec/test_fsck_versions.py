"""What a check finds in versions beyond single files, and what it must not call damage."""


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
