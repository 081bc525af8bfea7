"""Data evolution: columns of the same rows lie in several files, and an update writes only the columns that it changes."""

from __future__ import annotations

import threading

import pytest
import siltstone as st
from siltstone import errors as e

SCHEMA = {"id": "INT", "v": "BIGINT", "s": "STRING"}
OPTIONS = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}


@pytest.fixture
def table(cat):
    def table(schema=SCHEMA, partition_by=(), **options):
        return cat.create_table("db.t", schema, partition_by=list(partition_by), options={**OPTIONS, **options})

    return table


def data(ids):
    return [{"id": i, "v": i * 10, "s": f"s{i}"} for i in ids]


def rows(t, **query):
    return sorted(tuple(r.values()) for r in t.scan(**query).to_arrow().to_pylist())


def files(t):
    found = t.inspect("files").to_arrow().to_pylist()
    return sorted((f["first_row_id"], f["record_count"], f["write_cols"] or []) for f in found)


def test_an_update_writes_only_the_columns_that_it_changes(table):
    t = table()
    t.append(data(range(4)))
    t.append(data(range(4, 6)))
    report = t.update({"v": "v + id"}, where="s IN ('s1', 's2')")
    assert report.affected_rows == 2
    assert files(t) == [(0, 4, []), (0, 4, ["v"]), (4, 2, [])]
    assert rows(t) == [(0, 0, "s0"), (1, 11, "s1"), (2, 22, "s2"), (3, 30, "s3"), (4, 40, "s4"), (5, 50, "s5")]
    assert rows(t, version=2)[1] == (1, 10, "s1")
    assert t.scan().count() == 6
    assert rows(t, columns=["v"], filter="v IN (11, 10)") == [(11,)]
    assert t.maintenance.fsck(deep=True).problems == []


@pytest.mark.parametrize("partition", [[], ["p"]])
def test_columns_that_are_not_null_and_in_another_file_are_no_damage(cat, partition):
    """A deep check read all columns of the schema from each file: those of other files were nulls, and the file "bad"."""
    options = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    columns = {"p": "STRING NOT NULL", "k": "INT NOT NULL", "v": "INT"}
    t = cat.create_table("db.t", columns, partition_by=partition, options=options)
    t.append([{"p": "ab"[i % 2], "k": i, "v": 1} for i in range(6)])
    t.update({"v": "v + 1"}, where="k = 2")
    assert t.maintenance.fsck(deep=True).findings == []


def test_an_update_of_no_row_writes_nothing(table):
    t = table()
    t.append(data(range(3)))
    report = t.update({"v": "0"}, where="id > 5")
    assert (report.affected_rows, report.snapshots) == (0, [])


def test_new_values_are_checked_as_a_write_checks_them(table):
    t = table({"id": "INT", "v": "TINYINT NOT NULL", "s": "VARCHAR(3)"})
    t.append([{"id": 1, "v": 1, "s": "a"}, {"id": 2, "v": 100, "s": "b"}])
    for new in ({"v": "v * 2"}, {"v": "NULL"}, {"s": "'long text'"}):
        with pytest.raises(e.SiltstoneError):
            t.update(new, where="id = 2")
    assert t.update({"v": "v * 2", "s": "'abc'"}, where="id = 1").affected_rows == 1
    assert rows(t) == [(1, 2, "abc"), (2, 100, "b")]
    assert len(t.files()) == 2


def test_rows_are_not_deleted_one_by_one_nor_moved(table):
    t = table(partition_by=["s"])
    t.append(data(range(3)))
    with pytest.raises(e.UnsupportedFeature, match="deleting rows"):
        t.delete(where="id = 1")
    with pytest.raises(e.InvalidArgument, match="do not move"):
        t.update({"s": "'x'"}, where="id = 1")
    assert t.delete(where="s = 's1'").snapshots
    assert rows(t) == [(0, 0, "s0"), (2, 20, "s2")]


