"""One rule for Python values, with pyarrow and without it: they are stored as they are, or refused."""

import os
import pathlib
import subprocess
import sys

import pytest
import siltstone as st

BEFORE = """
import sys
import dataclasses, datetime as dt, http
from decimal import Decimal as D
import numpy as np, polars as pl
import siltstone as st
from siltstone import errors

UTC, EAST = dt.timezone.utc, dt.timezone(dt.timedelta(hours=5))
NOON, LATER = dt.datetime(2024, 1, 1, 12), dt.datetime(2024, 1, 1, 12, 0, 0, 1)
cat = st.connect(sys.argv[1])
cat.create_database("db")

def table(kind):
    name = f"db.t{len(cat.tables('db'))}"
    return cat.create_table(name, {"id": int, "c": kind}, options={"siltstone.sync": "false", "bucket": "-1"})

def outcome(call, t):
    try:
        call()
    except errors.SiltstoneError as e:
        return type(e).__name__
    rows = t.to_pylist()
    t.truncate()
    return repr([row["c"] for row in sorted(rows, key=lambda row: row["id"])]).replace("zoneinfo.ZoneInfo(key='UTC')", "UTC")
"""

#: A type, and values of a column of it; all are refused but those with a True before them.
GRID = """
GRID = [
    ("ROW<a INT, b STRING>", [[{"a": 1.5, "b": None}], [{"a": "7", "b": None}], [{"a": True, "b": None}], [{"c": 3, "b": None}],
        [{"a": 1}, {"c": 3}], [{"a": 1}, {"b": 5}], [{1: 2}], [[1]],
        (True, [{"a": 1}, {"b": "x"}, None, {}, {"a": 2.0, "b": "y"}])]),
    ("ARRAY<ROW<a INT, b STRING>>", [[[{"a": 1.5, "b": None}]], [[{"a": 1}], [{"c": "x"}]],
        (True, [[{"a": 1}, None], [], [{"b": "x"}], None])]),
    ("ROW<r ROW<a INT, b STRING>>", [[{"r": {"a": 1}}, {"r": {"c": 1}}], (True, [{"r": {"a": 1}}, {"r": {"b": "x"}}, {}])]),
    ("ROW<a TIMESTAMP(3), b INT>", [[{"a": LATER, "b": None}], [{"a": NOON.replace(tzinfo=EAST), "b": None}],
        (True, [{"a": NOON, "b": None}])]),
    ("ROW<a DECIMAL(5,2), b DATE>", [[{"a": D("1.505"), "b": None}], [{"a": 1.5, "b": None}], [{"a": None, "b": NOON}],
        (True, [{"a": D("1.500")}, {"b": dt.date(2024, 1, 1)}])]),
    ("ROW<a STRING, b BIGINT>", [[{"a": 1, "b": None}], [{"a": None, "b": dt.date(2024, 1, 1)}]]),
    ("ROW<`Nullable` INT>", [[{"Nullable": 1.5}], (True, [{"Nullable": 1.0}])]),
    ("ROW<`Object` TINYINT>", [[{"Object": 300}]]),
    ("MAP<STRING, TIMESTAMP(3)>", [[{"a": LATER}], (True, [{"a": NOON}, None, {}, [("b", None)]])]),
    ("MAP<STRING, DECIMAL(5,2)>", [[{"a": D("1.505")}]]),
    ("MAP<STRING, TIME(3)>", [[{"a": dt.time(1, tzinfo=UTC)}], [{"a": dt.time(1, 0, 0, 1)}]]),
    ("MAP<STRING, ROW<a INT>>", [[{"k": {"a": 1, "z": 2}}], (True, [{"k": {"a": 1}, "j": None}])]),
    ("MAP<INT, MAP<STRING, INT>>", [[{1: {"a": 1.5}}], [{None: {}}], (True, [{1: {"a": 1}}, {2: None}])]),
    ("MAP<STRING, INT>", [(True, [[("a", 1), ("a", 2)]]), [[("a",)]], [{1: 1}]]),
    ("BIGINT", [[2.5], [True], [1, True], ["4"], [2.0, "4"], [2**63], [D("NaN")], [NOON], (True, [2.0, 2**53 + 1, D("3.0"), None])]),
    ("DOUBLE", [[2**53 + 1], [D("1.5")], (True, [1, 2.5, np.float32(0.5)])]),
    ("FLOAT", [[1e300], [1e-300], (True, [0.1, 16777216])]),
    ("DECIMAL(5,2)", [[D("NaN")], [D("Infinity")], [D("1.505")], [1000], [1.5], (True, [1, D("1.5"), D("1E+2")])]),
    ("STRING", [[1], [b"a"], ["a", 1], ["\\ud800"], (True, ["a", np.str_("b\\0")])]),
    ("BYTES", [["a"], (True, [b"a", bytearray(b"b"), memoryview(b"c")])]),
    ("DATE", [[NOON], [dt.date(2024, 1, 1), NOON], [5], (True, [dt.date(1, 1, 1), dt.date(9999, 12, 31)])]),
    ("TIME(3)", [[dt.time(1, tzinfo=UTC)], [dt.time(1), dt.time(1, tzinfo=UTC)], [dt.time(1, 0, 0, 1)], (True, [dt.time(1)])]),
    ("TIMESTAMP(6)", [[NOON, NOON.replace(tzinfo=UTC)], [NOON.replace(tzinfo=EAST)], [dt.date(2024, 1, 1)],
        (True, [LATER, dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)])]),
    ("TIMESTAMP(0)", [[LATER], [dt.datetime(2024, 1, 1, 0, 0, 0, 1000)], (True, [NOON])]),
    ("TIMESTAMP_LTZ(3)", [[LATER], (True, [NOON, NOON.replace(tzinfo=EAST), NOON.replace(tzinfo=UTC)])]),
    ("ARRAY<INT>", [[[1], ["1"]], [[1.5]], [5], [None, {1}], (True, [None, range(3), (1, 2), np.array([1, 2]), [1.0, None], []])]),
    ("ARRAY<ARRAY<INT>>", [[[[1.5]]], (True, [[[None]], [[]], [None], [[1], [2.0]]])]),
]
for kind, cases in GRID:
    t = table(kind)
    for case in cases:
        fits, values = case if isinstance(case, tuple) else (False, case)
        row = dataclasses.make_dataclass("Row", ["id", "c"])
        ids = list(range(len(values)))
        entrances = {
            "dicts": lambda: t.append([{"id": i, "c": value} for i, value in zip(ids, values)]),
            "behind a null": lambda: t.append([{"id": -1}, *({"id": i, "c": value} for i, value in zip(ids, values))]),
            "dataclasses": lambda: t.append([row(i, value) for i, value in zip(ids, values)]),
            "columns": lambda: t.append({"id": ids, "c": values}),
            "objects": lambda: t.append({"id": ids, "c": pl.Series(values, dtype=pl.Object)}),
            "merge": lambda: t.merge({"id": ids, "c": values}, on="id").when_not_matched_insert_all().execute(),
        }
        for name, call in entrances.items():
            found = outcome(call, t)
            assert found.startswith("[") == fits, (kind, values, name, found)
            print(kind, cases.index(case), name, found)
"""

