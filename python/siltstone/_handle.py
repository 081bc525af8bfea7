"""What the parts of a table have in common: ``t.tags``, ``t.branches``, ``t.consumers``, ``t.maintenance``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

from siltstone import _core
from siltstone._error import SiltstoneError
from siltstone._spellings import Hinted


class Handle(Hinted):
    """A part of a table. It pickles as location, options and branch, and opens the table again where it arrives."""

    def __init__(self, table: _core.Table) -> None:
        """Use the property of the table."""
        self._table = table

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the open table."""
        table = self._table
        return self._open, (table.location, table.dynamic_options, table.branch)

    if not TYPE_CHECKING:

        def __call__(self, *_: Any, **__: Any) -> NoReturn:
            """Refuse what other libraries call, as in ``t.tags()``.

            Raises:
                TypeError: Always.
            """
            kind = type(self)
            has = [f".{name}(...)" for name in vars(kind) if not name.startswith("_")]
            raise TypeError(f"a {kind.__name__} is not called: use {', '.join(has[:4])} and so on")

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


class Collection(Handle):
    """A part of a table that is a collection of things with names: it has a length, ``in``, and can be looped over."""

    if TYPE_CHECKING:

        def list(self) -> Sequence[Any]:
            """What it holds."""

    def __iter__(self) -> Iterator[Any]:
        """What it holds, as :meth:`list` has it."""
        return iter(self.list())

    def __len__(self) -> int:
        """How many these are."""
        return len(self.list())

    def __contains__(self, name: object) -> bool:
        """Whether there is one of this name."""
        return name in self._held()


class Unpicklable(Hinted):
    """Something with state that lives in one process."""

    _instead = ""

    def __reduce__(self) -> NoReturn:
        """Refuse to pickle, and say what to send instead.

        Raises:
            TypeError: Always.
        """
        raise TypeError(f"a {type(self).__name__} cannot be pickled: {self._instead}")


def handed_out(writer: Any) -> list[bytes]:
    """The messages of a writer; one that is interrupted before they are returned has lost them, and its writer fails.

    Args:
        writer: A writer of the core.
    """
    try:
        messages: list[bytes] = writer.prepare_commit()
    except BaseException:  # also a signal between the core's end and this one
        writer.lose_messages()
        raise
    return messages
