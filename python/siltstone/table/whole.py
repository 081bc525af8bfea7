"""A table taken as the rows of its newest version."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from siltstone._args import count, flag
from siltstone.scan import Scan

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


Columns = Sequence[str] | None


class Whole(abc.ABC):
    """The methods of :class:`siltstone.Table`, and of system tables, that stand for those of ``scan()``."""

    @abc.abstractmethod
    def _rows(self, columns: Columns = None, filter: Any = None, limit: int | None = None) -> Scan:  # noqa: A002
        """A scan of them."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows of the newest version as a new Arrow stream: ``pa.table(t)``, ``pl.DataFrame(t)``, ``from t``."""
        return self._rows().__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows as dicts, read while they are asked for."""
        return iter(self._rows())

    def count(self, filter: Any = None) -> int:  # noqa: A002  # the API's name
        """Number of rows; from metadata alone where that is exact.

        Example:
            >>> example_table().count("id > 1")
            1
        """
        return self._rows(filter=filter).count()

    def head(self, rows: int = 10, columns: Sequence[str] | None = None) -> pa.Table:
        """Some rows, as a pyarrow table."""
        return self._rows(columns, limit=count("rows", rows)).to_arrow()

    def to_arrow(self, columns: Columns = None, filter: Any = None) -> pa.Table:  # noqa: A002
        """The rows as a pyarrow table; columns and filter as for :meth:`siltstone.Table.scan`."""
        return self._rows(columns, filter).to_arrow()

    def to_pylist(self, columns: Columns = None, filter: Any = None) -> list[dict[str, Any]]:  # noqa: A002
        """The rows as dicts; columns and filter as for :meth:`siltstone.Table.scan`."""
        return self._rows(columns, filter).to_pylist()

    def to_pandas(
        self,
        columns: Columns = None,
        filter: Any = None,  # noqa: A002
        *,
        dtype_backend: str | None = None,
    ) -> pd.DataFrame:
        """The rows as a pandas frame; see :meth:`siltstone.Scan.to_pandas`."""
        return self._rows(columns, filter).to_pandas(dtype_backend=dtype_backend)

    @overload
    def to_polars(
        self, columns: Columns = None, filter: Any = None, *, lazy: Literal[False] = False
    ) -> pl.DataFrame: ...

    @overload
    def to_polars(self, columns: Columns = None, filter: Any = None, *, lazy: Literal[True]) -> pl.LazyFrame: ...

    def to_polars(
        self,
        columns: Columns = None,
        filter: Any = None,  # noqa: A002
        *,
        lazy: bool = False,
    ) -> pl.DataFrame | pl.LazyFrame:
        """The rows as a polars frame; see :meth:`siltstone.Scan.to_polars`."""
        scan = self._rows(columns, filter)
        return scan.to_polars(lazy=True) if flag("lazy", lazy) else scan.to_polars()

    def to_dataset(self) -> pa.dataset.Dataset:
        """The table as a dataset of pyarrow, with push-down of columns and conditions; see :meth:`Scan.to_dataset`.

        Example:
            >>> import duckdb
            >>> orders = example_table().to_dataset()
            >>> duckdb.sql("select item from orders where id = 2").fetchall()
            [('ink',)]
        """
        return self._rows().to_dataset()

    def to_duckdb(self, connection: Any = None) -> Any:
        """The table as a relation of DuckDB; see :meth:`siltstone.Scan.to_duckdb`."""
        return self._rows().to_duckdb(connection)
