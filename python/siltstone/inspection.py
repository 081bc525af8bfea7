"""Reading system tables: what a table, or a catalog, says about itself."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from siltstone import _core
from siltstone._args import count, millis, names, text, version_of
from siltstone._pushed import planned
from siltstone.errors import UnsupportedFeature
from siltstone.predicate import Expression, condition_of
from siltstone.scan import Scan, scan_request
from siltstone.split import Split


class SystemScan(Scan):
    """A query over a system table: a :class:`Scan` that has one split and no versions of its own."""

    def __init__(self, place: Place, system: str, request: Mapping[str, Any]) -> None:
        """Use :meth:`siltstone.Table.inspect`."""
        super().__init__(place.location, place.branch or "", place.options, request)
        self._place = place
        self._system = system

    def _plan(self) -> _core.Inspection:
        return planned(functools.partial(self._place.inspect, self._system), self._request, self._pushed)

    def _count(self) -> int:
        return self._plan().count()

    def splits(self) -> list[Split]:
        """Refused: a system table is read as a whole."""
        raise UnsupportedFeature(f"the system table '{self._system}' has no splits", hint="read it as a whole")

    def explain(self) -> str:
        """What would be read."""
        return f"system table {self._system} of {self._location}, read as a whole"

    def __repr__(self) -> str:
        """Table and request."""
        given = {k: v for k, v in self._request.items() if v is not None}
        return f"SystemScan({self._location}${self._system}, {given})"


class Inspected(Protocol):
    """A catalog, whose own system tables are read."""

    def _inspect(self, system: str, request: Mapping[str, Any]) -> _core.Inspection: ...


@dataclass(frozen=True)
class Place:
    """What a system table is about: a table, opened anew for each read, or a whole catalog where there is no branch."""

    location: str
    branch: str | None
    options: Mapping[str, str]
    catalog: Inspected | None = None

    def inspect(self, system: str, request: Mapping[str, Any]) -> _core.Inspection:
        """Begin a read of one of its system tables."""
        if self.catalog is not None:
            return self.catalog._inspect(system, request)  # noqa: SLF001  # what only this package asks of a catalog
        return _core.Table.open(self.location, self.options, self.branch or "main").inspect(system, request)


def scan_of(
    place: Place,
    system: str,
    columns: Sequence[str] | None = None,
    filter: str | Expression | None = None,  # noqa: A002  # the API's name
    limit: int | None = None,
) -> SystemScan:
    """Describe a read of a system table; see :meth:`siltstone.Table.inspect`."""
    listed = None if columns is None else names("columns", columns)
    request = {"columns": listed, "filter": condition_of(filter), "limit": count("limit", limit)}
    scan = SystemScan(place, system, request)
    scan.__arrow_c_schema__()  # unknown names and columns are errors now
    return scan


#: All system tables of a table, and what they are about: ``rows``, one ``snapshot``, or the ``table``.
SUBJECTS = dict(_core.Table.system_tables())


def is_about_table(name: str) -> bool:
    """Whether a name or a path means a system table that looks at no single version."""
    system = _core.system_of(name)
    return system is not None and SUBJECTS.get(system.lower()) not in ("rows", "snapshot")


def inspect(
    table: _core.Table,
    system: str,
    columns: Sequence[str] | None = None,
    filter: str | Expression | None = None,  # noqa: A002  # the API's name
    **query: Any,
) -> Scan:
    """Describe a read of a table's system table; see :meth:`siltstone.Table.inspect`."""
    if SUBJECTS.get(text("name", system).lower()) == "rows":
        return _view(table, system.lower(), columns, filter, **query)
    given = {key: value for key, value in query.items() if value is not None and value is not False}
    limit = given.pop("limit", None)
    asked = next((key for key in ("version", "tag", "as_of") if key in given), None)
    if asked and SUBJECTS.get(system.lower()) != "snapshot":
        raise UnsupportedFeature(
            f"the system table '${system}' looks at no single snapshot: it is read without '{asked}'"
        )
    options = {}
    if "version" in given:
        version = version_of("version", given.pop("version"))
        options["scan.snapshot-id" if isinstance(version, int) else "scan.version"] = str(version)
    if "tag" in given:
        options["scan.tag-name"] = text("tag", given.pop("tag"))
    if "as_of" in given:
        options["scan.timestamp-millis"] = str(millis(given.pop("as_of")))
    if given:
        raise UnsupportedFeature(f"the system table '${system}' is read without '{next(iter(given))}'")
    place = Place(table.location, table.branch, {**table.dynamic_options, **options})
    return scan_of(place, system, columns, filter, limit)


def _view(
    table: _core.Table,
    system: str,
    columns: Sequence[str] | None,
    filter: str | Expression | None,  # noqa: A002  # the API's name
    **query: Any,
) -> Scan:
    """A scan of a view of the rows; wrong columns and conditions are told at once."""
    request = scan_request(columns, filter, **query) | {"system": system}
    core = _core.Table.open(table.location, table.dynamic_options, table.branch)
    core.scan_schema(request)
    return Scan(table.location, table.branch, table.dynamic_options, request)
