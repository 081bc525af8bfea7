"""What the parts of a table have in common: ``t.tags``, ``t.branches``, ``t.consumers``, ``t.maintenance``."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from siltstone import _core
from siltstone._error import SiltstoneError


class Handle:
    """A part of a table. It pickles as location, options and branch, and opens the table again where it arrives."""

    def __init__(self, table: _core.Table) -> None:
        """Use the property of the table."""
        self._table = table

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the open table."""
        table = self._table
        return self._open, (table.location, table.dynamic_options, table.branch)

    def _held(self) -> list[str]:
        """Names of what it holds."""
        return []

    def __repr__(self) -> str:
        """The table, and what it has of these."""
        try:
            held = ", ".join(self._held())
        except SiltstoneError as e:  # a text is no place to fail
            held = f"unknown: {e.message}"
        place = self._table.name if self._table.branch == "main" else f"{self._table.name}$branch_{self._table.branch}"
        return f"{type(self).__name__}({place!r}{': ' + held if held else ''})"

    @classmethod
    def _open(cls, location: str, options: dict[str, str], branch: str) -> Self:
        return cls(_core.Table.open(location, options, branch))


class Unpicklable:
    """Something with state that lives in one process."""

    _instead = ""

    def __reduce__(self) -> NoReturn:
        """Refuse to pickle, and say what to send instead.

        Raises:
            TypeError: Always.
        """
        raise TypeError(f"a {type(self).__name__} cannot be pickled: {self._instead}")
