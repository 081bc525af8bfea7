"""Changes of a table's definition, collected and committed as one new schema."""

from __future__ import annotations

import json
from typing import Any, Self

from siltstone import _core


class Alter:
    """A chain of changes: ``t.alter().set_option("k", "v").commit()``.

    Example:
        >>> t = example_table()
        >>> t.alter().set_option("snapshot.num-retained.max", "20").commit()
        >>> t.options["snapshot.num-retained.max"]
        '20'
    """

    def __init__(self, table: _core.Table) -> None:
        """Use :meth:`siltstone.Table.alter`."""
        self._table = table
        self._changes: list[dict[str, Any]] = []

    def _add(self, kind: str, **values: Any) -> Self:
        self._changes.append({"kind": kind, **values})
        return self

    def set_option(self, key: str, value: str) -> Self:
        """Set a table option.

        Args:
            key: Option key, as in Java Paimon.
            value: Value as text.
        """
        return self._add("set_option", key=key, value=str(value))

    def remove_option(self, key: str) -> Self:
        """Remove a table option, so that its default applies."""
        return self._add("remove_option", key=key)

    def set_table_comment(self, comment: str | None) -> Self:
        """Set or (None) remove the table's comment."""
        return self._add("comment", comment=comment)

    def commit(self) -> None:
        """Write the new schema.

        Raises:
            UnknownOption: A key that Paimon does not know.
            InvalidOption: A value that cannot be used, or an option that cannot change any more.
            IllegalSchemaChange: A change that the format forbids.
        """
        self._table.alter(json.dumps(self._changes))
        self._changes.clear()
