"""Who keeps the names of databases and tables, and the locks of tables.

A metastore is a class in a module of its own, made with the catalog's options. Its methods are those of the protocol
below; the core (``table::catalog``) calls them in the order of Java's catalogs, and all of it is under the catalog's
rules for names. A metastore whose server keeps the tables says so by ``keeps_tables``, and has the methods of
:class:`TableServer`, too; one that has other names than those of its tables says so by ``has_checks``, and has those of
:class:`Checks`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from siltstone.errors import UnsupportedFeature

#: Each value of the option ``metastore``, and the class: one line for each. None: directories are the names.
METASTORES: dict[str, str | None] = {
    "filesystem": None,
    "hive": "siltstone.catalog.hive:HiveMetastore",
    "jdbc": "siltstone.catalog.jdbc:JdbcMetastore",
    "rest": "siltstone.catalog.rest:RestMetastore",
}


class Metastore(Protocol):
    """Names of databases and tables. What is added twice, or removed when it is not there, is False."""

    def databases(self) -> list[str]:
        """Names of the databases, in any order."""

    def database(self, name: str) -> dict[str, str] | None:
        """Properties of a database; None when there is none."""

    def create_database(self, name: str, properties: Mapping[str, str]) -> bool:
        """Add a database."""

    def alter_database(self, name: str, properties: Mapping[str, str], removed: Sequence[str]) -> None:
        """Set properties of a database, and remove others."""

    def drop_database(self, name: str) -> bool:
        """Remove a database; False where it has tables, which may have come meanwhile."""

    def tables(self, database: str) -> list[str]:
        """Names of the tables of a database, in any order."""

    def has_table(self, database: str, table: str) -> bool:
        """Whether there is a table."""

    def other_object(self, database: str, table: str) -> str | None:
        """What has the name of a table and is none, such as ``view``."""

    def create_table(self, database: str, table: str, properties: Mapping[str, str]) -> bool:
        """Add a table, with what is copied of its first schema."""

    def drop_table(self, database: str, table: str) -> bool:
        """Remove a table."""

    def rename_table(self, database: str, table: str, new_database: str, new_table: str) -> bool:
        """Give a table another name, which no table has."""

    def alter_table(self, database: str, table: str, properties: Mapping[str, str]) -> None:
        """Take over what is copied of a newer schema."""

    def patience(self) -> tuple[int, int] | None:
        """Milliseconds to wait for a lock, and at most between two tries; None where there are no locks."""

    def try_lock(self, database: str, table: str) -> str | None:
        """Take the lock of a table when it is free, or expired: what to give it back with."""

    def unlock(self, database: str, table: str, taken: str) -> None:
        """Give the lock back, if it is still the one that was taken."""


class Checks(Protocol):
    """What is asked before the core does something."""

    has_checks: bool

    def check_table(self, database: str, table: str, options: Mapping[str, str]) -> None:
        """Refuse a table that is to be made."""

    def check_drop(self, name: str) -> None:
        """Refuse a database that is to be dropped with all that is in it."""

    def forget_table(self, database: str, table: str) -> bool:
        """Remove the name of a table whose files stay; False when its files go with it."""


class TableServer(Protocol):
    """Tables that a server makes and publishes; a branch is named ``table$branch_<name>``."""

    keeps_tables: bool

    def options(self) -> dict[str, str]:
        """The catalog's options, with those of the server."""

    def table(self, database: str, name: str) -> tuple[str, str, bool, str | None, dict[str, str] | None] | None:
        """Location, id, whether it is external, its type, options of its storage; None when there is no such table.

        Options of a storage that hold only for some time are not among them: :meth:`storage` is asked for these.
        """

    def storage(self, database: str, table: str) -> dict[str, str]:
        """Options of a table's storage that hold now; asked before every request to the storage."""

    def make_table(self, database: str, table: str, schema: str) -> bool:
        """Make a table of a schema as JSON."""

    def change_schema(self, database: str, table: str, changes: str) -> None:
        """Change a schema, by a JSON list of Java's changes."""

    def commit(self, database: str, table: str, identity: str, snapshot: str, statistics: str) -> bool:
        """Publish a snapshot, both as JSON; False when another one has its id."""

    def rollback(self, database: str, table: str, snapshot: int | None, tag: str | None) -> None:
        """Go back to a snapshot, or to a tag."""

    def create_branch(self, database: str, table: str, branch: str, tag: str | None) -> None:
        """Make a branch."""

    def drop_branch(self, database: str, table: str, branch: str) -> None:
        """Delete a branch."""

    def rename_branch(self, database: str, table: str, branch: str, new: str) -> None:
        """Give a branch another name."""

    def forward_branch(self, database: str, table: str, branch: str) -> None:
        """Make main what a branch is."""


def has_directories(options: Mapping[str, str]) -> bool:
    """Whether the warehouse is a directory; a server has a name for it, which nobody else knows."""
    return options.get("metastore", "").lower() != "rest"


def metastore_of(options: Mapping[str, str]) -> Metastore | None:
    """The metastore that the options ask for; None where directories are the names.

    Raises:
        UnsupportedFeature: There is no such metastore here.
    """
    kind = options.get("metastore", "filesystem").lower()
    if kind not in METASTORES:
        known = ", ".join(METASTORES)
        raise UnsupportedFeature(
            f"the metastore '{options['metastore']}' is not supported by this version of siltstone",
            hint=f"metastores: {known}",
            context={"option": "metastore"},
        )
    place = METASTORES[kind]
    if place is None:
        return None
    module, name = place.split(":")
    return cast("Metastore", getattr(importlib.import_module(module), name)(options))
