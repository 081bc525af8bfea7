"""PySpark: read, write and compact without a jar."""

import datetime as dt
import decimal
import os

import pyarrow as pa
import pytest
import siltstone as st
from siltstone import errors as e
from siltstone import spark as ss

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def lake(spark, tmp_path):
    warehouse = str(tmp_path / "lake")
    cat = st.connect(warehouse)
    cat.create_database("db")
    ss.enable(spark, warehouse=warehouse)
    return cat


@pytest.fixture
def orders(lake):
    t = lake.create_table(
        "db.orders",
        {"dt": "STRING", "id": "INT", "v": "STRING"},
        primary_key=["dt", "id"],
        partition_by=["dt"],
        options={"bucket": "2", "write-only": "true"},
    )
    t.append([{"dt": f"d{i % 3}", "id": i, "v": str(i)} for i in range(300)])
    return t


def test_read_by_helper_and_by_format(spark, orders):
    assert ss.read(spark, "db.orders").count() == 300
    assert ss.read(spark, orders, columns=["v"], filter="id = 7").collect()[0].asDict() == {"v": "7"}
    for name in ("db.orders", orders.location):
        df = spark.read.format("siltstone").load(name)
        assert df.where("dt = 'd1' and id > 290").count() == 3
        assert df.where("v like '29%' or id in (1, 2)").count() == 13
        assert df.count() == 300
    old = orders.snapshot().id
    orders.append([{"dt": "d9", "id": 1}])
    assert spark.read.format("siltstone").option("scan.snapshot-id", old).load("db.orders").count() == 300
    assert ss.read(spark, "db.orders", version=old).count() == 300
    with pytest.raises(e.InvalidArgument):
        ss.read(spark, "db.orders", columns=["nope"])


def test_a_frame_used_twice_never_keeps_the_filter_of_its_first_query(spark, orders):
    """Spark keeps a Python source's reader, pushed filters included, with the frame: so nothing is pushed unasked."""
    df = spark.read.format("siltstone").load("db.orders")
    assert [df.where("id = 7").count(), df.count(), df.where("id < 2 or v = '5'").count()] == [1, 300, 3]
    once = spark.read.format("siltstone").option("pushdown", "true").load("db.orders")
    assert once.where("id = 7 and v is not null and dt like 'd%'").count() == 1
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    try:
        assert df.where("id = 7").count() == 1
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


def test_options_that_would_do_nothing_are_refused_by_reads_and_writes(spark, orders):
    """``as_of`` and ``row_kind`` were taken for keys of other programs: the newest rows were read, deletions inserted."""
    before = orders.snapshot().id
    for key, meant in (("as_of", "as-of"), ("versions", "version"), ("my.key", None)):
        with pytest.raises(Exception, match=f"'{key}' is not an option") as caught:
            spark.read.format("siltstone").option(key, "2020-01-01").load("db.orders").count()
        assert meant is None or f"'{meant}'" in str(caught.value)
    frame = spark.createDataFrame([("d1", 1, "x")], "dt string, id int, v string")
    with pytest.raises(Exception, match="'row_kind' is not an option") as caught:
        frame.write.format("siltstone").mode("append").option("row_kind", "-D").save("db.orders")
    assert "'row-kind'" in str(caught.value)
    with pytest.raises(e.UnknownOption, match="scan.snapshot-id"):
        ss.read(spark, "db.orders", options={"scan.snapshotid": "1"})
    assert orders.snapshot().id == before


def test_the_option_of_filter_pushdown_is_true_or_false_in_any_case(spark, orders):
    """TRUE meant false."""
    from siltstone.spark.datasource import SiltstoneSource
    from siltstone.spark.source_reader import PushdownReader

    def pushes(asked):
        source = SiltstoneSource({"path": orders.path, "pushdown": asked})
        return isinstance(source.reader(spark.createDataFrame([], "id int").schema), PushdownReader)

    assert [pushes(asked) for asked in ("TRUE", "true", "False")] == [True, True, False]
    with pytest.raises(e.InvalidArgument, match="option 'pushdown' is true or false, not 'yes'"):
        pushes("yes")


