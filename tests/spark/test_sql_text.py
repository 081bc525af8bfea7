"""``ss.sql`` answers as Spark does over whole frames: it changes the names of tables, and nothing else."""

import re

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone import spark as ss
from siltstone.spark.allowed import check
from siltstone.spark.creation import creation
from siltstone.spark.dialect import statement
from siltstone.spark.queries import parse

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

QUERIES = [
    "SELECT a.v FROM shop.a a NATURAL JOIN shop.b b",
    "SELECT to_json(struct(*)) j FROM shop.a",
    "SELECT cnt FROM (SELECT count(DISTINCT *) AS cnt FROM shop.a)",
    "SELECT hash(*) h, concat_ws(',', *) c FROM shop.a",
    "SELECT greatest(a.*) FROM shop.b a",
    "SELECT 'it''s' i, \"it\"\"s\" j, r'\\' k, 'x' 'y' l, '{v}' m FROM shop.a WHERE k <> 'x''y'",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) p FROM shop.a",
    "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY v DESC) d FROM shop.a",
    "SELECT nvl(v, 0), trunc(DATE'2026-05-05', 'Q'), unix_date(DATE'1970-01-05') FROM shop.a",
    "SELECT k FROM shop.a GROUP BY k HAVING sum(v) > 10",
    "SELECT e.id, c FROM shop.e e LATERAL VIEW explode(arr) t AS c",
    "SELECT id, c FROM shop.e, LATERAL explode(arr) AS t(c)",
    "SELECT nm FROM shop.b UNPIVOT (val FOR nm IN (id, w))",
    "SELECT one FROM shop.a PIVOT (sum(v) FOR k IN ('x' AS one, 'y' AS two))",
    "SELECT ID FROM shop.a TABLESAMPLE (100 PERCENT) REPEATABLE (3) WHERE A.v > 10",
    "FROM shop.a |> WHERE v > 10",
    "SELECT count(*) n FROM (SELECT a.id FROM shop.a JOIN shop.b USING (id)) WHERE id > 1",
    "WITH C AS (SELECT id, v FROM shop.a) SELECT c.v, w FROM c NATURAL JOIN shop.b",
]


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory):
    warehouse = str(tmp_path_factory.mktemp("text") / "lake")
    cat = st.connect(warehouse)
    cat.create_database("shop")
    cat.create_database("default")
    a = cat.create_table("shop.a", {"id": "INT", "k": "STRING", "v": "INT"})
    a.append([{"id": 1, "k": "x", "v": 10}, {"id": 2, "k": "y", "v": 20}, {"id": 3, "k": "x", "v": None}])
    cat.create_table("shop.b", {"w": "INT", "id": "INT"}).append([{"w": 7, "id": 1}, {"w": 8, "id": 3}])
    cat.create_table("shop.e", {"id": "INT", "arr": "ARRAY<INT>"}).append([{"id": 1, "arr": [1, 2]}])
    cat.create_table("default.invoices", {"id": "INT"}).append([{"id": 99}])
    return warehouse


@pytest.fixture
def shop(spark, lake):
    ss.enable(spark, warehouse=lake)


def answer(frame):
    return frame.columns, sorted(map(repr, frame.collect()))


@pytest.fixture
def views(spark, shop):
    for name in "abe":
        ss.read(spark, f"shop.{name}").createOrReplaceTempView(name)
    yield
    for name in "abe":
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("query", QUERIES)
def test_a_statement_answers_as_over_whole_frames(spark, views, query):
    whole = re.sub(r"\bshop\.(?=\w\b)", "", query)
    assert answer(ss.sql(spark, query)) == answer(spark.sql(whole))


def test_a_column_may_be_named_with_its_tables_full_name(spark, shop):
    for name in ("shop.a.v", "`shop`.`a`.v", "paimon.shop.a.v", "SHOP.A.V"):
        assert answer(ss.sql(spark, f"SELECT sum({name}) AS s FROM shop.a")) == (["s"], ["Row(s=30)"])
    assert answer(ss.sql(spark, "SELECT max(struct(shop.a.*)).v AS m FROM shop.a")) == (["m"], ["Row(m=None)"])
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        ss.sql(spark, "SELECT shop.b.id FROM shop.a").collect()
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        ss.sql(spark, "SELECT shop.a.id FROM shop.b a WHERE EXISTS (SELECT 1 FROM shop.a)").collect()


def test_common_table_expressions_are_found_whatever_their_case(spark, shop):
    assert answer(ss.sql(spark, "SELECT * FROM invoices")) == (["id"], ["Row(id=99)"])
    assert answer(ss.sql(spark, "WITH Invoices AS (SELECT 1 AS id) SELECT * FROM invoices")) == (["id"], ["Row(id=1)"])


def test_what_sqlglot_cannot_read_is_not_told_as_a_missing_table(spark, shop):
    with pytest.raises(e.UnsupportedFeature, match="sqlglot"):
        ss.sql(spark, "SELECT 17 >>> 1 AS x FROM shop.a")
    assert answer(ss.sql(spark, "SELECT 17 >>> 1 AS x")) == (["x"], ["Row(x=8)"])


