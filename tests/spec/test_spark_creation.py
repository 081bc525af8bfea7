"""What a CREATE TABLE asks for; no session is needed to decide that."""

import pytest
import siltstone as st
from siltstone import errors as e

pytest.importorskip("pyspark")
sqlglot = pytest.importorskip("sqlglot")

from siltstone.spark.allowed import check  # noqa: E402
from siltstone.spark.creation import creation, is_creation  # noqa: E402


def asked(text):
    try:
        found = sqlglot.parse(text, read="spark")
    except sqlglot.errors.SqlglotError:
        found = [None]
    return creation(found[0])


def test_everything_that_paimon_has():
    found = asked(
        "CREATE TABLE IF NOT EXISTS shop.t (dt DATE NOT NULL, `a b` BIGINT COMMENT 'it\\'s', d DECIMAL, e DECIMAL(5), f DECIMAL(12, 2),"
        " s STRING, c CHAR(3), v VARCHAR(4), y BYTE, h SHORT, i INTEGER, l LONG, r REAL, w DOUBLE, o BOOLEAN, b BINARY,"
        " t TIMESTAMP, z TIMESTAMP_LTZ, n TIMESTAMP_NTZ NOT NULL, a ARRAY<ARRAY<INT>>, m MAP<STRING, DOUBLE>,"
        " u STRUCT<x: INT NOT NULL COMMENT 'in', y: ARRAY<STRING>> NOT NULL)"
        " USING paimon PARTITIONED BY (dt) COMMENT 'orders' TBLPROPERTIES ('primary-key' = 'dt,a b', 'bucket' = 4, file.format = 'orc',"
        " 'write-only' = TRUE)"
    )
    assert (found.database, found.name, found.partition_by, found.comment) == ("shop", "t", ["dt"], "orders")
    assert found.if_not_exists
    assert found.options == {"primary-key": "dt,a b", "bucket": "4", "file.format": "orc", "write-only": "true"}
    types = {c["name"]: c["type"] for c in found.fields}
    assert [types[n] for n in ("dt", "a b", "d", "e", "f")] == [
        "DATE NOT NULL",
        "BIGINT",
        "DECIMAL(10, 0)",
        "DECIMAL(5, 0)",
        "DECIMAL(12, 2)",
    ]
    assert [types[n] for n in "scvyhilrwob"] == [
        "STRING",
        "CHAR(3)",
        "VARCHAR(4)",
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "FLOAT",
        "DOUBLE",
        "BOOLEAN",
        "BYTES",
    ]
    local = "TIMESTAMP(6) WITH LOCAL TIME ZONE"
    assert [types[n] for n in "tzn"] == [local, local, "TIMESTAMP(6) NOT NULL"]
    assert types["a"] == {"type": "ARRAY", "element": {"type": "ARRAY", "element": "INT"}}
    assert types["m"] == {"type": "MAP", "key": "STRING NOT NULL", "value": "DOUBLE"}
    inside = {"name": "x", "description": "in", "type": "INT NOT NULL"}
    strings = {"name": "y", "type": {"type": "ARRAY", "element": "STRING"}}
    assert types["u"] == {"type": "ROW NOT NULL", "fields": [inside, strings]}
    assert found.fields[1]["description"] == "it's"


def test_what_is_asked_for_is_what_a_table_is_made_of(tmp_path):
    catalog = st.connect(tmp_path)
    catalog.create_database("shop")
    found = asked(
        "CREATE TABLE shop.t (id INT, r STRUCT<x: INT>, m MAP<STRING, INT>) TBLPROPERTIES ('primary-key' = 'id')"
    )
    t = catalog.create_table("shop.t", found.fields, partition_by=found.partition_by, options=found.options)
    assert (t.primary_key, t.bucket_mode, "primary-key" in t.options) == (["id"], "dynamic", False)
    assert str(t.schema.field("r").type) == "struct<x: int32>"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("CREATE TABLE shop.t AS SELECT 1", "AS SELECT"),
        ("CREATE TABLE shop.t USING paimon AS SELECT 1", "AS SELECT"),
        ("CREATE TABLE shop.t (id INT) AS SELECT 1 AS id", "AS SELECT"),
        ("CREATE TABLE shop.t LIKE shop.u", "LIKE"),
        ("CREATE TABLE shop.t", "without columns"),
        ("CREATE TABLE shop.t (id INT) USING parquet", "USING parquet"),
        ("CREATE TABLE shop.t (id INT) LOCATION '/x'", "LOCATION"),
        ("CREATE TABLE shop.t (id INT) OPTIONS ('a' = 'b')", "OPTIONS"),
        ("CREATE TABLE shop.t (id INT) CLUSTERED BY (id) INTO 4 BUCKETS", "CLUSTERED BY"),
        ("CREATE TABLE shop.t (id INT) PARTITIONED BY (p STRING)", "p STRING"),
        ("CREATE TABLE shop.t (id INT) PARTITIONED BY (bucket(4, id))", "PARTITIONED BY"),
        ("CREATE TABLE shop.t (id INT, PRIMARY KEY (id))", "PRIMARY KEY"),
        ("CREATE TABLE shop.t (id INT PRIMARY KEY)", "PRIMARY KEY"),
        ("CREATE TABLE shop.t (id INT DEFAULT 1 + 2)", "DEFAULT 1 + 2 of the column id"),
        ("CREATE TABLE shop.t (at TIMESTAMP DEFAULT current_timestamp())", "of the column at"),
        ("CREATE TABLE shop.t (id INT GENERATED ALWAYS AS (1))", "column id"),
        ("CREATE OR REPLACE TABLE shop.t (id INT)", "REPLACE"),
        ("CREATE TABLE shop.t (id INT, unique INT)", "UNIQUE"),
    ],
)
def test_what_has_no_meaning_is_refused_by_its_name(text, what):
    with pytest.raises(e.UnsupportedFeature, match="is not supported in siltstone.spark.sql") as raised:
        asked(text)
    assert what in raised.value.message


