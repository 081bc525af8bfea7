"""Frames that read the version that is the latest when a query uses them: what temporary views are made of.

A relation of the data source does not: Spark plans it once, and keeps the splits with the plan of the view. So a first
task plans when the query runs, and the others read what it has found::

    one task: the latest version, its splits ─ by number ─▶ as many tasks as run at once: rows
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from siltstone.errors import UnsupportedFeature
from siltstone.inspection import SystemScan
from siltstone.spark.parallelism import packed, shuffle_partitions, slots
from siltstone.spark.reading import ScanRequest, columns_of
from siltstone.spark.relations import cheapest
from siltstone.spark.source_reader import scan_of
from siltstone.spark.types import arrow_for_spark, spark_schema
from siltstone.spark.values import to_spark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from siltstone import Table

_PLANNED = "slot int, token binary"


def following(request: ScanRequest, schema: pa.Schema) -> DataFrame:
    """A frame over the latest version of a table, whichever that is when a query runs.

    Args:
        request: What is read, of no version that is named.
        schema: The columns of the table.

    Raises:
        UnsupportedFeature: Columns that say where rows lie.
    """
    from pyspark.sql.types import StructField, StructType

    if request.query.get("places"):
        raise UnsupportedFeature(
            f"{request.query['places'][0]} in a temporary view is not supported in siltstone.spark.sql",
            hint="siltstone.spark.sql(spark, query).createOrReplaceTempView(name) makes a view of one version",
        )
    if request.columns is not None and not request.columns:
        request = request._replace(columns=[cheapest(schema)])
    spark, t, columns, condition, query = request
    asked = {**query, "filter": condition}
    fields = StructType([StructField(f.name, f.dataType) for f in spark_schema(columns_of(t, query, columns))])
    one = spark.range(0, 1, 1, 1)
    if isinstance(scan_of(t, columns, asked), SystemScan):
        return one.mapInArrow(functools.partial(_all_rows, t, columns, asked), fields)
    n = slots(spark) or shuffle_partitions(spark)
    planned = one.mapInArrow(functools.partial(_plan, t, columns, asked, n), _PLANNED)
    return planned.repartitionById(n, "slot").mapInArrow(_rows, fields)


def _plan(
    t: Table, columns: Sequence[str] | None, query: Mapping[str, Any], n: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The splits of the latest version, each with the number of its task."""
    import pyarrow as pa

    for batch in batches:
        for _ in range(batch.num_rows):
            groups = packed(t, scan_of(t, columns, query).splits(), n)
            found = [(at % n, split.to_bytes()) for at, group in enumerate(groups) for split in group]
            slot = pa.array([at for at, _ in found], pa.int32())
            yield pa.record_batch([slot, pa.array([token for _, token in found], pa.binary())], names=["slot", "token"])


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of splits."""
    from siltstone import Split

    for batch in batches:
        for token in batch.column("token").to_pylist():
            yield from _in_spark(Split(token).read())


def _all_rows(
    t: Table, columns: Sequence[str] | None, query: Mapping[str, Any], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The rows of a system table, which is read as a whole."""
    for batch in batches:
        for _ in range(batch.num_rows):
            yield from _in_spark(scan_of(t, columns, query).to_batches())


def _in_spark(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield to_spark(batch, arrow_for_spark(batch.schema))
