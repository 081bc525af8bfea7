"""Values that SQL statements store: a value that does not fit is an error, also while `spark.sql.ansi.enabled` is false, where
Spark's casts give another value. INSERT stored 44 for 300, and nothing for 123456.5."""

import pytest
from siltstone import errors as e
from siltstone import spark as ss
from siltstone.spark.statements.fitting import always_fits

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def sql(spark, cat):
    """Statements, with ANSI rules on or off."""
    ss.enable(spark, warehouse=cat.warehouse)

    def sql(text, *, ansi=False):
        spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        return ss.sql(spark, text)

    yield sql
    spark.conf.unset("spark.sql.ansi.enabled")


VALUES = {
    "TINYINT": "300",
    "INT": "double('NaN')",
    "BIGINT": "1e20D",
    "DECIMAL(5,2)": "123456.5",
    "ARRAY<TINYINT>": "array(300)",
    "DECIMAL(3,0)": "999.9",
}


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_that_does_not_fit_is_never_stored_as_another_one(sql, kind):
    sql(f"CREATE TABLE db.t (id INT, v {kind})")
    sql("INSERT INTO db.t VALUES (1, NULL)")
    for ansi in (False, True):
        with pytest.raises(Exception, match=r"ansi.enabled|does not fit column .v. of db.t|OVERFLOW"):
            sql(f"INSERT INTO db.t VALUES (2, {VALUES[kind]})", ansi=ansi)
    assert [tuple(r) for r in sql("SELECT * FROM db.t").collect()] == [(1, None)]


@pytest.mark.parametrize("key", ["", "TBLPROPERTIES ('primary-key' = 'id')"], ids=["unkeyed", "keyed"])
def test_update_and_merge_do_the_same(sql, key):
    sql(f"CREATE TABLE db.t (id INT NOT NULL, v TINYINT, w INT) {key}")
    sql("INSERT INTO db.t SELECT 1, CAST(1 AS TINYINT), 300")
    merge = "MERGE INTO db.t USING (SELECT 1 AS i, 300 AS n) s ON t.id = s.i WHEN MATCHED THEN UPDATE SET v = s.n"
    for statement in ("UPDATE db.t SET v = w", merge):
        with pytest.raises(e.SchemaMismatch, match=r"column 'v'.*tinyint.*int does not fit") as raised:
            sql(statement)
        assert "spark.sql.ansi.enabled" in raised.value.hint
    sql("UPDATE db.t SET w = v, v = CAST(w AS TINYINT) WHERE id = 1")
    assert [tuple(r) for r in sql("SELECT * FROM db.t").collect()] == [(1, 44, 1)]


def test_a_literal_of_another_kind_is_stored_by_the_rules_of_spark(sql):
    """UPDATE with literals alone took Paimon's casts: '1' became the second day of 1970, or true."""
    kinds = {"a": "DATE", "b": "INT", "c": "BOOLEAN", "d": "TIMESTAMP", "e": "DOUBLE", "f": "BINARY", "g": "STRING"}
    columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    sql(f"CREATE TABLE db.t (id INT NOT NULL, {columns}) TBLPROPERTIES ('primary-key' = 'id')")
    sql("INSERT INTO db.t (id) VALUES (1)")
    for column, literal in [
        ("a", "'1'"),
        ("b", "'1'"),
        ("c", "'1'"),
        ("c", "1"),
        ("d", "'1'"),
        ("e", "'NaN'"),
        ("f", "1"),
    ]:
        with pytest.raises(e.SchemaMismatch, match=f"column '{column}'"):
            sql(f"UPDATE db.t SET {column} = {literal} WHERE id = 1", ansi=True)
    sql("UPDATE db.t SET g = 007, b = 007, c = false, e = 2, a = NULL WHERE id = 1", ansi=True)
    assert tuple(sql("SELECT a, b, c, d, e, g FROM db.t").first()) == (None, 7, False, None, 2.0, "7")


def test_what_always_fits_is_stored_in_either_mode(sql):
    sql("CREATE TABLE db.t (p INT, a BIGINT, b DOUBLE, c DECIMAL(12,2), d STRING, e TIMESTAMP) PARTITIONED BY (p)")
    for ansi in (False, True):
        sql("INSERT INTO db.t PARTITION (p = 7) VALUES (1, 2.5, 3, 4, DATE'2026-01-02')", ansi=ansi)
    assert sql("SELECT count(*) FROM db.t WHERE p = 7 AND a = 1 AND b = 2.5 AND c = 3 AND d = '4'").first()[0] == 2
    with pytest.raises(e.SchemaMismatch, match="'p'"):
        sql("INSERT INTO db.t PARTITION (p = 'x') VALUES (1, 2.5, 3, 4, NULL)")


@pytest.mark.parametrize(
    ("given", "wanted", "fits"),
    [
        ("tinyint", "smallint", True), ("int", "smallint", False), ("bigint", "decimal(19,0)", True),
        ("bigint", "decimal(18,0)", False), ("int", "decimal(12,2)", True), ("int", "decimal(11,2)", False),
        ("decimal(5,2)", "decimal(6,2)", True), ("decimal(5,2)", "decimal(4,1)", False),
        ("decimal(5,2)", "decimal(5,3)", False), ("decimal(5,2)", "decimal(3,0)", False),
        ("decimal(5,2)", "decimal(4,0)", True), ("decimal(3,1)", "tinyint", True), ("decimal(3,0)", "tinyint", False),
        ("double", "float", True), ("float", "int", False), ("double", "decimal(38,0)", False),
        ("bigint", "float", True), ("array<int>", "array<bigint>", True), ("map<int,bigint>", "map<int,int>", False),
        ("struct<a:int>", "struct<a:tinyint>", False), ("date", "timestamp", True), ("int", "string", True),
    ],
)  # fmt: skip
def test_which_types_have_room_for_all_values_of_another(given, wanted, fits):
    from pyspark.sql.types import _parse_datatype_string

    given, wanted = (_parse_datatype_string(f"c {kind}")[0].dataType for kind in (given, wanted))
    assert always_fits(given, wanted) is fits


