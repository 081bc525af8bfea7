"""Several processes that commit to one table on S3: each snapshot id has one winner, and what was reported is there."""

import multiprocessing
import time

import pyarrow as pa
import pytest
import siltstone as st

pytestmark = pytest.mark.stores

WRITERS, COMMITS = 4, 8


def write(location, options, number, reports):
    t = st.open_table(location, options=options)
    for n in range(COMMITS):
        report = t.append(pa.table({"id": pa.array([number * 1000 + n], pa.int64())}))
        reports.put((number * 1000 + n, [s.id for s in report.snapshots]))


def test_what_is_reported_is_there(cat, s3, bucket):
    options = {
        "bucket": "-1",
        "commit.max-retries": "200",
        "commit.max-retry-wait": "1 s",
        "snapshot.num-retained.min": "500",
    }
    t = cat.create_table("db.t", {"id": "BIGINT"}, options={**options, "snapshot.num-retained.max": "500"})
    spawn = multiprocessing.get_context("spawn")
    reports = spawn.Queue()
    jobs = [spawn.Process(target=write, args=(t.location, s3.options(), n, reports)) for n in range(WRITERS)]
    [job.start() for job in jobs]
    told = [reports.get(timeout=240) for _ in range(WRITERS * COMMITS)]
    [job.join(60) for job in jobs]
    ids = [i for _, snapshots in told for i in snapshots]
    assert len(ids) == len(set(ids)) == WRITERS * COMMITS
    assert sorted(t.scan().to_arrow().column("id").to_pylist()) == sorted(row for row, _ in told)
    assert [s.id for s in t.history(limit=None)] == list(range(len(ids), 0, -1))


def forked(location, reports):
    t = st.open_table(location)
    t.append(pa.table({"id": pa.array([2], pa.int64())}))
    reports.put(t.scan().to_arrow().num_rows)


def test_a_child_of_a_fork_starts_its_own_connections(cat):
    """Connections and their threads stay with the parent; the options of the warehouse are known in the child."""
    t = cat.create_table("db.f", {"id": "BIGINT"})
    t.append(pa.table({"id": pa.array([1], pa.int64())}))
    fork = multiprocessing.get_context("fork")
    reports = fork.Queue()
    child = fork.Process(target=forked, args=(t.location, reports))
    child.start()
    assert reports.get(timeout=60) == 2
    child.join(60)
    assert t.scan().to_arrow().num_rows == 2


def hold(location, options, told):
    from siltstone import errors

    t = st.open_table(location, options=options)
    told.put("begun")
    try:
        t.rollback(version=1)
    except errors.SiltstoneError as e:
        told.put(type(e).__name__)
        raise


def test_a_lock_whose_holder_has_died_is_taken_over(cat, s3, bucket):
    """Half a minute later, by watching that its object does not change; until then nobody has it."""
    t = cat.create_table("db.l", {"id": "BIGINT"})
    for n in range(2):
        t.append(pa.table({"id": pa.array([n], pa.int64())}))
    # what a holder leaves that is killed
    s3.put(bucket, "lake/db.db/l/siltstone/upkeep.lock.00000000000000000007", b"somebody")
    begun = time.monotonic()
    t.rollback(version=1)
    assert 20 < time.monotonic() - begun < 60
    assert t.scan().to_arrow().num_rows == 1
    [lock] = [key for key in s3.keys(bucket) if "upkeep.lock" in key]
    assert lock.endswith("08") and s3.get(bucket, lock) == b""
