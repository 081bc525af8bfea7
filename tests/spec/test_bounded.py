"""Bounded: numbers from files and options are no sizes, signals are answered, nothing stays open or lies around."""

import contextlib
import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest
import siltstone as st
from signals import Stop, signal_after
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


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts threads in /proc")
def test_a_variable_that_asks_for_a_million_threads_gets_some(tmp_path):
    code = """
import os, sys, siltstone as st
cat = st.connect(sys.argv[1]); cat.create_database("db")
t = cat.create_table("db.t", {"id": int}, primary_key=["id"], options={"bucket": "4"})
t.upsert([{"id": i} for i in range(1000)])
print(t.scan().to_arrow().num_rows, len(os.listdir("/proc/self/task")) < 300)
"""
    environment = {**os.environ, "RAYON_NUM_THREADS": "999999"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1000", "True"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in KiB on Linux only")
@pytest.mark.parametrize(
    "what", ["t.scan(memory_limit='64mb')", "t.compact(full=True)", "t.maintenance.fsck(deep=True)"]
)
def test_large_rows_are_decoded_and_merged_a_few_at_a_time(make, what):
    """Every run decoded 8192 rows at once, whatever the memory limit was: gigabytes for rows of half a megabyte."""
    t = make({"id": "BIGINT", "s": "STRING"}, ["id"], bucket=1, write_only="true")
    texts = [os.urandom(125_000).hex() for _ in range(5)]
    for run in range(2):
        with t.writer(memory_limit="64mb") as w:
            for start in range(0, 400, 40):
                rows = range(start, start + 40)
                w.write(pa.table({"id": [2 * i + run for i in rows], "s": [texts[i % 5] for i in rows]}))
            w.commit()
    code = f"""
import sys, resource, siltstone as st
t = st.open_table(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
done = {what}
if hasattr(done, "to_batches"):
    assert sum(batch.num_rows for batch in done.to_batches()) == 800
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    kib = int(in_little_memory(code, t.location)[0])
    assert kib < 220 * 1024, f"{kib // 1024} MiB for rows of 200 MiB"
    assert t.scan(["id"]).count() == 800


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


WRITES_UNTIL_KILLED = """
import sys, pyarrow as pa, siltstone as st
t = st.open_table(sys.argv[1])
rows = pa.table({"id": pa.array([i * 7919 % 50_000 for i in range(50_000)]), "v": [str(i) for i in range(50_000)]})
w = t.writer(memory_limit="128kb", spill_dir=sys.argv[2])
while True:
    w.write(rows)
    print("wrote", flush=True)
"""


def deleted_files(process, folder):
    """Files of a folder that a process has open and that have no names."""
    opened = []
    for fd in os.listdir(f"/proc/{process}/fd"):
        with contextlib.suppress(OSError):
            opened.append(os.readlink(f"/proc/{process}/fd/{fd}"))
    return [path for path in opened if path.startswith(str(folder)) and path.endswith(" (deleted)")]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_is_killed_while_it_spills_leaves_no_spill_files(make, tmp_path, by):
    t = make({"id": "BIGINT", "v": "STRING"}, ["id"], bucket=1)
    spill = tmp_path / "spill"
    arguments = [sys.executable, "-c", WRITES_UNTIL_KILLED, t.location, str(spill)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout.readline() == "wrote\n"
            assert deleted_files(writer.pid, spill), "nothing was spilled"
            os.kill(writer.pid, by)
            assert writer.wait(timeout=60) == -by
        finally:
            writer.kill()
    assert os.listdir(spill) == []
    assert t.snapshot() is None
    t.upsert([{"id": 1, "v": "after"}])
    assert t.scan().to_arrow().num_rows == 1


#: What needs a file and has room for none, and what may need two and has room for one.
SHORT_OF_FILES = [
    *((name, 0) for name in ("read", "compact", "upsert", "fsck", "expire")),
    *((name, 1) for name in ("read", "compact", "expire")),
]
OPENS_FILES = {
    "read": "t.scan().to_arrow()",
    "compact": "t.compact(full=True)",
    "upsert": 't.upsert([{"id": 99}])',
    "fsck": "t.maintenance.fsck(deep=True)",
    "expire": "t.maintenance.expire_snapshots(retain_max=1)",
}
IN_A_PROCESS_WITH_FEW_FILES = """
import os, resource, sys, siltstone as st

