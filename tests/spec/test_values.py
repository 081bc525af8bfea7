"""What goes in comes out, or is refused by column, row and value: one rule for every container, at any depth."""

import datetime as dt
import decimal
import math
import struct

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import siltstone as st
from hypothesis import given, settings
from hypothesis import strategies as s
from siltstone import errors as e

D = decimal.Decimal
NOON = dt.datetime(2024, 5, 2, 12, 34, 56, 789012)
MILLIS = NOON.replace(microsecond=789000)
EAST = dt.timezone(dt.timedelta(hours=5))
NANOS = pd.Timestamp("2024-01-01 00:00:00.123456789")

STORED = [
    ("BOOLEAN", True, True),
    ("BOOLEAN", np.bool_(False), False),
    ("TINYINT", -128, -128),
    ("INT", np.int64(7), 7),
    ("INT", 5.0, 5),
    ("INT", D("5.00"), 5),
    ("TINYINT", D("-1.28E+2"), -128),
    ("BIGINT", D("9223372036854775807"), 2**63 - 1),
    ("BIGINT", D("-9223372036854775808.000"), -(2**63)),
    ("BIGINT", D("-0E+999999"), 0),
    ("BIGINT", D("1E-5") * 10**5, 1),
    ("BIGINT", -(2**63), -(2**63)),
    ("FLOAT", 0.1, struct.unpack("<f", struct.pack("<f", 0.1))[0]),
    ("FLOAT", math.inf, math.inf),
    ("FLOAT", 2**24, 2.0**24),
    ("DOUBLE", 1e300, 1e300),
    ("DOUBLE", np.float32(1.5), 1.5),
    ("DOUBLE", 3, 3.0),
    ("DECIMAL(5,2)", D("-999.99"), D("-999.99")),
    ("DECIMAL(5,2)", D("1.500"), D("1.50")),
    ("DECIMAL(5,2)", D("1E+2"), D("100.00")),
    ("DECIMAL(5,2)", 7, D("7.00")),
    ("DECIMAL(38,38)", D("0E-100"), D(0)),
    ("DECIMAL(38,38)", D("0E+999999999999"), D(0)),
    ("STRING", "żółw\0", "żółw\0"),
    ("BYTES", bytearray(b"\xff"), b"\xff"),
    ("DATE", dt.date(1969, 12, 31), dt.date(1969, 12, 31)),
    ("TIME(3)", MILLIS.time(), MILLIS.time()),
    ("TIMESTAMP(3)", MILLIS, MILLIS),
    ("TIMESTAMP(6)", NOON, NOON),
    ("TIMESTAMP(6)", dt.datetime.min, dt.datetime.min),
    ("TIMESTAMP(9)", NANOS, NANOS),
    ("TIMESTAMP_LTZ(6)", NOON.replace(tzinfo=EAST), (NOON - dt.timedelta(hours=5)).replace(tzinfo=dt.UTC)),
    ("TIMESTAMP_LTZ(6)", NOON, NOON.replace(tzinfo=dt.UTC)),
    ("ARRAY<INT>", (1, None), [1, None]),
    ("ARRAY<DOUBLE>", np.array([1.5]), [1.5]),
    ("MAP<STRING, DATE>", {"a": dt.date(2024, 1, 1)}, [("a", dt.date(2024, 1, 1))]),
    ("MAP<STRING, INT>", [("a", 1), ["b", None]], [("a", 1), ("b", None)]),
    ("MULTISET<STRING>", {"a": 2}, [("a", 2)]),
    ("ROW<a INT, b STRING>", {"b": "x"}, {"a": None, "b": "x"}),
    ("TIMESTAMP(3)", pd.NaT, None),
    ("INT", pd.NA, None),
]
REFUSED = [
    ("BOOLEAN", 1), ("BOOLEAN", "true"), ("TINYINT", 128), ("INT", 2**31), ("INT", True), ("INT", 1.5), ("INT", math.nan),
    ("INT", math.inf), ("INT", 1e300), ("INT", "5"), ("INT", D("5.5")), ("INT", D("NaN")), ("TINYINT", D(128)), ("BIGINT", D(2**63)), ("BIGINT", D("1E+999999")),
    ("BIGINT", D("1E-999999")), ("BIGINT", 2**63), ("FLOAT", 1e300), ("FLOAT", 1e-300),
    ("FLOAT", 2**24 + 1), ("FLOAT", True), ("DOUBLE", 2**53 + 1), ("DOUBLE", 10**400), ("DOUBLE", "1"), ("DOUBLE", D("1.5")),
    ("DECIMAL(5,2)", 1.5), ("DECIMAL(5,2)", "1.5"), ("DECIMAL(5,2)", True), ("DECIMAL(5,2)", D("1.555")),
    ("DECIMAL(5,2)", D(1000)), ("DECIMAL(5,2)", D("NaN")), ("DECIMAL(5,2)", D("Infinity")), ("DECIMAL(5,2)", D("1E+999999")),
    ("DECIMAL(5,2)", D("1E-999999")), ("STRING", 5), ("STRING", b"x"), ("STRING", "\ud800"), ("STRING", object),
    ("CHAR(2)", "abc"), ("BYTES", "x"), ("BYTES", 5), ("VARBINARY(1)", b"ab"), ("DATE", NOON), ("DATE", MILLIS.replace(hour=0)),
    ("DATE", 5), ("DATE", "2024-01-01"), ("TIME(3)", NOON.time()), ("TIME(3)", MILLIS.time().replace(tzinfo=dt.UTC)),
    ("TIME(3)", 5), ("TIMESTAMP(3)", NOON), ("TIMESTAMP(3)", MILLIS.replace(tzinfo=dt.UTC)), ("TIMESTAMP(3)", MILLIS.date()),
    ("TIMESTAMP(3)", 5), ("TIMESTAMP(3)", "2024-01-01 00:00:00"), ("TIMESTAMP(6)", NANOS), ("TIMESTAMP(9)", dt.datetime(3000, 1, 1)),
    ("TIMESTAMP(0)", MILLIS), ("TIMESTAMP_LTZ(3)", NOON.replace(tzinfo=EAST)), ("TIMESTAMP_LTZ(3)", 5), ("ARRAY<INT>", {1}),
    ("ARRAY<INT>", "ab"), ("ARRAY<INT>", 1), ("ARRAY<DATE>", [None, NOON]), ("MAP<STRING, TIMESTAMP(3)>", {"a": NOON}),
    ("MAP<STRING, TIMESTAMP(3)>", [("a", NOON)]), ("MAP<DATE, INT>", {NOON: 1}), ("MAP<STRING, INT>", {None: 1}),
    ("MAP<STRING, INT>", ["ab"]), ("MAP<STRING, INT>", 1), ("ROW<a FLOAT>", {"a": 1e300}), ("ROW<a INT>", {"b": 1}), ("ROW<a INT>", (1,)),
    ("ARRAY<ROW<d ARRAY<DATE>>>", [{"d": [NOON]}]),
]  # fmt: skip


