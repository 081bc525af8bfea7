"""New values of ``Table.update``: what the column does not hold exactly is refused as ``append`` refuses it."""

import datetime as dt
import re
import struct
from decimal import Decimal

import pytest
import siltstone as st
from siltstone import errors as e

TS = dt.datetime(2024, 1, 1)
UTC = TS.replace(tzinfo=dt.UTC)
INTEGERS = {"TINYINT": -(2**7), "SMALLINT": -(2**15), "INT": -(2**31), "BIGINT": -(2**63)}

REFUSED = [
    ("DECIMAL(5,2)", Decimal("1.00"), "1.005", e.LengthExceeded),
    ("DECIMAL(5,2)", Decimal("1.00"), "'1.005'", e.LengthExceeded),
    ("DECIMAL(5,2)", Decimal("1.00"), "1000", e.LengthExceeded),
    ("DECIMAL(5,2)", Decimal("1.01"), "v * 1.005", e.LengthExceeded),
    ("FLOAT", 1.0, "1e39", e.SchemaMismatch),
    ("FLOAT", 1.0, "'1e39'", e.SchemaMismatch),
    ("FLOAT", 1.0, "1e-60", e.SchemaMismatch),
    ("FLOAT", 1.0, "16777217", e.SchemaMismatch),
    ("FLOAT", 1.0, "v * 1e39", e.SchemaMismatch),
    ("FLOAT", 1e38, "v * v", e.InvalidArgument),
    ("DOUBLE", 1.0, "1e400", e.SchemaMismatch),
    ("DOUBLE", 1.0, "9007199254740993", e.SchemaMismatch),
    ("DOUBLE", 1.0, "v / 0", e.InvalidArgument),
    ("TIMESTAMP(0)", TS, "'2024-01-01 00:00:00.9'", e.SchemaMismatch),
    ("TIMESTAMP(3)", TS, "TIMESTAMP '2024-01-01 00:00:00.0009'", e.SchemaMismatch),
    ("TIMESTAMP(6)", TS, "'2024-01-01 00:00:00.0000009'", e.SchemaMismatch),
    ("TIMESTAMP_LTZ(3)", UTC, "'2024-01-01 00:00:00.0009'", e.SchemaMismatch),
    ("TIME(3)", dt.time(1), "'12:00:00.0009'", e.SchemaMismatch),
    ("DATE", TS.date(), "'2024-01-01 23:00:00'", e.SchemaMismatch),
    ("DATE", TS.date(), "5", e.SchemaMismatch),
    ("TIME(3)", dt.time(1), "5", e.SchemaMismatch),
    ("TIMESTAMP(3)", TS, "5", e.SchemaMismatch),
    ("TIMESTAMP_LTZ(3)", UTC, "5", e.SchemaMismatch),
    ("BIGINT", 2**53 + 1, "v * 1e0", e.SchemaMismatch),
    ("BIGINT", 2**53 + 1, "v + 0e0", e.SchemaMismatch),
    ("BIGINT", 2**53 + 1, "v / 1", e.SchemaMismatch),
    ("BIGINT", 2**53, "v + 1e0", e.SchemaMismatch),
    ("INT", 1, "1.5", e.SchemaMismatch),
    ("INT", 7, "v / 2", e.SchemaMismatch),
    ("INT", 7, "7 / 2", e.SchemaMismatch),
    ("INT", 7, "v * 0.5", e.SchemaMismatch),
    ("INT", 7, "coalesce(NULL, v / 2)", e.SchemaMismatch),
    ("INT", 7, "v / 0", e.InvalidArgument),
    ("INT", 7, "v % 0", e.InvalidArgument),
    ("INT", 7, "v div 0", e.InvalidArgument),
    ("INT", 7, "7 / 0", e.InvalidArgument),
    ("INT", 7, "v / 0.0", e.InvalidArgument),
    ("INT", 7, "v div 1e0", e.InvalidArgument),
    ("INT", 7, "v + 'x'", e.InvalidArgument),
    ("INT", 7, "v + TRUE", e.InvalidArgument),
    ("INT", 7, "2147483647 + 1", e.InvalidArgument),
    ("INT", 7, "3000000000 - v", e.InvalidArgument),
    ("TINYINT", 100, "v + 100", e.InvalidArgument),
    ("DECIMAL(10,2)", Decimal("7.00"), "7 / 2", e.SchemaMismatch),
    ("DECIMAL(10,2)", Decimal("7.00"), "v * 2e0", e.SchemaMismatch),
    ("DECIMAL(10,2)", Decimal("7.00"), "coalesce(NULL, 7 / 2)", e.SchemaMismatch),
    ("DECIMAL(10,2)", Decimal("7.00"), "v / 0", e.InvalidArgument),
    ("DECIMAL(10,2)", Decimal("7.00"), "v div 0", e.InvalidArgument),
    ("DATE", TS.date(), "v + 1", e.InvalidArgument),
    ("DATE", TS.date(), "v - v", e.InvalidArgument),
    ("STRING", "7", "v + 1", e.InvalidArgument),
    ("STRING", "7", "v || 7 / 2", e.InvalidArgument),
    ("INT", 1, "coalesce(NULL, 1.5)", e.SchemaMismatch),
    ("TINYINT", 1, "128", e.SchemaMismatch),
    ("VARCHAR(2)", "a", "'abc'", e.LengthExceeded),
    ("BINARY(1)", b"a", "X'aabb'", e.LengthExceeded),
]

