"""The filesystem catalog: ``<warehouse>/<database>.db/<table>`` (semantics j.2; Java ``FileSystemCatalog``)."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from siltstone import _core
from siltstone._args import directory, flag, names, option_texts, optional_text, text
from siltstone.catalog.fields import schema_of
from siltstone.errors import InvalidArgument, UnsupportedFeature
from siltstone.system import WholeCatalog, system_table, table_or_system
from siltstone.table import Table

Schema = "pa.Schema | Mapping[str, str] | Sequence[Mapping[str, Any]]"


class Catalog:
    """Databases and tables below a warehouse directory.

    Example:
        >>> cat = connect(tmp)
        >>> cat.create_database("shop", if_not_exists=True)
        >>> cat.databases()
        ['shop']
    """

    def __init__(self, warehouse: str, options: Mapping[str, str] | None = None) -> None:
        """Use :func:`siltstone.connect`."""
        self._warehouse = directory("warehouse", warehouse)
        self._core = _core.Catalog(self._warehouse, option_texts(options))
        # without secrets of the storage: this process knows them for the warehouse, others have their environment
        self._options = self._core.options()

    def __reduce__(self) -> tuple[type[Catalog], tuple[str, dict[str, str]]]:
        """Pickle as warehouse and options, without secrets."""
        return Catalog, (self._warehouse, self._options)

    def __repr__(self) -> str:
        """The warehouse."""
        return f"Catalog({self._warehouse!r})"

    @property
    def warehouse(self) -> str:
        """The root directory."""
        return self._warehouse

    def databases(self) -> list[str]:
        """Names of the databases, in order."""
        return self._core.databases()

    def create_database(
        self, name: str, *, if_not_exists: bool = False, properties: Mapping[str, str] | None = None
    ) -> None:
        """Create a database.

        Args:
            name: Its name.
            if_not_exists: Fine when it exists.
            properties: A filesystem catalog has no place for them: refused when given.

        Raises:
            DatabaseExists: It exists.
        """
        if properties:
            raise UnsupportedFeature("a filesystem catalog keeps no database properties")
        self._core.create_database(text("name", name), flag("if_not_exists", if_not_exists))

    def drop_database(self, name: str, *, cascade: bool = False, if_exists: bool = False) -> None:
        """Drop a database.

        Args:
            name: Its name.
            cascade: Drop its tables too; otherwise it must be empty, also of files that are no tables.
            if_exists: Fine when it does not exist.

        Raises:
            DatabaseNotFound: It does not exist.
            InvalidArgument: Without ``cascade``: it is not empty.
            UpkeepRunning: With ``cascade``: an expiry or the like was at work on one of its tables all the time.
        """
        self._core.drop_database(text("name", name), flag("cascade", cascade), flag("if_exists", if_exists))

    def tables(self, database: str) -> list[str]:
        """Names of the tables of a database, in order."""
        return self._core.tables(text("database", database))

    def create_table(
        self,
        name: str,
        schema: Any,
        *,
        primary_key: Sequence[str] | None = None,
        partition_by: Sequence[str] | None = None,
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
        if_not_exists: bool = False,
    ) -> Table:
        """Create a table.

        Args:
            name: ``db.table``.
            schema: A pyarrow schema; or ``{"id": "BIGINT NOT NULL", "amount": "DECIMAL(12,2)"}`` in Paimon's SQL types;
                or fields in Paimon's schema JSON, ids optional.
            primary_key: Key columns, partition columns included; none for an append table.
            partition_by: Partition columns.
            options: Table options, as in Java Paimon.
            comment: Table comment.
            if_not_exists: Return the table that exists.

        Raises:
            TableExists: It exists.
            IllegalSchema: Keys, columns or types that break a rule.
            UnknownOption: An option key that Paimon does not know; the hint names the nearest.
            UnsupportedFeature: An option that asks for what is not implemented.
        """
        core = self._core.create_table(
            text("name", name),
            schema_of(schema),
            names("primary_key", primary_key),
            names("partition_by", partition_by),
            option_texts(options),
            optional_text("comment", comment),
            flag("if_not_exists", if_not_exists),
        )
        return Table(core)

    def table(self, name: str, *, branch: str | None = None, options: Mapping[str, str] | None = None) -> Table:
        """Open a table.

        Args:
            name: ``db.table``, ``db.table$branch_b``, a system table such as ``db.table$snapshots``, or one
                of the catalog's: ``sys.tables``, ``sys.partitions``, ``sys.all_table_options``, and where the catalog
                option ``catalog-options-table.enabled`` is true, ``sys.catalog_options``.
            branch: Branch to open; None for the one that the name says, ``main`` when it says none.
            options: Dynamic options on top of the stored ones.

        Raises:
            TableNotFound: It does not exist; the hint names near ones.
            BranchNotFound: There is no such branch.
            InvalidArgument: The name says another branch than ``branch``.
            UnknownOption: One of the options is none; the hint names a near one.
        """
        core, system = self._core.table(text("name", name), option_texts(options), optional_text("branch", branch))
        if core is not None:
            return table_or_system(core, system)
        return system_table(WholeCatalog(self._warehouse, self._options), system or "")

    def location(self, name: str) -> str:
        """The directory of ``db.table``, whether it exists or not.

        Raises:
            InvalidArgument: A system table, which has no directory.
        """
        return self._core.location(text("name", name))

    def rename_table(self, source: str, target: str) -> None:
        """Rename a table; both names are ``db.table``. Handles that were opened by the old name commit nothing more.

        Raises:
            UpkeepRunning: An expiry, rollback or the like was at work on it all the time.
        """
        self._core.rename_table(text("source", source), text("target", target))

    def drop_table(self, name: str, *, if_exists: bool = False) -> None:
        """Drop a table with all its files; for others it is gone at once.

        Raises:
            UpkeepRunning: An expiry, rollback or the like was at work on it all the time.
        """
        self._core.drop_table(text("name", name), flag("if_exists", if_exists))


def connect(
    warehouse: str | os.PathLike[str] | None = None,
    *,
    name: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Catalog:
    """Open a filesystem catalog.

    Args:
        warehouse: Its root: a directory, made on first use, or a URI such as ``s3://bucket/lake``.
        name: A catalog of ``siltstone.yaml``; comes in a later version.
        options: Catalog options, such as ``table-default.<key>``, and those of the storage, such as ``s3.endpoint``.

    Raises:
        InvalidArgument: The warehouse is a file, or no path at all.
        UnknownOption: An option of the storage that there is not; the hint names a near one.
        UnsupportedFeature: A storage that this version does not reach.
        StorageError: The store cannot be reached, or refuses; the hint says what to check.

    Example:
        >>> connect(tmp).databases()
        []
    """
    if optional_text("name", name) is not None:
        raise UnsupportedFeature("catalogs of siltstone.yaml are not supported by this version of siltstone")
    if warehouse is None:
        raise InvalidArgument("give the warehouse directory: connect('/data/lake')")
    return Catalog(warehouse_root(warehouse), options)


def warehouse_root(warehouse: str | os.PathLike[str]) -> str:
    """A warehouse as every process names it: URIs as they are, directories from the root."""
    root = directory("warehouse", warehouse)
    return root if ":" in root else str(pathlib.Path(root).absolute())


def open_table(
    path: str | os.PathLike[str],
    *,
    catalog: Catalog | None = None,
    branch: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Table:
    """Open a table by its directory, or by ``db.table`` in a catalog.

    Args:
        path: The table's directory or URI, or its name when ``catalog`` is given; behind it may stand ``$branch_b``
            and a system table such as ``$files``.
        catalog: Where names are looked up.
        branch: Branch to open; None for the one that ``path`` names, ``main`` when it names none.
        options: Dynamic options on top of the stored ones, for example ``{"scan.tag-name": "v1"}``, and options of the
            storage (``docs/storage.md``); secrets are not kept with the table.

    Raises:
        TableNotFound: No table there.
        BranchNotFound: No such branch.
        UnknownOption: One of the options is none; the hint names a near one.
        InvalidArgument: ``path`` names another branch than ``branch``.
    """
    place, branch = directory("path", path), optional_text("branch", branch)
    if catalog is not None:
        return catalog.table(place, branch=branch, options=options)
    return table_or_system(*_core.Table.open_path(place, option_texts(options), branch))
