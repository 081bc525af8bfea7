"""A process that was stopped sends nothing more that removes objects: others may have its lock by then."""

import multiprocessing
import os
import signal
import threading
import time

import pyarrow as pa
import pytest
import s3_server
import siltstone as st
from siltstone import errors

pytestmark = pytest.mark.stores

#: For so long a holder that cannot renew its lease goes on.
HOLDS = 12
TEXT = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
BUSY = (
    b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    % len(TEXT)
    + TEXT
)


def roll_back(location, options, told):
    t = st.open_table(location, options=options)
    told.put(os.getpid())
    try:
        t.rollback(version=1)
        told.put("done")
    except errors.StorageError as error:
        told.put(str(error))


def test_a_deletion_is_not_sent_again_after_its_process_was_stopped(cat, s3, bucket):
    """The store was busy for a moment, and the process was stopped: it went on a minute later, and deleted commits of others."""
    t = cat.create_table("db.t", {"id": "BIGINT"})
    for n in range(4):
        t.append(pa.table({"id": pa.array([n], pa.int64())}))
    deletions, holder, stopped = [], [], threading.Event()

    def when(method, path):
        if method not in ("POST", "DELETE") or "siltstone-probe" in path or "upkeep.lock" in path:
            return False
        deletions.append((method, path))
        if len(deletions) > 1:
            return False
        os.kill(holder[0], signal.SIGSTOP)
        stopped.set()
        return BUSY

    cutter = s3_server.Cutter(s3.port, when)
    spawn = multiprocessing.get_context("spawn")
    told = spawn.Queue()
    process = spawn.Process(target=roll_back, args=(t.location, s3.options(**{"s3.endpoint": cutter.url}), told))
    process.start()
    holder.append(told.get(timeout=60))
    assert stopped.wait(60)
    time.sleep(HOLDS + 1)
    os.kill(holder[0], signal.SIGCONT)
    end = told.get(timeout=60)
    process.join(60)
    cutter.close()
    # who has the lock next finishes what a record says
    assert end == "done" or "the lock of the table was lost" in end
    assert len(deletions) == 1
    assert {f"lake/db.db/t/snapshot/snapshot-{n}" for n in (1, 2, 3, 4)} <= set(s3.keys(bucket))


def test_a_table_that_is_made_where_one_was_dropped_stays(cat, s3, bucket):
    """The drop's last answer was slow: it listed the place once more, and deleted the table that others had made there meanwhile."""
    cat.create_table("db.t", {"id": "BIGINT"}).append([{"id": 1}])
    made = []

    def make():
        made.append(cat.create_table("db.t", {"id": "BIGINT"}).append([{"id": 7}]))

    def when(method, path):
        return make if method == "DELETE" and "upkeep.lock" in path and not made else False

    cutter = s3_server.Cutter(s3.port, when)
    there = st.connect(f"s3://{bucket}/lake", options=s3.options(**{"s3.endpoint": cutter.url}))
    there.drop_table("db.t")
    cutter.close()
    assert len(made) == 1
    assert cat.table("db.t").scan().to_arrow().to_pylist() == [{"id": 7}]
    assert cat.table("db.t").maintenance.fsck().ok


def through(s3, bucket, when):
    """A catalog behind a proxy."""
    cutter = s3_server.Cutter(s3.port, when)
    return cutter, st.connect(f"s3://{bucket}/lake", options=s3.options(**{"s3.endpoint": cutter.url}))


def test_a_schema_that_was_taken_away_does_not_come_back_when_its_alter_decides(cat, s3, bucket):
    """The put hung in the network until the lock had ended: a first commit had taken the schema away, and its rows were hidden."""
    columns = {"k": "INT", "v": "INT"}
    cat.create_table("db.t", columns, primary_key=["k", "v"], options={"bucket": 4, "bucket-key": "k"})
    key, puts = "lake/db.db/t/schema/schema-1", []

    def when(method, path):
        if method == "PUT" and path.partition("?")[0].endswith("/schema/schema-1"):
            puts.append(path)
            if len(puts) == 2:  # the one that decides
                s3.delete(bucket, key)
        return False

    cutter, there = through(s3, bucket, when)
    with pytest.raises(errors.SiltstoneError):
        there.table("db.t").alter().set_option("bucket-key", "v").commit()
    cutter.close()
    assert len(puts) == 2
    assert key not in s3.keys(bucket)
    cat.table("db.t").upsert([{"k": 1, "v": 2}])
    assert cat.table("db.t").options["bucket-key"] == "k"
    assert cat.table("db.t").scan(filter="k = 1").to_arrow().num_rows == 1


def test_a_tag_that_was_deleted_does_not_come_back_when_it_is_replaced(cat, s3, bucket):
    """The same of a tag: what it keeps may be gone by then."""
    t = cat.create_table("db.t", {"id": "BIGINT"})
    for n in range(2):
        t.append([{"id": n}])
    t.tags.create("a", version=1)
    key, puts = "lake/db.db/t/tag/tag-a", []

    def when(method, path):
        if method == "PUT" and path.partition("?")[0].endswith("/tag/tag-a"):
            puts.append(path)
            s3.delete(bucket, key)
        return False

    cutter, there = through(s3, bucket, when)
    with pytest.raises(errors.CommitConflict):
        there.table("db.t").tags.replace("a", version=2)
    cutter.close()
    assert puts
    assert key not in s3.keys(bucket)


def test_an_answer_is_lost_where_a_tag_is_replaced(cat, s3, bucket):
    """The next try finds another object than the one that was read, which is its own."""
    t = cat.create_table("db.t", {"id": "BIGINT"})
    for n in range(2):
        t.append([{"id": n}])
    t.tags.create("a", version=1)
    puts = []

    def when(method, path):
        if method == "PUT" and path.partition("?")[0].endswith("/tag/tag-a"):
            puts.append(path)
            return len(puts) == 1
        return False

    cutter, there = through(s3, bucket, when)
    there.table("db.t").tags.replace("a", version=2)
    cutter.close()
    assert len(puts) == 2
    assert cat.table("db.t").scan(tag="a").to_arrow().num_rows == 2