TAKEN = [
    ("DECIMAL(10,2)", Decimal("200.00"), "v * 1.105", Decimal("221.00")),
    ("DECIMAL(5,2)", Decimal("1.00"), "1.2500", Decimal("1.25")),
    ("FLOAT", 1.0, "0.1", 0.10000000149011612),
    ("FLOAT", 1.0, "16777216", 16777216.0),
    ("DOUBLE", 1.0, "v / 8", 0.125),
    ("BIGINT", 3, "v * 1.5 * 2", 9),
    ("BIGINT", 2**53 + 1, "v * 1.0", 2**53 + 1),
    ("BIGINT", 2**53, "v + 1.0", 2**53 + 1),
    ("INT", 8, "v / 2", 4),
    ("INT", 8, "7 / 2 * 2", 7),
    ("INT", 7, "v div 2", 3),
    ("INT", -7, "v DIV 2", -3),
    ("INT", -7, "v % 4", -3),
    ("INT", 7, "7 div 2 div 2", 1),
    ("INT", 7, "v div 1.5", 4),
    ("INT", 7, "(v + 1) div (-2)", -4),
    ("INT", 7, "coalesce(v / 2, 1) * 2", 7),
    ("INT", 7, "coalesce(NULL, 1.5) * v * 2", 21),
    ("INT", 7, "'2' * v", 14),
    ("INT", 7, "v + NULL", None),
    ("BIGINT", 2, "2147483647 + 1 * v + 3000000000", 5147483649),
    ("TINYINT", 100, "v * 100 / 200", 50),
    ("FLOAT", 7.0, "v / 2", 3.5),
    ("FLOAT", 7.0, "v * 0.1", struct.unpack("<f", struct.pack("<f", 0.7))[0]),
    ("DOUBLE", 7.0, "7 / 2", 3.5),
    ("DOUBLE", 7.0, "1 / 3", 1 / 3),
    ("DOUBLE", 7.0, "7 / 2.0", 3.5),
    ("DOUBLE", 7.0, "v * 0.30000000000000004", 7.0 * 0.30000000000000004),
    ("DOUBLE", 7.0, "2 * 1.5", 3.0),
    ("DECIMAL(10,2)", Decimal("7.00"), "v / 2", Decimal("3.50")),
    ("DECIMAL(10,2)", Decimal("7.00"), "7 / 2.0", Decimal("3.50")),
    ("DECIMAL(10,6)", Decimal(7), "1 / 64.0", Decimal("0.015625")),
    ("DECIMAL(10,2)", Decimal("7.00"), "v div 2", Decimal("3.00")),
    ("DECIMAL(10,2)", Decimal("7.50"), "v % 2", Decimal("1.50")),
    ("DECIMAL(10,2)", Decimal("7.50"), "v + 1", Decimal("8.50")),
    ("STRING", "a", "'' || (7 / 2)", "3.5"),
    ("STRING", "a", "v || (7 / 2.0)", "a3.500000"),
    ("STRING", "a", "v || (7 div 2) || '!'", "a3!"),
    ("STRING", "a", "7 || v", "7a"),
    ("STRING", "a", "upper(1 + 1)", "2"),
    ("STRING", "a", "coalesce(NULL, 1 / 4) || v", "0.25a"),
    ("TINYINT", 1, "-(-5)", 5),
    ("TIMESTAMP(3)", TS, "'2024-01-01 00:00:00.009'", TS.replace(microsecond=9000)),
    ("TIME(3)", dt.time(1), "'12:00:00.009'", dt.time(12, 0, 0, 9000)),
    ("DATE", TS.date(), "'2024-01-02 00:00:00'", dt.date(2024, 1, 2)),
]


