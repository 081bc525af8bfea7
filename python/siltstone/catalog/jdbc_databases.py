"""Databases of a JDBC catalog: the rows by which they exist."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from siltstone.catalog.jdbc_engine import Database
from siltstone.errors import DatabaseNotFound

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

#: The property by which a database exists that has nothing else.
_EXISTS = "exists"


class JdbcDatabases:
    """The part of a JDBC catalog that is about databases."""

    def __init__(self, key: str, database: Database) -> None:
        """Names of the catalog ``key`` in a SQL database."""
        self._key = key
        self._database = database
        self._tables = database.tables

    def databases(self) -> list[str]:
        """All that have a table, a property or a view."""
        sa, sources = self._database.sa, self._sources()

        def find(connection: Connection) -> list[str]:
            names: set[str] = set()
            for source in sources:
                asked = sa.select(source.c.database_name).where(source.c.catalog_key == self._key).distinct()
                names.update(connection.execute(asked).scalars())
            return sorted(names)

        return self._database.run(find)

    def database(self, name: str) -> dict[str, str] | None:
        """Its properties."""
        sa, properties = self._database.sa, self._tables.database_properties

        def find(connection: Connection) -> dict[str, str]:
            asked = sa.select(properties.c.property_key, properties.c.property_value)
            rows = connection.execute(asked.where(*self._of(properties, name))).all()
            return {key: value or "" for key, value in rows}

        found = self._database.run(find)
        if not found and not self.tables(name) and not self._views(name):
            return None
        found.pop(_EXISTS, None)
        return found

    def create_database(self, name: str, properties: Mapping[str, str]) -> bool:
        """Add the property by which it exists, and those that are given."""
        if self.database(name) is not None:
            return False
        source = self._tables.database_properties
        rows = [
            {"catalog_key": self._key, "database_name": name, "property_key": key, "property_value": value}
            for key, value in {_EXISTS: "true", **properties}.items()
        ]
        return self._database.insert(source, rows)

    def alter_database(self, name: str, properties: Mapping[str, str], removed: Sequence[str]) -> None:
        """Change the rows of these properties, and no others: those may be somebody else's newer ones."""
        names = {"catalog_key": self._key, "database_name": name}
        # the row that all have comes first: who changes one database waits for the other there, and nowhere else
        given = {_EXISTS: "true", **properties}
        gone = [key for key in removed if key not in given]
        source = self._tables.database_properties
        self._database.set_properties(source, names, given, gone, first=self._holding(name))

    def drop_database(self, name: str) -> bool:
        """Remove one that has no tables when it goes, with its views; False where it has some."""
        sa, hold = self._database.sa, self._holding(name)
        rows, *sources = *self._sources(), self._tables.table_properties
        has_tables = sa.select(sa.literal(1)).where(*self._of(rows, name)).limit(1)

        def drop(connection: Connection) -> bool:
            with contextlib.suppress(DatabaseNotFound):
                hold(connection)
            if connection.execute(has_tables).first():
                return False
            for source in sources:
                connection.execute(sa.delete(source).where(*self._of(source, name)))
            return True

        return self._database.run_anew(drop)

    def tables(self, database: str) -> list[str]:
        """Rows of ``paimon_tables``."""
        sa, source = self._database.sa, self._tables.tables
        asked = sa.select(source.c.table_name).where(*self._of(source, database))
        return self._database.run(lambda connection: list(connection.execute(asked).scalars()))

    def _views(self, database: str) -> list[str]:
        if not self._database.has_views():
            return []
        sa, source = self._database.sa, self._tables.views
        asked = sa.select(source.c.view_name).where(*self._of(source, database))
        return self._database.run(lambda connection: list(connection.execute(asked).scalars()))

    def _sources(self) -> list[Table]:
        """What has a row of each database: tables, properties, views."""
        views = [self._tables.views] if self._database.has_views() else []
        return [self._tables.tables, self._tables.database_properties, *views]

    def _holding(self, database: str) -> Callable[[Connection], None]:
        """What a transaction does first that needs a database: nobody drops it before the transaction ends.

        Who drops one locks the same row first. Java does not, and drops what is there.
        """
        sa, properties, sources = self._database.sa, self._tables.database_properties, self._sources()
        exists = [*self._of(properties, database), properties.c.property_key == _EXISTS]
        touch = sa.update(properties).where(*exists).values(property_value=properties.c.property_value)

        def hold(connection: Connection) -> None:
            if connection.execute(touch).rowcount:
                return
            # one that others have made may have other rows only
            rows = (sa.select(sa.literal(1)).where(*self._of(source, database)).limit(1) for source in sources)
            if not any(connection.execute(asked).first() for asked in rows):
                raise DatabaseNotFound(f"the database '{database}' does not exist", context={"database": database})

        return hold

    def _of(self, source: Table, database: str, table: str | None = None) -> list[Any]:
        """Rows of a database, or of one table."""
        conditions = [source.c.catalog_key == self._key, source.c.database_name == database]
        return conditions if table is None else [*conditions, source.c.table_name == table]
