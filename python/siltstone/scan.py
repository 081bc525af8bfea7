"""Reading: a :class:`Scan` is lazy, reusable and picklable; its splits are what distributed engines read."""

from __future__ import annotations

import contextlib
import copy
import html
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from siltstone import _core
from siltstone._args import Size, Time, count, flag, millis, names, optional_text, size_bytes, version_of
from siltstone._frames import frame_of, objects_of
from siltstone._operation import operation
from siltstone._plain import rows_of
from siltstone._pushed import joined, planned
from siltstone._pyarrow import MissingPyarrow, has_pyarrow
from siltstone._spellings import Hinted
from siltstone._visible import visible_lines
from siltstone.changes import between_argument
from siltstone.errors import InvalidArgument
from siltstone.predicate import Expression, condition_of
from siltstone.split import Split, batches_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

#: Values that are made Python's at once: some hundredths of a second.
_VALUES_AT_ONCE = 1 << 18


def whole_table(plan: _core.Plan | _core.Inspection) -> pa.Table:
    """All rows of a plan."""
    from siltstone._pyarrow import pa

    batches = plan.read(whole=True)
    return pa.Table.from_batches(batches_of(batches), pa.schema(batches))


def scan_request(  # noqa: PLR0913  # one argument for each part of a query
    columns: Sequence[str] | None = None,
    filter: str | Expression | None = None,  # noqa: A002  # the API's name
    *,
    version: int | str | None = None,
    tag: str | None = None,
    as_of: Time | None = None,
    between: Any = None,
    limit: int | None = None,
    mode: str | None = None,
    row_kind: bool = False,
    batch_size: int | None = None,
    memory_limit: Size | None = None,
    threads: int | None = None,
) -> dict[str, Any]:
    """The arguments of :meth:`siltstone.Table.scan`, checked, as the core takes them."""
    return {
        "columns": None if columns is None else names("columns", columns),
        "filter": condition_of(filter),
        "version": version_of("version", version),
        "tag": optional_text("tag", tag),
        "as_of": None if as_of is None else millis(as_of),
        "between": between_argument(between),
        "mode": optional_text("mode", mode),
        "system": None,
        "limit": count("limit", limit),
        "row_kind": flag("row_kind", row_kind),
        "batch_size": count("batch_size", batch_size, 1),
        "memory_limit": size_bytes("memory_limit", memory_limit),
        "threads": count("threads", threads, 1),
    }


