"""Rows of a table with dynamic buckets: some tasks give keys their buckets, others write the buckets.

::

    rows ─ by hash of the key ─▶ assigners: a bucket for each row ─ by partition and bucket ─▶ writers: files, index

Spark may run a task again when a machine is lost, and then a new key may get another bucket than in the first run. So
each run of an assigner ends with a mark for every writer, and rows are only committed when all writers have seen marks
of the same runs.
"""

from __future__ import annotations

import functools
import itertools
import json
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

from siltstone._leftovers import delete_leftovers
from siltstone.errors import CommitConflict, InvalidArgument, SiltstoneError
from siltstone.spark.jobs import RESULT, Job, messages_in, result
from siltstone.spark.parallelism import write_tasks
from siltstone.spark.source_writer import opened_in_task
from siltstone.spark.task_errors import collected
from siltstone.spark.values import from_spark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from siltstone import Table

_ROUTE, _BUCKET, _RUN = "__siltstone_route", "__siltstone_bucket", "__siltstone_run"
#: The bucket of a mark, which is no row.
_MARK = -1
_INITIAL = "dynamic-bucket.initial-buckets"


def messages_of(df: DataFrame, job: Job, tasks: int | None) -> list[bytes]:
    """What the writers of a frame have to commit, whose columns come under numbers.

    Raises:
        CommitConflict: Spark has run assigners again, and writers have rows of different runs.
    """
    from pyspark.sql import functions as F  # noqa: N812  # Spark's convention
    from pyspark.sql.types import IntegerType, StringType, StructField, StructType

    t = job.table
    writers = tasks or write_tasks(df.sparkSession, int(t.options.get(_INITIAL) or 1))
    shared = t.shared_writes.plan(writers, overwrite=job.replaces)
    channels = t.shared_writes.assigners(shared)
    keys = t.shared_writes.columns
    columns = {name.lower(): number for name, number in zip(job.names, job.numbered, strict=True)}
    missing = [key for key in keys if key.lower() not in columns]
    if missing:
        raise InvalidArgument(f"the frame lacks the column '{missing[0]}'", context={"table": t.name})
    # lambdas, because Spark looks at annotations and takes no partial
    to_assigner = lambda *values: _assigner_of(t, shared, keys, *values)  # noqa: E731
    route = F.arrow_udf(to_assigner, "int")  # type: ignore[attr-defined,unused-ignore]  # Spark lists it in no stub
    routed = df.withColumn(_ROUTE, route(*[df[columns[key.lower()]] for key in keys]))
    routed = routed.repartitionById(channels, _ROUTE).drop(_ROUTE)
    fields = [StructField(f.name, f.dataType, nullable=True) for f in df.schema.fields]
    more = [StructField(_BUCKET, IntegerType()), StructField(_ROUTE, IntegerType()), StructField(_RUN, StringType())]
    assign = functools.partial(_assign, t, shared, t.schema_id, keys, [columns[key.lower()] for key in keys], writers)
    assigned = routed.mapInArrow(assign, StructType([*fields, *more]))
    clustered = assigned.repartitionById(writers, _ROUTE).drop(_ROUTE)
    rows = collected(clustered.mapInArrow(functools.partial(_write, job, shared), f"{RESULT}, runs string"))
    messages = messages_in(rows, t)
    runs = {row.runs for row in rows if row.runs is not None}
    if len(runs) > 1:
        delete_leftovers(t, messages)
        raise CommitConflict(
            "Spark has run tasks again that give keys their buckets, and the files are of different runs",
            hint="write again: nothing was committed",
            context={"table": t.name},
        )
    return messages


def _assigner_of(t: Table, shared: str, keys: list[str], *columns: pa.Array) -> pa.Array:
    """The assigner of each row."""
    import pyarrow as pa

    batch = from_spark(pa.record_batch(list(columns), names=keys), t.schema)
    return t.shared_writes.assigner_of(shared, batch)


def _assign(
    t: Table,
    shared: str,
    schema_id: int,
    keys: list[str],
    key_columns: list[str],
    writers: int,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Rows with their buckets; after the last one a mark for each writer."""
    import pyarrow as pa
    import pyarrow.compute as pc

    run, assigner, schema = str(uuid.uuid4()), None, None
    for batch in batches:
        if assigner is None:
            opened = opened_in_task(t, t.dynamic_options, schema_id)
            assigner = opened.shared_writes.assigner(shared)
        rows = from_spark(pa.record_batch([batch.column(name) for name in key_columns], names=keys), t.schema)
        buckets, routes = assigner.assign(rows)
        number = routes.cast(pa.int64())
        writer = pc.subtract(number, pc.multiply(pc.divide(number, writers), writers)).cast(pa.int32())
        more = [buckets, writer, pa.nulls(len(batch), pa.string())]
        out = pa.record_batch([*batch.columns, *more], names=[*batch.schema.names, _BUCKET, _ROUTE, _RUN])
        schema = out.schema
        yield out
    if schema is not None:
        blanks = [pa.nulls(writers, kind) for kind in schema.types[:-3]]
        marks = [pa.array([_MARK] * writers, pa.int32()), pa.array(range(writers), pa.int32())]
        yield pa.record_batch([*blanks, *marks, pa.array([run] * writers)], names=schema.names)


def _write(job: Job, shared: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The messages of the buckets that came here, and the runs of assigners that the rows are of."""
    runs: set[str] = set()
    messages: list[bytes] = []
    failed: SiltstoneError | None = None
    writer = None
    try:
        for batch, buckets in _rows_with_buckets(batches, runs):
            if writer is None:
                opened = opened_in_task(job.table, job.table.dynamic_options, job.schema_id)
                writer = opened.shared_writes.writer(shared, overwrite=job.replaces)
            for rows, kind in _of_one_kind(job, batch.rename_columns(job.names), buckets):
                writer.write(rows, kind)
        if writer is not None:
            messages = writer.prepare_commit()
    except SiltstoneError as error:
        failed = error
    finally:
        if writer is not None:
            writer.close()
    yield result(messages, failed, runs=json.dumps(sorted(runs)) if runs else None)


def _rows_with_buckets(batches: Iterator[pa.RecordBatch], runs: set[str]) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
    """Rows without marks, and their buckets; the runs of assigners are added to a set."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for batch in batches:
        runs.update(pc.unique(batch.column(_RUN).drop_null()).to_pylist())
        rows = batch.filter(pc.not_equal(batch.column(_BUCKET), _MARK))
        if rows.num_rows:
            yield pa.record_batch(rows.columns[:-2], names=rows.schema.names[:-2]), rows.column(_BUCKET)


def _of_one_kind(job: Job, batch: pa.RecordBatch, buckets: pa.Array) -> Iterator[tuple[pa.RecordBatch, str | None]]:
    """Rows with their buckets, in their order, as many together as are of one kind."""
    import pyarrow as pa

    rows, kinds = job.rows(batch)
    given = pa.record_batch([*rows.columns, buckets], names=[*rows.schema.names, _BUCKET])
    if not isinstance(kinds, list):
        yield given, kinds
        return
    at = 0
    for kind, same in itertools.groupby(kinds):
        length = sum(1 for _ in same)
        yield given.slice(at, length), kind
        at += length
