"""Where a statement names its tables, and the statement with other names there.

The rest of the text stays as it was written: a statement that is written anew from its tree means other things
(``'it''s'``, ``percentile_cont``), and its columns have other names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siltstone.errors import InvalidArgument, UnsupportedFeature
from siltstone.procedures.naming import CATALOGS, quoted

#: What stands from ``start`` to ``end`` (exclusive), in the place of which a text comes.
Edit = tuple[int, int, str]
_DEPTH = {"(": 1, ")": -1}


class Places:
    """The positions of a statement's words."""

    def __init__(self, text: str, readable: str | None = None) -> None:
        """Keep the text, and the tokens of what its tree was parsed from, which has the same places."""
        import sqlglot

        self._text = text
        self._readable = text if readable is None else readable
        self._tokens = sqlglot.tokenize(self._readable, read="spark")

    def version_text(self, node: Any) -> str | None:
        """The expression behind a table's ``AS OF``, as it is written; None without a version."""
        if node.args.get("version") is None:
            return None
        begin, end = self._version(node)
        return self._text[self._tokens[begin].start : self._tokens[end - 1].end + 1]

    def table(self, node: Any, place: str) -> list[Edit]:
        """Edits that name ``place`` instead of a table with its version, under the alias that the statement uses."""
        start, end = _span(node.parts)
        at = self._behind(end)
        if node.args.get("version") is not None:
            at = self._version(node)[1]
            end = self._tokens[at - 1].end + 1
        edits = [(start, end, f"{{{place}}}")]
        if not node.alias:
            at = self._behind_sample(at)
            behind = self._tokens[at - 1].end + 1
            edits.append((behind, behind, f" AS {_plain(quoted(node.name))}"))
        return edits

    def edited(self, edits: Sequence[Edit]) -> str:
        """The text with its edits, as a template: braces that are the statement's own are doubled."""
        pieces, at = [], 0
        for start, end, new in sorted(set(edits)):
            pieces += [_plain(self._text[at:start]), new]
            at = end
        return "".join([*pieces, _plain(self._text[at:])])

    def _behind(self, end: int) -> int:
        """Number of the first token that begins at ``end`` or later."""
        return next((n for n, token in enumerate(self._tokens) if token.start >= end), len(self._tokens))

    def _word(self, at: int) -> str:
        return self._tokens[at].text.upper() if at < len(self._tokens) else ""

    def _version(self, node: Any) -> tuple[int, int]:
        """First token of the expression behind a table's ``AS OF``, and the token behind it."""
        import sqlglot

        begin = self._behind(_span(node.parts)[1])
        while self._word(begin) != "OF":
            begin += 1
            if begin >= len(self._tokens):
                raise _unclear(node)
        begin += 1
        wanted = node.args["version"].expression
        depth = 0
        for end in range(begin + 1, len(self._tokens) + 1):
            depth += _DEPTH.get(self._word(end - 1), 0)
            if depth != 0 or self._word(end) == "(":  # `now` in front of brackets is a part of `now()`
                continue
            text = self._readable[self._tokens[begin].start : self._tokens[end - 1].end + 1]
            try:
                found = sqlglot.parse_one(f"SELECT {text}", read="spark").selects
            except sqlglot.errors.SqlglotError:
                continue
            if found == [wanted]:
                while end < len(self._tokens) and self._tokens[end].start <= self._tokens[end - 1].start:
                    end += 1  # noqa: PLW2901  # 1L is three tokens in one place
                return begin, end
        raise _unclear(node)

    def _behind_sample(self, at: int) -> int:
        """The token behind ``TABLESAMPLE (...) REPEATABLE (...)``, which stands before an alias."""
        for word in ("TABLESAMPLE", "REPEATABLE"):
            if self._word(at) == word:
                at = self._behind_brackets(at + 1)
        return at

    def _behind_brackets(self, at: int) -> int:
        depth = 0
        while at < len(self._tokens):
            depth += _DEPTH.get(self._word(at), 0)
            at += 1
            if depth == 0:
                break
        return at


def qualifiers(tree: Any, tables: Sequence[Any], database: str) -> list[Edit]:
    """Edits that leave ``t.c`` of ``db.t.c``: the frame in the place of ``db.t`` is called ``t``.

    A name that other sources of the statement have, too, stays as it is: Spark says that it does not know it.
    """
    from sqlglot import exp

    plain = [node for node in tables if not node.alias]
    called = [node.alias_or_name.lower() for node in tree.find_all(exp.Table) if not node.find_ancestor(exp.Hint)]
    called += [node.name.lower() for node in tree.find_all(exp.TableAlias) if not isinstance(node.parent, exp.Table)]
    edits = []
    for column in tree.find_all(exp.Column):
        parts = [part.name.lower() for part in column.parts]
        known = 2 if parts and parts[0] in CATALOGS else 1
        if len(parts) < known + 2:
            continue
        owners = [n for n in plain if [(n.db or database).lower(), n.name.lower()] == parts[known - 1 : known + 1]]
        if owners and len(owners) == called.count(parts[known]):
            edits.append((_span(column.parts)[0], _span(column.parts[known:])[0], ""))
    return edits


def _span(parts: Sequence[Any]) -> tuple[int, int]:
    """Where names begin and end in the text."""
    try:
        return parts[0].meta["start"], parts[-1].meta["end"] + 1
    except KeyError:
        raise UnsupportedFeature(
            "this sqlglot does not say where a statement names its tables", hint="pip install 'sqlglot>=27'"
        ) from None


def _unclear(node: Any) -> InvalidArgument:
    shown = node.args["version"].sql("spark")
    return InvalidArgument(f"'{shown}' cannot be read", hint="give a number, a text in quotes, or a call of a function")


def _plain(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
