"""Tags, travel, expiry, rollback and branches, as a user of the API sees them."""

import datetime as dt
import json
import pathlib
import time

import pytest
import siltstone as st
from siltstone import errors


@pytest.fixture
def t(make):
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, write_only="true")
    for i in range(1, 6):
        t.append([{"id": 1, "v": i}, {"id": i * 10, "v": i}])
    t.compact(full=True)
    return t


def value(t, **version):
    return t.scan(["v"], "id = 1", **version).to_arrow().to_pylist()[0]["v"]


def test_a_tag_keeps_its_rows_when_its_snapshot_expires_and_gives_them_up_when_deleted(t):
    t.tags.create("v2", version=2)
    report = t.expire_snapshots(retain_max=1)
    assert report.snapshots == [1, 2, 3, 4, 5]
    assert (value(t, tag="v2"), value(t), value(t, version="v2")) == (2, 5, 2)
    assert t.scan(version=2).count() == 3
    with pytest.raises(errors.SnapshotExpired, match="6 to 6"):
        t.snapshot(3)
    plan = t.tags.delete("v2", dry_run=True)
    assert t.tags.exists("v2")
    gone = t.tags.delete("v2")
    assert {f.path for f in gone.files} == {f.path for f in plan.files}
    assert gone.by_kind["data"]["files"] == 2
    assert gone.freed_bytes > 0
    assert t.maintenance.fsck(deep=True).findings == []


def test_time_travel_falls_back_to_the_closest_earlier_tag(t):
    t.tags.create("v2", version=2)
    t.tags.create("v4", version=4)
    times = {s.id: s.time for s in t.history()}
    t.expire_snapshots(retain_max=1)
    between = times[5] - dt.timedelta(milliseconds=1)
    assert value(t, as_of=max(between, times[4])) == 4
    with pytest.raises(errors.SnapshotNotFound):
        value(t, as_of=times[1] - dt.timedelta(days=1))


def test_a_tag_from_a_time_may_name_what_only_another_tag_keeps(make):
    """The snapshot of that time had expired, but a tag kept it: a later snapshot was named instead."""
    t = make({"id": "INT"}, ["id"], bucket=1)
    for i in range(1, 5):
        t.append([{"id": i}])
        time.sleep(0.005)
    times = {s.id: s.raw["timeMillis"] for s in t.history()}
    t.tags.create("kept", version=2)
    t.expire_snapshots(retain_max=1)
    assert t.tags.create_from_timestamp("first", 0).id == 2
    assert t.tags.create_from_timestamp("same", times[2]).id == 2
    assert t.tags.create_from_timestamp("next", times[2] + 1).id == 4
    assert [t.scan(tag=tag).count() for tag in ("first", "same", "next")] == [2, 2, 4]
    with pytest.raises(errors.SnapshotNotFound, match="at or after") as caught:
        t.tags.create_from_timestamp("late", times[4] + 1)
    assert (caught.value.context["table"], caught.value.hint.startswith("the latest is 4")) == (t.name, True)


def test_tag_files_are_copies_of_snapshot_files_and_know_their_retention(t):
    t.tags.create("plain")
    t.tags.create("kept", retain="26 h")
    folder = pathlib.Path(t.location)
    snapshot = (folder / "snapshot" / "snapshot-6").read_text()
    assert (folder / "tag" / "tag-plain").read_text() == snapshot
    raw = json.loads((folder / "tag" / "tag-kept").read_text())
    assert raw["tagTimeRetained"] == 93600.0
    assert len(raw["tagCreateTime"]) in (5, 6, 7)
    tag = t.tags.get("kept")
    assert tag.time_retained == dt.timedelta(hours=26)
    assert (tag.tag_name, tag.tagged_snapshot_id, tag.record_count) == ("kept", 6, t.snapshot().total_rows)
    assert t.tags.expire().tags == []
    later = dt.datetime.now() + dt.timedelta(days=1)
    assert sorted(t.tags.expire(older_than=later).tags) == ["kept", "plain"]


@pytest.mark.parametrize("name", ["", "  ", "a/b", "a\\b", "a\nb", "..", "12", "x" * 300])
def test_names_that_cannot_be_tags_are_refused(t, name):
    with pytest.raises(errors.InvalidArgument):
        t.tags.create(name)
    with pytest.raises(errors.InvalidArgument):
        t.branches.create(name)
    assert (t.tags.list(), t.branches.list()) == ([], [])


