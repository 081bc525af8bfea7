"""Temporary views over Paimon tables, in statements of siltstone."""

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def t(spark, shop):
    t = shop.create_table("shop.t", {"id": "INT", "v": "STRING"}, primary_key=["id"])
    t.append([{"id": 1, "v": "a"}])
    yield t
    for name in ("v", "w", "x"):
        spark.catalog.dropTempView(name)
    spark.catalog.dropGlobalTempView("v")


@pytest.mark.parametrize("rows", [1, 20_000], ids=["few", "many"])
def test_a_view_reads_the_latest_version_in_each_statement_that_names_it(sql, t, shop, rows):
    """Spark kept what it had planned at the first use: some queries over a view gave old rows, others new ones."""
    t.append([{"id": n, "v": "a"} for n in range(10, 10 + rows)])
    sql("CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM shop.t")
    sql("CREATE OR REPLACE TEMPORARY VIEW w (k) AS SELECT id FROM v WHERE id > 0")
    assert sql("SELECT count(*) FROM v") == sql("SELECT count(k) FROM w") == [(rows + 1,)]
    sql("INSERT INTO shop.t VALUES (2, 'b')")
    for query in (
        "SELECT count(*) FROM v",
        "SELECT count(id) FROM V WHERE id > 0",
        "SELECT count(*) FROM (SELECT * FROM v)",
        "SELECT sum(n) FROM (SELECT v, count(*) n FROM v GROUP BY v)",
        "SELECT count(*) FROM w",
        "WITH q AS (SELECT * FROM v) SELECT count(*) FROM q",
        "SELECT count(*) FROM v JOIN shop.t USING (id)",
    ):
        assert sql(query) == [(rows + 2,)], query
    sql("CREATE TABLE shop.u (id INT, v STRING)")
    sql("INSERT INTO shop.t VALUES (3, 'c')")
    sql("INSERT OVERWRITE shop.u SELECT * FROM v")
    assert shop.table("shop.u").count() == rows + 3
    sql("INSERT INTO shop.t VALUES (4, 'd')")
    sql("MERGE INTO shop.u USING v ON u.id = v.id WHEN NOT MATCHED THEN INSERT *")
    assert shop.table("shop.u").count() == rows + 4


def test_a_view_of_another_with_its_name_is_left_alone(spark, sql, t):
    sql("CREATE TEMP VIEW v AS SELECT id FROM shop.t")
    spark.range(5).createOrReplaceTempView("v")
    assert sql("SELECT count(*) FROM v") == [(5,)]
    spark.catalog.dropTempView("v")
    sql("CREATE GLOBAL TEMP VIEW v AS SELECT id FROM shop.t")
    t.upsert([{"id": 2}])
    assert sql("SELECT count(*) FROM global_temp.v") == [(2,)]
    sql("CREATE TEMP VIEW IF NOT EXISTS v AS SELECT id FROM shop.t")
    assert sql("SELECT count(*) FROM v") == [(2,)]


def test_a_view_that_is_replaced_by_one_of_itself_has_the_rows_of_then(spark, sql, t):
    sql("CREATE TEMP VIEW v AS SELECT id FROM shop.t")
    sql("CREATE OR REPLACE TEMP VIEW v AS SELECT id + 1 AS id FROM v")
    assert sql("SELECT * FROM v") == sql("SELECT * FROM v") == [(2,)]
    sql("CREATE TEMP VIEW w AS SELECT id FROM v")
    sql("CREATE OR REPLACE TEMP VIEW v AS SELECT id + 1 AS id FROM w")
    assert sql("SELECT * FROM v") == sql("SELECT * FROM v") == [(3,)]


def test_bare_names_of_a_view_are_of_the_database_of_when_it_was_made(spark, sql, t, shop):
    shop.create_database("other")
    shop.create_table("other.t", {"id": "INT"})
    sql("USE shop")
    sql("CREATE TEMP VIEW v AS SELECT id FROM t")
    sql("USE other")
    t.upsert([{"id": 2}])
    assert sql("SELECT count(*) FROM v") == [(2,)] and sql("SELECT count(*) FROM t") == [(0,)]
