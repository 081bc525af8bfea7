"""A scan as a source of Ray Data, and a table as its sink."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from ray.data import Datasink, Datasource, ReadTask
from ray.data.block import BlockAccessor, BlockMetadata

from siltstone._bridge import WriteJob, Written
from siltstone._dataset import columns_needed
from siltstone._pushed import of_same_kinds
from siltstone._substrait import condition_of
from siltstone.report import CommitReport
from siltstone.scan import Scan
from siltstone.split import Split

#: Bytes in memory of a byte of a file, about.
_UNPACKED = 4


class SplitSource(Datasource):  # type: ignore[misc, unused-ignore]  # Ray is not everywhere
    """The splits of a scan. Columns and conditions go into it; conditions are looked at again, row by row."""

    def __init__(self, scan: Scan) -> None:
        """Use :func:`siltstone.ray.read`."""
        super().__init__()
        self._projection_map: dict[str, str] | None = None
        self._predicate_expr: Any = None
        self._scan = scan

    def get_name(self) -> str:
        """What the tasks are called."""
        return "Siltstone"

    def supports_projection_pushdown(self) -> bool:
        """Columns that are not asked for are not read."""
        return True

    def supports_predicate_pushdown(self) -> bool:
        """Files that cannot hold such rows are not read."""
        return True

    def estimate_inmemory_data_size(self) -> int | None:
        """Of the files four times their size; None for a scan with a limit."""
        splits = self._splits()
        return None if splits is None else _UNPACKED * sum(split.bytes for split in splits)

    def get_read_tasks(
        self,
        parallelism: int,
        per_task_row_limit: int | None = None,
        data_context: Any = None,  # noqa: ARG002
    ) -> list[ReadTask]:
        """One task for each of at most ``parallelism`` groups of splits, of about the same size."""
        predicate = None if self._predicate_expr is None else self._predicate_expr.to_pyarrow()
        names = None if self._projection_map is None else list(self._projection_map)
        scan = self._narrowed(names, predicate)
        kept = names or (None if names is None else pa.schema(scan).names[:1])
        splits = self._splits(scan)
        if splits is None:
            read = _Read([scan], kept, predicate)
            return [ReadTask(read, BlockMetadata(None, None, None, None), None, per_task_row_limit)]
        return [
            ReadTask(_Read(group, kept, predicate), _metadata(group, predicate), None, per_task_row_limit)
            for group in _groups(splits, parallelism)
        ]

    def _splits(self, scan: Scan | None = None) -> list[Split] | None:
        asked = self._scan if scan is None else scan
        return None if asked.request.get("limit") is not None else asked.splits()

    def _narrowed(self, names: list[str] | None, predicate: Any) -> Scan:
        schema, scan = pa.schema(self._scan), self._scan
        if predicate is not None:
            scan = scan.narrowed(condition=of_same_kinds(condition_of(predicate, schema), schema))
        needed = columns_needed(schema, names, predicate)
        return scan if needed is None else scan.narrowed(columns=needed)


class _Read:
    """What a task reads: its blocks."""

    def __init__(self, parts: list[Any], names: list[str] | None, predicate: Any) -> None:
        self._parts, self._names, self._predicate = parts, names, predicate

    def __call__(self) -> Iterator[pa.Table]:
        for part in self._parts:
            for batch in part.to_batches() if isinstance(part, Scan) else part.read():
                rows = pa.Table.from_batches([batch])
                rows = rows if self._predicate is None else rows.filter(self._predicate)
                yield rows if self._names is None else rows.select(self._names)


def _metadata(group: list[Split], predicate: Any) -> BlockMetadata:
    rows = [split.rows for split in group]
    known = None if predicate is not None or None in rows else sum(n for n in rows if n is not None)
    return BlockMetadata(known, _UNPACKED * sum(split.bytes for split in group), None, None)


def _groups(splits: list[Split], parallelism: int) -> list[list[Split]]:
    """Splits in at most so many groups, the largest first into the one with the least bytes."""
    groups: list[list[Split]] = [[] for _ in range(max(1, min(parallelism, len(splits))))]
    load = [0] * len(groups)
    for split in sorted(splits, key=lambda s: -s.bytes):
        at = load.index(min(load))
        groups[at].append(split)
        load[at] += split.bytes + 1
    return [group for group in groups if group]


class TableSink(Datasink):  # type: ignore[misc, unused-ignore]
    """A table that any task may write to: tasks write files, the driver commits once."""

    def __init__(self, job: WriteJob) -> None:
        """Use :func:`siltstone.ray.write`."""
        super().__init__()
        self._job = job
        self.report: CommitReport | None = None

    def get_name(self) -> str:
        """What the tasks are called."""
        return "Siltstone"

    def write(self, blocks: Iterable[Any], ctx: Any) -> Written:  # noqa: ARG002  # Ray's signature
        """Write blocks inside a task."""
        return self._job.write(BlockAccessor.for_block(block).to_arrow() for block in blocks)

    def on_write_complete(self, write_result: Any) -> None:
        """Commit what all tasks wrote."""
        self.report = self._job.commit(write_result.write_returns)