MISLEADING = {
    "a space behind": "v1 ",
    "a space before": " v1",
    "a turn of the direction": "v1\u202egpj",
    "an isolated direction": "v\u20661",
    "a space without width": "v\u200b1",
    "a byte order mark": "\ufeffv1",
    "a separator of lines": "v\u20281",
    "a soft hyphen": "v\xad1",
    "a star": "v*",
    "a question mark": "v?",
}


@pytest.mark.parametrize("name", MISLEADING.values(), ids=MISLEADING)
def test_names_that_look_like_others_are_not_given_but_read_and_deleted(t, name):
    """Java gives them all; a person or a shell takes them for other names."""
    with pytest.raises(errors.InvalidArgument, match="cannot be the name of a tag"):
        t.tags.create(name)
    with pytest.raises(errors.InvalidArgument, match="cannot be the name of a branch"):
        t.branches.create(name)
    t.tags.create("v", version=2)
    tags = pathlib.Path(t.location) / "tag"
    (tags / f"tag-{name}").write_bytes((tags / "tag-v").read_bytes())
    assert (t.tags.get(name).id, value(t, tag=name)) == (2, value(t, version=2))
    t.tags.rename(name, "w")
    t.tags.delete("w")
    (tags / f"tag-{name}").write_bytes((tags / "tag-v").read_bytes())
    t.tags.delete(name)
    assert [tag.name for tag in t.tags.list()] == ["v"]
    t.branches.create("b", tag="v")
    branches = pathlib.Path(t.location) / "branch"
    (branches / "branch-b").rename(branches / f"branch-{name}")
    assert value(st.open_table(t.location, branch=name)) == value(t, version=2)
    t.branches.delete(name)
    assert t.branches.list() == []


def test_a_branch_with_a_dollar_sign_could_not_be_named(t):
    with pytest.raises(errors.InvalidArgument, match="dollar sign"):
        t.branches.create("a$files")
    t.tags.create("a$files")


def test_a_version_that_is_gone_is_told_with_the_nearest_that_are_there(t):
    """A tag that alone keeps a version is as good a choice as a snapshot."""
    t.tags.create("two", version=2)
    t.tags.create("five", version=5)
    t.maintenance.expire_snapshots(retain_max=1)
    with pytest.raises(errors.SnapshotExpired) as caught:
        t.scan(version=3).count()
    assert "the nearest is tag 'two' of snapshot 2, or tag 'five' of snapshot 5" in caught.value.hint
    with pytest.raises(errors.SnapshotExpired) as caught:
        t.rollback(version=1)
    assert "the nearest is tag 'two' of snapshot 2" in caught.value.hint
    with pytest.raises(errors.SnapshotNotFound) as caught:
        t.scan(version=9).count()
    assert caught.value.hint == "the nearest is snapshot 6"
    with pytest.raises(errors.SnapshotExpired) as caught:
        t.snapshot(5)
    assert "tag 'five' of snapshot 5, or snapshot 6" in caught.value.hint


def test_numeric_names_are_allowed_on_demand_and_win_over_snapshot_ids(t):
    t.tags.create("2", version=4, allow_numeric=True)
    assert value(t, version="2") == 4


@pytest.mark.parametrize(("version", "expected"), [(2, 2), ("2", 4), ("3", 3)])
def test_a_number_is_a_snapshot_and_a_text_a_tag_before_anything_else(t, version, expected):
    """A scan took the tag for the number, a rollback the snapshot for the text."""
    t.tags.create("2", version=4, allow_numeric=True)
    assert value(t, version=version) == expected
    assert t.tags.create("of", version=version).id == expected
    assert t.rollback(version=version, dry_run=True).details["current_snapshot"] == expected
    assert next(iter(t.changes(version))).snapshot_id == expected
    files = t.inspect("files", version=version).to_arrow()
    assert files.num_rows == len(t.files(version=expected))


def test_two_versions_are_two_numbers_or_two_texts(t):
    for number, name in ((3, "1"), (4, "2")):
        t.tags.create(name, version=number, allow_numeric=True)
    assert t.scan(between=(1, 2)).explain() != t.scan(between=("1", "2")).explain()
    with pytest.raises(errors.InvalidArgument, match="two tags or two snapshot ids"):
        t.scan(between=(1, "2"))


