"""Columns of a new table as SQL writes them: ``id BIGINT NOT NULL COMMENT 'number', PRIMARY KEY (id)``."""

from __future__ import annotations

import re
from typing import Any

from siltstone._args import shown
from siltstone.errors import IllegalSchema

_HINT = "write \"id BIGINT NOT NULL COMMENT 'number', name STRING, PRIMARY KEY (id)\""
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^']|'')*')|(?P<quoted>`(?:[^`]|``)+`|"(?:[^"]|"")+")|(?P<number>\d+(?:\.\d+)?)|(?P<word>\w+)|(?P<sign>[(),<>:.+-]))"""
)
#: Words that end a type.
_AFTER_TYPE = {"COMMENT", "DEFAULT"}


def columns_of_text(text: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Fields of the schema JSON, and the columns of the primary key where the text names them.

    Raises:
        IllegalSchema: Anything else; types themselves are looked at later.
    """
    fields: list[dict[str, Any]] = []
    key: list[str] = []
    for part in _parts(_tokens(text)):
        if len(part) > 1 and [t.upper() for t in part[:2]] == ["PRIMARY", "KEY"]:
            if key:
                raise IllegalSchema("the text names two primary keys", hint=_HINT)
            key = _key(part[2:])
        else:
            fields.append(_field(part))
    if not fields:
        raise IllegalSchema(f"{shown(text)} has no column", hint=_HINT)
    return fields, key


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    stripped = text.rstrip()
    while at < len(stripped):
        match = _TOKEN.match(stripped, at)
        if match is None:
            raise IllegalSchema(
                f"{shown(stripped[at : at + 20].strip())} cannot stand in a list of columns", hint=_HINT
            )
        found.append(match[match.lastgroup or 0])
        at = match.end()
    return found


def _parts(words: list[str]) -> list[list[str]]:
    """The parts between commas that are in no parentheses."""
    parts: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word in {"(", "<"}) - (word in {")", ">"})
        if word == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def _name(word: str) -> str:
    if word[0] in '`"':
        return word[1:-1].replace(word[0] * 2, word[0])
    if not (word[0].isalpha() or word[0] == "_"):
        raise IllegalSchema(f"{shown(word)} is not a column name", hint=_HINT)
    return word


def _key(words: list[str]) -> list[str]:
    if words[-2:] and [t.upper() for t in words[-2:]] == ["NOT", "ENFORCED"]:
        words = words[:-2]
    if len(words) < 3 or words[0] != "(" or words[-1] != ")":  # noqa: PLR2004  # (a)
        raise IllegalSchema("PRIMARY KEY needs its columns in parentheses", hint=_HINT)
    return [_name(word) for word in words[1:-1] if word != ","]


def _field(words: list[str]) -> dict[str, Any]:
    name, rest = _name(words[0]), words[1:]
    kind: list[str] = []
    while rest and rest[0].upper() not in _AFTER_TYPE:
        kind.append(rest.pop(0))
    if not kind:
        raise IllegalSchema(f"column '{name}' has no type", hint=_HINT)
    field: dict[str, Any] = {"name": name, "type": _type(kind)}
    while rest:
        clause, value = rest[0].upper(), rest[1:2]
        member = {"COMMENT": "description", "DEFAULT": "defaultValue"}.get(clause)
        if member is None or not value or member in field:
            raise IllegalSchema(f"{shown(' '.join(rest))} after the type of column '{name}' is not known", hint=_HINT)
        if clause == "COMMENT" and not value[0].startswith("'"):
            raise IllegalSchema(f"the comment of column '{name}' has no quotes", hint=_HINT)
        size = 2 if value[0] in {"-", "+"} else 1
        given = "".join(rest[1 : 1 + size])
        field[member] = given[1:-1].replace("''", "'") if given.startswith("'") else given
        rest = rest[1 + size :]
    return field


def _type(words: list[str]) -> str:
    """The words of a type, as they were apart."""
    text = ""
    for word in words:
        glued = word in {"(", ")", "<", ">", ","} or text.endswith(("(", "<"))
        text += word if glued or not text else f" {word}"
    return text
