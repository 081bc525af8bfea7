"""What is added to Spark's error about a table that it does not know: where it was looked for, what may be meant."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from siltstone.errors import SiltstoneError, TableNotFound
from siltstone.spark.session import connected, warehouse_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from siltstone import Catalog

_CONDITION = "TABLE_OR_VIEW_NOT_FOUND"
#: How a hint begins that names something else.
_NEAR = "did you mean"


def add_where_looked(spark: SparkSession, error: Any, missing: Mapping[str, SiltstoneError]) -> None:
    """Say with Spark's error in which warehouse there is no such table, either, and which one may be meant.

    Args:
        spark: The session.
        error: Spark's error.
        missing: What the warehouse has said of the names, in small letters, that are none of its tables.
    """
    if error.getCondition() != _CONDITION:
        return
    try:
        catalog = connected(spark)
        databases = catalog.databases()
    except SiltstoneError as problem:
        error.add_note(problem.message)
        return
    known = ", ".join(databases) or "none"
    error.add_note(f"nor is it in the warehouse {warehouse_of(spark)}, whose databases are: {known}")
    name = (error.getMessageParameters() or {}).get("relationName", "").replace("`", "")
    said = missing.get(name.lower())
    meant = None if said is None else _meant(said, name, catalog, databases)
    if said is not None and meant is not None:
        error.add_note(f"{said.message}: {meant}")


def _meant(said: SiltstoneError, name: str, catalog: Catalog, databases: list[str]) -> str | None:
    """The table that may be meant by one that the warehouse does not have; the error names one of the same database."""
    if isinstance(said, TableNotFound):
        return said.hint if said.hint and said.hint.startswith(_NEAR) else None
    database, _, table = name.rpartition(".")
    near = difflib.get_close_matches(database.rpartition(".")[2], databases, n=1)
    return f"{_NEAR} '{near[0]}.{table}'?" if near and f"{near[0]}.{table}" in catalog else None
