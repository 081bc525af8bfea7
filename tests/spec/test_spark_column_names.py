"""The column that a name means to Spark; no session is needed to decide that."""

import pyarrow as pa
import pytest
from siltstone import errors as e
from siltstone.spark.column_names import ColumnNames

pytest.importorskip("pyspark")

from siltstone.spark.values import from_spark  # noqa: E402


def test_a_name_is_found_by_any_case_and_never_one_of_two():
    """Of two names that fold alike the last one won."""
    names = ColumnNames(["id", "a", "A", "Straße"])
    assert (names.find("ID"), names.find("STRAßE"), names.find("b")) == ("id", "Straße", None)
    for given in ("a", "A"):
        with pytest.raises(e.SchemaMismatch, match=f"'{given}' may be each of the columns a, A"):
            names.find(given)


def test_where_case_counts_only_the_same_name_is_found():
    names = ColumnNames(["id", "a", "A"], exact=True)
    assert (names.find("a"), names.find("A"), names.find("ID")) == ("a", "A", None)


def test_a_column_of_a_frame_is_never_stored_as_another_one():
    """A frame with the column a alone went into A."""
    schema = pa.schema([("a", pa.int32()), ("A", pa.int32()), ("b", pa.int32())])
    with pytest.raises(e.SchemaMismatch, match="may be each of the columns a, A"):
        from_spark(pa.record_batch({"a": [1]}), schema)
    assert from_spark(pa.record_batch({"B": [1]}), schema).schema.names == ["b"]
