"""What a statement works on: the session, its warehouse, and the tables that names mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from siltstone.errors import InvalidArgument, TableNotFound, UnsupportedFeature
from siltstone.procedures.naming import CATALOGS, quoted
from siltstone.spark.session import connected, current_database, is_of_spark, table_of
from siltstone.system import writable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from siltstone import Catalog, Table

_CATALOG_AND_TABLE = 3


class Target:
    """The warehouse of a session."""

    def __init__(self, spark: SparkSession) -> None:
        """Connect to it."""
        self.spark = spark
        self.catalog: Catalog = connected(spark)

    def database(self, parts: Sequence[str], what: str) -> str:
        """The name of a database, whether it exists or not.

        Raises:
            UnsupportedFeature: It is of another catalog.
        """
        if len(parts) > 1 and (parts[0].lower() not in CATALOGS or len(parts) > 2):  # noqa: PLR2004  # catalog, database
            raise _of_spark(what, ".".join(parts))
        return parts[-1]

    def is_database(self, name: str) -> bool:
        """Whether the warehouse has it."""
        return name in self.catalog.databases()

    def name(self, parts: Sequence[str], what: str) -> str:
        """``db.t``, in a database of the warehouse.

        Raises:
            UnsupportedFeature: The name means something of Spark's own.
        """
        shown = ".".join(parts)
        if len(parts) == _CATALOG_AND_TABLE and parts[0].lower() in CATALOGS:
            parts = parts[1:]
        if len(parts) > 2:  # noqa: PLR2004  # database and table
            raise _of_spark(what, shown)
        if len(parts) == 1:
            if is_of_spark(self.spark, parts[0]):
                raise _of_spark(what, shown)
            parts = [current_database(self.spark), parts[0]]
        if "." in parts[0] or not self.is_database(parts[0]):
            raise _of_spark(what, shown, parts[0])
        return ".".join(parts)

    def table(self, parts: Sequence[str], what: str) -> Table:
        """A table that can be changed."""
        return writable(self.any_table(parts, what))

    def any_table(self, parts: Sequence[str], what: str) -> Table:
        """A table, or one that is only read."""
        return table_of(self.spark, self.name(parts, what))

    def exists(self, name: str) -> bool:
        """Whether there is a table of this name."""
        try:
            self.catalog.table(name)
        except TableNotFound:
            return False
        return True

    def nothing(self) -> DataFrame:
        """The result of a statement that has none."""
        from pyspark.sql.types import StructType

        return self.spark.createDataFrame([], StructType([]))

    def rows(self, rows: Sequence[tuple[Any, ...]], schema: str) -> DataFrame:
        """A result."""
        return self.spark.createDataFrame(list(rows), schema)


class OfSpark(UnsupportedFeature):
    """What a statement is about is nothing of the warehouse."""

    code = UnsupportedFeature.code


def _of_spark(what: str, name: str, database: str | None = None) -> OfSpark:
    made = f"CREATE DATABASE {quoted(database or 'db')} makes a database of the warehouse, USE names another one"
    return OfSpark(
        f"{what} {name} is not supported in siltstone.spark.sql: it is in no database of the warehouse"
        + (f", which has no {database}" if database else ""),
        hint=f"{made}; what is meant for Spark's own tables goes through spark.sql(...)",
    )


def refused(what: str, hint: str) -> UnsupportedFeature:
    """The error for a clause that cannot be honoured."""
    return UnsupportedFeature(f"{what} is not supported in siltstone.spark.sql", hint=hint)


def only_plain(name: str) -> str:
    """A name that no system table or branch is part of."""
    if "$" in name:
        raise InvalidArgument(f"'{name}' is not the name of a table")
    return name
