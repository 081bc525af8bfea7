"""What engines compare by rules of their own is left out of the conditions that they push into a scan.

A literal of another type than its column was compared as it is, and the rows that only the engine finds were lost.
"""

import datetime as dt
import decimal
import json
import struct

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
import siltstone as st
from siltstone import _pushed
from siltstone._arrow_schema import formats_of
from siltstone._dataset import columns_needed
from siltstone._literals import literal
from siltstone._substrait import condition_of

D = decimal.Decimal
F = pc.field
NOON, UTC = dt.datetime(2024, 1, 1, 12), dt.UTC
DAY = dt.date(2024, 1, 1)
SCHEMA = {
    "id": "INT", "l": "BIGINT", "f": "FLOAT", "x": "DOUBLE", "p": "DECIMAL(5,2)", "q": "DECIMAL(38,0)", "s": "STRING", "b": "BYTES",
    "fixed": "BINARY(2)", "ok": "BOOLEAN", "d": "DATE", "at": "TIME(3)", "t0": "TIMESTAMP(0)", "t3": "TIMESTAMP(3)",
    "t6": "TIMESTAMP(6)", "t9": "TIMESTAMP(9)", "z3": "TIMESTAMP_LTZ(3)", "v": "VARIANT", "list": "ARRAY<INT>",
}  # fmt: skip
ROWS = [
    {"id": 1, "l": 2**53 + 1, "f": 0.5, "x": 2.0**53, "p": D("0.10"), "q": D(2**63), "s": "10", "b": b"a", "fixed": b"ab", "ok": True,
     "d": DAY, "at": dt.time(12), "t0": NOON, "t3": NOON, "t6": NOON, "t9": NOON, "z3": NOON.replace(tzinfo=UTC), "v": "1", "list": [1]},
    {"id": 2, "l": 5, "f": 0.1, "x": 0.1, "p": D("1.50"), "q": D(5), "s": "9", "b": b"", "fixed": b"cd", "ok": False,
     "d": dt.date(1970, 1, 1), "at": dt.time(0), "t0": dt.datetime(1969, 1, 1), "t3": dt.datetime(1969, 1, 1),
     "t6": dt.datetime(1, 1, 1), "t9": dt.datetime(1969, 1, 1), "z3": dt.datetime(1969, 1, 1, tzinfo=UTC), "v": "2", "list": []},
    dict.fromkeys(SCHEMA),
]  # fmt: skip


@pytest.fixture
def t(make):
    t = make(SCHEMA)
    t.append(ROWS)
    return t


