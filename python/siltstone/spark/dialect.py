"""What sqlglot does not read of Spark's and Paimon's SQL, put in words that it reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from siltstone.errors import InvalidArgument, UnsupportedFeature

_WORD = re.compile(
    r"""
      (?P<hint>(?:\s|--[^\n]*\n|/\*(?!\+)(?:(?!\*/).)*\*/)*/\*\+(?P<inside>.*?)\*/)
    | (?P<kept>\br'[^']*'|\br"[^"]*"|`[^`]*`|--[^\n]*|/\*(?!\+).*?\*/)
    | (?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    | \b(?P<function>paimon_incremental_(?:query|between_timestamp|to_auto_tag))\s*\((?P<given>[^()]*)\)
    | (?P<system>\b\w+(?:\$\w+)+)
    | (?P<version>\b(?:FOR\s+)?SYSTEM_VERSION\s+AS\s+OF\b)
    | (?P<time>\b(?:FOR\s+)?SYSTEM_TIME\s+AS\s+OF\b)
    | (?P<before>\A\s*|\b(?:UNION|INTERSECT|EXCEPT|MINUS)(?:\s+(?:ALL|DISTINCT))?\s+)TABLE\s+(?=[\w`])
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_PIECE = re.compile(r"\\.|''|\"\"", re.DOTALL)
_AFTER_SELECT = re.compile(r"\bSELECT\s*\Z", re.IGNORECASE)
_OPTIONS = re.compile(r"\s*OPTIONS\s*\((.*)\)\s*\Z", re.DOTALL | re.IGNORECASE)
_PAIR = re.compile(r"""\s*(?P<a>['"])(?P<key>[^'"]+)(?P=a)\s*=\s*(?P<b>['"])(?P<value>[^'"]*)(?P=b)\s*""")
#: Options of table functions about changes, and how many arguments follow the table.
_CHANGES = {
    "paimon_incremental_query": ("incremental-between", 2),
    "paimon_incremental_between_timestamp": ("incremental-between-timestamp", 2),
    "paimon_incremental_to_auto_tag": ("incremental-to-auto-tag", 1),
}
#: Beginnings of the options that say what is read.
_READING = ("scan.", "incremental-", "source.split.", "read.")


@dataclass
class Statement:
    """A statement that sqlglot reads.

    Attributes:
        text: The statement; hints behind other words than SELECT are comments that hold their marks.
        readable: The same, as long, with doubled quotes in the words of sqlglot.
        hints: What the hints say, by mark.
    """

    text: str
    readable: str
    hints: dict[str, str] = field(default_factory=dict)

    def take_hint(self, node: Any) -> str | None:
        """Take the hint behind a table off the table and the statement."""
        marks = [c for c in node.comments or [] if c.strip() in self.hints]
        node.comments = [c for c in node.comments or [] if c not in marks]
        taken = [self.hints.pop(mark.strip()) for mark in marks]
        if len(taken) > 1:
            raise InvalidArgument(f"a table has two hints: {' and '.join(map(_shown, taken))}")
        return taken[0] if taken else None

    def refuse_other_hints(self, name: str) -> None:
        """Nobody would honour the hints that no table has taken.

        Raises:
            UnsupportedFeature: There is one.
        """
        for inside in self.hints.values():
            raise UnsupportedFeature(
                f"the hint {_shown(inside)} does not stand right behind the name of a Paimon table",
                hint=f"write it there: {name} /*+ OPTIONS('scan.tag-name' = 'v1') */",
                context={"table": name},
            )


def statement(query: str, *, doubled: bool = True) -> Statement:
    """Quote ``t$snapshots``, mark hints, and rewrite ``TABLE t`` and ``SYSTEM_VERSION AS OF``.

    Args:
        query: The statement.
        doubled: Whether two quotes within a text are one, as in Spark 4; before, two texts side by side were meant.
    """
    hints: dict[str, str] = {}

    def rewritten(m: re.Match[str]) -> str:  # noqa: PLR0911  # one for each kind of word
        if m["text"] or m["kept"]:
            return m[0]
        if m["function"]:
            mark = f"siltstone_hint_{len(hints)}"
            name, hints[mark] = _incremental(m["function"].lower(), m["given"])
            return f"{name} /*{mark}*/"
        if m["system"]:  # sqlglot would read `$snapshots` as a parameter
            return f"`{m['system']}`"
        if m["version"] or m["time"]:
            return "VERSION AS OF" if m["version"] else "TIMESTAMP AS OF"
        if not m["hint"]:
            return f"{m['before']}SELECT * FROM "  # noqa: S608  # the user's own statement
        if _AFTER_SELECT.search(query, 0, m.start()) and not _OPTIONS.match(m["inside"]):
            return m[0]
        mark = f"siltstone_hint_{len(hints)}"
        hints[mark] = m["inside"]
        # sqlglot gives it to the word before, if it stands on that word's line: comments between them go
        return f" /*{mark}*/"

    text = _WORD.sub(rewritten, query)
    return Statement(text, _WORD.sub(_escaped, text) if doubled else text, hints)


def _incremental(function: str, given: str) -> tuple[str, str]:
    """The table of a table function about changes, and the hint that asks for the same.

    Raises:
        InvalidArgument: Its arguments are not those.
    """
    option, arguments = _CHANGES[function]
    parts = [part.strip() for part in given.split(",")]
    values = [part[1:-1] if part[:1] in ("'", '"') and part[-1:] == part[:1] else part for part in parts]
    if len(values) != 1 + arguments or any(not v or set("'\"`\\") & set(v) for v in values) or not _is_text(parts[0]):
        wanted = ", ".join(["'db.t'", *["start", "end"][-arguments:]])
        raise InvalidArgument(
            f"{function}({given}) cannot be read", hint=f"{function}({wanted}), all of them constants"
        )
    name = ".".join(f"`{part}`" for part in values[0].split("."))
    return name, f"OPTIONS('{option}' = '{','.join(values[1:])}')"


def _is_text(part: str) -> bool:
    return part[:1] in ("'", '"')


def _escaped(m: re.Match[str]) -> str:
    """A text whose quotes are escaped: sqlglot takes two of them for the end of one text and the start of another."""
    if not m["text"]:
        return m[0]
    quote = m[0][0]
    return quote + _PIECE.sub(lambda p: f"\\{quote}" if p[0] == quote * 2 else p[0], m[0][1:-1]) + quote


def hint_options(name: str, inside: str) -> dict[str, str]:
    """The options of ``OPTIONS('key' = 'value', ...)`` behind a table.

    Raises:
        InvalidArgument: It is no such list.
        UnsupportedFeature: An option that does not say what is read.
    """
    found = _OPTIONS.match(inside)
    options: dict[str, str] = {}
    at = 0
    while found and (pair := _PAIR.match(found[1], at)):
        options[pair["key"]] = pair["value"]
        at = pair.end()
        if found[1][at : at + 1] != ",":
            break
        at += 1
    if not found or not options or at != len(found[1]):
        raise InvalidArgument(
            f"the hint {_shown(inside)} cannot be read",
            hint="write /*+ OPTIONS('key' = 'value', ...) */",
            context={"table": name},
        )
    for key in options:
        if not key.startswith(_READING) or name.startswith("sys."):
            raise UnsupportedFeature(
                f"the option '{key}' cannot be given for one reading of {name}",
                hint="options beginning with scan. and incremental- can",
                context={"table": name, "option": key},
            )
    return options


def names_version(options: Mapping[str, str]) -> bool:
    """Whether options say which version is read."""
    return any(key.startswith(("scan.", "incremental-")) for key in options)


def _shown(inside: str) -> str:
    return f"/*+{inside}*/"
