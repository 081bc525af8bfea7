"""Times of Parquet's old type INT96, which Spark, Hive and Impala write: each is stored as it is, or its file is refused."""

import datetime as dt
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import siltstone as st
from siltstone import errors as e
from siltstone._files import file_schema
from siltstone._int96 import int96_unit

US, NS = pa.timestamp("us"), pa.timestamp("ns")
#: What Spark and Impala write as "never" and "always", and a time between.
WIDE = [dt.datetime(9999, 12, 31, 1, 2, 3, 456789), dt.datetime(1, 1, 1), dt.datetime(1000, 1, 1), None]
#: The first and the last nanoseconds of Arrow, one before 1970, and one of a time of today.
FINE = [-(2**63) + 1, 2**63 - 1, -1, 1577836800000000001, None]


def written(folder, columns, name="x.parquet", **how):
    pq.write_table(pa.table(columns), folder / name, use_deprecated_int96_timestamps=True, **how)
    return folder / name


def numbers(t, column):
    return t.scan().to_arrow()[column].cast(pa.int64()).to_pylist()


@pytest.mark.parametrize("column", ["TIMESTAMP(6)", "TIMESTAMP_LTZ(6)"])
def test_years_that_nanoseconds_do_not_have_are_stored_as_they_are(make, tmp_path, column):
    """9999-12-31 once was stored as 1816-03-29, without a word; here it was refused as if it were that."""
    kind = pa.timestamp("us", "UTC") if "LTZ" in column else US
    times = pa.array(WIDE, US).cast(kind)
    t = make({"a": column})
    assert t.append(written(tmp_path, {"a": times})).rows == 4
    assert numbers(t, "a") == times.cast(pa.int64()).to_pylist()


def test_years_that_a_column_of_nanoseconds_does_not_have_are_refused(make, tmp_path):
    """These went into TIMESTAMP(9) as other times."""
    t = make({"a": "TIMESTAMP(9)"})
    with pytest.raises(e.SchemaError):
        t.append(written(tmp_path, {"a": pa.array(WIDE, US)}))
    assert t.scan().count() == 0


def test_nanoseconds_are_stored_as_they_are(make, tmp_path):
    """All that a column of nanoseconds can hold, to its first and its last one."""
    file = written(tmp_path, {"a": pa.array(FINE, NS)})
    t = make({"a": "TIMESTAMP(9)"})
    t.append(file)
    assert numbers(t, "a") == FINE
    with pytest.raises(e.SchemaMismatch, match="'a'"):
        make({"a": "TIMESTAMP(6)"}).append(file)


@pytest.mark.parametrize("same_group", [True, False])
def test_a_file_with_wide_years_and_nanoseconds_is_refused(make, tmp_path, same_group):
    """No type of Arrow has both; the message says so, and names the columns."""
    columns = {"a": pa.array([WIDE[0], None], US), "b": pa.array([None, 1], NS)}
    file = written(tmp_path, columns, row_group_size=2 if same_group else 1)
    t = make({"a": "TIMESTAMP(6)", "b": "TIMESTAMP(9)"})
    with pytest.raises(e.SchemaMismatch, match="no type has both") as caught:
        t.append(file)
    assert caught.value.context["columns"] == "a, b"
    assert t.scan().count() == 0


def nested(time, kind):
    """Columns with a time at each place where one can be."""
    row = pa.struct([("x", kind), ("n", pa.int32())])
    return {
        "l": pa.array([[time, None], None, []], pa.list_(kind)),
        "r": pa.array([{"x": time, "n": 1}, None, {"x": None, "n": 2}], row),
        "m": pa.array([[("k", time)], None, []], pa.map_(pa.string(), kind)),
        "k": pa.array([[(time, 1)], None, []], pa.map_(kind, pa.int32())),
        "d": pa.array([[[{"x": time, "n": 1}]], None, []], pa.list_(pa.list_(row))),
    }


@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("column", ["l", "r", "m", "k", "d"])
def test_times_in_lists_rows_and_maps_are_stored_as_they_are(make, tmp_path, column, group):
    """At any depth, with nulls, in one row group and in several."""
    types = {
        "l": "ARRAY<TIMESTAMP({p})>",
        "r": "ROW<x TIMESTAMP({p}), n INT>",
        "m": "MAP<STRING, TIMESTAMP({p})>",
        "k": "MAP<TIMESTAMP({p}), INT>",
        "d": "ARRAY<ARRAY<ROW<x TIMESTAMP({p}), n INT>>>",
    }
    for precision, kind, time in ((6, US, WIDE[0]), (9, NS, pa.scalar(1577836800000000001, NS))):
        values = nested(time, kind)[column]
        file = written(tmp_path, {"a": values}, f"{precision}.parquet", row_group_size=group)
        t = make({"a": types[column].format(p=precision)})
        t.append(file)
        stored = t.scan().to_arrow()["a"].combine_chunks()
        assert str(stored.to_pylist()) == str(values.to_pylist())
    with pytest.raises(e.SchemaError):
        make({"a": types[column].format(p=9)}).append(tmp_path / "6.parquet")


