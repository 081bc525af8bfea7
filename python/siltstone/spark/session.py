"""What a session knows: the warehouse behind names, and default options."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from siltstone import _core
from siltstone.catalog.settings import by_name, config_file
from siltstone.errors import InvalidArgument, UnknownOption
from siltstone.procedures.naming import has_database, plain_name, quoted, unquoted
from siltstone.spark.settings import settings_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from siltstone import Catalog, Table

WAREHOUSE_CONF = "spark.siltstone.warehouse"
OPTIONS_CONF = "spark.siltstone.options"
#: The database of the warehouse that ``USE`` has named.
DATABASE_CONF = "spark.siltstone.database"
#: What the workers were last asked about.
CHECKED_CONF = "spark.siltstone.checked"
PUSHDOWN_CONF = "spark.sql.python.filterPushdown.enabled"
#: What is siltstone's own in the configuration of a session; RESET leaves it.
OWN_CONF = (WAREHOUSE_CONF, OPTIONS_CONF, DATABASE_CONF, CHECKED_CONF, PUSHDOWN_CONF)
#: Option of the format with all that :func:`siltstone.spark.read` asks for, as JSON.
ASKED = "siltstone.asked"


#: Before the name of a catalog and its file, as JSON, where the session has a catalog instead of a warehouse.
_BY_NAME = "catalog:"

#: Settings of Java's connector about writes and about reads, and what does the same here.
_OF_WRITES = {"write.merge-schema": "siltstone.spark.write(frame, name, merge_schema=True)"}
_OF_READS = {"read.changelog": "read db.t$audit_log, or .option('read.changelog', 'true') of the format"}


def warehouse_of(spark: SparkSession) -> str | None:
    """The session's warehouse; what :func:`by_name_of` says where it has a catalog of ``siltstone.toml``."""
    warehouse: str | None = spark.conf.get(WAREHOUSE_CONF, None)
    return warehouse


def no_secrets(options: Mapping[str, str]) -> Mapping[str, str]:
    """Options that a plan, or the session's configuration, may show.

    Raises:
        InvalidArgument: One of them is a secret of a storage.
    """
    for key in options:
        if _core.is_secret(key):
            raise InvalidArgument(
                f"'{key}' is a secret, and Spark's plans would show it",
                hint="give driver and executors credentials by environment (AWS_ACCESS_KEY_ID, ...), profile or role",
            )
    return options


def table_of(spark: SparkSession, table: str | Table, options: Mapping[str, str] | None = None) -> Table:
    """A table by name, directory, or as it is, with the session's options and settings, its own options, and these.

    A name without a database is one of the database that ``USE`` has named.

    Raises:
        TableNotFound: There is no such table.
        InvalidArgument: A name, but the session has no warehouse.
        UnknownOption: A setting of the session is no option of a table, or one that Java's connector alone honours.
    """
    stored = spark.conf.get(OPTIONS_CONF, None)
    if isinstance(table, str):
        name, own = _in_current_database(spark, table), {}
    else:
        name, own = table.path, table.dynamic_options
    settings = settings_of(spark, name)
    _refuse_of_java(settings, _OF_READS)
    settings = {key: value for key, value in settings.items() if key not in (*_OF_WRITES, *_OF_READS)}
    merged = {**(json.loads(stored) if stored else {}), **settings, **own, **no_secrets(options or {})}
    try:
        return open_named(name, warehouse_of(spark), merged)
    except UnknownOption as error:
        key = error.context.get("option", "")
        if key not in settings or key in own or key in (options or {}):
            raise
        hint = f"{error.hint}; {_unset(key)}" if error.hint else _unset(key)
        raise UnknownOption(_said(key, error.message), hint=hint, context=error.context) from None


def refuse_settings_of_writes(spark: SparkSession, table: Table) -> None:
    """Nobody honours what the session says about writes of Java's connector.

    Raises:
        UnknownOption: It says so.
    """
    _refuse_of_java(settings_of(spark, table.path), _OF_WRITES)


def _refuse_of_java(settings: Mapping[str, str], known: Mapping[str, str]) -> None:
    for key, instead in known.items():
        if settings.get(key, "false").strip().lower() != "false":
            raise UnknownOption(
                _said(key, "Java's connector alone honours it"),
                hint=f"{_unset(key)}; here it is {instead}",
                context={"option": key},
            )


