"""Writing a table with dynamic buckets in several processes: some give keys their buckets, others write the buckets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from siltstone._args import count, flag, optional_text, shown, text
from siltstone._arrow import of_pyarrow
from siltstone._handle import Handle, handed_out
from siltstone.errors import InvalidArgument

if TYPE_CHECKING:
    import pyarrow as pa

    from siltstone import _core


#: Numbers of assigners are 32 bits wide.
_MOST_TASKS = 2**31 - 1
_PLAN = "give what t.shared_writes.plan(tasks, overwrite=False) returned"


def _batch(rows: Any) -> Any:
    """Rows of an argument.

    Raises:
        InvalidArgument: No batch of pyarrow.
    """
    from siltstone._pyarrow import pa

    if not isinstance(rows, (pa.RecordBatch, pa.Table, pa.RecordBatchReader)):
        raise InvalidArgument(f"rows={shown(rows)} is not a batch of pyarrow", hint="give a pyarrow.RecordBatch")
    return of_pyarrow(rows)


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
        if count("tasks", tasks, 1) is None or tasks > _MOST_TASKS:
            raise InvalidArgument(f"tasks={shown(tasks)} is not a whole number from 1 to {_MOST_TASKS:,}")
        return self._table.plan_shared_write(tasks, flag("overwrite", overwrite))

    @staticmethod
    def assigners(plan: str) -> int:
        """How many assigners a job has."""
        try:
            return int(json.loads(text("plan", plan))["channels"])
        except (ValueError, KeyError, TypeError):
            raise InvalidArgument(f"plan={shown(plan)} is not the plan of a write", hint=_PLAN) from None

    @property
    def columns(self) -> list[str]:
        """Those by which rows are assigned: partition columns and primary key."""
        return self._table.key_column_names

    def assigner_of(self, plan: str, rows: pa.RecordBatch) -> pa.Array:
        """The number of the assigner of each row."""
        from siltstone._pyarrow import pa

        return pa.array(self._table.assigners(text("plan", plan), _batch(rows)), pa.int32())

    def assigner(self, plan: str) -> Assigner:
        """One of the assigners of a job."""
        return Assigner(self._table.row_assigner(text("plan", plan)))

    def writer(self, plan: str, *, overwrite: bool) -> GivenWriter:
        """One of the writers of a job."""
        shared, replaces = text("plan", plan), flag("overwrite", overwrite)
        return GivenWriter(
            self._table.writer(commit_user=None, memory_limit=None, spill_dir=None, overwrite=replaces, shared=shared)
        )


class Assigner:
    """Gives keys their buckets."""

    def __init__(self, core: _core.RowAssigner) -> None:
        """Use :meth:`SharedWrites.assigner`."""
        self._core = core

    def assign(self, rows: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
        """The bucket of each row, and a number, not negative, that is equal for rows of one (partition, bucket)."""
        from siltstone._pyarrow import pa

        buckets, routes = self._core.assign(_batch(rows))
        return pa.array(buckets, pa.int32()), pa.array(routes, pa.int32())


class GivenWriter:
    """Writes rows to the buckets that they come with."""

    def __init__(self, core: _core.Writer) -> None:
        """Use :meth:`SharedWrites.writer`."""
        self._core = core

    def write(self, rows: pa.RecordBatch, row_kind: str | None) -> None:
        """Add rows, whose last column has their buckets."""
        self._core.write_given(_batch(rows), optional_text("row_kind", row_kind))

    def prepare_commit(self) -> list[bytes]:
        """What is to be committed, one message a bucket."""
        return handed_out(self._core)

    def close(self) -> None:
        """Delete what was not handed out."""
        self._core.close()

    def __enter__(self) -> Self:
        """The writer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
