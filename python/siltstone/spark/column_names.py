"""The column that a name means to Spark, which does not tell upper case from lower case unless it is told to."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from siltstone.errors import InvalidArgument, SchemaMismatch
from siltstone.procedures.naming import quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CASE_CONF = "spark.sql.caseSensitive"


def tells_case(spark: SparkSession) -> bool:
    """Whether names that differ in case alone are different ones in a session."""
    return str(spark.conf.get(_CASE_CONF, "false")).lower() == "true"


def folded(name: str) -> str:
    """A name in the form in which those are equal that Spark finds equal."""
    return name.upper().lower()


class ColumnNames:
    """Names of columns, to find the one that is meant."""

    def __init__(self, names: Iterable[str], *, exact: bool = False) -> None:
        """Take the names; ``exact``: case counts."""
        self._exact = exact
        self._found: dict[str, list[str]] = {}
        for name in names:
            self._found.setdefault(name if exact else folded(name), []).append(name)

    def find(self, given: str) -> str | None:
        """The column of a name; None when there is none.

        Raises:
            SchemaMismatch: There are several: their names differ in case alone.
        """
        found = self._found.get(given if self._exact else folded(given), [])
        if len(found) > 1:
            raise SchemaMismatch(
                f"'{given}' may be each of the columns {', '.join(found)}, whose names differ in case alone",
                hint=f"rename one of them, or set {_CASE_CONF} to true",
                context={"column": given},
            )
        return found[0] if found else None

    def missing(
        self, given: str, table: str, error: type[InvalidArgument | SchemaMismatch] = SchemaMismatch
    ) -> InvalidArgument | SchemaMismatch:
        """The error for a name that no column of a table has, with the one that may be meant, else all of them."""
        near = difflib.get_close_matches(given if self._exact else folded(given), self._found, n=1)
        names = [name for found in self._found.values() for name in found]
        hint = f"did you mean '{self._found[near[0]][0]}'?" if near else f"columns: {', '.join(map(quoted, names))}"
        return error(f"{table} has no column '{given}'", hint=hint, context={"table": table, "column": given})
