"""Tables with postponed buckets: rows wait until a compaction gives them buckets."""

import logging
import os
import pathlib
import re
import subprocess
import sys

import pytest
from siltstone import errors as e

SCHEMA = {"p": "INT", "k": "INT", "v": "STRING"}


@pytest.fixture
def t(make):
    return make(SCHEMA, ["p", "k"], ["p"], bucket=-2)


def rows(t, **how):
    return {(r["p"], r["k"]): r["v"] for r in t.scan(**how).to_arrow().to_pylist()}


def waiting(t):
    return [r for r in t.inspect("files").to_arrow().to_pylist() if r["bucket"] == -2]


def totals(t):
    """Buckets of each partition, by its files."""
    found = t.inspect("buckets").to_arrow().to_pylist()
    return {(r["partition"], r["bucket"]) for r in found}


def clean(t):
    assert t.maintenance.fsck(deep=True).problems == []


def test_rows_wait_and_the_report_and_the_log_say_what_to_run(t, caplog):
    with caplog.at_level(logging.WARNING):
        report = t.upsert([{"p": 0, "k": 1, "v": "a"}, {"p": 1, "k": 2, "v": "b"}])
    assert (report.rows, report.invisible_rows) == (2, 2)
    assert any("t.compact()" in note for note in report.notes)
    assert t.bucket_mode == "postponed"
    assert rows(t) == {}
    assert t.scan().count() == 0
    clean(t)
    assert t.compact().rows_after == 2
    assert rows(t) == {(0, 1): "a", (1, 2): "b"}
    assert waiting(t) == []
    assert [s.kind for s in t.history()] == ["COMPACT", "APPEND"]
    clean(t)


def test_files_are_as_java_names_them(t):
    with t.writer(commit_user="job7") as w:
        w.write([{"p": 0, "k": 9, "v": "a"}, {"p": 0, "k": 1, "v": "b"}])
        w.commit()
    [file] = waiting(t)
    name = pathlib.Path(file["file_path"])
    assert name.parent.name == "bucket-postpone"
    assert re.fullmatch(r"data--u-job7-s-\d+-w-[0-9a-f-]{36}-0\.\w+", name.name)
    assert (file["level"], file["min_sequence_number"], file["max_sequence_number"]) == (0, -1, -1)
    # as they came
    assert (file["min_key"], file["max_key"]) == ("[9]", "[1]")
    assert file["min_value_stats"] == "{k=null, p=null, v=null}"


def test_later_rows_win_and_deletes_delete(t):
    t.upsert([{"p": 0, "k": k, "v": "old"} for k in range(4)])
    t.upsert([{"p": 0, "k": 1, "v": "new"}, {"p": 0, "k": 1, "v": "newest"}])
    t.append([{"p": 0, "k": 2}], row_kind="-D")
    t.delete(keys=[{"p": 0, "k": 3}])
    t.compact()
    assert rows(t) == {(0, 0): "old", (0, 1): "newest"}
    t.upsert([{"p": 0, "k": 2, "v": "again"}])
    t.compact(full=True)
    assert rows(t) == {(0, 0): "old", (0, 1): "newest", (0, 2): "again"}
    clean(t)


@pytest.mark.parametrize(
    ("options", "buckets"),
    [
        ({}, 1),
        ({"postpone__default_bucket_num": 3}, 3),
        ({"postpone__target_row_num_per_bucket": 100}, 2),
        ({"postpone__target_size_per_bucket": "1 b", "postpone__default_bucket_num": 4}, 4),
    ],
)
def test_a_new_partition_gets_buckets_by_its_size(make, options, buckets):
    t = make(SCHEMA, ["p", "k"], ["p"], bucket=-2, **options)
    t.upsert([{"p": 0, "k": k, "v": "x"} for k in range(200)])
    t.compact()
    assert totals(t) == {("{0}", b) for b in range(buckets)}
    # and keeps them
    t.upsert([{"p": 0, "k": k, "v": "y"} for k in range(1000)] + [{"p": 1, "k": 1, "v": "y"}])
    t.compact()
    assert {b for p, b in totals(t) if p == "{0}"} == set(range(buckets))
    assert len(rows(t)) == 1001
    clean(t)


def test_only_the_asked_partitions_are_compacted(t):
    t.upsert([{"p": p, "k": 1, "v": "a"} for p in range(3)])
    plan = t.maintenance.plan_compaction(where="p > 0")
    assert [(task.partition, task.bucket, task.rows) for task in plan.tasks] == [("p=1", -2, 1), ("p=2", -2, 1)]
    report = t.compact(plan, commit_every=1)
    assert (report.tasks, len(report.snapshots)) == (2, 2)
    assert rows(t) == {(1, 1): "a", (2, 1): "a"}


def test_overwrite_truncate_and_drop_take_what_waits_too(t):
    t.upsert([{"p": p, "k": 1, "v": "a"} for p in range(3)])
    t.compact()
    t.upsert([{"p": p, "k": 2, "v": "b"} for p in range(3)])
    report = t.overwrite([{"p": 0, "k": 3, "v": "c"}])
    assert report.invisible_rows == 1
    t.truncate({"p": 1})
    t.delete(where="p = 2")
    assert rows(t) == {}
    t.compact()
    assert rows(t) == {(0, 3): "c"}
    clean(t)


