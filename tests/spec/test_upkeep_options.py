"""Options of upkeep after commits: in the background, in batches, at the end of input."""

import datetime as dt
import time

import pytest
from siltstone import errors as e

COLUMNS = {"p": "STRING", "k": "INT"}
OLD = [{"p": f"2020-01-0{day}", "k": day} for day in range(1, 6)]
FEW = {"bucket": 1, "snapshot__num_retained__min": 1, "snapshot__num_retained__max": 2}


def kinds(t):
    return [s.kind for s in sorted(t.history(100), key=lambda s: s.id)]


def test_commits_of_a_stream_leave_expiry_to_the_background_when_told_to(make):
    t = make(COLUMNS, ["k"], **FEW, snapshot__expire__execution_mode="async")
    with t.writer(commit_user="stream") as w:
        for identifier in range(1, 1000):
            w.write([{"p": "a", "k": identifier}])
            w.commit(identifier=identifier)
            if identifier > 5 and len(t.history(1000)) <= 3:
                break
            time.sleep(0.01)
    assert len(t.history(1000)) <= 3
    assert t.scan().count() == identifier
    # the last expiry may still be at work: what it is deleting is no finding
    assert t.maintenance.fsck(deep=True).ok


def test_batch_commits_wait_for_expiry_whatever_the_mode(make):
    t = make(COLUMNS, ["k"], **FEW, snapshot__expire__execution_mode="async")
    for n in range(5):
        t.append([{"p": "a", "k": n}])
        assert len(t.history(100)) == min(n + 1, 2)


def test_old_partitions_go_in_batches(make):
    t = make(COLUMNS, partition_by=["p"], partition__expiration_batch_size=2)
    t.append([*OLD, {"p": "2999-01-01", "k": 9}])
    report = t.maintenance.expire_partitions(expiration_time="7 d")
    assert len(report.details["partitions"]) == 5
    assert report.snapshots == [2, 3, 4]
    assert kinds(t) == ["APPEND", "OVERWRITE", "OVERWRITE", "OVERWRITE"]
    assert [r["k"] for r in t.scan().to_arrow().to_pylist()] == [9]


def test_the_end_of_input_looks_for_old_partitions_before_the_interval_is_over(make):
    rare = {"partition__expiration_time": "7 d", "partition__expiration_check_interval": "30 d"}
    for at_end in ("false", "true"):
        t = make(COLUMNS, partition_by=["p"], end_input__check_partition_expire=at_end, **rare)
        for row in OLD[:3]:
            t.append([row])
        # the first commit of a process looks anyway
        assert t.scan().count() == (0 if at_end == "true" else 2)


@pytest.mark.parametrize(("formatter", "shape"), [("yyyyMM", "%Y%m"), ("yyyy-MM", "%Y-%m"), ("yyyy", "%Y")])
def test_partitions_whose_values_say_no_day_never_expire(make, formatter, shape):
    """The month was taken for its first day: the current one expired by the commit that wrote it."""
    at_once = {"partition__expiration_time": "1 s", "partition__expiration_check_interval": "0 s"}
    t = make(COLUMNS, partition_by=["p"], partition__timestamp_formatter=formatter, **at_once)
    now = dt.datetime.now().strftime(shape)  # noqa: DTZ005  # partitions say local time
    assert t.append([{"p": now, "k": 1}, {"p": "200001", "k": 2}]).notes == []
    t.append([{"p": now, "k": 3}])
    report = t.maintenance.expire_partitions()
    assert report.details["partitions"] == []
    (note,) = (note for note in report.notes if "never expire" in note)
    assert "p=" in note and "values say no date" in note
    assert t.scan().count() == 3


def test_no_time_is_made_of_values_with_a_null_among_them(make):
    pattern = {"partition__timestamp_pattern": "$p", "partition__expiration_time": "7 d"}
    t = make({"p": "STRING", "h": "STRING", "k": "INT"}, partition_by=["p", "h"], write_only=True, **pattern)
    t.append([{"p": "2020-01-01", "h": "1", "k": 1}, {"p": "2020-01-01", "h": None, "k": 2}])
    t.maintenance.expire_partitions()
    assert [r["k"] for r in t.scan().to_arrow().to_pylist()] == [2]


def test_a_formatter_that_is_none_is_an_error_and_drops_nothing(make):
    t = make(COLUMNS, partition_by=["p"], partition__timestamp_formatter="yyyy-MM-ddd")
    t.append(OLD)
    with pytest.raises(e.InvalidOption, match="no pattern of a date"):
        t.maintenance.expire_partitions(expiration_time="7 d")
    with pytest.raises(e.UnsupportedFeature, match="in a formatter"):
        t.maintenance.expire_partitions(expiration_time="7 d", timestamp_formatter="YYYY-'W'ww-e")
    assert t.scan().count() == 5


