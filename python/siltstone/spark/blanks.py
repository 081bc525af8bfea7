"""What of a statement is neither a comment nor quoted, as Spark's lexer sees it."""

from __future__ import annotations

import re

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


def _blanked(query: str, *, keep_quoted: bool) -> str:
    parts: list[str] = []
    at = 0
    while found := _QUOTED.search(query, at):
        is_comment = found[0].startswith(("--", "/*"))
        parts += (query[at : found.start()], found[0] if keep_quoted and not is_comment else " ")
        at = _end_of_comment(query, found.end()) if found[0] == "/*" else found.end()
    return "".join((*parts, query[at:]))


def _end_of_comment(query: str, at: int) -> int:
    """Where the comment ends whose beginning ends here; an open one goes to the end."""
    open_ones = 1
    while open_ones and (edge := _EDGE.search(query, at)):
        open_ones += 1 if edge[0] == "/*" else -1
        at = edge.end()
    return len(query) if open_ones else at
