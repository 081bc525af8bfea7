"""Databases and tables of a warehouse, ``<warehouse>/<database>.db/<table>`` (semantics j).

Names are those of directories (Java ``FileSystemCatalog``), or kept in a metastore
(:mod:`siltstone.catalog.metastores`), whose server may keep the tables, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from siltstone import _core
from siltstone._args import directory, flag, names, option_texts, optional_text, text
from siltstone._spellings import Hinted, known_as
from siltstone.catalog.fields import definition_of, key_of
from siltstone.catalog.metastores import Checks, TableServer, has_directories, metastore_of
from siltstone.errors import DatabaseNotFound, FileMissing, UnsupportedFeature
from siltstone.system import WholeCatalog, system_table, table_or_system
from siltstone.table import Table

Schema = "pa.Schema | Mapping[str, str] | Sequence[Mapping[str, Any]]"


class Catalog(Hinted):
    """Databases and tables below a warehouse directory.

    Example:
        >>> cat = st.connect(tmp)
        >>> cat.create_database("shop", if_not_exists=True)
        >>> cat.databases()
        ['shop']
    """

    def __init__(
        self,
        warehouse: str,
        options: Mapping[str, str] | None = None,
        *,
        reopen: Callable[[], Catalog] | None = None,
    ) -> None:
        """Use :func:`siltstone.connect`."""
        given = option_texts(options)
        if has_directories(given):
            self._warehouse = directory("warehouse", warehouse)
        else:
            self._warehouse = given["warehouse"] = text("warehouse", warehouse)
        self._reopen = reopen
        self._metastore = metastore = metastore_of({**given, "warehouse": self._warehouse})
        self._checks = cast("Checks", metastore) if getattr(metastore, "has_checks", False) else None
        if metastore is not None and getattr(metastore, "keeps_tables", False):
            given = cast("TableServer", metastore).options()
        self._core = _core.Catalog(self._warehouse, given, metastore)
        # without secrets: this process knows them for the warehouse, others have their environment
        self._options = self._core.options()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as its name in ``siltstone.toml``, or as warehouse and options, without secrets."""
        if self._reopen is not None:
            return self._reopen, ()
        return Catalog, (self._warehouse, self._options)

    def __repr__(self) -> str:
        """The warehouse, and who keeps the names when somebody does."""
        kind = self._options.get("metastore", "filesystem")
        return f"Catalog({self._warehouse!r})" if kind == "filesystem" else f"Catalog({self._warehouse!r}, {kind})"

    def __contains__(self, name: str) -> bool:
        """Whether there is a table ``db.table``, or a database of this name.

        Example:
            >>> cat = st.connect(tmp)
            >>> cat.create_database("shop")
            >>> "shop" in cat, "shop.orders" in cat, "nothing.orders" in cat
            (True, False, False)
        """
        database, dot, table = text("name", name).partition(".")
        try:
            return table in self.tables(database) if dot else database in self.databases()
        except (DatabaseNotFound, FileMissing):
            return False

    def __getitem__(self, name: str) -> Table:
        """Open a table; see :meth:`table`."""
        return self.table(name)

    @property
    def warehouse(self) -> str:
        """The root directory; of a REST catalog what the server calls it."""
        return self._warehouse

    def databases(self) -> list[str]:
        """Names of the databases, in order.

        Raises:
            FileMissing: The warehouse does not exist: :meth:`create_database` makes it.
        """
        return self._core.databases()

    @known_as(ignore_if_exists="if_not_exists=...")
    def create_database(
        self,
        name: str,
        *,
        if_not_exists: bool = False,
        properties: Mapping[str, str] | None = None,
        exist_ok: bool = False,
    ) -> None:
        """Create a database.

        Args:
            name: Its name.
            if_not_exists: Fine when it exists.
            exist_ok: The same as ``if_not_exists``.
            properties: What the catalog keeps of it. A filesystem catalog has no place for them: refused when given.

        Raises:
            DatabaseExists: It exists.
            UnsupportedFeature: Properties for a filesystem catalog.
        """
        given, fine = option_texts(properties), flag("if_not_exists", if_not_exists) or flag("exist_ok", exist_ok)
        self._core.create_database(text("name", name), given, fine)

    def database(self, name: str) -> dict[str, str]:
        """Properties of a database; a filesystem catalog keeps none.

        Raises:
            DatabaseNotFound: It does not exist.
        """
        return self._core.database(text("name", name))

    def alter_database(
        self, name: str, *, properties: Mapping[str, str] | None = None, remove: Sequence[str] = ()
    ) -> None:
        """Change properties of a database.

        Args:
            name: The database.
            properties: Properties that get these values.
            remove: Properties that go; those that are not there are ignored.

        Raises:
            DatabaseNotFound: It does not exist.
            UnsupportedFeature: A filesystem catalog, which keeps no properties.
        """
        given, gone = option_texts(properties), names("remove", remove)
        self.database(name)
        if self._metastore is None:
            raise UnsupportedFeature(
                "a filesystem catalog keeps no properties of databases",
                hint="a jdbc, hive or rest catalog does: connect(warehouse, metastore='jdbc', uri=...)",
                context={"database": name},
            )
        self._metastore.alter_database(text("name", name), given, gone)

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
        if self._checks is not None and flag("cascade", cascade):
            self._checks.check_drop(text("name", name))
        self._core.drop_database(text("name", name), flag("cascade", cascade), flag("if_exists", if_exists))

    def tables(self, database: str) -> list[str]:
        """Names of the tables of a database, in order.

        Raises:
            DatabaseNotFound: It does not exist; the hint says so when the warehouse does not either.
        """
        return self._core.tables(text("database", database))

    @known_as(
        primary_keys="primary_key=...",
        partition_keys="partition_by=...",
        partition_spec="partition_by=...",
        ignore_if_exists="if_not_exists=...",
        properties="options=...",
    )
    def create_table(
        self,
        name: str,
        schema: Any,
        *,
        primary_key: str | Sequence[str] | None = None,
        partition_by: str | Sequence[str] | None = None,
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
        if_not_exists: bool = False,
        exist_ok: bool = False,
    ) -> Table:
        """Create an empty table.

        Args:
            name: ``db.table``.
            schema: A pyarrow schema, or something with columns whose types are taken (a frame of polars or pandas, a
                pyarrow table or dataset, a relation of DuckDB; its rows are not). Or types by column: Paimon's SQL
                types as in ``{"id": "BIGINT NOT NULL", "amount": "DECIMAL(12,2)"}``, Python's (``int``, ``str | None``,
                ``list[float]``), pyarrow's or polars'. Or SQL text as in ``"id BIGINT NOT NULL COMMENT 'number',
                PRIMARY KEY (id)"``; or a dataclass; or fields in Paimon's schema JSON, ids optional.
            primary_key: Key columns; none for an append table. A key that leaves a partition column out lives in one
                partition at a time, and moves with its newest row: only with dynamic buckets, which are the default.
            partition_by: Partition columns.
            options: Table options, as in Java Paimon.
            comment: Table comment.
            if_not_exists: Return the table that exists.
            exist_ok: The same as ``if_not_exists``.

        Raises:
            TableExists: It exists.
            IllegalSchema: Keys, columns or types that break a rule.
            UnknownOption: An option key that Paimon does not know; the hint names the nearest.
            UnsupportedFeature: An option that asks for what is not implemented.

        Example:
            >>> cat = st.connect(tmp)
            >>> cat.create_database("shop", exist_ok=True)
            >>> cat.create_table("shop.days", "dt DATE NOT NULL COMMENT 'day', n INT, PRIMARY KEY (dt)").primary_key
            ['dt']
            >>> cat.create_table("shop.people", {"name": str, "born": int | None}, exist_ok=True).schema.names
            ['name', 'born']
        """
        found, key = definition_of(schema)
        if self._checks is not None:
            self._checks.check_table(*_parts(name), option_texts(options))
        core = self._core.create_table(
            text("name", name),
            found,
            key_of(key, names("primary_key", primary_key)),
            names("partition_by", partition_by),
            option_texts(options),
            optional_text("comment", comment),
            flag("if_not_exists", if_not_exists) or flag("exist_ok", exist_ok),
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
            DatabaseNotFound: Its database does not; the hint says so when the warehouse does not either.
            BranchNotFound: There is no such branch.
            InvalidArgument: The name says another branch than ``branch``.
            UnknownOption: One of the options is none; the hint names a near one.
        """
        core, system = self._core.table(text("name", name), option_texts(options), optional_text("branch", branch))
        if core is not None:
            return table_or_system(core, system)
        return system_table(WholeCatalog(self, self._warehouse), system or "")

    def _inspect(self, system: str, request: Mapping[str, Any]) -> _core.Inspection:
        return self._core.inspect(system, request)

    def location(self, name: str) -> str:
        """The directory of ``db.table``, whether it exists or not.

        Raises:
            InvalidArgument: A system table, which has no directory.
            TableNotFound: The server of a REST catalog has no such table, so nobody knows its place.
        """
        return self._core.location(text("name", name))

    def rename_table(self, source: str, target: str) -> None:
        """Rename a table; both names are ``db.table``. Handles that were opened by the old name commit nothing more.

        Raises:
            UpkeepRunning: An expiry, rollback or the like was at work on it all the time.
        """
        self._core.rename_table(text("source", source), text("target", target))

    @known_as(ignore_if_not_exists="if_exists=...")
    def drop_table(self, name: str, *, if_exists: bool = False) -> None:
        """Drop a table with all its files; for others it is gone at once. Of an external table of Hive the files stay.

        Raises:
            UpkeepRunning: An expiry, rollback or the like was at work on it all the time.
        """
        if self._checks is not None and self._checks.forget_table(*_parts(name)):
            return
        self._core.drop_table(text("name", name), flag("if_exists", if_exists))


def _parts(name: str) -> tuple[str, str]:
    database, _, table = text("name", name).partition(".")
    return database, table
