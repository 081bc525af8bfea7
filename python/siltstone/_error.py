"""The base of all errors of siltstone; the kinds of them are in :mod:`siltstone.errors`."""

from __future__ import annotations

from collections.abc import Mapping


class SiltstoneError(Exception):
    """Base of all errors of siltstone.

    Attributes:
        code: Stable name of the kind of error.
        hint: What to do next, or None.
        context: Where it happened: table, file, column, option, offset, snapshot.
    """

    code = "error"

    def __init__(self, message: str = "", *, hint: str | None = None, context: Mapping[str, str] | None = None) -> None:
        """Make an error that says ``message``."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.context = dict(context or {})

    def __str__(self) -> str:
        """The message, where it happened, and the hint on a line of its own."""
        text = self.message
        if self.context:
            text += " (" + ", ".join(f"{k}: {v}" for k, v in self.context.items()) + ")"
        return f"{text}\nhint: {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with hint and context, so that errors survive the way back from an executor."""
        return _rebuild, (type(self), self.message, self.hint, self.context)

    @property
    def table(self) -> str | None:
        """The table, when it is known."""
        return self.context.get("table")


def _rebuild(cls: type[SiltstoneError], message: str, hint: str | None, context: Mapping[str, str]) -> SiltstoneError:
    return cls(message, hint=hint, context=context)
