"""Reading changes: between two versions, one snapshot after another, and with a memory of how far one came."""

import datetime as dt
import pathlib
import pickle

import numpy as np
import pyarrow as pa
import pytest
import siltstone as st
from siltstone import errors as e

KEYED = {"id": "INT NOT NULL", "v": "STRING"}


@pytest.fixture
def t(make):
    """Three commits: 1 and 2 inserted, 2 replaced and 3 inserted, 1 deleted."""
    t = make(KEYED, ["id"], bucket=1, write_only="true")
    t.upsert([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
    t.upsert([{"id": 2, "v": "B"}, {"id": 3, "v": "c"}])
    t.append([{"id": 1, "v": "a"}], row_kind="-D")
    return t


def rows(scan):
    return sorted(tuple(r.values()) for r in scan.to_arrow().to_pylist())


def stream(t, *args, **kwargs):
    return [
        (batch.snapshot_id, *row.values())
        for batch in t.changes(*args, **kwargs)
        for row in pa.record_batch(batch).to_pylist()
    ]


def test_between_two_snapshots_come_the_rows_that_were_appended_after_the_first(t):
    assert rows(t.scan(between=(1, 2))) == [(2, "B"), (3, "c")]
    assert rows(t.scan(between=(0, 1))) == [(1, "a"), (2, "b")]
    assert rows(t.scan(between=(2, 2))) == []
    assert rows(t.scan(["v"], "id = 3", between=(0, 3))) == [("c",)]
    assert len(rows(t.scan(between=(0, 3), limit=2))) == 2


def test_retracts_come_only_with_their_kinds_and_are_counted_only_then(t):
    assert rows(t.scan(between=(1, 3), row_kind=True)) == [("+I", 2, "B"), ("+I", 3, "c"), ("-D", 1, "a")]
    assert rows(t.scan(between=(1, 3))) == [(2, "B"), (3, "c")]
    assert t.scan(between=(1, 3), row_kind=True).count() == 3
    assert t.scan(between=(1, 3)).count() == 2
    assert t.scan(between=(1, 3), filter="v = 'c'").count() == 1


def test_a_diff_compares_two_states_and_the_audit_log_shows_its_deletes(t):
    assert rows(t.scan(between=(1, 3), mode="diff")) == [(2, "B"), (3, "c")]
    assert rows(t.scan(["id"], between=(1, 3), mode="diff", filter="v = 'c'")) == [(3,)]
    # as in Java: kinds do not bring back what is gone
    assert rows(t.scan(between=(1, 3), mode="diff", row_kind=True)) == [("+I", 2, "B"), ("+I", 3, "c")]
    log = t.inspect("audit_log", between=(1, 3), mode="diff")
    assert rows(log) == [("+I", 2, "B"), ("+I", 3, "c"), ("-D", 1, "a")]
    t.compact(full=True)
    # rewritten rows are the same rows
    assert rows(t.scan(between=(3, 4), mode="diff")) == []
    assert t.scan(between=(1, 4), mode="diff").count() == 2


def test_changes_of_an_aggregation_are_what_is_added(make):
    """As in Java, also with "diff": files that both versions have are left out before the others are merged."""
    options = {"merge_engine": "aggregation", "fields__v__aggregate_function": "sum", "write_only": "true"}
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, **options)
    for v in (1, 2, 3):
        t.upsert([{"id": 1, "v": v}])
    assert rows(t.scan(between=(1, 3), mode="delta")) == [(1, 2), (1, 3)]
    assert rows(t.scan(between=(1, 3), mode="diff")) == [(1, 5)]
    t.compact(full=True)
    assert rows(t.scan(between=(1, 4), mode="diff")) == [(1, 6)]


def test_a_mode_that_does_not_exist_is_quoted(t):
    with pytest.raises(e.InvalidArgument, match="mode='deltas'") as caught:
        t.scan(between=(1, 2), mode="deltas").to_arrow()
    assert "delta" in caught.value.hint


def test_a_diff_holds_after_an_overwrite_that_numbers_its_rows_anew(t):
    t.overwrite([{"id": 2, "v": "new"}, {"id": 3, "v": "c"}], {})
    log = t.inspect("audit_log", between=(2, 4), mode="diff")
    assert rows(log) == [("+I", 2, "new"), ("-D", 1, "a")]


def test_tags_are_compared_as_states_and_read_as_snapshots_on_request(t):
    for name, version in (("one", 1), ("three", 3)):
        t.tags.create(name, version=version)
    assert rows(t.scan(between=("one", "three"))) == [(2, "B"), (3, "c")]
    assert rows(t.scan(between=("one", "three"), mode="delta", row_kind=True))[-1] == ("-D", 1, "a")
    assert rows(t.scan(between=("1", "2"))) == [(2, "B"), (3, "c")]
    with pytest.raises(e.InvalidArgument, match="comes after"):
        t.scan(between=("three", "one")).to_arrow()
    with pytest.raises(e.TagNotFound, match="tag 'onne' does not exist") as caught:
        t.scan(between=("onne", "three")).to_arrow()
    assert caught.value.hint == "did you mean 'one'?"


def test_times_stand_for_the_newest_snapshots_before_them(t):
    first = t.snapshot(1).time
    early, late = first - dt.timedelta(days=1), first + dt.timedelta(days=1)
    assert len(rows(t.scan(between=(early, late), row_kind=True))) == 5
    assert rows(t.scan(between=(late, late + dt.timedelta(days=1)))) == []
    with pytest.raises(e.InvalidArgument, match="before the start"):
        t.scan(between=(late, early)).to_arrow()


def test_table_options_ask_for_the_same(t):
    def opened(**options):
        return st.open_table(t.location, options={k.replace("_", "-"): v for k, v in options.items()})

    assert rows(opened(incremental_between="1,2").scan()) == [(2, "B"), (3, "c")]
    both = opened(incremental_between="1,3", incremental_between_scan_mode="diff")
    assert rows(both.scan()) == [(2, "B"), (3, "c")]
    assert rows(st.open_table(t.location, options={"scan.mode": "latest-delta"}).scan(row_kind=True)) == [
        ("-D", 1, "a")
    ]
    with pytest.raises(e.InvalidOption):
        st.open_table(t.location, options={"incremental-between": "1,2", "scan.snapshot-id": "1"}).scan().to_arrow()


def test_splits_of_changes_are_read_elsewhere(t):
    t.compact(full=True)
    for arguments in ({"between": (0, 3)}, {"between": (1, 4), "mode": "diff"}):
        scan = t.scan(row_kind=True, **arguments)
        splits = pickle.loads(pickle.dumps(scan.splits()))
        read = sorted(tuple(r.values()) for s in splits for b in s.read() for r in b.to_pylist())
        assert read == rows(scan)
    log = t.inspect("audit_log", ["rowkind", "id"], "rowkind = '-D'", between=(0, 3))
    splits = pickle.loads(pickle.dumps(log.splits()))
    assert [b.to_pylist() for s in splits for b in s.read()] == [[{"rowkind": "-D", "id": 1}]]


@pytest.mark.parametrize(
    ("between", "error", "words"),
    [
        ((2, 9), e.SnapshotNotFound, "snapshot 9 does not exist"),
        ((3, 1), e.InvalidArgument, "is before the start"),
        ((1,), e.InvalidArgument, "not a pair"),
        ("1,2", e.InvalidArgument, "not a pair"),
        ((1, 2.5), e.InvalidArgument, "not two snapshot ids"),
    ],
)
def test_versions_that_are_not_there_are_named(t, between, error, words):
    with pytest.raises(error, match=words):
        t.scan(between=between).to_arrow()


def test_a_table_without_a_changelog_says_so(t):
    with pytest.raises(e.InvalidArgument, match="has no changelog"):
        t.scan(between=(1, 3), mode="changelog").to_arrow()
    with pytest.raises(e.InvalidArgument, match="mode"):
        t.scan(between=(1, 3), mode="fast").to_arrow()
    with pytest.raises(e.InvalidArgument, match="between"):
        t.scan(mode="diff").to_arrow()
    with pytest.raises(e.InvalidArgument, match="only one"):
        t.scan(between=(1, 3), version=1).to_arrow()


def test_snapshots_that_have_expired_are_told_with_what_is_left(t):
    t.maintenance.expire_snapshots(retain_max=1)
    with pytest.raises(e.SnapshotExpired) as caught:
        t.scan(between=(0, 3)).to_arrow()
    assert "start at 2" in caught.value.hint
    assert stream(t) == [(3, "-D", 1, "a")]
    with pytest.raises(e.SnapshotExpired, match="nearest that is left is 3"):
        t.changes(1)


# ---- one snapshot after another


def test_changes_come_in_the_order_of_snapshots(t):
    t.compact(full=True)
    assert stream(t) == [
        (1, "+I", 1, "a"),
        (1, "+I", 2, "b"),
        (2, "+I", 2, "B"),
        (2, "+I", 3, "c"),
        (3, "-D", 1, "a"),
    ]
    assert stream(t, 2, 2, columns=["id"]) == [(2, "+I", 2), (2, "+I", 3)]
    assert stream(t, filter="id = 2") == [(1, "+I", 2, "b"), (2, "+I", 2, "B")]
    assert stream(t, 5) == []
    for start in ("full", 4):
        with pytest.raises(e.InvalidArgument, match="is before the start"):
            t.changes(start, 2)
    assert [row[1:] for row in stream(t, "full")] == [("+I", 2, "B"), ("+I", 3, "c")]


def test_tags_and_times_say_where_to_begin_and_end(t):
    t.tags.create("two", version=2)
    assert {row[0] for row in stream(t, "two")} == {2, 3}
    assert {row[0] for row in stream(t, None, "two")} == {1, 2}
    assert {row[0] for row in stream(t, t.snapshot(1).time)} >= {1, 2, 3}
    assert stream(t, t.snapshot(3).time + dt.timedelta(hours=1)) == []
    with pytest.raises(e.TagNotFound):
        t.changes("nope")
    with pytest.raises(e.SnapshotNotFound):
        t.changes(9)


@pytest.mark.parametrize("start", [0, -1])
def test_ids_before_the_first_one_have_not_expired(t, start):
    with pytest.raises(e.SnapshotNotFound, match=f"snapshot {start} does not exist: ids begin with 1"):
        t.changes(start)


def test_a_consumer_remembers_what_was_handed_out(t):
    first = t.changes(consumer="audit")
    assert next(first).snapshot_id == 1
    # nothing of snapshot 1 counts as read before the next batch is asked for
    assert [c.next_snapshot for c in t.consumers.list()] == [1]
    assert next(first).snapshot_id == 2
    assert [c.next_snapshot for c in t.consumers.list()] == [2]
    first.close()
    assert {row[0] for row in stream(t, consumer="audit")} == {2, 3}
    assert stream(t, consumer="audit") == []
    assert t.inspect("consumers").to_arrow().to_pylist() == [{"consumer_id": "audit", "next_snapshot_id": 4}]


@pytest.mark.parametrize("how", ["full", "options"])
def test_a_consumer_whose_first_state_was_not_read_to_its_end_reads_it_again(t, how):
    """It went on with the changes of the snapshot whose state had not been handed out, and lost all rows before it."""
    from_options = {} if how == "full" else {"scan.mode": "latest-full"}
    at = st.open_table(t.location, options=from_options)
    begin = ("full",) if how == "full" else ()
    broken = at.changes(*begin, consumer="audit")
    next(broken)
    broken.close()
    assert at.consumers.list()[0].next_snapshot == 3
    t.append([{"id": 4, "v": "d"}])
    assert {row[2:] for row in stream(st.open_table(t.location), consumer="audit")} == {(2, "B"), (3, "c"), (4, "d")}
    assert at.consumers.list()[0].next_snapshot == 5
    t.append([{"id": 5, "v": "e"}])
    assert {row[2] for row in stream(at, *begin, consumer="audit")} == {5}


def test_a_consumer_goes_where_it_is_set(t):
    t.consumers.reset("audit", 3)
    assert {row[0] for row in stream(t, 1, consumer="audit")} == {3}
    again = st.open_table(t.location, options={"consumer.ignore-progress": "true"})
    assert {row[0] for row in stream(again, 1, consumer="audit")} == {1, 2, 3}
    t.consumers.reset("audit")
    assert t.consumers.list()[0].next_snapshot == 4
    with pytest.raises(e.SnapshotNotFound, match="not 9"):
        t.consumers.reset("audit", 9)
    assert (t.consumers.delete("audit"), t.consumers.delete("audit"), t.consumers.list()) == (True, False, [])


@pytest.mark.parametrize("start", [None, "full"])
def test_a_consumer_that_begins_on_an_empty_table_keeps_what_comes_first(make, start):
    """It was not remembered, and what expired before its next call was passed over."""
    t = make({"k": "INT"})
    assert list(t.changes(start, consumer="c")) == []
    assert [(c.id, c.next_snapshot) for c in t.consumers.list()] == [("c", 1)]
    for k in range(4):
        t.append([{"k": k}])
    t.maintenance.expire_snapshots(retain_max=1)
    assert t.snapshot(1).id == 1
    assert [row[2] for row in stream(t, consumer="c")] == [0, 1, 2, 3]


@pytest.mark.parametrize("start", [None, "full"])
def test_a_stream_that_begins_on_an_empty_table_says_that_snapshots_have_expired(make, start):
    t = make({"k": "INT"})
    batches = t.changes(start, follow=True)
    for k in range(3):
        t.append([{"k": k}])
    t.maintenance.expire_snapshots(retain_max=1)
    with pytest.raises(e.SnapshotExpired) as caught:
        next(batches)
    assert caught.value.context["snapshot"] == "1"


@pytest.mark.parametrize("condition", ["rowkind = '+U' OR id > 2", "NOT (rowkind = '+I' AND id = 1)"])
def test_a_condition_on_the_binlog_is_about_kinds_and_values_at_once(make, condition):
    """It was asked of the arrays: an internal error."""
    t = make(KEYED, ["id"], bucket=1, changelog_producer="lookup")
    t.upsert([{"id": k, "v": "a"} for k in (1, 2, 3)])
    t.upsert([{"id": 1, "v": "b"}])
    scan = t.inspect("binlog", ["rowkind", "id"], condition, between=(0, t.snapshot().id))
    kept = [("+I", [3]), ("+U", [1, 1])] if "OR" in condition else [("+I", [2]), ("+I", [3]), ("+U", [1, 1])]
    assert rows(scan) == kept
    assert sorted(tuple(r.values()) for s in scan.splits() for r in pa.table(s).to_pylist()) == kept
    assert scan.count() == len(kept)
    plain = make(KEYED)
    plain.append([{"id": k, "v": "a"} for k in (1, 2, 3)])
    assert rows(plain.inspect("binlog", ["id"], "rowkind = '-D' OR v = 'a' AND id > 2")) == [([3],)]


def test_a_consumer_whose_file_is_damaged_is_deleted_and_so_are_others(t):
    """Its error asks for that."""
    for name in ("c", "other"):
        t.consumers.reset(name, 1)
    (pathlib.Path(t.location) / "consumer/consumer-c").write_text("{")
    with pytest.raises(e.CorruptFile, match="consumer") as caught:
        t.consumers.list()
    assert "delete it" in caught.value.hint
    assert [t.consumers.delete(name) for name in ("other", "c", "c")] == [True, True, False]
    assert t.consumers.list() == []


def test_a_consumer_goes_back_to_changes_that_outlive_their_snapshots(make):
    """It began there when a stream did, but was not set there."""
    kept = {"changelog__num_retained__min": 50, "changelog__num_retained__max": 100}
    t = make(KEYED, ["id"], bucket=1, write_only="true", changelog_producer="input", **kept)
    for k in range(5):
        t.upsert([{"id": k, "v": "a"}])
    t.maintenance.expire_snapshots(retain_max=2)
    with pytest.raises(e.SnapshotExpired):
        t.snapshot(2)
    t.consumers.reset("c", 2)
    assert [row[0] for row in stream(t, consumer="c")] == [2, 3, 4, 5]
    with pytest.raises(e.SnapshotNotFound, match="snapshots 1 to 6, not 7"):
        t.consumers.reset("c", 7)


def test_following_waits_for_snapshots_to_come(t):
    live = st.open_table(t.location, options={"continuous.discovery-interval": "1 ms"})
    batches = live.changes("full", 4, follow=True)
    assert next(batches).snapshot_id == 3
    t.upsert([{"id": 9, "v": "z"}])
    assert next(batches).to_pylist() == [{"rowkind": "+I", "id": 9, "v": "z"}]
    with pytest.raises(StopIteration):
        next(batches)


def test_a_stream_says_that_what_it_has_read_was_taken_back(t):
    """It once went on behind the snapshots that had come in their place, and passed over their rows in silence."""
    live = t.changes(1, follow=True)
    assert [next(live).snapshot_id for _ in range(3)] == [1, 2, 3]
    t.rollback(version=1)
    for value in "xyz":
        t.upsert([{"id": 9, "v": value}])
    with pytest.raises(e.SnapshotNotFound, match="snapshot 3, the last one that was read, was taken back") as caught:
        next(live)
    assert caught.value.context["snapshot"] == "3"


def test_a_stream_goes_on_after_a_rollback_to_what_it_has_read(t):
    live = t.changes(1, follow=True)
    assert [next(live).snapshot_id for _ in range(2)] == [1, 2]
    t.rollback(version=2)
    t.upsert([{"id": 9, "v": "x"}])
    assert [list(pa.record_batch(next(live)).to_pydict().values())[1:] for _ in range(1)] == [[[9], ["x"]]]


def test_a_stream_goes_on_when_what_it_has_read_has_expired(t):
    live = t.changes(1, follow=True)
    assert [next(live).snapshot_id for _ in range(3)] == [1, 2, 3]
    t.upsert([{"id": 9, "v": "x"}])
    t.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    assert next(live).snapshot_id == 4


def test_a_stream_that_waits_says_that_what_it_has_read_was_taken_back(t):
    """It waited for the next id, and wrote its progress anew, later than the rollback: the next reader passed over rows."""
    live = st.open_table(t.location, options={"continuous.discovery-interval": "1 ms"})
    batches = live.changes(1, follow=True, consumer="audit")
    assert [next(batches).snapshot_id for _ in range(3)] == [1, 2, 3]
    t.rollback(version=1)
    for value in "xy":
        t.upsert([{"id": 9, "v": value}])
    assert t.snapshot().id == 3
    with pytest.raises(e.SnapshotNotFound, match="snapshot 3, the last one that was read, was taken back"):
        next(batches)
    assert [c.next_snapshot for c in t.consumers.list()] == [3]


def test_a_stream_that_has_read_nothing_says_that_what_it_begins_after_was_taken_back(t):
    """It went on behind the snapshots that had come in the place of those before its first one."""
    latest = st.open_table(t.location, options={"scan.mode": "latest", "continuous.discovery-interval": "1 ms"})
    live = latest.changes(follow=True, consumer="new")
    assert [c.next_snapshot for c in t.consumers.list()] == [4]
    t.rollback(version=1)
    for value in "xyz":
        t.upsert([{"id": 9, "v": value}])
    with pytest.raises(e.SnapshotNotFound, match="snapshot 3, behind which the stream begins, was taken back"):
        next(live)


def test_a_consumer_says_that_what_it_has_read_was_taken_back(t):
    assert {row[0] for row in stream(t, consumer="audit")} == {1, 2, 3}
    t.rollback(version=1)
    for value in "xyz":
        t.upsert([{"id": 9, "v": value}])
    with pytest.raises(e.SnapshotNotFound, match="was taken back by a rollback") as caught:
        stream(t, consumer="audit")
    assert "reset the consumer" in caught.value.hint
    t.consumers.reset("audit", 2)
    assert {row[0] for row in stream(t, consumer="audit")} == {2, 3, 4}


def test_scan_options_say_where_a_stream_begins(t):
    def begins(**options):
        opened = st.open_table(
            t.location, options={k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
        )
        return sorted({row[0] for row in stream(opened)})

    assert begins(scan__mode="latest") == []
    assert begins(scan__mode="latest-full") == [3]
    assert begins(scan__snapshot_id="2") == [2, 3]
    assert begins(scan__mode="from-snapshot-full", scan__snapshot_id="2") == [2, 3]
    assert begins(scan__timestamp_millis="0") == [1, 2, 3]
    with pytest.raises(e.InvalidOption):
        begins(scan__tag_name="x")


def test_an_overwrite_takes_the_old_rows_back_when_streams_shall_see_it(t):
    t.overwrite([{"id": 2, "v": "new"}], {})
    assert stream(t, 4) == []
    opened = st.open_table(t.location, options={"streaming-read-overwrite": "true"})
    assert stream(opened, 4) == [(4, "-D", 2, "B"), (4, "-D", 3, "c"), (4, "+I", 2, "new")]


def test_a_watermark_ends_a_stream(make):
    t = make(KEYED, ["id"], bucket=1, write_only="true")
    for mark in (10, 20, 30):
        with t.writer() as w:
            w.write([{"id": mark, "v": "x"}])
            w.commit(watermark=mark)
    bounded = st.open_table(t.location, options={"scan.bounded.watermark": "20"})
    assert [row[2] for row in stream(bounded, follow=True)] == [10, 20]


def test_append_tables_have_changes_too(make):
    t = make({"x": "INT"})
    t.append([{"x": 1}])
    t.append([{"x": 2}])
    t.overwrite([{"x": 3}], {})
    assert stream(t) == [(1, "+I", 1), (2, "+I", 2)]
    assert rows(t.scan(between=(0, 2))) == [(1,), (2,)]
    assert rows(t.inspect("audit_log")) == [("+I", 3)]
    opened = st.open_table(t.location, options={"streaming-read-append-overwrite": "true"})
    assert stream(opened, 3) == [(3, "+I", 3)]


# ---- views


def test_the_audit_log_shows_kinds_and_deletes_of_the_current_state(t):
    assert rows(t.inspect("audit_log")) == [("+I", 2, "B"), ("+I", 3, "c"), ("-D", 1, "a")]
    assert rows(t.inspect("audit_log", ["id", "rowkind"], "rowkind <> '+I'")) == [(1, "-D")]
    assert rows(t.inspect("audit_log", ["rowkind"], "v = 'c'")) == [("+I",)]
    assert t.inspect("audit_log").count() == 3
    assert t.inspect("audit_log", filter="rowkind = '+I'", limit=1).count() == 1
    assert rows(t.inspect("audit_log", version=1)) == [("+I", 1, "a"), ("+I", 2, "b")]


def test_the_sequence_number_is_shown_when_the_table_says_so(make):
    options = {"bucket": 1, "write_only": "true", "table_read__sequence_number__enabled": "true"}
    t = make(KEYED, ["id"], **options)
    t.upsert([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
    assert rows(t.inspect("audit_log")) == [("+I", 0, 1, "a"), ("+I", 1, 2, "b")]
    assert rows(t.inspect("audit_log", ["id"], "_SEQUENCE_NUMBER = 1")) == [(2,)]


def test_the_binlog_joins_no_halves_of_two_keys(make):
    """The old row of one key, at the end of a bucket, became one row with the new one of another key behind it."""
    t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=2, changelog_producer="input")
    buckets = t.routes([{"id": i} for i in range(9)]).to_pylist()
    first, second = buckets.index(0), buckets.index(1)
    t.upsert([{"id": i, "v": "old"} for i in range(9)])
    t.append([{"id": first, "v": "old"}, {"id": second, "v": "new"}], row_kind=["-U", "+U"])
    expected = [("+U", [second], ["new"]), ("-U", [first], ["old"])]
    for columns in (None, ["rowkind", "v"]):
        log = t.inspect("binlog", columns, between=(1, 2)).to_arrow().to_pylist()
        assert sorted((r["rowkind"], r["v"]) for r in log) == [(kind, v) for kind, _, v in expected]
        assert columns or sorted((r["rowkind"], r["id"], r["v"]) for r in log) == expected


def test_the_binlog_makes_one_row_of_an_update(make):
    t = make(KEYED, ["id"], bucket=1, write_only="true", changelog_producer="input")
    t.append([{"id": 1, "v": "a"}, {"id": 1, "v": "a"}, {"id": 1, "v": "b"}], row_kind=["+I", "-U", "+U"])
    t.append([{"id": 1, "v": "b"}], row_kind="-D")
    log = t.inspect("binlog", between=(0, 2))
    assert log.to_arrow().to_pylist() == [
        {"rowkind": "+I", "id": [1], "v": ["a"]},
        {"rowkind": "+U", "id": [1, 1], "v": ["a", "b"]},
        {"rowkind": "-D", "id": [1], "v": ["b"]},
    ]
    assert log.count() == 3
    assert t.inspect("binlog", ["v"], "rowkind = '+U'", between=(0, 2), batch_size=1).to_arrow().to_pylist() == [
        {"v": ["a", "b"]}
    ]
    with pytest.raises(e.InvalidArgument, match="only key columns"):
        t.inspect("binlog", filter="v = 'a'")


def test_the_read_optimized_table_shows_what_is_compacted(t):
    assert rows(t.inspect("ro")) == []
    t.compact(full=True)
    t.upsert([{"id": 7, "v": "late"}])
    assert rows(t.inspect("ro")) == [(2, "B"), (3, "c")]
    assert t.inspect("ro", filter="v = 'c'").count() == 1


def test_read_optimized_shows_a_key_once_when_there_are_fewer_levels_than_before(cat, make):
    options = {"num_sorted_run__compaction_trigger": 2, "compaction__max_size_amplification_percent": 100000}
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, **options)
    t.upsert([{"id": i, "v": 0} for i in range(3000)])
    t.compact(full=True)
    for n in range(6):
        t.upsert([{"id": i, "v": n + 1} for i in range(n, n + 20)])
        t.compact()
    levels = set(t.inspect("files", ["level"]).to_arrow()["level"].to_pylist())
    assert len(levels) > 1, levels
    t.alter().set_option("num-levels", str(max(min(levels), 1) + 1)).commit()
    found = cat.table(f"{t.name}$ro")
    ids = found.scan(["id"]).to_arrow()["id"].to_pylist()
    assert sorted(ids) == list(range(3000))
    assert found.scan(["id"], "v > 0").to_arrow().num_rows == t.scan(filter="v > 0").to_arrow().num_rows


def test_views_are_tables_by_name(t, cat):
    name = t.name.split(".")[1]
    log = cat.table(f"db.{name}$audit_log")
    assert log.schema.names == ["rowkind", "id", "v"]
    assert rows(log.scan(["id"], between=(2, 3))) == [(1,)]
    assert cat.table(f"db.{name}$binlog").schema.field("v").type == pa.list_(pa.field("element", pa.string()))
    with pytest.raises(e.InvalidArgument, match="no ids"):
        cat.table(f"db.{name}$row_tracking")
    with pytest.raises(e.TableNotFound, match="audit_lgo"):
        t.inspect("audit_lgo")


def test_a_fast_forward_leaves_no_changes_that_the_table_does_not_have(make):
    """Main and the branch had no version in common any more: main's snapshots gave way, its long-lived changelogs stayed, and a
    stream gave rows that no version of the table ever had."""
    kept = {
        "changelog__num_retained__min": "20",
        "changelog__num_retained__max": "20",
        "changelog__time_retained": "30 d",
    }
    schema = {"id": "INT", "v": "INT"}
    t = make(schema, ["id"], bucket=1, changelog_producer="input", write_only="true", **kept)
    t.upsert([{"id": 1, "v": 1}])
    t.tags.create("base")
    t.branches.create("fix", tag="base")
    fix = st.open_table(t.location, branch="fix")
    for i in (2, 3, 4):
        fix.upsert([{"id": 100 + i, "v": i}])
    for i in range(2, 8):
        t.upsert([{"id": -i, "v": i}])
    fix.maintenance.expire_snapshots(retain_max=1)
    t.maintenance.expire_snapshots(retain_max=1)
    t.branches.fast_forward("fix")
    t = st.open_table(t.location)
    assert t.maintenance.fsck(deep=True).ok
    with pytest.raises(e.SnapshotExpired):
        list(t.changes(start=1))
    assert [batch.snapshot_id for batch in t.changes(start=4)] == [4]
    t.upsert([{"id": 7, "v": 7}])
    assert t.maintenance.fsck(deep=True).ok


@pytest.mark.parametrize("live", [False, True], ids=["another process", "the same stream"])
def test_a_consumer_learns_that_a_fast_forward_to_an_expired_branch_took_back_what_it_read(make, live):
    """Main's version with the id of the branch's first one is replaced: what was read up to it is not the table's any more."""
    t = make({"k": "INT", "v": "INT"}, bucket=-1)
    t.append([{"k": 0, "v": 1}])
    t.branches.create("b", version=1)
    b = st.open_table(t.location, branch="b")
    for i in (1, 2, 3):
        t.append([{"k": i, "v": 1}])
        b.append([{"k": 100 + i, "v": 1}])
    began = t.changes(consumer="late", follow=True) if live else t.changes(consumer="late")
    read = [next(iter(began)) for _ in range(4)] if live else list(began)
    assert [batch.snapshot_id for batch in read] == [1, 2, 3, 4]
    assert [batch.snapshot_id for batch in t.changes(consumer="early", end=1)] == [1]
    b.maintenance.expire_snapshots(retain_max=1)
    t.branches.fast_forward("b")
    t = st.open_table(t.location)
    t.append([{"k": 50, "v": 1}])
    with pytest.raises(e.SnapshotNotFound, match="was taken back"):
        next(iter(began if live else t.changes(consumer="late")))
    with pytest.raises(e.SnapshotExpired):
        list(t.changes(consumer="early"))


@pytest.mark.parametrize("left", [1, 2, 6])
@pytest.mark.parametrize("change", ["make again", "rename", "drop"])
def test_a_stream_ends_where_its_table_is_replaced(cat, change, left):
    """It went on in the table that was made in its place, passed over rows, and its consumer stopped expiries there."""

    def made():
        return cat.create_table("db.t", {"k": "INT"}, options={"continuous.discovery-interval": "50 ms"})

    t = made()
    for k in range(4):
        t.append([{"k": k}])
    batches = iter(t.changes(consumer="c", follow=True))
    assert [next(batches).snapshot_id for _ in range(4)] == [1, 2, 3, 4]
    if change == "rename":
        cat.rename_table("db.t", "db.u")
    else:
        cat.drop_table("db.t")
    if change == "make again":
        new = made()
        for k in range(6):
            new.append([{"k": 100 + k}])
        new.maintenance.expire_snapshots(retain_max=left, retain_min=left)
    with pytest.raises(e.TableNotFound, match="while it was read"):
        next(batches)
    if change == "make again":
        assert new.consumers.list() == []
        with pytest.raises(e.TableNotFound):
            t.consumers.reset("c")
        assert new.consumers.list() == []


def test_a_stream_goes_on_after_its_schema_has_changed(cat):
    t = cat.create_table("db.t", {"k": "INT"}, options={"continuous.discovery-interval": "50 ms"})
    t.append([{"k": 1}])
    batches = iter(t.changes(consumer="c", follow=True))
    assert next(batches).snapshot_id == 1
    t.alter().add_column("v", "INT").commit()
    cat.table("db.t").append([{"k": 2, "v": 2}])
    assert next(batches).snapshot_id == 2


@pytest.mark.parametrize("forced", [False, True])
def test_streams_see_deletes_of_whole_partitions_where_the_table_asks_for_it(make, forced):
    """As Java's DELETE: a partition is dropped without a word, unless `delete.force-produce-changelog` is set."""
    options = {"bucket": 1, "delete__force_produce_changelog": str(forced).lower()}
    t = make({"dt": "STRING", "id": "INT"}, ["dt", "id"], ["dt"], **options)
    t.upsert([{"dt": dt, "id": 1} for dt in "xy"])
    assert t.delete("dt = 'y'").affected_rows == 1
    assert rows(t.scan()) == [("x", 1)]
    deleted = [batch for batch in stream(t, start=2) if "-D" in batch]
    assert deleted == ([(2, "-D", "y", 1)] if forced else [])


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_a_changelog_that_a_thread_of_its_own_encodes_is_finished(make, producer):
    """Files of more than a megabyte have a second thread; the end of the merge that began the file stopped it as well.

    Writes of 60,000 rows to such tables ended with Cancelled, which nobody had asked for.
    """
    t = make({"k": "BIGINT NOT NULL", "v": "STRING"}, ["k"], bucket=1, changelog_producer=producer)
    random = np.random.default_rng(7)
    written = set()
    for _ in range(5):
        keys = random.integers(0, 10**6, 50_000)
        t.append(pa.table({"k": keys, "v": np.char.add("value-", keys.astype(str))}))
        written.update(keys.tolist())
    t.maintenance.compact(full=True)
    assert t.scan(columns=["k"]).count() == len(written)
    assert {key for batch in t.changes(start=1) for key in pa.record_batch(batch)["k"].to_pylist()} == written
