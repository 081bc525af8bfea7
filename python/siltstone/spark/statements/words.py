"""The words of a statement, one after another."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from siltstone.errors import InvalidArgument
from siltstone.procedures.naming import unquoted
from siltstone.procedures.parse import text_of
from siltstone.spark.blanks import without_comments

_WORD = re.compile(
    r"""
      (?P<text>\b[rR](?:'[^']*'|"[^"]*")|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<number>\d+(?:\.\d+)?(?![\w]))
    | (?P<word>\w[\w$]*)
    | (?P<hint>/\*\+.*?\*/)
    | (?P<sign>=>|\S)
    """,
    re.VERBOSE | re.DOTALL,
)
_QUERIES = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")
_DEPTH = {"(": 1, "<": 1, "[": 1, ")": -1, ">": -1, "]": -1}


@dataclass(frozen=True)
class _Word:
    kind: str
    text: str
    start: int
    end: int


class Words:
    """A statement that is read from left to right; what is left over at its end is an error."""

    def __init__(self, statement: str, form: str) -> None:
        """Begin at the first word.

        Args:
            statement: The statement.
            form: How such a statement is written, for errors.
        """
        self.text = without_comments(statement)
        self._form = form
        found = _WORD.finditer(self.text)
        self._words = [_Word(str(m.lastgroup), m[0], m.start(), m.end()) for m in found]
        while self._words and self._words[-1].text == ";":
            self._words.pop()
        self._at = 0

    def follows(self, *words: str) -> bool:
        """Whether these words, or signs, are next."""
        ahead = self._words[self._at : self._at + len(words)]
        plain = [w.text.upper() for w in ahead if w.kind in ("word", "sign")]
        return plain == list(words)

    def take(self, *words: str) -> bool:
        """Go over these words if they are next."""
        if not self.follows(*words):
            return False
        self._at += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Go over these words.

        Raises:
            InvalidArgument: Others are next.
        """
        if not self.take(*words):
            raise self.unreadable(f"{' '.join(words)} is expected")

    def one_of(self, *choices: str) -> str:
        """Go over one of these words, and say which."""
        for choice in choices:
            if self.take(choice):
                return choice
        raise self.unreadable(f"{' or '.join(choices)} is expected")

    def name(self) -> list[str]:
        """The parts of a name."""
        parts = [self.identifier()]
        while self.take("."):
            parts.append(self.identifier())
        return parts

    def identifier(self) -> str:
        """One part of a name."""
        if self.at_end or self._words[self._at].kind not in ("word", "quoted"):
            raise self.unreadable("a name is expected")
        self._at += 1
        return unquoted(self._words[self._at - 1].text)

    def string(self) -> str:
        """A text in quotes."""
        if self.at_end or self._words[self._at].kind != "text":
            raise self.unreadable("a text in quotes is expected")
        self._at += 1
        return text_of(self._words[self._at - 1].text)

    def number(self) -> int:
        """A whole number."""
        if self.at_end or not self._words[self._at].text.isdecimal():
            raise self.unreadable("a whole number is expected")
        self._at += 1
        return int(self._words[self._at - 1].text)

    def value(self) -> str:
        """A text, number or truth value, as a text."""
        if not self.at_end and self._words[self._at].kind == "text":
            return self.string()
        sign = "-" if self.take("-") else ""
        if self.at_end or not (self._words[self._at].kind == "number" or self.follows("TRUE") or self.follows("FALSE")):
            raise self.unreadable("a text, number, true or false is expected")
        self._at += 1
        return sign + self._words[self._at - 1].text.lower()

    def properties(self) -> dict[str, str | None]:
        """``('key' = 'value', a.b = 1, 'c')``; the value of a key without one is None."""
        self.expect("(")
        found: dict[str, str | None] = {}
        while True:
            key = self.string() if self.is_text else ".".join(self.name())
            if key in found:
                raise self.unreadable(f"'{key}' stands twice")
            given = self.take("=") or self._is_value
            found[key] = self.value() if given else None
            if not self.take(","):
                break
        self.expect(")")
        return found

    @property
    def _is_value(self) -> bool:
        return not self.at_end and self._words[self._at].kind in ("text", "number")

    def until(self, *stops: str) -> str:
        """The text before the first of these words that stands in no brackets and no CASE, or before the end."""
        begin, depth, cases = self._at, 0, 0
        while not self.at_end:
            word = self._words[self._at]
            plain = word.text.upper() if word.kind in ("word", "sign") else ""
            if depth == cases == 0 and plain in stops:
                break
            depth += _DEPTH.get(plain, 0) if plain in ("(", ")", "[", "]") else 0
            cases = max(0, cases + (plain == "CASE") - (plain == "END"))
            self._at += 1
        if self._at == begin:
            raise self.unreadable("an expression is expected")
        return self.text[self._words[begin].start : self._words[self._at - 1].end]

    @property
    def is_text(self) -> bool:
        """Whether a text in quotes is next."""
        return not self.at_end and self._words[self._at].kind == "text"

    @property
    def query_in_brackets(self) -> bool:
        """Whether the brackets that are next have a query in them."""
        at = self._at
        while at < len(self._words) and self._words[at].text == "(":
            at += 1
        return at < len(self._words) and self._words[at].text.upper() in _QUERIES

    def brackets(self) -> str:
        """The text between the brackets that are next."""
        self.expect("(")
        inside = "" if self.follows(")") else self.until(")")
        self.expect(")")
        return inside

    def names(self) -> list[str]:
        """``(a, b)``."""
        self.expect("(")
        found = [self.identifier()]
        while self.take(","):
            found.append(self.identifier())
        self.expect(")")
        return found

    def type(self) -> str:
        """The text of a type."""
        begin = self._at
        self.identifier()
        for opening in ("<", "("):
            if self.follows(opening):
                depth = 0
                while not self.at_end:
                    depth += _DEPTH.get(self._words[self._at].text, 0)
                    self._at += 1
                    if depth == 0:
                        break
        return self.text[self._words[begin].start : self._words[self._at - 1].end]

    def rest(self) -> str:
        """All that is left."""
        if self.at_end:
            raise self.unreadable("more is expected")
        begin = self._words[self._at].start
        self._at = len(self._words)
        return self.text[begin : self._words[-1].end]

    def end(self) -> None:
        """Make sure that nothing is left.

        Raises:
            InvalidArgument: Something is.
        """
        if not self.at_end:
            raise self.unreadable("the end is expected")

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self._at >= len(self._words)

    def unreadable(self, what: str) -> InvalidArgument:
        """The error for the place at which the statement is read."""
        place = "at the end" if self.at_end else f"at '{self.text[self._words[self._at].start :][:40].strip()}'"
        return InvalidArgument(f"the statement cannot be read {place}: {what}", hint=self._form)


def split_names(parts: list[str]) -> Any:
    """A column of a table as the API takes it: nested ones are lists."""
    return parts[0] if len(parts) == 1 else parts
