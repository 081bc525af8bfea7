"""Row tracking: a row has an id as long as it lives, and says which snapshot made it what it is."""

from __future__ import annotations

import pytest
import siltstone as st
from forging import edit, patch_entries, sizes
from siltstone import errors as e

SCHEMA = {"id": "INT", "p": "STRING", "v": "BIGINT"}


@pytest.fixture
def table(cat):
    def table(name="t", schema=SCHEMA, partition_by=(), **options):
        options = {
            "row-tracking.enabled": "true",
            **{k.replace("__", ".").replace("data_", "data-"): v for k, v in options.items()},
        }
        return cat.create_table(f"db.{name}", schema, partition_by=list(partition_by), options=options)

    return table


def data(ids):
    return [{"id": i, "p": "ab"[i % 2], "v": i * 10} for i in ids]


def tracked(t, **query):
    found = t.inspect("row_tracking", **query).to_arrow().to_pylist()
    return sorted((r["id"], r["_ROW_ID"], r["_SEQUENCE_NUMBER"]) for r in found)


def test_ids_go_on_counting_over_commits_and_partitions(table):
    t = table(partition_by=["p"])
    t.append(data(range(4)))
    t.append(data(range(4, 6)))
    assert sorted(row for _, row, _ in tracked(t)) == list(range(6))
    assert {version for i, _, version in tracked(t) if i < 4} == {1}
    assert {version for i, _, version in tracked(t) if i >= 4} == {2}
    assert t.inspect("snapshots").to_arrow()["next_row_id"].to_pylist() == [4, 6]
    files = t.inspect("files").to_arrow().to_pylist()
    assert sorted(f["first_row_id"] for f in files) == [0, 2, 4, 5]
    assert all(f["min_sequence_number"] == f["max_sequence_number"] for f in files)


def test_the_view_takes_columns_and_conditions(table):
    t = table()
    t.append(data(range(10)))
    view = t.inspect("row_tracking")
    assert view.to_arrow().column_names == ["id", "p", "v", "_ROW_ID", "_SEQUENCE_NUMBER"]
    assert tracked(t, filter="_ROW_ID >= 8 OR id = 2") == [(2, 2, 1), (8, 8, 1), (9, 9, 1)]
    found = t.inspect("row_tracking", ["_ROW_ID", "id"], "v > 70 AND _SEQUENCE_NUMBER = 1").to_arrow()
    assert (found.column_names, found["_ROW_ID"].to_pylist()) == (["_ROW_ID", "id"], [8, 9])
    assert t.inspect("row_tracking", filter="_SEQUENCE_NUMBER > 1").count() == 0
    assert t.inspect("row_tracking").count() == 10
    assert len(t.inspect("row_tracking", limit=3).to_arrow()) == 3
    with pytest.raises(e.SiltstoneError):
        t.scan(["_ROW_ID"]).to_arrow()
    assert [sum(len(b) for b in s.read()) for s in t.inspect("row_tracking").splits()] == [10]


def test_rows_of_other_tables_have_no_ids(cat):
    t = cat.create_table("db.plain", SCHEMA)
    t.append(data(range(2)))
    with pytest.raises(e.InvalidArgument, match="no ids") as raised:
        t.inspect("row_tracking").to_arrow()
    assert "row-tracking.enabled" in str(raised.value)
    assert t.inspect("snapshots").to_arrow()["next_row_id"].to_pylist() == [0]


@pytest.mark.parametrize("more", [{"bucket": "1", "bucket-key": "id"}, {"bucket": "-2"}])
def test_only_append_tables_without_buckets_have_ids(cat, more):
    with pytest.raises(e.SiltstoneError):
        cat.create_table("db.t", SCHEMA, options={"row-tracking.enabled": "true", **more})
    with pytest.raises(e.InvalidOption, match="primary key"):
        cat.create_table("db.t", SCHEMA, primary_key=["id"], options={"row-tracking.enabled": "true"})


@pytest.mark.parametrize("vectors", ["false", "true"])
def test_rows_keep_their_ids_when_they_are_written_again(table, vectors):
    t = table(**{"deletion-vectors.enabled": vectors})
    t.append(data(range(5)))
    t.append(data(range(5, 10)))
    t.update({"v": "v + 1", "p": "'c'"}, where="id IN (1, 6)")
    expected = [(i, i, 3 if i in (1, 6) else 1 + (i >= 5)) for i in range(10)]
    assert tracked(t) == expected
    t.delete(where="id = 0")
    assert tracked(t) == expected[1:]
    t.compact(full=True)
    assert tracked(t) == expected[1:]
    assert t.maintenance.fsck(deep=True).problems == []
    t.update({"v": "0"}, where="id = 9")
    assert tracked(t)[-1] == (9, 9, t.snapshot().id)
    t.append(data([20]))
    assert tracked(t)[-1] == (20, 10, t.snapshot().id)
    assert tracked(t, version=1) == [(i, i, 1) for i in range(5)]