def descriptors():
    return len(os.listdir("/proc/self/fd"))

t, operation, room = st.open_table(sys.argv[1]), compile(sys.argv[2], "operation", "eval"), int(sys.argv[3])
before = descriptors()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
taken = [os.dup(0) for _ in range(room + 1)]
for fd in taken:
    os.close(fd)
resource.setrlimit(resource.RLIMIT_NOFILE, (max(taken), hard))
try:
    ended = f"nothing was wrong: {eval(operation)!r}"
except st.errors.StorageError as error:
    ended = str(error)
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(descriptors() - before, t.scan().count(), ended)
eval(operation)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize(("operation", "room"), SHORT_OF_FILES)
def test_descriptors_are_closed_when_a_call_fails_for_want_of_them(make, operation, room):
    """In a process of its own: what other tests have left open may be closed meanwhile, and then there is room."""
    options = {"write_only": "true", "siltstone__sync": "false", "file__compression": "none"}
    t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=2, **options)
    for n in range(6):
        # above a mebibyte each: smaller files are read at once and closed
        t.upsert([{"id": 1, "v": "x" * 1_200_000}, {"id": n, "v": ""}])
    call = [sys.executable, "-c", IN_A_PROCESS_WITH_FEW_FILES, t.location, OPENS_FILES[operation], str(room)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    open_still, rows, ended = done.stdout.split(maxsplit=2)
    assert (open_still, rows) == ("0", "6")
    # with room for one a call gets through when no second file is opened before the first is read and closed
    assert "Too many open files" in ended or (room and "nothing was wrong" in ended)


ROWS = 100_000


def batch(seed):
    ids = np.random.default_rng(seed).integers(0, 10**9, ROWS)
    return pa.table({"id": ids, "a": ids % 97, "v": pa.array(np.char.add("value-", ids.astype(str)))})


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


@contextlib.contextmanager
def in_use(writer):
    """While another thread is in the middle of a write; yields what tells that it is over."""
    begun, over = threading.Event(), threading.Event()

    def batches():
        begun.set()
        over.wait(20)
        yield pa.record_batch([[1]], names=["id"])

    rows = pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), batches())
    other = threading.Thread(target=writer.write, args=(rows,))
    other.start()
    begun.wait()
    try:
        yield over
    finally:
        over.set()
        other.join()


@pytest.mark.skipif(os.name != "posix", reason="needs setitimer")
@pytest.mark.parametrize(
    ("call", "fails"),
    [(lambda w: w.write([{"id": 2}]), True), (lambda w: w.commit(), False), (lambda w: w.discard(), False)],
    ids=["write", "commit", "discard"],
)
def test_a_signal_ends_a_call_that_waits_for_another_threads_call_and_the_writer_says_what_it_has(make, call, fails):
    t = make({"id": "BIGINT"})
    with t.writer() as w:
        with in_use(w) as over:
            with pytest.raises(Stop), signal_after(0.05):
                call(w)
            assert not over.is_set()
        if fails:
            with pytest.raises(e.WriteFailed):
                w.commit()
            w.keep()
        w.commit()
    assert t.scan().to_arrow().to_pylist() == [{"id": 1}]


def test_what_a_handler_of_log_records_raises_ends_the_call(make):
    # a signal handler runs wherever Python code runs: also where a call of ours logs something
    class Raises(logging.Handler):
        def emit(self, record):
            raise Stop(record.getMessage())

    log, handler = logging.getLogger("siltstone"), Raises()
    log.addHandler(handler)
    options = {"bucket": 1, "merge_engine": "aggregation", "fields__n__aggregate_function": "count"}
    try:
        with pytest.raises(Stop, match="cannot open a table"):
            make({"id": "BIGINT", "n": "BIGINT"}, ["id"], **options)
    finally:
        log.removeHandler(handler)
    make({"id": "BIGINT", "n": "BIGINT"}, ["id"], **options)


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