def test_a_statement_does_not_write_older_rows_over_those_that_wait(t):
    t.upsert([{"p": 0, "k": 1, "v": "a"}, {"p": 1, "k": 1, "v": "a"}])
    t.compact()
    t.upsert([{"p": 0, "k": 1, "v": "b"}])
    with pytest.raises(e.InvalidArgument, match="1 rows wait") as raised:
        t.update({"v": "upper(v)"}, where="k = 1")
    assert "t.compact()" in raised.value.hint
    with pytest.raises(e.InvalidArgument, match="1 rows wait"):
        t.delete(where="v = 'a'")
    # in another partition
    assert t.update({"v": "upper(v)"}, where="k = 1 AND p = 1").affected_rows == 1
    t.compact()
    assert t.update({"v": "upper(v)"}, where="p = 0").affected_rows == 1
    t.compact()
    assert rows(t) == {(0, 1): "B", (1, 1): "A"}


def test_rollback_tags_and_expiry_bring_rows_back_to_where_they_waited(t):
    t.upsert([{"p": 0, "k": 1, "v": "a"}])
    t.tags.create("waiting")
    t.compact()
    t.tags.create("moved")
    t.upsert([{"p": 0, "k": 1, "v": "b"}])
    t.compact(full=True)
    t.expire_snapshots(retain_max=1, retain_min=1)
    assert rows(t, tag="moved") == {(0, 1): "a"}
    assert rows(t, tag="waiting") == {}
    t.rollback(tag="waiting")
    assert (rows(t), len(waiting(t))) == ({}, 1)
    t.compact()
    assert rows(t) == {(0, 1): "a"}
    t.maintenance.remove_orphan_files(older_than="0 s", dry_run=False)
    assert rows(t) == {(0, 1): "a"}
    clean(t)


def test_two_compactions_move_rows_once(t):
    t.upsert([{"p": 0, "k": 1, "v": "a"}])
    first, second = (t.maintenance.plan_compaction().tasks[0] for _ in range(2))
    t.maintenance.commit_compaction([first.run()])
    t.upsert([{"p": 0, "k": 2, "v": "b"}])
    report = t.maintenance.commit_compaction([second.run()])
    assert report.given_up
    assert rows(t) == {(0, 1): "a"}
    t.compact()
    assert rows(t) == {(0, 1): "a", (0, 2): "b"}
    clean(t)


def test_a_write_beside_a_compaction_waits_for_the_next_one(t):
    t.upsert([{"p": 0, "k": 1, "v": "a"}])
    [task] = t.maintenance.plan_compaction().tasks
    message = task.run()
    t.upsert([{"p": 0, "k": 1, "v": "b"}])
    t.maintenance.commit_compaction([message])
    assert rows(t) == {(0, 1): "a"}
    t.compact()
    assert rows(t) == {(0, 1): "b"}


@pytest.mark.parametrize(
    "options",
    [
        {"merge_engine": "partial-update"},
        {"merge_engine": "first-row"},
        {"merge_engine": "aggregation", "fields__n__aggregate_function": "sum"},
        {"merge_engine": "aggregation", "fields__n__aggregate_function": "count"},
        {"changelog_producer": "lookup"},
        {"changelog_producer": "input"},
        {"changelog_producer": "full-compaction"},
        {"deletion_vectors__enabled": "true"},
        {"sequence__field": "n"},
        {"write_only": "true"},
        {"file__compression": "none", "data_file__thin_mode": "true"},
    ],
    ids=lambda options: "-".join(options.values()),
)
def test_rows_mean_what_they_mean_in_fixed_buckets(make, options):
    schema = {"k": "INT", "n": "INT", "v": "STRING"}
    a = make(schema, ["k"], name="a", bucket=2, **options)
    b = make(schema, ["k"], name="b", bucket=-2, postpone__default_bucket_num=2, **options)
    for turn in range(4):
        given = [{"k": k % 7, "n": (turn * 5 + k) % 11, "v": f"{turn} {k}"} for k in range(turn, 9)]
        given += [{"k": 3, "n": None, "v": None}]
        for t in (a, b):
            t.upsert(given)
            t.compact(full=turn % 2 == 1)
        assert sorted(map(str, a.scan().to_arrow().to_pylist())) == sorted(map(str, b.scan().to_arrow().to_pylist()))
        clean(b)


def test_changelog_and_stream_have_the_rows_of_the_compaction(make):
    t = make({"k": "INT", "v": "STRING"}, ["k"], bucket=-2, changelog_producer="lookup")
    t.upsert([{"k": 1, "v": "a"}])
    t.upsert([{"k": 1, "v": "b"}])
    t.compact()
    t.upsert([{"k": 1, "v": "c"}])
    t.compact()
    told = [tuple(row.values()) for batch in t.changes() for row in batch.to_pylist()]
    assert told == [("+I", 1, "b"), ("-U", 1, "b"), ("+U", 1, "c")]


