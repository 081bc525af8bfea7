"""Reading with pruned columns and an exact filter, whatever Spark pushes down."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from siltstone._args import Time, millis, text
from siltstone._spellings import hinted, known_as
from siltstone.errors import InvalidArgument
from siltstone.predicate import Expression
from siltstone.procedures.naming import has_database, plain_name
from siltstone.spark.metadata_columns import with_places
from siltstone.spark.parallelism import slots
from siltstone.spark.session import ASKED, current_database, table_of
from siltstone.spark.source_reader import scan_of
from siltstone.spark.types import spark_schema
from siltstone.system import SystemTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from siltstone import Table

#: Options that say which version is read, or bring rows of another branch.
_VERSIONS = ("scan.", "incremental-")
_NO_ROWS = {"op": "false"}


class ScanRequest(NamedTuple):
    """What is read of one table, and in which session."""

    spark: SparkSession
    table: Table
    columns: Sequence[str] | None
    """In this order; None for all, an empty list where only the number of rows counts."""
    condition: Expression | None
    """What rows must satisfy."""
    query: Mapping[str, Any]
    """The version, as :func:`siltstone.spark.source_reader.scan_of` takes it."""


@hinted
@known_as(
    **dict.fromkeys(("snapshot_id", "snapshot", "version_as_of", "versionAsOf"), "version=..."),
    **dict.fromkeys(("timestamp", "timestamp_as_of", "timestampAsOf", "timestamp_millis"), "as_of=..."),
    **dict.fromkeys(("tag_name", "tagName"), "tag=..."),
    **dict.fromkeys(("where", "predicate", "condition"), "filter=..."),
    **dict.fromkeys(("select", "projection"), "columns=..."),
    limit=".limit(n) of the frame",
    warehouse="siltstone.spark.enable(spark, warehouse=...)",
)
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
    """A Spark frame over one version of a table: the one that is the latest now, unless another one is named.

    Spark cannot ask a Python source for fewer columns, so name the ones you need: the others are never decoded.

    Args:
        spark: The session.
        table: Name, directory, or table.
        columns: Columns, in this order; None for all.
        filter: Predicate in siltstone's SQL, evaluated exactly while reading.
        version: Snapshot id, or a text: a tag's name, else a snapshot id.
        tag: Tag name.
        as_of: The latest snapshot at or before this time. A text without a zone is in UTC, whatever the session's zone,
            by which ``TIMESTAMP AS OF`` goes.
        between: Changes after one version up to another: two snapshot ids or two tags. Rows that were deleted or
            replaced are left out; ``db.table$audit_log`` has them, with their kinds.
        mode: How to read ``between``; see :meth:`siltstone.Table.scan`.
        options: Dynamic table options such as ``scan.tag-name``, on top of the session's and the table's own.

    Raises:
        InvalidArgument: Unknown column or bad predicate; at once, not when the frame is used.
    """
    if type(filter).__module__.partition(".")[0] == "pyspark":
        raise InvalidArgument(
            "filter is a Column of Spark", hint="write it as a text, or give it to .where(...) of the frame"
        )
    t = table_of(spark, table, options)
    time = None if as_of is None else millis(as_of)
    query = {"version": version, "tag": tag, "as_of": time, "between": between, "mode": mode}
    condition = None if filter is None else Expression({"op": "sql", "text": str(filter)})
    return frame(ScanRequest(spark, t, columns, condition, query | {"pinned": latest(t, query)}))


@hinted
@known_as(
    **{
        name: f"siltstone.spark.read(spark, name, {name}=...)"
        for name in ("columns", "filter", "version", "tag", "as_of")
    }
)
def table(spark: SparkSession, name: str) -> DataFrame:
    """All rows and columns of a table, as ``spark.table`` gives them of Spark's own.

    Args:
        spark: The session.
        name: ``db.t``, ``db.t$snapshots`` and the like; without a database a table of the session's current one.

    Example:
        >>> from siltstone import spark as ss
        >>> ss.table(spark, "shop.orders").groupBy("dt").count()  # doctest: +SKIP
    """
    plain = plain_name(text("name", name))
    return read(spark, plain if has_database(name) else f"{current_database(spark)}.{plain}")


def latest(t: Table, query: Mapping[str, Any]) -> int | None:
    """The snapshot that a frame over the latest version is of; None where it is of another version, or of several."""
    named = any(query.get(key) is not None for key in ("version", "tag", "as_of", "between"))
    if named or isinstance(t, SystemTable) or any(key.startswith(_VERSIONS) for key in t.options):
        return None
    snapshot = t.snapshot()
    return None if snapshot is None else snapshot.id


def columns_of(t: Table, query: Mapping[str, Any], columns: Sequence[str] | None = None) -> pa.Schema:
    """The columns of a read, without a look at the files."""
    import pyarrow as pa

    return pa.schema(scan_of(t, columns, {**query, "filter": Expression(_NO_ROWS)}))


def frame(request: ScanRequest) -> DataFrame:
    """A frame over a table, in a relation of its own."""
    import pyarrow as pa

    spark, t, columns, condition, query = request
    checked = _NO_ROWS if condition is None else {"op": "and", "args": [condition.tree, _NO_ROWS]}
    schema = pa.schema(scan_of(t, columns, {**query, "filter": Expression(checked)}))
    wanted = spark_schema(schema)
    if query.get("places"):
        wanted = with_places(wanted, t, query["places"])
    asked = {
        "query": {**query, "filter": None if condition is None else condition.tree},
        "options": t.dynamic_options,
        "tasks": slots(spark),
    }
    # as one text: Spark writes keys of options in small letters, and a comma in a tag's name is no separator
    reader = spark.read.format("siltstone").schema(wanted)
    return reader.option(ASKED, json.dumps(asked)).load(t.path)