def read(t):
    return t.scan().to_arrow()["v"].to_pylist()


def same(a, b):
    return a == b or (isinstance(a, float) and math.isnan(a) and math.isnan(b))


@pytest.mark.parametrize(("kind", "value", "stored"), STORED, ids=str)
def test_a_value_that_fits_comes_out_as_it_went_in(make, kind, value, stored):
    t = make({"v": kind})
    t.append([{"v": value}, {"v": None}])
    assert read(t) == [stored, None]


@pytest.mark.parametrize(("kind", "value"), REFUSED, ids=str)
def test_a_value_that_does_not_fit_is_refused_with_its_column_and_row(make, kind, value):
    t = make({"v": kind})
    with pytest.raises((e.SchemaMismatch, e.LengthExceeded)) as raised:
        t.append([{"v": None}, {"v": value}])
    assert "row 1" in str(raised.value)
    assert "'v" in str(raised.value)
    assert raised.value.table == t.name
    assert t.scan().count() == 0


HUGE = 10**5000
UNWRITABLE = {
    "an integer": ("BIGINT", HUGE, e.SchemaMismatch),
    "a small integer": ("TINYINT", -HUGE, e.SchemaMismatch),
    "a number": ("DOUBLE", HUGE, e.SchemaMismatch),
    "a short number": ("FLOAT", -HUGE, e.SchemaMismatch),
    "a decimal": ("DECIMAL(38,0)", HUGE, e.LengthExceeded),
    "a decimal with a fraction": ("DECIMAL(5,2)", -HUGE, e.LengthExceeded),
    "a text": ("STRING", HUGE, e.SchemaMismatch),
    "a flag": ("BOOLEAN", HUGE, e.SchemaMismatch),
    "bytes": ("BYTES", HUGE, e.SchemaMismatch),
    "a date": ("DATE", HUGE, e.SchemaMismatch),
    "a time": ("TIME(3)", HUGE, e.SchemaMismatch),
    "a timestamp": ("TIMESTAMP(6)", HUGE, e.SchemaMismatch),
    "a list": ("ARRAY<INT>", HUGE, e.SchemaMismatch),
    "an element": ("ARRAY<BIGINT>", [1, HUGE], e.SchemaMismatch),
    "elements that are a set": ("ARRAY<INT>", {HUGE}, e.SchemaMismatch),
    "a key": ("MAP<INT, INT>", {HUGE: 1}, e.SchemaMismatch),
    "a value": ("MAP<STRING, DECIMAL(9,3)>", {"a": HUGE}, e.LengthExceeded),
    "a pair": ("MAP<STRING, INT>", [(HUGE,)], e.SchemaMismatch),
    "a field": ("ROW<a INT>", {"a": HUGE}, e.SchemaMismatch),
    "a field's name": ("ROW<a INT>", {HUGE: 1}, e.SchemaMismatch),
    "a text that is a list": ("STRING", [HUGE], e.SchemaMismatch),
}


