"""What a new user mistyped, or could not know, in ``ss.sql``: the error names the column, type or table, and what to type."""

import pytest
from siltstone import errors as e
from siltstone import spark as ss

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def sql(spark, shop):
    """Statements on a table, in its database."""

    def sql(text, **args):
        return ss.sql(spark, text, **args)

    sql("USE shop")
    sql(
        "CREATE TABLE ev (id INT NOT NULL, amt DECIMAL(12,3), n TINYINT, s STRING) TBLPROPERTIES ('primary-key' = 'id')"
    )
    yield sql
    spark.conf.unset("spark.siltstone.database")


def refused(sql, text, error, message, hint):
    with pytest.raises(e.SiltstoneError) as raised:
        sql(text)
    said = raised.value
    assert (type(said), said.message) == (error, message) and hint in (said.hint or ""), said


@pytest.mark.parametrize(
    ("value", "path", "hint"),
    [
        ("null AS b", "b", "CAST(NULL AS STRING) AS `b`"),
        ("named_struct('lon', null, 'lat', 1) AS s", "s.lon", "CAST(NULL AS STRING) in its place"),
        ("array(named_struct('x', null)) AS v", "v.element.x", "in its place"),
        ("map('k', null) AS m", "m.value", "in its place"),
    ],
)
def test_a_column_of_nulls_has_no_type_to_make_a_table_with(sql, shop, value, path, hint):
    """The statement "cannot be read", said the error, with the grammar of CREATE TABLE."""
    message = f"'{path}' of the query is NULL in all rows, and has no type (VOID)"
    refused(sql, f"CREATE TABLE made AS SELECT 1 AS a, {value}", e.UnsupportedType, message, hint)
    assert shop.tables("shop") == ["ev"]


def test_a_type_that_paimon_lacks_leads_nowhere_else(sql):
    message = "the type INTERVAL DAY is none of a Paimon table's in Spark"
    refused(sql, "CREATE TABLE made AS SELECT INTERVAL '1' DAY AS i", e.UnsupportedType, message, "Paimon has no such")
    message = "the type VARIANT is none of a Paimon table's in Spark"
    with pytest.raises(e.UnsupportedType, match="VARIANT") as raised:
        sql("CREATE TABLE made (a INT, s STRUCT<x: VARIANT>)")
    assert raised.value.context["column"] == "s.x" and "create_table(" in raised.value.hint


@pytest.mark.parametrize(
    ("text", "column", "wrong", "hint"),
    [
        ("CREATE TABLE bad (id INTT)", "id", "INTT", "did you mean INT?"),
        ("CREATE TABLE bad (a INT COMMENT 'x, y', b STRUCT<c: INT, d: ARRAY<STRINGG>>)", "b", "STRINGG", "STRING?"),
        ("CREATE TABLE bad (a MAP<INT, DOUBLES> NOT NULL, b INT)", "a", "DOUBLES", "did you mean DOUBLE?"),
        ("CREATE TABLE bad (a FOO)", "a", "FOO", "types: ARRAY, BIGINT"),
        ("ALTER TABLE ev ALTER COLUMN n TYPE STRINGG", "n", "STRINGG", "did you mean STRING?"),
        ("ALTER TABLE ev ADD COLUMNS (z INTT)", "z", "INTT", "did you mean INT?"),
    ],
)
def test_a_mistyped_type_is_named(sql, text, column, wrong, hint):
    """CREATE TABLE gave its grammar, ALTER TABLE no hint."""
    with pytest.raises(e.InvalidArgument, match=f"^'{wrong}' is not a type") as raised:
        sql(text)
    assert raised.value.context["column"] == column and hint in raised.value.hint


def test_the_type_of_null_is_none_of_a_column(sql):
    with pytest.raises(e.UnsupportedType, match="type of NULL"):
        sql("CREATE TABLE bad (a VOID)")
    with pytest.raises(e.InvalidArgument, match="this CREATE TABLE cannot be read"):
        sql("CREATE TABLE bad (a INT NOT, b INT)")


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO ev (id, amnt) VALUES (1, 2)",
        "INSERT INTO ev BY NAME SELECT 1 AS id, 2 AS amnt",
        "UPDATE ev SET amnt = 3",
        "MERGE INTO ev USING (SELECT 1 AS i) q ON ev.id = q.i WHEN MATCHED THEN UPDATE SET amnt = 3",
        "MERGE INTO ev USING (SELECT 1 AS i) q ON ev.id = q.i WHEN NOT MATCHED THEN INSERT (id, amnt) VALUES (1, 3)",
        "ANALYZE TABLE ev COMPUTE STATISTICS FOR COLUMNS amnt",
        "DESCRIBE ev amnt",
    ],
)
def test_a_mistyped_column_has_one_answer(sql, text):
    """It had three: with the columns, without a hint, of another class."""
    with pytest.raises((e.SchemaMismatch, e.InvalidArgument), match=r"^shop.ev has no column 'amnt'") as raised:
        sql(text)
    assert raised.value.hint == "did you mean 'amt'?" and raised.value.context["column"] == "amnt"
    refused(sql, "INSERT INTO ev (zzz) VALUES (1)", e.SchemaMismatch, "shop.ev has no column 'zzz'", "columns: `id`")