ROWS = {
    "ROW": ("STRUCT<a: INT, b: INT>", "named_struct('b', 2, 'a', 1)", {"a": 1, "b": 2}),
    "ARRAY": ("ARRAY<STRUCT<a: INT, b: INT>>", "array(named_struct('B', 2, 'a', 1), NULL)", [{"a": 1, "b": 2}, None]),
    "MAP": (
        "MAP<STRING, STRUCT<a: INT, r: STRUCT<x: INT, y: INT>>>",
        "map('k', named_struct('r', named_struct('y', 2, 'x', 1), 'a', 3))",
        {"k": {"a": 3, "r": {"x": 1, "y": 2}}},
    ),
    "names": (
        "STRUCT<`a b`: INT, `x.y`: ARRAY<STRUCT<`q``t`: INT>>>",
        "named_struct('x.y', array(named_struct('q`t', 2)), 'a b', 1)",
        {"a b": 1, "x.y": [{"q`t": 2}]},
    ),
}


def plain(value):
    """Rows of Spark as dicts."""
    if hasattr(value, "asDict"):
        return {key: plain(inner) for key, inner in value.asDict().items()}
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("key", ["", "TBLPROPERTIES ('primary-key' = 'id')"], ids=["unkeyed", "keyed"])
@pytest.mark.parametrize("kind", ROWS)
def test_fields_of_rows_are_matched_by_their_names_where_columns_are(sql, kind, key):
    """They went in by their places: `{b: 2, a: 1}` was stored as `{a: 2, b: 1}`. Spark's own tables match them by name."""
    column, value, stored = ROWS[kind]
    sql(f"CREATE TABLE db.t (id INT NOT NULL, s {column}) {key}")
    sql(f"INSERT INTO db.t BY NAME SELECT {value} AS s, 1 AS id")
    sql("INSERT INTO db.t VALUES (2, NULL), (3, NULL), (4, NULL)")
    sql(f"UPDATE db.t SET s = {value} WHERE id + 0 = 2", ansi=True)
    source = f"(SELECT i AS id, {value} AS s, {value} AS v FROM range(3, 6) r(i))"
    sql(
        f"MERGE INTO db.t USING {source} q ON t.id = q.id WHEN MATCHED AND t.id = 3 THEN UPDATE SET * "
        "WHEN MATCHED THEN UPDATE SET s = q.v WHEN NOT MATCHED THEN INSERT *",
        ansi=True,
    )
    found = {row["id"]: plain(row["s"]) for row in sql("SELECT * FROM db.t").collect()}
    assert found == dict.fromkeys(range(1, 6), stored)


def test_a_table_made_of_a_query_has_fields_of_any_name(sql):
    sql("CREATE TABLE db.t AS SELECT 1 AS id, named_struct('a b', 1, 'x.y', map('k', named_struct('q`t', 2))) AS s")
    assert plain(sql("SELECT s FROM db.t").first()["s"]) == {"a b": 1, "x.y": {"k": {"q`t": 2}}}


def test_fields_that_are_missing_or_more_are_refused(sql):
    sql("CREATE TABLE db.t (id INT NOT NULL, s STRUCT<a: INT, b: INT>) TBLPROPERTIES ('primary-key' = 'id')")
    sql("INSERT INTO db.t VALUES (1, struct(1, 2))")  # by place, as columns are
    for value, said in (("struct(1, 2)", "no field 'a'"), ("named_struct('a', 1, 'b', 2, 'c', 3)", "the field 'c'")):
        with pytest.raises(e.SchemaMismatch, match=said):
            sql(f"UPDATE db.t SET s = {value} WHERE id + 0 = 1")
        with pytest.raises(e.SchemaMismatch, match=said):
            sql(f"INSERT INTO db.t BY NAME SELECT 1 AS id, {value} AS s")
    assert plain(sql("SELECT s FROM db.t").first()["s"]) == {"a": 1, "b": 2}


def test_a_merge_by_chance_is_refused(sql):
    """Each column asked for itself: rows had values of two clauses."""
    sql("CREATE TABLE db.t (id INT NOT NULL, a INT, b INT) TBLPROPERTIES ('primary-key' = 'id')")
    sql("INSERT INTO db.t VALUES (1, 0, 0)")
    clauses = "WHEN MATCHED AND rand() < 0.5 THEN UPDATE SET a = 1, b = 1 WHEN MATCHED THEN UPDATE SET a = 2, b = 2"
    with pytest.raises(e.UnsupportedFeature, match="more than the values") as raised:
        sql(f"MERGE INTO db.t USING (SELECT 1 AS i) s ON t.id = s.i {clauses}")
    assert "column of the source" in raised.value.hint
    sql(f"MERGE INTO db.t USING (SELECT 1 AS i, rand() AS r) s ON t.id = s.i {clauses.replace('rand()', 's.r')}")
    assert sql("SELECT a = b AND a > 0 FROM db.t").first()[0]
