"""One resolver for every way to name a version, automatic tags, and handles that travel."""

import copy
import datetime as dt
import pathlib
import pickle
import time

import pytest
import siltstone as st
from siltstone import errors

DAY = 86_400_000
#: 2024-05-02 00:30 UTC
WATERMARK = 1_714_609_800_000


@pytest.fixture
def t(make):
    """Five snapshots; the watermark of snapshot n is 100 n."""
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, write_only="true")
    for i in range(1, 6):
        write(t, i, 100 * i)
    return t


def write(t, value, watermark=None):
    with t.writer() as w:
        w.write([{"id": 1, "v": value}, {"id": 10 * value, "v": value}])
        w.commit(watermark=watermark)


def value(t, **options):
    table = st.open_table(t.location, options={key: str(v) for key, v in options.items()})
    return table.scan(["v"], "id = 1").to_arrow().to_pylist()[0]["v"]


def test_options_name_a_version(t):
    t.tags.create("v2", version=2)
    third = t.snapshot(3).raw["timeMillis"]
    text = dt.datetime.fromtimestamp(third / 1000).isoformat(sep=" ", timespec="milliseconds")
    for options, expected in [
        ({"scan.snapshot-id": 4}, 4),
        ({"scan.tag-name": "v2"}, 2),
        ({"scan.version": "v2"}, 2),
        ({"scan.version": "4"}, 4),
        ({"scan.version": "watermark-250"}, 3),
        ({"scan.watermark": 250}, 3),
        ({"scan.watermark": 300}, 3),
        ({"scan.timestamp-millis": third}, 3),
        ({"scan.timestamp": text}, 3),
        ({"scan.mode": "from-snapshot", "scan.snapshot-id": 4}, 4),
        ({"scan.mode": "from-snapshot", "scan.tag-name": "v2"}, 2),
        ({"scan.mode": "from-snapshot-full", "scan.snapshot-id": 4}, 4),
        ({"scan.mode": "from-timestamp", "scan.timestamp-millis": third}, 3),
        ({"scan.mode": "latest-full"}, 5),
        ({"scan.mode": "latest"}, 5),
        ({"scan.mode": "compacted-full"}, 5),
    ]:
        assert value(t, **options) == expected, options
    t.compact(full=True)
    write(t, 6)
    assert (value(t), value(t, **{"scan.mode": "compacted-full"})) == (6, 5)


def test_files_made_since_a_time(make):
    """`from-file-creation-time` reads some files of the latest version; `from-creation-timestamp` a version, if it can."""
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, write_only="true")
    for i in range(1, 5):
        write(t, i)
        time.sleep(0.01)
    times = {s.id: s.raw["timeMillis"] for s in t.history()}

    def ids(**options):
        table = st.open_table(t.location, options={k: str(v) for k, v in options.items()})
        found = sorted(r["id"] for r in table.scan().to_arrow().to_pylist())
        assert table.scan().count() == len(found)
        return found

    since = {"scan.file-creation-time-millis": times[2] + 1}
    assert ids(**since) == ids(**since, **{"scan.mode": "from-file-creation-time"}) == [1, 30, 40]
    assert ids(**{"scan.file-creation-time-millis": times[4] + 1}) == []
    assert ids(**{"scan.file-creation-time-millis": 0}) == [1, 10, 20, 30, 40]
    # the first snapshot at or after the time, which needs one before it
    for millis, expected in [
        (times[2] + 1, [1, 10, 20, 30]),
        (times[2], [1, 10, 20]),
        (times[1] + 1, [1, 10, 20]),
        # the others: files of the latest
        (0, [1, 10, 20, 30, 40]),
        (times[4] + 1, []),
    ]:
        since = {"scan.creation-time-millis": millis}
        assert ids(**since) == ids(**since, **{"scan.mode": "from-creation-timestamp"}) == expected, millis - times[1]
    for bad in [
        {"scan.mode": "from-file-creation-time"},
        {"scan.mode": "from-creation-timestamp"},
        {"scan.mode": "from-file-creation-time", "scan.creation-time-millis": 0},
        {"scan.mode": "from-snapshot", "scan.file-creation-time-millis": 0},
        {"scan.snapshot-id": 1, "scan.creation-time-millis": 0},
        {"scan.creation-time-millis": "soon"},
    ]:
        with pytest.raises(errors.InvalidOption):
            ids(**bad)
    with pytest.raises(errors.InvalidOption, match="cannot be changed"):
        st.open_table(t.location, options={"scan.creation-time-millis": "0"}).delete(where="id = 1")


