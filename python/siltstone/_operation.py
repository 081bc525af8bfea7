"""What is done to a table, as it is told: a line of a log, a span of a trace, a bar on a terminal.

Each call that changes a table is an operation. Loggers are called ``siltstone.<operation>``; an operation within
another one, such as the commit of an append, is a line for debugging.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, ParamSpec, TypeVar

from siltstone import _core
from siltstone._looks import size_text
from siltstone._progress import Bar, bar
from siltstone._scoped import Scoped
from siltstone.report import CommitReport, CompactionReport, MergeReport, UpkeepReport, Verdict
from siltstone.versions import Tag

P = ParamSpec("P")
R = TypeVar("R")

_within: Scoped[bool] = Scoped("siltstone_operation")


class Operation:
    """An operation that goes on; called with what it came to, which it returns."""

    def __init__(self, bar: Bar | None) -> None:
        """Use :func:`operation`."""
        self._bar = bar
        self.result: Any = None

    def __call__(self, result: R) -> R:
        """It came to this."""
        self.result = result
        return result

    def expect(self, amount: int) -> None:
        """So much is to be done, for the bar."""
        if self._bar is not None:
            self._bar.expect(amount)

    def advance(self, amount: int) -> None:
        """So much more is done, for the bar."""
        if self._bar is not None:
            self._bar.advance(amount)


@contextmanager
def operation(
    name: str, table: _core.Table | str, *, unit: str | None = None, is_read: bool = False
) -> Iterator[Operation]:
    """Tell of what is done within the block.

    Args:
        name: The operation, such as ``compact``.
        table: The table, or what stands for its name.
        unit: What its bar counts; ``rows`` are counted by themselves where rows come in.
        is_read: It changes nothing: a line for debugging.
    """
    place = table if isinstance(table, str) else _place(table)
    with _log_lock_as_it_was():
        yield from _told(name, place, unit, is_read=is_read)


@contextmanager
def _log_lock_as_it_was() -> Iterator[None]:
    """Ctrl-C within a function of ``logging`` may leave its lock taken: who logs later would wait for ever."""
    lock: Any = getattr(logging, "_lock", None)
    owned = getattr(lock, "_is_owned", lambda: True)
    before = owned()
    try:
        yield
    finally:
        while not before and owned():
            lock.release()


def _told(name: str, place: str, unit: str | None, *, is_read: bool) -> Iterator[Operation]:
    began, inner = time.perf_counter(), _within.get()
    if not inner:  # the core remembers what loggers show
        _core.forget_log_levels()
    title = f"{place}: {name.replace('_', ' ')}"
    with _within.hold(True), _span(name, place) as span, bar(title, unit) as shown:
        done = Operation(shown)
        yield done
        told = figures(done.result)
        if span is not None:
            span.set_attributes({f"siltstone.{key}": value for key, value in told.items()})
    quiet = inner or is_read or told.get("dry_run", False)
    logger, level = logging.getLogger(f"siltstone.{name}"), logging.DEBUG if quiet else logging.INFO
    if logger.isEnabledFor(level):
        seconds = time.perf_counter() - began
        fields = {"operation": name, "table": place, "seconds": round(seconds, 6), **told}
        logger.log(
            level, "%s %s: %s, in %.2f s", name, place, summary(done.result), seconds, extra={"siltstone": fields}
        )


def told(name: str, table: _core.Table | str, run: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Do what is one call as an operation; see :func:`operation`."""
    with operation(name, table) as done:
        return done(run(*args, **kwargs))


def _place(table: _core.Table) -> str:
    return table.name if table.branch == "main" else f"{table.name}$branch_{table.branch}"


