"""What a procedure is, and running one."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from siltstone._args import shown, written
from siltstone.errors import InvalidArgument
from siltstone.procedures.naming import has_database, option_map, plain_name, with_options
from siltstone.procedures.refused import refuse

if TYPE_CHECKING:
    from siltstone import Table
    from siltstone.procedures.parse import Call
    from siltstone.report import CommitReport, UpkeepReport

Rows = list[tuple[Any, ...]]
_LOG = logging.getLogger("siltstone.procedures")


@dataclass(frozen=True)
class Argument:
    """One argument.

    Attributes:
        name: Java's name.
        kind: ``str``, ``int`` or ``bool``; a text that reads as one is taken too.
        required: Whether it must be given.
    """

    name: str
    kind: type = str
    required: bool = False


@dataclass(frozen=True)
class Answer:
    """What a procedure did.

    Attributes:
        rows: One tuple a row.
        notes: What the caller should know; Java's columns have no place for it.
    """

    rows: Rows
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Procedure:
    """A procedure.

    Attributes:
        name: Name without ``sys.``.
        arguments: In Java's order; the first is the table.
        schema: Columns of the result as a SQL schema text.
        run: Gets the table and the other arguments by name; returns the rows, and what else there is to say. An
            argument ``options`` does not reach it: the table has these dynamic options.
        databases: Whether ``db.*`` means all tables of a database; numbers of their results are added up.
        whole: It is about all tables, has no argument ``table``, and gets a :class:`Warehouse` instead of one.
    """

    name: str
    arguments: tuple[Argument, ...]
    schema: str
    run: Callable[..., Answer]
    databases: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Warehouse:
    """All tables.

    Attributes:
        find: Opens a table by its name.
        tables: Names of the tables of a database.
        databases: Names of the databases.
    """

    find: Callable[[str], Table]
    tables: Callable[[str], Iterable[str]]
    databases: Callable[[], Iterable[str]]

    def names(self, databases: re.Pattern[str]) -> Iterator[str]:
        """``db.t`` for all tables of the databases whose whole name fits a pattern."""
        for database in self.databases():
            if databases.fullmatch(database):
                yield from (f"{database}.{table}" for table in self.tables(database))


@dataclass(frozen=True)
class CallResult:
    """Rows of a procedure.

    Attributes:
        schema: Columns as ``name TYPE, ...``.
        rows: One tuple a row.
        notes: What the caller should know; also logged as warnings.
    """

    schema: str
    rows: Rows
    notes: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [part.split()[0] for part in self.schema.split(",")]


PROCEDURES: dict[str, Procedure] = {}

DONE = Answer([(True,)])
RESULT = "result BOOLEAN"
OPTIONS = Argument("options")
"""Dynamic options of the table, ``k=v,k2=v2``."""


def procedure(
    name: str, *arguments: Argument, schema: str = RESULT, databases: bool = False, whole: bool = False
) -> Callable[[Callable[..., Answer]], Any]:
    """Enter a function as a procedure; ``table`` is its first argument, unless it is about the ``whole`` warehouse."""

    def enter(run: Callable[..., Answer]) -> Callable[..., Answer]:
        table = Argument("table", required=True)
        PROCEDURES[name] = Procedure(name, arguments if whole else (table, *arguments), schema, run, databases, whole)
        return run

    return enter


def run_call(
    call: Call,
    find: Callable[[str], Table],
    compact: Callable[..., Any] | None = None,
    tables: Callable[[str], Iterable[str]] | None = None,
    database: Callable[[], str] | None = None,
    databases: Callable[[], Iterable[str]] | None = None,
) -> CallResult:
    """Run a parsed call.

    Args:
        call: What to run.
        find: Opens a table by the name in the call, without catalog and quotes.
        compact: How ``sys.compact`` compacts; None for this process.
        tables: Names of the tables of a database, for ``db.*``.
        database: The database of names that say none; None where they must say it.
        databases: Names of all databases, for procedures about all tables.

    Raises:
        InvalidArgument: Unknown procedure, or arguments that it does not take.
        UnsupportedFeature: A procedure of Java's that is not here; the hint says what to do instead.
        CommitConflict: Other commits got in the way, also of a compaction; what it did before is kept.
    """
    known = PROCEDURES.get(call.name)
    if known is None:
        refuse(call.name)
        close = difflib.get_close_matches(call.name, PROCEDURES, n=1)
        hint = f"did you mean sys.{close[0]}?" if close else "known: " + ", ".join(sorted(PROCEDURES))
        raise InvalidArgument(f"there is no procedure sys.{call.name}", hint=hint)
    given = _bind(known, call)
    if known.name in ("compact", "compact_database") and compact is not None:
        given["runner"] = compact
    if known.whole:
        if tables is None or databases is None:
            raise InvalidArgument(f"sys.{known.name} is about all tables, and there is no catalog")
        return _result(known, known.run(Warehouse(find, tables, databases), **given))
    as_given = given.pop("table")
    name = plain_name(as_given, call.catalog)
    options = option_map(given.pop(OPTIONS.name, ""))
    if not name.endswith(".*"):
        if database is not None and not has_database(as_given):
            name = f"{database()}.{name}"
        return _result(known, known.run(with_options(find(name), options), **given))
    if not known.databases or tables is None:
        raise InvalidArgument(f"sys.{known.name} takes one table, not all of '{name}'")
    whole = name.removesuffix(".*")
    found = [find(f"{whole}.{one}") for one in tables(whole)]
    answers = [known.run(with_options(table, options), **given) for table in found]
    rows = [answer.rows[0] for answer in answers]
    sums = tuple(sum(column) for column in zip(*rows, strict=True)) or (0,) * len(known.schema.split(","))
    return _result(known, Answer([sums], [note for answer in answers for note in answer.notes]))


def _result(known: Procedure, answer: Answer) -> CallResult:
    """The rows; notes are logged, because a result of SQL has no place for them."""
    for note in answer.notes:
        _LOG.warning("sys.%s: %s", known.name, note)
    return CallResult(known.schema, answer.rows, list(answer.notes))


def _bind(known: Procedure, call: Call) -> dict[str, Any]:
    """Values by argument name, of the right types."""
    names = [a.name for a in known.arguments]
    if len(call.positional) > len(names):
        raise InvalidArgument(f"sys.{known.name} takes at most {len(names)} arguments: {', '.join(names)}")
    given = dict(zip(names, call.positional, strict=False))
    by_lower = {name.lower(): name for name in names}
    for name, value in call.named.items():
        real = by_lower.get(name.lower())
        if real is None:
            raise InvalidArgument(f"sys.{known.name} has no argument '{name}'; it takes {', '.join(names)}")
        if real in given:
            raise InvalidArgument(f"the argument '{real}' of sys.{known.name} is given twice")
        given[real] = value
    for argument in known.arguments:
        value = given.get(argument.name)
        if value is None:
            if argument.required:
                raise InvalidArgument(f"sys.{known.name} needs the argument '{argument.name}'")
            given.pop(argument.name, None)
            continue
        given[argument.name] = _typed(known, argument, value)
    return given


def _typed(known: Procedure, argument: Argument, value: Any) -> Any:
    wrong = InvalidArgument(
        f"the argument '{argument.name}' of sys.{known.name} must be a {_KINDS[argument.kind]}, not {shown(value)}"
    )
    if argument.kind is bool:
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if not isinstance(value, bool):
            raise wrong
        return value
    if argument.kind is int:
        try:
            if isinstance(value, bool) or (int(value) != value and not isinstance(value, str)):
                raise wrong
            return int(value)
        except ValueError:
            raise wrong from None
    return written(argument.name, value)


_KINDS: dict[type, str] = {str: "text", int: "whole number", bool: "boolean"}


def done(*reports: CommitReport | UpkeepReport) -> Answer:
    """``true``, with what the reports say."""
    return Answer(DONE.rows, [note for report in reports for note in report.notes])


def names(text: str) -> Sequence[str]:
    """A comma list."""
    return [part.strip() for part in text.split(",") if part.strip()]
