"""What a session knows: the warehouse behind names, and default options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from siltstone._args import option_texts
from siltstone.catalog.filesystem import warehouse_root
from siltstone.errors import InvalidArgument
from siltstone.procedures.naming import unquoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from siltstone import Catalog, Table

WAREHOUSE_CONF = "spark.siltstone.warehouse"
OPTIONS_CONF = "spark.siltstone.options"
#: Option of the format with all that :func:`siltstone.spark.read` asks for, as JSON.
ASKED = "siltstone.asked"
PUSHDOWN_CONF = "spark.sql.python.filterPushdown.enabled"


def enable(spark: SparkSession, *, warehouse: str | None = None, options: Mapping[str, str] | None = None) -> None:
    """Register the format ``siltstone``, switch filter push-down on, and remember the warehouse.

    Args:
        spark: A session, classic or Connect, of Spark 4.1 or later.
        warehouse: Root directory behind names such as ``shop.orders``; must be the same path on all machines.
        options: Dynamic table options for every read and write of this session.
    """
    from siltstone.spark.datasource import source_class

    given = option_texts(options)
    if warehouse is not None:
        # planning runs in processes with another working directory
        spark.conf.set(WAREHOUSE_CONF, warehouse_root(warehouse))
    spark.conf.set(OPTIONS_CONF, json.dumps(given))
    spark.conf.set(PUSHDOWN_CONF, "true")
    spark.dataSource.register(source_class(warehouse_of(spark), given))


def warehouse_of(spark: SparkSession) -> str | None:
    """The session's warehouse."""
    warehouse: str | None = spark.conf.get(WAREHOUSE_CONF, None)
    return warehouse


def table_of(spark: SparkSession, table: str | Table, options: Mapping[str, str] | None = None) -> Table:
    """A table by name, directory, or as it is, with the session's options, its own, and these.

    Raises:
        TableNotFound: There is no such table.
        InvalidArgument: A name, but the session has no warehouse.
    """
    stored = spark.conf.get(OPTIONS_CONF, None)
    name, own = (table, {}) if isinstance(table, str) else (table.path, table.dynamic_options)
    merged = {**(json.loads(stored) if stored else {}), **own, **(options or {})}
    return open_named(name, warehouse_of(spark), merged)


def connected(spark: SparkSession) -> Catalog:
    """The catalog of the session's warehouse.

    Raises:
        InvalidArgument: The session has no warehouse.
    """
    import siltstone as st

    warehouse = warehouse_of(spark)
    if warehouse is None:
        raise InvalidArgument("no warehouse is known", hint="call siltstone.spark.enable(spark, warehouse=...)")
    return st.connect(warehouse)


def current_database(spark: SparkSession) -> str:
    """The session's database; Spark may say it in backquotes."""
    return unquoted(spark.catalog.currentDatabase())


def open_named(name: str, warehouse: str | None, options: Mapping[str, Any]) -> Table:
    """A table by directory, or by name below a warehouse."""
    import siltstone as st

    if "/" in name or name.lower().startswith("file:"):
        return st.open_table(name, options=options)
    if warehouse is None:
        raise InvalidArgument(
            f"'{name}' is a name, but no warehouse is known",
            hint="call siltstone.spark.enable(spark, warehouse=...), or give the table's directory",
        )
    return st.connect(warehouse).table(name, options=options)