def test_a_stream_begins_with_the_files_made_since_a_time(make):
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, write_only="true")
    for i in range(1, 4):
        write(t, i)
        time.sleep(0.01)
    second = t.snapshot(2).raw["timeMillis"]

    def stream(**options):
        table = st.open_table(t.location, options={k: str(v) for k, v in options.items()})
        return [sorted(r["id"] for r in batch.to_pylist()) for batch in table.changes(follow=False)]

    assert stream(**{"scan.file-creation-time-millis": second + 1}) == [[1, 30]]
    assert stream(**{"scan.creation-time-millis": second}) == [[1, 20], [1, 30]]
    assert stream(**{"scan.mode": "from-creation-timestamp", "scan.creation-time-millis": 0}) == [[1, 10, 20, 30]]
    with pytest.raises(errors.InvalidOption, match="from-creation-timestamp needs an option"):
        stream(**{"scan.mode": "from-creation-timestamp"})


def test_options_that_contradict_each_other_are_refused(t):
    t.tags.create("v2", version=2)
    for options in [
        {"scan.snapshot-id": 2, "scan.tag-name": "v2"},
        {"scan.mode": "latest-full", "scan.snapshot-id": 2},
        {"scan.mode": "from-timestamp", "scan.snapshot-id": 2},
        {"scan.mode": "from-snapshot", "scan.timestamp-millis": 0},
        {"scan.mode": "from-snapshot-full", "scan.tag-name": "v2"},
        {"scan.mode": "from-snapshot"},
        {"scan.mode": "soon"},
        {"scan.timestamp": "soon"},
    ]:
        with pytest.raises(errors.InvalidOption):
            value(t, **options)
    for options in [{"scan.watermark": 501}, {"scan.version": "watermark-501"}]:
        with pytest.raises(errors.SnapshotNotFound, match="highest watermark is 500"):
            value(t, **options)


def test_a_version_that_is_nothing_names_the_nearest_tag(t):
    with pytest.raises(errors.TagNotFound, match="watermark-N"):
        t.scan(version="2026-Q4").count()
    for name in ("2026-Q3", "2026-Q4", "other"):
        t.tags.create(name)
    with pytest.raises(errors.TagNotFound, match="did you mean the tag '2026-Q4'"):
        t.scan(version="2026-Q44").count()
    with pytest.raises(errors.SnapshotNotFound, match="1 to 5"):
        t.scan(version="6").count()
    with pytest.raises(errors.InvalidArgument, match="is not a time"):
        t.scan(as_of="yesterday").count()
    with pytest.raises(errors.InvalidArgument, match="only one"):
        t.scan(version=1, tag="other").count()


def test_the_least_number_is_no_watermark_and_is_not_carried_on(make):
    """SNAP-20: some writers say so that there is none."""
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, write_only="true")
    write(t, 1, -(2**63))
    write(t, 2)
    assert [t.snapshot(n).raw.get("watermark") for n in (1, 2)] == [None, None]
    write(t, 3, 5)
    write(t, 4, -(2**63))
    assert [t.snapshot(n).watermark for n in (3, 4)] == [5, 5]


@pytest.mark.parametrize(
    "query",
    [{"version": 9}, {"version": "x"}, {"version": "watermark-900"}, {"tag": "x"}, {"as_of": 1}],
    ids=lambda query: "-".join(map(str, *query.items())),
)
def test_an_error_about_a_version_names_the_table(t, query):
    for read in (lambda: t.scan(**query).count(), lambda: t.scan(**query).to_arrow()):
        with pytest.raises((errors.SnapshotNotFound, errors.TagNotFound)) as caught:
            read()
        assert caught.value.context["table"] == t.name
    with pytest.raises(errors.InvalidOption) as caught:
        value(t, **{"scan.mode": "from-snapshot"})
    assert caught.value.context["table"] == t.name