def test_one_wide_year_in_the_last_row_group_counts(make, tmp_path):
    """The unit is that of all times of the file, not of the first ones."""
    times = pa.array([dt.datetime(2020, 1, 1)] * 9 + [WIDE[0]], US)
    t = make({"a": "TIMESTAMP(6)"})
    t.append(written(tmp_path, {"a": times}, row_group_size=2))
    assert numbers(t, "a") == times.cast(pa.int64()).to_pylist()


def test_several_files_have_a_unit_each(make, tmp_path):
    """Each file is read by itself: wide years in one, whole microseconds in the other."""
    written(tmp_path, {"a": pa.array(WIDE[:2], US)}, "x.parquet")
    written(tmp_path, {"a": pa.array([5000, None], NS)}, "y.parquet")
    t = make({"a": "TIMESTAMP(6)"})
    t.append(tmp_path / "*.parquet")
    assert sorted(numbers(t, "a"), key=str) == sorted(
        [*pa.array(WIDE[:2], US).cast(pa.int64()).to_pylist(), 5, None], key=str
    )


def test_the_columns_of_such_a_file_have_its_unit(tmp_path):
    """What makes a table of a file's columns asks by the same reading."""
    assert file_schema(str(written(tmp_path, {"a": pa.array(WIDE, US)}))).field("a").type == US
    assert file_schema(str(written(tmp_path, {"a": pa.array(FINE, NS)}))).field("a").type == NS


def test_a_file_of_nulls_and_one_of_no_rows_have_a_unit(make, tmp_path):
    """No time is a time in every unit."""
    t = make({"a": "TIMESTAMP(9)"})
    t.append(written(tmp_path, {"a": pa.array([None, None], NS)}))
    assert t.append(written(tmp_path, {"a": pa.array([], NS)}, "y.parquet")).rows == 0
    assert numbers(t, "a") == [None, None]


def test_times_beyond_microseconds_are_refused(make, tmp_path):
    """The type has room for five million years: such a time is none that wraps around into one of today."""
    how = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    file = written(tmp_path, {"a": pa.array([dt.datetime(1970, 1, 1)], US)}, **how)
    plain = file.read_bytes()
    epoch, far = (struct.pack("<qi", 0, day) for day in (2_440_588, 2**31 - 1))
    assert plain.count(epoch) == 1
    file.write_bytes(plain.replace(epoch, far))
    for column in ("TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)"):
        with pytest.raises(e.SchemaMismatch, match="INT96"):
            make({"a": column}).append(file)


def test_files_without_the_type_are_read_as_before(make, tmp_path):
    """Times of the types of today have a unit in the file; a name with a dot is no place in a row."""
    times = {"a": pa.array(WIDE, US), "b": pa.array(FINE[:4], NS)}
    pq.write_table(pa.table(times), tmp_path / "x.parquet")
    assert int96_unit(str(tmp_path / "x.parquet")) is None
    t = make({"a": "TIMESTAMP(6)", "b": "TIMESTAMP(9)"})
    t.append(tmp_path / "x.parquet")
    assert numbers(t, "b") == FINE[:4]
    dotted = {"a.b": pa.array([WIDE[0]], US), "a": pa.array([{"b": 1}])}
    assert int96_unit(str(written(tmp_path, dotted, "y.parquet"))) == "us"


def test_such_files_are_counted_and_looked_at_like_others(tmp_path):
    """Rows that are known beforehand, and the columns of a file, go by the same reading."""
    file = written(tmp_path, {"a": pa.array(WIDE, US), "n": [1, 2, 3, 4]})
    cat = st.connect(tmp_path / "lake")
    cat.create_database("d")
    t = cat.create_table("d.t", {"a": "TIMESTAMP(6)", "n": "BIGINT"}, primary_key=["n"])
    assert t.upsert(str(file)).rows == 4
    assert numbers(t, "a") == pa.array(WIDE, US).cast(pa.int64()).to_pylist()
