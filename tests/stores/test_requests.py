"""What commits and reads cost on a store, in requests, and that history does not count."""

import pathlib

import pyarrow as pa
import pytest
import siltstone as st

pytestmark = pytest.mark.stores

#: Of a commit of one bucket by an open table. Six are what it puts: a data file, a manifest, two lists, the snapshot and its hint. The
#: others, in their order: the records of removals (a listing), the newest snapshot (hint, is there a next one, itself), the writer's
#: schema and whether it is the newest; right before publishing the schema; after it the snapshot as it is there, the records, the
#: snapshot that it was built on, whether one follows, the schema; and after the hint whether it is right (2).
COMMIT = 20
#: Of reading a table with two data files that another process has written.
READ = 16
#: Of planning a read by an open table, besides one for each manifest: the newest schema (2), records, the newest snapshot (3), two lists,
#: and the schema again, whether it is the same table still.
PLAN = 9


def test_a_commit_and_a_read_need_so_many_requests_whatever_was_before(cat, s3):
    t = cat.create_table("db.t", {"id": "BIGINT"}, options={"bucket": "-1"})
    counts, reads = [], []
    for n in range(14):
        s3.requests()
        t.append(pa.table({"id": pa.array([n], pa.int64())}))
        counts.append(len(s3.requests()))
        if n == 1:
            assert t.scan().to_arrow().num_rows == 2
            reads.append(len(s3.requests()))
    # from more than `snapshot.num-retained.min` snapshots on an expiry looks at the age of the oldest one
    assert counts[-1] == counts[-2] == counts[-3] <= COMMIT, counts
    assert reads[0] <= READ, reads


def test_planning_a_read_asks_for_manifests_and_not_for_files(cat, s3, bucket, tmp_path):
    """A table of many files, of which only the metadata is on the store."""
    (tmp_path / "lake").mkdir()
    local = st.connect(tmp_path / "lake")
    local.create_database("db")
    schema, options = {"id": "BIGINT", "p": "INT"}, {"bucket": "-1", "write-only": "true"}
    t = local.create_table("db.many", schema, partition_by=["p"], options=options)
    for first in (0, 200, 400):
        ids = range(first, first + 200)
        t.append(pa.table({"id": pa.array(ids, pa.int64()), "p": pa.array(ids, pa.int32())}))

    def planned(name):
        root = pathlib.Path(t.location.removeprefix("file:"))
        for file in root.rglob("*"):
            if file.parent.name in ("schema", "snapshot", "manifest"):
                s3.put(bucket, f"lake/db.db/{name}/{file.relative_to(root)}", file.read_bytes())
        there = cat.table(f"db.{name}")
        s3.requests()
        assert len(there.scan().splits()) == 600
        return len(s3.requests())

    assert planned("three") <= PLAN + 3
    t.maintenance.compact_manifests()
    assert planned("packed") <= PLAN + 1