VECTORS = {"bucket": 1, "deletion_vectors__enabled": "true"}


def deleted_from(make):
    """A partition of which a row was deleted two seconds after it was written; how long ago it was written, in ms."""
    t = make({"p": "STRING", "k": "INT"}, ["p", "k"], ["p"], **VECTORS)
    t.append([{"p": p, "k": k} for p in ("a", "b") for k in (1, 2)])
    written = time.monotonic()
    time.sleep(2)
    t.delete(where="p = 'a' AND k = 1")
    return t, lambda: int((time.monotonic() - written) * 1000) - 100


def last_updates(t, table):
    rows = t.inspect(table).to_arrow().to_pylist()
    return {row["partition"].strip("{}").replace("p=", ""): row["last_update_time"] for row in rows}


def test_a_deletion_that_leaves_vectors_alone_is_a_write_to_its_partition(make):
    """The compaction behind it takes its file away again: what it deleted from looked idle, and expired."""
    t, since = deleted_from(make)
    for table in ("partitions", "buckets"):
        times = last_updates(t, table)
        assert times["a"] - times["b"] >= dt.timedelta(seconds=1), table
    assert len(t.maintenance.plan_compaction(full=True).tasks) == 1
    assert t.maintenance.plan_compaction(full=True, idle=f"{since()} ms").tasks == []
    report = t.maintenance.expire_partitions(expiration_time=f"{since()} ms", strategy="update-time")
    assert report.details["partitions"] == ["p=b"]
    assert t.scan().to_arrow().to_pylist() == [{"p": "a", "k": 2}]


def test_days_that_never_expire_by_their_values_are_told_when_the_option_is_set(make, caplog):
    """The most natural partition column: the option was taken without a word, and dropped nothing."""
    t = make({"d": "DATE", "v": "INT"}, [], ["d"], **{"partition.expiration-time": "5 d"})
    said = "partitions never expire by the values of the DATE column 'd': as in Java Paimon, a DATE counts there as"
    assert [said in message for message in caplog.messages] == [True]
    t.append([{"d": dt.date(2020, 1, 2), "v": 1}])
    caplog.clear()
    (note,) = t.maintenance.expire_partitions(dry_run=True).notes
    assert note.startswith("partition d=2020-01-02 never expires: as in Java Paimon, a DATE counts there as")
    t.append([{"d": dt.date(2020, 1, day), "v": 1} for day in range(3, 30)])
    caplog.clear()
    (note,) = t.maintenance.expire_partitions(dry_run=True).notes  # it was the same sentence for each partition, twice
    assert note.startswith("28 partitions never expire, such as d=2020-01-02: as in Java Paimon")
    assert [note in message for message in caplog.messages] == [True]
    caplog.clear()
    other = make({"d": "DATE", "v": "INT"}, [], ["d"])
    assert caplog.messages == []
    other.alter().set_option("partition.expiration-time", "5 d").commit()
    assert [said in message for message in caplog.messages] == [True]
    caplog.clear()
    other.alter().set_option("partition.expiration-strategy", "update-time").commit()
    make({"d": "STRING", "v": "INT"}, [], ["d"], **{"partition.expiration-time": "5 d"})
    assert caplog.messages == []
    report = other.maintenance.expire_partitions(expiration_time="0 ms", dry_run=True)
    assert report.details["partitions"] == []


def test_partitions_that_expire_after_a_commit_are_in_its_report(make):
    """30 days were loaded, the report said 30 rows and no notes, and 7 were there."""
    young = dt.datetime.now(dt.UTC).date() + dt.timedelta(days=1)
    t = make(COLUMNS, [], ["p"], partition__expiration_time="3 d")
    report = t.append([*OLD, {"p": "2020-02-20", "k": 6}, {"p": young.isoformat(), "k": 7}])
    (note,) = report.notes
    assert (
        "older than partition.expiration-time and were dropped after the commit, with their rows, by snapshot 2" in note
    )
    assert note.endswith("p=2020-01-01, p=2020-01-02, p=2020-01-03, p=2020-01-04, p=2020-01-05 and 1 more")
    assert (t.count(), t.scan(version=1).count()) == (1, 7)
    assert t.append([{"p": young.isoformat(), "k": 8}]).notes == []
