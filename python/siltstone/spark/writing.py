"""Writing with rows clustered by bucket: one writer a bucket, one commit."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from siltstone._args import count, optional_text, shown
from siltstone._leftovers import delete_leftovers
from siltstone._spellings import hinted, known_as
from siltstone.errors import InvalidArgument, TableNotFound
from siltstone.procedures.naming import quoted
from siltstone.spark.assigning import messages_of
from siltstone.spark.jobs import RESULT, Job, check_frame, in_instants, numbered, result, results, written
from siltstone.spark.merging_schemas import merge_schema as merged
from siltstone.spark.parallelism import shuffle_partitions, write_tasks
from siltstone.spark.session import refuse_settings_of_writes, table_of
from siltstone.spark.source_options import overwrite_target
from siltstone.spark.task_errors import arrow_of
from siltstone.system import writable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from siltstone import CommitReport, Table

_MODES = ("append", "upsert", "overwrite", "overwrite-partitions")
_DYNAMIC_CONF = "spark.sql.sources.partitionOverwriteMode"
_ROUTE = "__siltstone_route"


@hinted
@known_as(
    format="nothing: the table has its format",
    partition_by="nothing: the table has its partitions",
    partitionBy="nothing: the table has its partitions",
    overwrite="mode='overwrite'",
    mergeSchema="merge_schema=True",
    replaceWhere="mode='overwrite', partition=...",
    partitions="partition=...",
)
def write(  # noqa: PLR0913  # one argument for each part of a write
    df: DataFrame,
    table: str | Table,
    mode: str = "append",
    *,
    row_kind: str | None = None,
    row_kind_column: str | None = None,
    partition: Mapping[str, Any] | None = None,
    merge_schema: bool = False,
    parallelism: int | None = None,
    partition_overwrite: str | None = None,
    commit_user: str | None = None,
    identifier: int | None = None,
) -> CommitReport:
    """Write a frame as one commit.

    Rows are first sent to the task that owns their (partition, bucket), so that each bucket has one writer; executors
    write the files; the driver commits once. Rows of a table with dynamic buckets go through other tasks first, which
    give each key its bucket (``dynamic-bucket.assigner-parallelism`` of them). The frame's columns are compared with
    the table's before a job starts. Where rows cannot be written nothing is committed, and the files of all tasks are
    deleted; only those of tasks whose process was killed, or of a job that Spark itself gave up, stay until
    :meth:`siltstone.maintenance.Maintenance.remove_orphan_files` deletes them.

    Args:
        df: Rows; columns are matched by name, ignoring case. A ``timestamp_ntz`` for a TIMESTAMP_LTZ column is a
            time of the session's zone.
        table: Name, directory, or table.
        mode: ``append`` or ``upsert`` add rows. ``overwrite`` replaces the table, or with ``partition_overwrite`` or
            Spark's ``spark.sql.sources.partitionOverwriteMode`` ``dynamic`` the partitions that occur in ``df``.
            ``overwrite-partitions`` always replaces the partitions that occur in ``df``.
        row_kind: ``"-D"`` deletes the rows' keys; None inserts or updates.
        row_kind_column: Column of ``df`` with the kind of each row (``+I``, ``-U``, ``+U``, ``-D``); it is not written.
        partition: With ``overwrite``: replace these partitions, whether rows come for them or not; a partial spec is
            fine. All rows must belong to them.
        merge_schema: Add columns of ``df`` that the table lacks, and make columns of numbers as wide as those of
            ``df``, before the rows are written.
        parallelism: Writing tasks, at least one. By default one a bucket, at most ``spark.sql.shuffle.partitions``; of
            tables with partitions or dynamic buckets as many as ``spark.sql.shuffle.partitions`` says, and where nobody
            has set it two for each task that runs at once, where the session says how many these are.
        partition_overwrite: What ``overwrite`` replaces, whatever the session says: ``static`` the whole table, or all
            of ``partition``; ``dynamic`` the partitions that occur in ``df``.
        commit_user: User of the commit; a new one when None.
        identifier: Number of the commit, with ``commit_user``: one that the user has committed before is not written
            again. In ``foreachBatch`` the batch's id makes a stream exactly-once.

    Raises:
        InvalidArgument: Unknown mode, ``upsert`` on a table without primary key, or arguments that do not fit the mode.
        SchemaMismatch: Columns, or their types, do not fit the table.
        UnsupportedFeature: A system table, which is only read.
        CommitConflict: Another commit changed what this one relies on; nothing was committed.
    """
    if mode not in _MODES:
        raise InvalidArgument(f"mode {shown(mode)} is not one of {', '.join(_MODES)}")
    tasks, number = count("parallelism", parallelism, 1), count("identifier", identifier, -(2**63))
    user = optional_text("commit_user", commit_user)
    if number is not None and user is None:
        raise InvalidArgument("identifier needs commit_user: numbers of commits are counted for each user")
    if row_kind is not None and row_kind_column is not None:
        raise InvalidArgument("give row_kind or row_kind_column, not both")
    spark = df.sparkSession
    t = _target(spark, table, mode)
    if not merge_schema and row_kind is None:
        refuse_settings_of_writes(spark, t)
    overwrite = _overwrite(t, spark, mode, partition_overwrite, partition)
    kinds = optional_text("row_kind_column", row_kind_column)
    if merge_schema:
        merged(df.drop(quoted(kinds)).schema if kinds else df.schema, t)
    df = in_instants(df, t)
    check_frame(df.schema, t, kinds)
    job = Job(t, df.columns, row_kind, kinds, overwrite is not None, t.schema_id)
    # pyspark finds columns by their bare names, and `a.b` would be a field of a struct
    frame = df.toDF(*job.numbered)
    if t.bucket_mode == "dynamic":
        messages = messages_of(frame, job, tasks)
    else:
        clustered = _cluster(frame, job.names, t, tasks)
        messages = results(clustered.mapInArrow(functools.partial(_write_task, job), RESULT), t)
    report = t.commit(messages, overwrite=overwrite, commit_user=user, identifier=number)
    if report.already_committed:
        delete_leftovers(t, messages)
    return report


def write_here(
    df: DataFrame,
    t: Table,
    mode: str,
    *,
    partition: Mapping[str, Any] | None = None,
    row_kind: str | None = None,
) -> CommitReport:
    """Write a frame of few rows as one commit, in this process: a job would take longer to start than to write them."""
    overwrite = _overwrite(t, df.sparkSession, mode, None, partition)
    if row_kind is None:
        refuse_settings_of_writes(df.sparkSession, t)
    df = in_instants(df, t)
    check_frame(df.schema, t, None)
    job = Job(t, df.columns, row_kind, None, overwrite is not None, t.schema_id)
    batches = arrow_of(df.toDF(*job.numbered)).to_batches()
    messages, error = written(job, (batch.rename_columns(job.names) for batch in batches))
    if error is not None:
        raise error
    return t.commit(messages, overwrite=overwrite)


def _target(spark: SparkSession, table: str | Table, mode: str) -> Table:
    """The table that is written."""
    try:
        t = writable(table_of(spark, table))
    except TableNotFound as e:
        made = (
            "CREATE TABLE ... AS SELECT in siltstone.spark.sql, or the catalog's create_table(name, frame), makes one"
        )
        raise TableNotFound(e.message, hint=f"{e.hint}; {made}" if e.hint else made, context=e.context) from None
    if mode == "upsert" and not t.primary_key:
        raise InvalidArgument(f"{t.name} has no primary key: use mode='append'", context={"table": t.name})
    return t


def replaces_found(spark: SparkSession, t: Table, static: Mapping[str, Any]) -> bool:
    """Whether an overwrite replaces the partitions that occur in its rows, which all have these values.

    As in Spark, not where the values name the whole partition.
    """
    return len(static) < len(t.partition_by) and _replaced(spark, "overwrite", None) == "dynamic"


def _overwrite(
    t: Table, spark: SparkSession, mode: str, how: str | None, partition: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """The ``overwrite`` argument of the commit."""
    replaced = _replaced(spark, mode, how)
    if partition is None:
        return overwrite_target(replaced)
    if mode != "overwrite":
        raise InvalidArgument(f"partition={shown(partition)} with mode={shown(mode)}: it is for mode='overwrite'")
    if replaced == "dynamic" and len(partition) < len(t.partition_by):
        raise InvalidArgument(
            f"partition={shown(partition)} names many partitions, and a dynamic overwrite replaces those of the rows",
            hint="leave partition= out, or give partition_overwrite='static'",
        )
    return {"partition": dict(partition)}


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

    by_name = {name.lower(): number for name, number in zip(names, numbered(names), strict=True)}
    missing = [k for k in keys if k.lower() not in by_name]
    if missing:
        raise InvalidArgument(f"the frame lacks the column '{missing[0]}'", context={"table": t.name})
    n = parallelism or _default_parallelism(df.sparkSession, t)
    # a lambda, because Spark looks at annotations and takes no partial
    to_task = lambda *columns: _route(t, keys, n, *columns)  # noqa: E731
    route = F.arrow_udf(to_task, "int")  # type: ignore[attr-defined,unused-ignore]  # Spark lists it in no stub
    routed = df.withColumn(_ROUTE, route(*[df[by_name[k.lower()]] for k in keys]))
    return routed.repartitionById(n, _ROUTE).drop(_ROUTE)


def _default_parallelism(spark: SparkSession, t: Table) -> int:
    buckets = int(t.options.get("bucket", "-1"))
    return max(1, write_tasks(spark) if t.partition_by else min(shuffle_partitions(spark), buckets))


def _route(t: Table, keys: list[str], n: int, *columns: pa.Array) -> pa.Array:
    """The task of each row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from siltstone.spark.values import from_spark

    batch = from_spark(pa.record_batch(list(columns), names=keys), t.schema)
    routes = pc.cast(t.routes(batch), pa.int64())
    return pc.cast(pc.subtract(routes, pc.multiply(pc.divide(routes, n), n)), pa.int32())


def _write_task(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    messages, error = written(job, (batch.rename_columns(job.names) for batch in batches))
    yield result(messages, error)
