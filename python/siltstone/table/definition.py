"""What a table is: its name, place, columns, keys and options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siltstone import _core
from siltstone._pyarrow import MissingAttribute, has_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa


class Definition:
    """The properties of :class:`siltstone.Table`."""

    def __init__(self, core: _core.Table) -> None:
        """Use :meth:`siltstone.Catalog.table` or :func:`siltstone.open_table`."""
        self._core = core

    @property
    def name(self) -> str:
        """``db.table``."""
        return self._core.name

    @property
    def location(self) -> str:
        """The table's directory."""
        return self._core.location

    @property
    def branch(self) -> str:
        """The branch, ``main`` when none."""
        return self._core.branch

    @property
    def path(self) -> str:
        """Directory and branch in one text, as :func:`siltstone.open_table` takes them."""
        return self.location if self.branch == "main" else f"{self.location}$branch_{self.branch}"

    @property
    def dynamic_options(self) -> dict[str, str]:
        """Options given when the table was opened."""
        return self._core.dynamic_options

    @property
    def schema(self) -> pa.Schema:
        """Columns as a pyarrow schema (docs/types.md: which type becomes which)."""
        if not has_pyarrow():
            raise MissingAttribute
        from siltstone._pyarrow import pa

        return pa.schema(self._core.arrow_schema())

    @property
    def schema_id(self) -> int:
        """Number of the schema that this handle works with."""
        return self._core.schema_id

    @property
    def primary_key(self) -> list[str]:
        """Primary-key columns; empty for append tables."""
        return self._core.primary_key

    @property
    def partition_by(self) -> list[str]:
        """Partition columns."""
        return self._core.partition_by

    @property
    def options(self) -> dict[str, str]:
        """Options as stored in the schema, with the dynamic ones of this handle on top."""
        return self._core.options

    @property
    def comment(self) -> str | None:
        """The table's comment."""
        return self._core.comment
