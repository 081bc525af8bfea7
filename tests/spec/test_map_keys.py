"""Conditions on what maps have for a key: `m['k'] = 1`, `col("m")["k"] == 1`."""

import itertools

import pytest
import siltstone as st
from siltstone import col
from siltstone import errors as e

COLUMNS = {"id": "INT", "m": "MAP<STRING, INT>", "n": "MAP<INT, STRING>", "bag": "MULTISET<STRING>", "s": "STRING"}
ROWS = [
    {"id": 0, "m": {"a": 1, "b": 2}, "n": {-1: "x"}, "s": "p"},
    {"id": 1, "m": {"b": 5}, "n": {7: "yy"}, "s": "q"},
    {"id": 2, "m": {}, "n": {}, "s": None},
    {"id": 3, "m": None, "n": None, "s": "p"},
    {"id": 4, "m": {"c": None, "a": None}, "n": {7: None, -1: "xa"}, "s": "q"},
    {"id": 5, "m": {"a": 7, "it's": 1}, "n": {7: "y", 8: "z"}, "s": "p"},
]


@pytest.fixture(params=["parquet", "orc", "avro"])
def t(make, request):
    t = make(COLUMNS, file__format=request.param)
    t.append([{**row, "bag": None} for row in ROWS])
    return t


def ids(t, condition):
    return t.scan(["id"], condition).to_arrow()["id"].to_pylist()


def answer(condition):
    return [row["id"] for row in ROWS if condition((row["m"] or {}).get, (row["n"] or {}).get) is True]


CASES = [
    ("m['a'] = 1", col("m")["a"] == 1, lambda m, n: m("a") == 1),
    ("1 < m['a']", col("m")["a"] > 1, lambda m, n: m("a") is not None and m("a") > 1),
    ("NOT m['a'] = 1", ~(col("m")["a"] == 1), lambda m, n: m("a") is not None and m("a") != 1),
    ("m['a'] IS NULL", col("m")["a"].is_null(), lambda m, n: m("a") is None),
    ("m['b'] IS NOT NULL", col("m")["b"].is_not_null(), lambda m, n: m("b") is not None),
    ("`m`['it''s'] IN (1, 2)", col("m")["it's"].is_in([1, 2]), lambda m, n: m("it's") in (1, 2)),
    ("m['a'] NOT IN (1, 2)", col("m")["a"].is_not_in([1, 2]), lambda m, n: m("a") not in (None, 1, 2)),
    ("m['b'] BETWEEN 3 AND 9", col("m")["b"].between(3, 9), lambda m, n: 3 <= (m("b") or 0) <= 9),
    ("n[7] LIKE 'y%'", col("n")[7].like("y%"), lambda m, n: (n(7) or "").startswith("y")),
    (
        "n[-1] = 'x' OR m['b'] = 5",
        (col("n")[-1] == "x") | (col("m")["b"] == 5),
        lambda m, n: n(-1) == "x" or m("b") == 5,
    ),
    ("n[-1] >= 'x' AND s = 'q'", (col("n")[-1] >= "x") & (col("s") == "q"), lambda m, n: (n(-1) or "") == "xa"),
    ("m['zz'] = 1", col("m")["zz"] == 1, lambda m, n: False),
    ("m['a'] <=> NULL", None, lambda m, n: m("a") is None),
    ("m['a'] IS DISTINCT FROM 1", None, lambda m, n: m("a") != 1),
    ("m['a'] = 1.5", None, lambda m, n: False),
]


def test_rows_by_the_values_of_keys(t):
    for text, expression, condition in CASES:
        assert ids(t, text) == answer(condition), text
        if expression is not None:
            assert ids(t, expression) == answer(condition), text
    assert t.scan(filter="m['a'] >= 1").count() == 2
    assert t.scan(["m"], "m['a'] = 7").to_pylist() == [{"m": [("a", 7), ("it's", 1)]}]
    assert t.update({"s": "'new'"}, where="m['a'] = 7").affected_rows == 1
    t.delete(col("n")[7] == "yy")
    assert ids(t, "s = 'new'") == [5]
    assert t.scan().count() == 5


def test_how_often_a_value_is_in_a_bag(make):
    t = make({"id": "INT", "bag": "MULTISET<STRING>"})
    t.append([{"id": 1, "bag": {"x": 2}}, {"id": 2, "bag": {"x": 1, "y": 3}}])
    assert ids(t, "bag['x'] > 1") == [1]


def test_merged_rows_are_looked_at_and_not_older_ones(make):
    t = make({"id": "INT", "m": "MAP<STRING, INT>"}, primary_key=["id"])
    t.upsert([{"id": 1, "m": {"a": 1}}, {"id": 2, "m": {"a": 1}}])
    t.upsert([{"id": 1, "m": {"a": 2}}])
    assert (ids(t, "m['a'] = 1"), ids(t, "m['a'] = 2")) == ([2], [1])


@pytest.mark.parametrize("kind", ["bloom-filter", "bitmap", "bsi", "range-bitmap"])
def test_indexes_of_keys_leave_out_files(make, kind):
    few = {"file-index.bloom-filter.m.items": 20} if kind == "bloom-filter" else {}
    t = make({"id": "INT", "m": "MAP<STRING, INT>"}, **{f"file-index.{kind}.columns": "m[a],m[none]", **few})
    rows = [{"id": i, "m": {"a": i // 10, "b": i}} if i % 7 else {"id": i, "m": None} for i in range(40)]
    for part in range(0, 40, 10):
        t.append(rows[part : part + 10])

    def files(condition):
        return len(list(itertools.chain.from_iterable(s.files for s in t.scan(filter=condition).splits())))

    assert (files("m['a'] = 2"), files(col("m")["a"].is_in([0, 3])), files("m['none'] = 1")) == (1, 2, 0)
    assert (files("m['b'] = 2"), files("m['none'] IS NULL")) == (4, 4)
    for condition in (
        "m['a'] = 2",
        "m['a'] IS NULL",
        "m['a'] > 1",
        "m['a'] <> 1",
        "m['none'] IS NULL",
        "m['none'] = 1",
    ):
        unread = st.open_table(t.location, options={"file-index.read.enabled": "false"})
        assert sorted(ids(t, condition)) == sorted(ids(unread, condition)), condition
    assert "m['a'] = 2" in t.scan(filter="m['a']=2").explain()


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("id['k'] = 1", "'id' is no map but INT"),
        ("m[1.5] = 1", "1.5 cannot be compared .*the keys of m"),
        ("n[1.5] = 'x'", "is no value of the type INT"),
        ("m[NULL] = 1", "cannot be used in a condition"),
        ("m[id] = 1", "cannot be used in a condition"),
        ("m['a']['b'] = 1", "cannot be used in a condition"),
        ("m['a'].b = 1", "cannot be used in a condition"),
        ("m['a' = 1", "cannot be used in a condition"),
        ("m['a'] = m['b']", "compared with each other"),
        ("nope['a'] = 1", "no column 'nope'"),
    ],
)
def test_what_is_no_key_of_a_map_is_refused(make, condition, says):
    t = make(COLUMNS)
    with pytest.raises(e.InvalidArgument, match=says):
        t.scan(filter=condition).count()


def test_columns_in_python_are_no_lists_and_have_one_key():
    with pytest.raises(TypeError):
        list(col("m"))
    for wrong in (lambda: col("m")["a"]["b"], lambda: col("m")[None], lambda: col("m")[[1]]):
        with pytest.raises(e.InvalidArgument):
            wrong()
