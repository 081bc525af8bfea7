"""``PARTITION (column = value, ...)``."""

from __future__ import annotations

from siltstone import Table
from siltstone.errors import InvalidArgument
from siltstone.spark.column_names import ColumnNames
from siltstone.spark.statements.words import Words


def partition_clause(table: Table, words: Words) -> dict[str, str | bool | None]:
    """What stands between the brackets: values by partition column; True for a column without a value.

    Raises:
        InvalidArgument: A column that is no partition column, or one that stands twice.
    """
    known = ColumnNames(table.partition_by)
    found: dict[str, str | bool | None] = {}
    words.expect("(")
    while True:
        given = words.identifier()
        name = known.find(given)
        if name is None or name in found:
            what = "stands twice in" if name in found else "is no partition column of"
            columns = ", ".join(table.partition_by) or "there are none"
            raise InvalidArgument(f"'{given}' {what} {table.name}", hint=f"partition columns: {columns}")
        if not words.take("="):
            found[name] = True
        elif words.take("NULL"):
            found[name] = None
        else:
            for kind in ("DATE", "TIMESTAMP"):
                words.take(kind)
            found[name] = words.value()
        if not words.take(","):
            break
    words.expect(")")
    return found


def partition_values(table: Table, words: Words) -> dict[str, str | None]:
    """The same, where each column must have a value.

    Raises:
        InvalidArgument: One has none.
    """
    found = partition_clause(table, words)
    for name, value in found.items():
        if isinstance(value, bool):
            raise InvalidArgument(f"the partition column '{name}' has no value", hint=f"PARTITION ({name} = 'value')")
    return {name: value for name, value in found.items() if not isinstance(value, bool)}
