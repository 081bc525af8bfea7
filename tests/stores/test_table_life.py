"""The whole life of tables on S3: what they do on a local disk they do there."""

import pickle

import pyarrow as pa
import pytest
import siltstone as st
from siltstone.errors import DatabaseNotFound, TableExists, TableNotFound, UnsupportedFeature

pytestmark = pytest.mark.stores

SCHEMA = {"id": "BIGINT NOT NULL", "v": "STRING"}


def rows(*pairs):
    ids, values = pa.array([i for i, _ in pairs], pa.int64()), pa.array([v for _, v in pairs], pa.string())
    return pa.table({"id": ids, "v": values})


def content(t, **query):
    return sorted((r["id"], r["v"]) for r in t.scan(**query).to_arrow().to_pylist())


def keyed(cat, name="t", **options):
    options = {key.replace("_", "-"): value for key, value in options.items()}
    return cat.create_table(f"db.{name}", SCHEMA, primary_key=["id"], options={"bucket": "1", **options})


@pytest.mark.parametrize(
    "options",
    [{}, {"changelog_producer": "lookup"}, {"deletion-vectors.enabled": "true"}],
    ids=["merge", "lookup", "vectors"],
)
def test_a_table_with_keys_from_creation_to_its_end(cat, s3, bucket, options):
    t = keyed(cat, **options)
    t.upsert(rows((1, "a"), (2, "b")))
    t.upsert(rows((2, "B"), (3, "c")))
    assert content(t) == [(1, "a"), (2, "B"), (3, "c")]
    t.compact(full=True)
    t.delete("id = 1")
    assert content(t) == [(2, "B"), (3, "c")]

    t.tags.create("v1")
    t.upsert(rows((9, "z")))
    assert content(t, tag="v1") == [(2, "B"), (3, "c")]
    t.branches.create("dev", tag="v1")
    dev = cat.table("db.t$branch_dev")
    dev.upsert(rows((7, "dev")))
    assert content(dev) == [(2, "B"), (3, "c"), (7, "dev")]
    assert t.maintenance.fsck(deep=True).ok

    t.branches.delete("dev")
    t.rollback(tag="v1")
    assert content(t) == [(2, "B"), (3, "c")]
    for n in range(3):
        t.upsert(rows((n, str(n))))
    assert t.expire_snapshots(retain_max=1).snapshots
    t.tags.delete("v1")
    assert content(t) == [(0, "0"), (1, "1"), (2, "2"), (3, "c")]

    orphan = "lake/db.db/t/bucket-0/data-00000000-0000-0000-0000-000000000000-0.parquet"
    s3.put(bucket, orphan, b"x")
    t.maintenance.remove_orphan_files(older_than="0 s", dry_run=False)
    assert orphan not in s3.keys(bucket)
    assert t.maintenance.fsck(deep=True).ok
    assert content(t) == [(0, "0"), (1, "1"), (2, "2"), (3, "c")]

    cat.drop_table("db.t")
    assert cat.tables("db") == [] and s3.keys(bucket, "lake/db.db/t/") == []
    with pytest.raises(TableNotFound):
        t.upsert(rows((1, "after")))


def test_an_append_table(cat):
    t = cat.create_table("db.a", {"dt": "STRING", "id": "BIGINT", "v": "STRING"}, partition_by=["dt"])
    for n in range(3):
        t.append(pa.table({"dt": ["x", "y"], "id": pa.array([n, n + 10], pa.int64()), "v": ["a", "b"]}))
    assert t.scan(filter="dt = 'x'").to_arrow().num_rows == 3
    t.compact(full=True)
    t.delete("id = 1")
    t.overwrite(pa.table({"dt": ["y"], "id": pa.array([5], pa.int64()), "v": ["only"]}), partition={"dt": "y"})
    found = {(r["dt"], r["id"]) for r in t.scan().to_arrow().to_pylist()}
    assert found == {("x", 0), ("x", 2), ("y", 5)}
    assert t.maintenance.fsck(deep=True).ok


def test_changes_and_consumers(cat):
    t = keyed(cat, changelog_producer="lookup")
    t.upsert(rows((1, "a")))
    t.upsert(rows((1, "b")))
    kinds = [r["rowkind"] for batch in t.changes(consumer="c") for r in batch.to_pylist()]
    assert kinds == ["+I", "-U", "+U"]
    t.upsert(rows((2, "c")))
    assert [r["id"] for batch in t.changes(consumer="c") for r in batch.to_pylist()] == [2]
    assert t.maintenance.expire_consumers(older_than="1 h").deleted_files == 0
    t.maintenance.expire_consumers(older_than="0 s")
    assert t.consumers.list() == []


def test_a_large_file_goes_in_parts_and_is_not_seen_before_its_end(cat, s3, bucket):
    t = cat.create_table("db.big", {"id": "BIGINT", "b": "BYTES"}, options={"bucket": "-1", "file.compression": "none"})
    import random

    data = [random.Random(n).randbytes(1 << 20) for n in range(20)]
    with t.writer() as w:
        w.write(pa.table({"id": pa.array(range(20), pa.int64()), "b": data}))
        w.commit()
    assert any("uploadId" in r for r in s3.requests())
    assert t.scan().to_arrow().column("b").to_pylist() == data


def test_databases_are_markers_and_go(cat, s3, bucket):
    assert cat.databases() == ["db"] and s3.keys(bucket) == ["lake/db.db/"]
    with pytest.raises(DatabaseNotFound):
        cat.create_table("nope.t", SCHEMA)
    keyed(cat)
    with pytest.raises(TableExists):
        keyed(cat)
    cat.drop_database("db", cascade=True)
    assert cat.databases() == [] and s3.keys(bucket) == []


def test_what_a_store_cannot_do_safely_is_refused(cat):
    t = keyed(cat)
    t.upsert(rows((1, "a")))
    t.branches.create("b")
    for rename in (lambda: cat.rename_table("db.t", "db.u"), lambda: t.branches.rename("b", "c")):
        with pytest.raises(UnsupportedFeature, match="renaming on an object store"):
            rename()
    assert cat.tables("db") == ["t"] and t.branches.exists("b")


def test_files_that_a_dropped_table_left_are_not_taken_for_those_of_a_new_one(cat, s3, bucket):
    """A writer that was held up puts its snapshot where the table was: a new table would begin with it."""
    s3.put(bucket, "lake/db.db/t/snapshot/snapshot-7", b"{}")
    with pytest.raises(TableExists, match="dropped table"):
        keyed(cat)


def test_handles_travel_without_secrets(cat, s3, bucket):
    """In this process the options of the warehouse are known; another one has them from its environment."""
    t = keyed(cat)
    t.upsert(rows((1, "a")))
    texts = [repr(cat), repr(t), str(t.options), str(t.dynamic_options), str(cat._options)]
    for made in (cat, t, t.scan(), *t.scan().splits()):
        data = pickle.dumps(made)
        assert b"test-secret-value" not in data and b"test-key" not in data
        assert pickle.loads(data) is not None
    assert not any("test-secret-value" in text or "test-key" in text for text in texts)
    assert content(pickle.loads(pickle.dumps(t))) == [(1, "a")]
    assert content(st.open_table(f"s3://{bucket}/lake/db.db/t", options=s3.options())) == [(1, "a")]