def one_row(make, kind, value, key=("k",)):
    t = make({"k": "INT", "v": kind}, list(key), bucket=1 if key else -1)
    t.append([{"k": 1, "v": value}])
    return t


@pytest.mark.parametrize("expression", ["-v", "-(v)", "v - 1", "v * -1", "v / -1", "-v + 1", "coalesce(NULL, -v)"])
@pytest.mark.parametrize("kind", INTEGERS)
def test_overflow_is_an_error_of_the_expression_that_names_the_column(make, kind, expression):
    """Unary minus of the least integer was once an InternalError, a defect of siltstone."""
    t = one_row(make, kind, INTEGERS[kind])
    with pytest.raises(e.InvalidArgument, match="column: v"):
        t.update({"v": expression}, "k = 1")
    assert t.scan(["v"]).to_arrow().to_pylist() == [{"v": INTEGERS[kind]}]


@pytest.mark.parametrize("key", [("k",), ()], ids=["key", "append"])
@pytest.mark.parametrize(("kind", "value", "expression", "error"), REFUSED)
def test_a_new_value_that_the_column_does_not_hold_is_refused(make, kind, value, expression, error, key):
    """They were once rounded, cut or made infinite without a word."""
    t = one_row(make, kind, value, key)
    before = t.scan(["v"]).to_arrow().to_pylist()
    with pytest.raises(error, match="column: v"):
        t.update({"v": expression}, "k = 1")
    assert t.scan(["v"]).to_arrow().to_pylist() == before
    assert len(t.history()) == 1


@pytest.mark.parametrize(("kind", "value", "expression", "expected"), TAKEN)
def test_a_new_value_that_the_column_holds_is_taken(make, kind, value, expression, expected):
    t = one_row(make, kind, value)
    t.update({"v": expression}, "k = 1")
    assert t.scan(["v"]).to_arrow().to_pylist() == [{"v": expected}]


#: An expression over i = 7, j = 2 and the same over literals, and their value in a STRING.
ALIKE = [
    ("i / j", "7 / 2", "3.5"),
    ("i / j * j", "7 / 2 * 2", "7.0"),
    ("i div j", "7 div 2", "3"),
    ("i % j", "7 % 2", "1"),
    ("-i / j", "-7 / 2", "-3.5"),
    ("i + j", "7 + 2", "9"),
    ("i * 1.5", "7 * 1.5", "10.5"),
    ("i / 2.0", "7 / 2.0", "3.500000"),
    ("i * 5e-1", "7 * 5e-1", "3.5"),
    ("coalesce(i, j) / j", "coalesce(7, 2) / 2", "3.5"),
]


@pytest.mark.parametrize("key", [("k",), ()], ids=["key", "append"])
@pytest.mark.parametrize(("columns", "literals", "expected"), ALIKE)
def test_columns_and_literals_are_computed_with_alike(make, key, columns, literals, expected):
    """`i / 2` of integers lost its fraction, `7 / 2` kept it where the column had one, and was no text at all."""
    mixed = re.sub(r"\bj\b", "2", columns), re.sub(r"\bi\b", "7", columns)
    t = make({"k": "INT", "i": "INT", "j": "INT", "s": "STRING", "d": "DOUBLE"}, key, bucket=1 if key else -1)
    t.append([{"k": 1, "i": 7, "j": 2}])
    for expression in (columns, literals, *mixed):
        t.update({"s": f"'' || ({expression})", "d": expression}, "k = 1")
        (row,) = t.scan(["s", "d"]).to_arrow().to_pylist()
        assert row == {"s": expected, "d": float(expected)}, expression


