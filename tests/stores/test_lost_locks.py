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
    from siltstone import errors

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
