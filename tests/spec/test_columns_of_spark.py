"""Columns of a new table from a schema of Spark: without a session, and without running anything."""

import pytest
from siltstone import errors as e

pytest.importorskip("pyspark")

from pyspark.sql import types as s  # noqa: E402
from siltstone.spark.definition import fields_of  # noqa: E402

TYPES = [
    (s.ByteType(), "TINYINT"),
    (s.LongType(), "BIGINT"),
    (s.DecimalType(12, 2), "DECIMAL(12, 2)"),
    (s.StringType(), "STRING"),
    (s.BinaryType(), "BYTES"),
    (s.DateType(), "DATE"),
    (s.TimestampType(), "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
    (s.TimestampNTZType(), "TIMESTAMP(6)"),
    (s.ArrayType(s.IntegerType()), {"type": "ARRAY", "element": "INT"}),
    (s.MapType(s.StringType(), s.IntegerType()), {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}),
]


def test_types_of_spark_are_those_of_its_catalog(make):
    t = make(s.StructType([s.StructField(f"c{at}", kind) for at, (kind, _) in enumerate(TYPES)]))
    assert [field["type"] for field in fields_of(t)] == [type_ for _, type_ in TYPES]


def test_columns_may_be_null_unless_they_are_of_the_key(make):
    """``spark.range(3)`` has no nulls by accident: CREATE TABLE AS SELECT does not take that over, either."""
    columns = s.StructType(
        [s.StructField("id", s.LongType(), nullable=False), s.StructField("v", s.IntegerType(), False)]
    )
    t = make(columns, primary_key=["id"])
    assert [field.nullable for field in t.schema] == [False, True]


@pytest.mark.parametrize(("kind", "says"), [(s.VariantType(), "variant"), (s.DayTimeIntervalType(), "interval")])
def test_a_type_that_paimon_lacks_is_refused_with_its_column(make, kind, says):
    with pytest.raises(e.UnsupportedType, match=f"column 'odd'.*{says}"):
        make(s.StructType([s.StructField("odd", kind)]))


def test_a_column_of_nothing_has_no_type(make):
    with pytest.raises(e.SiltstoneError, match=r"(?i)null|void"):
        make(s.StructType([s.StructField("nothing", s.NullType())]))


def test_an_error_without_a_text_is_called_by_its_class(make):
    """\"the columns of this DataFrame cannot be those of a table: \" ended there."""

    class Silent:
        def __arrow_c_stream__(self, requested_schema=None):
            raise KeyError

    with pytest.raises(e.IllegalSchema, match="KeyError"):
        make(Silent())
