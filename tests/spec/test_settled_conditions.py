"""Conditions of pyarrow and DuckDB that a dataset leaves to the scan alone: nobody looks at the rows again, so they mean the same."""

import datetime as dt
import itertools

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

F = pc.field
VALUES = {
    "a": [None, 0, 1, 2],
    "b": [None, 0, 1],
    "s": [None, "", "a", "B"],
    "o": [None, True, False],
    "d": [None, dt.date(1970, 1, 1), dt.date(2024, 2, 29)],
    "x": [None, float("nan"), -0.0, 1.5],
}
LEAVES = [
    F("a") > 0, F("b") <= 1, F("a") != 1, F("s") == "a", F("s") > "A", F("o"), F("d") >= dt.date(2000, 1, 1), F("a").is_null(),
    F("s").is_valid(), F("a").isin([1, 2]), F("a").isin([1, None]), F("a").isin([]), F("s").isin(["a", ""]),
]  # fmt: skip
#: Their nulls are pyarrow's own matter.
LOOKUPS = [
    pc.Expression._call("is_in", [F("a")], pc.SetLookupOptions(pa.array(listed, pa.int32()), skip_nulls=skips))
    for listed, skips in itertools.product([[1, 2], [1, None]], [True, False])
]
#: Of two conditions; each of the first three with a truth of its own where one is null.
PAIRS = ["or", "and", "and_not", "or_kleene", "and_kleene", "and_not_kleene", "xor"]
FLOATS = [F("x") > 1, F("x") == 0.0, F("x") <= 1.5]
QUERIES = [
    "a > 0", "not (a > 0)", "a in (1, 2)", "a not in (1, 2)", "a is null or s = 'a'", "not (a > 0 and s < 'b')", "o", "not o",
    "d >= date '2000-01-01'", "s <> ''", "a between 1 and 2", "x > 1", "x <> 0", "a > 0 and x > 1", "s like 'a%'", "o is not true",
]  # fmt: skip


@pytest.fixture(scope="module")
def t(tmp_path_factory):
    import siltstone as st

    cat = st.connect(tmp_path_factory.mktemp("lake"))
    cat.create_database("db")
    kinds = {"k": "INT", "a": "INT", "b": "INT", "s": "STRING", "o": "BOOLEAN", "d": "DATE", "x": "DOUBLE"}
    t = cat.create_table("db.t", kinds)
    rows = [dict(zip(VALUES, values, strict=True)) for values in itertools.product(*VALUES.values())]
    t.append([{"k": k, **row} for k, row in enumerate(rows)])
    return t


def pairs():
    for name, (left, right) in itertools.product(PAIRS, itertools.permutations([*LEAVES[:6], FLOATS[0]], 2)):
        yield pc.Expression._call(name, [left, right])


def test_a_dataset_has_the_rows_that_pyarrow_finds(t):
    data, rows = t.to_dataset(), t.to_arrow()
    conditions = [*LEAVES, *LOOKUPS, *FLOATS, *pairs()]
    decided = looked = 0
    for condition in [*conditions, *(~condition for condition in conditions)]:
        try:
            expected = rows.filter(condition)["k"].to_pylist()
        except pa.ArrowNotImplementedError:
            continue  # not a condition of pyarrow's
        assert sorted(data.to_table(columns=["k"], filter=condition)["k"].to_pylist()) == expected, condition
        _, left = data._planned(["k"], condition, None)
        decided, looked = decided + (left is None), looked + (left is not None)
    assert decided > 100
    assert looked > 50
    assert all(data._planned(["k"], condition, None)[1] is not None for condition in FLOATS), "NaN and zeros have rules"


@pytest.mark.parametrize("query", QUERIES)
def test_duckdb_finds_the_rows_that_it_finds_in_memory(t, query):
    counted = []
    for source in (t.to_dataset(), t.to_arrow()):
        connection = duckdb.connect()
        connection.register("source", source)
        counted.append(connection.execute(f"select k from source where {query} order by k").fetchall())
    assert counted[0] == counted[1]