def test_neighbours_of_tags_and_what_lies_between_two(t):
    for name, version in (("a", 1), ("b", 3), ("c", 5)):
        t.tags.create(name, version=version)
    assert [t.tags.previous(n) for n in "abc"] == [None, "a", "b"]
    assert [t.tags.next(n) for n in "abc"] == ["b", "c", None]
    assert sorted(r["id"] for r in t.scan(between=("a", "b")).to_arrow().to_pylist()) == [1, 20, 30]
    assert t.scan(between=("b", "b")).count() == 0
    with pytest.raises(errors.InvalidArgument, match="swap"):
        t.scan(between=("b", "a")).count()
    with pytest.raises(errors.TagNotFound, match="did you mean"):
        t.scan(between=("a", "d")).count()
    with pytest.raises(errors.InvalidArgument, match="two tags or two snapshot ids"):
        t.scan(between=("a", 3)).count()


def test_a_broken_tag_file_is_named_and_nothing_is_deleted(t):
    t.tags.create("good", version=2)
    broken = pathlib.Path(t.location) / "tag" / "tag-broken"
    for junk in (b"", b"{", b"{}", b"\xff", b"[]"):
        broken.write_bytes(junk)
        before = sorted(pathlib.Path(t.location).rglob("*-*"))
        for call in (
            lambda: t.tags.get("broken"),
            lambda: t.tags.delete("broken"),
            lambda: t.tags.delete("good"),
            lambda: t.tags.expire(),
            lambda: t.rollback(tag="broken"),
            lambda: t.scan(tag="broken").count(),
            lambda: t.branches.create("b", tag="broken"),
            lambda: t.expire_snapshots(retain_max=1),
            lambda: t.maintenance.remove_orphan_files(older_than="1d"),
            lambda: t.inspect("tags").to_arrow(),
        ):
            with pytest.raises(errors.CorruptFile, match="tag-broken"):
                call()
        assert sorted(pathlib.Path(t.location).rglob("*-*")) == before
        assert [tag.name for tag in t.tags.list()] == ["good"]  # with a warning: tests/spec/test_damaged_versions.py
        assert "bad-tag" in {f.code for f in t.maintenance.fsck().problems}
        # rows are read and written as ever
        assert (t.scan(tag="good").count(), t.scan().count()) == (3, 6)
    broken.unlink()
    assert [tag.name for tag in t.tags.list()] == ["good"]


@pytest.mark.parametrize("retain", ["soon", "", "-3 d", "0 d", "1.5 d", "9999999999999 d", 3, dt.timedelta(days=-1)])
def test_retentions_that_mean_nothing_are_refused(t, retain):
    with pytest.raises(errors.InvalidArgument):
        t.tags.create("x", retain=retain)
    assert t.tags.list() == []


@pytest.mark.parametrize(
    "options",
    [
        {"tag.create-time": "00:30", "tag.create-interval": "1 d"},
        {"tag.create-time": "00:30"},
        {"tag.creation-period": "daily", "tag.creation-delay": "30 min", "tag.automatic-creation": "watermark"},
    ],
)
def test_tags_are_made_each_day_by_the_documents_options_and_by_javas(make, options):
    """The last finished day is tagged, from the delay after midnight on."""
    by_watermark = {"tag.automatic-creation": "watermark", **options}
    # a write-only table makes no tags at commit, as in Java
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, **{"num-sorted-run.compaction-trigger": 99})
    t.alter().set_option("tag.num-retained-max", "2").commit()
    alter = t.alter()
    for key, option in by_watermark.items():
        alter = alter.set_option(key, option)
    alter.commit()
    seen = []
    for day, minute in [(0, 0), (0, 10), (1, -1), (1, 0), (2, 5), (3, 0)]:
        write(t, day + 1, WATERMARK + day * DAY + minute * 60_000)
        seen.append([tag.name for tag in t.tags.list()])
    assert seen == [
        ["2024-05-01"],
        ["2024-05-01"],
        ["2024-05-01"],
        ["2024-05-01", "2024-05-02"],
        ["2024-05-02", "2024-05-03"],
        ["2024-05-03", "2024-05-04"],
    ]
    assert t.tags.get("2024-05-03").id == 5


@pytest.mark.parametrize(
    "key, wrong",
    [
        ("tag.automatic-creation", "sometimes"),
        ("tag.creation-period", "weekly"),
        ("tag.create-time", "25:00"),
        ("tag.create-interval", "12 h"),
        ("tag.default-time-retained", "soon"),
        ("tag.num-retained-max", "0"),
    ],
)
def test_options_of_tags_that_do_not_parse_are_refused(t, key, wrong):
    with pytest.raises(errors.InvalidOption) as caught:
        t.alter().set_option(key, wrong).commit()
    assert caught.value.context["option"] == key


