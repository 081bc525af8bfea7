"""Ray Data and compaction on Ray, by the real library."""

import pathlib
import pickle
import re

import pytest
import siltstone as st
from siltstone.errors import InvalidArgument, SchemaMismatch, UnsupportedFeature

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'siltstone[ray]'")
from ray.data.expressions import col, lit  # noqa: E402
from siltstone import ray as sr  # noqa: E402

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture
def t(cat):
    """Two partitions with two buckets each, in two runs that have keys in common."""
    t = cat.create_table(
        "db.t", "dt STRING, id BIGINT, v INT, PRIMARY KEY (dt, id)", partition_by="dt", options={"bucket": "2"}
    )
    t.append([{"dt": dt, "id": i, "v": 0} for dt in "ab" for i in range(20)])
    t.append([{"dt": "a", "id": i, "v": 1} for i in range(10)])
    return t


def rows(ds):
    return sorted(ds.take_all(), key=lambda row: [str(v) for v in row.values()])


def of(table):
    return sorted(table.to_pylist(), key=lambda row: [str(v) for v in row.values()])


def test_read(t):
    assert rows(sr.read(t)) == of(t)
    assert rows(sr.read(t.location, ["v", "id"], "dt = 'a'", version=1)) == of(
        t.scan(["v", "id"], "dt = 'a'", version=1)
    )
    assert sr.read(t, limit=7).count() == 7
    assert sr.read(t).count() == 40


def test_columns_and_conditions_go_into_the_scan(t, monkeypatch):
    asked = []
    narrowed = st.Scan.narrowed
    monkeypatch.setattr(st.Scan, "narrowed", lambda scan, **how: asked.append(how) or narrowed(scan, **how))
    ds = sr.read(t).filter(expr=(col("dt") == lit("b")) & (col("v") + lit(1) == lit(1))).select_columns(["id"])
    assert [row["id"] for row in rows(ds)] == sorted(range(20), key=str)
    assert [how["columns"] for how in asked if "columns" in how][-1] == ["dt", "id", "v"]
    known = [how["condition"] for how in asked if how.get("condition")][-1]
    assert known["args"] == [{"op": "eq", "column": "dt", "value": "b"}]


def test_batches_are_what_training_takes(t):
    total = sum(int(batch["v"].sum()) for batch in sr.read(t, ["v"]).iter_batches(batch_size=16, batch_format="numpy"))
    assert total == 10


@pytest.mark.parametrize("bucket", ["2", "-1", "-2"])
def test_upsert(cat, bucket):
    t = cat.create_table("db.u", "id BIGINT, v INT, PRIMARY KEY (id)", options={"bucket": bucket})
    t.upsert([{"id": i, "v": 0} for i in range(50)])
    ds = ray.data.from_items([{"id": i, "v": i} for i in range(40, 90)], override_num_blocks=4)
    assert sr.write(ds, t, mode="upsert").rows == 50
    assert t.snapshot().id == 2 or bucket != "2"
    t.compact()
    assert {row["id"]: row["v"] for row in t} == {i: i if i >= 40 else 0 for i in range(90)}
    assert t.maintenance.fsck(deep=True).ok


def test_append_and_overwrite(cat):
    t = cat.create_table("db.a", "dt STRING, n INT", partition_by="dt")
    items = [{"dt": dt, "n": n} for dt in "xy" for n in range(5)]
    assert sr.write(ray.data.from_items(items, override_num_blocks=3), t).rows == 10
    assert t.snapshot().id == 1
    sr.write(ray.data.from_items([{"dt": "x", "n": 7}]), t, mode="overwrite-partitions")
    assert of(t) == of(t.scan()) == [{"dt": "x", "n": 7}, *items[5:]]
    sr.write(ray.data.from_items([{"dt": "z", "n": 1}]), t, mode="overwrite")
    assert of(t) == [{"dt": "z", "n": 1}]


def test_a_task_that_fails_leaves_nothing(cat):
    for name, bucket in (("db.a", None), ("db.b", "2")):
        options = {"bucket": bucket, "bucket-key": "n"} if bucket else {}
        t = cat.create_table(name, "n INT NOT NULL, s STRING", options=options)
        bad = ray.data.from_items(
            [{"n": i, "s": "x" if i else None, "more": 1} for i in range(10)], override_num_blocks=2
        )
        with pytest.raises(SchemaMismatch, match="more"):
            sr.write(bad, t)
        assert t.snapshot() is None
        assert t.maintenance.remove_orphan_files(older_than="0 s").deleted_files == 0


def test_compact(t):
    report = sr.compact(t, full=True)
    assert (report.tasks, report.snapshot.kind) == (4, "COMPACT")
    assert {f["level"] for f in t.files()} == {5}
    assert t.count() == 40
    assert sr.compact(t.location, full=True, where="dt = 'a'").tasks == 0


def test_bad_input_gets_a_reason(cat, t):
    ds = ray.data.from_items([{"n": 1}])
    append = cat.create_table("db.x", {"n": int})
    for error, match, attempt in (
        (InvalidArgument, "not a table", lambda: sr.read(5)),
        (InvalidArgument, "not one of", lambda: sr.write(ds, append, mode="replace")),
        (InvalidArgument, "no primary key", lambda: sr.write(ds, append, mode="upsert")),
        (UnsupportedFeature, "only read", lambda: sr.write(ds, f"{t.location}$files")),
        (UnsupportedFeature, "no splits", lambda: sr.read(f"{t.location}$files").take_all()),
    ):
        with pytest.raises(error, match=match):
            attempt()


def test_sources_pickle(t):
    from siltstone._ray_data import SplitSource

    source = pickle.loads(pickle.dumps(SplitSource(t.scan())))
    assert sum(block.num_rows for task in source.get_read_tasks(2) for block in task()) == 40


def test_the_block_of_the_docs_runs(cat):
    page = (pathlib.Path(__file__).parents[2] / "docs" / "everyday.md").read_text(encoding="utf-8")
    block = next(block for block in re.findall(r"```py\n(.*?)```", page, re.DOTALL) if "ray" in block)
    orders = cat.create_table(
        "db.orders", "dt STRING, id BIGINT, item STRING, n INT, PRIMARY KEY (dt, id)", partition_by="dt"
    )
    orders.upsert([{"dt": "a", "id": n, "item": "x", "n": n} for n in range(4)])
    exec(compile(block, "everyday.md", "exec"), {"orders": orders})
    assert orders.count() == 5
