"""Progress bars of long calls, for people in front of a terminal: nothing in pipes and where ``CI`` is set."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from siltstone._scoped import Scoped
from siltstone.errors import InvalidArgument

VARIABLE = "SILTSTONE_PROGRESS"
_WORDS = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
_asked: Scoped[bool] = Scoped("siltstone_progress")
#: There is one bar at a time: what runs within it, or beside it, has none of its own.
_one = threading.Lock()
#: Rows after which a bar moves.
_PIECE = 1 << 16
_here: Scoped[Bar] = Scoped("siltstone_bar")


@contextmanager
def progress(enabled: bool = True) -> Iterator[None]:  # noqa: FBT001, FBT002  # progress(False) reads well
    """Show the progress of long calls within the block on stderr, when that is a terminal.

    Without it the variable ``SILTSTONE_PROGRESS`` decides (``1`` or ``0``), and without that there is none but on the
    command line. Where the variable ``CI`` is set there never is. A bar shows rows or bytes where it is known how many
    there are; otherwise what was done so far and for how long.

    Args:
        enabled: Whether to show it; False: never, whatever the variable says.

    Example:
        >>> t = example_table()
        >>> with st.progress():
        ...     report = t.compact(full=True)
        >>> report.tasks
        1
    """
    if not isinstance(enabled, bool):
        raise InvalidArgument(f"progress({enabled!r}): give True or False")
    with _asked.hold(enabled):
        yield


def by_environment(default: bool) -> bool:  # noqa: FBT001
    """What the variable says.

    Raises:
        InvalidArgument: It is neither yes nor no.
    """
    word = os.environ.get(VARIABLE, "").strip().lower()
    if word and word not in _WORDS:
        raise InvalidArgument(f"${VARIABLE}={word!r} is neither 1 nor 0")
    return _WORDS.get(word, default)


def _is_wanted() -> bool:
    asked = _asked.get()
    wanted = by_environment(default=False) if asked is None else asked
    return wanted and os.environ.get("CI", "").lower() in {"", "0", "false"} and _is_terminal()


def _is_terminal() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # it is closed
        return False


class Bar:
    """A line of a terminal that says how far a call has come."""

    def __init__(self, shown: Any, label: str, unit: str | None) -> None:
        """Use :func:`bar`."""
        self._shown, self._unit = shown, unit
        self._line = shown.add_task(label, total=None, amount="")
        self._done = self._total = 0

    def expect(self, amount: int) -> None:
        """So much more is to be done."""
        self._total += amount
        self._update()

    def advance(self, amount: int) -> None:
        """So much more is done."""
        self._done += amount
        self._update()

    def _update(self) -> None:
        # more than was expected: nobody knows how much there is
        total = self._total if self._done <= self._total else None
        self._shown.update(self._line, completed=self._done, total=total or None, amount=self._amount(total))

    def _amount(self, total: int | None) -> str:
        if self._unit is None:
            return ""
        if self._unit == "bytes":
            from siltstone._looks import size_text

            done, whole = size_text(self._done), total and size_text(total)
        else:
            done, whole = f"{self._done:,}", total and f"{total:,}"
        text = f"{done} of {whole}" if whole else done
        return text if self._unit == "bytes" else f"{text} {self._unit}"


@contextmanager
def bar(label: str, unit: str | None = None) -> Iterator[Bar | None]:
    """A bar where one is wanted and there is none yet; None otherwise.

    Args:
        label: What is done.
        unit: ``rows``, ``bytes``, ... of what :meth:`Bar.advance` counts.
    """
    if not _is_wanted() or not _one.acquire(blocking=False):
        yield None
        return
    try:
        with _progress_of(unit) as shown:
            made = Bar(shown, label, unit)
            with _here.hold(made):
                yield made
    finally:
        _one.release()


def _progress_of(unit: str | None) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    # what is written to stdout meanwhile is not for the terminal of stderr
    how: dict[str, Any] = {"console": Console(stderr=True), "transient": True, "redirect_stdout": False}
    label = TextColumn("{task.description}", markup=False)
    if unit is None:
        return Progress(SpinnerColumn(), label, TimeElapsedColumn(), **how)
    counted = TextColumn("{task.fields[amount]}", markup=False)
    return Progress(label, BarColumn(), counted, TimeElapsedColumn(), TimeRemainingColumn(), **how)


def counted(stream: Any, expected: Callable[[], int | None]) -> Any:
    """A stream of rows that moves the bar of this call, when there is one; otherwise the stream itself.

    Args:
        stream: An Arrow stream, which pyarrow reads.
        expected: How many rows it has where it does not say it; asked only for a bar.
    """
    here = _here.get()
    if here is None:
        return stream
    from siltstone._pyarrow import pa

    rows = getattr(stream, "num_rows", None)
    rows = expected() if rows is None else rows
    if rows is not None:
        here.expect(rows)
    # pieces of a table that is one batch, so that the bar moves
    reader = stream.to_reader(_PIECE) if isinstance(stream, pa.Table) else pa.RecordBatchReader.from_stream(stream)

    def batches() -> Iterator[Any]:
        for batch in reader:
            yield batch
            here.advance(batch.num_rows)

    return pa.RecordBatchReader.from_batches(reader.schema, batches())
