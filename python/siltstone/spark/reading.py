"""Reading with pruned columns and an exact filter, whatever Spark pushes down."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from siltstone._args import Time, millis
from siltstone.spark.session import ASKED, table_of
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
    between: tuple[int, int] | tuple[str, str] | None = None,
    mode: str | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """A Spark frame over one version of a table.

    Spark cannot ask a Python source for fewer columns, so name the ones you need: the others are never decoded.

    Args:
        spark: The session.
        table: Name, directory, or table.
        columns: Columns, in this order; None for all.
        filter: Predicate in siltstone's SQL, evaluated exactly while reading.
        version: Snapshot id, or a text: a tag's name, else a snapshot id.
        tag: Tag name.
        as_of: The latest snapshot at or before this time.
        between: Changes after one version up to another: two snapshot ids or two tags. Rows that were deleted or
            replaced are left out; ``db.table$audit_log`` has them, with their kinds.
        mode: How to read ``between``; see :meth:`siltstone.Table.scan`.
        options: Dynamic table options such as ``scan.tag-name``, on top of the session's and the table's own.

    Raises:
        InvalidArgument: Unknown column or bad predicate; at once, not when the frame is used.
    """
    import pyarrow as pa

    t = table_of(spark, table, options)
    time = None if as_of is None else millis(as_of)
    scan = t.scan(columns, filter, version=version, tag=tag, as_of=time, between=between, mode=mode)
    reader = spark.read.format("siltstone").schema(spark_schema(pa.schema(scan)))
    query = {"version": version, "tag": tag, "as_of": time, "between": between, "mode": mode}
    query["filter"] = None if filter is None else str(filter)
    # as one text: Spark writes keys of options in small letters, and a comma in a tag's name is no separator
    return reader.option(ASKED, json.dumps({"query": query, "options": t.dynamic_options})).load(t.path)
