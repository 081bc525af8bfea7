"""Conditions of Spark's SQL that a scan takes over give the rows that the text gives, negated ones too."""

import pytest
from siltstone.spark.conditions import Meaning, columns_by_name, condition

duckdb = pytest.importorskip("duckdb")
sqlglot = pytest.importorskip("sqlglot")

ROWS = [
    {"id": 1, "s": "", "n": 1, "b": True},
    {"id": 2, "s": "a", "n": 5, "b": False},
    {"id": 3, "s": "abc", "n": 10, "b": None},
    {"id": 4, "s": "Abc", "n": None, "b": True},
    {"id": 5, "s": None, "n": 7, "b": False},
]
TAKEN = [
    "s LIKE 'a%'",
    "s NOT LIKE 'a%'",
    "NOT s LIKE 'a%'",
    "NOT s NOT LIKE 'a%'",
    "n IN (1, 10)",
    "n NOT IN (1, 10)",
    "n BETWEEN 2 AND 7",
    "n NOT BETWEEN 2 AND 7",
    "s IS NULL",
    "s IS NOT NULL",
    "n <> 5",
    "NOT n = 5",
    "n >= 5 AND NOT (s NOT LIKE 'a%' OR n > 7)",
    "b",
    "NOT b",
]
LEFT = [
    "s ILIKE 'a%'",
    "s NOT ILIKE 'a%'",
    "s RLIKE 'a'",
    "s NOT RLIKE 'a'",
    "s LIKE 'a!%' ESCAPE '!'",
    "s LIKE ANY ('a%', 'b%')",
    "s NOT LIKE ALL ('a%', 'b%')",
    "n IS DISTINCT FROM 5",
    "n IS NOT DISTINCT FROM 5",
    "n BETWEEN SYMMETRIC 7 AND 2",
    "b IS TRUE",
    "b IS NOT TRUE",
    "n IN (SELECT 1)",
    "n = CAST('5' AS INT)",
]


@pytest.fixture(scope="module")
def t(tmp_path_factory):
    import siltstone as st

    cat = st.connect(tmp_path_factory.mktemp("conditions") / "lake")
    cat.create_database("db")
    t = cat.create_table("db.t", {"id": int, "s": str, "n": int, "b": bool})
    t.append(ROWS)
    return t


def taken(t, text):
    meaning = Meaning(exact_case=False, texts=True, zone=None)
    tree = sqlglot.parse_one(text, read="spark")
    return condition(tree, columns_by_name(t.to_arrow().schema, meaning), meaning, whole=True)


@pytest.mark.parametrize("text", TAKEN)
def test_a_condition_that_is_taken_over_means_the_same(t, text):
    """sqlglot 30 says NOT LIKE by a part of LIKE: it was taken for LIKE, and DELETE left the rows that it should delete."""
    rows = t.to_arrow()
    expected = duckdb.sql(f"SELECT id FROM rows WHERE {text} ORDER BY id").fetchall()
    found = taken(t, text)
    assert found is not None
    assert sorted(row["id"] for row in t.scan(["id"], filter=found)) == [i for (i,) in expected]
    assert rows.num_rows == len(ROWS)


@pytest.mark.parametrize("text", LEFT)
def test_what_is_not_known_is_left_to_spark(t, text):
    assert taken(t, text) is None


def test_a_part_that_nobody_looks_at_is_not_known(t):
    """What a later sqlglot may say of a comparison."""
    meaning = Meaning(exact_case=False, texts=True, zone=None)
    columns = columns_by_name(t.to_arrow().schema, meaning)
    for text in TAKEN:
        tree = sqlglot.parse_one(text, read="spark")
        assert condition(tree, columns, meaning, whole=True) is not None
        tree.args["inverted"] = True
        assert condition(tree, columns, meaning, whole=True) is None
