"""Bounded: numbers from files and options are no sizes, signals are answered, nothing stays open or lies around."""

import contextlib
import os
import random
import resource
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pytest
import siltstone as st
from siltstone import errors as e

LIMIT = 4_000_000_000  # bytes of address space, of which Python and its libraries take one or two thousand million


def in_little_memory(code, *args):
    """Runs code in a process that cannot have more than LIMIT."""
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({LIMIT}, {LIMIT}))\n" + code
    done = subprocess.run(
        [sys.executable, "-c", limited, *args], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is limited on Linux only")
def test_the_largest_numbers_of_options_cost_no_memory(tmp_path):
    code = """
import sys, siltstone as st
cat = st.connect(sys.argv[1]); cat.create_database("db")
most = str(2**31 - 1)
options = {"bucket": most, "num-levels": most, "num-sorted-run.compaction-trigger": most, "read.batch-size": most,
           "write.batch-size": most, "manifest.merge-min-count": most, "sort-spill-threshold": most,
           "local-sort.max-num-file-handles": most, "compaction.file-num-limit": most}
t = cat.create_table("db.t", {"id": "BIGINT", "s": "STRING"}, primary_key=["id"], options=options)
t.upsert([{"id": i, "s": "x"} for i in range(50)])
t.upsert([{"id": 1, "s": "y"}])
print(t.scan(batch_size=2**40).to_arrow().num_rows, t.compact(full=True).tasks, t.maintenance.fsck(deep=True).ok)
"""
    assert in_little_memory(code, str(tmp_path))[0] == "50"


@pytest.mark.skipif(os.name != "posix", reason="files in use keep their names elsewhere")
def test_spilled_runs_have_no_names_that_a_killed_process_could_leave_behind(make, tmp_path):
    t = make({"id": "BIGINT", "v": "STRING"}, ["id"], bucket=2)
    spill = tmp_path / "spill"
    data = pa.table({"id": pa.array([i * 7919 % 50_000 for i in range(50_000)]), "v": [str(i) for i in range(50_000)]})
    with t.writer(memory_limit="128kb", spill_dir=str(spill)) as w:
        for batch in data.to_batches(max_chunksize=2000):
            w.write(batch)
        assert spill.is_dir(), "nothing was spilled"
        assert os.listdir(spill) == []
        w.commit()
    assert t.scan().count() == 50_000


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_descriptors_are_closed_when_a_call_fails_for_want_of_them(make):
    t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=2, write_only="true", siltstone__sync="false")
    for n in range(24):
        # above a mebibyte each: smaller files are read at once and closed
        t.upsert([{"id": 1, "v": os.urandom(1_500_000).hex()}, {"id": n, "v": ""}])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = descriptors()
    for call in (lambda: t.scan().to_arrow(), lambda: t.compact(full=True)):
        resource.setrlimit(resource.RLIMIT_NOFILE, (before + 12, hard))
        try:
            with contextlib.suppress(e.SiltstoneError):
                call()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert descriptors() == before


class Stop(Exception):
    """Raised by a signal handler, as KeyboardInterrupt is."""


@contextlib.contextmanager
def signal_after(seconds):
    """A signal whose handler raises; yields a list for the moment when it was sent."""

    def stop(*_):
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield time.monotonic() + seconds
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


ROWS = 100_000


def batch(seed):
    rng = random.Random(seed)
    ids = [rng.randrange(10**9) for _ in range(ROWS)]
    return pa.table({"id": pa.array(ids, pa.int64()), "a": [i % 97 for i in ids], "v": [f"value-{i}" for i in ids]})


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    cat = st.connect(tmp_path_factory.mktemp("big"))
    cat.create_database("db")
    t = cat.create_table(
        "db.t",
        {"id": "BIGINT", "a": "BIGINT", "v": "STRING"},
        primary_key=["id"],
        options={"bucket": "2", "write-only": "true", "siltstone.sync": "false"},
    )
    for n in range(4):
        t.upsert(batch(n))
    return t


MORE = batch(99)
LONG = {
    "write": lambda t: t.upsert(MORE),
    "compact": lambda t: t.compact(full=True),
    "read": lambda t: t.scan().to_arrow(),
    "read of nothing": lambda t: t.scan(filter="v = 'none'").to_arrow(),
    "delete": lambda t: t.delete("a = 5"),
    "deep fsck": lambda t: t.maintenance.fsck(deep=True),
    "analyze": lambda t: t.maintenance.analyze(),
}


@pytest.mark.skipif(os.name != "posix", reason="needs setitimer")
@pytest.mark.parametrize("operation", LONG)
def test_a_signal_ends_a_long_operation_soon_and_leaves_the_table_whole(big, operation):
    answers = []
    for n in range(3):
        versions, rows = big.snapshot().id, big.snapshot().total_rows
        with contextlib.suppress(Stop), signal_after(0.03 + 0.07 * n) as sent:
            for _ in range(100):
                LONG[operation](big)
                versions, rows = big.snapshot().id, big.snapshot().total_rows
        answers.append(time.monotonic() - sent)
        now = big.snapshot()
        assert (now.id, now.total_rows) == (versions, rows) or now.id > versions
    # two of three, because a machine can stop a whole process for a while
    assert sorted(answers)[1] < 0.5, answers
    assert big.maintenance.fsck().ok


def test_a_stopped_writer_commits_nothing_and_leaves_no_data_files(make):
    t = make({"id": "BIGINT", "a": "BIGINT", "v": "STRING"}, ["id"], bucket=2)
    t.upsert(MORE.slice(0, 10))
    with pytest.raises(Stop), t.writer(memory_limit="4mb") as w, signal_after(0.05):
        while True:
            w.write(MORE)
    assert t.scan().count() == 10
    assert [f for f in t.maintenance.fsck().findings if f.severity == "problem"] == []
    assert len(t.files()) == sum(
        len(names) for _, _, names in os.walk(t.location) if names and names[0].startswith("data-")
    )
