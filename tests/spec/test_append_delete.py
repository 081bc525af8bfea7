"""DELETE and UPDATE: vectors or copy on write on append tables, -D and +U rows on primary-key tables."""

from __future__ import annotations

import json
import pathlib

import pytest
import siltstone as st

VECTORS = {"deletion-vectors.enabled": "true"}
APPEND = [
    pytest.param({}, id="copy-on-write"),
    pytest.param(VECTORS, id="vectors"),
    pytest.param({**VECTORS, "deletion-vectors.bitmap64": "true"}, id="vectors-64"),
    pytest.param({**VECTORS, "bucket": "2", "bucket-key": "id"}, id="vectors-bucketed"),
    pytest.param({"bucket": "2", "bucket-key": "id"}, id="copy-on-write-bucketed"),
]
SCHEMA = {"p": "STRING", "id": "BIGINT", "v": "INT", "s": "STRING"}


@pytest.fixture
def cat(tmp_path):
    cat = st.connect(tmp_path)
    cat.create_database("d")
    return cat


def rows(t, **query):
    return sorted((r["id"], r["v"]) for r in t.scan(["id", "v"], **query).to_arrow().to_pylist())


def data(ids, p="a"):
    return [{"p": p, "id": i, "v": i * 10, "s": f"s{i}"} for i in ids]


def append_table(cat, options, **more):
    t = cat.create_table("d.t", SCHEMA, options=options, **more)
    t.append(data(range(10)))
    t.append(data(range(10, 20), "b"))
    return t


@pytest.mark.parametrize("options", APPEND)
@pytest.mark.parametrize("partition_by", [[], ["p"]], ids=["plain", "partitioned"])
class TestAppendTables:
    def test_deleted_rows_are_gone_and_older_snapshots_keep_them(self, cat, options, partition_by):
        t = append_table(cat, options, partition_by=partition_by)
        report = t.delete(where="id >= 5 AND id < 12 OR s = 's19'")
        assert report.affected_rows == 8
        assert [s.kind for s in report.snapshots] == ["OVERWRITE"]
        left = [(i, i * 10) for i in [*range(5), *range(12, 19)]]
        assert rows(t) == left
        assert t.scan().count() == 12
        assert t.scan(filter="v > 20").count() == 9
        assert len(t.scan(limit=3).to_arrow()) == 3
        assert len(rows(t, version=2)) == 20

    def test_deleting_again_adds_to_what_is_deleted(self, cat, options, partition_by):
        t = append_table(cat, options, partition_by=partition_by)
        for i in range(0, 20, 3):
            assert t.delete(where=f"id = {i}").affected_rows == 1
        assert t.delete(where="id = 0").affected_rows == 0
        assert [i for i, _ in rows(t)] == [i for i in range(20) if i % 3]

    def test_updated_rows_have_new_values(self, cat, options, partition_by):
        t = append_table(cat, options, partition_by=partition_by)
        report = t.update({"v": "v * 2 + 1", "s": "upper(s) || '!'"}, where=st.col("id") < 3)
        assert report.affected_rows == 3
        assert len(report.snapshots) == 1
        found = {r["id"]: (r["v"], r["s"]) for r in t.scan().to_arrow().to_pylist()}
        assert (found[0], found[2], found[3]) == ((1, "S0!"), (41, "S2!"), (30, "s3"))
        assert t.scan().count() == 20

    def test_a_file_whose_rows_are_all_deleted_goes(self, cat, options, partition_by):
        t = append_table(cat, options, partition_by=partition_by)
        t.delete(where="v < 100")
        assert t.scan().count() == 10
        assert sum(f["rows"] for f in t.files()) == 10

    def test_compaction_drops_deleted_rows_and_their_vectors(self, cat, options, partition_by):
        t = append_table(cat, options, partition_by=partition_by)
        t.append(data(range(20, 30)))
        t.append(data(range(30, 40), "b"))
        t.delete(where="id IN (1, 11, 21, 31)")
        before = rows(t)
        t.compact(full=True)
        assert rows(t) == before
        assert sum(f["rows"] for f in t.files()) == 36
        t.delete(where="id = 2")
        assert rows(t) == [r for r in before if r[0] != 2]

    def test_overwriting_forgets_vectors(self, cat, options, partition_by):
        t = append_table(cat, options, partition_by=partition_by)
        t.delete(where="id = 3")
        t.overwrite(data([3], "a"), dynamic=False)
        assert rows(t) == [(3, 30)]
        t.truncate()
        assert t.scan().count() == 0


