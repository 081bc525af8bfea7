"""Writing with rows clustered by bucket: one writer a bucket, one commit."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from siltstone._args import count, optional_text, shown
from siltstone.errors import InvalidArgument
from siltstone.procedures.naming import quoted
from siltstone.spark.assigning import messages_of
from siltstone.spark.session import table_of
from siltstone.spark.source_options import overwrite_target
from siltstone.spark.source_writer import write_batches
from siltstone.spark.types import changed_to_instants
from siltstone.system import writable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from siltstone import CommitReport, Table

_MODES = ("append", "upsert", "overwrite", "overwrite-partitions")
_DYNAMIC_CONF = "spark.sql.sources.partitionOverwriteMode"
_ROUTE = "__siltstone_route"


def write(
    df: DataFrame,
    table: str | Table,
    mode: str = "append",
    *,
    row_kind: str | None = None,
    parallelism: int | None = None,
    partition_overwrite: str | None = None,
) -> CommitReport:
    """Write a frame as one commit.

    Rows are first sent to the task that owns their (partition, bucket), so that each bucket has one writer; executors
    write the files; the driver commits once. Rows of a table with dynamic buckets go through other tasks first, which
    give each key its bucket (``dynamic-bucket.assigner-parallelism`` of them). A task that fails by itself leaves
    nothing behind in the table; files of tasks that had finished when the job failed, or whose process was killed,
    stay until :meth:`siltstone.maintenance.Maintenance.remove_orphan_files` deletes them.

    Args:
        df: Rows; columns are matched by name, ignoring case. A ``timestamp_ntz`` for a TIMESTAMP_LTZ column is a
            time of the session's zone.
        table: Name, directory, or table.
        mode: ``append`` or ``upsert`` add rows. ``overwrite`` replaces the table, or with ``partition_overwrite`` or
            Spark's ``spark.sql.sources.partitionOverwriteMode`` ``dynamic`` the partitions that occur in ``df``.
            ``overwrite-partitions`` always replaces the partitions that occur in ``df``.
        row_kind: ``"-D"`` deletes the rows' keys; None inserts or updates.
        parallelism: Writing tasks, at least one; default one a bucket, at most ``spark.sql.shuffle.partitions``, which
            is the default for tables with dynamic buckets.
        partition_overwrite: What ``overwrite`` replaces, whatever the session says: ``static`` the whole table,
            ``dynamic`` the partitions that occur in ``df``.

    Raises:
        InvalidArgument: Unknown mode, ``upsert`` on a table without primary key, or ``partition_overwrite`` with
            another mode than ``overwrite``.
        UnsupportedFeature: A system table, which is only read.
        CommitConflict: Another commit changed what this one relies on; nothing was committed.
    """
    if mode not in _MODES:
        raise InvalidArgument(f"mode {shown(mode)} is not one of {', '.join(_MODES)}")
    tasks = count("parallelism", parallelism, 1)
    spark = df.sparkSession
    t = writable(table_of(spark, table))
    if mode == "upsert" and not t.primary_key:
        raise InvalidArgument(f"{t.name} has no primary key: use mode='append'", context={"table": t.name})
    overwrite = _replaced(spark, mode, partition_overwrite)
    for name, kind in changed_to_instants(df.schema, t.schema).items():
        df = df.withColumn(name, df[quoted(name)].cast(kind))  # in the session's zone
    names = df.columns
    # pyspark finds columns by their bare names, and `a.b` would be a field of a struct
    frame = df.toDF(*_numbered(names))
    if t.bucket_mode == "dynamic":
        replaces = overwrite is not None
        messages = messages_of(frame, _numbered(names), names, t, tasks, row_kind, replaces=replaces)
        return t.commit(messages, overwrite=overwrite_target(overwrite))
    clustered = _cluster(frame, names, t, tasks)
    task = functools.partial(_write_task, t, names, row_kind, overwrite is not None, t.schema_id)
    collected = clustered.mapInArrow(task, "message binary").collect()
    messages = [bytes(row.message) for row in collected]
    return t.commit(messages, overwrite=overwrite_target(overwrite))


def _replaced(spark: SparkSession, mode: str, given: str | None) -> str | None:
    """What a mode replaces: ``full``, ``dynamic`` or None; what is given for the write wins over the session."""
    if optional_text("partition_overwrite", given) is not None and (
        mode != "overwrite" or str(given).lower() not in ("static", "dynamic")
    ):
        raise InvalidArgument(
            f"partition_overwrite={shown(given)} with mode='{mode}': it is 'static' or 'dynamic', "
            "and for mode='overwrite'"
        )
    if mode == "overwrite":
        how = given or spark.conf.get(_DYNAMIC_CONF, "static") or "static"
        return "dynamic" if how.lower() == "dynamic" else "full"
    return "dynamic" if mode == "overwrite-partitions" else None


def _numbered(names: list[str]) -> list[str]:
    """Names that mean the same everywhere, in the place of these."""
    return [f"c{at}" for at in range(len(names))]


def _cluster(df: DataFrame, names: list[str], t: Table, parallelism: int | None) -> DataFrame:
    """The frame, whose columns are numbered, with each (partition, bucket) in exactly one task."""
    if t.bucket_mode == "cross-partition":
        if parallelism not in (None, 1):
            raise InvalidArgument(
                f"parallelism={parallelism}: one task finds the bucket of each key of a table whose keys may move "
                "between partitions",
                hint="leave parallelism out, or create the table with a key that holds the partition columns",
                context={"table": t.name},
            )
        return df.repartition(1)
    keys = t.routing_columns
    if not keys:
        return df
    from pyspark.sql import functions as F  # noqa: N812  # Spark's convention

    numbered = {name.lower(): number for name, number in zip(names, _numbered(names), strict=True)}
    missing = [k for k in keys if k.lower() not in numbered]
    if missing:
        raise InvalidArgument(f"the frame lacks the column '{missing[0]}'", context={"table": t.name})
    n = parallelism or _default_parallelism(df, t)
    # a lambda, because Spark looks at annotations and takes no partial
    to_task = lambda *columns: _route(t, keys, n, *columns)  # noqa: E731
    route = F.arrow_udf(to_task, "int")  # type: ignore[attr-defined,unused-ignore]  # Spark lists it in no stub
    routed = df.withColumn(_ROUTE, route(*[df[numbered[k.lower()]] for k in keys]))
    return routed.repartitionById(n, _ROUTE).drop(_ROUTE)


def _default_parallelism(df: DataFrame, t: Table) -> int:
    shuffle = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
    buckets = int(t.options.get("bucket", "-1"))
    return max(1, shuffle if t.partition_by else min(shuffle, buckets))


def _route(t: Table, keys: list[str], n: int, *columns: pa.Array) -> pa.Array:
    """The task of each row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from siltstone.spark.values import from_spark

    batch = from_spark(pa.record_batch(list(columns), names=keys), t.schema)
    routes = pc.cast(t.routes(batch), pa.int64())
    return pc.cast(pc.subtract(routes, pc.multiply(pc.divide(routes, n), n)), pa.int32())


def _write_task(
    t: Table,
    names: list[str],
    row_kind: str | None,
    overwrite: bool,  # noqa: FBT001  # bound by partial
    schema_id: int,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    named = (batch.rename_columns(names) for batch in batches)
    messages: list[Any] = write_batches(t, t.dynamic_options, named, row_kind, overwrite=overwrite, schema_id=schema_id)
    yield pa.record_batch([pa.array(messages, pa.binary())], names=["message"])
