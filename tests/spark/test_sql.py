"""``ss.sql``: Paimon tables in plain SQL, without a catalog plugin."""

import pathlib
import time

import pyarrow.parquet as pq
import pytest
import siltstone as st
from siltstone import errors as e
from siltstone import spark as ss
from siltstone.spark import relations

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def shop(spark, tmp_path):
    warehouse = str(tmp_path / "lake")
    cat = st.connect(warehouse)
    cat.create_database("shop")
    columns = {"id": "BIGINT NOT NULL", "v": "INT", "s": "STRING"}
    t = cat.create_table("shop.orders", columns, primary_key=["id"], options={"bucket": "1"})
    t.upsert([{"id": 1, "v": 10, "s": "a"}, {"id": 2, "v": 20, "s": "b"}])
    time.sleep(0.02)
    t.upsert([{"id": 1, "v": 11, "s": "c"}, {"id": 3, "v": 20, "s": "b"}])
    ss.enable(spark, warehouse=warehouse)
    return t


def rows(spark, query):
    return [tuple(r) for r in ss.sql(spark, query).collect()]


def test_tables_are_read_by_name_at_any_version(spark, shop):
    assert rows(spark, "SELECT * FROM shop.orders ORDER BY id") == [(1, 11, "c"), (2, 20, "b"), (3, 20, "b")]
    assert rows(spark, "SELECT v FROM shop.orders VERSION AS OF 1 ORDER BY id") == [(10,), (20,)]
    joined = "SELECT o.v, x.v FROM shop.orders o JOIN paimon.shop.orders VERSION AS OF 1 AS x USING (id) ORDER BY 1"
    assert rows(spark, joined) == [(11, 10), (20, 20)]
    first = shop.snapshot(1).time
    for time_text in (f"'{first:%Y-%m-%d %H:%M:%S.%f}'", f"{first.timestamp():.3f}"):
        assert rows(spark, f"SELECT count(*) FROM shop.orders TIMESTAMP AS OF {time_text}") == [(2,)]


def test_queries_of_every_shape_give_sparks_answer(spark, shop):
    assert rows(spark, "WITH a AS (SELECT id FROM shop.orders) SELECT sum(id) FROM a") == [(6,)]
    assert rows(spark, "SELECT q.v FROM (SELECT id, v FROM shop.orders) q WHERE q.id = 1") == [(11,)]
    union = "SELECT id FROM shop.orders UNION ALL SELECT id FROM shop.orders VERSION AS OF 1"
    assert sorted(rows(spark, union)) == [(1,), (1,), (2,), (2,), (3,)]
    exists = "SELECT id FROM shop.orders o WHERE EXISTS (SELECT 1 FROM shop.orders VERSION AS OF 1 x WHERE x.s = o.s)"
    assert rows(spark, exists + " ORDER BY id") == [(2,), (3,)]
    assert rows(spark, "SELECT s, count(*) AS n FROM shop.orders GROUP BY s HAVING n > 1") == [("b", 2)]


def test_only_the_columns_of_the_query_are_read(spark, shop, monkeypatch):
    monkeypatch.setattr(relations, "FEW_ROWS", 0)
    monkeypatch.setattr(relations, "FEW_FILES", 0)
    plan = rows(spark, "EXPLAIN SELECT upper(s) FROM shop.orders WHERE id > 1")[0][0]
    scan = next(line for line in plan.splitlines() if "BatchScan" in line)
    assert "id#" in scan and "s#" in scan and "v#" not in scan


def test_columns_are_those_of_the_version_that_is_read(spark, shop):
    """Queries without columns read the first column of the newest schema, whatever the version had."""
    shop.alter().rename_column("v", "w").add_column("a", "INT", first=True).commit()
    assert rows(spark, "SELECT count(*) FROM shop.orders VERSION AS OF 1") == [(2,)]
    assert rows(spark, "SELECT sum(v), max(`s`) FROM shop.orders VERSION AS OF 1") == [(30, "b")]
    assert rows(spark, "SELECT sum(w) FROM shop.orders WHERE a IS NULL") == [(51,)]
    assert rows(spark, "SELECT max(c), count(*) FROM shop.orders VERSION AS OF 1 AS o (a, b, c)") == [("b", 2)]
    assert rows(spark, "SELECT count(*) FROM shop.orders VERSION AS OF 1 AS o (a, b, c)") == [(2,)]
    assert rows(spark, "SELECT max(snapshot_id) FROM shop.orders$snapshots") == [(2,)]


