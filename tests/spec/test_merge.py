"""MERGE: which rows belong together, which clause counts, and what the table holds afterwards."""

import datetime as dt
import random

import pyarrow as pa
import pytest
import siltstone as st
from siltstone import errors as e

KINDS = {
    "key": {"primary_key": ["id"], "bucket": 2},
    "key, dynamic buckets": {"primary_key": ["id"]},
    "key, vectors": {"primary_key": ["id"], "bucket": 1, "deletion_vectors__enabled": "true"},
    "append, vectors": {"deletion_vectors__enabled": "true"},
    "append, files written again": {},
    "append, buckets": {"bucket": 2, "bucket_key": "id"},
    "append, row ids": {"row_tracking__enabled": "true"},
}
SCHEMA = {"id": "BIGINT", "item": "STRING", "n": "INT"}
ROWS = [{"id": i, "item": f"i{i}", "n": i} for i in range(1, 6)]


@pytest.fixture(params=list(KINDS))
def table(request, make):
    t = make(SCHEMA, **KINDS[request.param])
    t.append(ROWS[:3])
    t.append(ROWS[3:])
    return t


def rows(t, columns=None):
    return sorted(t.scan(columns).to_pylist(), key=lambda row: row["id"])


def test_each_clause_does_what_it_says_in_one_commit(table):
    before = table.snapshot().id
    source = [{"id": 1, "item": "new", "n": 10}, {"id": 2, "item": None, "n": 20}, {"id": 9, "item": "i9", "n": 9}]
    report = (
        table.merge(source, on="id")
        .when_matched_delete("s.item IS NULL")
        .when_matched_update({"item": "upper(s.item)", "n": "t.n + s.n"})
        .when_not_matched_insert_all()
        .when_not_matched_by_source_update({"item": "'old'"}, "t.id = 3")
        .when_not_matched_by_source_delete("t.n > 4")
        .execute()
    )
    assert (report.updated_rows, report.deleted_rows, report.inserted_rows) == (2, 2, 1)
    assert report.affected_rows == 5
    assert [s.kind for s in table.history(None) if s.id > before and s.kind != "COMPACT"] in (["APPEND"], ["OVERWRITE"])
    assert rows(table) == [
        {"id": 1, "item": "NEW", "n": 11},
        {"id": 3, "item": "old", "n": 3},
        {"id": 4, "item": "i4", "n": 4},
        {"id": 9, "item": "i9", "n": 9},
    ]
    assert not table.maintenance.fsck().problems


def test_an_upsert_by_merge_keeps_columns_that_the_source_lacks(table):
    report = (
        table.merge(pa.table({"id": [2, 7], "item": ["b", "g"]}), on=["id"])
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute()
    )
    assert (report.updated_rows, report.inserted_rows) == (1, 1)
    assert table.get([2, 7]).to_pylist() if table.primary_key else True
    found = {row["id"]: row for row in rows(table)}
    assert found[2] == {"id": 2, "item": "b", "n": 2}
    assert found[7] == {"id": 7, "item": "g", "n": None}


def test_two_rows_of_the_source_for_one_row_of_the_table_are_refused(table):
    before = rows(table)
    twice = [{"id": 3, "item": "a"}, {"id": 3, "item": "b"}]
    with pytest.raises(e.InvalidArgument, match=r"several rows of the source.*id = 3"):
        table.merge(twice, on="id").when_matched_update_all().execute()
    with pytest.raises(e.InvalidArgument, match="several rows of the source"):
        table.merge(twice, on="id").when_matched_delete("s.item > ''").execute()
    assert rows(table) == before
    # a condition that leaves one of them, a delete that both agree on, and inserts are no question
    table.merge(twice, on="id").when_matched_update_all("s.item = 'b'").execute()
    assert {row["id"]: row["item"] for row in rows(table)}[3] == "b"
    assert table.merge(twice, on="id").when_not_matched_insert_all().execute().affected_rows == 0
    assert table.merge(twice, on="id").when_matched_delete().execute().deleted_rows == 1
    assert len(rows(table)) == 4