def test_compaction_brings_columns_together_and_keeps_ids(table):
    t = table(**{"compaction.min.file-num": "3"})
    for start in range(0, 9, 3):
        t.append(data(range(start, start + 3)))
    t.update({"v": "1"}, where="id = 4")
    before = sorted(r["_ROW_ID"] for r in t.inspect("row_tracking").to_arrow().to_pylist())
    expected = rows(t)
    assert t.compact().snapshots
    assert files(t) == [(0, 9, [])]
    assert rows(t) == expected
    assert sorted(r["_ROW_ID"] for r in t.inspect("row_tracking").to_arrow().to_pylist()) == before
    assert not t.compact(full=True).snapshots


def test_rows_that_do_not_follow_each_other_are_not_compacted_together(table):
    t = table(partition_by=["s"])
    t.append([{"id": i, "v": i, "s": "ab"[i % 2]} for i in range(4)])
    t.append([{"id": i, "v": i, "s": "ab"[i % 2]} for i in range(4, 8)])
    assert not t.compact(full=True).snapshots


def test_changes_of_columns_are_no_rows_of_a_stream(table):
    t = table()
    t.append(data(range(2)))
    t.update({"v": "0"}, where="true")
    assert len(t.scan(between=(0, 1)).to_arrow()) == 2
    with pytest.raises(e.UnsupportedFeature, match="new values"):
        t.scan(between=(1, 2)).to_arrow()


@pytest.mark.parametrize(
    ("options", "primary_key"),
    [
        ({"data-evolution.enabled": "true"}, []),
        ({**OPTIONS, "deletion-vectors.enabled": "true"}, []),
        (OPTIONS, ["id"]),
    ],
)
def test_what_excludes_it(cat, options, primary_key):
    with pytest.raises(e.InvalidOption):
        cat.create_table("db.t", SCHEMA, primary_key=primary_key, options=options)


def test_many_rows_in_files_with_other_groups(table):
    """Batches of the files of the same rows end at other places."""
    t = table(**{"parquet.block.size": "65536"})
    n = 30_000
    t.append([{"id": i, "v": i, "s": "x" * (i % 50)} for i in range(n)])
    t.update({"v": "v + 1"}, where="id >= 10000 AND id < 20000")
    t.update({"s": "'y' || s"}, where="id < 15000")
    found = t.scan().to_arrow().sort_by("id").to_pylist()
    assert len(found) == n
    for i in (0, 9_999, 10_000, 14_999, 15_000, 19_999, 20_000, 29_999):
        s = "x" * (i % 50)
        assert found[i] == {"id": i, "v": i + (10_000 <= i < 20_000), "s": f"y{s}" if i < 15_000 else s}


def test_splits_travel(table):
    t = table(**{"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b"})
    for start in range(3):
        t.append(data([start]))
    t.update({"v": "7"}, where="id = 1")
    found = [r for split in t.scan().splits() for b in split.read() for r in b.to_pylist()]
    assert sorted((r["id"], r["v"]) for r in found) == [(0, 0), (1, 7), (2, 20)]
    assert len(t.scan().splits()) == 3
    assert st.open_table(t.location).scan(limit=2).to_arrow().num_rows == 2


def again(action):
    """Runs it until nobody is in between."""
    while True:
        try:
            return action()
        except e.CommitConflict:
            continue


def test_updates_and_compactions_at_the_same_time_lose_nothing(table):
    t = table()
    for start in range(0, 6, 2):
        t.append(data(range(start, start + 2)))

    def add():
        mine = st.open_table(t.location)
        for _ in range(3):
            again(lambda: mine.update({"v": "v + 1"}, where="true"))

    def compact():
        mine = st.open_table(t.location)
        for _ in range(3):
            mine.compact(full=True)

    def append():
        mine = st.open_table(t.location)
        for i in range(3):
            mine.append([{"id": 100 + i, "v": None, "s": "late"}])

    threads = [threading.Thread(target=work) for work in (add, add, compact, append)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = rows(t)
    assert [row for row in found if row[0] < 100] == [(i, i * 10 + 6, f"s{i}") for i in range(6)]
    assert len(found) == 9
    ids = t.inspect("row_tracking").to_arrow()["_ROW_ID"].to_pylist()
    assert sorted(ids) == list(range(9))
    assert t.maintenance.fsck(deep=True).problems == []