@pytest.mark.parametrize(("kind", "value", "error"), UNWRITABLE.values(), ids=UNWRITABLE)
def test_an_integer_that_python_does_not_write_is_refused_as_others_are(make, kind, value, error):
    """Python writes no integer of more than 4300 digits: the message about it was a bare ValueError."""
    t = make({"v": kind})
    for rows in ([{"v": None}, {"v": value}], pd.DataFrame({"v": pd.Series([None, value], dtype=object)})):
        with pytest.raises(error, match="integer of 16610 bits.* of row 1 does not fit column 'v") as raised:
            t.append(rows)
        assert len(str(raised.value)) < 400
    assert t.scan().count() == 0


DIGITS = "1" * 5000


@pytest.mark.parametrize("kind", ["DECIMAL(5,2)", "DECIMAL(38,38)", "DECIMAL(38,0)"])
@pytest.mark.parametrize("digits", [DIGITS, "-" + DIGITS, f"0.{DIGITS}", "1." + "0" * 5000 + "1"])
def test_a_decimal_of_more_digits_than_python_reads_is_refused_as_others_are(make, kind, digits):
    """Its digits were made an integer, which Python refuses beyond 4300 of them: a bare ValueError."""
    t = make({"v": kind})
    with pytest.raises(e.LengthExceeded, match="of row 0 does not fit column 'v'") as raised:
        t.append([{"v": D(digits)}])
    assert len(str(raised.value)) < 400


def test_zeros_behind_a_decimal_do_not_count_however_many_there_are(make):
    t = make({"v": "DECIMAL(5,2)"})
    t.append([{"v": D("-1.5" + "0" * 5000)}, {"v": D("0." + "0" * 5000)}])
    assert read(t) == [D("-1.50"), D("0.00")]


