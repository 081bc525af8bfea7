"""The writer of the data source: files are written in tasks and committed once by the driver."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from siltstone.errors import CommitConflict, SchemaMismatch, UnsupportedFeature
from siltstone.spark.session import open_named
from siltstone.spark.types import changed_to_instants
from siltstone.spark.values import from_spark
from siltstone.system import writable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from siltstone import Table


def refuse_dynamic_buckets(table: Table) -> None:
    """Each task would give the same new key a bucket of its own, and Spark lets a source ask for no shuffle.

    Raises:
        UnsupportedFeature: The table has dynamic buckets.
    """
    if table.bucket_mode in ("dynamic", "cross-partition"):
        raise UnsupportedFeature(
            "the format 'siltstone' does not write tables with dynamic buckets",
            hint="use siltstone.spark.write(df, table), which sends each key to the task that knows its bucket; of a "
            "stream within foreachBatch, with commit_user=... and identifier=batch_id",
            context={"table": table.name, "option": "bucket"},
        )


def refuse_wall_clocks(schema: StructType, table: Table) -> None:
    """What a wall clock's instant is depends on the session's zone, which Spark does not tell a Python source.

    Raises:
        SchemaMismatch: A ``timestamp_ntz`` for a column of instants.
    """
    for name in changed_to_instants(schema, table.schema):
        raise SchemaMismatch(
            f"column '{name}' has times without zone (timestamp_ntz), the table's has instants (TIMESTAMP_LTZ)",
            hint=f"cast it to timestamp, or use siltstone.spark.write(df, '{table.name}'): in the session's zone",
            context={"table": table.name, "column": name},
        )


@dataclasses.dataclass
class Messages(WriterCommitMessage):
    """What one task wrote."""

    messages: list[bytes]


class Writer(DataSourceArrowWriter):
    """Writes level-0 files in tasks and commits once on the driver.

    Rows are not clustered by bucket here (Spark offers no way to ask for it), so tasks never compact:
    :func:`siltstone.spark.write` clusters first and makes fewer files.
    """

    def __init__(
        self,
        table: Table,
        overwrite: dict[str, Any] | None,
        row_kind: str | None,
        named: tuple[str, str] | None = None,
    ) -> None:
        """Keep the table, what is replaced, and the table's name in its catalog where that has one."""
        self.table = table
        self.named = named
        self.schema_id = table.schema_id  # a task opens the table for itself
        self.overwrite = overwrite
        self.row_kind = row_kind

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's batches."""
        options = {**self.table.dynamic_options, "write-only": "true"}
        replaces = self.overwrite is not None
        return Messages(
            write_batches(self.table, options, iterator, self.row_kind, overwrite=replaces, schema_id=self.schema_id)
        )

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish all tasks' files as one commit, by the locks or the server of the table's catalog."""
        table = self.table
        if self.named is not None:
            # Spark commits in another process than the one that has opened the table
            table = open_named(*self.named, table.dynamic_options)
        table.commit(_collect(messages), overwrite=self.overwrite)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete the files of the tasks that had finished."""
        self.table.abort(_collect(messages))


def opened_in_task(table: Table, options: Mapping[str, str], schema_id: int) -> Table:
    """The table of a job.

    Raises:
        CommitConflict: The table has another schema than the one that the job began with: columns have other names, or
            other values, in this task than in those before it.
    """
    import siltstone as st

    target = st.open_table(writable(table).location, branch=table.branch, options=options)
    if target.schema_id != schema_id:
        raise CommitConflict(
            f"the table was altered while the job ran: it began with schema {schema_id}, now it is {target.schema_id}",
            hint="write again: nothing was committed",
            context={"table": target.name},
        )
    return target


def write_batches(
    table: Table,
    options: Mapping[str, str],
    batches: Iterator[pa.RecordBatch],
    row_kind: str | None,
    *,
    overwrite: bool,
    schema_id: int,
) -> list[bytes]:
    """Write batches inside a task and return the commit messages."""
    target = opened_in_task(table, options, schema_id)
    schema = target.schema
    with target.writer(overwrite=overwrite) as w:
        for batch in batches:
            w.write(from_spark(batch, schema), row_kind)
        return w.prepare_commit()


def _collect(messages: Sequence[WriterCommitMessage | None]) -> list[bytes]:
    return [b for m in messages if isinstance(m, Messages) for b in m.messages]
