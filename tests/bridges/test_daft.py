"""Daft, by the real library."""

import datetime as dt
import decimal
import pathlib
import pickle
import re

import pytest
import siltstone as st
from siltstone.errors import InvalidArgument, SchemaMismatch, SnapshotNotFound, TagNotFound, UnsupportedFeature

daft = pytest.importorskip("daft", reason="Daft is not installed: pip install 'siltstone[daft]'")
from daft import col, lit  # noqa: E402
from siltstone import daft as sd  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
D = decimal.Decimal


@pytest.fixture
def t(cat):
    t = cat.create_table(
        "db.t",
        "p STRING, id BIGINT, v INT, day DATE, ok BOOLEAN, PRIMARY KEY (p, id)",
        partition_by="p",
        options={"bucket": "2"},
    )
    t.append(
        [
            {"p": p, "id": i, "v": i % 5 or None, "day": dt.date(2026, 1, 1 + i), "ok": i > 9}
            for p in "ab"
            for i in range(20)
        ]
    )
    t.append([{"p": "a", "id": i, "v": -1} for i in range(10)])
    return t


def of(rows):
    return sorted(rows, key=lambda row: [str(v) for v in row.values()])


def test_read(t):
    assert of(sd.read(t).to_pylist()) == of(t.to_pylist())
    assert of(sd.read(t.location, ["v", "id"], "p = 'a'", version=1).to_pylist()) == of(
        t.scan(["v", "id"], "p = 'a'", version=1).to_pylist()
    )
    assert sd.read(t).count_rows() == 40
    assert len(sd.read(t).limit(7).to_pylist()) == 7
    assert len(sd.read(t, limit=7).to_pylist()) == 7


CONDITIONS = {
    "p = 'b'": col("p") == lit("b"),
    "id > 3 AND v < 3": (col("id") > 3) & (col("v") < 3),
    "10 <= id": lit(10) <= col("id"),
    "id IN (1, 2) OR p = 'b'": col("id").is_in([1, 2]) | (col("p") == "b"),
    "NOT (id = 1)": ~(col("id") == 1),
    "NOT (v = 1)": ~(col("v") == 1),
    "v IS NULL": col("v").is_null(),
    "v IS NOT NULL AND day = DATE '2026-01-03'": col("v").not_null() & (col("day") == dt.date(2026, 1, 3)),
    "id BETWEEN 3 AND 5": col("id").between(3, 5),
    "ok": col("ok"),
    "id <> 0 AND id < 5": (col("id") + 1 != 1) & (col("id") < 5),
    "id = 2 OR id = 5": (col("id") * 1 == 2) | (col("id") == 5),
}


@pytest.mark.parametrize("sql", CONDITIONS)
def test_conditions_keep_the_rows_that_they_mean(t, sql):
    assert of(sd.read(t).where(CONDITIONS[sql]).to_pylist()) == of(t.scan(filter=sql).to_pylist())


def test_conditions_mean_the_same_beside_nulls_and_odd_values(cat):
    t = cat.create_table("db.odd", {"k": int, "f": float})
    t.append([{"k": k, "f": f} for k, f in enumerate((0.5, float("nan"), -0.0, 0.0, None, 2.0))])
    f, whole = col("f"), daft.from_arrow(t.to_arrow())
    for condition in (f > 0, ~(f > 0), f >= 0.0, ~(f >= 0.0), f < 1, ~(f < 1), f == 0.0, f != 0.0, ~(f != 0.0), f.is_in([0.0, 2.0]),
                      ~f.is_in([0.5]), f == float("nan"), f != float("nan"), ~f.is_null()):  # fmt: skip
        read = sd.read(t).where(condition).to_pydict()["k"]
        assert sorted(read) == sorted(whole.where(condition).to_pydict()["k"]), condition


