"""Changes of a table's definition, collected and committed as one new schema."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any, Self

from siltstone import _core
from siltstone._args import flag, option_texts, optional_text, shown, text
from siltstone._column_types import column_type
from siltstone._handle import Unpicklable
from siltstone._operation import operation
from siltstone.errors import InvalidArgument

Column = str | list[str]


def _column(name: str, value: Any) -> None:
    if isinstance(value, (list, tuple)) and value:
        for part in value:
            text(name, part)
    else:
        text(name, value)


def _one_place(after: str | None, *, first: bool) -> None:
    if after is not None and flag("first", first):
        raise InvalidArgument(f"after={shown(after)} and first=True are two places: give one of them")


def _place(change: dict[str, Any]) -> str:
    """What is changed, as a change shows itself."""
    found = change.get("column", change.get("key", ""))
    return ".".join(found) if isinstance(found, (list, tuple)) else str(found)


#: What each argument of a change must be.
_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "column": _column, "new_name": text, "key": text, "value": text, "after": optional_text,
    "comment": optional_text, "default": optional_text, "first": flag, "nullable": flag,
}  # fmt: skip


class Alter(Unpicklable):
    """A chain of changes: ``t.alter().set_option("k", "v").commit()``.

    Nothing changes before :meth:`commit`; a chain that is dropped without one gives a ``UserWarning``.

    Example:
        >>> t = example_table()
        >>> t.alter().set_option("snapshot.num-retained.max", "20").commit()
        >>> t.options["snapshot.num-retained.max"]
        '20'
        >>> t.alter().add_column("tags", list[str]).commit()
        >>> t.schema.field("tags").type
        ListType(list<element: string>)
    """

    _instead = "send the table, and alter it there"

    def __init__(self, table: _core.Table) -> None:
        """Use :meth:`siltstone.Table.alter`."""
        self._table = table
        self._changes: list[dict[str, Any]] = []
        self._tried = False

    def _add(self, kind: str, **values: Any) -> Self:
        self._tried = True  # who sees an error in the chain has forgotten nothing
        for name, value in values.items():
            if name in _CHECKS:
                _CHECKS[name](name, value)
        self._changes.append({"kind": kind, **values})
        self._tried = False
        return self

    def _type(self, column: Column, given: Any) -> Any:
        """A type as the core takes it: one of those that ``create_table`` takes."""
        self._tried = True
        _column("name", column)
        name = column if isinstance(column, str) else ".".join(column)
        return text("type", given) if isinstance(given, str) else column_type(name, given)

    def __repr__(self) -> str:
        """The table, and the changes that wait for :meth:`commit`."""
        kinds = ", ".join(f"{change['kind']}({_place(change)})" for change in self._changes)
        return f"Alter({self._table.name!r}{': ' + kinds if kinds else ''})"

    def __del__(self) -> None:
        """Warn of changes that were never committed."""
        if not getattr(self, "_tried", True) and self._changes:
            kinds = ", ".join(dict.fromkeys(change["kind"] for change in self._changes))
            said = f"changes of {self._table.name} were dropped without commit(): {kinds}"
            warnings.warn(said, UserWarning, stacklevel=2, source=self)

    def add_column(
        self,
        name: Column,
        type: Any,  # noqa: A002  # the API's name
        *,
        comment: str | None = None,
        after: str | None = None,
        first: bool = False,
    ) -> Self:
        """Add a nullable column; rows of older files read as null.

        Args:
            name: Its name; a nested one as a list, ``["r", "x"]``.
            type: Paimon SQL type, a type of Python such as ``int``, ``list[str]`` or ``int | None``, or one of
                pyarrow or polars.
            comment: Its comment.
            after: Put it behind this column; default last.
            first: Put it before all others; not together with ``after``.
        """
        _one_place(after, first=first)
        return self._add(
            "add_column", column=name, type=self._type(name, type), comment=comment, after=after, first=first
        )

    def rename_column(self, name: Column, new_name: str) -> Self:
        """Rename a column; data files stay as they are."""
        return self._add("rename_column", column=name, new_name=new_name)

    def drop_column(self, name: Column) -> Self:
        """Drop a column; its data stays in old files and is not read any more."""
        return self._add("drop_column", column=name)

    def set_type(self, name: Column, type: Any) -> Self:  # noqa: A002  # the API's name
        """Change a column's type; older values are cast while reading, as Java casts them.

        The changes that Java Paimon takes, and no others, are taken: also to a type that does not hold every value. A
        number that does not fit becomes another number (BIGINT to SMALLINT) or NULL (DECIMAL), a text is cut; the next
        compaction makes it so for good. :meth:`losses` says so beforehand, and :meth:`commit` warns. A column that is
        NOT NULL stays so; ``"BIGINT NOT NULL"`` of a column that is not forbids nulls, too, as :meth:`set_nullable`
        does.

        Args:
            name: Its name; a nested one as a list, ``["r", "x"]``, ``["list", "element"]``.
            type: As for :meth:`add_column`. A value that is none of it, such as the text ``'9'`` as BOOLEAN, fails its
                read.
        """
        return self._add("set_type", column=name, type=self._type(name, type))

    def set_nullable(self, name: Column, nullable: bool) -> Self:  # noqa: FBT001  # reads well: set_nullable("d", True)
        """Allow or forbid null."""
        return self._add("set_nullable", column=name, nullable=nullable)

    def set_comment(self, name: Column, comment: str | None) -> Self:
        """Set or (None) remove a column's comment."""
        return self._add("set_comment", column=name, comment=comment)

    def set_default(self, name: Column, value: str | None) -> Self:
        """Set or (None) remove the value that is written for null.

        Args:
            name: A column of an atomic type.
            value: A text, read as Java Paimon reads it: single quotes around it are taken off (``"'x'"`` is the text
                x), the rest is cast to the column's type. CHAR and VARCHAR cut what is too long, CHAR fills up.
        """
        return self._add("set_default", column=name, default=value)

    def move_column(self, name: str, *, after: str | None = None, first: bool = False) -> Self:
        """Move a column of the table behind another one, or before all."""
        text("name", name)
        _one_place(after, first=first)
        return self._add("move_column", column=name, after=after, first=first)

    def set_option(self, key: str, value: str | float) -> Self:
        """Set a table option.

        Args:
            key: Option key, as in Java Paimon.
            value: Value as text; numbers and booleans are written as text.
        """
        return self._add("set_option", key=key, value=option_texts({text("key", key): value})[key])

    def remove_option(self, key: str) -> Self:
        """Remove a table option, so that its default applies."""
        return self._add("remove_option", key=key)

    def set_table_comment(self, comment: str | None) -> Self:
        """Set or (None) remove the table's comment."""
        return self._add("comment", comment=comment)

    def losses(self) -> list[str]:
        """What the changes of types would lose, in words, one text for each column; nothing is changed.

        Java Paimon takes these changes, and so does :meth:`commit`, which logs the same as warnings.

        Example:
            >>> change = example_table().alter().set_type("item", "VARCHAR(2)")
            >>> change.losses()[0].partition(": ")[0]
            "column 'item' was STRING and becomes VARCHAR(2)"
            >>> change.commit()
        """
        self._tried = True  # who asks, and leaves it at that, has forgotten nothing
        return self._table.losses(json.dumps(self._changes))

    def commit(self) -> None:
        """Write the new schema. What values it may lose, and what else may not be meant, is logged as a warning.

        Raises:
            UnknownOption: A key that Paimon does not know.
            InvalidOption: A value that cannot be used, or an option that cannot change any more.
            IllegalSchemaChange: A change that the format forbids.
        """
        self._tried = True
        kinds = [str(change["kind"]) for change in self._changes]
        with operation("alter", self._table) as done:
            self._table.alter(json.dumps(self._changes))
            done(f"{len(kinds)} change{'s' * (len(kinds) != 1)} ({', '.join(kinds)})" if kinds else "nothing to do")
        self._changes.clear()
