"""What a table is: its name, place, columns, keys and options."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from siltstone import _core
from siltstone._args import shown
from siltstone._files import is_file_name
from siltstone._frames import is_column
from siltstone._numpy import of_numpy
from siltstone._pyarrow import MissingAttribute, has_pyarrow
from siltstone.errors import InvalidArgument

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

    def _key_rows(self, keys: Any) -> Any:
        """Keys of an argument as rows: a dict is one key, and so is a value where the key is one column."""
        keys = of_numpy(keys)
        if isinstance(keys, Mapping):
            return keys if any(isinstance(v, (list, tuple)) or is_column(v) for v in keys.values()) else [keys]
        if len(self.primary_key) == 1 and is_column(keys):
            return {self.primary_key[0]: keys}
        if isinstance(keys, (bytes, int, float, decimal.Decimal, dt.date, dt.time)) or (
            isinstance(keys, str) and not is_file_name(keys)
        ):
            keys = [keys]
        is_one = isinstance(keys, tuple) and len(keys) == len(self.primary_key) > 1
        if is_one and not any(isinstance(part, (Mapping, list, tuple)) for part in keys):
            keys = [keys]
        is_list = isinstance(keys, (list, tuple, set, frozenset, range))
        if is_list and not any(isinstance(k, Mapping) or dataclasses.is_dataclass(k) for k in keys):
            return [self._key_of(value) for value in keys]
        return keys

    def _key_of(self, value: Any) -> dict[str, Any]:
        key = self.primary_key
        parts = value if isinstance(value, tuple) else (value,)
        if len(parts) != len(key):
            one, several = ", ".join(key), ", ".join(f"{name!r}: ..." for name in key)
            raise InvalidArgument(
                f"{shown(value)} is not a key: the primary key has the columns {', '.join(key)}",
                hint=f"give values such as {one if len(key) == 1 else f'({one})'}, or dicts: {{{several}}}",
                context={"table": self.name},
            )
        return dict(zip(key, parts, strict=True))
