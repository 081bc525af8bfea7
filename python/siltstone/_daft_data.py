"""A scan as a source of Daft, and a table as its sink."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pyarrow as pa
from daft import DataType
from daft.expressions.visitor import PredicateVisitor
from daft.io.sink import DataSink, WriteResult
from daft.io.source import DataSource, DataSourceTask
from daft.recordbatch import RecordBatch
from daft.recordbatch.micropartition import MicroPartition
from daft.schema import Schema

from siltstone._bridge import WriteJob, Written
from siltstone._literals import literal
from siltstone._pushed import of_same_kinds
from siltstone.errors import InvalidArgument
from siltstone.report import CommitReport
from siltstone.scan import Scan

Tree = dict[str, Any]

_SWAPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


class ScanSource(DataSource):  # type: ignore[misc, unused-ignore]  # Daft is not everywhere
    """The splits of a scan. Columns and conditions go into it; Daft looks at the conditions again."""

    def __init__(self, scan: Scan) -> None:
        """Use :func:`siltstone.daft.read`.

        Raises:
            SiltstoneError: A column, condition or version of the scan that there is not: Daft, which asks for columns
                while it plans, ends with a panic of its own where that fails.
        """
        self._scan, self._columns = scan, pa.schema(scan)

    @property
    def name(self) -> str:
        """What it is called in plans."""
        return f"Siltstone({self._scan!r})"

    @property
    def schema(self) -> Schema:
        """The columns of the scan."""
        return Schema.from_pyarrow_schema(_for_daft(self._columns))

    async def get_tasks(self, pushdowns: Any) -> AsyncIterator[DataSourceTask]:
        """One task for each split that may hold rows which are asked for."""
        scan, wanted = self._scan, pushdowns.columns
        for condition in (pushdowns.filters, pushdowns.partition_filters):
            if condition is not None:
                known = of_same_kinds(condition_of(condition, self._columns), self._columns)
                scan = scan.narrowed(condition=known)
        if wanted is not None:
            names = self._columns.names
            needed = {*wanted, *pushdowns.filter_required_column_names()}
            scan = scan.narrowed(columns=[name for name in names if name in needed] or names[:1])
        schema = pa.schema(scan)
        parts: list[Any] = [scan] if scan.request.get("limit") is not None else list(scan.splits())
        for part in parts:
            yield _Task(part, schema)


class _Task(DataSourceTask):  # type: ignore[misc, unused-ignore]
    """A split, or a scan that has none because of its limit."""

    def __init__(self, part: Any, schema: pa.Schema) -> None:
        self._part, self._arrow = part, schema

    @property
    def schema(self) -> Schema:
        return Schema.from_pyarrow_schema(_for_daft(self._arrow))

    async def read(self) -> AsyncIterator[RecordBatch]:
        schema = _for_daft(self._arrow)
        for batch in self._part.to_batches() if isinstance(self._part, Scan) else self._part.read():
            rows = [batch] if schema is self._arrow else pa.Table.from_batches([batch]).cast(schema).to_batches()
            yield RecordBatch.from_arrow_record_batches(rows, schema)


def _for_daft(schema: pa.Schema) -> pa.Schema:
    """A schema with times of day of 64 bits in the place of those of 32 bits, which Daft does not have."""
    fields = [field.with_type(_wide_times(field.type)) for field in schema]
    return schema if all(map(pa.Field.equals, fields, schema)) else pa.schema(fields)


def _wide_times(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_time32(kind):
        return pa.time64("us")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_wide_times(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(*(field.with_type(_wide_times(field.type)) for field in (kind.key_field, kind.item_field)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_wide_times(kind.value_type)))
    return kind


class TableSink(DataSink[Written]):  # type: ignore[misc, unused-ignore]
    """A table that any task may write to: tasks write files, and one commit publishes them."""

    def __init__(self, job: WriteJob) -> None:
        """Use :func:`siltstone.daft.write`."""
        self._job = job
        self.report: CommitReport | None = None

    def name(self) -> str:
        """What it is called in plans."""
        return "Siltstone"

    def schema(self) -> Schema:
        """The columns of the frame that a write returns."""
        return Schema._from_field_name_and_types(  # noqa: SLF001  # Daft's own sinks have no other
            [("rows", DataType.int64()), ("files", DataType.int64()), ("bytes", DataType.int64())]
        )

    def write(self, micropartitions: Iterator[MicroPartition]) -> Iterator[WriteResult[Written]]:
        """Write rows inside a task."""
        rows = size = 0

        def batches() -> Iterator[pa.Table]:
            nonlocal rows, size
            for part in micropartitions:
                table = part.to_arrow()
                rows, size = rows + table.num_rows, size + table.nbytes
                yield table

        yield WriteResult(self._job.write(batches()), size, rows)

    def finalize(self, write_results: list[WriteResult[Written]]) -> MicroPartition:
        """Commit what all tasks wrote."""
        report = self.report = self._job.commit([end.result for end in write_results])
        made = {"rows": [report.rows], "files": [report.files], "bytes": [report.bytes]}
        return MicroPartition.from_arrow(pa.table(made, schema=pa.schema([(name, pa.int64()) for name in made])))


def condition_of(expression: Any, schema: pa.Schema) -> Tree | None:
    """What rows that satisfy an expression satisfy, or None where nothing is known of them."""
    floats = {field.name for field in schema if pa.types.is_floating(field.type)}
    try:
        return _Conditions(floats).condition(expression)
    except (Unknown, ArithmeticError, ValueError):
        return None


class Unknown(Exception):  # never leaves the module
    """Something without a counterpart."""


class _Column(str):
    __slots__ = ()


class _Conditions(PredicateVisitor[Any]):  # type: ignore[misc, unused-ignore]
    """Conditions of Daft as ours; unless exact, of an AND the parts that are known."""

    def __init__(self, floats: set[str]) -> None:
        self._exact, self._floats = False, floats

    def condition(self, expression: Any) -> Tree:
        found = self.visit(expression)
        if isinstance(found, _Column):
            return {"op": "eq", "column": str(found), "value": True}
        if not isinstance(found, dict) or "op" not in found:
            raise Unknown
        return found

    def visit_col(self, name: str) -> Any:
        return _Column(name)

    def visit_lit(self, value: Any) -> Any:
        return value

    def visit_alias(self, expr: Any, alias: str) -> Any:  # noqa: ARG002
        return self.visit(expr)

    def _unknown(self, *_: Any) -> Any:
        raise Unknown

    visit_cast = visit_try_cast = visit_coalesce = visit_function = _unknown

    def visit_and(self, left: Any, right: Any) -> Any:
        known = []
        for part in (left, right):
            try:
                known.append(self.condition(part))
            except Unknown:
                if self._exact:
                    raise
        if not known:
            raise Unknown
        return {"op": "and", "args": known}

    def visit_or(self, left: Any, right: Any) -> Any:
        return {"op": "or", "args": [self.condition(left), self.condition(right)]}

    def visit_not(self, expr: Any) -> Any:
        before, self._exact = self._exact, True
        try:
            return {"op": "not", "args": [self.condition(expr)]}
        finally:
            self._exact = before

    def _compared(self, op: str, left: Any, right: Any) -> Any:
        one, other = self.visit(left), self.visit(right)
        if isinstance(other, _Column):
            one, other, op = other, one, _SWAPPED[op]
        if not isinstance(one, _Column) or isinstance(other, (_Column, dict)):
            raise Unknown
        return {"op": op, "column": str(one), "value": self._value(str(one), other)}

    def visit_equal(self, left: Any, right: Any) -> Any:
        return self._compared("eq", left, right)

    def visit_not_equal(self, left: Any, right: Any) -> Any:
        return self._compared("ne", left, right)

    def visit_less_than(self, left: Any, right: Any) -> Any:
        return self._compared("lt", left, right)

    def visit_less_than_or_equal(self, left: Any, right: Any) -> Any:
        return self._compared("le", left, right)

    def visit_greater_than(self, left: Any, right: Any) -> Any:
        return self._compared("gt", left, right)

    def visit_greater_than_or_equal(self, left: Any, right: Any) -> Any:
        return self._compared("ge", left, right)

    def visit_between(self, expr: Any, lower: Any, upper: Any) -> Any:
        return {"op": "and", "args": [self._compared("ge", expr, lower), self._compared("le", expr, upper)]}

    def visit_is_in(self, expr: Any, items: list[Any]) -> Any:
        column = self._column(expr)
        return {"op": "in", "column": column, "values": [self._value(column, self.visit(item)) for item in items]}

    def visit_is_null(self, expr: Any) -> Any:
        return {"op": "is_null", "column": self._column(expr)}

    def visit_not_null(self, expr: Any) -> Any:
        return {"op": "is_not_null", "column": self._column(expr)}

    def _column(self, expr: Any) -> str:
        column = self.visit(expr)
        if not isinstance(column, _Column):
            raise Unknown
        return str(column)

    def _value(self, column: str, value: Any) -> Any:
        if value is None or value != value:  # noqa: PLR0124  # nothing equals null; NaN has an order of its own there
            raise Unknown
        if column in self._floats and value == 0:  # -0.0 is another number there
            raise Unknown
        try:
            return literal(value)
        except InvalidArgument:  # an interval, a list
            raise Unknown from None
