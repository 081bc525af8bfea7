"""The reader of the data source: one partition a split, which travels as its token."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from siltstone.inspection import SystemScan
from siltstone.spark.filters import to_expression
from siltstone.spark.metadata_columns import PARTITION, Place, placed_batches, places
from siltstone.spark.parallelism import packed
from siltstone.spark.types import arrow_for_spark
from siltstone.spark.values import to_spark

if TYPE_CHECKING:
    import pyarrow as pa

    from siltstone import Expression, Scan, Table


@dataclasses.dataclass
class TokenPartition(InputPartition):
    """The splits of a task, as their tokens."""

    tokens: list[bytes]


@dataclasses.dataclass
class PlacedPartition(InputPartition):
    """The splits of a task as their tokens, and where their rows lie."""

    splits: list[tuple[bytes, Place]]


@dataclasses.dataclass
class ScanPartition(InputPartition):
    """A scan that is read as a whole: a system table."""

    scan: Scan


def scan_of(table: Table, columns: Sequence[str] | None, query: Mapping[str, Any]) -> Scan:
    """A scan by the arguments of :meth:`siltstone.Table.scan`; ``pinned`` is the snapshot that was the latest."""
    arguments = {key: value for key, value in query.items() if key not in ("pinned", "places")}
    scan = table.scan(columns, **arguments)
    pinned = query.get("pinned")
    return scan if pinned is None else scan.pinned(pinned)


class Reader(DataSourceReader):
    """Reads splits as Arrow batches."""

    def __init__(self, table: Table, columns: list[str], query: dict[str, Any], tasks: int | None = None) -> None:
        """Keep what planning needs; ``tasks`` is how many run at once."""
        self.table = table
        self.names = columns
        self.places = [name for name in columns if name in query.get("places", ())]
        self.partition_by = table.partition_by if PARTITION in self.places else []
        plain = [name for name in columns if name not in self.places]
        self.columns = [*plain, *(name for name in self.partition_by if name not in plain)] or table.schema.names[:1]
        self.query = query
        self.tasks = tasks
        self.pushed: Expression | None = None

    def partitions(self) -> Sequence[InputPartition]:
        """One partition a task, planned once."""
        scan = scan_of(self.table, self.columns, self.query)
        if self.pushed is not None:
            scan = scan.narrowed(condition=self.pushed.tree)
        if isinstance(scan, SystemScan):
            return [ScanPartition(scan)]
        if self.places:
            return self._placed(scan)
        groups = packed(self.table, scan.splits(), self.tasks)
        return [TokenPartition([split.to_bytes() for split in group]) for group in groups]

    def _placed(self, scan: Scan) -> Sequence[InputPartition]:
        found = dict(places(self.table, scan, self.query, self.places))
        groups = packed(self.table, list(found), self.tasks)
        return [PlacedPartition([(split.to_bytes(), found[split]) for split in group]) for group in groups]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The batches of a task's splits, in Spark's types."""
        from siltstone import Split

        if isinstance(partition, PlacedPartition):
            splits = [(Split(token), place) for token, place in partition.splits]
            yield from placed_batches(splits, self.names, self.partition_by)
            return
        if isinstance(partition, ScanPartition):
            batches = partition.scan.to_batches()
        elif isinstance(partition, TokenPartition):
            batches = itertools.chain.from_iterable(Split(token).read() for token in partition.tokens)
        else:  # Spark reads an empty list of partitions as one empty partition
            return
        schema: pa.Schema | None = None
        for batch in batches:
            schema = schema or arrow_for_spark(batch.schema)
            yield to_spark(batch, schema)


class PushdownReader(Reader):
    """A reader that takes Spark's filters; only used on request (see :class:`SiltstoneSource`)."""

    def pushFilters(self, filters: list[Any]) -> Iterator[Any]:  # noqa: N802  # Spark's name
        """Use what we can to skip files and rows; Spark checks all of them once more."""
        import pyarrow as pa

        self.pushed = to_expression(filters, pa.schema(scan_of(self.table, self.columns, self.query)))
        yield from filters