ARROW_REFUSED = [
    ("TINYINT", pa.array([128])),
    ("INT", pa.array([1.5])),
    ("INT", pa.array([math.nan])),
    ("INT", pa.array([3e9])),
    ("BIGINT", pa.array([2**63], pa.uint64())),
    ("BIGINT", pa.array([2.0**63])),
    ("INT", pa.array(["5"])),
    ("INT", pa.array([True])),
    ("FLOAT", pa.array([1e300])),
    ("FLOAT", pa.array([1e-300])),
    ("DOUBLE", pa.array([2**53 + 1])),
    ("DECIMAL(5,2)", pa.array([D("1.555")])),
    ("DECIMAL(5,2)", pa.array([1.5])),
    ("INT", pa.array([D("1.5")])),
    ("TINYINT", pa.array([D("128.0")])),
    ("BIGINT", pa.array([D(2**63)])),
    ("BIGINT", pa.array([D("1.5")], pa.decimal256(76, 40))),
    ("DOUBLE", pa.array([D("1.5")])),
    ("FLOAT", pa.array([D(1)])),
    ("STRING", pa.array([b"x"])),
    ("DATE", pa.array([NOON])),
    ("DATE", pa.array([NOON], pa.date64()).cast(pa.int64()).view(pa.date64())),
    ("TIME(3)", pa.array([NOON.time()])),
    ("TIMESTAMP(3)", pa.array([NOON])),
    ("TIMESTAMP(6)", pa.array([NOON], pa.timestamp("us", "UTC"))),
    ("TIMESTAMP(9)", pa.array([dt.datetime(3000, 1, 1)])),
    ("TIMESTAMP_LTZ(3)", pa.array([NOON], pa.timestamp("us", "UTC"))),
]


@pytest.mark.parametrize(("kind", "value"), ARROW_REFUSED, ids=lambda x: str(getattr(x, "type", x)))
def test_arrow_follows_the_same_rule_at_any_depth(make, kind, value):
    if kind == "DATE" and pa.types.is_date64(value.type):
        value = pa.array([1], pa.int64()).view(pa.date64())
    for wrapped_kind, wrapped in (
        (kind, value),
        (f"ARRAY<{kind}>", pa.ListArray.from_arrays([0, 1], value)),
        (f"ROW<a {kind}>", pa.StructArray.from_arrays([value], ["a"])),
        (f"MAP<STRING, {kind}>", pa.MapArray.from_arrays([0, 1], pa.array(["k"]), value)),
    ):
        t = make({"v": wrapped_kind})
        with pytest.raises((e.SchemaMismatch, e.LengthExceeded), match=r"'v[.'a-z]*"):
            t.append(pa.table({"v": wrapped}))
        assert t.scan().count() == 0


def test_integers_may_come_as_floating_point_numbers(make):
    t = make({"v": "BIGINT"})
    t.append(pa.table({"v": [2.0**53, None, -3.0]}))
    assert read(t) == [2**53, None, -3]


@pytest.mark.parametrize(
    "kind",
    [pa.decimal32(5, 2), pa.decimal64(10, 3), pa.decimal128(30, 5), pa.decimal256(60, 20), pa.decimal128(5, -2)],
    ids=str,
)
def test_integers_may_come_as_decimals(make, kind):
    """Arrow and dicts were refused, although the docstring says that a column takes a number that it holds."""
    t = make({"v": "BIGINT", "a": "ARRAY<INT>", "r": "ROW<x SMALLINT>"})
    numbers = pa.array([D(100), None, D(-300)], kind)
    lists = pa.ListArray.from_arrays([0, 2, 3, 3], numbers)
    t.append(pa.table({"v": numbers, "a": lists, "r": pa.StructArray.from_arrays([numbers], ["x"])}))
    t.append([{"v": D(100), "a": [D("-300.00"), None], "r": {"x": D("1E+2")}}])
    found = t.scan().to_arrow().to_pylist()
    assert [row["v"] for row in found] == [100, None, -300, 100]
    assert [row["a"] for row in found] == [[100, None], [-300], [], [-300, None]]
    assert [row["r"]["x"] for row in found] == [100, None, -300, 100]


def test_an_error_in_a_nested_value_counts_the_rows_of_the_whole_input(make):
    t = make({"v": "ARRAY<ROW<a ARRAY<FLOAT>>>"})
    rows = [[{"a": [1.0, 2.0]}, {"a": None}], None, [], [{"a": []}, {"a": [0.5, 1e300]}]]
    kind = pa.list_(pa.struct({"a": pa.list_(pa.float64())}))
    batches = [pa.record_batch({"v": pa.array([None] * 10, kind)}), pa.record_batch({"v": pa.array(rows, kind)})]
    with pytest.raises(e.SchemaMismatch, match=r"1e\+?300 of row 13 does not fit column 'v.element.a.element'"):
        t.append(pa.Table.from_batches(batches))
    with pytest.raises(e.SchemaMismatch, match=r"1e\+?300 of row 3 does not fit column 'v.element.a.element'"):
        t.append([{"v": row} for row in rows])