DAY, NOON, UTC = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 12), dt.UTC
KINDS = {
    "id": "INT", "l": "BIGINT", "f": "FLOAT", "x": "DOUBLE", "p": "DECIMAL(5,2)", "q": "DECIMAL(38,20)", "s": "STRING", "b": "BYTES",
    "ok": "BOOLEAN", "d": "DATE", "at": "TIME(3)", "t0": "TIMESTAMP(0)", "t3": "TIMESTAMP(3)", "t6": "TIMESTAMP(6)", "z": "TIMESTAMP_LTZ(3)",
}  # fmt: skip
OF_KINDS = [
    {"id": 0, "l": 2**53 + 1, "f": 0.5, "x": 2.0**53, "p": D("0"), "q": D("4.99999999999999999999"), "s": "10", "b": b"a", "ok": True,
     "d": DAY, "at": dt.time(12), "t0": NOON, "t3": NOON, "t6": NOON, "z": NOON.replace(tzinfo=UTC)},
    {"id": 10, "l": 5, "f": 0.1, "x": 0.1, "p": D("0.10"), "q": D(5), "s": "9", "b": b"", "ok": False, "d": dt.date(1970, 1, 1),
     "at": dt.time(0), "t0": dt.datetime(2024, 1, 1), "t3": dt.datetime(2024, 1, 1), "t6": dt.datetime(2024, 1, 2), "z": None},
    {"id": 7},
]  # fmt: skip
LITERALS = [
    0, 5, 10, -0.0, 0.0, 0.1, 0.5, 2**53 + 1, 2.0**53, D("0"), D("0.1"), D("0.10"), D("0.101"), D(5), "9", "10", b"a", True, DAY,
    dt.date(2024, 1, 2), NOON, dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 0, 0, 0, 1), NOON.replace(tzinfo=UTC), dt.time(12),
]  # fmt: skip
FORMS = {
    "=": lambda c, v: c == v,
    "<": lambda c, v: c < v,
    ">=": lambda c, v: c >= v,
    "NOT >": lambda c, v: ~(c > v),
    "IN": lambda c, v: c.is_in([v]),
    "BETWEEN": lambda c, v: c.between(v, v),
    "AND": lambda c, v: (c <= v) & (col("id") >= 0),
}


@pytest.mark.parametrize("column", KINDS)
def test_values_of_another_type_are_compared_by_daft_alone(cat, column):
    """A day holds all times of it there, -0.0 is below 0, a time is cut to the unit of the column: rows were lost."""
    t = cat.create_table("db.kinds", KINDS)
    t.append(OF_KINDS)
    # times of 32 bits are objects of Python in a frame of Arrow rows
    whole = t.to_arrow()
    at = whole.schema.get_field_index("at")
    frame = daft.from_arrow(whole.set_column(at, "at", whole["at"].cast("time64[us]")))
    read, compared = sd.read(t), 0
    for value in LITERALS:
        together = []
        for form, condition in FORMS.items():
            try:
                found = frame.where(condition(col(column), value)).select("id").to_pydict()["id"]
            except Exception as error:
                assert "Daft" in type(error).__name__, (value, form)
                continue
            together.append((form, sorted(found)))
        for form, expected in together:
            found = read.where(FORMS[form](col(column), value)).select("id").to_pydict()["id"]
            assert sorted(found) == expected, (value, form)
            compared += 1
    assert compared > 6


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("TIME(0)", dt.time(1, 2, 3)),
        ("TIME(3)", dt.time(1, 2, 3, 4000)),
        ("ROW<at TIME(3), n INT>", {"at": dt.time(1, 2, 3), "n": 1}),
        ("ARRAY<TIME(3)>", [dt.time(1), None]),
        ("MAP<STRING, TIME(0)>", [("a", dt.time(1))]),
        ("ARRAY<ROW<at TIME(3)>>", [{"at": dt.time(1)}]),
    ],
)
def test_times_of_day_are_read_and_written(cat, kind, value):
    """A table with such a column could not be read at all: Daft has no times of 32 bits."""
    t = cat.create_table("db.times", {"id": "INT", "c": kind})
    t.append([{"id": 1, "c": value}, {"id": 2, "c": None}])
    expected = {1: value, 2: None}
    for frame in (sd.read(t), sd.read(t).where(col("id") < 5), sd.read(t, limit=2)):
        assert {row["id"]: shaped(row["c"]) for row in frame.to_pylist()} == {i: shaped(v) for i, v in expected.items()}
    assert sd.read(t).where(col("id") == 2).select("id").to_pydict() == {"id": [2]}
    copy = cat.create_table("db.copy", {"id": "INT", "c": kind})
    assert sd.write(sd.read(t), copy).rows == 2
    assert of(copy.to_pylist()) == of(t.to_pylist())


def shaped(value):
    """Maps are dicts or lists of pairs."""
    return sorted(value.items()) if isinstance(value, dict) else value


def test_columns_and_conditions_go_into_the_scan(t, monkeypatch):
    asked = []
    narrowed = st.Scan.narrowed
    monkeypatch.setattr(st.Scan, "narrowed", lambda scan, **how: asked.append(how) or narrowed(scan, **how))
    frame = sd.read(t)
    one = frame.where((col("p") == "b") & (col("id") % 2 == 1)).select("v")
    other = frame.where(col("p") == "a").select("id")
    assert len(one.to_pylist()) == 10
    conditions = [how["condition"] for how in asked if how.get("condition")]
    assert "'column': 'p'" in str(conditions[-1])
    assert "v" in [how["columns"] for how in asked if "columns" in how][-1]
    assert "day" not in [how["columns"] for how in asked if "columns" in how][-1]
    assert len(other.to_pylist()) == 20, "frames of one source do not share their conditions"


