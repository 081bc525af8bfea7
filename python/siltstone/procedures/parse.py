"""``CALL sys.name(argument => value, ...)``: text to a name and arguments."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from siltstone._args import cut, shown
from siltstone.errors import InvalidArgument

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    | (?P<number>[+-]?\d+(?:\.\d+)?)(?P<long>[Ll])?
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<arrow>=>)
    | (?P<sign>[(),.;])
    )""",
    re.VERBOSE,
)
#: What stands for a character in a text of Spark's SQL.
_ESCAPE = re.compile(r"""\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\[01][0-7]{2}|\\.|''|[\"]{2}""", re.DOTALL)
_CHARACTERS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
Token = tuple[str, Any]
_LITERALS = "arguments are literals, and nothing is computed in a call: write the value itself"
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True)
class Call:
    """One parsed statement.

    Attributes:
        name: Name of the procedure, in lower case, without ``sys``.
        positional: Values given without names.
        named: Values by argument name.
        catalog: The catalog that the statement names, if any.
    """

    name: str
    positional: list[Any] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)
    catalog: str | None = field(default=None, compare=False)


def is_call(sql: str) -> bool:
    """Whether a statement is a ``CALL`` of our ``sys`` procedures."""
    return re.match(r"\s*CALL\s+(?:(?:\w+|`(?:[^`]|``)+`)\s*\.\s*)?(?:sys|`sys`)\s*\.", sql, re.IGNORECASE) is not None


def parse_call(sql: str) -> Call:
    """Read a ``CALL`` statement.

    Raises:
        InvalidArgument: It is not one; the text says where.
    """
    tokens = _tokens(sql)
    if not tokens or tokens[0][0] != "word" or tokens[0][1].upper() != "CALL":
        raise InvalidArgument("a call begins with CALL sys.<procedure>(...)")
    path: list[str] = []
    at = 1
    while at < len(tokens) and tokens[at][0] in ("word", "quoted"):
        path.append(tokens[at][1])
        at += 1
        if tokens[at : at + 1] != [("sign", ".")]:
            break
        at += 1
    if len(path) not in (2, 3) or path[-2].lower() != "sys":
        raise InvalidArgument(f"'{'.'.join(path)}' is not a procedure", hint="CALL sys.<procedure>(argument => value)")
    positional, named, at = _arguments(tokens, at)
    rest = [t for t in tokens[at:] if t != ("sign", ";")]
    if rest:
        raise InvalidArgument(f"a call ends after its ')', but {shown(rest[0][1])} follows")
    return Call(path[-1].lower(), positional, named, None if path[0] is path[-2] else path[0])


def _arguments(tokens: list[Token], at: int) -> tuple[list[Any], dict[str, Any], int]:
    """What stands between the brackets, and the position behind them."""
    if tokens[at : at + 1] != [("sign", "(")]:
        raise InvalidArgument("the procedure's name must be followed by '('")
    at += 1
    positional: list[Any] = []
    named: dict[str, Any] = {}
    while tokens[at : at + 1] != [("sign", ")")]:
        if positional or named:
            if tokens[at : at + 1] != [("sign", ",")]:
                raise InvalidArgument("arguments are separated by ','; the call ends with ')'")
            at += 1
        at = _argument(tokens, at, positional, named)
    return positional, named, at + 1


def _argument(tokens: list[Token], at: int, positional: list[Any], named: dict[str, Any]) -> int:
    """Read one argument into the list or the dict; the position behind it."""
    if tokens[at + 1 : at + 2] == [("arrow", "=>")] and tokens[at][0] in ("word", "quoted"):
        name = tokens[at][1]
        if name in named:
            raise InvalidArgument(f"the argument '{name}' is given twice")
        named[name] = _value(tokens, at + 2)
        return at + 3
    if named:
        raise InvalidArgument("arguments without a name come before those with one")
    positional.append(_value(tokens, at))
    return at + 1


def _value(tokens: list[Token], at: int) -> Any:
    if at >= len(tokens):
        raise InvalidArgument("the call ends too early")
    kind, value = tokens[at]
    if kind in ("text", "number"):
        return value
    if kind == "word" and value.lower() in _WORDS:
        return _WORDS[value.lower()]
    raise InvalidArgument(
        f"{shown(value)} is not a value: give a text in quotes, a number, true, false or null", hint=_LITERALS
    )


def _tokens(sql: str) -> list[Token]:
    found: list[Token] = []
    at = 0
    text = sql.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise InvalidArgument(f"the call cannot be read at '{text[at : at + 20].strip()}'", hint=_LITERALS)
        kind = match.lastgroup or ""
        kind = "number" if kind == "long" else kind
        raw = match[kind]
        found.append((kind, _plain(kind, raw)))
        at = match.end()
    return found


def text_of(raw: str) -> str:
    """The text that a literal of Spark's SQL means, with its quotes."""
    if raw[0] in "rR":
        return raw[2:-1]
    found: str = _plain("text", raw)
    return found


def _plain(kind: str, raw: str) -> Any:
    if kind == "number":
        return Decimal(raw) if "." in raw else _integer(raw)
    if kind == "quoted":
        return raw[1:-1].replace("``", "`")
    if kind == "text":
        quote = raw[0]
        found = _ESCAPE.sub(lambda m: _unescaped(m[0], quote), raw[1:-1])
        # the two halves of a character, written one by one
        return found.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return raw


def _unescaped(found: str, quote: str) -> str:
    """The character that an escape means; Spark keeps the backslash before ``%`` and ``_``."""
    if found[0] != "\\":  # a quote twice
        return quote if found[0] == quote else found
    if len(found) > 2:  # noqa: PLR2004  # longer than a backslash and a character
        digits, base = (found[2:], 16) if found[1] in "uU" else (found[1:], 8)
        code = int(digits, base)
        return chr(code) if code <= sys.maxunicode else found[1:]
    return _CHARACTERS.get(found[1], found[1])


def _integer(raw: str) -> int:
    try:
        return int(raw)
    except ValueError:
        raise InvalidArgument(f"the number {cut(raw)} has more digits than Python reads") from None