anything = s.one_of(
    s.none(), s.booleans(), s.integers(-(2**65), 2**65), s.floats(), s.decimals(), s.text(max_size=4), s.binary(max_size=4),
    s.dates(), s.times(), s.datetimes(), s.datetimes(timezones=s.sampled_from([dt.UTC, EAST])), s.just(NANOS), s.timedeltas(),
    s.text(s.characters(categories=["Cs"]), max_size=2), s.complex_numbers(),
)  # fmt: skip
KINDS = [
    "BOOLEAN", "TINYINT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,3)", "DECIMAL(38,0)", "CHAR(2)", "STRING", "BYTES", "DATE",
    "TIME(3)", "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(6)",
]  # fmt: skip


def out(value, kind):
    """What comes out of a column for a value that it took."""
    if isinstance(value, dt.datetime) and kind.startswith("TIMESTAMP_LTZ"):
        return value.astimezone(dt.UTC) if value.tzinfo else value.replace(tzinfo=dt.UTC)
    if kind == "FLOAT" and value is not None:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    return value


def inside(form, rows):
    """The values again: by themselves, from a list, from a map, from rows."""
    if form == "m":
        return [value for _, value in rows[0]]
    return {"v": rows, "l": rows[0], "r": [r and r["a"] for r in rows if form == "r"]}[form]


@pytest.fixture(scope="module")
def nested(tmp_path_factory):
    """A table with every kind by itself, in a list, a map and a row."""
    cat = st.connect(tmp_path_factory.mktemp("lake"))
    cat.create_database("db")
    columns = {}
    for i, kind in enumerate(KINDS):
        columns |= {
            f"v{i}": kind,
            f"l{i}": f"ARRAY<{kind}>",
            f"m{i}": f"MAP<STRING, {kind}>",
            f"r{i}": f"ROW<a {kind}>",
        }
    return cat.create_table("db.t", columns)


@given(s.sampled_from(range(len(KINDS))), s.lists(anything, min_size=1, max_size=3))
@settings(max_examples=60)
def test_whatever_goes_in_comes_out_or_is_refused(nested, at, values):
    nested.truncate()
    forms = {
        f"v{at}": values, f"l{at}": [values], f"m{at}": [{str(i): v for i, v in enumerate(values)}],
        f"r{at}": [{"a": v} for v in values],
    }  # fmt: skip
    taken = []
    for name, listed in forms.items():
        try:
            nested.append([{name: v} for v in listed])
        except (e.SchemaMismatch, e.LengthExceeded):
            taken.append(False)
            continue
        taken.append(True)
        rows = nested.scan([name]).to_arrow()[name].to_pylist()
        got = inside(name[0], rows)
        assert all(same(out(a, KINDS[at]), b) for a, b in zip(values, got, strict=True)), (KINDS[at], values, got)
        nested.truncate()
    assert len(set(taken)) == 1, f"{KINDS[at]}: {values} is taken in one place and refused in another: {taken}"


@pytest.mark.parametrize("kind", ["{}", "ARRAY<{}>", "ROW<a {}>"])
@pytest.mark.parametrize(("of", "number"), [("DATE", -(2**30)), ("TIMESTAMP(6)", -(2**62))])
def test_years_that_python_does_not_have_are_refused_by_their_column(make, of, number, kind):
    """An OverflowError said neither the column nor what to do."""
    t = make({"id": "INT", "v": kind.format(of)}, bucket=-1)
    values = pa.array([number], pa.int32() if of == "DATE" else pa.int64())
    values = values.cast(pa.date32() if of == "DATE" else pa.timestamp("us"))
    if kind.startswith("ARRAY"):
        values = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), values)
    elif kind.startswith("ROW"):
        values = pa.StructArray.from_arrays([values], ["a"])
    t.append(pa.table({"id": pa.array([1], pa.int32()), "v": values}))
    for read in (t.scan().to_pylist, lambda: list(t.scan())):
        with pytest.raises(e.SchemaMismatch, match="column 'v' has a value that no object of Python can be") as caught:
            read()
        assert caught.value.context["column"] == "v"
    assert t.scan().to_arrow().column("v").combine_chunks().equals(values.cast(t.schema.field("v").type))
