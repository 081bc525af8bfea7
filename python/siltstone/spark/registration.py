"""Making the format ``siltstone`` known to a session."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from siltstone import _core
from siltstone._args import flag, option_texts, text
from siltstone._spellings import hinted, known_as
from siltstone.catalog.connecting import warehouse_root
from siltstone.errors import InvalidArgument
from siltstone.spark import checks
from siltstone.spark.checks import check_packages, check_version
from siltstone.spark.datasource import source_class
from siltstone.spark.session import OPTIONS_CONF, PUSHDOWN_CONF, WAREHOUSE_CONF, by_name_of, no_secrets, warehouse_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@hinted
@known_as(path="warehouse=...", metastore="catalog=...: a catalog of siltstone.toml")
def enable(
    spark: SparkSession,
    *,
    warehouse: str | None = None,
    catalog: str | None = None,
    options: Mapping[str, str] | None = None,
    check_workers: bool = True,
) -> None:
    """Register the format ``siltstone``, switch filter push-down on, and remember the warehouse or catalog.

    What is remembered is the session's: another one, also ``spark.newSession()``, is enabled by a call of its own.

    The first call of a session asks Spark's workers for their siltstone; on a cluster the first one with a warehouse
    also whether they see it.

    Args:
        spark: A session, classic or Connect, of Spark 4.1 or later.
        warehouse: Root directory or URI behind names such as ``shop.orders``; must be the same on all machines.
        catalog: A catalog of ``siltstone.toml`` behind names, instead of a warehouse. Whatever plans or commits on the
            driver's machine reads the file; plans have its path and the name in them, and nothing of what it says.
        options: Dynamic table options for every read and write of this session, and options of the storage that are
            no secrets.
        check_workers: Run the job that asks the workers.

    Raises:
        UnsupportedFeature: Spark is older than 4.1.
        InvalidArgument: PySpark lacks pandas; workers have no siltstone, or another version.
        StorageError: Workers do not see the warehouse.
        InvalidArgument: One of the options is a secret: plans would show it; a warehouse and a catalog; a catalog that
            is not in the file.
    """
    check_version(spark.version)
    check_packages()
    given = no_secrets(option_texts(options))
    if catalog is not None:
        if warehouse is not None:
            raise InvalidArgument("a warehouse and a catalog are two places for names: give one of them")
        spark.conf.set(WAREHOUSE_CONF, by_name_of(text("catalog", catalog)))
    if warehouse is not None:
        # planning runs in processes with another working directory
        spark.conf.set(WAREHOUSE_CONF, warehouse_root(warehouse))
    spark.conf.set(OPTIONS_CONF, json.dumps(given))
    spark.conf.set(PUSHDOWN_CONF, "true")
    spark.dataSource.register(source_class(warehouse_of(spark), given))
    if flag("check_workers", check_workers):
        asked = {key: value for key, value in given.items() if _core.is_storage_option(key)}
        checks.check_workers(spark, warehouse_of(spark), asked)
