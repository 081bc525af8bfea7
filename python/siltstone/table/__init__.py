"""Tables: :class:`Table` says what it is (``definition``), reads (``reading``), writes (``writing``) and so on."""

from __future__ import annotations

from siltstone.table.parts import Partition, TableStats
from siltstone.table.table import Table

__all__ = ["Partition", "Table", "TableStats"]
