"""Ctrl-C while DuckDB runs a query: the command ends, whatever DuckDB's threads do."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest
import siltstone as st
from signals import Stop
from siltstone.cli.query import _UNFINISHED, Query, leave

duckdb = pytest.importorskip("duckdb")

BATCH = pa.record_batch({"a": np.arange(1000)})


@pytest.fixture
def lake(tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("db")
    options = {"bucket": "2", "write-only": "true", "siltstone.sync": "false"}
    t = cat.create_table("db.t", {"id": "BIGINT", "s": "STRING"}, primary_key=["id"], options=options)
    ids = np.random.default_rng(3).permutation(300_000)
    for _ in range(3):
        t.append(pa.table({"id": ids, "s": pa.array(np.char.add("value-", ids.astype(str)))}))
    return tmp_path / "lake"


#: The command line, which says when its query begins: Python itself loses a signal that comes while it imports a module.
TELLS = """
import sys
from siltstone.cli import __main__, query
begin = query.Query.__init__
def tells(self, *given):
    print("begins", file=sys.stderr, flush=True)
    begin(self, *given)
query.Query.__init__ = tells
__main__.main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    "query",
    ["SELECT * FROM db.t ORDER BY s DESC LIMIT 5", "SELECT count(*) FROM db.t x, db.t y WHERE x.s || y.s LIKE '%77%'"],
    ids=["sort", "cross join"],
)
def test_a_query_ends_whenever_the_signal_comes(lake, query):
    """The command waited with locks of Python, which an exception of a signal handler may leave taken, and the end of the
    process waited for threads that were reading: it hung for ever some times."""
    command = [sys.executable, "-c", TELLS, "--warehouse", str(lake), "sql", query]
    for moment in np.linspace(0, 1, 9):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr.readline() == "begins\n"
                time.sleep(moment)
                process.send_signal(signal.SIGINT)
                _, said = process.communicate(timeout=60)
            finally:
                process.kill()
        # when the query has ended, the signal may come while Python ends
        assert process.returncode in (0, 1, 130, -signal.SIGINT), said
        assert "terminate" not in said
        assert "Traceback" not in said or "KeyboardInterrupt" in said, said


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_query_whose_threads_do_not_stop_is_left_and_ends_with_the_process(monkeypatch):
    """A table that does not answer: DuckDB cannot stop the thread that reads from it."""
    go_on = threading.Event()

    def batches():
        yield BATCH
        os.kill(os.getpid(), signal.SIGUSR1)  # the main thread gets it
        go_on.wait(60)
        yield BATCH

    def stop(*_):
        raise Stop

    before = signal.signal(signal.SIGUSR1, stop)
    connection = duckdb.connect()
    connection.register("t", pa.RecordBatchReader.from_batches(BATCH.schema, batches()))
    try:
        with pytest.raises(Stop), Query(connection, "SELECT sum(a) FROM t") as query:
            list(query.batches())
    finally:
        signal.signal(signal.SIGUSR1, before)
    ended = []
    monkeypatch.setattr("siltstone.cli.query.os._exit", ended.append)
    leave(7)
    assert ended == [7], "nothing that Python does at its end"
    go_on.set()
    query._thread.join(60)
    _UNFINISHED.clear()
    connection.close()


def test_the_rows_and_errors_of_a_query_come_as_they_are():
    connection = duckdb.connect()
    with Query(connection, "SELECT range AS a FROM range(25_000)") as query:
        assert query.columns == ["a"]
        assert sum(batch.num_rows for batch in query.batches()) == 25_000
    with pytest.raises(duckdb.Error):
        connection.sql("SELECT 1")  # it is closed
    connection = duckdb.connect()
    with (
        Query(connection, "SELECT CAST(range::VARCHAR || 'x' AS INT) FROM range(3)") as query,
        pytest.raises(duckdb.Error),
    ):
        list(query.batches())
    with pytest.raises(duckdb.Error):
        Query(duckdb.connect(), "SELECT * FROM nowhere")