def test_div_is_an_operator_between_values_and_else_a_name(make):
    t = make({"k": "INT", "div": "INT"}, ["k"], bucket=1)
    t.append([{"k": 1, "div": 9}])
    t.update({"div": "div div `div` + div div 2"}, "k = 1")
    assert t.scan(["div"]).to_arrow().to_pylist() == [{"div": 5}]
    assert t.scan(filter="div = 5").count() == 1
    for expression in ("div // 2", "div div", "div 2"):
        with pytest.raises(e.InvalidArgument):
            t.update({"div": expression}, "k = 1")


def test_a_condition_compares_columns_with_literals_and_computes_nothing(make):
    t = make({"k": "INT", "i": "INT"}, ["k"], bucket=1)
    t.append([{"k": 1, "i": 3}, {"k": 2, "i": 4}])
    for condition in ("i / 2 = 1.5", "i = 7 / 2", "i div 2 = 1", "i < 7 div 2"):
        with pytest.raises(e.InvalidArgument, match="arithmetic"):
            t.scan(filter=condition).count()
    assert t.scan(["k"], "i < 3.5").to_arrow().to_pylist() == [{"k": 1}]
    assert t.scan(["k"], "i = 3.5").to_arrow().to_pylist() == []


def test_a_choice_among_columns_loses_no_value(make):
    """COALESCE once made null of a number that the first column cannot hold, and cut the fraction of another."""
    t = make({"k": "INT", "v": "TINYINT", "w": "BIGINT", "d": "DOUBLE"}, ["k"], bucket=1)
    t.append([{"k": 1, "v": None, "w": 300, "d": 1.5}, {"k": 2, "v": 5, "w": 300, "d": 1.5}])
    for expression in ("coalesce(v, w)", "coalesce(v, d)"):
        with pytest.raises(e.SchemaMismatch, match="column: v"):
            t.update({"v": expression}, "k = 1")
        t.update({"v": expression}, "k = 2")
    assert {r["k"]: r["v"] for r in t.scan().to_arrow().to_pylist()} == {1: None, 2: 5}


def test_bytes_that_are_no_text_do_not_become_null(make):
    t = make({"k": "INT", "s": "STRING", "b": "BYTES"}, ["k"], bucket=1)
    t.append([{"k": 1, "s": "a", "b": b"\xff"}])
    with pytest.raises(e.SchemaMismatch, match="column: s"):
        t.update({"s": "s || b"}, "k = 1")
    assert t.scan(["s"]).to_arrow().to_pylist() == [{"s": "a"}]


@pytest.mark.parametrize(
    ("kind", "value"), [("DOUBLE", 1e20), ("TIMESTAMP(3)", TS), ("DECIMAL(5,2)", Decimal("1.50")), ("BOOLEAN", True)]
)
def test_a_value_has_one_text_in_expressions_and_after_a_change_of_type(make, kind, value):
    t = make({"k": "INT", "v": kind, "s": "STRING"}, ["k"], bucket=1)
    t.append([{"k": 1, "v": value}])
    t.update({"s": "v || ''"}, "k = 1")
    t.alter().set_type("v", "STRING").commit()
    row = st.open_table(t.location).scan().to_arrow().to_pylist()[0]
    assert row["s"] == row["v"]


