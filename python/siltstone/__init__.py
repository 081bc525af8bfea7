"""Apache Paimon tables for Python and PySpark: read, write, compact, without a JVM.

Example:
    >>> import siltstone as st
    >>> cat = st.connect(tmp)
    >>> cat.create_database("shop")
    >>> t = cat.create_table("shop.orders", {"id": "BIGINT", "item": "STRING"}, primary_key=["id"],
    ...                      options={"bucket": "2"})
    >>> _ = t.upsert([{"id": 1, "item": "pen"}, {"id": 2, "item": "ink"}])
    >>> t.scan(filter="id = 2").to_arrow().to_pylist()
    [{'id': 2, 'item': 'ink'}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from siltstone._computed import lit
from siltstone._core import __version__
from siltstone._progress import progress
from siltstone._spellings import unknown_name
from siltstone.catalog import Catalog, connect, open_table, scan_polars
from siltstone.errors import SiltstoneError
from siltstone.merge import Merge
from siltstone.predicate import Expression, col
from siltstone.report import CommitReport, MergeReport
from siltstone.scan import Scan
from siltstone.split import Split
from siltstone.table import Partition, Table, TableStats
from siltstone.versions import Snapshot

__all__ = [
    "Catalog",
    "CommitReport",
    "Expression",
    "Merge",
    "MergeReport",
    "Partition",
    "Scan",
    "SiltstoneError",
    "Snapshot",
    "Split",
    "Table",
    "TableStats",
    "__version__",
    "col",
    "connect",
    "lit",
    "open_table",
    "progress",
    "scan_polars",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Refuse what other libraries have under this name, and say what it is here."""
        raise unknown_name(name, __all__)
