"""Partitions of tables in a Hive metastore, where ``metastore.partitioned-table`` asks for them."""

from __future__ import annotations

import contextlib
import posixpath
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from siltstone import _core
from siltstone.catalog.hive_client import HiveClient
from siltstone.catalog.hive_tables import Tables
from siltstone.errors import BranchNotFound
from siltstone.versions import Snapshot

#: Partitions that are added in one request.
_AT_ONCE = 500
#: All partitions of a table.
_ALL = -1


class Partitions:
    """Brings the metastore's partitions of a table to what its newest version has."""

    def __init__(self, client: HiveClient, tables: Tables, storage: Mapping[str, str]) -> None:
        """Nothing is asked yet."""
        self._client, self._tables, self._storage = client, tables, dict(storage)
        self._seen: dict[str, dict[str, Snapshot | None]] = {}

    def sync(self, table: Any, location: str) -> None:
        """Add partitions that have files, in any branch, and drop those that have none any more.

        Raises:
            StorageError: The metastore does not answer, or refuses.
        """
        main = self._opened(location, "main")
        branches = {"main": main}
        for name, _ in main.maintenance.branches():
            with contextlib.suppress(BranchNotFound):  # just dropped, or without a schema: it has no files
                branches[name] = self._opened(location, name)
        newest = {name: branch.snapshot(None) for name, branch in branches.items()}
        if self._seen.get(location) == newest:
            return
        # first what the metastore has, then the table: what the table lacks was dropped, and is not just coming
        known = self._known(table)
        found = {folder for name, seen in newest.items() if seen for folder in self._folders(branches[name])}
        by_values = {tuple(_values(folder)): folder for folder in found}
        self._add(table, location, [folder for values, folder in sorted(by_values.items()) if values not in known])
        for values in known - by_values.keys():
            self._drop(table, list(values))
        self._seen[location] = newest

    def move(self, table: Any, location: str) -> None:
        """Write down other locations of the partitions of a table that has moved."""
        parts = self._client.call("get_partitions", table.dbName, table.tableName, _ALL)
        depth = len(table.partitionKeys)
        for part in parts:
            folder = "/".join(self._tables.partition_place(part).rstrip("/").split("/")[-depth:])
            self._tables.move_partition(part, self._place(table, location, folder))
        for begin in range(0, len(parts), _AT_ONCE):
            self._client.call("alter_partitions", table.dbName, table.tableName, parts[begin : begin + _AT_ONCE])

    def _opened(self, location: str, branch: str) -> _core.Table:
        return _core.Table.open(location, self._storage, branch)

    @staticmethod
    def _folders(opened: _core.Table) -> Iterator[str]:
        """Directories of partitions, ``dt=1/k=2``, each once."""
        from siltstone._pyarrow import pa

        seen: set[str] = set()
        depth = len(opened.partition_by)
        request = {"columns": ["file_path"], "filter": None, "limit": None}
        for batch in opened.inspect("files", request).read():
            for path in pa.record_batch(batch).column(0).to_pylist():
                # the last two parts are the bucket's directory and the file's name
                folder = "/".join(path.split("/")[-2 - depth : -2])
                if folder not in seen:
                    seen.add(folder)
                    yield folder

    def _known(self, table: Any) -> set[tuple[str, ...]]:
        names = self._client.call("get_partition_names", table.dbName, table.tableName, _ALL)
        return {tuple(_values(name)) for name in names}

    def _add(self, table: Any, location: str, folders: list[str]) -> None:
        types = self._client.types
        for begin in range(0, len(folders), _AT_ONCE):
            made = [
                self._tables.partition(table, _values(folder), self._place(table, location, folder))
                for folder in folders[begin : begin + _AT_ONCE]
            ]
            request = types.AddPartitionsRequest(
                table.dbName, table.tableName, made, ifNotExists=True, needResult=False
            )
            self._client.call("add_partitions_req", request)

    def _drop(self, table: Any, values: list[str]) -> None:
        gone = self._client.types.NoSuchObjectException
        try:
            self._client.call("drop_partition", table.dbName, table.tableName, values, False, expected=(gone,))
        except gone:
            return

    @staticmethod
    def _place(table: Any, location: str, folder: str) -> str:
        inside = (table.parameters or {}).get("data-file.path-directory", "")
        return posixpath.join(location, inside, folder)


def _values(folder: str) -> list[str]:
    """Values of a partition's directory or name, in the order of the columns."""
    return [urllib.parse.unquote(part.partition("=")[2]) for part in folder.split("/")]
