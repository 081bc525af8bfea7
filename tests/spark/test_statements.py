"""Statements of ``ss.sql`` about databases and tables of the warehouse: what Paimon's Spark catalog does by them."""

import datetime as dt
import functools
import pathlib

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone import spark as ss
from siltstone.spark import checks
from siltstone.spark.definition import fields_of

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def orders(shop):
    t = shop.create_table(
        "shop.orders",
        {"dt": "STRING", "id": "INT", "v": "BIGINT", "s": "STRING"},
        primary_key=["dt", "id"],
        partition_by=["dt"],
        options={"bucket": "1"},
        comment="all orders",
    )
    t.upsert([{"dt": d, "id": i, "v": 10 * i, "s": "x"} for d in ("a", "b") for i in (1, 2)])
    return t


def rows(t, *columns):
    found = [tuple(r.values()) for r in t.scan(list(columns) or None).to_arrow().to_pylist()]
    return sorted(found, key=lambda row: [(value is None, value) for value in row])


def test_databases_are_made_shown_used_and_dropped(spark, shop, sql):
    sql("CREATE DATABASE IF NOT EXISTS bronze")
    with pytest.raises(e.DatabaseExists):
        sql("CREATE SCHEMA bronze")
    assert ("bronze",) in sql("SHOW DATABASES") and sql("SHOW SCHEMAS LIKE 'bro*|x'") == [("bronze",)]
    sql("USE bronze")
    sql("CREATE TABLE t (id INT) TBLPROPERTIES ('primary-key' = 'id')")
    sql("INSERT INTO t VALUES (1), (2)")
    assert sql("SELECT count(*) FROM t") == [(2,)] and shop.tables("bronze") == ["t"]
    assert ("bronze", "t", False) in sql("SHOW TABLES")
    assert sql("SHOW TABLES IN paimon.bronze LIKE 't*'") == [("bronze", "t", False)]
    spark.createDataFrame([(7,)], "id INT").createOrReplaceTempView("t")
    try:
        assert sql("SELECT * FROM t") == [(7,)]  # a view of the session comes first
        with pytest.raises(e.UnsupportedFeature, match="no database of the warehouse"):
            sql("TRUNCATE TABLE t")
    finally:
        spark.catalog.dropTempView("t")
    with pytest.raises(e.InvalidArgument):
        sql("DROP DATABASE bronze")
    sql("DROP DATABASE bronze CASCADE")
    sql("DROP DATABASE IF EXISTS bronze")
    assert shop.databases() == ["shop"]
    sql("CREATE DATABASE y WITH DBPROPERTIES ('a' = 'b')")  # which Java leaves out, too, with a warning
    assert shop.database("y") == {}
    with pytest.raises(e.UnsupportedFeature, match="LOCATION"):
        sql("CREATE DATABASE x LOCATION '/tmp/x'")


def test_a_table_is_altered(shop, sql, orders):
    t = "ALTER TABLE shop.orders"
    sql(f"{t} ADD COLUMNS (a INT COMMENT 'it''s', b STRUCT<x: INT, y: ARRAY<STRING>> AFTER id)")
    sql(f"{t} ADD COLUMN b.z DECIMAL(8,2)")
    sql(f"{t} ADD COLUMN d INT DEFAULT 7 FIRST")
    sql(f"{t} RENAME COLUMN a TO `a-1`")
    sql(f"{t} ALTER COLUMN `a-1` TYPE BIGINT")
    sql(f"{t} ALTER COLUMN `a-1` COMMENT 'new'")
    sql(f"{t} ALTER COLUMN s AFTER dt")
    sql(f"{t} DROP COLUMN IF EXISTS v, nowhere")
    sql(f"{t} SET TBLPROPERTIES ('snapshot.num-retained.max' = 70, comment = 'some')")
    got = {r[0]: r[1:] for r in sql("DESCRIBE shop.orders")}
    assert list(got)[:6] == ["d", "dt", "s", "id", "b", "a-1"]
    assert got["b"][0] == "struct<x:int,y:array<string>,z:decimal(8,2)>" and got["a-1"] == ("bigint", "new")
    now = shop.table("shop.orders")
    assert (now.options["snapshot.num-retained.max"], now.comment) == ("70", "some")
    sql(f"{t} UNSET TBLPROPERTIES ('snapshot.num-retained.max')")
    sql("COMMENT ON TABLE shop.orders IS NULL")
    assert "snapshot.num-retained.max" not in shop.table("shop.orders").options
    assert shop.table("shop.orders").comment is None
    sql(f"{t} DROP PARTITION (dt = 'a')")
    assert sql("SELECT DISTINCT dt FROM shop.orders") == [("b",)]
    sql(f"{t} RENAME TO moved")
    assert shop.tables("shop") == ["moved"]
    for change, says in (
        ("SET LOCATION '/x'", "SET LOCATION"),
        ("ADD PARTITION (dt = 'x')", "ADD PARTITION"),
        ("ADD COLUMN q INT SOMETHING", "at 'SOMETHING'"),
        ("DROP COLUMN id", "key"),
    ):
        with pytest.raises(e.SiltstoneError, match=says):
            sql(f"ALTER TABLE shop.moved {change}")


