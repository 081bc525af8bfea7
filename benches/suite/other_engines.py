"""Engines that keep no Paimon table: polars, DuckDB and pyarrow over sorted parquet files, and deltalake over a table of Delta.

Of a keyed scenario polars and DuckDB write each commit as a file sorted by its key; a read keeps the newest row of each key, a
compaction writes what such a read gives into one file. pyarrow writes the same files, and merges nothing. deltalake merges each commit
into its table, so that its reads have nothing to merge, and compacts by its `optimize`. None of them syncs what it writes.
"""

import pathlib
from importlib.metadata import version
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def remove(paths: list[str]) -> None:
    """These files are replaced by a newer one."""
    for path in paths:
        pathlib.Path(path).unlink()


class SortedFiles:
    """Parquet files in a folder, in the order in which they were written."""

    phases = frozenset({"write", "read", "compact"})
    keys: list[str]
    library: str

    def hello(self) -> str:
        return version(self.library)

    def create(self, warehouse: str, scenario: dict, _schema: pa.Schema) -> None:
        pathlib.Path(warehouse).mkdir(parents=True, exist_ok=True)
        self.keys = scenario["primary_keys"]

    def files(self, warehouse: str) -> list[str]:
        return sorted(str(path) for path in pathlib.Path(warehouse).glob("data-*.parquet"))

    def next_file(self, warehouse: str) -> str:
        before = self.files(warehouse)
        number = int(pathlib.Path(before[-1]).stem.removeprefix("data-")) + 1 if before else 0
        return f"{warehouse}/data-{number:06}.parquet"

    def size(self, warehouse: str) -> int:
        return sum(pathlib.Path(path).stat().st_size for path in self.files(warehouse))


class Polars(SortedFiles):
    """polars: sort, `unique`."""

    library = "polars"

    def write(self, warehouse: str, data: pa.Table, *, keyed: bool) -> None:
        import polars as pl

        frame = pl.DataFrame(data)
        frame = frame.sort(self.keys) if keyed else frame
        frame.write_parquet(self.next_file(warehouse), compression="zstd", compression_level=1)

    def _merged(self, warehouse: str) -> Any:
        import polars as pl

        rows = pl.read_parquet(self.files(warehouse))
        one = len(self.files(warehouse)) == 1
        return rows.unique(self.keys, keep="last") if self.keys and not one else rows

    def read(self, warehouse: str) -> pa.Table:
        return self._merged(warehouse).to_arrow()

    def compact(self, warehouse: str, *, full: bool) -> None:  # noqa: ARG002
        old, rows = self.files(warehouse), self._merged(warehouse)
        rows = rows.sort(self.keys) if self.keys else rows
        rows.write_parquet(self.next_file(warehouse), compression="zstd", compression_level=1)
        remove(old)


class DuckDB(SortedFiles):
    """DuckDB: ORDER BY, the newest file of each key."""

    library = "duckdb"

    def _copy(self, connection: Any, query: str, out: str) -> None:
        order = f" ORDER BY {', '.join(self.keys)}" if self.keys else ""
        connection.execute(f"COPY ({query}{order}) TO '{out}' (FORMAT parquet, COMPRESSION zstd)")

    def write(self, warehouse: str, data: pa.Table, *, keyed: bool) -> None:  # noqa: ARG002
        import duckdb

        connection = duckdb.connect()
        connection.register("given", data)
        self._copy(connection, "SELECT * FROM given", self.next_file(warehouse))

    def _newest(self, warehouse: str) -> str:
        files = self.files(warehouse)
        if not self.keys or len(files) == 1:
            return f"SELECT * FROM read_parquet({files})"
        newest = f"row_number() OVER (PARTITION BY {', '.join(self.keys)} ORDER BY filename DESC) = 1"
        return f"SELECT * EXCLUDE (filename) FROM read_parquet({files}, filename = true) QUALIFY {newest}"

    def read(self, warehouse: str) -> pa.Table:
        import duckdb

        return duckdb.connect().sql(self._newest(warehouse)).to_arrow_table()

    def compact(self, warehouse: str, *, full: bool) -> None:  # noqa: ARG002
        import duckdb

        old = self.files(warehouse)
        self._copy(duckdb.connect(), self._newest(warehouse), self.next_file(warehouse))
        remove(old)


class PyArrow(SortedFiles):
    """pyarrow: sorted writes; it reads where nothing is to be merged."""

    library = "pyarrow"
    merges = False

    def write(self, warehouse: str, data: pa.Table, *, keyed: bool) -> None:
        rows = data.sort_by([(key, "ascending") for key in self.keys]) if keyed else data
        pq.write_table(rows, self.next_file(warehouse), compression="zstd", compression_level=1)

    def read(self, warehouse: str) -> pa.Table:
        return pa.concat_tables(pq.read_table(path) for path in self.files(warehouse))

    phases = frozenset({"write", "read"})


class DeltaLake:
    """deltalake: `merge`, `optimize.compact`."""

    phases = frozenset({"write", "read", "compact"})
    keys: list[str]

    def hello(self) -> str:
        return version("deltalake")

    def create(self, warehouse: str, scenario: dict, schema: pa.Schema) -> None:
        from deltalake import DeltaTable

        self.keys = scenario["primary_keys"]
        DeltaTable.create(warehouse, schema=schema)

    def write(self, warehouse: str, data: pa.Table, *, keyed: bool) -> None:
        from deltalake import DeltaTable, write_deltalake

        table = DeltaTable(warehouse)
        if not keyed or table.version() == 0:
            write_deltalake(table, data, mode="append")
            return
        same = " AND ".join(f"t.{key} = s.{key}" for key in self.keys)
        merge = table.merge(data, same, source_alias="s", target_alias="t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def read(self, warehouse: str) -> pa.Table:
        from deltalake import DeltaTable

        return DeltaTable(warehouse).to_pyarrow_table()

    def compact(self, warehouse: str, *, full: bool) -> None:  # noqa: ARG002
        from deltalake import DeltaTable

        DeltaTable(warehouse).optimize.compact()

    def size(self, warehouse: str) -> int:
        from deltalake import DeltaTable

        return sum(pa.table(DeltaTable(warehouse).get_add_actions(flatten=True))["size_bytes"].to_pylist())


OTHERS = {"polars": Polars, "duckdb": DuckDB, "pyarrow": PyArrow, "deltalake": DeltaLake}
