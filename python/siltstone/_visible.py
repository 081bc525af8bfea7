"""Texts of others as terminals and pages show them: what a terminal obeys is an escape."""

from __future__ import annotations

import unicodedata

#: Categories of characters that are not seen but obeyed: control characters, marks of direction, line separators, ...
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
#: Of these, the joiners that words of some scripts, and emojis, are written with.
_JOINERS = "\u200c\u200d"


def visible(text: str) -> str:
    """A text with escapes in the place of characters that a terminal obeys."""
    if text.isprintable():
        return text
    return "".join(c.encode("unicode_escape").decode() if _is_hidden(c) else c for c in text)


def visible_lines(text: str) -> str:
    """:func:`visible`, line by line."""
    return "\n".join(visible(line) for line in text.split("\n"))


def _is_hidden(c: str) -> bool:
    return unicodedata.category(c) in _HIDDEN and c not in _JOINERS
