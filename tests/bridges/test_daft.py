"""Daft, by the real library."""

import datetime as dt
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