def test_a_branch_that_is_not_there_is_named_with_the_nearest(t, cat):
    t.branches.create("dev")
    with pytest.raises(errors.BranchNotFound, match="did you mean 'dev'"):
        st.open_table(t.location, branch="dve")
    with pytest.raises(errors.BranchNotFound, match="branches: dev"):
        cat.table(f"{t.name}$branch_dve")


def test_the_parts_of_a_table_travel(t):
    t.tags.create("v2", version=2)
    t.branches.create("dev")
    again = st.open_table(t.location, options={"scan.tag-name": "v2"})
    tags = pickle.loads(pickle.dumps(again.tags))
    assert tags.get("v2").id == 2
    assert copy.deepcopy(t.branches).exists("dev")
    assert pickle.loads(pickle.dumps(t.consumers)).list() == []
    assert pickle.loads(pickle.dumps(t.maintenance)).fsck().ok
    assert pickle.loads(pickle.dumps(st.open_table(t.location, branch="dev").tags)).list() == []


def test_what_cannot_travel_says_what_to_send_instead(t):
    with pytest.raises(TypeError, match="prepare_commit"):
        pickle.dumps(t.writer())
    with pytest.raises(TypeError, match="send the table"):
        pickle.dumps(t.alter())


def test_a_branch_goes_though_another_was_made_from_its_snapshot(t):
    """The branch went, and then the tag that keeps the files of both refused to: an error after the fact."""
    t.branches.create("a", version=1)
    t.branches.create("b", version=1)
    report = t.branches.delete("a")
    assert [branch.name for branch in t.branches.list()] == ["b"]
    assert t.tags.exists("fork-a")
    assert "fork-a" in " ".join(report.notes)


def test_a_tag_that_a_branch_was_made_from_is_not_moved(t):
    """It was: Java, which looks for files of branches by their tags, then expired them."""
    t.tags.create("x", version=3)
    t.branches.create("b", tag="x")
    with pytest.raises(errors.VersionInUse, match="branch 'b'"):
        t.tags.replace("x", version=5)
    assert t.tags.get("x").id == 3
    t.tags.replace("x", version=3, retain="7d")


def test_an_expiry_that_is_refused_leaves_the_hint_where_it_was(t):
    """The hint named the first snapshot to stay; Java then rolled back to a version that nobody asked for."""
    pathlib.Path(t.location, "tag").mkdir(exist_ok=True)
    pathlib.Path(t.location, "tag", "tag-bad").write_text("x")
    with pytest.raises(errors.CorruptFile):
        t.expire_snapshots(retain_max=2)
    hint = pathlib.Path(t.location, "snapshot", "EARLIEST")
    assert not hint.exists() or hint.read_text() == "1"
    assert len(t.scan(between=(1, 5)).to_arrow()) > 0


def test_a_fast_forward_to_a_branch_that_begins_after_mains_newest_version_keeps_its_files(make):
    """Main had compacted after the two parted: what that took away was deleted by the next expiry, and main needed it."""
    t = make({"id": "INT", "s": "STRING"}, ["id"], bucket=1, write_only="true")
    for i in range(3):
        t.upsert([{"id": i, "s": "a"}])
    t.branches.create("b", version=3)
    b = st.open_table(t.location, branch="b")
    t.compact(full=True)
    for i in range(10, 16):
        b.upsert([{"id": i, "s": "b"}])
    b.maintenance.expire_snapshots(retain_max=1)
    t.branches.fast_forward("b")
    expected = [0, 1, 2, *range(10, 16)]
    assert sorted(t.scan().to_arrow()["id"].to_pylist()) == expected
    assert [s.id for s in t.history(100)] == [t.snapshot().id], "main's own versions are no ancestors of the branch's"
    t.branches.delete("b")
    t.maintenance.expire_snapshots(retain_max=1)
    t.upsert([{"id": 99, "s": "c"}])
    t.maintenance.expire_snapshots(retain_max=1)
    assert sorted(t.scan().to_arrow()["id"].to_pylist()) == [*expected, 99]
    assert t.maintenance.fsck(deep=True).ok


