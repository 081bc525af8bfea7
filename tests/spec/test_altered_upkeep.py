"""Jobs that were open before an ``alter`` of what expires: the table's options of now count, not those of then.

An operator who takes an expiry back, or keeps more, is told that it is done; a job that had been open for days went on to
delete rows, partitions, versions, tags and consumers by its own.
"""

import os
import time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from siltstone import errors as e

HOUR = 3600


@pytest.fixture
def quiet(cat):
    """quiet(table): a handle of the same table whose commits are followed by nothing."""
    return lambda table: cat.table(table.name, options={"write-only": "true"})


def altered(cat, table, **options):
    """Another process changes options; None takes one away."""
    change = cat.table(table.name).alter()
    for key, value in options.items():
        key = key.replace("_", "-").replace("--", ".")
        change = change.remove_option(key) if value is None else change.set_option(key, value)
    change.commit()


def test_versions_that_are_to_be_kept_longer_stay(cat, make, quiet):
    old = make({"k": "INT"}, snapshot__num_retained__min=1, snapshot__num_retained__max=2)
    for k in range(8):
        quiet(old).append([{"k": k}])
    altered(cat, old, snapshot__num_retained__min="100", snapshot__num_retained__max="1000")
    old.append([{"k": 8}])
    assert not old.maintenance.expire_snapshots().snapshots
    assert [s.id for s in cat.table(old.name).history(None)] == list(range(9, 0, -1))


def test_what_a_handle_was_opened_with_counts_more_than_what_is_stored(cat, make, quiet):
    kept = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "3"}
    old = cat.table(make({"k": "INT"}, **{k.replace(".", "__"): v for k, v in kept.items()}).name, options=kept)
    for k in range(8):
        quiet(old).append([{"k": k}])
    altered(cat, old, snapshot__num_retained__min="100", snapshot__num_retained__max="1000")
    old.append([{"k": 8}])
    assert [s.id for s in cat.table(old.name).history(None)] == [9, 8, 7]


def test_an_expiry_that_was_made_stricter_is_so_for_jobs_that_are_open(cat, make, quiet):
    old = make({"k": "INT"})
    for k in range(8):
        quiet(old).append([{"k": k}])
    altered(cat, old, snapshot__num_retained__min="1", snapshot__num_retained__max="2")
    old.append([{"k": 8}])
    assert [s.id for s in cat.table(old.name).history(None)] == [9, 8]


def test_partitions_that_expire_no_more_stay(cat, make, quiet):
    options = {
        "partition__expiration_time": "30 d",
        "partition__timestamp_formatter": "yyyy-MM-dd",
        "partition__expiration_check_interval": "1 ms",
        "end_input__check_partition_expire": "true",
    }
    old = make({"p": "STRING", "k": "INT"}, partition_by=["p"], **options)
    quiet(old).append([{"p": "2020-01-01", "k": 1}])
    altered(cat, old, partition__expiration_time=None)
    old.append([{"p": "2999-01-01", "k": 2}])
    with pytest.raises(e.InvalidArgument, match="needs expiration_time"):
        old.maintenance.expire_partitions()
    assert sorted(row["p"] for row in cat.table(old.name).to_pylist()) == ["2020-01-01", "2999-01-01"]


def test_tags_of_which_more_are_to_be_kept_stay(cat, make, quiet):
    old = make({"k": "INT"}, tag__automatic_creation="batch", tag__num_retained_max="2")
    quiet(old).append([{"k": 1}])
    for day in range(1, 5):
        old.tags.create(f"batch-write-2020-01-0{day}")
    altered(cat, old, tag__num_retained_max="100")
    old.append([{"k": 2}])
    names = [tag.name for tag in cat.table(old.name).tags.list()]
    assert sorted(names)[:4] == [f"batch-write-2020-01-0{day}" for day in range(1, 5)]


def test_a_tag_is_kept_for_as_long_as_the_table_says_now(cat, make):
    old = make({"k": "INT"}, tag__default_time_retained="1 ms")
    old.append([{"k": 1}])
    altered(cat, old, tag__default_time_retained="10 d")
    old.tags.create("v")
    time.sleep(0.01)
    old.tags.expire()
    assert [tag.name for tag in cat.table(old.name).tags.list()] == ["v"]


def test_consumers_that_expire_no_more_stay(cat, make, quiet):
    old = make({"k": "INT"}, consumer__expiration_time="1 h")
    quiet(old).append([{"k": 1}])
    quiet(old).append([{"k": 2}])
    old.consumers.reset("c", 1)
    os.utime(f"{old.location}/consumer/consumer-c", (time.time() - 2 * HOUR,) * 2)
    altered(cat, old, consumer__expiration_time=None)
    old.append([{"k": 3}])
    assert [(c.id, c.next_snapshot) for c in cat.table(old.name).consumers.list()] == [("c", 1)]


@pytest.mark.parametrize("now", [None, "30 d"])
def test_rows_that_expire_no_more_are_not_left_out_by_compactions(cat, make, quiet, now):
    options = {"bucket": "1", "record_level__expire_time": "1 h", "record_level__time_field": "ts"}
    old = make({"k": "INT", "ts": "INT"}, ["k"], **options)
    seconds = int(time.time())
    quiet(old).upsert([{"k": 1, "ts": seconds - 2 * HOUR}, {"k": 2, "ts": seconds}])
    altered(cat, old, record_level__expire_time=now)
    old.upsert([{"k": 9, "ts": seconds}])
    assert "with 'record-level.expire-time', records of one key are merged otherwise" in str(
        old.compact(full=True).notes
    )
    cat.table(old.name).compact(full=True)
    assert sorted(row["k"] for row in cat.table(old.name).to_pylist()) == [1, 2, 9]


@pytest.mark.parametrize("by", ["rows", "files"])
def test_an_overwrite_that_is_to_leave_other_partitions_does_so_for_jobs_that_are_open(cat, make, tmp_path, by):
    old = make({"p": "INT", "k": "INT"}, partition_by=["p"], dynamic_partition_overwrite="false")
    old.append([{"p": 1, "k": 1}, {"p": 2, "k": 1}])
    altered(cat, old, dynamic_partition_overwrite="true")
    data: Any = [{"p": 1, "k": 2}]
    if by == "files":
        for k in range(2):
            pq.write_table(
                pa.table({"p": pa.array([1], pa.int32()), "k": pa.array([k], pa.int32())}), tmp_path / f"{k}.parquet"
            )
        data = str(tmp_path / "*.parquet")
    old.overwrite(data)
    found = sorted((row["p"], row["k"]) for row in cat.table(old.name).to_pylist())
    assert found == ([(1, 2), (2, 1)] if by == "rows" else [(1, 0), (1, 1), (2, 1)])
