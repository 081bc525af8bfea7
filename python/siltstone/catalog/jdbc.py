"""The JDBC catalog: names and locks in a SQL database, in the tables of Java's ``JdbcCatalog`` (semantics j.3).

Java's catalog and this one work on the same database at the same time.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from siltstone import _core
from siltstone.catalog.jdbc_databases import JdbcDatabases
from siltstone.catalog.jdbc_engine import Database
from siltstone.errors import InvalidOption, TableExists, UnknownOption, UnsupportedFeature

if TYPE_CHECKING:
    from sqlalchemy import Connection

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
#: SQL that says how many seconds ago a lock was taken, by the clock of the database.
_AGE = {
    "sqlite": "strftime('%s', 'now') - strftime('%s', acquired_at)",
    "postgresql": "EXTRACT(EPOCH FROM AGE(NOW(), acquired_at))",
    "mysql": "TIMESTAMPDIFF(SECOND, acquired_at, NOW())",
    "mariadb": "TIMESTAMPDIFF(SECOND, acquired_at, NOW())",
}


class JdbcMetastore(JdbcDatabases):
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
        super().__init__(options.get("catalog-key", "jdbc"), Database(options, length if self._locks else None))

    def has_table(self, database: str, table: str) -> bool:
        """Whether ``paimon_tables`` has it."""
        sa, source = self._database.sa, self._tables.tables
        asked = sa.select(sa.literal(1)).where(*self._of(source, database, table))
        return self._database.run(lambda connection: connection.execute(asked).first() is not None)

    def other_object(self, database: str, table: str) -> str | None:
        """A view of Java's."""
        return "view" if table in self._views(database) else None

    def create_table(self, database: str, table: str, properties: Mapping[str, str]) -> bool:
        """Add the row, and the copy of the properties.

        Raises:
            DatabaseNotFound: It was dropped meanwhile.
        """
        row = {"catalog_key": self._key, "database_name": database, "table_name": table}
        if not self._database.insert(self._tables.tables, [row], first=self._holding(database)):
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
            DatabaseNotFound: The new database was dropped meanwhile.
        """
        sa, rows, copies = self._database.sa, self._tables.tables, self._tables.table_properties
        new = {"database_name": new_database, "table_name": new_table}
        hold = self._holding(new_database)

        def rename(connection: Connection) -> bool:
            hold(connection)
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
        raise InvalidOption(
            f"the catalog option '{key}' = '{value}' is not a number from 1 to 99999", context={"option": key}
        )
    return int(value)