def test_conditions_compare_both_sides(table):
    source = {"id": [1, 2, 3, 8], "n": [1, 5, 2, 8], "op": ["U", "U", "D", "D"]}
    merge = table.merge(source, on="t.id = s.id AND t.id < 3").when_matched_update({"n": "s.n"}, "s.n > t.n")
    report = merge.when_not_matched_insert({"id": "s.id + 100", "item": "s.op"}, "s.op <> 'U'").execute()
    assert (report.updated_rows, report.inserted_rows) == (1, 2)
    found = {row["id"]: (row["item"], row["n"]) for row in rows(table)}
    assert found[2] == ("i2", 5)
    assert found[103] == found[108] == ("D", None)


def test_a_source_that_is_larger_than_its_memory_is_merged_in_parts(make):
    """Every key is in one part: neither found twice nor taken for missing."""
    for kind in ("key", "append, vectors"):
        t = make(SCHEMA, **KINDS[kind])
        t.append({"id": list(range(5_000)), "item": ["old"] * 5_000, "n": [0] * 5_000})
        source = pa.table({"id": range(2_500, 7_500), "item": ["a text of some length"] * 5_000, "n": [1] * 5_000})
        merge = t.merge(source.to_reader(500), on="id", memory_limit="20kb").when_matched_update_all()
        report = merge.when_not_matched_insert_all().when_not_matched_by_source_delete("t.id < 10").execute()
        assert (report.updated_rows, report.deleted_rows, report.inserted_rows) == (2_500, 10, 2_500), kind
        assert t.count() == 7_490
        assert t.count("n = 1") == 5_000
        assert len(t.scan(["id"]).to_arrow()["id"].unique()) == 7_490


def test_random_merges_agree_with_a_dict(make):
    random.seed(7)
    for kind in ("key", "key, vectors", "append, vectors", "append, files written again"):
        t = make(SCHEMA, **KINDS[kind])
        model = {}
        for _ in range(6):
            keys = random.sample(range(40), 12)
            source = {k: {"id": k, "item": random.choice(["x", "y", None]), "n": random.randint(0, 9)} for k in keys}
            merge = t.merge(list(source.values()), on="id").when_matched_delete("s.n = t.n").when_matched_update_all()
            merge.when_not_matched_insert_all("s.n > 2").when_not_matched_by_source_delete("t.n = 9").execute()
            for k in list(model):
                if k not in source:
                    if model[k]["n"] == 9:
                        del model[k]
                elif source[k]["n"] == model[k]["n"]:
                    del model[k]
                else:
                    model[k] = source[k]
                source.pop(k, None)
            model.update({k: row for k, row in source.items() if row["n"] > 2})
            assert rows(t) == [model[k] for k in sorted(model)], kind


def test_nulls_equal_nothing(make):
    t = make(SCHEMA)
    t.append([{"id": None, "item": "a"}, {"id": 1, "item": "b"}])
    source = [{"id": None, "item": "x"}, {"id": 1, "item": "y"}]
    report = t.merge(source, on="id").when_matched_update_all().when_not_matched_insert_all().execute()
    assert (report.updated_rows, report.inserted_rows) == (1, 1)
    assert t.count("id IS NULL") == 2


def test_new_rows_get_the_defaults_of_their_columns(make):
    for kind in ("key", "append, vectors"):
        t = make(SCHEMA, **KINDS[kind])
        t.alter().set_default("n", "7").commit()
        t = st.open_table(t.location)
        t.merge({"id": [1], "item": ["a"]}, on="id").when_not_matched_insert_all().execute()
        assert t.scan().to_pylist() == [{"id": 1, "item": "a", "n": 7}]


def test_rows_move_to_other_partitions(make):
    t = make({"dt": "STRING", "id": "INT", "v": "INT"}, [], ["dt"], deletion_vectors__enabled="true")
    t.append([{"dt": "a", "id": 1, "v": 1}, {"dt": "b", "id": 2, "v": 2}])
    t.merge({"id": [1], "day": ["c"]}, on="id").when_matched_update({"dt": "s.day"}).execute()
    assert sorted((row["dt"], row["id"]) for row in t) == [("b", 2), ("c", 1)]