@pytest.mark.parametrize("bucket", ["2", "-1", "-2"])
def test_upsert(cat, bucket):
    t = cat.create_table("db.u", "id BIGINT, v INT, PRIMARY KEY (id)", options={"bucket": bucket})
    t.upsert([{"id": i, "v": 0} for i in range(50)])
    frame = daft.from_pydict({"id": list(range(40, 90)), "v": list(range(40, 90))}).into_partitions(3)
    assert sd.write(frame, t, mode="upsert").rows == 50
    t.compact()
    assert {row["id"]: row["v"] for row in t} == {i: i if i >= 40 else 0 for i in range(90)}
    assert t.maintenance.fsck(deep=True).ok


def test_append_and_overwrite(cat):
    t = cat.create_table("db.a", "p STRING, n INT", partition_by="p")
    data = {"p": list("xxyy"), "n": [1, 2, 3, 4]}
    assert sd.write(daft.from_pydict(data).into_partitions(2), t).rows == 4
    assert t.snapshot().id == 1
    sd.write(daft.from_pydict({"p": ["x"], "n": [7]}), t, mode="overwrite-partitions")
    assert sorted(row["n"] for row in t) == [3, 4, 7]
    sd.write(daft.from_pydict({"p": ["z"], "n": [1]}), t, mode="overwrite")
    assert t.to_pylist() == [{"p": "z", "n": 1}]


def test_a_write_that_fails_leaves_nothing(cat):
    for name, options in (("db.a", {}), ("db.b", {"bucket": "2", "bucket-key": "n"})):
        t = cat.create_table(name, "n INT, s STRING", options=options)
        with pytest.raises(SchemaMismatch, match="more"):
            sd.write(daft.from_pydict({"n": [1, 2], "more": [1, 1]}), t)
        assert t.snapshot() is None
        assert t.maintenance.remove_orphan_files(older_than="0 s").deleted_files == 0


def test_bad_input_gets_a_reason(cat, t):
    frame = daft.from_pydict({"n": [1]})
    append = cat.create_table("db.x", {"n": int})
    for error, match, attempt in (
        (InvalidArgument, "not a table", lambda: sd.read(5)),
        (InvalidArgument, "not one of", lambda: sd.write(frame, append, mode="replace")),
        (InvalidArgument, "no primary key", lambda: sd.write(frame, append, mode="upsert")),
        (UnsupportedFeature, "only read", lambda: sd.write(frame, f"{t.location}$files")),
    ):
        with pytest.raises(error, match=match):
            attempt()


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"columns": ["nope"]}, InvalidArgument),
        ({"filter": "nope > 1"}, InvalidArgument),
        ({"filter": "id >"}, InvalidArgument),
        ({"version": 99}, SnapshotNotFound),
        ({"tag": "nope"}, TagNotFound),
    ],
    ids=str,
)
def test_a_scan_that_cannot_be_is_no_panic_of_daft(t, asked, error):
    """Daft asked for the columns while it planned; the error was a PanicException, which is no Exception."""
    with pytest.raises(error):
        sd.read(t, **asked)


def test_frames_of_daft_go_in_as_they_are(cat):
    t = cat.create_table("db.x", {"n": int, "s": str})
    assert t.append(daft.from_pydict({"n": [1, 2], "s": ["a", None]})).rows == 2


def test_sources_pickle(t):
    from siltstone._daft_data import ScanSource

    assert pickle.loads(pickle.dumps(ScanSource(t.scan()))).read().count_rows() == 40


def test_the_block_of_the_docs_runs(cat):
    page = (pathlib.Path(__file__).parents[2] / "docs" / "everyday.md").read_text(encoding="utf-8")
    block = next(block for block in re.findall(r"```py\n(.*?)```", page, re.DOTALL) if "daft" in block)
    orders = cat.create_table(
        "db.orders", "dt STRING, id BIGINT, item STRING, n INT, PRIMARY KEY (dt, id)", partition_by="dt"
    )
    orders.upsert([{"dt": "a", "id": n, "item": "x", "n": n} for n in range(4)])
    exec(compile(block, "everyday.md", "exec"), {"orders": orders})
    assert orders.count() == 5