def test_a_time_as_of_is_of_any_zone_of_the_session(spark, shop):
    before = spark.conf.get("spark.sql.session.timeZone")
    for zone in ("+08:00", "GMT+8", "UTC+8", "Asia/Shanghai"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        try:
            query = "SELECT count(*) AS n FROM shop.a TIMESTAMP AS OF '2999-01-01 00:00:00'"
            assert answer(ss.sql(spark, query)) == (["n"], ["Row(n=3)"])
        finally:
            spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize(
    "query",
    [
        "/* a /* b */ SELECT */ INSERT INTO plain VALUES (1)",
        "/* a /* b */ SELECT */ CREATE TABLE d2 (a INT) USING parquet",
        "-- a \\\n SELECT\nDROP DATABASE d CASCADE",
        "-- a\rINSERT INTO plain SELECT 1",
        "WITH a AS (SELECT r'\\' AS y) INSERT INTO plain SELECT length(y) + length('x') FROM a",
        "WITH a AS (SELECT 1 /* ' */ AS y) INSERT INTO plain SELECT y, 'x' FROM a",
    ],
)
def test_comments_and_raw_texts_hide_no_statement(spark, shop, query):
    """Comments within comments ended too early, raw texts too late: Spark wrote to tables of its own."""
    with pytest.raises((e.TableNotFound, e.DatabaseNotFound, e.UnsupportedFeature)):
        ss.sql(spark, query)
    assert not spark.catalog.tableExists("d2")


def test_comments_within_comments_stay_comments(spark, shop):
    frame = ss.sql(
        spark, "/* a /* b */ INSERT */ SELECT /* /* */ DROP TABLE x */ count(*) n FROM shop.a -- INSERT INTO y"
    )
    assert [row.n for row in frame.collect()] == [3]


def test_a_version_in_a_hint_is_refused_by_a_table_about_all_versions(spark, shop):
    with pytest.raises(e.UnsupportedFeature, match="looks at no single version"):
        ss.sql(spark, "SELECT snapshot_id FROM shop.a$snapshots /*+ OPTIONS('scan.snapshot-id' = '1') */")
    frame = ss.sql(spark, "SELECT record_count FROM shop.a$files /*+ OPTIONS('scan.snapshot-id' = '1') */")
    assert [row[0] for row in frame.collect()] == [3]


def test_a_time_between_two_milliseconds_is_in_the_earlier_one(spark):
    """It was rounded up: a version that came after the time was read."""
    from siltstone.spark.travel import version_arguments
    from sqlglot import exp, parse_one

    query = "SELECT * FROM t TIMESTAMP AS OF '2026-11-20 08:00:00.9999+00:00'"
    version = parse_one(query, read="spark").find(exp.Version)
    assert version_arguments(spark, version, "")["as_of"] % 1000 == 999


@pytest.mark.parametrize(
    "text",
    [
        "WITH a AS (SELECT 1) UPDATE`x`SET v = 1",
        "WITH a AS (SELECT 1) UPDATE `d`.`x` AS y SET v = 1",
        "WITH a AS (SELECT 1) UPDATE x SET v = 1",
    ],
)
def test_an_update_behind_a_query_is_found_in_any_spelling(text):
    with pytest.raises(e.UnsupportedFeature):
        check(text)


def made(text):
    return creation(parse(statement(f"CREATE TABLE d.t {text}").readable))


def test_raw_texts_of_a_creation_are_kept():
    r"""A comment r'a\b' became an empty one."""
    found = made(r"(a INT COMMENT r'a\b') COMMENT r'x\y' TBLPROPERTIES ('k' = r'c\d')")
    assert (found.fields[0]["description"], found.comment, found.options) == (r"a\b", r"x\y", {"k": r"c\d"})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("(a MAP<STRING>)", e.UnsupportedType),
        ("(a INT, b INT) PARTITIONED BY (a) PARTITIONED BY (b)", e.InvalidArgument),
        ("(a INT) COMMENT 'x' COMMENT 'y'", e.InvalidArgument),
        ("(a INT COMMENT 'x' COMMENT 'y')", e.InvalidArgument),
    ],
)
def test_what_stands_twice_or_half_in_a_creation_is_refused(text, kind):
    with pytest.raises(kind):
        made(text)


def test_a_table_may_have_braces_in_its_name(spark, tmp_path):
    """The name of its frame went through a template."""
    cat = st.connect(tmp_path / "braces")
    cat.create_database("shop")
    cat.create_table("shop.{x}", {"id": int, "{id}": int}).append([{"id": 1, "{id}": 2}])
    ss.enable(spark, warehouse=str(tmp_path / "braces"))
    assert ss.sql(spark, "SELECT `{id}`, `{x}`.id FROM shop.`{x}`").collect() == [(2, 1)]
