"""MERGE: rows of a source are matched with rows of a table, and clauses say what becomes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from siltstone import _core
from siltstone._args import Size, count, names, optional_text, size_bytes, text
from siltstone._computed import new_values
from siltstone._data import arrow_stream
from siltstone._handle import Unpicklable
from siltstone._operation import operation
from siltstone._sql import column_text
from siltstone.errors import InvalidArgument
from siltstone.report import MergeReport


class Merge(Unpicklable):
    """The clauses of a merge; :meth:`execute` does it, as one commit.

    In conditions and new values ``t`` is the table and ``s`` the source: ``"s.amount > t.amount"``. Of several clauses
    about the same rows the first one whose condition holds counts. Nothing is read before :meth:`execute`.

    Example:
        >>> t = example_table()
        >>> changes = [{"id": 1, "item": "cap"}, {"id": 2, "item": None}, {"id": 3, "item": "mug"}]
        >>> merge = t.merge(changes, on="id").when_matched_delete("s.item IS NULL").when_matched_update_all()
        >>> report = merge.when_not_matched_insert_all().execute()
        >>> report.updated_rows, report.deleted_rows, report.inserted_rows
        (1, 1, 1)
        >>> t.scan().to_arrow().sort_by("id").to_pylist()
        [{'id': 1, 'item': 'cap'}, {'id': 3, 'item': 'mug'}]
    """

    _instead = "make it where it is executed"

    def __init__(
        self,
        table: _core.Table,
        source: Any,
        on: str | Iterable[str],
        *,
        memory_limit: Size | None = None,
        threads: int | None = None,
        done: Callable[[], None] = lambda: None,
    ) -> None:
        """Use :meth:`siltstone.Table.merge`."""
        self._table, self._source, self._done = table, source, done
        self._on = _condition(on)
        self._memory = size_bytes("memory_limit", memory_limit)
        self._threads = count("threads", threads, 1)
        self._clauses: list[dict[str, Any]] = []

    def _add(self, of: str, action: str, given: Any, condition: str | None) -> Self:
        closed = [c for c in self._clauses if c["of"] == of and c["condition"] is None]
        if closed:
            raise InvalidArgument(
                f"no row can reach {_spelled(of, action)}: {_spelled(of, closed[0]['action'])} has no condition",
                hint="put clauses with a condition before the one without",
            )
        assigned = None if given is None else list(new_values("the new values", given).items())
        given_condition = optional_text("condition", condition)
        self._clauses.append({"of": of, "action": action, "set": assigned, "condition": given_condition})
        return self

    def when_matched_update(self, values: Mapping[str, Any], condition: str | None = None) -> Self:
        """Give rows of the table that a row of the source belongs to new values.

        Args:
            values: New values by column, as for :meth:`siltstone.Table.update`, over ``t`` and ``s``.
            condition: Only where this holds.
        """
        return self._add("matched", "update", values, condition)

    def when_matched_update_all(self, condition: str | None = None) -> Self:
        """Give them the values that the source has in columns of the same names; other columns stay as they are."""
        return self._add("matched", "update", None, condition)

    def when_matched_delete(self, condition: str | None = None) -> Self:
        """Delete rows of the table that a row of the source belongs to."""
        return self._add("matched", "delete", None, condition)

    def when_not_matched_insert(self, values: Mapping[str, Any], condition: str | None = None) -> Self:
        """Insert rows of the source that belong to no row of the table.

        Args:
            values: Values by column, over ``s``; other columns get their defaults, or null.
            condition: Only where this holds.
        """
        return self._add("not_matched", "insert", values, condition)

    def when_not_matched_insert_all(self, condition: str | None = None) -> Self:
        """Insert them as they are: each column of the source is one of the table."""
        return self._add("not_matched", "insert", None, condition)

    def when_not_matched_by_source_update(self, values: Mapping[str, Any], condition: str | None = None) -> Self:
        """Give rows of the table that no row of the source belongs to new values, over ``t``."""
        return self._add("not_matched_by_source", "update", values, condition)

    def when_not_matched_by_source_delete(self, condition: str | None = None) -> Self:
        """Delete rows of the table that no row of the source belongs to."""
        return self._add("not_matched_by_source", "delete", None, condition)

    def execute(self) -> MergeReport:
        """Do it, as one commit.

        Raises:
            InvalidArgument: No clause, an unknown column, a condition without an equality of columns of both sides, or
                several rows of the source that would change one row of the table.
            SchemaMismatch: ``..._all`` with a column that the table does not have, or a value that its column cannot
                hold.
            DeleteNotAllowed: The merge engine of the table takes no deletes.
            UnsupportedFeature: Changes of rows of a table with data evolution.
            CommitConflict: Other commits changed the same rows again and again.
        """
        arguments = {
            "on": self._on,
            "clauses": self._clauses,
            "memory_limit": self._memory,
            "threads": self._threads,
        }
        table = self._table
        with operation("merge", table, unit="rows") as done, arrow_stream(self._source, table, others=True) as stream:
            report = done(table.merge(stream, json.dumps(arguments)))
        self._done()
        return report

    def __repr__(self) -> str:
        """The condition and the clauses."""
        clauses = "".join(f".{_spelled(c['of'], c['action'])}(...)" for c in self._clauses)
        return f"Merge({self._table.name!r}, on={self._on!r}){clauses}"


def _spelled(of: str, action: str) -> str:
    return f"when_{of}_{action}"


def _condition(on: str | Iterable[str]) -> str:
    """The condition of an argument: a text that compares columns, or the names that both sides have in common."""
    if isinstance(on, str):
        given = text("on", on)
        if not given.strip():
            raise InvalidArgument("on is empty: name the columns by which rows are matched")
        if any(sign in given for sign in "=<>"):
            return given
    columns = names("on", on)
    if not columns:
        raise InvalidArgument("'on' names no column: give at least one, by which rows are matched")
    return " AND ".join(f"t.{column_text(column)} = s.{column_text(column)}" for column in columns)
