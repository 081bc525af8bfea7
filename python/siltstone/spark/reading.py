"""Reading with pruned columns and an exact filter, whatever Spark pushes down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from siltstone._args import Time, millis
from siltstone.errors import UnsupportedFeature
from siltstone.spark.session import OPTIONS_CONF, table_of
from siltstone.spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from siltstone import Table


def read(
    spark: SparkSession,
    table: str | Table,
    columns: Sequence[str] | None = None,
    filter: str | None = None,  # noqa: A002  # the API's name
    *,
    version: int | str | None = None,
    tag: str | None = None,
    as_of: Time | None = None,
    between: tuple[int, int] | None = None,
) -> DataFrame:
    """A Spark frame over one version of a table.

    Spark cannot ask a Python source for fewer columns, so name the ones you need: the others are never decoded.

    Args:
        spark: The session.
        table: Name, directory, or table.
        columns: Columns, in this order; None for all.
        filter: Predicate in siltstone's SQL, evaluated exactly while reading.
        version: Snapshot id, or a tag's name.
        tag: Tag name.
        as_of: The latest snapshot at or before this time.
        between: Comes with changelogs in a later version.

    Raises:
        InvalidArgument: Unknown column or bad predicate; at once, not when the frame is used.
    """
    import pyarrow as pa

    if between is not None:
        raise UnsupportedFeature(
            "reading the changes between two versions is not supported by this version of siltstone"
        )
    t = table_of(spark, table)
    time = None if as_of is None else millis(as_of)
    scan = t.scan(columns, filter, version=version, tag=tag, as_of=time)
    reader = spark.read.format("siltstone").schema(spark_schema(pa.schema(scan)))
    given = {"filter": filter, "version": version, "tag": tag, "as-of": time}
    for key, value in {**_session_options(spark), **given}.items():
        if value is not None:
            reader = reader.option(key, str(value))
    return reader.load(t.path)


def _session_options(spark: SparkSession) -> dict[str, str]:
    import json

    stored = spark.conf.get(OPTIONS_CONF, None)
    return dict(json.loads(stored)) if stored else {}
