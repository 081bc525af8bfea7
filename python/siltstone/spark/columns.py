"""Which columns of a table a statement can need.

A column is left out only where that is certain: its name stands nowhere in the statement, and nothing in the statement
uses columns without naming them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Words behind which columns are used that no one names.
_UNNAMED = frozenset({"natural", "pivot", "unpivot", "identifier", "transform", "match_recognize", "execute"})
#: With it a name in backticks is a pattern for names.
_PATTERNS_CONF = "spark.sql.parser.quotedRegexColumnNames"


def needed(spark: SparkSession, text: str, node: Any, columns: Sequence[str]) -> list[str] | None:
    """The columns that a statement can need of a table that it names; None for all.

    Args:
        spark: The session.
        text: The statement.
        node: The table in the statement's tree.
        columns: The columns that the table has.
    """
    written = _folded(text)
    words = set(re.findall(r"\w+", written))
    patterns = str(spark.conf.get(_PATTERNS_CONF, "false")).lower() != "false"
    if patterns or "|>" in written or words & _UNNAMED or node.alias_column_names or _has_star(node):
        return None
    found = [name for name in columns if _stands_in(_folded(name), written, words)]
    return found or list(columns[:1])


def _folded(text: str) -> str:
    """A text in which letters that Spark finds equal are equal."""
    return text.upper().lower().replace("\N{COMBINING DOT ABOVE}", "")


def _stands_in(name: str, written: str, words: set[str]) -> bool:
    return name in words if re.fullmatch(r"[a-z0-9_]+", name) else name.replace("`", "``") in written


def _has_star(node: Any) -> bool:
    """Whether a star can stand for columns of a table; that of ``count(*)`` stands for none."""
    from sqlglot import exp

    select = node.parent_select
    if select is None or not isinstance(node.parent, (exp.From, exp.Join)):
        return True
    for star in select.find_all(exp.Star):
        if isinstance(star.parent, exp.Count) and star.arg_key == "this":
            continue
        # with a table's name it can be that of a table outside of the query that it stands in
        if isinstance(star.parent, exp.Column) or star.parent_select is select:
            return True
    return False
