"""What the tasks of a writing job get and give back."""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from siltstone._leftovers import delete_leftovers
from siltstone._spark_types import arrow_schema_of_spark
from siltstone.errors import InvalidArgument, SchemaMismatch, SiltstoneError
from siltstone.procedures.naming import quoted
from siltstone.spark.source_writer import opened_in_task
from siltstone.spark.task_errors import as_result, collected, from_result
from siltstone.spark.types import changed_to_instants
from siltstone.spark.values import from_spark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField, StructType

    from siltstone import Table

#: The columns of a task's result: a message a row, or the error that the task met.
RESULT = "message binary, error string"


@dataclass(frozen=True)
class Job:
    """What a task must know.

    Attributes:
        table: The table.
        names: Names of the frame's columns, which come under numbers.
        row_kind: The kind of all rows.
        row_kind_column: The column that has the kind of each row.
        replaces: Whether rows replace others.
        schema_id: The schema of the table that the job began with.
    """

    table: Table
    names: list[str]
    row_kind: str | None
    row_kind_column: str | None
    replaces: bool
    schema_id: int

    @property
    def numbered(self) -> list[str]:
        """Names that mean the same everywhere, in the place of the columns' own."""
        return numbered(self.names)

    def rows(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[str] | str | None]:
        """The rows of a named batch as the table's, and their kinds."""
        kind: list[str] | str | None = self.row_kind
        if self.row_kind_column is not None:
            at = place_of(self.row_kind_column, self.names)
            kind = batch.column(at).to_pylist()
            batch = batch.remove_column(at)
        return from_spark(batch, self.table.schema), kind


def numbered(names: list[str]) -> list[str]:
    """Names that mean the same everywhere, in the place of these."""
    return [f"c{at}" for at in range(len(names))]


def place_of(column: str, names: list[str]) -> int:
    """Where a column stands.

    Raises:
        InvalidArgument: Nowhere.
    """
    found = [at for at, name in enumerate(names) if name.lower() == column.lower()]
    if len(found) != 1:
        raise InvalidArgument(f"the frame has no column '{column}'", hint=f"columns: {', '.join(names)}")
    return found[0]


def in_instants(df: DataFrame, t: Table) -> DataFrame:
    """The frame with wall clocks as instants, by the session's zone, where the table has instants."""
    for name, kind in changed_to_instants(df.schema, t.schema).items():
        df = df.withColumn(name, df[quoted(name)].cast(kind))
    return df


def check_frame(schema: StructType, t: Table, row_kind_column: str | None) -> None:
    """Compare a frame's columns with the table's, as writing its rows does, before a job starts.

    Raises:
        SchemaMismatch: Columns, or their types, do not fit.
    """
    import pyarrow as pa
    from pyspark.sql.types import StructType

    if row_kind_column is not None:
        place_of(row_kind_column, schema.fieldNames())
    fields = [f for f in schema if row_kind_column is None or f.name.lower() != row_kind_column.lower()]
    arrow = arrow_schema_of_spark(StructType(fields))
    # a row that fits wherever its types do: the core looks at no columns of an empty batch
    needed = {f.name.lower() for f in t.schema if not f.nullable}
    values = {f.name: _zero(f.type) if f.name.lower() in needed else None for f in arrow}
    row = from_spark(pa.RecordBatch.from_pylist([values], schema=arrow), t.schema)
    if t.bucket_mode == "cross-partition":  # opening its writer reads all keys
        return
    try:
        with t.writer() as w:
            w.write(row, "+I" if row_kind_column else None)
            w.discard()
    except SchemaMismatch as e:
        raise _in_words_of_spark(e, fields, t) from None
    except SiltstoneError:  # about the values of this row: those of the frame are looked at where they are written
        return


def _in_words_of_spark(error: SchemaMismatch, fields: list[StructField], t: Table) -> SchemaMismatch:
    """The error with Spark's name of the type that a column has, and with the argument that adds columns."""
    known = {name.lower() for name in t.schema.names}
    message, hint, context = error.message, error.hint, dict(error.context)
    if any(field.name.lower() not in known for field in fields):
        hint = f"{hint}; " if hint else ""
        hint += "merge_schema=True of siltstone.spark.write adds the columns that the table lacks"
    if "got" in context:
        types = {field.name: field.dataType.simpleString() for field in fields}
        got = types.get(context.get("column", ""), context["got"])
        message = message.replace(f"{context['got']} in the input", f"{got} in the input")
        context["got"] = got
        hint = hint or "cast it: frame.withColumn(name, frame[name].cast(type))"
    return SchemaMismatch(message, hint=hint, context=context)


def _zero(kind: pa.DataType) -> Any:
    """The value of a type that fits all types that values of this type may fit."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return {field.name: _zero(field.type) for field in kind}
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        return []
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return "" if pa.types.is_string(kind) else b""
    if pa.types.is_null(kind) or pa.types.is_decimal(kind):
        return None if pa.types.is_null(kind) else decimal.Decimal(0)
    return pa.scalar(0, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind).as_py()


def written(job: Job, batches: Iterator[pa.RecordBatch]) -> tuple[list[bytes], SiltstoneError | None]:
    """Write batches inside a task; the messages, or the error that another try would meet again."""
    try:
        target = opened_in_task(job.table, job.table.dynamic_options, job.schema_id)
        with target.writer(overwrite=job.replaces) as w:
            for batch in batches:
                w.write(*job.rows(batch))
            return w.prepare_commit(), None
    except SiltstoneError as error:
        return [], error


def result(messages: list[bytes], error: SiltstoneError | None, **more: Any) -> pa.RecordBatch:
    """What a task gives back; further columns have one value, in a last row."""
    import pyarrow as pa

    said = [None] * len(messages) + [None if error is None else as_result(error)]
    columns = {"message": pa.array([*messages, None], pa.binary()), "error": pa.array(said, pa.string())}
    for name, value in more.items():
        columns[name] = pa.array([None] * len(messages) + [value], pa.string())
    return pa.record_batch(list(columns.values()), names=list(columns))


def results(frame: DataFrame, t: Table) -> list[bytes]:
    """The messages of all tasks; where one met an error, the files of the others are deleted.

    Raises:
        SiltstoneError: The error of a task.
    """
    return messages_in(collected(frame), t)


def messages_in(rows: list[Any], t: Table) -> list[bytes]:
    """The messages in the results of tasks, as :func:`results`."""
    messages = [bytes(row.message) for row in rows if row.message is not None]
    failed = [row.error for row in rows if row.error is not None]
    if failed:
        delete_leftovers(t, messages)
        raise from_result(failed[0])
    return messages
