"""Reading: a :class:`Scan` is lazy, reusable and picklable; its splits are what distributed engines read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from siltstone import _core
from siltstone._args import Size, Time, count, flag, millis, names, optional_text, size_bytes, version_of
from siltstone.changes import between_argument
from siltstone.errors import InvalidArgument
from siltstone.predicate import Expression, condition_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


def _batches(source: _core.Batches) -> Iterator[pa.RecordBatch]:
    """The core's batches as pyarrow's; errors come as exceptions of siltstone, which the C stream cannot carry."""
    import pyarrow as pa

    try:
        for batch in source:
            yield pa.record_batch(batch)
    finally:
        source.close()


def pandas_frame(table: pa.Table) -> pd.DataFrame:
    """A frame with every value as it is: a float would not hold each BIGINT, an integer in a row is no moment."""
    import pandas as pd
    import pyarrow as pa

    frame: pd.DataFrame = table.to_pandas(integer_object_nulls=True)
    others = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count and pa.types.is_integer(column.type):
            wide = {pa.int64(): pd.Int64Dtype()}
            others[name] = column.to_pandas(types_mapper=wide.get)
        elif _has_nanoseconds_in_rows(column.type):
            others[name] = pd.Series(column.to_pylist(), dtype=object)
    if not others:
        return frame
    return pd.DataFrame({name: others.get(name, frame[name]) for name in table.column_names}, copy=False)


def _has_nanoseconds_in_rows(kind: pa.DataType, *, in_row: bool = False) -> bool:
    """Whether pyarrow would make integers of moments, which it does with nanoseconds in rows and maps."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return in_row and kind.unit == "ns"
    if pa.types.is_list(kind):
        value = kind.value_type
        return _has_nanoseconds_in_rows(value, in_row=in_row and not pa.types.is_timestamp(value))
    if pa.types.is_map(kind):
        return any(_has_nanoseconds_in_rows(part, in_row=True) for part in (kind.key_type, kind.item_type))
    return pa.types.is_struct(kind) and any(_has_nanoseconds_in_rows(field.type, in_row=True) for field in kind)


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


class Split:
    """A piece of a scan that one task reads. Picklable; holds no credentials and no open files.

    Its token carries the table's location, branch, schema id and dynamic options, the read request, and Paimon's
    own serialized ``DataSplit``, so that the reading process never resolves "latest" again.
    """

    __slots__ = ("_core",)

    def __init__(self, token: bytes) -> None:
        """A split from its bytes.

        Raises:
            CorruptFile: They were damaged on their way.
            UnsupportedVersion: They were made by another version of siltstone.
        """
        self._core = _core.Split(token)

    def __reduce__(self) -> tuple[type[Split], tuple[bytes]]:
        """Pickle as the token."""
        return Split, (self.to_bytes(),)

    def to_bytes(self) -> bytes:
        """The token."""
        return self._core.to_bytes()

    @property
    def rows(self) -> int | None:
        """Rows it holds, when that is known without reading."""
        return self._core.rows

    @property
    def bytes(self) -> int:
        """Size of its files."""
        return self._core.bytes

    @property
    def files(self) -> list[str]:
        """Names of its data files."""
        return self._core.files

    def read(self) -> Iterator[pa.RecordBatch]:
        """Read the split; batches come as they are decoded.

        Raises:
            CorruptFile: A file is not what the metadata says.
            InvalidArgument: The table was dropped and created anew since the split was planned.
            FileMissing: A file is gone although its snapshot is there.
            SnapshotExpired: The snapshot has expired meanwhile, and its files are gone.
        """
        yield from _batches(self._core.read())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow stream."""
        return self._core.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Files and rows."""
        return f"Split(files={len(self.files)}, rows={self.rows}, bytes={self.bytes})"


class Scan:
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

    def _plan(self) -> _core.Plan | _core.Inspection:
        return self._planned()

    def _planned(self) -> _core.Plan:
        return _core.Table.open(self._location, self._options, self._branch).plan(self._request)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a new Arrow stream."""
        return self._plan().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema of the rows."""
        return self._plan().__arrow_c_schema__()

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as record batches, in the order in which they are decoded."""
        yield from _batches(self._plan().read())

    def to_arrow(self) -> pa.Table:
        """All rows as a pyarrow table."""
        import pyarrow as pa

        batches = self._plan().read(whole=True)
        return pa.Table.from_batches(_batches(batches), pa.schema(batches))

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a pandas frame (extra ``pandas``).

        BIGINT columns with nulls are pandas' ``Int64``, and whole numbers in arrays with nulls are objects: a float
        would not hold each of them. Smaller whole numbers with nulls are floats, as pandas has them.
        """
        return pandas_frame(self.to_arrow())

    def to_polars(self) -> pl.DataFrame:
        """All rows as a polars frame (extra ``polars``)."""
        import polars as pl

        return pl.DataFrame(self.to_arrow())

    def count(self) -> int:
        """Number of rows; from metadata alone where that is exact."""
        return self._plan().count()

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
        return [Split(token) for token in self._planned().splits()]

    def pinned(self, snapshot: int) -> Scan:
        """The same scan of a snapshot that is or was the latest, whatever comes later; columns are the table's of now.

        Raises:
            InvalidArgument: A scan that names a version already.
        """
        if any(self._request.get(key) is not None for key in ("version", "tag", "as_of", "between")):
            raise InvalidArgument("the scan names a version already: it cannot be pinned to another one")
        request = {**self._request, "version": count("snapshot", snapshot, 1), "todays_schema": True}
        return Scan(self._location, self._branch, self._options, request)

    def explain(self) -> str:
        """What would be read: the snapshot, files kept and skipped, splits, and which of them need merging."""
        return self._planned().explain()

    def __repr__(self) -> str:
        """Table and request."""
        given = {k: v for k, v in self._request.items() if v is not None and v is not False}
        return f"Scan({self._location}, {given})"
