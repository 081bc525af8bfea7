"""Tables: :class:`Table` says what it is (``definition``), reads (``reading``) and writes (``writing``)."""

from __future__ import annotations

from siltstone.table.table import Table

__all__ = ["Table"]