def test_tags_and_branches_are_made_and_shown(sql, orders):
    orders.upsert([{"dt": "a", "id": 9}])
    t = "ALTER TABLE shop.orders"
    sql(f"{t} CREATE TAG `v1` AS OF VERSION 1 RETAIN 7 DAYS")
    sql(f"{t} CREATE TAG IF NOT EXISTS v1")
    sql(f"{t} CREATE OR REPLACE TAG v2")
    sql(f"{t} REPLACE TAG v1 AS OF VERSION 2")
    sql(f"{t} RENAME TAG v2 TO v3")
    assert sql("SHOW TAGS shop.orders") == [("v1",), ("v3",)]
    assert orders.tags.get("v1").id == 2
    sql(f"{t} DELETE TAG IF EXISTS v3, v4")
    sql(f"{t} CREATE BRANCH fix AS OF TAG v1")
    assert sql("SHOW BRANCHES shop.orders") == [("fix",)]
    sql("INSERT INTO shop.orders$branch_fix VALUES ('c', 1, 1, 'y')")
    assert sql("SELECT count(*) FROM shop.orders$branch_fix") == [(6,)] and orders.scan().count() == 5
    sql(f"{t} DELETE BRANCH fix")
    assert orders.branches.list() == [] and [tag.name for tag in orders.tags.list()] == ["v1"]
    with pytest.raises(e.InvalidArgument, match="RETAIN"):
        sql(f"{t} CREATE TAG v9 RETAINED 7 DAYS")


def test_a_table_is_shown_and_described(shop, sql, orders):
    assert sql("SHOW PARTITIONS shop.orders") == [("dt=a",), ("dt=b",)]
    assert sql("SHOW PARTITIONS shop.orders PARTITION (dt = 'b')") == [("dt=b",)]
    assert sql("SHOW COLUMNS IN shop.orders") == [("dt",), ("id",), ("v",), ("s",)]
    assert sql("SHOW TBLPROPERTIES shop.orders ('bucket')") == [("bucket", "1")]
    assert dict(sql("SHOW TBLPROPERTIES shop.orders"))["primary-key"] == "dt,id"
    made = sql("SHOW CREATE TABLE shop.orders")[0][0]
    orders_again = made.replace("`orders`", "`again`")
    sql(orders_again)
    again = shop.table("shop.again")
    assert (again.schema, again.primary_key, again.partition_by) == (orders.schema, ["dt", "id"], ["dt"])
    assert (again.options["bucket"], again.comment) == ("1", "all orders")
    described = sql("DESC EXTENDED shop.orders")
    assert described[:2] == [("dt", "string", None), ("id", "int", None)]
    assert ("# Partition Information", "", "") in described and ("Comment", "all orders", "") in described
    assert sql("DESCRIBE shop.orders v") == [("col_name", "v"), ("data_type", "bigint"), ("comment", "NULL")]
    assert sql("DESCRIBE shop.orders$snapshots")[0][:2] == ("snapshot_id", "bigint")
    sql("ANALYZE TABLE shop.orders COMPUTE STATISTICS FOR ALL COLUMNS")
    assert orders.snapshot().kind == "ANALYZE"


