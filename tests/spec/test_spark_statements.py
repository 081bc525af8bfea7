"""Which statements reach Spark through ``ss.sql``; no session is needed to decide that."""

from types import SimpleNamespace

import pyarrow as pa
import pytest
from siltstone import errors as e

pytest.importorskip("pyspark")

from siltstone.spark.allowed import check  # noqa: E402
from siltstone.spark.columns import needed  # noqa: E402
from siltstone.spark.dialect import statement  # noqa: E402
from siltstone.spark.places import Places, qualifiers  # noqa: E402

PASS = [
    "SELECT 1",
    "  -- create table\n /* drop table t */ select 'CREATE TABLE x', `insert into y`",
    "((SELECT 1) UNION (SELECT 2))",
    "VALUES (1), (2)",
    "TABLE shop.orders",
    "WITH a AS (SELECT 'INSERT INTO t' AS s) SELECT * FROM a -- INSERT INTO t",
    "FROM shop.orders SELECT id",
    "FROM shop.orders |> WHERE id > 1",
    "SET spark.sql.ansi.enabled = false",
    "SET TIME ZONE 'UTC'",
    "RESET",
    "USE default",
    "SHOW FUNCTIONS LIKE 'upper'",
    "SHOW TABLES IN default",
    "DESCRIBE default.t",
    "DESC FUNCTION upper",
    "CREATE TEMP VIEW v AS SELECT 1",
    "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1",
    "create or replace global temporary view v AS SELECT 1",
    "CREATE GLOBAL TEMP VIEW v AS SELECT 1",
    "CREATE TEMPORARY VIEW v USING csv OPTIONS (path '/x')",
    "CREATE TEMPORARY FUNCTION f AS 'x.Y'",
    "DROP TEMPORARY FUNCTION f",
    "DECLARE VARIABLE x INT DEFAULT 5",
    "DROP TEMPORARY VARIABLE x",
    "CACHE TABLE v",
    "UNCACHE TABLE IF EXISTS v",
    "CLEAR CACHE",
    "REFRESH TABLE v",
    "ADD JAR '/x.jar'",
    "LIST JARS",
    "",
    "-- nothing",
]
REFUSED = {
    "CREATE TABLE shop.t (id INT) TBLPROPERTIES ('primary-key' = 'id')": "create_table(",
    "create  /* a */ table if not exists t (id INT)": "create_table(",
    "/* x */ -- y\nCREATE TABLE t AS SELECT 1": "create_table(",
    "CREATE TABLE shop.t USING paimon AS SELECT * FROM shop.orders": "create_table(",
    "CREATE OR REPLACE TABLE t AS SELECT 1": "drop_table(",
    "CREATE EXTERNAL TABLE t (id INT) LOCATION '/x'": "without EXTERNAL",
    "CREATE TEMPORARY TABLE t USING parquet": None,
    "REPLACE TABLE t (id INT)": "create_table(",
    "CREATE DATABASE shop": "create_database(",
    "CREATE SCHEMA IF NOT EXISTS shop": "create_database(",
    "CREATE NAMESPACE shop": "create_database(",
    "CREATE VIEW v AS SELECT 1": "TEMPORARY VIEW",
    "CREATE OR REPLACE VIEW v AS SELECT 1": "TEMPORARY VIEW",
    "CREATE FUNCTION f AS 'x.Y'": None,
    "CREATE INDEX i ON t (a)": None,
    "DROP TABLE IF EXISTS shop.orders": "drop_table(",
    "DROP DATABASE IF EXISTS d CASCADE": "drop_database(",
    "DROP SCHEMA d": "drop_database(",
    "DROP NAMESPACE d": "drop_database(",
    "DROP VIEW v": "dropTempView",
    "DROP FUNCTION f": None,
    "ALTER TABLE shop.orders SET TBLPROPERTIES ('bucket' = '2')": "alter()",
    "ALTER TABLE a RENAME TO b": "rename_table(",
    "ALTER DATABASE d SET DBPROPERTIES ('a' = 'b')": None,
    "ALTER VIEW v AS SELECT 1": None,
    "INSERT INTO shop.orders VALUES (1)": "spark.write(",
    "INSERT OVERWRITE shop.orders SELECT 1": "mode='overwrite'",
    "INSERT OVERWRITE DIRECTORY '/x' SELECT 1": None,
    "WITH a AS (SELECT 1) INSERT INTO shop.orders SELECT * FROM a": "spark.write(",
    "WITH a AS (SELECT 1) INSERT/**/OVERWRITE shop.orders SELECT * FROM a": "mode='overwrite'",
    "WITH a AS (SELECT 1) MERGE INTO t USING a ON true WHEN MATCHED THEN DELETE": "mode='upsert'",
    "WITH a AS (SELECT 1) DELETE FROM t": "delete(",
    "WITH a AS (SELECT 1) UPDATE t AS x SET a = 1": "update(",
    "FROM src INSERT INTO shop.a SELECT * INSERT INTO shop.b SELECT *": "spark.write(",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE": "mode='upsert'",
    "UPDATE shop.orders SET v = 1": "update(",
    "DELETE FROM shop.orders WHERE id = 1": "delete(",
    "TRUNCATE TABLE shop.orders": "truncate(",
    "MSCK REPAIR TABLE shop.orders": None,
    "REPAIR TABLE shop.orders": None,
    "ANALYZE TABLE shop.orders COMPUTE STATISTICS": "analyze()",
    "LOAD DATA INPATH '/x' INTO TABLE t": None,
    "COMMENT ON TABLE t IS 'x'": None,
    "OPTIMIZE t": "CALL sys.compact",
    "VACUUM t": "CALL sys.expire_snapshots",
    "RESTORE TABLE t TO VERSION AS OF 3": "CALL sys.rollback",
    "EXECUTE IMMEDIATE 'DROP TABLE t'": None,
    "BEGIN DROP TABLE t; END": None,
    "CALL other.proc()": "CALL sys",
    "EXPORT TABLE t TO '/x'": None,
}