def test_rows_that_move_to_another_partition_keep_their_ids(table):
    t = table(partition_by=["p"])
    t.append(data(range(4)))
    before = {i: row for i, row, _ in tracked(t)}
    t.update({"p": "'z'"}, where="id = 3")
    assert {i: row for i, row, _ in tracked(t)} == before
    assert t.scan(filter="p = 'z'").count() == 1


def test_an_overwrite_brings_new_rows(table):
    t = table(partition_by=["p"])
    t.append(data(range(4)))
    t.overwrite(data([8]))
    assert [row for i, row, _ in tracked(t) if i == 8] == [4]


def test_files_of_a_writer_that_rolls_are_of_one_version(table):
    t = table(**{"target-file-size": "1 b"})
    t.append(data(range(5000)))
    assert len(t.files()) > 2
    assert tracked(t) == [(i, i, 1) for i in range(5000)]


def test_each_try_of_a_commit_counts_on_from_the_newest_snapshot(table):
    """Both were prepared on the empty table: the ids that the first try gave are another's by the second."""
    t = table()
    first, second = t.writer(), t.writer()
    first.write(data(range(3)))
    second.write(data(range(3, 6)))
    second.commit()
    first.commit()
    assert tracked(t) == [(0, 3, 2), (1, 4, 2), (2, 5, 2), (3, 0, 1), (4, 1, 1), (5, 2, 1)]


def test_rows_behind_a_rollback_get_the_ids_of_those_that_are_gone(table):
    t = table()
    t.append(data(range(3)))
    t.append(data(range(3, 6)))
    t.rollback(version=1)
    t.append(data([9]))
    assert tracked(t)[-1][1] == 3


def test_columns_that_were_added_do_not_change_ids(table):
    t = table()
    t.append(data(range(2)))
    t.alter().add_column("n", "INT").commit()
    t = st.open_table(t.location)
    t.append([{"id": 2, "p": "a", "v": 1, "n": 7}])
    t.compact(full=True)
    assert tracked(t) == [(0, 0, 1), (1, 1, 1), (2, 2, 2)]
    assert t.scan(["n"], filter="n IS NOT NULL").to_arrow()["n"].to_pylist() == [7]


def test_features_name_row_ids(table):
    t = table()
    t.append(data(range(2)))
    assert any(f.name == "row ids" for f in t.features())


def says_next_row_id(t, snapshot, number):
    path = f"{t.location.removeprefix('file:')}/snapshot/snapshot-{snapshot}"
    edit(path, lambda version: version.update(nextRowId=number))


def test_fsck_finds_ids_that_were_given_twice(table):
    t = table(manifest__compression="null")
    t.append(data(range(3)))
    t.append(data(range(3, 6)))
    says_next_row_id(t, 2, 4)
    assert [f.code for f in t.maintenance.fsck().problems] == ["wrong-next-row-id"]
    location = t.location.removeprefix("file:")
    patch_entries(location, lambda entry: entry["_FILE"].update(_FIRST_ROW_ID=0))
    sizes(location)
    t = st.open_table(t.location)
    assert {f.code for f in t.maintenance.fsck().problems} >= {"row-id-twice"}


@pytest.mark.parametrize("evolution", ["false", "true"])
def test_no_row_gets_the_id_of_another_one_whatever_the_snapshot_says(table, evolution):
    """New rows once hid those whose ids they got, where ``nextRowId`` was too small."""
    t = table(data_evolution__enabled=evolution)
    t.append(data(range(6)))
    for number in (0, 5):
        says_next_row_id(t, 1, number)
        with pytest.raises(e.CorruptFile, match=f"the next row id is {number}, a manifest has row id 5") as caught:
            st.open_table(t.location).append(data([9]))
        assert caught.value.context["field"] == "nextRowId"
        assert t.scan().count() == 6
    says_next_row_id(t, 1, 6)
    st.open_table(t.location).append(data([9]))
    assert t.scan().count() == 7