#: Values of a column's own kind...
ALIKE = [
    ("id", 5), ("id", 2**40), ("l", 2**60), ("f", 0.5), ("f", float("inf")), ("x", 0.1), ("f", 1 << 24), ("x", -(1 << 53)),
    ("p", D("0.1")), ("p", D("999.99")), ("p", 999), ("q", D(10**38 - 1)), ("s", "a"), ("b", b"a"), ("fixed", b"abc"), ("ok", True),
    ("d", DAY), ("at", dt.time(1, 2, 3, 4000)), ("t0", NOON), ("t3", NOON.replace(microsecond=5000)),
    ("t6", NOON.replace(microsecond=5)), ("t9", NOON.replace(microsecond=5)), ("z3", NOON.replace(tzinfo=UTC)),
]  # fmt: skip
#: ...and others.
OTHERS = [
    ("id", 5.0), ("id", -0.0), ("id", D(5)), ("id", True), ("id", "5"), ("id", 2**63), ("id", DAY), ("id", None), ("l", 2.0**53),
    ("f", 0.1), ("f", 1e300), ("f", (1 << 24) + 1), ("x", (1 << 53) + 1), ("x", D("0.5")), ("f", float("nan")),
    ("p", D("0.101")), ("p", D(1000)), ("p", 1000), ("p", 0.5), ("p", "9"), ("q", 5), ("q", 2.0**63), ("q", D("0.5")),
    ("s", 9), ("s", b"9"), ("s", DAY), ("b", "a"), ("fixed", "ab"), ("ok", 1), ("d", NOON), ("d", "2024-01-01"),
    ("at", dt.time(1, 2, 3, 4)), ("at", NOON), ("t0", NOON.replace(microsecond=1000)), ("t3", NOON.replace(microsecond=1)),
    ("t6", DAY), ("t6", 0), ("t6", "2024-01-01"), ("t6", NOON.replace(tzinfo=UTC)), ("z3", NOON), ("z3", DAY),
    ("v", 1), ("list", 1), ("nobody", 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("column", "value", "alike"), [*((*pair, True) for pair in ALIKE), *((*pair, False) for pair in OTHERS)]
)
def test_only_values_of_the_own_kind_are_compared(t, column, value, alike):
    schema = pa.schema(t.scan())
    leaf = {"op": "lt", "column": column, "value": literal(value)}
    listed = {"op": "in", "column": column, "values": [literal(value)]}
    unknown = {"op": "is_null", "column": column}
    for part in (leaf, listed):
        assert _pushed.of_same_kinds(part, schema) == (part if alike else None)
        both = _pushed.of_same_kinds({"op": "and", "args": [part, unknown]}, schema)
        assert both == {"op": "and", "args": [part, unknown] if alike else [unknown]}
        below = {"op": "not", "args": [{"op": "and", "args": [part, unknown]}]}
        assert _pushed.of_same_kinds(below, schema) == (below if alike else None)
    assert formats_of(schema) == formats_of(t.scan()), "with pyarrow and without it"


def test_a_column_by_its_place_is_that_of_the_dataset_and_not_that_of_the_read(make):
    """Only the columns that had names were read, and the place was one among these: other rows, and other values."""
    t = make({"a": "INT", "b": "INT", "c": "ROW<x INT, y INT>"})
    t.append([{"a": 1, "b": 10, "c": {"x": 5, "y": 6}}, {"a": 20, "b": 2, "c": {"x": 6, "y": 5}}])
    data, whole = t.to_dataset(), ds.dataset(t.to_arrow())
    for columns, condition in (
        (["b"], F(0) > 5), (["c"], (F(0) > 5) & (F("b") > 0)), ({"z": F(1), "c": F("c"), "a": F("a")}, None), ({"z": F(1)}, None),
        (["a"], F((2, 1)) > 5), (["a"], F("c", "y") > 5), ({"z": F((2, 0)) + F("a")}, F("b") == 2), (None, F(1) > 5), (["b"], F("a") > 5),
    ):  # fmt: skip
        expected = whole.to_table(columns=columns, filter=condition)
        assert data.to_table(columns=columns, filter=condition).equals(expected), (columns, condition)
    assert data.count_rows(filter=F(1) > 5) == data.count_rows(filter=(F((2, 1)) > 5) | (F("b") < 0)) == 1
    assert columns_needed(data.schema, ["b"], F("a") > 5) == ["a", "b"], "names alone are enough for names"
    assert columns_needed(data.schema, ["b"], F(0) > 5) is None


#: Lists, whose values pyarrow casts to the type of the column.
LISTS = [
    ("p", pa.array([0.1], pa.float32())), ("p", [0.101]), ("p", [D("0.10")]), ("p", pa.array([D("0.1")], pa.decimal128(3, 1))),
    ("x", [D(2**53 + 1)]), ("x", pa.array([0.5], pa.float32())), ("f", [0.1, 0.5]), ("q", [2.0**63]), ("q", [D(2**63)]), ("q", [5]),
    ("d", pa.array(["2024-01-01"])), ("d", pa.array([NOON])), ("d", [DAY]), ("t3", [DAY]), ("t3", [NOON]), ("t3", pa.array([NOON], pa.timestamp("us"))),
    ("t6", pa.array([1704110400000000])), ("id", [1.0]), ("id", [D(1)]), ("id", ["1"]), ("id", [1]), ("s", ["10"]), ("ok", [True]),
    ("t3", pa.array([2**63 - 1], pa.timestamp("ms"))), ("t3", pa.array([0] * 30 + [2**63 - 1] + [0] * 30, pa.timestamp("ms"))),
    ("t0", pa.array([2**63 - 1], pa.timestamp("s"))), ("l", pa.array([D(100)], pa.decimal128(5, -2))), ("p", pa.array([D(0)], pa.decimal128(5, -2))),
]  # fmt: skip


@pytest.mark.parametrize(("column", "values"), LISTS)
def test_a_list_of_another_type_is_cast_by_pyarrow_as_it_does(t, column, values):
    data, whole = t.to_dataset(), ds.dataset(t.to_arrow())
    for condition in (F(column).isin(values), ~F(column).isin(values), F(column).isin(values) | (F("id") == 2)):
        try:
            expected = whole.to_table(columns=["id"], filter=condition)
        except pa.ArrowException as error:
            with pytest.raises(type(error)):
                data.to_table(columns=["id"], filter=condition)
        else:
            assert data.to_table(columns=["id"], filter=condition).equals(expected), condition


#: Ends of times, of which some are beyond microseconds of 64 bits.
ENDS = [2**63 - 1, -(2**63), -(2**63) + 1, 2**62, 2**60, -(2**60), 2**53, 0]


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_time_beyond_microseconds_is_no_time_of_1969(t, unit, zone):
    """pyarrow writes them into its form of a condition as what is left of them: rows of all other times were lost."""
    data, whole = t.to_dataset(), ds.dataset(t.to_arrow())
    for column in ("z3",) if zone else ("t0", "t3", "t6", "t9"):
        for value in ENDS:
            time = pa.scalar(value, pa.timestamp(unit, zone))
            for condition in (
                F(column) < time,
                F(column) > time,
                ~(F(column) == time),
                (F(column) != time) & (F("id") > 0),
            ):
                try:
                    expected = whole.to_table(columns=["id"], filter=condition)
                except pa.ArrowException:
                    continue
                assert data.to_table(columns=["id"], filter=condition).equals(expected), condition


def test_a_value_that_python_does_not_have_is_no_error_of_python(t):
    """They ended with OverflowError and decimal.InvalidOperation."""
    data, whole = t.to_dataset(), ds.dataset(t.to_arrow())
    conditions = [F("d") == pa.scalar(day, pa.date32()) for day in (2**31 - 1, -(2**31), 2932897, 0)]
    conditions += [F("d").isin(pa.array([2**31 - 1], pa.date32())), F("t3") < pa.scalar(2**31 - 1, pa.date32())]
    conditions += [
        F("id").isin(pa.array([D(100)], pa.decimal128(5, -2))),
        F("q").isin(pa.array([D(100)], pa.decimal128(5, -2))),
    ]
    for condition in conditions:
        for asked in (condition, condition & (F("id") > 0), ~condition):
            assert data.to_table(columns=["id"], filter=asked).equals(whole.to_table(columns=["id"], filter=asked)), (
                asked
            )
    lazy, frame = st.scan_polars(t), t.to_polars()
    for column, far in (
        ("d", pl.lit(2**31 - 1, pl.Int32).cast(pl.Date)),
        ("t3", pl.lit(2**62).cast(pl.Datetime("ms"))),
    ):
        for predicate in (pl.col(column) < far, (pl.col(column) < far) & (pl.col("id") > 1)):
            assert lazy.filter(predicate).collect()["id"].equals(frame.filter(predicate)["id"]), predicate


def test_conditions_of_the_own_kind_are_pushed_all_the_same(t, monkeypatch):
    """They are what skips files: of each type one."""
    schema = pa.schema(t.scan())
    for column, value in ALIKE:
        kind = schema.field(column).type
        if column in {"at", "t9"} or value == 2**40 or (isinstance(value, int) and pa.types.is_decimal(kind)):
            continue  # pyarrow has no form of them, or one with a cast of the column
        typed = pa.scalar(float(value) if pa.types.is_floating(kind) else value, kind)
        found = _pushed.of_same_kinds(condition_of(F(column) <= typed, schema), schema)
        assert found is not None, (column, value)
        assert json.dumps(found).startswith('{"op": "le"'), found
    asked, narrowed = [], st.Scan.narrowed
    monkeypatch.setattr(st.Scan, "narrowed", lambda scan, **how: asked.append(how) or narrowed(scan, **how))
    for predicate in (pl.col("id") > 3, pl.col("x") < 0.5, pl.col("x") > 3, pl.col("s") == "a", pl.col("d") >= DAY, pl.col("t6") < NOON,
                      pl.col("z3") < NOON.replace(tzinfo=UTC), pl.col("p") > D("0.5"), pl.col("f") == 0.5, pl.col("id").is_in([1, 2])):  # fmt: skip
        asked.clear()
        st.scan_polars(t).filter(predicate).collect()
        assert asked[0]["condition"] is not None, predicate


def test_floats_are_those_of_the_column():
    assert [_pushed._is_short(number) for number in (0.5, 0.1, 1e300, struct.unpack("<f", b"\x01\0\0\0")[0], float("-inf"))] == [
        True, False, False, True, True,
    ]  # fmt: skip