def test_what_is_missing_or_in_the_way_is_said_with_the_nearest_choice(t):
    t.tags.create("2026-Q4")
    for call in (
        lambda: t.tags.get("2026-Q5"),
        lambda: t.tags.delete("2026-Q5"),
        lambda: t.tags.replace("2026-Q5"),
        lambda: t.tags.rename("2026-Q5", "x"),
        lambda: t.rollback(tag="2026-Q5"),
        lambda: t.branches.create("b", tag="2026-Q5"),
    ):
        with pytest.raises(errors.TagNotFound, match="2026-Q4"):
            call()
    with pytest.raises(errors.TagExists):
        t.tags.create("2026-Q4")
    assert t.tags.create("2026-Q4", version=1, if_not_exists=True).id == 6
    with pytest.raises(errors.SnapshotNotFound, match="1 to 6"):
        t.tags.create("v9", version=9)
    with pytest.raises(errors.InvalidArgument, match="30 d"):
        t.tags.create("x", retain="soon")
    with pytest.raises(errors.InvalidArgument):
        t.expire_snapshots(retain_max=1, retain_min=2)
    t.branches.create("dev")
    with pytest.raises(errors.BranchExists):
        t.branches.create("dev")
    with pytest.raises(errors.BranchNotFound, match="dev"):
        t.branches.delete("deb")
    with pytest.raises(errors.SnapshotNotFound):
        t.branches.fast_forward("dev")
    for name in ("main", "7"):
        with pytest.raises(errors.InvalidArgument):
            t.branches.create(name)
    with pytest.raises(errors.VersionInUse):
        st.open_table(t.location, branch="dev").branches.delete("dev")


def test_rollback_removes_what_is_later_and_orphan_cleaning_its_files(t):
    t.tags.create("late", version=5)
    t.tags.create("early", version=3)
    plan = t.rollback(version=4, dry_run=True)
    assert plan.details == {"previous_snapshot": 6, "current_snapshot": 4}
    assert t.snapshot().id == 6
    t.rollback(version=4)
    assert (t.snapshot().id, value(t), [tag.name for tag in t.tags.list()]) == (4, 4, ["early"])
    later = dt.datetime.now() + dt.timedelta(seconds=-1)
    assert t.maintenance.remove_orphan_files(older_than="1d").deleted_files == 0
    with pytest.raises(errors.InvalidArgument):
        t.maintenance.remove_orphan_files(older_than=later + dt.timedelta(days=1))
    listed = t.maintenance.remove_orphan_files(older_than="0s")
    assert listed.dry_run
    assert listed.by_kind["data"]["files"] == 2
    removed = t.maintenance.remove_orphan_files(older_than="0s", dry_run=False)
    assert removed.deleted_files == listed.deleted_files
    assert t.maintenance.fsck(deep=True).findings == []
    t.append([{"id": 1, "v": 100}])
    assert (t.snapshot().id, value(t)) == (5, 100)


def test_rollback_to_a_tag_whose_snapshot_has_expired(t):
    t.tags.create("v2", version=2)
    t.expire_snapshots(retain_max=1)
    t.rollback(tag="v2")
    assert (t.snapshot().id, value(t)) == (2, 2)
    t.append([{"id": 1, "v": 7}])
    assert value(t) == 7
    assert t.maintenance.fsck(deep=True).ok


def test_branches_are_written_read_and_brought_back(t):
    t.tags.create("v3", version=3)
    t.branches.create("fix", tag="v3")
    fix = st.open_table(t.location, branch="fix")
    assert value(fix) == 3
    fix.append([{"id": 1, "v": 33}])
    assert (value(fix), value(t)) == (33, 5)
    with pytest.raises(errors.VersionInUse):
        t.tags.delete("v3")
    with pytest.raises(errors.VersionInUse):
        t.rollback(version=2)
    t.branches.rename("fix", "better")
    t.branches.fast_forward("better")
    assert (value(t), t.snapshot().id) == (33, 4)
    t.branches.delete("better")
    t.tags.delete("v3")
    assert t.maintenance.fsck(deep=True).ok