def test_tables_are_made_like_others_and_from_queries(shop, sql, orders):
    sql("CREATE TABLE shop.twin LIKE shop.orders TBLPROPERTIES ('bucket' = '2')")
    twin = shop.table("shop.twin")
    assert (twin.primary_key, twin.options["bucket"], twin.schema) == (["dt", "id"], "2", orders.schema)
    sql("""CREATE TABLE shop.sums PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'dt,m', 'bucket' = '1')
        AS SELECT dt, sum(v) AS total, max(id) AS m FROM shop.orders GROUP BY dt""")
    sums = shop.table("shop.sums")
    assert rows(sums, "dt", "total") == [("a", 30), ("b", 30)] and sums.partition_by == ["dt"]
    sql("CREATE TABLE IF NOT EXISTS shop.sums AS SELECT 1 AS other")
    assert rows(sums, "dt", "total") == [("a", 30), ("b", 30)]
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        sql("CREATE TABLE shop.failed AS SELECT 1 / (id - 1) AS x FROM shop.orders")
    assert "failed" not in shop.tables("shop")
    sql("DROP TABLE shop.twin")
    sql("DROP TABLE IF EXISTS shop.twin PURGE")
    assert shop.tables("shop") == ["orders", "sums"]


def test_rows_are_inserted_as_spark_stores_them(sql, orders):
    sql("INSERT INTO shop.orders VALUES ('c', 1, 5L, 'n')")
    sql("INSERT INTO shop.orders SELECT 'c', 2, 6.7, 8")
    assert rows(orders)[-2:] == [("c", 1, 5, "n"), ("c", 2, 6, "8")]
    sql("INSERT INTO shop.orders (id, dt) SELECT id + 10, dt FROM shop.orders WHERE dt = 'c'")
    assert rows(orders)[-2:] == [("c", 11, None, None), ("c", 12, None, None)]
    sql("INSERT INTO shop.orders BY NAME SELECT 'n' AS S, 'd' AS dt, 1 AS id")
    sql("INSERT INTO TABLE shop.orders PARTITION (dt = 'e') SELECT 1, 2, 'p'")
    sql("WITH w AS (SELECT 'f' AS dt, 3 AS id) INSERT INTO shop.orders (dt, id) SELECT * FROM w")
    assert rows(orders)[-3:] == [("d", 1, None, "n"), ("e", 1, 2, "p"), ("f", 3, None, None)]
    for query, says in (
        ("VALUES ('c', 'x', 1, 's')", "string is not stored there"),
        ("VALUES ('c', 1)", "2 columns, and 4"),
        ("BY NAME SELECT 1 AS nope", "no column 'nope'"),
        ("VALUES ('c', null, 1, 's')", "null|NULL"),
        ("VALUES ('c', 3000000000, 1, 's')", "does not fit column 'id'"),
    ):
        with pytest.raises(Exception, match=says):
            sql(f"INSERT INTO shop.orders {query}")


def test_an_overwrite_replaces_what_it_names(spark, sql, orders):
    sql("INSERT OVERWRITE shop.orders PARTITION (dt = 'a') SELECT 7, 7, 'only'")
    assert rows(orders, "dt", "id") == [("a", 7), ("b", 1), ("b", 2)]
    sql("INSERT OVERWRITE shop.orders PARTITION (dt = 'a') SELECT 7, 7, 'none' WHERE false")
    assert rows(orders, "dt", "id") == [("b", 1), ("b", 2)]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        sql("INSERT OVERWRITE shop.orders VALUES ('c', 1, 1, 'n')")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert rows(orders, "dt", "id") == [("b", 1), ("b", 2), ("c", 1)]
    sql("INSERT OVERWRITE TABLE shop.orders VALUES ('d', 1, 1, 'n')")
    assert rows(orders, "dt", "id") == [("d", 1)]


