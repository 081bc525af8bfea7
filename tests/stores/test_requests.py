"""What commits and reads cost on a store, in requests, and that history does not count."""

import pyarrow as pa
import pytest

pytestmark = pytest.mark.stores

#: Of a commit of one bucket by an open table: a data file, a manifest, two lists, the snapshot and its hint are put; what else there
#: is, the protocol and the upkeep after a commit ask for. It is to be 12.
COMMIT = 36
#: Of reading a table with two data files that another process has written.
READ = 16


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