def _span(name: str, place: str) -> Any:
    """A span of OpenTelemetry, in a program that uses it: nothing is imported for it."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return nullcontext()
    database, _, collection = place.rpartition(".")
    attributes = {"db.system.name": "paimon", "db.operation.name": name, "db.collection.name": collection}
    if database:
        attributes["db.namespace"] = database
    tracer = trace.get_tracer("siltstone", _core.__version__)
    return tracer.start_as_current_span(f"{name} {place}", attributes=attributes)


def figures(result: Any) -> dict[str, Any]:
    """What an operation came to, in figures: attributes of spans and fields of log records."""
    if isinstance(result, int):
        return {"rows": result}
    told: dict[str, Any] = {}
    for name in _FIGURES:
        value = getattr(result, name, None)
        if isinstance(value, (int, bool)) and (value or name in _ALWAYS):
            told[name] = value
    if isinstance(result, (CommitReport, CompactionReport)):
        told["snapshots"] = [s.id for s in result.snapshots]
    elif isinstance(result, UpkeepReport):
        told.update({k: v for k, v in result.details.items() if isinstance(v, (int, str, bool))})
        told.update({k: len(v) for k, v in result.details.items() if isinstance(v, (list, tuple))})
    elif isinstance(result, Verdict):
        told |= {"problems": len(result.problems), "warnings": len(result.warnings)}
    return told


_ALWAYS = frozenset(("rows", "files", "deleted_files"))
_FIGURES = (
    "dry_run",
    "rows",
    "files",
    "bytes",
    "affected_rows",
    "invisible_rows",
    "updated_rows",
    "deleted_rows",
    "inserted_rows",
    "already_committed",
    "tasks",
    "files_before",
    "files_after",
    "bytes_before",
    "bytes_after",
    "rows_before",
    "rows_after",
    "deleted_files",
    "freed_bytes",
)


def summary(result: Any) -> str:
    """What an operation came to, in words."""
    if isinstance(result, CompactionReport):
        parts = [_snapshots(result), f"{result.tasks} bucket{'s' * (result.tasks != 1)}", _replaced(result)]
        parts = parts if result.tasks or result.snapshots else ["nothing to do"]
    elif isinstance(result, CommitReport):
        parts = _committed(result)
    elif isinstance(result, UpkeepReport):
        parts = [
            f"{'would delete' if result.dry_run else 'deleted'} {_files(result.deleted_files, result.freed_bytes)}"
        ]
        parts += [
            f"{key.replace('_', ' ')} {text}" for key, value in result.details.items() if (text := _detail(value))
        ]
    elif isinstance(result, Verdict):
        parts = [f"problems: {len(result.problems):,}", f"warnings: {len(result.warnings):,}"]
    elif isinstance(result, Tag):
        parts = [f"{result.name} is snapshot {result.id}"]
    elif isinstance(result, int):
        parts = [_rows(result)]
    elif isinstance(result, str):
        parts = [result]
    else:
        parts = ["done"]
    return ", ".join(part for part in [*parts, *getattr(result, "notes", [])] if part)


def _committed(report: CommitReport) -> list[str]:
    if report.already_committed:
        return ["already committed"]
    if not report.snapshots:
        return ["nothing to do"]
    changed = f"{_rows(report.affected_rows)} changed" if report.affected_rows else ""
    if isinstance(report, MergeReport):
        counts = (
            ("updated", report.updated_rows),
            ("deleted", report.deleted_rows),
            ("inserted", report.inserted_rows),
        )
        changed = " ".join(f"{count:,} {what}" for what, count in counts)
    written = f"{_rows(report.rows)} in {_files(report.files, report.bytes)}" if report.files else ""
    return [_snapshots(report), changed, written]


def _snapshots(report: CommitReport | CompactionReport) -> str:
    made = " and ".join(f"{s.id} ({s.kind})" for s in report.snapshots)
    return f"snapshot {made}" if made else "no snapshot"


def _replaced(report: CompactionReport) -> str:
    before = _files(report.files_before, report.bytes_before)
    return f"{before} became {_files(report.files_after, report.bytes_after)}"


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


def _files(count: int, size: int) -> str:
    return f"{count:,} file{'s' * (count != 1)} of {size_text(size)}"


#: Names of a detail that a line has; of more it has the number.
_NAMED = 5


def _detail(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) if len(value) <= _NAMED else f"({len(value):,})" if value else ""
    return "" if value is None or isinstance(value, dict) else str(value)
