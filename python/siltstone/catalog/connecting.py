"""Finding a catalog, and a table by its directory."""

from __future__ import annotations

import difflib
import functools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from siltstone import _core
from siltstone._args import directory, not_empty, option_texts, optional_text, shown, text
from siltstone._spellings import hinted, known_as
from siltstone.catalog.catalog import Catalog
from siltstone.catalog.config_files import whole_path
from siltstone.catalog.metastores import has_directories
from siltstone.catalog.settings import by_environment, by_name, config_file
from siltstone.errors import InvalidArgument, TableNotFound
from siltstone.scan import Scan
from siltstone.system import SystemTable, table_or_system
from siltstone.table import Table

if TYPE_CHECKING:
    import polars as pl


@hinted
@known_as(path="warehouse=...", location="warehouse=...", catalog="name=...")
def connect(
    warehouse: str | os.PathLike[str] | Mapping[str, str] | None = None,
    *,
    name: str | None = None,
    metastore: str | None = None,
    uri: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Catalog:
    """Open a catalog.

    Args:
        warehouse: Its root: a directory, which its first database makes and which cannot be looked at before, or a URI
            such as ``s3://bucket/lake``; or a dict of options with ``"warehouse"`` in it. ``~`` is the home directory.
            Without it and without ``name``, what ``$SILTSTONE_CATALOG`` names, or the warehouse
            ``$SILTSTONE_WAREHOUSE`` or ``$PAIMON_WAREHOUSE``.
        name: A catalog of ``siltstone.toml``; what is given beside it goes over what stands there.
        metastore: Who keeps the names of databases and tables: ``filesystem`` (directories are databases and tables)
            or ``jdbc`` (a SQL database, as Java's JDBC catalog; needs ``pip install 'siltstone[sql-catalog]'``)
            or ``hive`` (a Hive metastore, as Java's Hive catalog; needs ``pip install 'siltstone[hive]'``)
            or ``rest`` (a server that keeps the tables, as Java's REST catalog; the warehouse is what the server calls
            it; needs ``pip install 'siltstone[rest]'``).
        uri: Where the metastore is: ``jdbc:postgresql://host/db``, ``jdbc:sqlite:/path/of.db``,
            ``jdbc:mysql://host/db``, ``thrift://host:9083``, ``https://catalog.example.com``.
        options: Catalog options by Paimon's names, such as ``table-default.<key>``, ``jdbc.user``, ``lock.enabled``,
            and those of the storage, such as ``s3.endpoint``.

    Raises:
        InvalidArgument: The warehouse is a file, empty, or no path at all; there is no catalog of this name.
        InvalidOption: An argument and an option say different things.
        UnsupportedFeature: Another metastore or storage, or an option value that its catalogs do not have.
        UnknownOption: An option of the storage that there is not; the hint names a near one.
        StorageError: The metastore or the store cannot be reached, or refuses; the hint says what to check.

    Example:
        >>> cat = connect(tmp)
        >>> cat.create_database("shop", if_not_exists=True)
        >>> cat.tables("shop")
        []
    """
    name = optional_text("name", name)
    if isinstance(warehouse, Mapping):
        options = {**option_texts(warehouse), **option_texts(options)}
        warehouse = options.pop("warehouse", None)
    if warehouse is None and name is None and metastore is None and uri is None:
        name, found = by_environment()
    else:
        found = {}
    stored = found if name is None else by_name(name)
    given = _one(option_texts(options), {"metastore": metastore, "uri": uri})
    merged = {**stored, **given}
    kept = merged.pop("warehouse", None)
    root = kept if warehouse is None else warehouse
    if root is None:
        raise _no_warehouse(name, [key for key in stored if key not in {"metastore", "uri"}])
    is_as_named = name is not None and warehouse is None and not given
    reopen = functools.partial(connect, name=name) if is_as_named else None
    place = warehouse_root(root) if has_directories(merged) else not_empty("warehouse", text("warehouse", root))
    return Catalog(place, merged, reopen=reopen)


def _no_warehouse(name: str | None, has: list[str]) -> InvalidArgument:
    """The error where no warehouse is given; ``has``: other options of the catalog of this name."""
    if name is None:
        return InvalidArgument("give the warehouse directory: connect('/data/lake')")
    near = difflib.get_close_matches("warehouse", has, n=1)
    what = f"it has '{near[0]}': did you mean 'warehouse'?" if near else 'add a line such as warehouse = "/data/lake"'
    return InvalidArgument(f"{config_file()}, catalog {shown(name)}: there is no 'warehouse'", hint=what)


def _one(options: dict[str, str], arguments: Mapping[str, str | None]) -> dict[str, str]:
    """Options, and arguments that are the same thing by another name."""
    for key, value in arguments.items():
        said = optional_text(key, value)
        if said is not None and options.setdefault(key, said) != said:
            raise InvalidArgument(f"{key}={said!r}, and the option says {options[key]!r}", hint="give only one of them")
    return options


def warehouse_root(warehouse: str | os.PathLike[str]) -> str:
    """A warehouse as every process names it: URIs as they are, directories from the root."""
    root = directory("warehouse", warehouse)
    return root if ":" in root else str(whole_path(root))


@hinted
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
        if not isinstance(catalog, Catalog):
            raise InvalidArgument(f"catalog={shown(catalog)} is not a catalog", hint="give st.connect(warehouse)")
        return catalog.table(place, branch=branch, options=options)
    try:
        return table_or_system(*_core.Table.open_path(place, option_texts(options), branch))
    except TableNotFound as e:
        if _core.is_path(place):
            raise
        hint = f"this looks in a directory; a table of a catalog is st.connect(warehouse).table({place!r})"
        raise TableNotFound(e.message, hint=hint, context=e.context) from None


def scan_polars(table: Table | str, **scan: Any) -> pl.LazyFrame:
    """A table as a lazy frame of polars, into which columns, conditions and limits are pushed.

    Args:
        table: A table, its directory, or ``db.table`` of the catalog that the environment names.
        scan: Arguments of :meth:`siltstone.Table.scan`.

    Example:
        >>> import polars as pl
        >>> st.scan_polars(example_table()).filter(pl.col("id") == 2).collect().to_dicts()
        [{'id': 2, 'item': 'ink'}]
    """
    return table_of(table).scan(**scan).to_polars(lazy=True)


def table_of(table: Table | str) -> Table:
    """A table by its directory, by ``db.table`` of the catalog that the environment names, or as it is.

    Raises:
        InvalidArgument: Something else, or a name and no catalog in the environment.
        TableNotFound: There is no such table.
    """
    if isinstance(table, str):
        table = text("table", table)
        is_directory = _core.is_path(table) or os.path.isdir(table)  # noqa: PTH112  # False for names that no file has
        table = open_table(table) if is_directory else connect().table(table)
    if not isinstance(table, (Table, SystemTable)):
        hint = "scan.to_polars(lazy=True), or st.scan_polars(t, version=...)" if isinstance(table, Scan) else None
        raise InvalidArgument(
            f"{shown(table)} is not a table: give a table, its directory, or its name db.table", hint=hint
        )
    return table
