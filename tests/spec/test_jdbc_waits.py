"""A database server that says nothing, and a lock that another transaction is about to take: every wait has an end."""

import contextlib
import os
import signal
import socket
import threading
import time

import postgres
import pytest
import siltstone as st
from siltstone import errors as e
from siltstone.catalog import jdbc_waits

psycopg = pytest.importorskip("psycopg")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with postgres.server(tmp_path_factory.mktemp("postgres")) as port:
        yield port


class Way:
    """A way to a server that can forget its connections: whatever is sent then is lost, in both directions."""

    def __init__(self, port):
        self.port, self.is_lost = port, False
        self.ends, self.threads = [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.end = self.listener.getsockname()[1]
        self._start(self._accept)

    def close(self):
        for one in [self.listener, *self.ends]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(10)
        for one in [self.listener, *self.ends]:
            one.close()

    def _start(self, work, *args):
        self.threads.append(threading.Thread(target=work, args=args))
        self.threads[-1].start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near = self.listener.accept()[0]
                far = socket.create_connection(("127.0.0.1", self.port))
                self.ends += [near, far]
                self._start(self._pass, near, far)
                self._start(self._pass, far, near)

    def _pass(self, one, other):
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                if not self.is_lost:
                    other.sendall(data)
            other.shutdown(socket.SHUT_WR)


@pytest.fixture
def way(server):
    made = Way(server)
    yield made
    made.close()


def connected(folder, port):
    catalog = st.connect(
        folder / "lake",
        metastore="jdbc",
        uri=f"jdbc:postgresql://siltstone@127.0.0.1:{port}/postgres",
        options={
            "catalog-key": folder.name,
            "lock.enabled": "true",
            "lock-acquire-timeout": "2 s",
            "lock-check-max-sleep": "200 ms",
        },
    )
    catalog.create_database("db")
    return catalog.create_table("db.t", {"id": "BIGINT"})


def test_a_server_that_does_not_answer_any_more_is_given_up(tmp_path, way, monkeypatch):
    """It was waited for as long as the system keeps a connection, hours."""
    t = connected(tmp_path, way.end)
    monkeypatch.setattr(jdbc_waits, "ANSWER_SECONDS", 1.0)
    way.is_lost = True
    begun = time.monotonic()
    with pytest.raises(e.StorageError, match="no answer within 1 s"):
        t.append([{"id": 1}])
    assert time.monotonic() - begun < 20
    way.is_lost = False
    # a busy machine may take more than the second that was enough to be lost
    monkeypatch.setattr(jdbc_waits, "ANSWER_SECONDS", 60.0)
    t.append([{"id": 2}])
    assert [row["id"] for row in t.scan()] == [2]


def test_ctrl_c_ends_the_wait_for_a_server_that_does_not_answer(tmp_path, way):
    t = connected(tmp_path, way.end)
    way.is_lost = True
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    begun = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            t.append([{"id": 1}])
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begun < 1.5


def test_a_lock_that_another_transaction_is_about_to_take_is_somebodys(tmp_path, server):
    """The holder was stopped before its COMMIT, and others waited inside the server for as long as that."""
    t = connected(tmp_path, server)
    t.append([{"id": 1}])
    with psycopg.connect(f"host=127.0.0.1 port={server} user=siltstone dbname=postgres") as other:
        other.execute(
            "INSERT INTO paimon_distributed_locks (lock_id, expire_time_seconds) VALUES (%s, 480)",
            (f"{tmp_path.name}.db.t",),
        )
        begun = time.monotonic()
        with pytest.raises(e.CommitRetriesExhausted):
            t.append([{"id": 2}])
        assert time.monotonic() - begun < 10
        other.rollback()
    t.append([{"id": 3}])
    assert sorted(row["id"] for row in t.scan()) == [1, 3]