def test_a_mistyped_table_is_answered_with_the_one_that_is_meant(sql):
    """Spark's error named its own search path alone."""
    for text, note in [
        ("SELECT amt FROM eve", "the table 'shop.eve' does not exist: did you mean 'shop.ev'?"),
        ("SELECT 1 FROM ev JOIN shop.EVE", "the table 'shop.EVE' does not exist: did you mean 'shop.ev'?"),
        ("SELECT amt FROM shpo.ev", "the database 'shpo' does not exist: did you mean 'shop.ev'?"),
    ]:
        with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND") as raised:
            sql(text)
        assert raised.value.__notes__[1:] == [note]
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND") as raised:
        sql("SELECT amt FROM quite_other")
    assert len(raised.value.__notes__) == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("INSERT INTO ev (id, amt) VALUES (1, 123456789012.5)", "123456789012.5"),
        ("INSERT INTO ev (id, amt) SELECT id, 1e20D FROM range(3)", "1.0E20"),
        ("UPDATE ev SET amt = amt * 100000000000 WHERE id + 0 = 7", "150000000000.000"),
        (
            "MERGE INTO ev USING (SELECT 7 AS i, 99999999999 AS x) q ON ev.id = q.i WHEN MATCHED THEN UPDATE SET amt = q.x",
            "99999999999",
        ),
    ],
)
def test_a_number_that_does_not_fit_names_its_column(sql, text, value):
    """Spark's error named neither, and advised a setting with which narrower types are refused."""
    sql("INSERT INTO ev VALUES (7, 1.5, 2, 'x')")
    message = f"the value {value} does not fit column 'amt' of shop.ev, which is decimal(12,3)"
    refused(sql, text, e.SchemaMismatch, message, "wider type")
    assert [tuple(map(str, r)) for r in sql("SELECT * FROM ev").collect()] == [("7", "1.500", "2", "x")]


def test_a_number_that_does_not_fit_names_its_column_without_a_key(sql):
    sql("CREATE TABLE plain (id INT, n TINYINT)")
    sql("INSERT INTO plain VALUES (1, 5), (2, NULL)")
    message = "the value 1002 does not fit column 'n' of shop.plain, which is tinyint"
    refused(sql, "UPDATE plain SET n = id + 1000 WHERE id + 0 = 2", e.SchemaMismatch, message, "wider type")
    sql("UPDATE plain SET n = id + 100 WHERE id + 0 = 2")
    assert sorted(tuple(r) for r in sql("SELECT * FROM plain").collect()) == [(1, 5), (2, 102)]
    sql("UPDATE plain SET n = (SELECT max(o.id) + 40 FROM plain o WHERE o.id = plain.id)")
    assert sorted(tuple(r) for r in sql("SELECT * FROM plain").collect()) == [(1, 41), (2, 42)]


def test_a_column_is_not_given_anew_as_in_hive(sql):
    with pytest.raises(e.UnsupportedFeature, match="CHANGE COLUMN") as raised:
        sql("ALTER TABLE ev CHANGE COLUMN n nn BIGINT")
    assert "RENAME COLUMN c TO d" in raised.value.hint
    sql("ALTER TABLE ev CHANGE COLUMN n TYPE BIGINT")
    assert dict(sql("SELECT * FROM ev").dtypes)["n"] == "bigint"


def test_a_partition_that_is_not_there_is_not_dropped_without_a_word(sql):
    """A mistyped value passed; IF EXISTS is for that."""
    sql("CREATE TABLE days (dt STRING, h INT, n INT) PARTITIONED BY (dt, h)")
    sql("INSERT INTO days VALUES ('a', 1, 1), ('b', 2, 2)")
    message = "shop.days has no partition dt=a, h=2"
    refused(sql, "ALTER TABLE days DROP PARTITION (dt = 'a', h = 2)", e.InvalidArgument, message, "IF EXISTS")
    text = "ALTER TABLE days DROP PARTITION (dt = 'b', h = 2), PARTITION (dt = 'a', h = 2)"
    refused(sql, text, e.InvalidArgument, message, "SHOW PARTITIONS")
    sql("ALTER TABLE days DROP IF EXISTS PARTITION (dt = 'a', h = 2)")
    sql("ALTER TABLE days DROP PARTITION (dt = 'nope')")  # names several, of which there are none
    assert sql("SELECT count(*) FROM days").first()[0] == 2
    sql("ALTER TABLE days DROP PARTITION (dt = 'a', h = 1)")
    assert [tuple(r) for r in sql("SELECT * FROM days").collect()] == [("b", 2, 2)]


def test_a_row_in_an_error_of_a_task_says_what_it_is_counted_in(spark, sql):
    rows = spark.range(100).selectExpr("CAST(if(id = 99, NULL, id) AS INT) AS id", "'x' AS s")
    with pytest.raises(e.NullInKey, match=r"row \d+ has null") as raised:
        ss.write(rows, "shop.ev")
    assert "within the task" in raised.value.hint
