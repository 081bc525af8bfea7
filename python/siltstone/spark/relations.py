"""What stands in the place of a table in a statement.

::

    few rows                                   the rows themselves, in the plan: joins broadcast them
    no column is needed, all rows are known    as many numbers
    few Parquet files whose rows are the rows  Spark's own Parquet reader
    everything else                            the data source

All of them give the same rows. The data source starts processes to plan and moves values from Python to the JVM; the
others are for what takes Spark less time than that. Only references to the version that is the latest come here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from siltstone.errors import UnsupportedFeature
from siltstone.spark.definition import fields_of
from siltstone.spark.metadata_columns import ONE_FILE, places
from siltstone.spark.parallelism import slots
from siltstone.spark.reading import ScanRequest, frame
from siltstone.spark.session import table_of
from siltstone.spark.source_reader import scan_of
from siltstone.spark.types import arrow_for_spark, spark_schema
from siltstone.spark.values import to_spark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from siltstone import Split, Table

#: Most rows in the files, and bytes in memory, of a table whose rows stand in the plan.
FEW_ROWS, FEW_BYTES = 10_000, 4 << 20
#: Most files that Spark is told by name: it looks more of them up by a job of its own.
FEW_FILES = 32
#: Most files of which the driver looks the numbers of rows up.
COUNTED_FILES = 10_000
#: Names that Spark's file sources take as they are: no patterns in them, nothing that makes a file hidden.
_PLAIN_PATH = re.compile(r"/(?:[\w.=%+@~-]+/)*[A-Za-z0-9][\w.=%+@~-]*\.parquet", re.ASCII)
#: Types whose values Spark reads from Parquet files as they are.
_SAME = re.compile(
    r"(?:BOOLEAN|TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DECIMAL|DATE|STRING|CHAR|VARCHAR|BYTES|BINARY|VARBINARY)\b"
)
#: Options of tables whose files do not have whole rows.
_OTHER_ROWS = ("data-evolution.enabled",)
_CASE_CONF = "spark.sql.caseSensitive"
#: Column of a relation of numbers; no statement names it.
_NUMBER = "__siltstone_number"


def relation(request: ScanRequest, schema: pa.Schema) -> DataFrame:
    """The relation that gives a table's rows soonest.

    Args:
        request: What the statement reads; its condition is what the statement asks of rows in any case, so that those
            without it may come, too.
        schema: The columns of the table.
    """
    only_counts = request.columns is not None and not request.columns
    if only_counts:
        request = request._replace(columns=[cheapest(schema)])
    if request.query.get("places"):
        return _with_places(request)
    quick = None if request.query.get("pinned") is None else _quick(request, only_counts=only_counts)
    return frame(request) if quick is None else quick


def _quick(request: ScanRequest, *, only_counts: bool) -> DataFrame | None:
    """A relation that needs no data source; None where the rows want one."""
    spark, t, columns, _, query = request
    held = _held(request) if has_few_rows(t, query["pinned"]) else None
    if held is not None:
        return held
    files = _live_files(t)
    if only_counts and files <= COUNTED_FILES:
        known = _known_rows(scan_of(t, columns, query).splits())
        if known is not None:
            return spark.range(0, known, 1, slots(spark) or 1).toDF(_NUMBER)
    return _plain_files(request) if files <= FEW_FILES else None


def _with_places(request: ScanRequest) -> DataFrame:
    """A relation with columns that say where rows lie; no row is left out, so that they are counted as they lie.

    Raises:
        UnsupportedFeature: All columns are read; or rows have no place.
    """
    spark, t, columns, _, query = request
    if columns is None:
        raise UnsupportedFeature(
            f"{query['places'][0]} beside columns that the statement does not name",
            hint="name the columns in the place of *",
            context={"table": t.name},
        )
    placed = table_of(spark, t, ONE_FILE)
    places(placed, scan_of(placed, columns, query), query, query["places"])  # what is refused is refused here
    return frame(request._replace(table=placed, condition=None))


def has_few_rows(t: Table, version: int | None = None) -> bool:
    """Whether a version of a table, the latest where none is named, has so few rows that the driver handles them."""
    snapshot = t.snapshot(version)
    return snapshot is not None and snapshot.total_rows is not None and snapshot.total_rows <= FEW_ROWS


def cheapest(schema: pa.Schema) -> str:
    """The column to count rows by."""
    import pyarrow as pa

    def width(field: pa.Field) -> int:
        return field.type.bit_width if pa.types.is_primitive(field.type) else 1 << 10  # more bits than any number has

    return str(min(schema, key=width).name)


def _held(request: ScanRequest) -> DataFrame | None:
    """A relation that has the rows in it; None where these are larger than they seemed."""
    import pyarrow as pa

    spark, t, columns, condition, query = request
    scan = scan_of(t, columns, {**query, "filter": condition})
    given = pa.schema(scan)
    schema = arrow_for_spark(given)
    found, room = [], FEW_BYTES
    for batch in scan.to_batches():
        found.append(to_spark(batch, schema))
        room -= batch.nbytes
        if room < 0:
            return None
    return spark.createDataFrame(pa.Table.from_batches(found, schema), spark_schema(given))


def _live_files(t: Table) -> int:
    """How many files the latest version has, from its manifest lists alone."""
    manifests = t.inspect("manifests", ["num_added_files", "num_deleted_files"]).to_arrow()
    added, deleted = (sum(column.to_pylist()) for column in manifests.columns)
    return int(added - deleted)


def _known_rows(splits: Sequence[Split]) -> int | None:
    """The rows of splits, where that is known without reading."""
    rows = [split.rows for split in splits]
    return sum(n for n in rows if n is not None) if None not in rows else None


def _plain_files(request: ScanRequest) -> DataFrame | None:
    """A relation of Spark's own over the files, where their rows are exactly those to be read, and all are on disks."""
    import pyarrow as pa

    spark, t, columns, condition, query = request
    if not t.location.startswith("/") or str(spark.conf.get(_CASE_CONF, "false")).lower() == "true":
        return None
    if any(t.options.get(key, "false").lower() == "true" for key in _OTHER_ROWS):
        return None
    scan = scan_of(t, columns, query)
    schema = pa.schema(scan)
    if not _is_same_in_spark(t, schema.names):
        return None
    entries = {entry["name"]: entry for entry in t.files(version=query["pinned"])}
    splits = scan.splits()
    if not splits or any(not _is_as_it_is(split, entries, t.schema_id) for split in splits):
        return None
    if condition is not None:  # fewer files of the same ones
        splits = scan_of(t, columns, {**query, "filter": condition}).splits()
    paths = [entries[name]["path"] for split in splits for name in split.files if name in entries]
    if not paths or len(paths) > FEW_FILES or not all(map(_PLAIN_PATH.fullmatch, paths)):
        return None
    reader = spark.read.schema(spark_schema(schema))
    exact = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false", "datetimeRebaseMode": "CORRECTED"}
    return reader.options(**exact).parquet(*(f"file://{path}" for path in paths))


def _is_as_it_is(split: Split, entries: Mapping[str, Any], schema_id: int) -> bool:
    """Whether the rows of a split are those of its files, under the table's schema: nothing is merged or deleted."""
    found = [entries[name] for name in split.files if name in entries]
    known = [e for e in found if e["schema_id"] == schema_id and e["deleted_rows"] in (None, 0)]
    return len(known) == len(split.files) and split.rows == sum(e["rows"] for e in known)


def _is_same_in_spark(t: Table, columns: Sequence[str]) -> bool:
    """Whether Spark reads columns from files as siltstone does: not so times and nested types, nor JSON and BLOBs."""
    types = {field["name"]: str(field["type"]) for field in fields_of(t)}
    folded = {name.lower() for name in types}
    return len(folded) == len(types) and all(_SAME.match(types[name]) for name in columns)
