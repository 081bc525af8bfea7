"""What the parts of a table have in common: ``t.tags``, ``t.branches``, ``t.consumers``, ``t.maintenance``."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from siltstone import _core


class Handle:
    """A part of a table. It pickles as location, options and branch, and opens the table again where it arrives."""

    def __init__(self, table: _core.Table) -> None:
        """Use the property of the table."""
        self._table = table

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the open table."""
        table = self._table
        return self._open, (table.location, table.dynamic_options, table.branch)

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