#: Frames with types of nothing but nulls: the others are looked at as always.
FRAMES = """
ROW = pl.Struct({"a": pl.Float64, "b": pl.Null})
for kind, values, dtype, fits in (
    ("ROW<a INT, b STRING>", [{"a": 1.5, "b": None}], ROW, False),
    ("ROW<a INT, b STRING>", [{"a": 1.0, "b": None}], pl.Struct({"a": pl.Int16, "b": pl.Null}), True),
    ("ROW<a DOUBLE, b ARRAY<ROW<x MAP<STRING, INT>>>>", [{"a": 1.5, "b": None}, None], ROW, True),
    ("ROW<a DOUBLE, b STRING>", [{"a": 1.5, "c": None}], pl.Struct({"a": pl.Float64, "c": pl.Null}), False),
    ("ROW<a DATE, b STRING>", [{"a": NOON, "b": None}], pl.Struct({"a": pl.Datetime("us"), "b": pl.Null}), False),
    ("ROW<a BYTES, b STRING>", [{"a": "x", "b": None}], pl.Struct({"a": pl.String, "b": pl.Null}), False),
    ("ROW<a STRING, b STRING>", [{"a": "x", "b": None}], pl.Struct({"a": pl.Categorical, "b": pl.Null}), True),
    ("ARRAY<ROW<a INT, b STRING>>", [[{"a": 1.5, "b": None}]], pl.List(ROW), False),
    ("ARRAY<ROW<a DOUBLE, b STRING>>", [[{"a": 1.5, "b": None}], []], pl.List(ROW), True),
    ("ROW<`Null` INT>", [{"Null": 1.5}], pl.Struct({"Null": pl.Float64}), False),
    ("ROW<`Int128` INT>", [{"Int128": 1}], pl.Struct({"Int128": pl.Int32}), True),
    ("MAP<STRING, INT>", [{"a": None}], pl.Map(pl.String, pl.Null), True),
    ("MAP<INT, INT>", [{"a": None}], pl.Map(pl.String, pl.Null), False),
    ("ARRAY<INT>", [[None], []], pl.List(pl.Null), True),
    ("INT", [None, None], pl.Null, True),
    ("INT", [1], pl.Object, False),
    ("BIGINT", [1], pl.Int128, False),
):
    t = table(kind)
    frame = pl.DataFrame({"id": range(len(values)), "c": pl.Series(values, dtype=dtype)})
    for name, given in (("frame", frame), ("lazy", frame.lazy())):
        found = outcome(lambda: t.append(given), t)
        assert found.startswith("[") == fits, (kind, values, name, found)
        print(kind, values, name, found)
"""

