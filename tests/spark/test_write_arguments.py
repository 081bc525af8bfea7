"""What ``ss.write`` is told besides rows, and what is left of a write that fails."""

import pathlib

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone import spark as ss

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def orders(spark, tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("db")
    ss.enable(spark, warehouse=str(tmp_path / "lake"))
    t = cat.create_table(
        "db.orders",
        {"dt": "STRING", "id": "INT", "v": "INT"},
        primary_key=["dt", "id"],
        partition_by=["dt"],
        options={"bucket": "1"},
    )
    t.upsert([{"dt": d, "id": 1, "v": 1} for d in ("a", "b")])
    return t


def rows(t, *columns):
    return sorted(tuple(r.values()) for r in t.scan(list(columns) or None).to_arrow().to_pylist())


def frame(spark, given, schema="dt string, id int, v int"):
    return spark.createDataFrame(given, schema).coalesce(1)


def test_an_overwrite_of_a_partition_leaves_the_others(spark, orders):
    ss.write(frame(spark, [("a", 2, 2)]), "db.orders", mode="overwrite", partition={"dt": "a"})
    assert rows(orders) == [("a", 2, 2), ("b", 1, 1)]
    with pytest.raises(e.SiltstoneError, match="partition"):
        ss.write(frame(spark, [("c", 2, 2)]), "db.orders", mode="overwrite", partition={"dt": "a"})
    with pytest.raises(e.InvalidArgument, match="mode='overwrite'"):
        ss.write(frame(spark, [("a", 2, 2)]), "db.orders", partition={"dt": "a"})


def test_columns_that_are_new_or_wider_are_merged_into_the_schema(spark, orders):
    new = frame(spark, [("a", 2, 2**40, [1])], "dt string, id int, v long, tags array<int>")
    with pytest.raises(e.SchemaMismatch, match="tags"):
        ss.write(new, "db.orders")
    ss.write(new, "db.orders", merge_schema=True)
    now = st.open_table(orders.location)
    assert rows(now) == [("a", 1, 1, None), ("a", 2, 2**40, [1]), ("b", 1, 1, None)]


def test_rows_have_kinds_of_their_own(spark, orders):
    changes = frame(spark, [("a", 1, 1, "-D"), ("b", 1, 7, "+U")], "dt string, id int, v int, kind string")
    ss.write(changes, "db.orders", row_kind_column="kind")
    assert rows(orders) == [("b", 1, 7)]
    with pytest.raises(e.InvalidArgument, match="no column 'nope'"):
        ss.write(changes, "db.orders", row_kind_column="nope")


def test_a_commit_with_a_number_is_done_once(spark, orders):
    for _ in range(2):
        report = ss.write(frame(spark, [("c", 1, 1)]), "db.orders", commit_user="nightly", identifier=7)
    assert report.already_committed and orders.snapshot().id == 2
    with pytest.raises(e.InvalidArgument, match="commit_user"):
        ss.write(frame(spark, [("c", 1, 1)]), "db.orders", identifier=8)


def test_what_cannot_be_written_is_a_typed_error_that_leaves_no_file(spark, orders):
    """It was a PythonException with a traceback, and files of tasks that had finished stayed."""

    def files():
        return sorted(pathlib.Path(orders.location).glob("dt=*/bucket-*/*"))

    before = files()
    bad = spark.createDataFrame([("x", 1, 1), ("y", None, 1)], "dt string, id int, v int")
    with pytest.raises(e.NullInKey):
        ss.write(bad, "db.orders", parallelism=2)
    with pytest.raises(e.SchemaMismatch):  # before a job starts
        ss.write(bad.selectExpr("dt", "id", "'text' AS v"), "db.orders")
    assert files() == before and orders.snapshot().id == 1


def test_a_table_is_named_as_sparks_own(spark, orders):
    assert ss.table(spark, "db.orders").where("dt = 'a'").count() == 1
    assert ss.table(spark, "db.orders$snapshots").count() == 1


def test_deletes_that_a_merge_engine_does_not_take_are_refused(spark, orders):
    """`ss.write(keys, row_kind="-D")` of a partial-update table reported success and deleted nothing."""
    cat = st.connect(pathlib.Path(orders.location).parents[1])
    options = {"bucket": "1", "merge-engine": "partial-update"}
    t = cat.create_table("db.part", {"id": "INT", "v": "INT"}, primary_key=["id"], options=options)
    t.upsert([{"id": 1, "v": 1}])
    for keys in (frame(spark, [(1,)], "id int"), frame(spark, [(1, 1)], "id int, v int")):
        with pytest.raises(e.DeleteNotAllowed, match="partial-update"):
            ss.write(keys, t, row_kind="-D")
    assert rows(t) == [(1, 1)] and t.snapshot().id == 1
