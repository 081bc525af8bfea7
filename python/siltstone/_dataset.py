"""A scan as a dataset of pyarrow: DuckDB and others that read datasets push columns and conditions into it."""

from __future__ import annotations

import contextlib
import functools
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from siltstone._pushed import batch_rows, of_same_kinds, settled
from siltstone._substrait import condition_of
from siltstone.errors import InvalidArgument, SiltstoneError
from siltstone.split import batches_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    Scan = Any

#: Batches that a scanner asks for; what it says about threads and caches is about files that pyarrow itself opens.
_OF_FILES = {
    "batch_readahead",
    "cache_metadata",
    "fragment_readahead",
    "fragment_scan_options",
    "memory_pool",
    "use_async",
    "use_threads",
}


#: No file can have this name.
_NO_FILE = (
    "/dev/null/a scan of siltstone is read by scan.to_arrow(), or to_table(), to_batches() and scanner() of the dataset"
)


class ScanDataset(ds.FileSystemDataset):  # type: ignore[misc]
    """The rows of a scan; see :meth:`siltstone.Table.to_dataset`.

    What pyarrow does with a dataset in C++, behind these methods (a plan of Acero, a union, ``Scanner.from_dataset``),
    finds one file, which cannot be opened and says how the rows are read.
    """

    def __init__(self, scan: Scan) -> None:
        """Use :meth:`siltstone.Table.to_dataset`."""
        files, kind = fs.LocalFileSystem(), ds.IpcFileFormat()
        super().__init__([kind.make_fragment(_NO_FILE, filesystem=files)], pa.schema(scan), kind, files)
        self._scan = scan
        #: Errors of reads: who reads a dataset may make texts of them.
        self.failed: list[SiltstoneError] = []

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the scan."""
        return ScanDataset, (self._scan,)

    def __repr__(self) -> str:
        """The scan."""
        return f"ScanDataset({self._scan!r})"

    @functools.cached_property
    def schema(self) -> pa.Schema:
        """Columns of the scan."""
        return pa.schema(self._scan)

    @property
    def partition_expression(self) -> Any:
        """Nothing is known of all rows."""
        return ds.scalar(True)

    def scanner(
        self,
        columns: Any = None,
        filter: Any = None,  # noqa: A002  # pyarrow's name
        batch_size: int | None = None,
        **others: Any,
    ) -> ds.Scanner:
        """A scanner that reads the columns and skips what cannot satisfy the condition.

        Args:
            columns: Names, or names with expressions, as for a dataset of pyarrow.
            filter: An expression of pyarrow.
            batch_size: Rows of a batch, at most.
            others: What is about pyarrow's own reading of files.

        Raises:
            InvalidArgument: An argument that a dataset of pyarrow does not have.
        """
        for name in others:
            if name not in _OF_FILES:
                raise InvalidArgument(f"a scan of a dataset has no argument '{name}'")
        plan, left = self._planned(columns, filter, batch_size)
        # of no column at all pyarrow would lose the number of rows
        reader = pa.RecordBatchReader.from_batches(pa.schema(plan), self._batches(plan))
        return ds.Scanner.from_batches(reader, columns=columns, filter=left)

    def _planned(self, columns: Any, condition: Any, batch_size: int | None) -> tuple[Any, Any]:
        """What is read, and the condition again, unless the scan decides it as pyarrow would."""
        if condition is None:
            return self._plan(self._scan, columns, None, batch_size), None
        scan = settled(self._scan, condition_of(condition, self.schema, exact=True), self.schema)
        if scan is not None:
            with contextlib.suppress(InvalidArgument):
                return self._plan(scan, columns, None, batch_size), None
        known = of_same_kinds(condition_of(condition, self.schema), self.schema)
        return self._plan(self._scan.narrowed(condition=known), columns, condition, batch_size), condition

    def _plan(self, scan: Scan, columns: Any, condition: Any, batch_size: int | None) -> Any:
        needed = self._needed(columns, condition)
        if needed is not None:
            scan = scan.narrowed(columns=needed)
        rows = batch_rows(scan, self.schema) if batch_size is None else batch_size
        return scan.narrowed(batch_size=rows)._plan()  # noqa: SLF001  # Scan's own

    def _batches(self, plan: Any) -> Iterator[Any]:
        try:
            yield from batches_of(plan.read())
        except SiltstoneError as e:
            self.failed.append(e)
            raise

    def _needed(self, columns: Any, condition: Any) -> list[str] | None:
        return columns_needed(self.schema, columns, condition)

    def to_table(self, columns: Any = None, filter: Any = None, **others: Any) -> pa.Table:  # noqa: A002
        """The rows as a pyarrow table."""
        return self.scanner(columns, filter, **others).to_table()

    def to_batches(self, columns: Any = None, filter: Any = None, **others: Any) -> Any:  # noqa: A002
        """The rows as batches."""
        return self.scanner(columns, filter, **others).to_batches()

    def count_rows(self, filter: Any = None, **others: Any) -> int:  # noqa: A002
        """How many rows there are; from metadata alone where that is exact."""
        rows: int = self._scan.count() if filter is None else self.scanner([], filter, **others).count_rows()
        return rows

    def head(self, num_rows: int, columns: Any = None, filter: Any = None, **others: Any) -> pa.Table:  # noqa: A002
        """The first rows."""
        return self.scanner(columns, filter, **others).head(num_rows)

    def sort_by(self, sorting: Any, **others: Any) -> ds.Dataset:
        """The rows in an order, in memory."""
        return _in_memory(self).sort_by(sorting, **others)

    def join(self, right_dataset: Any, keys: Any, *args: Any, **others: Any) -> ds.Dataset:
        """The rows beside those of another dataset that have the same keys, in memory."""
        return _in_memory(self).join(_in_memory(right_dataset), keys, *args, **others)

    def join_asof(self, right_dataset: Any, on: str, by: Any, tolerance: int, *args: Any, **others: Any) -> ds.Dataset:
        """The rows beside the nearest ones of another dataset, in memory."""
        return _in_memory(self).join_asof(_in_memory(right_dataset), on, by, tolerance, *args, **others)

    def take(self, indices: Any, **others: Any) -> pa.Table:  # noqa: ARG002
        """Refused: rows have no numbers.

        Raises:
            InvalidArgument: Always.
        """
        raise InvalidArgument("rows of a table have no positions", hint="use filter=..., or t.get(keys)")

    def get_fragments(self, filter: Any = None) -> Any:  # noqa: A002, ARG002
        """Refused: rows of a file alone are not those of the table.

        Raises:
            InvalidArgument: Always.
        """
        raise InvalidArgument(
            "a dataset of a table has no fragments: its files alone do not have the rows of the table",
            hint="use scan.splits()",
        )

    def replace_schema(self, schema: pa.Schema) -> ds.Dataset:  # noqa: ARG002
        """Refused: a scan has the types of its table.

        Raises:
            InvalidArgument: Always.
        """
        raise InvalidArgument("the schema of a scan cannot be replaced", hint="cast the rows that are read")

    @property
    def files(self) -> list[str]:
        """Refused: files alone do not have the rows of the table.

        Raises:
            InvalidArgument: Always.
        """
        raise InvalidArgument("the files of a table alone do not have its rows", hint="use table.files()")

    def filter(self, expression: Any) -> ScanDataset:  # noqa: ARG002
        """Refused: a dataset is filtered where it is read.

        Raises:
            InvalidArgument: Always.
        """
        raise InvalidArgument(
            "a dataset of a scan is filtered where it is read", hint="to_table(filter=...), or t.scan(filter=...)"
        )


def _in_memory(rows: Any) -> Any:
    """A dataset as pyarrow's own, which alone its engine can read: it would look for files behind ours."""
    return ds.InMemoryDataset(rows.to_table()) if isinstance(rows, ScanDataset) else rows


def columns_needed(schema: pa.Schema, columns: Any, condition: Any) -> list[str] | None:
    """Names of the columns that are read for these, or expressions, and a condition; None for all.

    An expression may name a column by its place, ``pc.field(1)``, which is the same one only where all are read.
    """
    if columns is None:
        return None
    names = schema.names
    asked = columns if isinstance(columns, dict) else dict.fromkeys(columns)
    texts = [str(expression) for expression in asked.values() if expression is not None]
    if condition is not None:
        texts.append(str(condition))
    if any("FieldPath(" in text for text in texts):
        return None
    plain = {name for name, expression in asked.items() if expression is None}
    if unknown := [name for name in plain if name not in names]:
        raise InvalidArgument(f"there is no column '{unknown[0]}'", hint=f"the columns are {', '.join(names)}")
    needed = [name for name in names if name in plain or any(_names(text, name) for text in texts)]
    return needed or names[:1]


def _names(text: str, column: str) -> bool:
    """Whether the text of an expression may name a column."""
    return re.search(rf"(?<!\w){re.escape(column)}(?!\w)", text) is not None


def dataset_of(scan: Scan) -> ScanDataset:
    """The dataset of a scan."""
    return ScanDataset(scan)
