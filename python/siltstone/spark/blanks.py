"""What of a statement is neither a comment nor quoted, as Spark's lexer sees it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_QUOTED = re.compile(
    r"""
      \b[rR](?:'[^']*'|"[^"]*")
    | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*"
    | `[^`]*`
    | --(?:\\\n|[^\r\n])*
    | /\*
    """,
    re.VERBOSE | re.DOTALL,
)
_EDGE = re.compile(r"/\*(?!\+)|\*/")


def without_comments(query: str) -> str:
    """The statement with a blank for each comment; a comment may have others in it, but no hint."""
    return _blanked(query, keep_quoted=True)


def bare(query: str) -> str:
    """The statement with a blank for each comment, text and quoted name."""
    return _blanked(query, keep_quoted=False)


def replaced(query: str, what: re.Pattern[str], new: Callable[[re.Match[str]], str]) -> str:
    """The statement with other words for those that are neither in comments nor quoted."""
    return "".join(what.sub(new, words) + other for words, other in _parts(query))


def _blanked(query: str, *, keep_quoted: bool) -> str:
    def kept(other: str) -> str:
        return other if not other or (keep_quoted and not other.startswith(("--", "/*"))) else " "

    return "".join(words + kept(other) for words, other in _parts(query))


def _parts(query: str) -> Iterator[tuple[str, str]]:
    """What is neither a comment nor quoted, each time with the comment, text or quoted name behind it."""
    at = 0
    while found := _QUOTED.search(query, at):
        end = _end_of_comment(query, found.end()) if found[0] == "/*" else found.end()
        yield query[at : found.start()], query[found.start() : end]
        at = end
    yield query[at:], ""


def _end_of_comment(query: str, at: int) -> int:
    """Where the comment ends whose beginning ends here; an open one goes to the end."""
    open_ones = 1
    while open_ones and (edge := _EDGE.search(query, at)):
        open_ones += 1 if edge[0] == "/*" else -1
        at = edge.end()
    return len(query) if open_ones else at
