"""Columns that say where a row lies: ``__paimon_file_path``, ``__paimon_row_index``, ``__paimon_bucket`` and more.

They are columns of files, not of tables: a statement that names one gets it, ``*`` stands for none. Rows that are
merged from several files have no place, and rows behind deletion vectors no number that the metadata tell.

Source: ``PaimonMetadataColumn``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from siltstone.errors import UnsupportedFeature
from siltstone.spark.types import arrow_for_spark, spark_schema
from siltstone.spark.values import to_spark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from siltstone import Scan, Split, Table

PATH, INDEX, BUCKET, PARTITION = "__paimon_file_path", "__paimon_row_index", "__paimon_bucket", "__paimon_partition"
NAMES = (PATH, INDEX, BUCKET, PARTITION)
#: A file a split.
ONE_FILE = {"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b"}


@dataclass(frozen=True)
class Place:
    """Where the rows of a split lie.

    Attributes:
        path: The file; None where rows of several files are merged.
        bucket: The bucket.
    """

    path: str | None
    bucket: int


def named_for(node: Any, table: Table) -> list[str]:
    """The columns that a statement names of a table in its tree, and the table does not have itself."""
    from sqlglot import exp

    own = {name.lower() for name in table.schema.names}
    mine, named = node.alias_or_name.lower(), set()
    for column in node.root().find_all(exp.Column):
        parts = [part.name.lower() for part in column.parts]
        at = next((at for at, part in enumerate(parts) if part in NAMES), 0)
        if not at or parts[at - 1] == mine:
            named.add(parts[at])
    return [name for name in NAMES if name in named and name not in own]


def places(table: Table, scan: Scan, query: Mapping[str, Any], columns: Sequence[str]) -> list[tuple[Split, Place]]:
    """The splits of a scan of one file each, and where their rows lie.

    Raises:
        UnsupportedFeature: Rows have no place, and it is asked for.
    """
    splits = scan.splits()
    if not splits:
        return []
    entries = {entry["name"]: entry for entry in table.files(version=version_of(query))}
    found = []
    for split in splits:
        files = [entries[name] for name in split.files]
        whole = split.rows is not None and len(files) == 1
        if not whole and PATH in columns:
            raise _no_place(table, PATH, "rows are merged from several files", "compact the table fully first")
        if INDEX in columns and split.rows != files[0]["rows"]:
            raise _no_place(
                table, INDEX, "rows are merged, or behind deletion vectors", "compact the table fully first"
            )
        found.append((split, Place(files[0]["path"] if whole else None, files[0]["bucket"])))
    return found


def version_of(query: Mapping[str, Any]) -> int:
    """The snapshot that is read.

    Raises:
        UnsupportedFeature: It is not named by its number.
    """
    found = query.get("pinned") or query.get("version")
    if not isinstance(found, int):
        raise UnsupportedFeature(
            f"columns such as {PATH} of a version that is not named by the number of its snapshot",
            hint="write VERSION AS OF and the number, which db.t$tags and db.t$snapshots have",
        )
    return found


def _no_place(table: Table, column: str, why: str, hint: str) -> UnsupportedFeature:
    return UnsupportedFeature(f"{column} of {table.name}: {why}", hint=hint, context={"table": table.name})


def with_places(schema: StructType, table: Table, columns: Sequence[str]) -> StructType:
    """A schema with these columns behind the others."""
    from pyspark.sql import types as st

    kinds: dict[str, Any] = {
        PATH: st.StringType(),
        INDEX: st.LongType(),
        BUCKET: st.IntegerType(),
        PARTITION: st.StructType(
            [f for name in table.partition_by for f in spark_schema(table.schema) if f.name == name]
        ),
    }
    return st.StructType([*schema.fields, *(st.StructField(name, kinds[name]) for name in columns)])


def placed_batches(
    splits: Sequence[tuple[Split, Place]], names: Sequence[str], partition_by: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The rows of splits with the columns of these names, which may be those of places."""
    import pyarrow as pa

    for split, place in splits:
        start = 0
        for batch in split.read():
            rows = to_spark(batch, arrow_for_spark(batch.schema))
            made = _columns(rows, place, start, partition_by)
            fields = [rows.schema.field(n) if n in rows.schema.names else pa.field(n, made[n].type) for n in names]
            yield pa.RecordBatch.from_arrays(
                [rows.column(n) if n in rows.schema.names else made[n] for n in names], schema=pa.schema(fields)
            )
            start += len(rows)


def _columns(rows: pa.RecordBatch, place: Place, start: int, partition_by: Sequence[str]) -> Mapping[str, pa.Array]:
    import pyarrow as pa

    of_partition = [rows.schema.field(name) for name in partition_by]
    struct: Any = pa.StructArray.from_arrays([rows.column(f.name) for f in of_partition], fields=of_partition)
    if not of_partition:
        struct = pa.array([{}] * len(rows), pa.struct([]))
    return {
        PATH: pa.repeat(pa.scalar(place.path, pa.string()), len(rows)),
        INDEX: pa.array(range(start, start + len(rows)), pa.int64()),
        BUCKET: pa.repeat(pa.scalar(place.bucket, pa.int32()), len(rows)),
        PARTITION: struct,
    }
