"""A process ends although threads of other libraries read from a table."""

import subprocess
import sys

import pyarrow as pa
import pytest

READ_AND_END = """
import sys, time
import siltstone as st
t = st.open_table(sys.argv[1])
what, pause = sys.argv[2], float(sys.argv[3])
if what == "dataset":
    rows = iter(t.to_dataset().to_batches())
    next(rows)
elif what == "stream":
    import pyarrow as pa, pyarrow.dataset
    rows = iter(pa.dataset.Scanner.from_batches(pa.RecordBatchReader.from_stream(t.scan())).to_batches())
    next(rows)
elif what == "duckdb":
    rows = t.scan().to_duckdb().query("x", "SELECT * FROM x").to_arrow_reader(1000)
    rows.read_next_batch()
else:
    import threading
    threading.Thread(target=lambda: [t.scan().to_arrow() for _ in range(1000)], daemon=True).start()
time.sleep(pause)
print("ends", flush=True)
"""


@pytest.fixture
def table(make):
    t = make({"id": "BIGINT", "v": "STRING"}, ["id"], bucket=2, write_only="true", siltstone__sync="false")
    for n in range(3):
        t.append(pa.table({"id": list(range(300_000)), "v": [f"value-{n}-{i}" for i in range(300_000)]}))
    return t


@pytest.mark.parametrize("what", ["dataset", "stream", "duckdb", "daemon thread"])
def test_a_process_ends_while_another_thread_reads(table, what):
    """pyarrow's threads waited for an interpreter that had ended, and the end of the process waited for them: one run in
    five hung for ever."""
    if what == "duckdb":
        pytest.importorskip("duckdb")
    for n in range(6):
        command = [sys.executable, "-c", READ_AND_END, table.location, what, str(0.03 * n)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        assert (done.returncode, done.stdout) == (0, "ends\n"), done.stderr


def test_reads_go_on_in_handlers_that_run_at_the_end(table):
    code = """
import atexit, sys
import siltstone as st
t = st.open_table(sys.argv[1])
rows = iter(t.to_dataset().to_batches())
next(rows)
"""
    first = "import atexit\natexit.register(lambda: print(t.scan(['id']).count(), len(t.scan(limit=3).to_pylist())))\n"
    done = subprocess.run(
        [sys.executable, "-c", first + code, table.location], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stdout) == (0, "300000 3\n"), done.stderr
