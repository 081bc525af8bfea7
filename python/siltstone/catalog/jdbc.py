"""The JDBC catalog: names and locks in a SQL database, in the tables of Java's ``JdbcCatalog`` (semantics j.3).

Java's catalog and this one work on the same database at the same time.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from siltstone import _core
from siltstone.catalog.jdbc_engine import Database
from siltstone.errors import InvalidOption, TableExists, UnknownOption, UnsupportedFeature

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

T = TypeVar("T")

#: Options of such a catalog, beside those of storages, those that begin so, and defaults of tables.
_KNOWN = {
    "metastore",
    "uri",
    "warehouse",
    "catalog-key",
    "lock.enabled",
    "lock.type",
    "lock-acquire-timeout",
    "lock-check-max-sleep",
    "lock-key-max-length",
    "sync-all-properties",
    "table.type",
    "catalog-options-table.enabled",
}
_KNOWN_PREFIXES = ("jdbc.", "table-default.")
#: The property by which a database exists that has nothing else.
_EXISTS = "exists"
#: SQL that says how many seconds ago a lock was taken, by the clock of the database.
_AGE = {
    "sqlite": "strftime('%s', 'now') - strftime('%s', acquired_at)",
    "postgresql": "EXTRACT(EPOCH FROM AGE(NOW(), acquired_at))",
    "mysql": "TIMESTAMPDIFF(SECOND, acquired_at, NOW())",
    "mariadb": "TIMESTAMPDIFF(SECOND, acquired_at, NOW())",
}


class JdbcMetastore:
    """Names of databases and tables in ``paimon_tables`` and ``paimon_database_properties``, and Java's locks."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Open the database, and make the tables that it lacks.

        Raises:
            UnknownOption: An option that such a catalog does not have: it would do nothing.
            InvalidOption: The option ``uri`` is missing, or cannot be used; a value that is none.
            UnsupportedFeature: SQLAlchemy or the driver of the database is not installed.
            StorageError: The database does not answer.
        """
        _refuse_unknown(options)
        self._key = options.get("catalog-key", "jdbc")
        self._copies = _flag(options, "sync-all-properties", default=True)
        self._locks = _flag(options, "lock.enabled", default=False)
        if options.get("lock.type", "jdbc") != "jdbc":
            raise UnsupportedFeature(
                f"the catalog option 'lock.type' = '{options['lock.type']}' is not supported",
                hint="a jdbc catalog has 'lock.type' = 'jdbc'",
            )
        self._patience = (
            _core.duration_millis("lock-acquire-timeout", options.get("lock-acquire-timeout", "8 min")),
            _core.duration_millis("lock-check-max-sleep", options.get("lock-check-max-sleep", "8 s")),
        )
        length = _number(options, "lock-key-max-length", 255)
        self._database = Database(options, length if self._locks else None)
        self._tables = self._database.tables

    def databases(self) -> list[str]:
        """All that have a table, a property or a view."""
        sa = self._database.sa
        sources = [self._tables.tables, self._tables.database_properties]
        sources += [self._tables.views] if self._database.has_views() else []

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
        self._database.set_properties(self._tables.database_properties, names, given, gone)

    def drop_database(self, name: str) -> bool:
        """Remove all rows of it."""
        tables = self._tables
        sources = [tables.tables, tables.database_properties, tables.table_properties]
        sources += [tables.views] if self._database.has_views() else []
        return self._database.delete(*((source, self._of(source, name)) for source in sources)) > 0

    def tables(self, database: str) -> list[str]:
        """Rows of ``paimon_tables``."""
        sa, source = self._database.sa, self._tables.tables
        asked = sa.select(source.c.table_name).where(*self._of(source, database))
        return self._database.run(lambda connection: list(connection.execute(asked).scalars()))

    def has_table(self, database: str, table: str) -> bool:
        """Whether ``paimon_tables`` has it."""
        sa, source = self._database.sa, self._tables.tables
        asked = sa.select(sa.literal(1)).where(*self._of(source, database, table))
        return self._database.run(lambda connection: connection.execute(asked).first() is not None)

    def other_object(self, database: str, table: str) -> str | None:
        """A view of Java's."""
        return "view" if table in self._views(database) else None

    def _views(self, database: str) -> list[str]:
        if not self._database.has_views():
            return []
        sa, source = self._database.sa, self._tables.views
        asked = sa.select(source.c.view_name).where(*self._of(source, database))
        return self._database.run(lambda connection: list(connection.execute(asked).scalars()))

    def create_table(self, database: str, table: str, properties: Mapping[str, str]) -> bool:
        """Add the row, and the copy of the properties."""
        row = {"catalog_key": self._key, "database_name": database, "table_name": table}
        if not self._database.insert(self._tables.tables, [row]):
            return False
        self.alter_table(database, table, properties)
        return True

    def drop_table(self, database: str, table: str) -> bool:
        """Remove the row, and the copy of the properties."""
        rows, copies = self._tables.tables, self._tables.table_properties
        gone = self._database.delete((rows, self._of(rows, database, table)))
        if gone and self._copies:
            self._database.delete((copies, self._of(copies, database, table)))
        return gone > 0

    def rename_table(self, database: str, table: str, new_database: str, new_table: str) -> bool:
        """Change the row, and those of the copied properties.

        Raises:
            TableExists: Another one has got the name meanwhile.
        """
        sa, rows, copies = self._database.sa, self._tables.tables, self._tables.table_properties
        new = {"database_name": new_database, "table_name": new_table}

        def rename(connection: Connection) -> bool:
            taken = sa.select(sa.literal(1)).where(*self._of(rows, new_database, new_table))
            if connection.execute(taken).first():
                raise TableExists(
                    f"table '{new_database}.{new_table}' exists already",
                    context={"table": f"{new_database}.{new_table}"},
                )
            renamed = connection.execute(sa.update(rows).where(*self._of(rows, database, table)).values(**new))
            # copies that somebody who was stopped has left there
            connection.execute(sa.delete(copies).where(*self._of(copies, new_database, new_table)))
            connection.execute(sa.update(copies).where(*self._of(copies, database, table)).values(**new))
            return renamed.rowcount > 0

        return self._database.run_anew(rename)

    def alter_table(self, database: str, table: str, properties: Mapping[str, str]) -> None:
        """Replace the copied properties."""
        if not self._copies:
            return
        source = self._tables.table_properties
        names = {"catalog_key": self._key, "database_name": database, "table_name": table}
        rows = [{**names, "property_key": key, "property_value": value} for key, value in properties.items()]
        self._database.replace(source, self._of(source, database, table), rows)

    def patience(self) -> tuple[int, int] | None:
        """The options ``lock-acquire-timeout`` and ``lock-check-max-sleep``, where ``lock.enabled`` is true."""
        return self._patience if self._locks else None

    def try_lock(self, database: str, table: str) -> str | None:
        """Insert the row of the lock; one that is older than its own timeout goes first.

        Returns:
            When it was taken, as the database says; None while somebody has it.
        """
        identity = f"{self._key}.{database}.{table}"
        taken = self._insert_lock(identity)
        if taken is None:
            sa, locks = self._database.sa, self._tables.locks
            expired = sa.text(f"{_AGE[self._database.dialect]} > expire_time_seconds")
            if self._database.delete((locks, [locks.c.lock_id == identity, expired])):
                taken = self._insert_lock(identity)
        return taken

    def _insert_lock(self, identity: str) -> str | None:
        sa, locks = self._database.sa, self._tables.locks
        row = {"lock_id": identity, "expire_time_seconds": self._patience[0] // 1000}
        asked = sa.select(self._taken()).where(locks.c.lock_id == identity)
        return self._database.insert_and_ask(locks, row, asked)

    def _taken(self) -> Any:
        sa = self._database.sa
        return sa.cast(self._tables.locks.c.acquired_at, sa.String(64))

    def unlock(self, database: str, table: str, taken: str) -> None:
        """Delete the row, if it is still the one that was inserted."""
        locks = self._tables.locks
        own = [locks.c.lock_id == f"{self._key}.{database}.{table}", self._taken() == taken]
        self._database.delete((locks, own))

    def _of(self, source: Table, database: str, table: str | None = None) -> list[Any]:
        """Rows of a database, or of one table."""
        conditions = [source.c.catalog_key == self._key, source.c.database_name == database]
        return conditions if table is None else [*conditions, source.c.table_name == table]


def _refuse_unknown(options: Mapping[str, str]) -> None:
    for key in options:
        if key in _KNOWN or key.startswith(_KNOWN_PREFIXES) or _core.is_storage_option(key):
            continue
        near = difflib.get_close_matches(key, _KNOWN, 1)
        raise UnknownOption(
            f"a jdbc catalog has no option '{key}'",
            hint=f"did you mean '{near[0]}'?" if near else f"it has {', '.join(sorted(_KNOWN))}",
            context={"option": key},
        )


def _flag(options: Mapping[str, str], key: str, *, default: bool) -> bool:
    value = options.get(key)
    if value is None:
        return default
    if value.lower() not in ("true", "false"):
        raise InvalidOption(
            f"the catalog option '{key}' = '{value}' is neither true nor false", context={"option": key}
        )
    return value.lower() == "true"


def _number(options: Mapping[str, str], key: str, default: int) -> int:
    value = options.get(key, str(default))
    if not re.fullmatch(r"[1-9]\d{0,4}", value):
        raise InvalidOption(f"the catalog option '{key}' = '{value}' is no length", context={"option": key})
    return int(value)
