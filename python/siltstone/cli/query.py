"""A query that DuckDB runs in a thread, while this one waits for its rows and for Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Rows of a batch.
_ROWS = 10_000
#: Seconds that an interrupted query has to come to its end before the process goes on without it.
_TO_STOP = 0.4


class Query:
    """The rows of a query; a context manager, which closes the connection.

    DuckDB does not ask whether Ctrl-C was pressed. And where a result is given up before its end, DuckDB waits for its
    threads while it holds the interpreter's lock, which they need to read from a table: an interrupted result is read
    to its error first, by the thread that has it. What passes between the threads are queues of C, which an exception
    of a signal handler does not leave locked.

    Attributes:
        columns: Names of the result's columns.
    """

    columns: list[str]

    def __init__(self, connection: Any, text: str) -> None:
        """Run a query in its thread.

        Raises:
            duckdb.Error: It cannot be run; the connection is closed.
        """
        self._connection = connection
        self._read_to_its_end = False
        self._asked: SimpleQueue[bool] = SimpleQueue()
        self._answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, args=(text,), name="siltstone-duckdb", daemon=True)
        _UNFINISHED.append(self)  # until it is read to its end: an exception may come at any step
        self._thread.start()
        try:
            self.columns = self._answer()
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> Self:
        """The query, which runs."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the query if it runs, and close the connection."""
        self._close()

    def batches(self) -> Iterator[Any]:
        """The rows, as Arrow batches.

        Raises:
            duckdb.Error: The query failed.
        """
        self._asked.put(True)
        while (batch := self._answer()) is not None:
            yield batch
            self._asked.put(True)
        self._read_to_its_end = True

    def _answer(self) -> Any:
        while True:
            with contextlib.suppress(Empty):
                answer, error = self._answers.get(timeout=0.05)
                if error is not None:
                    raise error
                return answer

    def _run(self, text: str) -> None:
        try:
            result = self._connection.sql(text)
            self._answers.put((list(result.columns), None))
            if not self._asked.get():
                return
            reader = result.to_arrow_reader(_ROWS)
            while (batch := next(reader, None)) is not None:
                self._answers.put((batch, None))
                if not self._asked.get():
                    break
            else:
                self._answers.put((None, None))
                return
            for _ in reader:  # raises when DuckDB has stopped
                pass
        except BaseException as error:  # noqa: BLE001  # it is raised where it is waited for
            self._answers.put((None, error))

    def _close(self) -> None:
        self._asked.put(False)
        if self._stopped_within(_TO_STOP):
            self._connection.close()
            if self._read_to_its_end:
                _UNFINISHED.remove(self)

    def _stopped_within(self, seconds: float) -> bool:
        """Whether the query has ended. It is interrupted again and again: DuckDB forgets that when a query begins."""
        for _ in range(round(seconds / 0.05)):
            if not self._thread.is_alive():
                return True
            self._connection.interrupt()
            self._thread.join(0.05)
        return not self._thread.is_alive()


#: Queries that were not read to their end: threads of DuckDB and of pyarrow may still be busy with them.
_UNFINISHED: list[Query] = []


def leave(code: int) -> None:
    """End the process at once if a query was not read to its end.

    What Python does at its end would take the interpreter from threads that need it, and the process would be aborted
    or wait for ever.

    Args:
        code: The exit code.
    """
    if _UNFINISHED:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code)