def test_values_are_compared_and_stored_in_types_of_the_table(make):
    t = make({"id": "BIGINT", "at": "TIMESTAMP(3)", "d": "DECIMAL(10,2)"}, ["id"], bucket=1)
    t.append([{"id": 1, "at": dt.datetime(2026, 1, 1), "d": None}])
    source = pa.table(
        {
            "id": pa.array([1], pa.int32()),
            "at": pa.array([dt.datetime(2026, 1, 2)], pa.timestamp("us")),
            "d": pa.array([5], pa.int64()),
        }
    )
    t.merge(source, on="id").when_matched_update_all("s.at > t.at").execute()
    assert str(t.scan().to_pylist()[0]["d"]) == "5.00"
    # the key has the table's type wherever it is looked at
    assert t.merge(source, on="t.id = s.id AND s.id < 2 AND s.id IN (1, 7)").when_matched_delete("s.id = 2").execute()
    with pytest.raises(e.SchemaMismatch):
        t.merge({"id": [1], "x": [1.5]}, on="id").when_matched_update({"d": "s.x"}).execute()


def test_merge_engines_refuse_what_they_would_not_do(make):
    t = make(SCHEMA, ["id"], bucket=1, merge_engine="aggregation")
    with pytest.raises(e.InvalidArgument, match="aggregation"):
        t.merge(ROWS, on="id").when_matched_update_all().execute()
    with pytest.raises(e.DeleteNotAllowed):
        t.merge(ROWS, on="id").when_matched_delete().execute()
    assert t.merge(ROWS, on="id").when_not_matched_insert_all().execute().inserted_rows == 5


@pytest.mark.parametrize(
    ("merge", "match"),
    [
        (lambda t: t.merge(ROWS, on="id"), "no clause"),
        (lambda t: t.merge(ROWS, on="t.id > 1").when_matched_delete(), "equals one of the source"),
        (lambda t: t.merge(ROWS, on="nothing").when_matched_delete(), "no column 't.nothing'"),
        (lambda t: t.merge(ROWS, on="id").when_matched_update({"nothing": "1"}), "no column 'nothing'"),
        (lambda t: t.merge(ROWS, on="id").when_matched_update({"item": "item"}), "both the table and the source have"),
        (lambda t: t.merge(ROWS, on="id").when_matched_update({"item": "x.item"}), "there is no 'x'"),
        (lambda t: t.merge(ROWS, on="id").when_not_matched_insert({"id": "t.id"}), "rows without the table"),
        (lambda t: t.merge(ROWS, on="id").when_matched_update({"item": "s.n"}, "s.item > 1 +"), "cannot be read"),
        (lambda t: t.merge([{"id": 1, "y": 2}], on="id").when_matched_update_all(), "the source has the column 'y'"),
        (lambda t: t.merge(ROWS, on=[]), "names no column"),
        (lambda t: t.merge(ROWS, on="id").when_matched_delete().when_matched_update_all(), "no row can reach"),
        (lambda t: t.merge(ROWS, on="id").when_matched_update({}), "is empty"),
        (lambda t: t.merge(5, on="id").when_matched_delete(), "holds no rows"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_reason(make, merge, match):
    t = make(SCHEMA, ["id"], bucket=1)
    t.append(ROWS)
    with pytest.raises(e.SiltstoneError, match=match):
        merge(t).execute()
    assert t.snapshot().id == 1


def test_rows_of_tables_with_data_evolution_are_inserted_and_not_changed(make):
    t = make(SCHEMA, row_tracking__enabled="true", data_evolution__enabled="true")
    t.append(ROWS[:1])
    with pytest.raises(e.UnsupportedFeature, match="data evolution"):
        t.merge(ROWS, on="id").when_matched_update_all().execute()
    assert t.merge(ROWS, on="id").when_not_matched_insert_all().execute().inserted_rows == 4


def test_a_merge_into_an_empty_table_inserts_everything(make):
    for kind in KINDS.values():
        t = make(SCHEMA, **kind)
        assert t.merge(ROWS, on="id").when_matched_delete().when_not_matched_insert_all().execute().inserted_rows == 5
        assert rows(t) == ROWS


def test_another_commit_in_between_is_seen(make, monkeypatch):
    """The rows are looked for again when others have changed them."""
    t = make(SCHEMA, ["id"], bucket=1)
    t.append(ROWS)

    def source():
        yield pa.record_batch({"id": pa.array([1]), "n": pa.array([5], pa.int32())})
        st.open_table(t.location).upsert([{"id": 1, "item": "meanwhile", "n": 1}])

    reader = pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64()), ("n", pa.int32())]), source())
    t.merge(reader, on="id").when_matched_update({"n": "t.n + s.n"}).execute()
    assert t.get(1).to_pylist() == [{"id": 1, "item": "meanwhile", "n": 6}]
