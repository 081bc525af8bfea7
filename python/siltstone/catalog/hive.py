"""The Hive catalog: names, locks and partitions in a Hive metastore, as in Java's ``HiveCatalog`` (semantics j.4).

Java's catalog and this one work on the same metastore at the same time. Schemas are files; what the metastore has of
columns and options is a copy for Hive's own programs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from siltstone.catalog.hive_databases import HiveDatabases, check_lower
from siltstone.catalog.hive_locks import Locks
from siltstone.catalog.hive_options import settings_of
from siltstone.catalog.hive_partitions import Partitions
from siltstone.catalog.hive_tables import definition_at, is_external, is_paimon, is_same_place, kind_of
from siltstone.errors import SiltstoneError, StorageError, UnsupportedFeature

_LOG = logging.getLogger("siltstone.catalog.hive")
#: What a lock is given back with where there are none.
_NO_LOCK = "none"
#: Under this name, which no table can have, a database is locked while its properties change.
_PROPERTIES = "$properties"


class HiveMetastore(HiveDatabases):
    """Databases, tables, locks and partitions of a Hive metastore.

    Attributes:
        has_checks: It is asked before tables are made, and names dropped.
    """

    has_checks = True

    def __init__(self, options: Mapping[str, str]) -> None:
        """Connect to the metastore.

        Raises:
            UnknownOption: An option that such a catalog does not have: it would do nothing.
            InvalidOption: An option is missing, or has a value that is none.
            UnsupportedFeature: pymetastore is not installed, or another way to speak to the metastore is asked for.
            StorageError: The metastore does not answer.
        """
        super().__init__(settings_of(options))
        self._given = frozenset(options)
        self._locks = Locks(self._client, self._settings.patience)
        self._partitions = Partitions(self._client, self._tables, self._settings.storage)
        #: Tables by what is known of them: whether the metastore has their partitions.
        self._has_partitions: dict[tuple[str, str], bool] = {}

    def alter_database(self, name: str, properties: Mapping[str, str], removed: Sequence[str]) -> None:
        """Change properties while no other process does so: the metastore only takes all of them at once.

        Raises:
            StorageError: Others have changed them all the time.
        """
        number = self._locks.take(name, _PROPERTIES)
        if number is None:
            raise StorageError(f"others have the lock of the properties of the database '{name}'", hint="try again")
        try:
            super().alter_database(name, properties, removed)
        finally:
            self._locks.give_back(number)

    # ---- tables

    def tables(self, database: str) -> list[str]:
        """Those of Paimon."""
        return [table.tableName for table in self._objects(database) if is_paimon(table)]

    def has_table(self, database: str, table: str) -> bool:
        """Whether there is a table of Paimon where this catalog has its tables.

        Raises:
            UnsupportedFeature: It is somewhere else.
        """
        found = self._table(database, table)
        if found is None or not is_paimon(found):
            return False
        if not self._is_own(found):
            place = self._tables.place(found)
            raise UnsupportedFeature(
                f"the metastore has the table '{database}.{table}' in {place}, and this catalog has it in "
                f"{self._place(database, table)}",
                hint="connect to the warehouse that it is in, or open it by its directory: siltstone.open_table",
                context={"table": f"{database}.{table}"},
            )
        return True

    def other_object(self, database: str, table: str) -> str | None:
        """A view, or a table that Paimon does not keep."""
        found = self._table(database, table)
        return None if found is None or is_paimon(found) else kind_of(found)

    def check_table(self, database: str, table: str, options: Mapping[str, str]) -> None:
        """Refuse a table before its files are made.

        Raises:
            InvalidArgument: A name with letters that the metastore changes.
            UnsupportedFeature: Tags as partitions; a database that is elsewhere.
        """
        check_lower("table", table)
        if {"metastore.tag-to-partition", "table-default.metastore.tag-to-partition"} & {*options, *self._given}:
            raise UnsupportedFeature(
                "the table option 'metastore.tag-to-partition' is not supported: tags do not become partitions of Hive",
                context={"option": "metastore.tag-to-partition"},
            )
        found = self._database(database)
        place, own = "" if found is None else self._tables.database_place(found), self._place_of_database(database)
        if found is not None and not is_same_place(place, own):
            raise UnsupportedFeature(
                f"the metastore has the database '{database}' in {place}, and this catalog would have it in {own}",
                hint="make the table in another database, or connect to the warehouse that this one is in",
                context={"database": database},
            )

    def create_table(self, database: str, table: str, properties: Mapping[str, str]) -> bool:
        """Add a table, with the columns that its files say."""
        location = self._place(database, table)
        made = self._tables.new(database, table, definition_at(location, self._settings.storage), properties, location)
        exists = self._types.AlreadyExistsException
        try:
            self._client.call("create_table", made, expected=(exists,))
        except exists:
            return False
        self._has_partitions[database, table] = bool(made.partitionKeys)
        return True

    def drop_table(self, database: str, table: str) -> bool:
        """Remove the name; the files are the caller's business."""
        found = self._table(database, table)
        if found is None or not is_paimon(found):
            return False
        return self._removed(database, table)

    def forget_table(self, database: str, table: str) -> bool:
        """Remove the name of an external table, whose files stay; False when it is none."""
        found = self._table(database, table)
        return found is not None and is_paimon(found) and is_external(found) and self._removed(database, table)

    def _removed(self, database: str, table: str) -> bool:
        self._has_partitions.pop((database, table), None)
        try:
            self._client.call("drop_table", database, table, False, expected=self._gone)
        except self._gone:
            return False
        return True

    def rename_table(self, database: str, table: str, new_database: str, new_table: str) -> bool:
        """Give a table another name, and write down where its files will be."""
        check_lower("table", new_table)
        found = self._table(database, table)
        if found is None or not is_paimon(found):
            return False
        if is_external(found):
            raise UnsupportedFeature(
                f"'{database}.{table}' is an external table: its files stay where they are, also under another name",
                hint="drop it, which keeps its files, and open them by their directory",
                context={"table": f"{database}.{table}"},
            )
        location = self._place(new_database, new_table)
        found.dbName, found.tableName = new_database, new_table
        self._tables.move(found, location)
        self._client.call("alter_table", database, table, found)
        self._has_partitions.pop((database, table), None)
        moved = self._table(new_database, new_table)
        if moved is not None and moved.partitionKeys:
            self._partitions.move(moved, self._tables.place(moved))
        return True

    def alter_table(self, database: str, table: str, properties: Mapping[str, str]) -> None:
        """Take over columns and options of the newest schema."""
        found = self._table(database, table)
        if found is None or not self._is_own(found):
            return
        location = self._place(database, table)
        self._tables.change(found, definition_at(location, self._settings.storage), properties, location)
        unchanged = (found.parameters or {}).get("DO_NOT_UPDATE_STATS", "false").lower()
        context = self._types.EnvironmentContext({"CASCADE": "true", "DO_NOT_UPDATE_STATS": unchanged})
        self._client.call("alter_table_with_environment_context", database, table, found, context)

    def _table(self, database: str, table: str) -> Any | None:
        try:
            found = self._client.call("get_table", database, table, expected=self._gone)
        except self._gone:
            return None
        if found.tableName != table:
            return None
        self._has_partitions[database, table] = is_paimon(found) and bool(found.partitionKeys)
        return found

    # ---- locks, and what follows commits

    def patience(self) -> tuple[int, int] | None:
        """How long a lock is waited for; :meth:`unlock` follows each commit, also where there are none."""
        return self._settings.patience

    def try_lock(self, database: str, table: str) -> str | None:
        """Wait for the lock of a table; None when its time was over."""
        if not self._settings.locks:
            return _NO_LOCK
        number = self._locks.take(database, table)
        return None if number is None else str(number)

    def unlock(self, database: str, table: str, taken: str) -> None:
        """Bring the partitions up to what was committed, and give the lock back."""
        try:
            self._sync(database, table)
        except SiltstoneError as e:
            _LOG.warning("the partitions of %s.%s in the Hive metastore are not up to date: %s", database, table, e)
        finally:
            if taken != _NO_LOCK:
                self._locks.give_back(int(taken))

    def _sync(self, database: str, table: str) -> None:
        if self._has_partitions.get((database, table)) is False:
            return
        found = self._table(database, table)
        if found is not None and found.partitionKeys and self._is_own(found):
            self._partitions.sync(found, self._place(database, table))