def _unset(key: str) -> str:
    return f"spark.conf.unset('spark.paimon.{key}') takes it back"


def _in_current_database(spark: SparkSession, name: str) -> str:
    """``db.t`` where ``USE`` has named a database and the name has none."""
    chosen: str | None = None if has_database(name) else spark.conf.get(DATABASE_CONF, None)
    return name if chosen is None else f"{chosen}.{plain_name(name)}"


def _said(key: str, why: str) -> str:
    return f"the setting spark.paimon.{key} of this session is no option of a table: {why}"


def connected(spark: SparkSession) -> Catalog:
    """The catalog of the session's warehouse.

    Raises:
        InvalidArgument: The session has no warehouse.
    """
    warehouse = warehouse_of(spark)
    if warehouse is None:
        raise no_warehouse()
    return catalog_at(warehouse, storage_options(spark))


def no_warehouse(why: str = "") -> InvalidArgument:
    """The error of a session that no warehouse or catalog was named to."""
    return InvalidArgument(
        f"no warehouse is known to this session{why}",
        hint="call siltstone.spark.enable(spark, warehouse=...), once in each session: spark.newSession() has none, "
        "and spark.sql('RESET') forgets it",
    )


def by_name_of(catalog: str) -> str:
    """What stands for a catalog of ``siltstone.toml``, in plans, too: its name, and the file that all processes read.

    Raises:
        InvalidArgument: The catalog is not in the file.
    """
    by_name(catalog)
    file = config_file()
    return f"{_BY_NAME}{json.dumps([catalog, str(file and file.absolute())])}"


def catalog_at(warehouse: str, storage: Mapping[str, str]) -> Catalog:
    """The catalog of a warehouse, or the one that :func:`by_name_of` has said."""
    import siltstone as st

    if not warehouse.startswith(_BY_NAME):
        return st.connect(warehouse, options=storage)
    name, file = json.loads(warehouse.removeprefix(_BY_NAME))
    stored = by_name(name, pathlib.Path(file))
    return st.connect(stored.pop("warehouse", None), options={**stored, **storage})


def storage_options(spark: SparkSession) -> dict[str, str]:
    """Those of the session's options that say how a store is reached."""
    stored = spark.conf.get(OPTIONS_CONF, None)
    given: dict[str, str] = json.loads(stored) if stored else {}
    return {key: value for key, value in given.items() if _core.is_storage_option(key)}


def current_database(spark: SparkSession) -> str:
    """The database of the warehouse that ``USE`` has named, else the session's; Spark may say it in backquotes."""
    chosen: str | None = spark.conf.get(DATABASE_CONF, None)
    return chosen or unquoted(spark.catalog.currentDatabase())


def is_of_spark(spark: SparkSession, name: str) -> bool:
    """Whether a name without a database means something of Spark's own.

    Temporary views come first; then, once ``USE`` has named a database of the warehouse, its tables; else Spark's.
    """
    if not spark.catalog.tableExists(quoted(name)):
        return False
    return spark.conf.get(DATABASE_CONF, None) is None or spark.catalog.getTable(quoted(name)).isTemporary


def name_in_catalog(name: str, warehouse: str | None) -> tuple[str, str] | None:
    """A table's name and its catalog, where that has a name: whoever commits asks it, in whatever process."""
    if warehouse is None or not warehouse.startswith(_BY_NAME) or _core.is_path(name):
        return None
    return name, warehouse


def open_named(name: str, warehouse: str | None, options: Mapping[str, Any]) -> Table:
    """A table by directory, or by name below a warehouse."""
    import siltstone as st

    no_secrets(options)
    if _core.is_path(name):
        return st.open_table(name, options=options)
    if warehouse is None:
        raise InvalidArgument(
            f"'{name}' is a name, but no warehouse is known",
            hint="call siltstone.spark.enable(spark, warehouse=...), or give the table's directory",
        )
    storage = {key: str(value) for key, value in options.items() if _core.is_storage_option(key)}
    return catalog_at(warehouse, storage).table(name, options=options)
