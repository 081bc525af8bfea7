"""Columns whose names differ in case alone, in statements of ``ss.sql``: the one that is meant, or an error by name."""

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone import spark as ss

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def table(spark, tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("db")
    ss.enable(spark, warehouse=str(tmp_path / "lake"))
    columns = {"a": "INT", "A": "INT", "b": "INT", "v": "INT"}
    made = cat.create_table("db.c", columns, primary_key=["a"], options={"bucket": "1"})
    made.append([{"a": 1, "A": 2, "b": 3, "v": 4}])
    return made


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE db.c SET `a` = 7 WHERE b = 3",
        "UPDATE db.c SET A = 7 WHERE b = 3",
        "UPDATE db.c SET A = b + 1",
        "INSERT INTO db.c (a, b, v) VALUES (5, 6, 7)",
        "INSERT INTO db.c BY NAME SELECT 5 AS a, 6 AS b",
        "MERGE INTO db.c USING (SELECT 3 AS x) s ON c.b = s.x WHEN MATCHED THEN UPDATE SET A = 9",
        "MERGE INTO db.c USING (SELECT 9 AS x) s ON c.b = s.x WHEN NOT MATCHED THEN INSERT (a, b) VALUES (x, x)",
        "DESCRIBE db.c a",
        "ANALYZE TABLE db.c COMPUTE STATISTICS FOR COLUMNS b, a",
        "ALTER TABLE db.c DROP COLUMN IF EXISTS a",
    ],
)
def test_a_name_that_two_columns_have_is_refused(spark, table, text):
    """UPDATE set the other column, A for a, and reported success: of two names that fold alike the last one won."""
    with pytest.raises(e.SchemaMismatch, match=r"may be each of the columns a, A"):
        ss.sql(spark, text)
    assert table.scan().to_arrow().to_pylist() == [{"a": 1, "A": 2, "b": 3, "v": 4}]


def test_other_columns_of_such_a_table_are_found_by_any_case(spark, table):
    """Only the names that two columns have are refused."""
    ss.sql(spark, "UPDATE db.c SET V = 5 WHERE B = 3")
    assert table.scan().to_arrow().to_pylist() == [{"a": 1, "A": 2, "b": 3, "v": 5}]


def test_where_case_counts_a_name_is_that_column(spark, table):
    """With spark.sql.caseSensitive the key is refused as the key, and the other one is set."""
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(e.SiltstoneError, match="primary key"):
            ss.sql(spark, "UPDATE db.c SET a = 7 WHERE b = 3")
        ss.sql(spark, "UPDATE db.c SET A = 7 WHERE b = 3")
        with pytest.raises(e.InvalidArgument, match="no column 'V'"):
            ss.sql(spark, "UPDATE db.c SET V = 7 WHERE b = 3")
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    assert table.scan().to_arrow().to_pylist() == [{"a": 1, "A": 7, "b": 3, "v": 4}]