def test_a_static_overwrite_of_part_of_a_partition_replaces_what_the_rows_find_if_the_session_says_so(spark, shop, sql):
    """With `dynamic` in the session the statement of nightly jobs was refused with the words of another call."""
    t = shop.create_table("shop.e", {"dt": "STRING", "h": "INT", "id": "INT"}, partition_by=["dt", "h"])
    t.append([{"dt": d, "h": h, "id": 0} for d in ("a", "b") for h in (1, 2)])
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        sql("INSERT OVERWRITE shop.e PARTITION (dt = 'a', h) SELECT id, h FROM VALUES (7, 2), (8, 3) AS v (id, h)")
        assert rows(t) == [("a", 1, 0), ("a", 2, 7), ("a", 3, 8), ("b", 1, 0), ("b", 2, 0)]
        sql("INSERT OVERWRITE shop.e PARTITION (dt = 'a', h = 3) SELECT 1 WHERE false")
        assert rows(t) == [("a", 1, 0), ("a", 2, 7), ("b", 1, 0), ("b", 2, 0)]
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    sql("INSERT OVERWRITE shop.e PARTITION (dt = 'a', h) SELECT 9, 9")
    assert rows(t) == [("a", 9, 9), ("b", 1, 0), ("b", 2, 0)]


def test_rows_are_deleted_and_updated(sql, orders):
    sql("DELETE FROM shop.orders WHERE dt = 'a' AND id = 1")
    sql("DELETE FROM shop.orders AS o WHERE o.v = (SELECT max(v) FROM shop.orders) AND substr(o.dt, 1, 1) = 'a'")
    assert rows(orders, "dt", "id") == [("b", 1), ("b", 2)]
    sql("UPDATE shop.orders SET s = 'lit', v = 5 WHERE id = 1")
    sql("UPDATE shop.orders o SET o.v = o.v + id, s = upper(s) WHERE id IN (SELECT 2)")
    assert rows(orders) == [("b", 1, 5, "lit"), ("b", 2, 22, "X")]
    with pytest.raises(e.InvalidArgument, match="primary key"):
        sql("UPDATE shop.orders SET id = id + 1")
    sql("TRUNCATE TABLE shop.orders PARTITION (dt = 'a')")
    assert orders.scan().count() == 2
    sql("DELETE FROM shop.orders")
    assert orders.scan().count() == 0
    with pytest.raises(e.InvalidArgument, match="the end is expected"):
        sql("TRUNCATE TABLE shop.orders RESTART")