@pytest.mark.parametrize("options", APPEND)
def test_an_updated_partition_or_bucket_column_moves_the_row(cat, options):
    t = append_table(cat, options, partition_by=["p"])
    assert t.update({"p": "'c'", "id": "id + 100"}, where="id IN (3, 13)").affected_rows == 2
    assert rows(t, filter="p = 'c'") == [(103, 30), (113, 130)]
    assert t.scan().count() == 20
    assert rows(t, filter="id IN (3, 13)") == []


def switched_off_by_java(t):
    """The next schema as Java writes it, which lets the mode go while vectors delete rows."""
    folder = pathlib.Path(t.location) / "schema"
    last = max(int(f.name.removeprefix("schema-")) for f in folder.glob("schema-*"))
    schema = json.loads((folder / f"schema-{last}").read_text())
    schema["id"] = last + 1
    schema["options"]["deletion-vectors.enabled"] = "false"
    (folder / f"schema-{last + 1}").write_text(json.dumps(schema))


@pytest.mark.parametrize("bits", ["false", "true"])
def test_switching_vectors_on_and_off_keeps_what_is_deleted(cat, bits):
    t = append_table(cat, {"deletion-vectors.modifiable": "true"})
    t.delete(where="id < 2")
    t.alter().set_option("deletion-vectors.enabled", "true").set_option("deletion-vectors.bitmap64", bits).commit()
    assert t.delete(where="id = 2").affected_rows == 1
    assert sum(f["rows"] for f in t.files()) == 18, "marked, not rewritten"
    with pytest.raises(st.errors.IllegalSchemaChange, match="would be there again"):
        t.alter().set_option("deletion-vectors.enabled", "false").commit()
    switched_off_by_java(t)
    t = st.open_table(t.location)
    assert [i for i, _ in rows(t)] == list(range(3, 20)), "the vectors are still there"
    t.delete(where="id = 3")
    t.compact(full=True)
    assert [i for i, _ in rows(t)] == list(range(4, 20))
    assert sum(f["rows"] for f in t.files()) == 16


def test_both_encodings_live_in_one_table(cat):
    for name, options in {"u": VECTORS, "b": {**VECTORS, "bucket": "1", "bucket-key": "id"}}.items():
        t = cat.create_table(f"d.{name}", SCHEMA, options=options)
        t.append(data(range(10)))
        t.append(data(range(10, 20)))
        t.delete(where="id IN (1, 11)")
        t.alter().set_option("deletion-vectors.bitmap64", "true").commit()
        t.delete(where="id IN (2, 12)")
        t.alter().set_option("deletion-vectors.bitmap64", "false").commit()
        t.delete(where="id = 13")
        assert [i for i, _ in rows(t)] == [0, *range(3, 11), *range(14, 20)]
        t.compact(full=True)
        assert t.scan().count() == 15


def test_a_condition_on_partitions_drops_them(cat):
    t = append_table(cat, VECTORS, partition_by=["p"])
    t.delete(where="id = 3")
    report = t.delete(where="p = 'a'")
    assert (report.affected_rows, rows(t)[0][0], t.scan().count()) == (9, 10, 10)


def test_two_deletes_of_the_same_file_do_not_undo_each_other(cat):
    for name, options in {"u": VECTORS, "b": {**VECTORS, "bucket": "1", "bucket-key": "id"}}.items():
        t = cat.create_table(f"d.{name}", SCHEMA, options=options)
        t.append(data(range(10)))
        other = cat.table(f"d.{name}")
        t.delete(where="id = 1")
        other.delete(where="id = 2")
        assert [i for i, _ in rows(t)] == [0, 3, 4, 5, 6, 7, 8, 9]