def test_statements_without_a_paimon_table_reach_spark_untouched(spark, shop):
    assert rows(spark, "SELECT 1 + 1, '$x', 'shop.orders'") == [(2, "$x", "shop.orders")]
    spark.createDataFrame([(7,)], "id INT").createOrReplaceTempView("orders")
    assert rows(spark, "SELECT * FROM orders") == [(7,)]
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        ss.sql(spark, "SELECT * FROM nope.t")
    assert rows(spark, "SHOW FUNCTIONS LIKE 'upper'") == [("upper",)]


def test_errors_name_the_version_or_the_statement(spark, shop):
    with pytest.raises(e.SnapshotNotFound, match="99"):
        ss.sql(spark, "SELECT * FROM shop.orders VERSION AS OF 99")
    with pytest.raises(e.TagNotFound, match="v9"):
        ss.sql(spark, "SELECT * FROM shop.orders VERSION AS OF 'v9'")
    with pytest.raises(e.InvalidArgument, match="is not a time"):
        ss.sql(spark, "SELECT * FROM shop.orders TIMESTAMP AS OF 'noon'")


def test_a_paimon_table_is_made_in_a_database_of_the_warehouse(spark, shop):
    """It was refused with everything that makes something."""
    before = [t.name for t in spark.catalog.listTables("default")]
    text = """CREATE TABLE IF NOT EXISTS shop.made (dt DATE, id BIGINT NOT NULL COMMENT 'it''s', at TIMESTAMP)
        PARTITIONED BY (dt) COMMENT 'made' TBLPROPERTIES ('primary-key' = 'dt,id', 'snapshot.num-retained.min' = 3)"""
    assert ss.sql(spark, text).collect() == [] == ss.sql(spark, text).collect()
    t = st.open_table(str(pathlib.Path(shop.location).parent / "made"))
    assert (t.primary_key, t.partition_by, t.comment, t.bucket_mode) == (["dt", "id"], ["dt"], "made", "dynamic")
    assert t.options["snapshot.num-retained.min"] == "3"
    frame = spark.sql("SELECT DATE '2026-11-20' AS dt, 1L AS id, TIMESTAMP '2026-11-20 01:02:03' AS at")
    ss.write(frame, "shop.made")
    ss.write(frame, "shop.made", mode="upsert")
    assert rows(spark, "SELECT id, at = TIMESTAMP '2026-11-20 01:02:03' FROM shop.made") == [(1, True)]
    with pytest.raises(e.TableExists):
        ss.sql(spark, "CREATE TABLE shop.made (id INT)")
    with pytest.raises(e.UnknownOption, match="buckets"):
        ss.sql(spark, "CREATE TABLE shop.other (id INT) TBLPROPERTIES ('buckets' = 4)")
    with pytest.raises(e.UnsupportedFeature, match="no database of the warehouse"):
        ss.sql(spark, "CREATE TABLE nowhere.other (id INT)")
    with pytest.raises(e.IllegalSchema, match="differ by case alone"):
        ss.sql(spark, "CREATE TABLE shop.other (id INT, ID INT)")
    assert before == [t.name for t in spark.catalog.listTables("default")]


def test_what_stays_in_the_session_reaches_spark(spark, shop):
    ss.sql(spark, "SET spark.siltstone.test = 1")
    assert spark.conf.get("spark.siltstone.test") == "1"
    ss.sql(spark, "CREATE OR REPLACE TEMPORARY VIEW of_the_session AS SELECT 5 AS x")
    assert rows(spark, "FROM of_the_session SELECT x") == [(5,)]
    assert rows(spark, "WITH v AS (SELECT * FROM of_the_session) SELECT count(*) FROM v, shop.orders") == [(3,)]
    assert rows(spark, "EXPLAIN SELECT 1")
    spark.catalog.dropTempView("of_the_session")