def test_an_empty_table_reads_as_no_rows(spark, lake):
    lake.create_table("db.empty", {"id": "INT"}, primary_key=["id"], options={"bucket": "1"})
    assert ss.read(spark, "db.empty").collect() == []


def test_write_clusters_by_bucket_and_commits_once(spark, orders):
    df = spark.range(1000).selectExpr("concat('d', id % 3) as dt", "cast(id as int) as id", "concat('n', id) as V")
    before = orders.snapshot().id
    report = ss.write(df, "db.orders", mode="upsert")
    assert report.rows == 1000
    assert orders.snapshot().id == before + 1
    assert report.files == 6  # three partitions of two buckets: no bucket has two writers
    assert orders.scan(filter="v = 'n7'").count() == 1
    assert orders.scan().count() == 1000
    ss.write(df.where("id < 10"), "db.orders", row_kind="-D")
    assert orders.scan().count() == 990


def test_write_modes(spark, orders):
    one = spark.createDataFrame([("d0", 5, "x")], "dt string, id int, v string")
    ss.write(one, "db.orders", mode="overwrite-partitions")
    assert orders.scan().count() == 201
    ss.write(one, "db.orders", mode="overwrite")
    assert orders.scan().count() == 1
    with pytest.raises(e.InvalidArgument):
        ss.write(one, "db.orders", mode="merge")


def test_write_through_the_format(spark, lake, orders):
    one = spark.createDataFrame([("d0", 3, "x")], "dt string, id int, v string")
    one.write.format("siltstone").mode("append").save("db.orders")
    assert orders.scan(filter="v = 'x'").count() == 1
    with pytest.raises(Exception, match="overwrite.mode"):
        one.write.format("siltstone").mode("overwrite").save("db.orders")
    assert orders.scan().count() == 300
    one.write.format("siltstone").mode("overwrite").option("overwrite.mode", "dynamic").save("db.orders")
    assert orders.scan().count() == 201
    t = lake.create_table("db.log", {"id": "BIGINT"})
    spark.range(100).write.format("siltstone").mode("append").save("db.log")
    assert t.scan().count() == 100


def test_a_failing_task_leaves_the_table_as_it_was(spark, orders):
    bad = spark.createDataFrame([("d0", None, "x")], "dt string, id int, v string")
    before = (orders.snapshot().id, orders.scan().count())
    for write in (
        lambda: ss.write(bad, "db.orders"),
        lambda: bad.write.format("siltstone").mode("append").save("db.orders"),
    ):
        with pytest.raises(Exception, match="NullInKey|null"):
            write()
    assert (orders.snapshot().id, orders.scan().count()) == before


def test_compaction_runs_on_executors_and_commits_once(spark, orders):
    for i in range(3):
        orders.append([{"dt": "d0", "id": i, "v": "new"}])
    expected = orders.scan().to_arrow().sort_by([("dt", "ascending"), ("id", "ascending")])
    before = orders.snapshot().id
    report = ss.compact(spark, "db.orders", full=True)
    assert report.tasks == 6
    assert orders.snapshot().id == before + 1
    assert {f["level"] for f in orders.files()} == {5}
    assert (
        ss.read(spark, "db.orders")
        .toArrow()
        .sort_by([("dt", "ascending"), ("id", "ascending")])
        .equals(expected.cast(ss.read(spark, "db.orders").toArrow().schema))
    )
    assert ss.compact(spark, "db.orders", full=True).snapshots == []