def test_an_append_table_is_changed_by_conditions_that_it_can_evaluate(shop, sql):
    t = shop.create_table("shop.log", {"id": "INT", "s": "STRING"}, options={"deletion-vectors.enabled": "true"})
    t.append([{"id": i, "s": "a"} for i in range(4)])
    sql("DELETE FROM shop.log WHERE id > 2")
    sql("UPDATE shop.log SET s = 'b' WHERE id = 0")
    assert rows(t) == [(0, "b"), (1, "a"), (2, "a")]
    sql(
        "MERGE INTO shop.log t USING (SELECT explode(array(2, 5)) AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    )
    assert rows(t)[-1] == (5, None) and t.scan().count() == 4


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_rows_without_a_key_are_changed_by_what_spark_evaluates(shop, sql, vectors):
    """Where siltstone does not know a condition, DELETE and UPDATE of such tables were refused, and MERGE always."""
    kinds = {"id": "INT", "n": "DOUBLE", "at": "TIMESTAMP(6) WITH LOCAL TIME ZONE", "l": "ARRAY<INT>"}
    t = shop.create_table("shop.log", kinds, options={"deletion-vectors.enabled": vectors})
    at = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
    t.append([{"id": i, "n": i / 2, "at": at if i % 2 else None, "l": [i]} for i in range(6)])
    t.append([{"id": 5, "n": 2.5, "l": [50]}, {"id": None, "n": 9.0}])
    before = t.snapshot().id
    sql("DELETE FROM shop.log WHERE id IN (SELECT explode(array(0, 1)))")
    sql(
        "UPDATE shop.log x SET n = pow(n, 2) + (SELECT 1), at = x.at + INTERVAL 1 DAY WHERE at IS NOT NULL AND x.id % 3 = 0"
    )
    sql("UPDATE shop.log SET n = -1 WHERE upper(cast(id AS STRING)) = '5'")
    assert t.snapshot().id == before + 3
    day = dt.timedelta(days=1)
    assert t.scan().to_arrow().sort_by([("id", "ascending"), ("at", "ascending")]).to_pylist() == [
        {"id": 2, "n": 1.0, "at": None, "l": [2]},
        {"id": 3, "n": 3.25, "at": at + day, "l": [3]},
        {"id": 4, "n": 2.0, "at": None, "l": [4]},
        {"id": 5, "n": -1.0, "at": at, "l": [5]},
        {"id": 5, "n": -1.0, "at": None, "l": [50]},
        {"id": None, "n": 9.0, "at": None, "l": None},
    ]
    sql("DELETE FROM shop.log WHERE length(cast(id AS STRING)) IS NULL")  # all rows that it finds have a null there
    assert t.scan(filter="id IS NULL").count() == 0
    with pytest.raises(e.UnsupportedFeature, match="not compared"):
        sql("DELETE FROM shop.log WHERE size(l) > 1")
    with pytest.raises(e.UnsupportedFeature, match="more than their values"):
        sql("DELETE FROM shop.log WHERE rand() < 0.5")
    with pytest.raises(e.SchemaMismatch, match="not stored"):
        sql("UPDATE shop.log SET id = upper('x') WHERE abs(id) > 1")
    assert t.snapshot().id == before + 4
    sql("DELETE FROM shop.log WHERE id IN (SELECT 77)")
    assert t.snapshot().id == before + 4  # nothing was found


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_rows_without_a_key_are_merged_in_one_commit(spark, shop, sql, vectors, request):
    t = shop.create_table(
        "shop.log", {"id": "INT", "v": "INT", "s": "STRING"}, options={"deletion-vectors.enabled": vectors}
    )
    t.append([{"id": i % 4, "v": i, "s": None if i % 2 else "x"} for i in range(8)])
    spark.createDataFrame(
        [(0, 10, "u"), (1, -1, "d"), (2, 0, "keep"), (7, 70, "new"), (None, 1, "new")], "id int, v int, s string"
    ).createOrReplaceTempView("src")
    request.addfinalizer(lambda: spark.catalog.dropTempView("src"))
    before = t.snapshot().id
    sql("""MERGE INTO shop.log AS t USING (SELECT * FROM src WHERE s <> 'none') AS s ON t.id = s.id
        WHEN MATCHED AND s.v < 0 THEN DELETE
        WHEN MATCHED AND s.v > 0 THEN UPDATE SET v = t.v + greatest(s.v, 0), s = s.s
        WHEN NOT MATCHED AND v > 0 THEN INSERT *
        WHEN NOT MATCHED BY SOURCE AND t.v > 3 THEN UPDATE SET s = concat(coalesce(t.s, '-'), '!')""")
    assert t.snapshot().id == before + 1
    assert sorted(rows(t), key=repr) == sorted(
        [
            (0, 10, "u"),
            (0, 14, "u"),
            (2, 2, "x"),
            (2, 6, "x"),
            (3, 3, None),
            (3, 7, "-!"),
            (7, 70, "new"),
            (None, 1, "new"),
        ],
        key=repr,
    )
    with pytest.raises(e.InvalidArgument, match="more than once"):
        sql("""MERGE INTO shop.log t USING (SELECT 0 AS id, explode(array(1, 1)) AS v) s ON t.id = s.id
            WHEN MATCHED THEN UPDATE SET v = s.v""")
    sql("MERGE INTO shop.log t USING (SELECT 3 AS id UNION ALL SELECT 3) s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert t.snapshot().id == before + 2 and t.scan(filter="id = 3").count() == 0


def test_a_merge_updates_deletes_and_inserts_in_one_commit(spark, sql, orders, request):
    spark.createDataFrame(
        [("a", 1, 100, "u"), ("a", 2, -1, "d"), ("b", 1, 0, "keep"), ("c", 5, 50, "new"), ("c", 6, 0, "no")],
        "dt string, id int, v int, s string",
    ).createOrReplaceTempView("src")
    request.addfinalizer(lambda: spark.catalog.dropTempView("src"))
    before = orders.snapshot().id
    sql("""MERGE INTO shop.orders AS t USING src AS s ON t.dt = s.dt AND t.id = s.id
        WHEN MATCHED AND s.v < 0 THEN DELETE
        WHEN MATCHED AND s.v > 0 THEN UPDATE SET v = CASE WHEN s.v > 0 THEN t.v + s.v END, t.s = s.s
        WHEN NOT MATCHED AND v > 0 THEN INSERT *
        WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s = concat(s, '!')""")
    assert rows(orders) == [("a", 1, 110, "u"), ("b", 1, 10, "x"), ("b", 2, 20, "x!"), ("c", 5, 50, "new")]
    assert orders.snapshot().id == before + 1
    with pytest.raises(e.InvalidArgument, match="more than once"):
        sql("""MERGE INTO shop.orders t USING (SELECT 'a' AS dt, 1 AS id, explode(array(1, 2)) AS v) s
            ON t.dt = s.dt AND t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v""")
    with pytest.raises(e.SchemaMismatch, match="not stored"):
        sql("MERGE INTO shop.orders t USING src ON t.id = src.id WHEN MATCHED THEN UPDATE SET v = 'x'")
    with pytest.raises(e.InvalidArgument, match="at 'AGAIN'"):
        sql("MERGE INTO shop.orders t USING src ON t.id = src.id WHEN MATCHED THEN DELETE AGAIN")
    assert orders.snapshot().id == before + 1


def test_what_show_create_table_says_makes_the_same_table(spark, shop, sql):
    """Lengths of texts were lost, and names of fields came in capitals: another table."""
    columns = """c CHAR(5), v VARCHAR(7) NOT NULL, r STRUCT<inA: INT NOT NULL, `b c`: ARRAY<VARCHAR(3)>>,
        m MAP<STRING, STRUCT<x: DECIMAL(4, 2)>>, t TIMESTAMP, n TIMESTAMP_NTZ, b BINARY"""
    sql(f"CREATE TABLE shop.one ({columns})")
    sql(sql("SHOW CREATE TABLE shop.one")[0][0].replace("`one`", "`two`"))
    one, two = shop.table("shop.one"), shop.table("shop.two")
    assert fields_of(two) == fields_of(one)
    assert "VARCHAR(3)" in str(fields_of(two)) and "inA" in str(fields_of(two))


def test_a_view_of_the_session_reads_what_is_the_latest_version(spark, sql, orders):
    """From its first use on a view stayed at that version, where Spark found no filter to plan it anew by: INSERT ... SELECT
    through views lost rows without a word."""
    queries = ("SELECT count(*) FROM {}", "SELECT max(id) FROM {}", "SELECT count(*) FROM {} WHERE id > 0")
    views = {"of_a": "SELECT id FROM shop.orders WHERE dt = 'a'", "of_all": "SELECT * FROM shop.orders"}
    sql("CREATE TABLE shop.target (id INT)")
    try:
        for view, query in views.items():
            sql(f"CREATE OR REPLACE TEMP VIEW {view} AS {query}")
        sql("CREATE TEMP VIEW commits AS SELECT snapshot_id FROM shop.orders$snapshots")
        sql("CREATE TEMP VIEW first AS SELECT id FROM shop.orders VERSION AS OF 1")
        for number in (3, 4, 5):
            orders.upsert([{"dt": "a", "id": number}])
            found = [sql(query.format("of_a"))[0][0] for query in queries]
            assert found == [number] * 3
            assert spark.table("of_a").count() == spark.sql("SELECT * FROM of_a").count() == number
            assert [sql(query.format("of_all"))[0][0] for query in queries] == [number + 2, number, number + 2]
            assert sql("SELECT count(*) FROM commits") == [(number - 1,)]
            assert sql("SELECT count(*) FROM first") == [(4,)]
            sql("INSERT OVERWRITE shop.target SELECT id FROM of_a")
            assert sql("SELECT count(*) FROM shop.target") == [(number,)]
        orders.truncate()
        assert sql("SELECT * FROM of_all") == []
    finally:
        for view in (*views, "commits", "first"):
            spark.catalog.dropTempView(view)


def test_what_is_of_spark_stays_with_spark(spark, sql, orders, tmp_path):
    """`CREATE TABLE ... TBLPROPERTIES('primary-key'=...)` made a Parquet table, `DROP DATABASE IF EXISTS` said OK."""

    def listed():
        return [t.name for t in spark.catalog.listTables("default")], [d.name for d in spark.catalog.listDatabases()]

    before = listed()
    location = tmp_path / "out"
    for statement in (
        "CREATE TABLE made_here (id INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')",
        "CREATE TABLE made_here AS SELECT * FROM shop.orders",
        "CREATE OR REPLACE TABLE shop.orders AS SELECT 1",
        "CREATE VIEW made_here AS SELECT 1",
        "DROP DATABASE IF EXISTS default CASCADE",
        "DROP TABLE IF EXISTS nowhere.orders",
        "INSERT INTO nowhere.orders VALUES (1)",
        f"INSERT OVERWRITE DIRECTORY '{location}' USING parquet SELECT 1",
        "ALTER VIEW v AS SELECT 1",
    ):
        with pytest.raises(e.UnsupportedFeature, match=r"not supported in siltstone\.spark\.sql"):
            sql(statement)
    assert before == listed() and not pathlib.Path(location).exists() and orders.snapshot().id == 1
    assert sql("DESCRIBE FUNCTION upper")[0][0].startswith("Function: upper")
    assert {row[1] for row in sql("SHOW TABLES IN default")} == {t.name for t in spark.catalog.listTables("default")}


def test_settings_of_the_session_are_options_of_tables(spark, shop, sql, orders):
    """SET spark.paimon.… was taken and did nothing."""
    orders.upsert([{"dt": "c", "id": 1, "v": 1, "s": "x"}])
    count = "SELECT count(*) FROM shop.orders"
    keys = [
        "scan.snapshot-id",
        "paimon.shop.orders.scan.snapshot-id",
        "*.shop.other.scan.snapshot-id",
        "write.merge-schema",
    ]
    try:
        sql(f"SET `spark.paimon.{keys[0]}`=1")
        assert (sql(count), ss.read(spark, "shop.orders").count()) == ([(4,)], 4)
        sql(f"SET `spark.paimon.{keys[2]}`=7")
        spark.conf.set(f"spark.paimon.{keys[1]}", "2")
        assert (sql(count), ss.table(spark, "shop.orders").count()) == ([(5,)], 5)
        assert sql(f"{count} /*+ OPTIONS('scan.snapshot-id' = '1') */") == [(4,)]
        spark.conf.set(f"spark.paimon.{keys[3]}", "true")
        with pytest.raises(e.UnknownOption, match="the setting spark.paimon.write.merge-schema") as raised:
            sql("INSERT INTO shop.orders VALUES ('c', 2, 1, 'x')")
        assert sql(count) == [(5,)]
        assert "merge_schema=True" in raised.value.hint
    finally:
        for key in keys:
            spark.conf.unset(f"spark.paimon.{key}")
    assert sql(count) == [(5,)]


def test_properties_of_a_database_need_a_catalog_that_keeps_them(spark, shop, sql, tmp_path):
    with pytest.raises(e.UnsupportedFeature, match="keeps no properties"):
        sql("ALTER DATABASE shop SET DBPROPERTIES ('owner' = 'me')")
    with pytest.raises(e.UnsupportedFeature, match="SET LOCATION"):
        sql("ALTER SCHEMA shop SET LOCATION '/x'")


def test_columns_get_their_defaults(shop, sql):
    sql("CREATE TABLE shop.d (id INT, n INT DEFAULT -7, s STRING DEFAULT 'it''s')")
    sql("INSERT INTO shop.d (id) VALUES (1)")
    assert sql("SELECT * FROM shop.d") == [(1, -7, "it's")]
    assert sql("SHOW CREATE TABLE shop.d")[0][0].count("DEFAULT") == 2


def test_workers_are_asked_for_their_siltstone(spark, shop, tmp_path):
    """A worker without siltstone, or with another one, failed in the first query with a traceback of Spark's."""

    def missing(batches):
        raise ModuleNotFoundError("No module named 'siltstone'")
        yield

    with pytest.raises(e.InvalidArgument, match="workers have no siltstone") as raised:
        checks._answers(spark, 1, missing)
    assert "PYSPARK_PYTHON" in raised.value.hint
    row = checks._answers(spark, 1, functools.partial(checks._look, str(tmp_path / "lake"), {}))[0]
    assert (row.version, row.problem) == (st.__version__, None)
    row = checks._answers(spark, 1, functools.partial(checks._look, str(tmp_path / "elsewhere"), {}))[0]
    assert "elsewhere" in row.problem