#: Columns of a merge's source that the table does not have, and the columns that they are put into.
SOURCES = """
NAIVE, THERE, DAY = NOON, NOON.replace(tzinfo=EAST), dt.date(2024, 1, 1)
for kind, values, fits in (
    ("DATE", [DAY, NOON], False), ("TIMESTAMP(6)", [NAIVE, THERE], False), ("TIMESTAMP(6)", [THERE, NAIVE], False),
    ("TIMESTAMP(6)", [NOON, 1], False), ("TIMESTAMP(6)", [DAY, 0.5], False), ("TIME(3)", [dt.time(1), 0.5], False),
    ("TIME(3)", [dt.time(1, tzinfo=UTC)], False), ("BYTES", ["a", b"a"], False), ("BIGINT", [2.0, 2**53 + 1], False),
    ("DECIMAL(5,2)", [D("1.5"), D("1.505")], False), ("BOOLEAN", [True, 1], False), ("ARRAY<INT>", [[1], ["1"]], False),
    ("ROW<a INT>", [{"a": 1}, {"a": "x"}], False), ("BIGINT", [D("NaN")], False), ("INT", [object()], False),
    ("BIGINT", [1, None, 2**62], True), ("DOUBLE", [1, 0.5], True), ("DECIMAL(5,2)", [D("1.5"), D("10.25"), 1], True),
    ("TIMESTAMP(6)", [NOON, LATER], True), ("TIMESTAMP_LTZ(6)", [THERE, NOON.replace(tzinfo=UTC)], True), ("DATE", [DAY], True),
    ("TIME(3)", [dt.time(1), None], True), ("STRING", ["a", None], True), ("BYTES", [b"a"], True), ("BOOLEAN", [None, True], True),
    ("DECIMAL(38,0)", [2**64, 1], True), ("ARRAY<BIGINT>", [[1], [], None], True), ("BIGINT", [np.int64(5)], True),
    ("BIGINT", [http.HTTPStatus.OK, 1], True),  # an integer of a class of its own
    ("ROW<a BIGINT, b STRING>", [{"a": 1, "b": None}, {"b": "x"}], True),
):
    t = table(kind)
    merge = lambda: t.merge({"id": range(len(values)), "zz": values}, on="id").when_not_matched_insert({"id": "s.id", "c": "s.zz"}).execute()
    found = outcome(merge, t)
    assert found.startswith("[") == fits, (kind, values, found)
    print(kind, found)
"""


@pytest.fixture
def both(libraries, tmp_path):
    """Runs code with and without pyarrow, and compares what it prints."""

    def run(code):
        source = pathlib.Path(st.__file__).parents[1]
        printed = []
        for name, options, path in (("with", [], [source]), ("without", ["-S"], [source, libraries])):
            code_of_run = f"{BEFORE}\nfrom siltstone._pyarrow import has_pyarrow\nassert has_pyarrow() == {name == 'with'}\n{code}"
            command = [sys.executable, *options, "-c", code_of_run, str(tmp_path / name)]
            env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
            assert done.returncode == 0, done.stderr
            assert "panicked" not in done.stderr
            printed.append(done.stdout.splitlines())
        assert len(printed[0]) > 20
        assert printed[0] == printed[1]

    return run


def test_python_values_are_stored_as_they_are_or_refused_with_and_without_pyarrow(both):
    """Without pyarrow polars took the first value's type and cut, parsed or dropped what did not fit it."""
    both(GRID)


def test_frames_with_nulls_keep_their_other_types(both):
    """One type of nothing but nulls, or a field named like it, once had the whole column cast without pyarrow."""
    both(FRAMES)


def test_columns_of_a_source_that_the_table_does_not_have_hold_all_their_values(both):
    """The first value's kind won: later ones lost a time of day or a zone, or became other values."""
    both(SOURCES)


def test_values_that_nest_without_end_are_refused(both):
    """Lists within lists ended the process, in a source's column that the table does not have."""
    both("""
t = table("ARRAY<INT>")
within, around, lists, rows = [], {}, 1, 1
within += [within, within]
around["a"] = around
for _ in range(5000):
    lists, rows = [lists], {"a": rows}
for name, value in (("within", within), ("around", around), ("lists", lists), ("rows", rows)):
    for column in ("c", "zz"):
        for given in ([{"id": 1, column: value}], {"id": [1], column: [value]}):
            for verb in ("append", "merge", "insert"):
                merge = lambda: t.merge(given, on="id").when_not_matched_insert({"id": "s.id"}).execute()
                found = outcome((lambda: t.append(given)) if verb == "append" else merge, t)
                print(name, column, verb, found)
                assert found == "SchemaMismatch"
""")