def test_a_failed_compaction_task_leaves_the_table_as_it_was(spark, orders):
    orders.append([{"dt": "d0", "id": 3, "v": "new"}])
    files = orders.files()
    places = [(f["partition"], f["bucket"]) for f in files]
    # a bucket of one file would only be moved up, without being read
    path = next(f["path"] for f, place in zip(files, places, strict=True) if places.count(place) == 2)
    os.rename(path, path + ".away")
    before = orders.snapshot().id
    with pytest.raises(Exception, match="data-"):
        ss.compact(spark, "db.orders", full=True)
    os.rename(path + ".away", path)
    assert orders.snapshot().id == before
    assert orders.scan().count() == 300


def test_types_go_both_ways(spark, lake):
    schema = {
        "id": "INT", "b": "BOOLEAN", "i8": "TINYINT", "f": "FLOAT", "d": "DOUBLE", "dec": "DECIMAL(20,3)", "day": "DATE",
        "t": "TIME(3)", "ntz": "TIMESTAMP(3)", "ltz": "TIMESTAMP_LTZ(6)", "y": "BYTES", "a": "ARRAY<INT>",
        "m": "MAP<STRING, INT>", "r": "ROW<x INT>",
    }  # fmt: skip
    t = lake.create_table("db.types", schema, primary_key=["id"], options={"bucket": "1"})
    wall = dt.datetime(2024, 5, 14, 8, 0, 0, 123000)
    row = {
        "id": 1, "b": True, "i8": 5, "f": 1.5, "d": 2.5, "dec": decimal.Decimal("1.250"), "day": dt.date(2024, 5, 14),
        "t": dt.time(1, 2, 3), "ntz": wall, "ltz": wall.replace(tzinfo=dt.UTC), "y": b"\x01", "a": [1, None],
        "m": [("k", 1)], "r": {"x": 3},
    }  # fmt: skip
    t.append(pa.Table.from_pylist([row], schema=t.schema))
    df = ss.read(spark, "db.types")
    got = df.collect()[0]
    assert (got.ntz, got.t, got.dec, got.a, got.r.x) == (wall, 3723000, row["dec"], [1, None], 3)
    assert dict(df.dtypes)["ntz"] == "timestamp_ntz"
    copy = lake.create_table("db.copy", schema, primary_key=["id"], options={"bucket": "1"})
    ss.write(df, "db.copy")
    assert copy.scan().to_arrow().to_pylist() == t.scan().to_arrow().to_pylist()


def test_system_tables_are_read_by_name_and_by_directory(spark, orders):
    files = ss.read(spark, "db.orders$files", columns=["partition", "level"], filter="record_count > 0")
    assert {tuple(r) for r in files.collect()} >= {("{d0}", 0), ("{d1}", 0), ("{d2}", 0)}
    by_path = spark.read.format("siltstone").load(orders.location + "$snapshots")
    assert [(r.snapshot_id, r.commit_kind) for r in by_path.collect()] == [(1, "APPEND")]
    assert spark.read.format("siltstone").load("db.orders$tags").count() == 0


def test_changes_between_versions_are_read_with_and_without_their_kinds(spark, lake):
    t = lake.create_table(
        "db.changed", {"id": "INT", "v": "STRING"}, primary_key=["id"], options={"bucket": "2", "write-only": "true"}
    )
    t.upsert([{"id": i, "v": "a"} for i in range(4)])
    t.upsert([{"id": 1, "v": "b"}])
    t.append([{"id": 2, "v": "a"}], row_kind="-D")
    got = ss.read(spark, "db.changed", between=(1, 3)).collect()
    assert [tuple(r) for r in got] == [(1, "b")]
    assert ss.read(spark, "db.changed", between=(1, 3), mode="diff").count() == 1
    log = spark.read.format("siltstone").option("incremental-between", "1,3").load("db.changed$audit_log")
    assert sorted(tuple(r) for r in log.collect()) == [("+I", 1, "b"), ("-D", 2, "a")]
    assert spark.read.format("siltstone").option("between", "0,1").load("db.changed").count() == 4


