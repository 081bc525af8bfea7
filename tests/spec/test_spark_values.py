"""Values on their way to Spark and back, where Spark has other ones; no session is needed."""

import pyarrow as pa
import pytest
from siltstone import errors as e

pytest.importorskip("pyspark")

from pyspark.sql import datasource as spark_filters  # noqa: E402
from pyspark.sql import types as spark_types  # noqa: E402
from siltstone.spark.datasource import SiltstoneSource  # noqa: E402
from siltstone.spark.source_reader import PushdownReader  # noqa: E402
from siltstone.spark.types import arrow_for_spark, changed_to_instants  # noqa: E402
from siltstone.spark.values import from_spark, to_spark  # noqa: E402

NANOS = [-1, 0, None, -1000, -1001, 999, 1700000000123456789, -(2**63), 2**63 - 1]
NTZ = spark_types.TimestampNTZType()
MICROS = [-1, 0, None, -1, -2, 0, 1700000000123456, -9223372036854776, 9223372036854775]


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_nanoseconds_come_in_the_microsecond_that_they_lie_in(zone):
    nanos = pa.array(NANOS, pa.timestamp("ns", zone))
    micros = pa.array(MICROS, pa.timestamp("us", zone))
    offsets = pa.array([0, 2, None, 3, 9], pa.int32())

    def nested(values):
        rows = pa.StructArray.from_arrays([values, pa.array(range(9))], ["x", "n"])
        lists = pa.ListArray.from_arrays(offsets, rows)
        maps = pa.MapArray.from_arrays(offsets, pa.array(range(9)), values)
        keyed = pa.MapArray.from_arrays(
            offsets, pa.array(range(9)), lists.slice(0, 4).take([0, 1, 2, 3, 0, 1, 2, 3, 0])
        )
        return pa.record_batch([values[:4], lists, maps, keyed], names=["v", "l", "m", "k"])

    given, expected = nested(nanos), nested(micros)
    for part, wanted in ((given, expected), (given.slice(1, 2), expected.slice(1, 2)), (given[:0], expected[:0])):
        batch = to_spark(part, arrow_for_spark(given.schema))
        batch.validate(full=True)
        assert batch.equals(wanted)


MOST = 2**63 - 1


def around(values, kind):
    """A column, and the same values in a row, a list and a map."""
    column = pa.array(values, kind)
    offsets = pa.array(range(len(values) + 1), pa.int32())
    rows = pa.StructArray.from_arrays([column], ["x"])
    lists = pa.ListArray.from_arrays(offsets, rows)
    return [column, rows, lists, pa.MapArray.from_arrays(offsets, pa.array(range(len(values))), column)]


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize(("unit", "factor"), [("s", 1_000_000), ("ms", 1000)])
def test_times_that_microseconds_do_not_reach_are_an_error(unit, factor, zone):
    """They wrapped around: the year 296676 came as one before the year 0, as Java never gives it."""
    most = MOST // factor
    kind = pa.timestamp(unit, zone)
    for given in around([most, -most, None, 0], kind):
        batch = pa.record_batch([given], names=["c"])
        read = to_spark(batch, arrow_for_spark(batch.schema))
        read.validate(full=True)
        if given.type == kind:
            assert read.column(0).cast(pa.int64()).to_pylist() == [most * factor, -most * factor, None, 0]
    for far in (most + 1, -most - 1, MOST):
        for given in around([0, far], kind):
            batch = pa.record_batch([given], names=["c"])
            with pytest.raises(e.UnsupportedType, match=f"column 'c' has a time {far} {unit} from 1970"):
                to_spark(batch, arrow_for_spark(batch.schema))


def test_what_lies_below_a_null_row_is_no_time():
    far = pa.array([MOST, 1], pa.timestamp("ms"))
    rows = pa.StructArray.from_arrays([far], ["x"], mask=pa.array([True, False]))
    batch = pa.record_batch([rows], names=["r"])
    read = to_spark(batch, arrow_for_spark(batch.schema))
    assert read.column(0).is_null().to_pylist() == [True, False]
    assert read.column(0).flatten()[0].cast(pa.int64()).to_pylist() == [None, 1000]


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64()])
def test_milliseconds_of_a_day_are_times_at_any_depth(kind):
    """Times in rows, lists and maps were read as numbers, and refused when they were written back."""
    times = around([0, None, 86_399_999], pa.time32("ms"))
    table = pa.record_batch(times, names=["t", "r", "l", "m"])
    spark = pa.record_batch(around([0, None, 86_399_999], kind), names=["T", "r", "L", "m"])
    if kind == pa.int32():
        assert to_spark(table, arrow_for_spark(table.schema)).equals(spark.rename_columns(table.schema.names))
    assert from_spark(spark, table.schema).equals(table)
    for column, wanted in zip(around([1, 2**31], pa.int64()), table.schema.types, strict=True):
        with pytest.raises(e.SchemaMismatch, match="the value 2147483648 does not fit column 't'"):
            from_spark(pa.record_batch([column], names=["t"]), pa.schema([("t", wanted)]))


def test_filters_over_values_that_spark_has_not_stay_with_spark(make):
    t = make({"id": "INT", "ns": "TIMESTAMP(9)", "us": "TIMESTAMP(6)", "t": "TIME"})
    reader = PushdownReader(t, ["id", "ns", "us", "t"], {"filter": None})

    def pushed(*filters):
        assert list(reader.pushFilters(list(filters))) == list(filters)
        return None if reader.pushed is None else str(reader.pushed)

    for column in ("ns", "t"):
        compared = spark_filters.GreaterThanOrEqual((column,), 5)
        assert pushed(compared, spark_filters.Not(spark_filters.In((column,), (5,)))) is None
        assert pushed(compared, spark_filters.EqualTo(("id",), 1)) == pushed(spark_filters.EqualTo(("id",), 1))
        assert column in pushed(spark_filters.IsNotNull((column,)))
    assert "us" in pushed(spark_filters.EqualTo(("us",), 5))


def test_wall_clocks_for_instants_are_found_at_any_depth(make):
    row = spark_types.StructType().add("X", NTZ).add("y", NTZ).add("z", spark_types.IntegerType())
    given = spark_types.StructType().add("A", NTZ).add("b", NTZ)
    given = given.add("r", spark_types.ArrayType(spark_types.MapType(spark_types.StringType(), row)))
    t = make(
        {"a": "TIMESTAMP_LTZ(6)", "b": "TIMESTAMP(6)", "r": "ARRAY<MAP<STRING, ROW<x TIMESTAMP_LTZ(3), y TIMESTAMP>>>"}
    )
    found = changed_to_instants(given, t.schema)
    assert {name: kind.simpleString() for name, kind in found.items()} == {
        "A": "timestamp",
        "r": "array<map<string,struct<X:timestamp,y:timestamp_ntz,z:int>>>",
    }
    source = SiltstoneSource({"path": t.location})
    with pytest.raises(e.SchemaMismatch, match="'A' has times without zone") as caught:
        source.writer(given, overwrite=False)
    assert "cast it to timestamp" in caught.value.hint
    source.writer(spark_types.StructType().add("b", NTZ), overwrite=False)
