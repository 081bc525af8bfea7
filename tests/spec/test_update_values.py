"""New values of ``Table.update``: what the column does not hold exactly is refused as ``append`` refuses it."""

import datetime as dt
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
    ("BIGINT", 2**53 + 1, "v * 1.0", e.SchemaMismatch),
    ("BIGINT", 2**53 + 1, "v + 0.0", e.SchemaMismatch),
    ("BIGINT", 2**53, "v + 1.0", e.SchemaMismatch),
    ("INT", 1, "1.5", e.SchemaMismatch),
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
