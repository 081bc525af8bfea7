"""Tags, reading only: names of snapshots that are kept."""

from __future__ import annotations

from siltstone import _core
from siltstone.report import Snapshot


class Tags:
    """The tags of a table: ``t.tags``."""

    def __init__(self, table: _core.Table) -> None:
        """Use ``t.tags``."""
        self._table = table

    def list(self) -> list[str]:
        """Names of all tags, in order."""
        return self._table.tag_names()

    def exists(self, name: str) -> bool:
        """Whether there is a tag of this name."""
        return name in self.list()

    def get(self, name: str) -> Snapshot:
        """The tagged snapshot.

        Raises:
            TagNotFound: There is no such tag.
        """
        return Snapshot.from_json(self._table.tag(name))