@pytest.mark.parametrize("key", [["k"], []], ids=["key", "append"])
def test_new_values_are_looked_at_as_those_of_a_write_are(make, key):
    """ORC shows CHAR without the spaces at its end: other values were stored, and a key came twice."""
    t = make({"k": "CHAR(5)", "v": "CHAR(5)", "n": "ARRAY<CHAR(5)>"}, key, file__format="orc")
    t.append([{"k": "a", "v": "b", "n": ["c"]}])
    spaces = {"k": "a  ", "v": "b ", "n": ["c "]}
    for statement in (
        lambda: t.update({"v": "v || '  '"}, "true"),
        lambda: t.merge([spaces], on=["k"]).when_not_matched_insert_all().execute(),
        lambda: t.merge([{**spaces, "k": "a"}], on=["k"]).when_matched_update({"v": "s.v"}).execute(),
        lambda: t.merge([{"k": "z", "v": "b", "n": ["c "]}], on=["k"]).when_not_matched_insert_all().execute(),
    ):
        with pytest.raises(e.UnsupportedType, match="spaces at their end"):
            statement()
    assert t.to_pylist() == [{"k": "a", "v": "b", "n": ["c"]}]
    # what a cast fills up is the table's own
    u = make({"k": "CHAR(5)", "v": "INT", "w": "INT"}, key, file__format="orc")
    u.append([{"k": "a", "v": 7, "w": 1}])
    u.alter().set_type("v", "CHAR(3)").commit()
    u = st.open_table(u.location)
    u.update({"w": "2"}, "true")
    assert u.to_pylist() == [{"k": "a", "v": "7", "w": 2}]


KEYS = {
    "key": (["k"], {"bucket": 1}),
    "key, thin files": (["k"], {"bucket": 1, "data_file__thin_mode": "true"}),
    "key, buckets by need": (["k"], {}),
    "bucket key": ([], {"bucket": 4, "bucket_key": "k", "write_only": "true"}),
}


@pytest.mark.parametrize(("key", "options"), KEYS.values(), ids=list(KEYS))
def test_a_key_is_not_cut_when_it_comes_into_a_file_of_another_format(make, key, options):
    """The compaction made one key of two, which the table then had twice; conditions on a bucket key missed rows."""
    t = make({"k": "CHAR(5)", "v": "INT"}, key, **options)
    t.append([{"k": "a", "v": 1}])
    t.append([{"k": "a  ", "v": 2}, {"k": "b", "v": 3}])
    t.append([{"k": "a  ", "v": 4}])
    before = sorted(t.to_pylist(), key=str)
    t.alter().set_option("file.format", "orc").commit()
    t = st.open_table(t.location)
    for statement in (lambda: t.compact(full=True), lambda: t.update({"v": "9"}, "true"), lambda: t.rescale(8)):
        with pytest.raises((e.UnsupportedType, e.InvalidArgument)):
            statement()
    assert sorted(st.open_table(t.location).to_pylist(), key=str) == before


@pytest.mark.parametrize(
    "options",
    [{"bucket": "1"}, {"bucket": "-1"}, {"bucket": "1", "changelog-producer": "lookup"}, None],
    ids=lambda o: "append" if o is None else "-".join(o.values()),
)
def test_an_old_row_that_no_file_of_the_new_format_holds_stops_no_write(cat, options):
    """Every second append of other rows failed, with the compaction that met the old one."""
    key = None if options is None else "k"
    trigger = {"num-sorted-run.compaction-trigger": "2", "compaction.min.file-num": "2"}
    t = cat.create_table("db.t", {"k": "INT", "v": "TIMESTAMP(3)"}, primary_key=key, options=(options or {}) | trigger)
    t.append([{"k": 0, "v": dt.datetime(1969, 12, 31, 23, 59, 59, 500_000)}])
    t.alter().set_option("file.format", "orc").commit()
    t = st.open_table(t.location)
    notes = [note for k in range(1, 6) for note in t.append([{"k": k, "v": TS}]).notes]
    if key and "changelog-producer" not in options:
        assert any("the compaction was given up, rows are safe" in note for note in notes)
    assert sorted(row["k"] for row in t.to_pylist()) == list(range(6))
    with pytest.raises(e.UnsupportedType):
        t.compact(full=True)
    t.alter().set_option("file.format", "parquet").commit()
    t = st.open_table(t.location)
    t.compact(full=True)
    assert sorted(row["k"] for row in t.to_pylist()) == list(range(6))
