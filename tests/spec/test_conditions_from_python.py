"""Conditions built with `col`: folds over many of them, and scalars of numpy, which mean what they say."""

from functools import reduce
from operator import and_, or_

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from siltstone import col
from siltstone import errors as e


@pytest.fixture
def table(make):
    t = make({"id": "BIGINT", "s": "STRING"}, ["id"], bucket=1)
    t.append([{"id": 1, "s": "a"}])
    return t


@pytest.mark.parametrize("operator", [or_, and_])
def test_many_conditions_are_one_flat_list(table, operator):
    """Python's own RecursionError once came out of a fold over a thousand conditions."""
    conditions = [col("id") == 1 if operator is and_ else col("id") == i for i in range(2000)]
    assert table.scan(filter=reduce(operator, conditions)).count() == 1
    assert table.scan(filter=~reduce(operator, conditions)).count() == 0
    backwards = reduce(lambda a, b: operator(b, a), conditions)
    assert table.scan(filter=backwards).count() == 1
    assert repr(backwards).startswith("Expression(")


@pytest.mark.parametrize("depth", [100, 300, 5000])
def test_conditions_that_nest_too_deeply_are_refused(table, depth):
    condition = col("id") == 1
    for i in range(depth):
        condition = (condition | (col("id") == i)) & (col("id") == 1)
    with pytest.raises(e.InvalidArgument, match="too deeply"):
        table.scan(filter=condition).count()


NANOS = np.datetime64("2020-01-01T00:00:00.000000001")
AS_NUMBER = int(NANOS.astype("int64"))


def test_a_moment_of_numpy_is_compared_as_a_moment_and_never_as_its_number(make):
    """A filter on nanoseconds once matched the BIGINT with as many."""
    t = make({"id": "BIGINT", "ts": "TIMESTAMP(9)", "d": "DATE"}, ["id"], bucket=1)
    t.append([{"id": AS_NUMBER, "ts": NANOS, "d": np.datetime64("2020-01-01")}])
    assert t.scan(filter=col("ts") == NANOS).count() == 1
    assert t.scan(filter=col("ts") > np.datetime64("2020-01-01T00:00:00.000000000")).count() == 1
    assert t.scan(filter=col("ts") > np.datetime64("2020-01-01T00:00:00", "ms")).count() == 1
    assert t.scan(filter=col("d") == np.datetime64("2020-01-01")).count() == 1
    assert t.scan(filter=col("id") == np.int64(AS_NUMBER)).count() == 1
    for value in (NANOS, np.timedelta64(AS_NUMBER, "ns"), np.datetime64(5, "ps"), np.longdouble(1), np.array([1])):
        with pytest.raises(e.InvalidArgument):
            t.scan(filter=col("id") == value).count()
        with pytest.raises(e.InvalidArgument):
            t.scan(filter=col("id").is_in([value])).count()
    with pytest.raises(e.InvalidArgument, match="is_null"):
        col("ts") == np.datetime64("NaT")  # noqa: B015  # comparing is what is tried


@pytest.mark.parametrize("single", ["gq", b"gq", bytearray(b"gq")])
def test_one_text_is_no_list_of_values(single):
    """Its letters were the values."""
    with pytest.raises(e.InvalidArgument, match="list of values"):
        col("v").is_in(single)


def test_a_moment_of_numpy_names_no_partition_of_numbers(make):
    """`truncate` once emptied the partition whose number was that of the nanoseconds."""
    t = make({"dt": "BIGINT", "id": "INT"}, partition_by=["dt"])
    t.append([{"dt": AS_NUMBER, "id": 1}])
    for value in (NANOS, np.timedelta64(AS_NUMBER, "ns")):
        with pytest.raises(e.InvalidArgument):
            t.truncate({"dt": value})
    assert t.scan().count() == 1
    t.truncate({"dt": np.int64(AS_NUMBER)})
    assert t.scan().count() == 0


@pytest.mark.parametrize(("precision", "unit", "smaller"), [(9, "ns", 808), (6, "us", 1)])
def test_conditions_hold_to_the_lowest_moment_that_64_bits_have(make, precision, unit, smaller):
    """Floored milliseconds of the lowest moments leave 64 bits, their sum with the rest does not: such a moment was below all
    others, equal to none, and a bound in it called damage by fsck. `pd.Timestamp.min` is one."""
    lowest = -(2**63) + smaller
    t = make({"k": "INT", "v": f"TIMESTAMP({precision})"}, bucket=-1)
    moments = pa.array([lowest, lowest + 1, lowest + 900_000, 0], pa.timestamp(unit))
    t.append(pa.table({"k": pa.array(range(4), pa.int32()), "v": moments}))
    if unit == "ns":
        least = pd.Timestamp(lowest, unit="ns")
        assert t.scan(["k"], col("v") == least).to_arrow()["k"].to_pylist() == [0]
        assert t.scan(["k"], col("v") > least).to_arrow()["k"].to_pylist() == [1, 2, 3]
        assert t.scan(["k"], col("v") <= least).to_arrow()["k"].to_pylist() == [0]
        t.delete(col("v") > least)
        assert t.scan(["k"]).to_arrow()["k"].to_pylist() == [0]
    assert t.maintenance.fsck(deep=True).ok