@pytest.mark.parametrize(
    ("kwargs", "kind", "text"),
    [
        ({"key": []}, e.InvalidOption, "'bucket' = '-2' needs a primary key"),
        ({"postpone__default_bucket_num": 0}, e.InvalidOption, "default-bucket-num"),
        ({"postpone__batch_write_fixed_bucket": "true"}, e.UnsupportedFeature, "batch-write-fixed-bucket"),
        ({"postpone__merge_on_read": "true"}, e.UnsupportedFeature, "merge-on-read"),
    ],
)
def test_options_that_cannot_be_honoured_are_refused_by_name(make, kwargs, kind, text):
    key = kwargs.pop("key", ["k"])
    with pytest.raises(kind, match=text):
        make({"k": "INT", "v": "STRING"}, key, bucket=-2, **kwargs)


def test_users_that_would_not_be_understood_in_a_file_s_name_are_refused(t):
    for user in ("a-s-b", "a/b"):
        with pytest.raises(e.InvalidArgument, match="commit user"):
            t.writer(commit_user=user)


def test_a_writer_does_not_compact_but_says_so(t):
    with t.writer() as w:
        w.write([{"p": 0, "k": 1, "v": "a"}])
        with pytest.raises(e.InvalidArgument, match="after their commit"):
            w.compact()
        w.commit()
    t.compact()
    assert rows(t) == {(0, 1): "a"}


def test_a_waiting_file_that_is_cut_or_gone_is_named(t):
    t.upsert([{"p": 0, "k": 1, "v": "a"}])
    path = pathlib.Path(waiting(t)[0]["file_path"])
    content = path.read_bytes()
    path.write_bytes(content[:50])
    with pytest.raises(e.SiltstoneError, match=path.name):
        t.compact()
    path.unlink()
    with pytest.raises(e.SiltstoneError, match=path.name):
        t.compact()
    path.write_bytes(content)
    t.compact()
    assert rows(t) == {(0, 1): "a"}
    clean(t)


def test_deleted_partitions_count_the_rows_that_waited(t):
    """The report said that no row was deleted."""
    t.upsert([{"p": 1, "k": k, "v": "a"} for k in range(3)])
    t.compact()
    t.upsert([{"p": 1, "k": k, "v": "b"} for k in (2, 3)])
    report = t.delete(where="p = 1")
    assert report.affected_rows == 5
    assert "2 of the rows waited in bucket-postpone" in report.notes[0]
    assert (rows(t), waiting(t)) == ({}, [])


def test_a_rescale_says_that_rows_wait(t):
    """It said nothing, and did nothing."""
    t.upsert([{"p": 1, "k": k, "v": "a"} for k in range(3)])
    for dry_run in (True, False):
        report = t.rescale(2, dry_run=dry_run)
        assert report.snapshot is None
        assert report.notes == [
            "no rows have buckets yet: nothing is rescaled",
            "3 rows wait in bucket-postpone and stay there: run t.compact()",
        ]


def upsert_in(zone, t, value):
    """From a machine in another time zone."""
    code = f"import siltstone as st; st.open_table({t.location!r}).upsert([{{'p': 1, 'k': 1, 'v': {value!r}}}])"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "TZ": zone}, check=True)


def test_a_later_commit_wins_whatever_the_time_zone(t):
    """Files have local times, by which Java orders them: the row from where the clock is ahead won over later ones."""
    for zone, value in [("Asia/Tokyo", "older"), ("America/New_York", "newer")]:
        upsert_in(zone, t, value)
    t.compact()
    assert list(rows(t).values()) == ["newer"]


def test_of_commits_that_have_expired_times_decide(t):
    for zone, value in [("Asia/Tokyo", "Tokyo"), ("America/New_York", "New York"), ("UTC", "UTC")]:
        upsert_in(zone, t, value)
    t.expire_snapshots(retain_max=1)
    t.compact()
    # what is known to be of a later commit comes later
    assert list(rows(t).values()) == ["UTC"]
    assert t.maintenance.fsck(deep=True).problems == []


@pytest.mark.parametrize("file_format", ["avro", "parquet"])
def test_rows_that_wait_get_indexes_with_their_buckets_and_keep_their_order(cat, file_format):
    """The file that got an index counted as the latest, and its older row won."""
    options = {"bucket": "-2", "file.format": file_format}
    t = cat.create_table("db.w", {"k": "INT", "a": "INT"}, primary_key=["k"], options=options)
    t.upsert([{"k": 1, "a": 1}])
    t.alter().set_option("file-index.bitmap.columns", "a").commit()
    t = cat.table("db.w")
    t.upsert([{"k": 1, "a": 2}])
    assert t.rewrite_file_index().notes == [
        "2 files wait for buckets: the indexes that the options ask for come with those"
    ]
    t.compact(full=True)
    assert t.to_pylist() == [{"k": 1, "a": 2}]
    assert {r["column_name"] for r in t.inspect("file_indexes").to_pylist()} == {"a"}
