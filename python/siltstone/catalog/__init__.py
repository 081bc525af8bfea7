"""Catalogs: where databases and tables are found."""

from __future__ import annotations

from siltstone.catalog.catalog import Catalog
from siltstone.catalog.connecting import connect, open_table, scan_polars, table_of

__all__ = ["Catalog", "connect", "open_table", "scan_polars", "table_of"]