def test_procedures_are_called_on_executors_or_here(spark, shop):
    assert rows(spark, "CALL sys.compact(table => 'shop.orders')") == [(True,)]
    assert [f["level"] for f in shop.files()] == [5]
    with pytest.raises(e.InvalidArgument, match=r"no procedure sys\.nope"):
        ss.sql(spark, "CALL sys.nope(table => 'shop.orders')")


def test_a_hint_behind_a_table_says_what_is_read_of_it(spark, shop):
    """`t /*+ OPTIONS('scan.tag-name'='v1') */` (TAG-17) was taken for a comment: the latest rows came."""
    shop.tags.create("v1", version=1)
    count = "SELECT count(*) FROM shop.orders"
    assert rows(spark, f"{count} /*+ OPTIONS('scan.tag-name'='v1') */") == [(2,)]
    assert rows(spark, f"{count}\n  /*+ options ( \"scan.snapshot-id\" = '1' ) */ AS o WHERE o.id > 1") == [(1,)]
    commented = (
        "-- the first one\n /* of */ -- two\n/*+ OPTIONS('scan.tag-name'='v1') */ -- JOIN nothing\nJOIN shop.orders b"
    )
    assert rows(spark, f"/* one */ {count} {commented}") == [(6,)]
    assert rows(spark, f"{count} /*+ OPTIONS('incremental-between'='1,2') */") == [(2,)]
    assert rows(spark, "SELECT count(*) FROM shop.orders$files /*+ OPTIONS('scan.version'='v1') */") == [(1,)]
    both = "SELECT n.v, o.v FROM shop.orders n JOIN paimon.shop.`orders`/*+ OPTIONS('scan.tag-name' = 'v1', 'scan.mode' = 'from-snapshot') */ o USING (id)"
    assert rows(spark, both + " ORDER BY 1") == [(11, 10), (20, 20)]
    old = "(SELECT sum(v) FROM shop.orders /*+ OPTIONS('scan.tag-name'='v1') */)"
    assert rows(spark, f"SELECT {old}, sum(v) FROM shop.orders") == [(30, 51)]
    assert rows(spark, f"{count} /* OPTIONS('scan.tag-name'='v1') */") == [(3,)]  # a comment


@pytest.mark.parametrize(
    ("query", "error", "says"),
    [
        ("SELECT /*+ OPTIONS('scan.tag-name'='v1') */ * FROM shop.orders", e.UnsupportedFeature, "right behind"),
        ("SELECT * FROM shop.orders o /*+ OPTIONS('scan.tag-name'='v1') */", e.UnsupportedFeature, "right behind"),
        (
            "SELECT * FROM shop.orders, /*+ OPTIONS('scan.tag-name'='v1') */ shop.orders x",
            e.SiltstoneError,
            "shop.orders",
        ),
        ("SELECT * FROM shop.orders /*+ BROADCAST(orders) */", e.InvalidArgument, "cannot be read"),
        ("SELECT * FROM shop.orders /*+ OPTIONS('scan.tag-name'='v1' 'a'='b') */", e.InvalidArgument, "cannot be read"),
        ("SELECT * FROM shop.orders /*+ OPTIONS() */", e.InvalidArgument, "cannot be read"),
        ("SELECT * FROM shop.orders /*+ OPTIONS('nope'='1') */", e.UnsupportedFeature, "option: nope"),
        ("SELECT * FROM shop.orders /*+ OPTIONS('scan.nope'='1') */", e.UnknownOption, "'scan.nope'"),
        ("SELECT * FROM shop.orders /*+ OPTIONS('scan.tag-name'='v9') */", e.TagNotFound, "options: scan.tag-name=v9"),
        (
            "SELECT * FROM shop.orders /*+ OPTIONS('scan.tag-name'='v1') */ VERSION AS OF 2",
            e.InvalidArgument,
            "two versions",
        ),
        ("SELECT * FROM sys.tables /*+ OPTIONS('scan.tag-name'='v1') */", e.UnsupportedFeature, "sys.tables"),
    ],
)
def test_a_hint_that_cannot_be_honoured_is_refused(spark, shop, query, error, says):
    shop.tags.create("v1", version=1)
    with pytest.raises(error) as caught:
        ss.sql(spark, query)
    assert says in str(caught.value) and ("shop.orders" in str(caught.value) or "sys.tables" in query)