def test_columns_have_defaults_that_are_literals(tmp_path):
    """A DEFAULT was refused, although the schema has a place for it, and ALTER TABLE set one."""
    found = asked(
        "CREATE TABLE shop.t (id INT, a INT DEFAULT -7, s STRING DEFAULT 'it\\'s' COMMENT 'c', d DATE DEFAULT DATE'2026-11-20',"
        " b BOOLEAN DEFAULT true, n DECIMAL(5, 2) DEFAULT 1.5, l BIGINT NOT NULL DEFAULT 2L)"
    )
    cat = st.connect(tmp_path)
    cat.create_database("shop")
    t = cat.create_table("shop.t", found.fields)
    t.append([{"id": 1}])
    row = t.scan().to_arrow().to_pydict()
    assert {k: str(v[0]) for k, v in row.items()} == {
        "id": "1", "a": "-7", "s": "it's", "d": "2026-11-20", "b": "True", "n": "1.50", "l": "2",
    }  # fmt: skip


@pytest.mark.parametrize(
    "kind", ["INTERVAL DAY", "TIMESTAMP(3)", "VARCHAR", "STRING(3)", "JSON", "ARRAY", "DECIMAL(1, 2, 3)", "UUID"]
)
def test_types_that_paimon_does_not_have_in_spark(kind):
    with pytest.raises((e.UnsupportedType, e.InvalidArgument)):
        asked(f"CREATE TABLE shop.t (x {kind})")


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE shop.t (",
        "CREATE TABLE shop.t (id)",
        "CREATE TABLE shop.t (id INT, case INT)",
        "CREATE TABLE shop.t (id INT, current_date DATE)",
        "CREATE TABLE shop.t (id INT, null INT)",
        "CREATE TABLE shop.t (id INT) TBLPROPERTIES ('a' = 'b', 'a' = 'c')",
        "CREATE TABLE shop.t (id INT) TBLPROPERTIES ('a' = b)",
    ],
)
def test_what_cannot_be_read_is_refused(text):
    with pytest.raises((e.InvalidArgument, e.UnsupportedFeature)):
        asked(text)


def test_only_tables_are_made():
    assert is_creation("/* a */ create\ntable if not exists t (id INT)")
    for other in (
        "CREATE TEMPORARY TABLE t USING x",
        "CREATE OR REPLACE TABLE t (id INT)",
        "CREATE EXTERNAL TABLE t (a INT)",
        "",
    ):
        assert not is_creation(other)


@pytest.mark.parametrize(
    "columns", ["id INT, case INT", "id INT, current_date DATE", "id INT, null INT", "id INT, like INT", "unique INT"]
)
def test_the_hint_for_names_that_are_words_of_sql(columns):
    with pytest.raises((e.InvalidArgument, e.UnsupportedFeature)) as raised:
        asked(f"CREATE TABLE shop.t ({columns})")
    assert "stand in backticks" in raised.value.hint
    quoted = ", ".join(f"`{name}` {kind}" for name, kind in (c.split() for c in columns.split(", ")))
    assert [f["name"] for f in asked(f"CREATE TABLE shop.t ({quoted})").fields] == [
        c.split()[0] for c in columns.split(", ")
    ]


@pytest.mark.parametrize(
    ("text", "what", "instead"),
    [
        (
            "CREATE OR REPLACE TABLE shop.t (id INT)",
            "CREATE OR REPLACE TABLE is",
            "drop_table(name), then CREATE TABLE",
        ),
        ("CREATE EXTERNAL TABLE shop.t (id INT)", "CREATE EXTERNAL TABLE is", "siltstone.spark.read"),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", "CREATE VIEW is", "CREATE TEMPORARY VIEW"),
        ("CREATE TEMPORARY TABLE t USING x", "CREATE TEMPORARY TABLE is", ""),
        ("DROP TABLE IF EXISTS shop.t", "DROP TABLE is", "drop_table(name)"),
    ],
)
def test_a_refused_statement_says_what_to_write_instead(text, what, instead):
    """Of CREATE OR REPLACE TABLE it said that CREATE TABLE is not supported."""
    with pytest.raises(e.UnsupportedFeature) as raised:
        check(text)
    assert raised.value.message.startswith(what)
    assert instead in raised.value.hint