class Scan(Hinted):
    """A query over one version of a table. Nothing is read until rows are asked for.

    Every consumer starts anew: a scan of "latest" sees commits made in between.

    Example:
        >>> t = example_table()
        >>> t.scan(["id"], "item = 'pen'").to_arrow().to_pylist()
        [{'id': 1}]
    """

    def __init__(self, location: str, branch: str, options: Mapping[str, str], request: Mapping[str, Any]) -> None:
        """Use :meth:`siltstone.Table.scan`."""
        self._location = location
        self._branch = branch
        self._options = dict(options)
        self._request = dict(request)
        self._pushed: dict[str, Any] | None = None

    @property
    def request(self) -> dict[str, Any]:
        """What is asked for, as the core takes it."""
        return dict(self._request)

    def narrowed(
        self,
        *,
        columns: Sequence[str] | None = None,
        condition: dict[str, Any] | None = None,
        limit: int | None = None,
        batch_size: int | None = None,
    ) -> Scan:
        """The same scan with fewer columns and rows; of ``condition``, a tree, the parts that mean something here."""
        given, own = self.request, self._request.get("limit")
        asked: dict[str, Any] = {}
        if columns is not None:
            asked["columns"] = names("columns", columns)
        if batch_size is not None:
            asked["batch_size"] = count("batch_size", batch_size, 1)
        if limit is not None:
            asked["limit"] = min(x for x in (count("limit", limit), own) if x is not None)
        # a system table knows some of them: who narrows looks at the rows again
        scan = copy.copy(self)
        vars(scan)["_request"] = given | {name: value for name, value in asked.items() if name in given}
        if condition is not None and limit is None and own is None:
            vars(scan)["_pushed"] = joined(self._pushed, condition)
        return scan

    @property
    def _name(self) -> str:
        """The table, as far as its place says it."""
        database, _, table = self._location.rstrip("/").rpartition("/")
        database = database.rpartition("/")[2].removesuffix(".db")
        return ".".join(part for part in (database, table) if part)

    def _plan(self) -> _core.Plan | _core.Inspection:
        return self._planned()

    def _planned(self) -> _core.Plan:
        return planned(self._table().plan, self._request, self._pushed)

    def _table(self) -> _core.Table:
        return _core.Table.open(self._location, self._options, self._branch)

    def _count(self) -> int:
        return planned(self._table().count, self._request, self._pushed)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a new Arrow stream."""
        return self._plan().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema of the rows."""
        return self._plan().__arrow_c_schema__()

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as record batches, in the order in which they are decoded."""
        yield from batches_of(self._plan().read())

    def to_arrow(self) -> pa.Table:
        """All rows as a pyarrow table."""
        with operation("scan", self._name, is_read=True) as done:
            rows = whole_table(self._plan())
            done(rows.num_rows)
        return rows

    def to_pylist(self) -> list[dict[str, Any]]:
        """All rows as dicts; a date or time beyond the years of Python is a ``SchemaMismatch``."""
        if not has_pyarrow():
            return list(self)
        table = self.to_arrow()
        rows: list[dict[str, Any]] = []
        # in pieces: nothing else stops a conversion
        for batch in table.to_batches(max(_VALUES_AT_ONCE // max(table.num_columns, 1), 1)):
            rows += objects_of(batch)
        return rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows as dicts, read while they are asked for; :meth:`to_batches` is faster."""
        if not has_pyarrow():
            yield from rows_of(self._core_batches())
            return
        for batch in self.to_batches():
            yield from objects_of(batch)

    def _core_batches(self) -> Iterator[Any]:
        """The rows as batches of the core, which polars takes."""
        with contextlib.closing(self._plan().read()) as batches:
            yield from batches

    def to_pandas(self, *, dtype_backend: str | None = None) -> pd.DataFrame:
        """All rows as a pandas frame (extra ``pandas``).

        Args:
            dtype_backend: ``"numpy_nullable"`` or ``"pyarrow"``: types of pandas that have nulls of their own. None:
                its oldest types, with the exceptions below.

        BIGINT columns with nulls are pandas' ``Int64``, and whole numbers in arrays with nulls are objects: a float
        would not hold each of them. Smaller whole numbers with nulls are floats, as pandas has them.
        """
        return frame_of(self.to_arrow(), dtype_backend)

    @overload
    def to_polars(self, *, lazy: Literal[False] = False) -> pl.DataFrame: ...

    @overload
    def to_polars(self, *, lazy: Literal[True]) -> pl.LazyFrame: ...

    def to_polars(self, *, lazy: bool = False) -> pl.DataFrame | pl.LazyFrame:
        """All rows as a polars frame (extra ``polars``).

        Args:
            lazy: A lazy frame: nothing is read before it is collected, and then only the columns that are needed, and
                files and rows that may satisfy its conditions.

        Example:
            >>> import polars as pl
            >>> frame = example_table().scan().to_polars(lazy=True)
            >>> frame.filter(pl.col("id") > 1).select("item").collect().to_dicts()
            [{'item': 'ink'}]
        """
        if flag("lazy", lazy):
            from siltstone._lazy import lazy_frame

            return lazy_frame(self)
        from siltstone._lazy import whole_frame

        return whole_frame(self)

    def to_dataset(self) -> pa.dataset.Dataset:
        """The scan as a dataset of pyarrow: who reads datasets (DuckDB, DataFusion) pushes columns and conditions down.

        DuckDB takes names that differ only in case for one name; :meth:`to_duckdb` refuses them.

        Example:
            >>> example_table().scan().to_dataset().to_table(columns=["item"]).num_rows
            2
        """
        if not has_pyarrow():
            raise MissingPyarrow
        from siltstone._dataset import dataset_of

        return dataset_of(self)

    def to_duckdb(self, connection: Any = None) -> Any:
        """The rows as a relation of DuckDB (extra ``duckdb``), which reads the columns and rows that a query needs.

        Args:
            connection: A connection of DuckDB; None for its default one.

        Raises:
            UnsupportedFeature: Names that differ only in case, which DuckDB takes for one.

        Example:
            >>> example_table().scan().to_duckdb().filter("id > 1").project("item").fetchall()
            [('ink',)]
        """
        from siltstone._duckdb import connected, for_duckdb

        return connected(connection).from_arrow(for_duckdb(self))

    def count(self) -> int:
        """Number of rows; from metadata alone where that is exact."""
        return self._count()

    def splits(self) -> list[Split]:
        """The pieces of this scan, planned now.

        Raises:
            InvalidArgument: A scan with a limit, which counts rows over all splits.
        """
        if self._request.get("limit") is not None:
            raise InvalidArgument(
                "a scan with a limit has no splits: its rows are counted over all of them",
                hint="leave the limit out, and stop reading when there are enough rows",
            )
        return Split._all(planned(self._table().splits, self._request, self._pushed))  # noqa: SLF001  # of a plan

    def pinned(self, snapshot: int) -> Scan:
        """The same scan of a snapshot that is or was the latest, whatever comes later; columns are the table's of now.

        Raises:
            InvalidArgument: A scan that names a version already.
        """
        if any(self._request.get(key) is not None for key in ("version", "tag", "as_of", "between")):
            raise InvalidArgument("the scan names a version already: it cannot be pinned to another one")
        scan = copy.copy(self)
        vars(scan)["_request"] = {**self._request, "version": count("snapshot", snapshot, 1), "todays_schema": True}
        return scan

    def explain(self) -> str:
        """What would be read: the snapshot, files kept and skipped, splits, and which of them need merging."""
        return self._planned().explain()

    def _repr_html_(self) -> str:
        """What would be read, for notebooks."""
        return f"<pre>{html.escape(visible_lines(self.explain()))}</pre>"

    def __rich__(self) -> str:
        """What would be read, for terminals."""
        return visible_lines(self.explain()).replace("[", "\\[")

    def __repr__(self) -> str:
        """Table and request."""
        given = {k: v for k, v in self._request.items() if v is not None and v is not False}
        return f"Scan({self._location}, {given})"