def test_fsck_finds_what_was_broken_and_says_what_to_do(t):
    live = t.files()[0]
    pathlib.Path(live["path"]).write_bytes(b"short")
    verdict = t.maintenance.fsck()
    assert not verdict.ok
    assert {f.code for f in verdict.problems} == {"wrong-size"}
    assert all(f.repair for f in verdict.findings)
    pathlib.Path(live["path"]).unlink()
    assert "missing-file" in {f.code for f in t.maintenance.fsck().problems}
    stray = pathlib.Path(t.location) / "manifest" / "manifest-stray"
    stray.write_bytes(b"x")
    (pathlib.Path(t.location) / "snapshot" / "snapshot-2").write_text("{ nonsense")
    codes = {f.code for f in t.maintenance.fsck().findings}
    assert {"bad-snapshot", "unknown-references"} <= codes


def test_what_cannot_be_done_at_all_is_said_first(t):
    """Renaming main was told as deleting it; partitions of a table without any were asked for their age."""
    with pytest.raises(errors.InvalidArgument, match="main cannot be renamed") as caught:
        t.branches.rename("main", "other")
    assert caught.value.context["table"] == t.name
    with pytest.raises(errors.InvalidArgument, match="not partitioned"):
        t.maintenance.expire_partitions()


def test_partitions_expire_by_their_values(make):
    old, new = "2020-01-01", dt.date.today().isoformat()
    t = make({"dt": "STRING", "id": "INT"}, ["dt", "id"], ["dt"], bucket=1, write_only="true")
    t.append([{"dt": old, "id": 1}, {"dt": new, "id": 2}, {"dt": "x", "id": 3}])
    plan = t.maintenance.expire_partitions(expiration_time="30 d", dry_run=True)
    assert plan.details["partitions"] == [f"dt={old}"]
    assert any("dt=x" in note for note in plan.notes)
    assert t.scan().count() == 3
    t.maintenance.expire_partitions(expiration_time="30 d")
    assert sorted(r["dt"] for r in t.scan(["dt"]).to_arrow().to_pylist()) == [new, "x"]
    with pytest.raises(errors.InvalidArgument):
        t.maintenance.expire_partitions()


def test_commits_make_tags_and_expire_by_the_tables_options(make):
    t = make(
        {"id": "INT"},
        ["id"],
        bucket=1,
        **{
            "tag__automatic-creation": "batch",
            "tag__batch__customized-name": "nightly",
            "snapshot__num-retained__min": 1,
            "snapshot__num-retained__max": 2,
        },
    )
    for i in range(6):
        assert t.append([{"id": i}]).notes == []
    assert [s.id for s in t.history()][-1] > 1
    assert t.tags.get("nightly").id == t.snapshot().id
    assert t.maintenance.fsck(deep=True).ok


def test_statistics_are_what_the_columns_hold(t):
    snapshot = t.maintenance.analyze().snapshot
    raw = json.loads((pathlib.Path(t.location) / "statistics" / snapshot.raw["statistics"]).read_text())
    assert (snapshot.kind, raw["mergedRecordCount"]) == ("ANALYZE", 6)
    assert raw["colStats"]["id"] == {
        "colId": 0,
        "distinctCount": 6,
        "min": "1",
        "max": "50",
        "nullCount": 0,
        "avgLen": 4,
        "maxLen": 4,
    }
    t.append([{"id": 1, "v": None}])
    assert t.snapshot().raw["statistics"] == snapshot.raw["statistics"]


def test_a_replaced_tag_keeps_its_retention(make):
    """It was kept for ever after, as by Java."""
    t = make({"id": "INT"}, ["id"], bucket=1)
    t.upsert([{"id": 1}])
    before = t.tags.create("current", retain="30 d")
    t.upsert([{"id": 2}])
    after = t.tags.replace("current")
    assert (after.id, after.time_retained) == (2, dt.timedelta(days=30))
    assert after.create_time > before.create_time
    assert t.tags.replace("current", retain="7 d").time_retained == dt.timedelta(days=7)


def test_the_time_of_a_tag_is_compared_with_other_times(make):
    """It had no zone, and Python compares such times with no others."""
    t = make({"id": "INT"}, ["id"], bucket=1)
    t.upsert([{"id": 1}])
    tag = t.tags.create("v1", retain="1 d")
    assert abs(tag.create_time - tag.commit_time) < dt.timedelta(minutes=1)
    assert tag.create_time.tzinfo is dt.UTC