def test_hints_of_sparks_own_reach_spark(spark, shop):
    plan = rows(spark, "EXPLAIN SELECT /*+ BROADCAST(b) */ a.id FROM shop.orders a JOIN shop.orders b ON a.v = b.v")[0][
        0
    ]
    assert "BroadcastHashJoin" in plan


def test_a_time_is_any_constant_that_spark_computes(spark, shop):
    first = shop.snapshot(1).time
    text = f"{first:%Y-%m-%d %H:%M:%S.%f}"
    count = "SELECT count(*) FROM shop.orders"
    for time_expression in (
        f"timestamp'{text}'",
        f"CAST('{text}' AS TIMESTAMP)",
        f"to_timestamp('{text}')",
        f"to_timestamp('{text}', 'yyyy-MM-dd HH:mm:ss.SSSSSS')",
        f"timestamp_millis({shop.snapshot(1).raw['timeMillis']})",
        f"('{text[:11]}' || '{text[11:]}')",
        f"'{text} UTC'",
    ):
        assert rows(spark, f"{count} TIMESTAMP AS OF {time_expression}") == [(2,)], time_expression
    for now in ("current_timestamp()", "current_timestamp", "now() + INTERVAL 1 DAY", "date'2999-01-01'"):
        assert rows(spark, f"{count} TIMESTAMP AS OF {now} WHERE id > 0") == [(3,)], now
    assert rows(spark, f"{count} FOR SYSTEM_TIME AS OF '{text}'") == [(2,)]
    assert rows(spark, f"{count} SYSTEM_TIME AS OF timestamp'{text}' AS o") == [(2,)]
    with pytest.raises(e.SnapshotNotFound):
        ss.sql(spark, f"{count} TIMESTAMP AS OF date_sub(current_date(), 1)")


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("to_timestamp('noon')", "is not a time"),
        ("CAST(NULL AS TIMESTAMP)", "it is NULL"),
        ("(SELECT max(id) FROM shop.orders)", "not a constant"),
        ("id", "not a constant"),
        ("1e999", "not a time in seconds"),
    ],
)
def test_what_is_no_time_is_an_error_of_ours(spark, shop, expression, says):
    with pytest.raises(e.InvalidArgument, match=says):
        ss.sql(spark, f"SELECT * FROM shop.orders TIMESTAMP AS OF {expression}")


def test_versions_are_whole_numbers_or_texts(spark, shop):
    count = "SELECT count(*) FROM shop.orders"
    for version in (
        "VERSION AS OF 1L",
        "FOR VERSION AS OF 1",
        "FOR SYSTEM_VERSION AS OF 1",
        "SYSTEM_VERSION AS OF '1'",
    ):
        assert rows(spark, f"{count} {version}") == [(2,)], version
    for version in ("2.0", "1e0", "-1", "NULL", "2 + 0"):
        with pytest.raises(e.SiltstoneError, match="VERSION AS OF|version"):
            ss.sql(spark, f"{count} VERSION AS OF {version}").collect()


def test_table_is_short_for_all_rows_of_it(spark, shop):
    assert sorted(rows(spark, "TABLE shop.orders VERSION AS OF 1")) == [(1, 10, "a"), (2, 20, "b")]
    union = "SELECT id FROM shop.orders UNION ALL table `shop`.`orders` VERSION AS OF 1"
    assert len(rows(spark, union.replace("SELECT id FROM", "TABLE"))) == 5
    assert rows(spark, "EXPLAIN TABLE shop.orders")[0][0].startswith("== Physical Plan ==")


