"""Which columns of a table a statement can need.

A column is left out only where that is certain: its name stands nowhere in the statement, and nothing in the statement
uses columns without naming them.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from siltstone.spark.blanks import without_comments
from siltstone.spark.column_names import folded

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

#: Words behind which columns are used that no one names.
_UNNAMED = frozenset({"natural", "pivot", "unpivot", "identifier", "transform", "match_recognize", "execute"})
#: With it a name in backticks is a pattern for names.
_PATTERNS_CONF = "spark.sql.parser.quotedRegexColumnNames"


def needed(spark: SparkSession, text: str, node: Any, schema: pa.Schema) -> list[str] | None:
    """The columns that a statement can need of a table that it names; none where only rows count, None for all.

    Args:
        spark: The session.
        text: The statement.
        node: The table in the statement's tree.
        schema: The columns that the table has.
    """
    written = _folded(text)
    words = set(re.findall(r"\w+", written))
    patterns = str(spark.conf.get(_PATTERNS_CONF, "false")).lower() != "false"
    if patterns or "|>" in written or words & _UNNAMED or node.alias_column_names or _has_star(node):
        return None
    found = [name for name in schema.names if _stands_in(_folded(name), written, words)]
    others = _of_others(text, node)
    return [name for name in found if _folded(name) not in others]


def _of_others(text: str, node: Any) -> set[str]:
    """Names that the statement uses only with the names of other tables before them."""
    from sqlglot import exp

    root, own = node.root(), _folded(node.alias_or_name)
    tables = [*root.find_all(exp.Table), *root.find_all(exp.Subquery)]
    called = Counter(_folded(table.alias_or_name) for table in tables if table.alias_or_name)
    others = {name for name, times in called.items() if times == 1 and name != own}
    foreign: Counter[str] = Counter()
    for column in root.find_all(exp.Column):
        if column.table and not column.args.get("db") and _folded(column.table) in others:
            foreign[_folded(column.name)] += 1
    # a name that also stands where the tree has no column (USING, an alias) stands more often in the text
    written = Counter(re.findall(r"\w+", _folded(without_comments(text))))
    return {name for name, times in foreign.items() if written[name] == times}


def _folded(text: str) -> str:
    """A text in which letters that Spark finds equal are equal."""
    return folded(text).replace("\N{COMBINING DOT ABOVE}", "")


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
