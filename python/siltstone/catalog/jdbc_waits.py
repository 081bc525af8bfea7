"""Waits for a server of SQL that end: after some time, and when the program is to stop.

A server that was stopped, or a network that has forgotten the connection, says nothing: a driver waits as long as the
system keeps the connection, and asks the same server to cancel when Ctrl-C is pressed.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

#: Seconds until a server is given up that does not answer: a connection, and what is done in one transaction.
_CONNECT_SECONDS, ANSWER_SECONDS = 8, 60.0
_OF_MYSQL = {
    "connect_timeout": _CONNECT_SECONDS,
    "read_timeout": int(ANSWER_SECONDS),
    "write_timeout": int(ANSWER_SECONDS),
}
#: What the drivers are told of waiting.
WAITS: Mapping[str, Mapping[str, Any]] = {
    "sqlite": {"timeout": 0},
    "postgresql": {
        "connect_timeout": _CONNECT_SECONDS,
        "keepalives_idle": 20,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": int(1000 * ANSWER_SECONDS),
    },
    "mysql": _OF_MYSQL,
    "mariadb": _OF_MYSQL,
}
#: Do not wait for the end of another transaction that has inserted the same row.
ROW_WAITS = {"postgresql": "SET LOCAL lock_timeout = '1s'"}
#: What the server says then (SQLSTATE).
_ROW_IS_HELD = "55P03"


class RowIsHeld(Exception):
    """Another transaction has the row, and has not ended."""


def row_is_held(error: BaseException | None) -> bool:
    """Whether a driver says that another transaction has the row."""
    return getattr(error, "sqlstate", None) == _ROW_IS_HELD


class Use:
    """What a thread does with a connection, and how whoever waits for it puts an end to that."""

    def __init__(self) -> None:
        """No connection yet."""
        self._lock = threading.Lock()
        self._connection: Any = None
        self._is_over = False

    def of(self, connection: Any) -> None:
        """Use this connection of psycopg; None: none any more."""
        with self._lock:
            self._connection = connection
            if connection is not None and self._is_over:
                _hang_up(connection)

    def end(self) -> None:
        """Hang up: who reads from the connection gets an error."""
        with self._lock:
            self._is_over = True
            if self._connection is not None:
                _hang_up(self._connection)


def answered(seconds: float, work: Callable[[Use], T]) -> T:
    """Do work with a connection in a thread, and wait for it.

    Args:
        seconds: For how long at most.
        work: It is given what it tells its connection.

    Raises:
        TimeoutError: It was not done by then; its connection is closed.
        BaseException: What the work raised, or a signal handler meanwhile: its connection is closed then, too.
    """
    use: Use = Use()
    answers: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put((work(use), None))
        except BaseException as error:  # noqa: BLE001  # it is raised where it is waited for
            answers.put((None, error))

    threading.Thread(target=run, name="siltstone-catalog", daemon=True).start()
    try:
        done, error = answers.get(timeout=seconds)
    except queue.Empty:
        use.end()
        raise TimeoutError(f"there was no answer within {seconds:g} s") from None
    except BaseException:
        use.end()
        raise
    if error is not None:
        raise error
    return done  # type: ignore[return-value]  # there is no error, so it is what the work returned


def _hang_up(connection: Any) -> None:
    # the number of a copy: psycopg closes its own
    with contextlib.suppress(Exception), socket.socket(fileno=os.dup(connection.pgconn.socket)) as own:
        own.shutdown(socket.SHUT_RDWR)
