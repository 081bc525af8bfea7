"""Expressions about a table, in a process of their own that has only so much memory."""

import os
import subprocess
import sys
import textwrap

IN_A_PROCESS = """
import os, resource, sys, time
import pyarrow as pa, pyarrow.parquet, siltstone as st

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024

def size():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmSize")) * 1024

t, limit = st.open_table(sys.argv[1]), int(sys.argv[2])
if limit:
    limit += size()
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
before, began = peak(), time.process_time()
try:
    done = eval(sys.argv[3])
except (st.errors.MemoryLimitExceeded, st.errors.CorruptFile) as error:
    done = type(error).__name__
print(done, peak() - before, time.process_time() - began, sep="|", flush=True)
os._exit(0)
"""


def run(t, what, limit=0, **environment):
    """What an expression comes to in a process with so much more address space than it has at its start (0: all): its text, MiB
    more than before, seconds of processor time. A process that is aborted fails the test. Of what it has, libraries and their
    allocators reserve more than a gigabyte, which is not the same everywhere; and how many arenas malloc reserves depends on
    what else the machine does: there is one. More variables of the environment by their names."""
    code = textwrap.dedent(IN_A_PROCESS)
    one_arena = os.environ | {"MALLOC_ARENA_MAX": "1"} | environment
    call = [sys.executable, "-c", code, t.location, str(limit), what]
    ended = subprocess.run(call, capture_output=True, text=True, timeout=900, check=False, env=one_arena)
    assert ended.returncode == 0, ended.stderr[-2000:]
    done, mib, seconds = ended.stdout.strip().split("|")
    return done, int(mib), float(seconds)