def test_what_cannot_be_computed_is_refused_before_anything_is_written(cat):
    t = append_table(cat, {})
    for change in ({"v": "'x'"}, {"nope": "1"}, {"v": "sqrt(v)"}, {"v": "1 +"}, {"v": "v + s"}):
        with pytest.raises(st.errors.SiltstoneError):
            t.update(change, where="id = 1")
    with pytest.raises(st.errors.InvalidArgument):
        t.delete()
    with pytest.raises(st.errors.InvalidArgument):
        t.delete(keys=[{"id": 1}])
    assert len(t.history()) == 2


class TestPrimaryKeys:
    def table(self, cat, **options):
        t = cat.create_table("d.k", SCHEMA, primary_key=["id"], options={"bucket": "2", **options})
        t.upsert(data(range(10)))
        return t

    def test_rows_are_deleted_by_condition_and_by_key(self, cat):
        t = self.table(cat)
        assert t.delete(where="v >= 50").affected_rows == 5
        assert t.delete(keys=[{"id": 1}, {"id": 99}]).affected_rows == 2
        assert [i for i, _ in rows(t)] == [0, 2, 3, 4]

    def test_where_more_than_the_key_is_needed_rows_are_looked_up(self, cat):
        t = self.table(cat, **{"sequence.field": "v"})
        assert t.delete(keys=[{"id": 1}, {"id": 99}]).affected_rows == 1
        assert [i for i, _ in rows(t)] == [0, *range(2, 10)]

    def test_rows_are_updated(self, cat):
        t = self.table(cat)
        assert t.update({"s": "NULL", "v": "-v"}, where="id < 2 OR s = 's9'").affected_rows == 3
        assert rows(t)[1] == (1, -10)
        assert t.scan(filter="s IS NULL").count() == 3

    def test_a_key_cannot_be_updated(self, cat):
        with pytest.raises(st.errors.InvalidArgument, match="primary key"):
            self.table(cat).update({"id": "id + 1"}, where="true")

    def test_engines_that_delete_no_rows_refuse(self, cat):
        t = self.table(cat, **{"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"})
        with pytest.raises(st.errors.DeleteNotAllowed, match="aggregation"):
            t.delete(where="id = 1")
        with pytest.raises(st.errors.InvalidArgument, match="aggregation"):
            t.update({"v": "1"}, where="id = 1")

    def test_a_partition_column_cannot_be_updated(self, cat):
        t = cat.create_table("d.p", SCHEMA, primary_key=["p", "id"], partition_by=["p"], options={"bucket": "1"})
        t.upsert(data(range(3)))
        with pytest.raises(st.errors.InvalidArgument, match="primary key"):
            t.update({"p": "'z'"}, where="id = 1")
        assert len(t.history()) == 1

    @pytest.mark.parametrize(
        "options",
        [{"merge-engine": "first-row"}, {"ignore-delete": "true"}, {"merge-engine": "partial-update"}],
        ids=str,
    )
    def test_tables_that_take_no_deletes_say_so_and_stay_as_they_are(self, cat, options):
        t = self.table(cat, **options)
        before = (len(t.history()), rows(t))
        with pytest.raises(st.errors.DeleteNotAllowed):
            t.delete(where="v > 20")
        with pytest.raises(st.errors.DeleteNotAllowed):
            t.delete(keys=[{"id": 1}])
        if options.get("merge-engine") == "first-row":
            with pytest.raises(st.errors.InvalidArgument, match="first-row"):
                t.update({"v": "1"}, where="id = 1")
        assert (len(t.history()), rows(t)) == before

    def test_engines_that_delete_by_option_delete(self, cat):
        t = self.table(
            cat,
            **{
                "merge-engine": "aggregation",
                "fields.v.aggregate-function": "sum",
                "aggregation.remove-record-on-delete": "true",
            },
        )
        t.delete(where="id = 1")
        assert len(rows(t)) == 9