@pytest.mark.parametrize("query", PASS)
def test_queries_and_what_stays_in_the_session_reach_spark(query):
    check(query)


@pytest.mark.parametrize(("query", "call"), REFUSED.items())
def test_a_statement_that_changes_something_is_refused_with_the_call_to_use(query, call):
    with pytest.raises(e.UnsupportedFeature, match="is not supported in siltstone.spark.sql") as caught:
        check(query)
    assert "spark.sql(...)" in caught.value.hint
    assert call is None or call in caught.value.hint, caught.value.hint


@pytest.mark.parametrize(("word", "meant"), [("SELEC", "SELECT"), ("INSRET", "INSERT"), ("DESCRIBES", "DESCRIBE")])
def test_a_word_that_is_written_wrong_is_answered_with_the_right_one(word, meant):
    """It was called a statement that Spark would do to a table of its own."""
    with pytest.raises(e.InvalidArgument, match=f"begins with {word}") as raised:
        check(f"{word} count(*) FROM shop.orders")
    assert raised.value.hint == f"did you mean {meant}?"


@pytest.mark.parametrize(
    ("query", "edited"),
    [
        ("SELECT 'it''s', '{x}' FROM d.t", "SELECT 'it''s', '{{x}}' FROM {f} AS `t`"),
        ("SELECT d.t.v FROM d . `t` VERSION AS OF 1L WHERE t.v > 1", "SELECT t.v FROM {f} AS `t` WHERE t.v > 1"),
        (
            "SELECT * FROM d.t TIMESTAMP AS OF now() + INTERVAL 1 DAY TABLESAMPLE (1 ROWS), d.u",
            "SELECT * FROM {f} TABLESAMPLE (1 ROWS) AS `t`, d.u",
        ),
        ("SELECT x.a FROM d.t TIMESTAMP AS OF current_timestamp() AS x", "SELECT x.a FROM {f} AS x"),
        ("SELECT d.t.v FROM d.t, e.t AS t", "SELECT d.t.v FROM {f} AS `t`, e.t AS t"),
    ],
)
def test_only_the_names_of_tables_change_in_a_statement(query, edited):
    import sqlglot

    tree = sqlglot.parse_one(query, read="spark")
    table = next(n for n in tree.find_all(sqlglot.exp.Table) if (n.db, n.name) == ("d", "t"))
    places = Places(query)
    assert places.edited([*qualifiers(tree, [table], "d"), *places.table(table, "f")]) == edited


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT id FROM d.t WHERE V > 1", ["id", "v"]),
        ("SELECT count(*) FROM d.t", []),
        ("SELECT `a b` FROM d.t", ["a b"]),
        ("SELECT id FROM d.t GROUP BY id HAVING max(k) > 1", ["id", "k"]),
        ("SELECT q.id FROM (SELECT * FROM d.u) q, d.t", []),
        ("SELECT count(DISTINCT *) FROM d.t", None),
        ("SELECT hash(*) FROM d.t", None),
        ("SELECT d.t.* FROM d.t", None),
        ("SELECT id FROM d.t WHERE EXISTS (SELECT struct(t.*) FROM d.u)", None),
        ("SELECT id FROM d.t NATURAL JOIN d.u", None),
        ("SELECT id FROM d.t AS t (a, b)", None),
        ("SELECT IDENTIFIER('i' || 'd') FROM d.t", None),
        ("SELECT x FROM d.t PIVOT (sum(v) FOR k IN ('x' AS x))", None),
    ],
)
def test_columns_are_left_out_where_nothing_can_use_them(query, columns):
    import sqlglot

    tree = sqlglot.parse_one(query, read="spark")
    table = next(n for n in tree.find_all(sqlglot.exp.Table) if (n.db, n.name) == ("d", "t"))
    schema = pa.schema({"id": pa.int32(), "k": pa.int64(), "v": pa.string(), "a b": pa.string()})
    assert needed(SimpleNamespace(conf={}), query, table, schema) == columns


@pytest.mark.parametrize(("doubled", "tag"), [(True, "it's"), (False, None)])
def test_doubled_quotes_are_one_where_spark_reads_them_so(doubled, tag):
    import sqlglot

    query = "SELECT r'\\', 'it''s', \"a\\\"\"\"\", '\\'''' FROM d.t VERSION AS OF 'it''s' -- don''t"
    given = statement(query, doubled=doubled)
    assert given.text == query
    assert len(given.readable) == len(query)
    table = sqlglot.parse_one(given.readable, read="spark").find(sqlglot.exp.Table)
    version = table.args["version"].expression
    assert (version.this if version.is_string else None) == tag
    assert Places(given.text, given.readable).version_text(table) == "'it''s'"
