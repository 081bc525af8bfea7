"""Changes of rows of tables without a primary key, whatever the condition.

A condition that depends on nothing but a row's values holds for all rows of equal values, or for none. So Spark finds
values on its executors, of those columns that the statement looks at, with what becomes of their rows; and
:meth:`siltstone.Table.merge` changes the rows that have them, by deletion vectors or new files, as one commit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from siltstone._sql import column_text
from siltstone.errors import CommitConflict, UnsupportedFeature
from siltstone.procedures.naming import quoted
from siltstone.spark.conditions import depends_on_more_than_values
from siltstone.spark.definition import fields_of
from siltstone.spark.queries import parse
from siltstone.spark.statements.type_text import type_text
from siltstone.spark.task_errors import arrow_of
from siltstone.spark.types import spark_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from siltstone import Table

KIND = "__siltstone_kind"
#: Types whose values are equal in siltstone when Spark finds them equal.
_COMPARED = re.compile(
    r"(?:BOOLEAN|TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DECIMAL|DATE|STRING|CHAR|VARCHAR|BYTES|BINARY|VARBINARY"
    r"|TIMESTAMP\([0-6]\))"
)
_TRIES = 5

#: Old values of these columns, at versions that are known or looked up, with new ones, and the kind of the change.
Find = Callable[[Sequence[str], dict[str, int | None]], "DataFrame"]


@dataclass(frozen=True)
class Change:
    """What becomes of rows.

    Attributes:
        table: The table.
        name: Its name in the statement, ``db.t``.
        looks_at: The expressions on which it depends what becomes of a row of the table.
        updated: Columns with new values.
        kinds: ``-D``, ``+U`` and ``+I``, as far as they occur.
        find: Finds the rows.
    """

    table: Table
    name: str
    looks_at: Sequence[str]
    updated: Collection[str]
    kinds: Collection[str]
    find: Find


def old(at: int) -> str:
    """Name of the old value of the column of this number, of those that are compared."""
    return f"__siltstone_old{at}"


def new(name: str, table: Table) -> str:
    """Name of the new value of a column."""
    return f"__siltstone_new{table.schema.names.index(name)}"


def change_rows(change: Change) -> None:
    """Find rows and change them; anew where others have committed meanwhile.

    Raises:
        UnsupportedFeature: The rows cannot be told apart by the values on which the change depends.
        CommitConflict: Others committed again and again.
    """
    table = change.table
    ways = _columns(change)
    for _ in range(_TRIES):
        versions: dict[str, int | None] = {}
        rows, columns, keys = _found(change, ways, versions)
        if not rows.num_rows:
            return
        latest = table.snapshot()
        if latest is None or versions.get(change.name) == latest.id:
            _apply(change, rows, columns, keys)
            return
    raise CommitConflict(
        f"other commits changed {table.name} each time when its rows had been found", context={"table": table.name}
    )


def _found(
    change: Change, ways: Sequence[Sequence[str]], versions: dict[str, int | None]
) -> tuple[pa.Table, Sequence[str], list[int]]:
    """The values of rows, the columns that they are of, and which of these are never null."""
    import pyarrow.compute as pc

    for columns in ways:
        rows = arrow_of(change.find(columns, versions))
        known = rows.filter(pc.not_equal(rows.column(KIND), "+I"))
        keys = [at for at in range(len(columns)) if not known.column(old(at)).null_count]
        if keys or not rows.num_rows:
            return rows, columns, keys
    raise UnsupportedFeature(
        f"rows of {change.table.name} with a null in each column cannot be told apart from others",
        hint="leave rows out in which all columns are null: WHERE id IS NOT NULL",
        context={"table": change.table.name},
    )


def _apply(change: Change, rows: pa.Table, columns: Sequence[str], keys: Sequence[int]) -> None:
    """Change the rows that have these values."""
    table, on = change.table, []
    for at, name in enumerate(columns):
        mine, theirs = f"t.{column_text(name)}", f"s.{old(at)}"
        equal = f"{mine} = {theirs}"
        on.append(equal if at in keys else f"({equal} OR ({mine} IS NULL AND {theirs} IS NULL))")
    merge = table.merge(rows, " AND ".join(on))
    values = {name: f"s.{new(name, table)}" for name in table.schema.names}
    if "+U" in change.kinds:
        merge.when_matched_update({name: values[name] for name in change.updated}, f"s.{KIND} = '+U'")
    if "-D" in change.kinds:
        merge.when_matched_delete(f"s.{KIND} = '-D'")
    if "+I" in change.kinds:
        merge.when_not_matched_insert(values, f"s.{KIND} = '+I'")
    merge.execute()


def _columns(change: Change) -> list[list[str]]:
    """The columns to compare: those that the change looks at; if that is not enough, all that can be compared."""
    table = change.table
    text = " ".join(change.looks_at)
    if depends_on_more_than_values(text):
        raise UnsupportedFeature(
            f"rows of {table.name}, which has no primary key, by an expression that depends on more than their values",
            hint="write the rows to change into a table first, and match them by their values",
            context={"table": table.name},
        )
    types = {field["name"]: field["type"] for field in fields_of(table)}
    compared = [name for name, kind in types.items() if isinstance(kind, str) and _COMPARED.match(kind)]
    words = {word.lower() for word in re.findall(r"\w+", text)}
    every = any(map(_has_star, change.looks_at))
    used = [n for n in types if every or n.lower() in words or (not n.isidentifier() and n.lower() in text.lower())]
    if other := next((name for name in used if name not in compared), None):
        raise UnsupportedFeature(
            f"'{other}' of {table.name}, which has no primary key, is of a type whose values are not compared",
            hint=f"change rows by other columns than '{other}'",
            context={"table": table.name, "column": other},
        )
    return [way for way in (used, compared) if way]


def _has_star(expression: str) -> bool:
    from sqlglot import exp

    tree: Any = parse(f"SELECT {expression}")
    stars = [None] if tree is None else [s for s in tree.find_all(exp.Star) if not isinstance(s.parent, exp.Count)]
    return bool(stars)


def old_items(columns: Sequence[str], types: Mapping[str, str], table: str | None) -> list[str]:
    """Items of a SELECT: old values of columns; nulls of rows that are not in the table.

    Args:
        columns: The columns that are compared.
        types: The types of columns.
        table: The table's name in the statement, in quotes; None for rows that are not in it.
    """
    if table is None:
        return [f"CAST(NULL AS {types[name]}) AS {old(at)}" for at, name in enumerate(columns)]
    return [f"{table}.{quoted(name)} AS {old(at)}" for at, name in enumerate(columns)]


def set_values(values: Mapping[str, str], table: Table) -> list[str]:
    """Items of a SELECT: the new values of all columns, in the table's types, under their names."""
    types = {field.name: type_text(field.dataType) for field in spark_schema(table.schema)}
    return [f"CAST({value} AS {types[name]}) AS {quoted(new(name, table))}" for name, value in values.items()]
