"""A process that is forked while an expiry runs: the lock of the table is its parent's, and ends with its parent."""

import os
import signal
import subprocess
import sys

import pytest
import siltstone as st
from siltstone import errors as e

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

# an expiry that holds the lock logs a warning, because its hint cannot be written; there it is stopped for good
PARENT = """
import logging, multiprocessing, os, sys, threading, time
import siltstone as st

stopped = threading.Event()

class Stop(logging.Handler):
    def emit(self, record):
        stopped.set()
        time.sleep(600)

def child():
    print(os.getpid(), flush=True)
    time.sleep(600)

logging.getLogger("siltstone").addHandler(Stop())
t = st.open_table(sys.argv[1])
threading.Thread(target=t.maintenance.expire_snapshots, kwargs={"retain_max": 1}, daemon=True).start()
assert stopped.wait(60)
if sys.argv[2] == "os.fork":
    if os.fork() == 0:
        child()
else:
    multiprocessing.get_context("fork").Process(target=child).start()
time.sleep(600)
"""


@pytest.mark.parametrize("how", ["os.fork", "multiprocessing"])
def test_a_forked_process_does_not_keep_the_lock_of_its_killed_parent(make, how):
    t = make({"id": "INT"}, siltstone__upkeep_lock_timeout="0 ms", write_only="true")
    for n in range(3):
        t.append([{"id": n}])
    os.makedirs(f"{t.location}/siltstone/LATEST")
    command = [sys.executable, "-W", "ignore", "-c", PARENT, t.location, how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        try:
            child = int(parent.stdout.readline())
            with pytest.raises(e.UpkeepRunning):  # the fork has taken nothing from the parent
                t.maintenance.expire_snapshots(retain_max=1)
        finally:
            os.kill(parent.pid, signal.SIGKILL)
            parent.wait()
        try:
            t.maintenance.expire_snapshots(retain_max=1)
            os.kill(child, 0)  # it lives
        finally:
            os.kill(child, signal.SIGKILL)
    assert sorted(name for name in os.listdir(f"{t.location}/snapshot") if name.startswith("snapshot-")) == [
        "snapshot-3"
    ]
    assert t.scan().count() == 3
    assert st.open_table(t.location).maintenance.fsck(deep=True).ok