#: Where a file lies, and what looks at it.
LARGE = {
    "schema": ("schema/schema-0", "st.open_table(t)"),
    "snapshot": ("snapshot/snapshot-1", "st.open_table(t).scan(version=1).to_arrow()"),
    "tag": ("tag/tag-v", "st.open_table(t).scan(tag='v').to_arrow()"),
    "consumer": ("consumer/consumer-c", "st.open_table(t).maintenance.expire_snapshots(retain_max=1)"),
    "removal record": ("siltstone/removal-1", "st.open_table(t).scan().to_arrow()"),
    "manifest list": ("", "st.open_table(t).scan().to_arrow()"),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is limited on Linux only")
@pytest.mark.parametrize("kind", LARGE)
def test_a_metadata_file_of_gigabytes_is_refused_before_it_is_read(make, kind):
    """It was read whole, and one of its kinds was put whole into the text of the error, which ended the process."""
    t = make({"id": "BIGINT"}, ["id"], bucket=1)
    for n in range(2):
        t.upsert([{"id": n}])
    t.tags.create("v", version=1)
    path, read = LARGE[kind]
    path = os.path.join(t.location, path or f"manifest/{t.snapshot().raw['deltaManifestList']}")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.truncate(20_000_000_000)
    code = f"""
import sys, siltstone as st
t = sys.argv[1]
try:
    {read}
except st.errors.FormatError as e:
    print(type(e).__name__, len(str(e)) < 2000)
"""
    assert in_little_memory(code, t.location) == ["CorruptFile", "True"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is limited on Linux only")
@pytest.mark.parametrize("kind", ["list without a size", "list in fsck", "index manifest", "deletion vectors"])
def test_a_metadata_file_whose_size_nobody_tells_is_refused_as_well(make, kind):
    """They were read as far as there was memory, which is asked for in vain where the system gives more than there is."""
    t = make({"id": "BIGINT", "v": "BIGINT"}, ["id"], bucket=1, deletion_vectors__enabled="true")
    for n in range(2):
        t.upsert([{"id": key, "v": n} for key in range(n, 9)])
        t.compact()
    said = t.snapshot().raw
    name = {"index manifest": "indexManifest"}.get(kind, "baseManifestList")
    path = pathlib.Path(t.location, "manifest", said[name])
    if kind == "list without a size":
        snapshot = pathlib.Path(t.location, "snapshot", f"snapshot-{said['id']}")
        snapshot.write_text(json.dumps({k: v for k, v in said.items() if k != "baseManifestListSize"}))
    elif kind == "deletion vectors":
        path = max(pathlib.Path(t.location, "index").iterdir())
    os.truncate(path, 20_000_000_000)
    read = "t.maintenance.fsck()" if kind == "list in fsck" else "t.delete('id = 3')"
    code = f"""
import sys, siltstone as st
t = st.open_table(sys.argv[1])
try:
    found = {read}
    print(*{{f.code for f in found.findings}} & {{"bad-manifest-list"}})
except st.errors.CorruptFile as e:
    print("at most" in str(e))
"""
    assert in_little_memory(code, t.location) in (["True"], ["bad-manifest-list"])


@pytest.mark.parametrize("hint", ["LATEST", "EARLIEST"])
def test_a_hint_of_gigabytes_is_one_that_says_nothing(make, hint):
    t = make({"id": "BIGINT"}, ["id"], bucket=1)
    t.upsert([{"id": 1}])
    with open(os.path.join(t.location, "snapshot", hint), "wb") as file:
        file.truncate(20_000_000_000)
    assert st.open_table(t.location).scan().count() == 1
    assert [f.code for f in t.maintenance.fsck().findings] == ["wrong-hint"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is limited on Linux only")
@pytest.mark.parametrize(
    ("column", "array", "rows"),
    [
        ("INT", "nulls(10**8)", 10**8),
        ("ARRAY<INT>", "pa.ListArray.from_arrays([0, 2**31 - 1], nulls(2**31 - 1))", None),
        ("ARRAY<ROW<a INT>>", "pa.ListArray.from_arrays([0, 2**31 - 1], nulls(2**31 - 1))", None),
        ("STRING", "pa.RunEndEncodedArray.from_arrays(pa.array([10**6], pa.int32()), pa.array(['x']))", 10**6),
        ("ARRAY<INT>", "view(10_000, 100_000)", None),
    ],
    ids=["nulls", "a list of nulls", "a list of null rows", "runs", "views of one list"],
)
def test_input_that_is_long_and_has_no_bytes_is_written_or_refused(tmp_path, column, array, rows):
    """What it becomes was not asked for, and the process ended."""
    code = f"""
import struct, sys, pyarrow as pa, siltstone as st
def nulls(n):
    return pa.Array.from_buffers(pa.null(), n, [None])
def view(rows, n):
    buffers = [None, pa.py_buffer(bytes(4 * rows)), pa.py_buffer(struct.pack("<i", n) * rows)]
    return pa.Array.from_buffers(pa.list_view(pa.int32()), rows, buffers, children=[pa.array(range(n), pa.int32())])
cat = st.connect(sys.argv[1]); cat.create_database("db")
t = cat.create_table("db.t", {{"v": "{column}"}}, options={{"siltstone.sync": "false"}})
try:
    t.append(pa.table({{"v": {array}}}))
    print(t.scan([]).count())
except st.errors.SiltstoneError as e:
    print(type(e).__name__)
"""
    assert in_little_memory(code, str(tmp_path)) == [str(rows) if rows else "MemoryLimitExceeded"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is limited on Linux only")
@pytest.mark.parametrize("more", [100, 300, 600], ids="{} MB more".format)
@pytest.mark.parametrize("filters", ["st.col('id').is_in(values)", "'id IN (' + ','.join(map(str, values)) + ')'"])
def test_a_condition_of_millions_of_values_asks_for_memory(make, filters, more):
    """What its text became was put together without asking, and ended the process."""
    t = make({"id": "BIGINT"}, ["id"], bucket=1)
    t.upsert([{"id": 1}])
    code = f"""
import resource, sys, numpy, pyarrow, siltstone as st
t = st.open_table(sys.argv[1])
values = list(range(3_000_000))
filters = {filters}
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + {more}_000_000
resource.setrlimit(resource.RLIMIT_AS, (used, resource.RLIM_INFINITY))
try:
    print(t.scan(filter=filters).to_arrow().num_rows)
except (st.errors.MemoryLimitExceeded, MemoryError) as e:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code, t.location], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip() in ("1", "refused")) == (0, True), done.stderr[-500:]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is limited on Linux only")
@pytest.mark.parametrize("file_format", ["parquet", "orc"])
@pytest.mark.parametrize("whole", ["t.scan().to_arrow()", "list(t.scan().to_batches())", "t.scan().to_polars()"])
def test_rows_that_do_not_fit_are_refused(make, file_format, whole):
    """Each batch was too small to ask for, and the process ended when the next one could not be had; or it waited for ever."""
    t = make({"v": "INT"}, bucket=-1, file__format=file_format)
    zeros = pa.table({"v": pa.array(np.zeros(20_000_000, "int32"))})
    with t.writer() as writer:
        for _ in range(5):
            writer.write(zeros)
        writer.commit()
    code = f"""
import resource, sys, polars, pyarrow, siltstone as st
t = st.open_table(sys.argv[1])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + 200_000_000
resource.setrlimit(resource.RLIMIT_AS, (used, resource.RLIM_INFINITY))
try:
    {whole}
except st.errors.MemoryLimitExceeded:
    print("refused")
"""
    call = [sys.executable, "-c", code, t.location]
    small_steps = os.environ | {
        "MIMALLOC_ARENA_RESERVE": "65536"
    }  # or the allocator has a gigabyte before there is a limit
    done = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False, env=small_steps)
    assert (done.returncode, done.stdout.strip()) == (0, "refused"), done.stderr[-500:]
