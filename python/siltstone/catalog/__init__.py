"""Catalogs: where databases and tables are found."""

from __future__ import annotations

from siltstone.catalog.filesystem import Catalog, connect, open_table

__all__ = ["Catalog", "connect", "open_table"]