def test_nothing_stays_behind_in_the_session(spark, shop):
    """Each table and set of columns left a temporary view that SHOW TABLES listed."""

    def listed():
        return sorted(rows(spark, "SHOW TABLES")), sorted(rows(spark, "SHOW VIEWS"))

    before = listed()
    kept = ss.sql(spark, "SELECT v, '{x}' AS b FROM shop.orders WHERE id > 1")
    for n in range(3):
        rows(spark, f"SELECT s FROM shop.orders VERSION AS OF 1 WHERE id = {n}")
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        ss.sql(spark, "SELECT nope FROM shop.orders")
    assert listed() == before
    # the frame goes on to live, and can be named and joined
    assert [tuple(r) for r in kept.union(kept).distinct().collect()] == [(20, "{x}")]
    kept.createOrReplaceTempView("siltstone_kept")
    try:
        assert rows(spark, "SELECT count(*) FROM siltstone_kept a JOIN shop.orders b ON a.v = b.v") == [(4,)]
    finally:
        spark.catalog.dropTempView("siltstone_kept")


def test_samples_and_pivots_stay_with_their_table(spark, shop):
    assert rows(spark, "SELECT count(*) FROM shop.orders TABLESAMPLE (1 ROWS)") == [(1,)]
    pivot = "SELECT * FROM (SELECT v, s FROM shop.orders) PIVOT (count(v) FOR s IN ('b' AS b, 'c' AS c))"
    assert rows(spark, pivot) == [(2, 1)]


def test_procedures_name_tables_as_queries_do_and_take_options(spark, shop):
    assert rows(spark, "CALL paimon.sys.create_tag(table => 'paimon.`shop`.`orders`', tag => 'q')") == [(True,)]
    assert shop.tags.exists("q")
    assert rows(spark, "CALL sys.remove_orphan_files(table => 'shop.*', mode => 'distributed')") == [(0, 0)]
    assert rows(spark, "CALL sys.expire_snapshots(table => 'shop.orders', retain_min => 1)") == [(0,)]
    call = "CALL sys.compact(table => 'shop.orders', options => 'file.compression=none', order_strategy => 'none')"
    assert rows(spark, call) == [(True,)]
    path = next(pathlib.Path(shop.location).glob("bucket-0/*" + shop.files()[0]["name"]))
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "UNCOMPRESSED"


def test_a_table_keeps_its_own_options_in_spark(spark, shop):
    """`ss.read(spark, table)` left out the options with which the table was opened."""
    shop.tags.create("v1", version=1)
    assert ss.read(spark, st.open_table(shop.location, options={"scan.tag-name": "v1"})).count() == 2
    assert ss.read(spark, "shop.orders", options={"scan.tag-name": "v1"}).count() == 2


def test_tables_and_columns_may_have_any_name(spark, shop):
    """Names that Spark takes only in backquotes: a bare error of Spark's, or another table's rows."""
    cat = st.connect(pathlib.Path(shop.location).parents[1])
    cat.create_database("default")
    columns = {"a.b": "INT NOT NULL", "c`d": "INT", "a": "ROW<b INT>"}
    options = {"bucket": "2"}
    t = cat.create_table("default.my-t.x", columns, primary_key=["a.b", "c`d"], partition_by=["c`d"], options=options)
    frame = spark.range(9).selectExpr("int(id) AS `a.b`", "int(id % 2) AS `C``D`", "struct(int(7) AS b) AS a")
    assert ss.write(frame, t).rows == 9
    assert sorted(t.scan().to_arrow().column("a.b").to_pylist()) == list(range(9))
    assert rows(spark, "SELECT sum(`a.b`), sum(x.a.b) FROM `my-t.x` x WHERE `c``d` = 1") == [(16, 28)]
    assert rows(spark, "SELECT max(snapshot_id) FROM default.`my-t.x$snapshots`") == [(1,)]
    cat.create_table("default.plain", {"id": "INT"})
    assert rows(spark, "SELECT count(*) FROM plain$snapshots") == [(0,)]
    assert rows(spark, "CALL sys.create_tag(table => '`my-t.x`', tag => 'q')") == [(True,)]
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        ss.sql(spark, "SELECT * FROM `default.my-t`.x")
