"""Writing a table with dynamic buckets in several processes: some give keys their buckets, others write the buckets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Self

from siltstone._arrow import of_pyarrow
from siltstone._handle import Handle

if TYPE_CHECKING:
    import pyarrow as pa

    from siltstone import _core


class SharedWrites(Handle):
    """For engines that move rows between processes; :func:`siltstone.spark.write` uses it.

    A plan is text that travels. All assigners and writers of a job have the same one, so that all of them begin with
    the same index of keys.
    """

    def plan(self, tasks: int, *, overwrite: bool) -> str:
        """How a job writes the table as it is now.

        Args:
            tasks: How many assigners there are, where ``dynamic-bucket.assigner-parallelism`` does not say it.
            overwrite: The rows take the place of what is there.
        """
        return self._table.plan_shared_write(tasks, overwrite)

    @staticmethod
    def assigners(plan: str) -> int:
        """How many assigners a job has."""
        return int(json.loads(plan)["channels"])

    @property
    def columns(self) -> list[str]:
        """Those by which rows are assigned: partition columns and primary key."""
        return self._table.key_column_names

    def assigner_of(self, plan: str, rows: pa.RecordBatch) -> pa.Array:
        """The number of the assigner of each row."""
        from siltstone._pyarrow import pa

        return pa.array(self._table.assigners(plan, of_pyarrow(rows)), pa.int32())

    def assigner(self, plan: str) -> Assigner:
        """One of the assigners of a job."""
        return Assigner(self._table.row_assigner(plan))

    def writer(self, plan: str, *, overwrite: bool) -> GivenWriter:
        """One of the writers of a job."""
        return GivenWriter(
            self._table.writer(commit_user=None, memory_limit=None, spill_dir=None, overwrite=overwrite, shared=plan)
        )


class Assigner:
    """Gives keys their buckets."""

    def __init__(self, core: _core.RowAssigner) -> None:
        """Use :meth:`SharedWrites.assigner`."""
        self._core = core

    def assign(self, rows: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
        """The bucket of each row, and a number, not negative, that is equal for rows of one (partition, bucket)."""
        from siltstone._pyarrow import pa

        buckets, routes = self._core.assign(of_pyarrow(rows))
        return pa.array(buckets, pa.int32()), pa.array(routes, pa.int32())


class GivenWriter:
    """Writes rows to the buckets that they come with."""

    def __init__(self, core: _core.Writer) -> None:
        """Use :meth:`SharedWrites.writer`."""
        self._core = core

    def write(self, rows: pa.RecordBatch, row_kind: str | None) -> None:
        """Add rows, whose last column has their buckets."""
        self._core.write_given(of_pyarrow(rows), row_kind)

    def prepare_commit(self) -> list[bytes]:
        """What is to be committed, one message a bucket."""
        return self._core.prepare_commit()

    def close(self) -> None:
        """Delete what was not handed out."""
        self._core.close()

    def __enter__(self) -> Self:
        """The writer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