@pytest.mark.parametrize("altered", [False, True], ids=["schema goes", "schema is replaced"])
def test_a_fast_forward_never_takes_the_schema_of_a_tag_that_stays(make, altered):
    """The branch's first versions have expired, so main's tags from before stay; they were read under the branch's schema."""
    t = make({"k": "INT", "v": "INT"}, ["k"], bucket=1, write_only="true")
    t.upsert([{"k": 0, "v": 1}])
    t.branches.create("b", version=1)
    t.alter().add_column("x", "INT").commit()
    t = st.open_table(t.location)
    t.upsert([{"k": 1, "v": 1, "x": 99}])
    t.tags.create("keep")
    b = st.open_table(t.location, branch="b")
    if altered:
        b.alter().add_column("y", "INT").commit()
        b = st.open_table(t.location, branch="b")
    for i in range(4):
        b.upsert([{"k": 10 + i, "v": 1}])
    b.maintenance.expire_snapshots(retain_max=1)
    expected = t.scan(tag="keep").to_arrow().to_pylist()
    for dry_run in (True, False):
        with pytest.raises(errors.VersionInUse, match="schema 1 of main would go, and tag 'keep'"):
            t.branches.fast_forward("b", dry_run=dry_run)
    assert st.open_table(t.location).scan(tag="keep").to_arrow().to_pylist() == expected
    t.tags.delete("keep")
    t.branches.fast_forward("b")
    assert sorted(st.open_table(t.location).scan().to_arrow()["k"].to_pylist()) == [0, 10, 11, 12, 13]


@pytest.mark.parametrize("later", [3, 6], ids=["in the place of one of main's", "after all of main's"])
def test_what_a_fast_forward_to_an_expired_branch_took_back_can_be_committed_again(make, later):
    """Identifiers of commits that the branch has, too, stay used; those of main alone are in no version any more."""
    t = make({"k": "INT"}, bucket=-1)

    def commit(identifier):
        with st.open_table(t.location).writer(commit_user="job") as w:
            w.write([{"k": identifier}])
            return w.commit(identifier=identifier).already_committed

    assert not commit(0)
    t.branches.create("b", version=1)
    assert [commit(i) for i in (1, 2, 3)] == [False] * 3
    b = st.open_table(t.location, branch="b")
    for i in range(later):
        b.append([{"k": 100 + i}])
    b.maintenance.expire_snapshots(retain_max=1)
    t.branches.fast_forward("b")
    assert commit(0), "the branch was made from it"
    assert [commit(i) for i in (1, 2, 3)] == [False] * 3
    assert sorted(st.open_table(t.location).scan().to_arrow()["k"].to_pylist()) == [
        0,
        1,
        2,
        3,
        *range(100, 100 + later),
    ]


def test_options_of_one_operation_that_name_columns_hold_for_older_versions_too(make):
    """As soon as the table was altered, an older version was read without them; as in Java they are honoured."""
    t = make({"k": "INT", "v": "INT", "s": "INT"}, ["k"], bucket=1, write_only="true")
    t.upsert([{"k": 1, "v": 1, "s": 9}])
    t.upsert([{"k": 1, "v": 2, "s": 1}])
    t.alter().set_option("snapshot.num-retained.max", "50").add_column("later", "INT").commit()
    by_s = st.open_table(t.location, options={"sequence.field": "s"})
    for version in (None, 2):
        assert by_s.scan(["s"], version=version).to_arrow().to_pylist() == [{"s": 9}], version
        assert t.scan(["s"], version=version).to_arrow().to_pylist() == [{"s": 1}], version
    for options in ({"sequence.field": "later"}, {"fields.later.aggregate-function": "sum"}):
        by_later = st.open_table(t.location, options=options)
        with pytest.raises(errors.InvalidOption, match="'later'"):
            by_later.scan(version=2).to_arrow()


def test_options_of_one_operation_hold_however_the_stored_one_is_spelled(make):
    t = make({"k": "INT"}, ["k"], bucket=1, write_only="false")
    assert st.open_table(t.location, options={"write.compaction-skip": "true"}).options.get("write-only") is None
    t.alter().set_option("write.compaction-skip", "true").commit()
    assert "write-only" not in st.open_table(t.location).options
    t.alter().remove_option("write-only").commit()
    assert "write.compaction-skip" not in st.open_table(t.location).options