def test_partitions_of_a_fallback_branch_are_read_on_executors(spark, lake, orders):
    orders.branches.create("b")
    st.open_table(orders.location, branch="b").append([{"dt": "d0", "id": 1}, {"dt": "d7", "id": 5, "v": "b"}])
    df = spark.read.format("siltstone").option("scan.fallback-branch", "b").load("db.orders")
    assert df.count() == 301
    orders.alter().set_option("scan.fallback-branch", "b").commit()
    found = ss.sql(spark, "SELECT id, v FROM db.orders WHERE dt = 'd7'").collect()
    assert [row.asDict() for row in found] == [{"id": 5, "v": "b"}]
    assert ss.read(spark, "db.orders", filter="v = 'b'").count() == 1


def test_the_format_is_found_without_registering_it(tmp_path, lake):
    """Spark looks for packages whose names begin with `pyspark_`; the wheel lacked ours."""
    import subprocess
    import sys

    t = lake.create_table("db.plain", {"id": "INT"})
    t.append([{"id": 7}])
    code = (
        "import sys; from pyspark.sql import SparkSession; spark = SparkSession.builder.master('local[1]')"
        ".config('spark.ui.enabled', 'false').config('spark.driver.bindAddress', '127.0.0.1').getOrCreate();"
        "print(spark.read.format('siltstone').load(sys.argv[1]).collect())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, t.location], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "[Row(id=7)]\n", done.stderr


def test_options_and_tags_keep_their_letters_and_commas(spark, lake):
    """`fields.Sold.aggregate-function` reached the table as `fields.sold...`; the tag `a,b` was two."""
    t = lake.create_table(
        "db.sold",
        {"id": "INT", "Sold": "INT"},
        primary_key=["id"],
        options={"bucket": "1", "merge-engine": "aggregation", "write-only": "true"},
    )
    for n, tag in ((2, "a"), (3, "a,b"), (4, "b,c")):
        t.upsert([{"id": 1, "Sold": n}])
        t.tags.create(tag)
    options = {"fields.Sold.aggregate-function": "sum"}
    assert ss.read(spark, "db.sold", options=options).first().Sold == 9
    assert ss.read(spark, "db.sold", between=("a,b", "b,c")).count() == 1


def test_pushed_filters_do_not_change_rows_that_spark_sees_with_fewer_digits(spark, lake):
    t = lake.create_table("db.nanos", {"id": "INT", "ts": "TIMESTAMP(9)", "t": "TIME"})
    ts = pa.array([1700000000123456789, -1], pa.timestamp("ns"))
    t.append(pa.table({"id": [1, 2], "ts": ts, "t": pa.array([5, 6], pa.time32("ms"))}))
    for condition, ids in {
        "ts = timestamp_ntz'2023-11-14 22:13:20.123456'": [1],
        "ts >= timestamp_ntz'1970-01-01 00:00:00'": [1],
        "ts = timestamp_ntz'1969-12-31 23:59:59.999999'": [2],
        "t = 5": [1],
    }.items():
        for pushdown in ("false", "true"):
            frame = spark.read.format("siltstone").option("pushdown", pushdown).load(t.path)
            assert [row.id for row in frame.where(condition).collect()] == ids, (condition, pushdown)


def test_a_wall_clock_becomes_the_instant_that_it_is_in_the_sessions_zone(spark, lake):
    t = lake.create_table("db.instants", {"id": "INT", "L": "TIMESTAMP_LTZ(6)"})
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = spark.sql("SELECT 1 AS id, timestamp_ntz'2026-07-01 08:00:00' AS l")
        ss.write(frame, t)
        (row,) = ss.read(spark, t).selectExpr("cast(L AS string) AS l").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert row.l == "2026-07-01 08:00:00"
    assert t.scan().to_arrow()["L"].cast(pa.string()).to_pylist() == ["2026-07-01 12:00:00.000000Z"]
