"""A duration, a size and a name mean the same wherever they are written: in Python, on the command line, in procedures.

`retain="7 days"` worked and `older_than="7 days"` did not, because Python and Rust each had a grammar.
"""

import datetime as dt

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone.cli.__main__ import main
from siltstone.inspection import SUBJECTS
from siltstone.procedures import parse_call, run_call

WEEKS = ["7 days", "7d", "7 D", "168 h", "10080min", "P7D", "604800000 ms"]


def called(cat, sql):
    return run_call(parse_call(sql), cat.table)


def command(cat, *words):
    try:
        main(["-w", cat.warehouse, "-o", "json", *words])
    except SystemExit as stop:
        if stop.code not in (None, 0):
            raise e.InvalidArgument("the command failed") from None


@pytest.fixture
def t(make):
    t = make({"dt": "STRING", "id": "INT"}, ["dt", "id"], ["dt"], name="t", bucket=1, write_only="true")
    for i in range(3):
        t.upsert([{"dt": "2020-01-01", "id": i}])
    t.tags.create("old")
    return t


#: Every place that takes a duration.
PLACES = {
    "tags.create": lambda cat, t, text: t.tags.create("new", retain=text),
    "tags.replace": lambda cat, t, text: t.tags.replace("old", version=1, retain=text),
    "tags.create_from_timestamp": lambda cat, t, text: t.tags.create_from_timestamp("new", 0, retain=text),
    "tags.expire": lambda cat, t, text: t.tags.expire(older_than=text),
    "expire_snapshots": lambda cat, t, text: t.maintenance.expire_snapshots(retain_min=1, older_than=text),
    "t.expire_snapshots": lambda cat, t, text: t.expire_snapshots(retain_min=1, older_than=text),
    "by_options": lambda cat, t, text: t.maintenance.expire_snapshots_by_options(older_than=text),
    "expire_consumers": lambda cat, t, text: t.maintenance.expire_consumers(older_than=text),
    "remove_orphan_files": lambda cat, t, text: t.maintenance.remove_orphan_files(older_than=text, dry_run=False),
    "expire_partitions": lambda cat, t, text: t.maintenance.expire_partitions(expiration_time=text, dry_run=True),
    "plan_compaction": lambda cat, t, text: t.maintenance.plan_compaction(idle=text),
    "compact": lambda cat, t, text: t.maintenance.compact(idle=text),
    "cli tag create": lambda cat, t, text: command(cat, "tag", "create", "db.t", "new", "--retain", text),
    "cli create-tag": lambda cat, t, text: command(cat, "create-tag", "db.t", "--name", "new", "--retain", text),
    "cli tag expire": lambda cat, t, text: command(cat, "tag", "expire", "db.t", "--older-than", text, "--yes"),
    "cli expire tags": lambda cat, t, text: command(cat, "expire", "tags", "db.t", "--older-than", text, "--yes"),
    "cli expire snapshots": lambda cat, t, text: command(
        cat, "expire", "snapshots", "db.t", "--older-than", text, "--yes"
    ),
    "cli expire partitions": lambda cat, t, text: command(
        cat, "expire", "partitions", "db.t", "--expiration-time", text, "--dry-run"
    ),
    "cli clean orphans": lambda cat, t, text: command(cat, "clean", "orphans", "db.t", "--older-than", text),
    "cli compact": lambda cat, t, text: command(cat, "compact", "db.t", "--idle", text),
    "sys.create_tag": lambda cat, t, text: called(
        cat, f"CALL sys.create_tag(table => 'db.t', tag => 'new', time_retained => '{text}')"
    ),
    "sys.expire_tags": lambda cat, t, text: called(
        cat, f"CALL sys.expire_tags(table => 'db.t', older_than => '{text}')"
    ),
    "sys.expire_snapshots": lambda cat, t, text: called(
        cat, f"CALL sys.expire_snapshots(table => 'db.t', older_than => '{text}')"
    ),
    "sys.remove_orphan_files": lambda cat, t, text: called(
        cat, f"CALL sys.remove_orphan_files(table => 'db.t', older_than => '{text}')"
    ),
    "sys.compact": lambda cat, t, text: called(
        cat, f"CALL sys.compact(table => 'db.t', partition_idle_time => '{text}')"
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_seven_days_are_seven_days_everywhere(cat, t, place):
    """Nothing of this table is that old."""
    for text in WEEKS:
        PLACES[place](cat, t, text)
        if t.tags.exists("new"):
            assert t.tags.get("new").time_retained == dt.timedelta(days=7)
            t.tags.delete("new")
        assert t.scan().count() == 3
        assert len(t.history(None)) >= 3 and t.tags.exists("old")
    if not place.startswith(("cli", "sys.")):
        PLACES[place](cat, t, dt.timedelta(days=7))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", ["7 weeks", "seven days", "-7 d", "99999999999999999999 d"])
def test_what_is_no_duration_is_refused_everywhere(cat, t, place, text):
    with pytest.raises(e.InvalidArgument):
        PLACES[place](cat, t, text)
    assert t.scan().count() == 3 and len(t.history(None)) == 3 and t.tags.exists("old")


def test_an_age_is_a_duration_or_a_time(t):
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)
    for older_than in ("0 ms", dt.timedelta(0), soon, soon.isoformat()):
        plan = t.maintenance.expire_snapshots(retain_min=1, older_than=older_than, dry_run=True)
        assert plan.snapshots == [1, 2], older_than
    for older_than in ("1 h", 0, "2020-01-01", dt.timedelta(hours=1)):
        assert t.maintenance.expire_snapshots(retain_min=1, older_than=older_than, dry_run=True).snapshots == []
    with pytest.raises(e.InvalidArgument, match="is not a time") as caught:
        t.maintenance.remove_orphan_files(older_than="soon")
    assert "7 d" in caught.value.hint


def test_negative_durations_are_refused(t):
    with pytest.raises(e.InvalidArgument, match="not a duration"):
        t.maintenance.plan_compaction(idle=dt.timedelta(days=-1))


def test_orphans_are_a_day_old_where_nothing_is_said(cat, t):
    """The default was written three times: in Python, on the command line and in the procedure."""
    t.maintenance.remove_orphan_files(dry_run=False)
    command(cat, "clean", "orphans", "db.t", "--delete", "--yes")
    assert called(cat, "CALL sys.remove_orphan_files(table => 'db.t')").rows == [(0, 0)]


@pytest.mark.parametrize("text", ["64mb", "64 MB", "65536 kb", "67108864", "64 mebibytes"])
def test_sizes_are_those_of_options(t, text):
    assert t.scan(memory_limit=text).count() == 3
    with t.writer(memory_limit=text) as w:
        w.write([{"dt": "2020-01-01", "id": 9}])
        w.discard()
    st.open_table(t.location, options={"write-buffer-size": text})


@pytest.mark.parametrize("text", ["64 apples", "mb", "-1", "1.5 gb", ""])
def test_what_is_no_size_is_refused(t, text):
    with pytest.raises(e.InvalidArgument, match="size"):
        t.scan(memory_limit=text)
    with pytest.raises(e.InvalidArgument, match="size"):
        t.writer(memory_limit=text)


@pytest.mark.parametrize(
    "suffix", ["$", "$branch_", "$files$branch_b", "$files$files", "$branch_b$branch_b", "$branch_b$files$x"]
)
def test_names_and_directories_have_the_same_suffixes(cat, t, suffix):
    for opened in (
        lambda: cat.table(f"db.t{suffix}"),
        lambda: st.open_table(f"{t.location}{suffix}"),
        lambda: st.open_table(f"db.t{suffix}", catalog=cat),
    ):
        with pytest.raises(e.InvalidArgument, match=r"after '\$' comes"):
            opened()


def test_a_branch_is_named_once_or_twice_the_same(cat, t):
    t.branches.create("b", tag="old")
    for opened in (
        cat.table("db.t$branch_b"),
        cat.table("db.t", branch="b"),
        cat.table("db.t$branch_b", branch="b"),
        st.open_table(t.location, branch="b"),
        st.open_table(f"{t.location}$branch_b", branch="b"),
        st.open_table("db.t", catalog=cat, branch="b"),
        st.open_table(f"{t.location}$files", branch="b"),
    ):
        assert opened.branch == "b"
    for wrong in (
        lambda: cat.table("db.t$branch_b", branch="c"),
        lambda: st.open_table(f"{t.location}$branch_b", branch="c"),
        lambda: st.open_table("db.t$branch_b", catalog=cat, branch="c"),
    ):
        with pytest.raises(e.InvalidArgument, match="'b'.*'c'"):
            wrong()


def test_a_text_is_a_tag_before_a_time_and_a_time_before_an_id(t):
    def first(start):
        return next(t.changes(start)).snapshot_id

    assert first("old") == 3
    t.tags.create("2020-01-01", version=2)
    assert first("2020-01-01") == 2
    t.tags.delete("2020-01-01")
    assert first("2020-01-01") == 1
    assert first("2") == first(2) == 2


def test_the_list_of_system_tables_is_the_cores(t):
    with pytest.raises(e.TableNotFound) as caught:
        t.inspect("no_such_table")
    assert caught.value.hint == "system tables: " + ", ".join(SUBJECTS)
    for name, subject in SUBJECTS.items():
        if subject == "table":
            with pytest.raises(e.UnsupportedFeature, match="no single snapshot"):
                t.inspect(name, version=1)
        elif name == "row_tracking":
            with pytest.raises(e.InvalidArgument, match="rows of the table have no ids"):
                t.inspect(name, version=1)
        else:
            t.inspect(name, version=1)
        assert f"``{name}``" in t.inspect.__doc__
