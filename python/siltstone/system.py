"""System tables: what a table says about itself, read like any other rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Never

from siltstone import _core
from siltstone._args import count, flag, millis, text, texts_in, version_of
from siltstone.errors import UnsupportedFeature
from siltstone.predicate import Expression, split_filter
from siltstone.read import Scan, Split, scan_request
from siltstone.table import Table

if TYPE_CHECKING:
    import pyarrow as pa


class SystemScan(Scan):
    """A query over a system table: a :class:`Scan` that has one split and no versions of its own."""

    def __init__(self, place: Place, system: str, request: Mapping[str, Any]) -> None:
        """Use :meth:`siltstone.Table.inspect`."""
        super().__init__(place.location, place.branch or "", place.options, request)
        self._place = place
        self._system = system

    def _plan(self) -> _core.Inspection:  # type: ignore[override]  # the part of a plan that a scan without splits uses
        return self._place.open().inspect(self._system, **self._request)

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


@dataclass(frozen=True)
class Place:
    """What a system table is about: a table, or a whole catalog when there is no branch."""

    location: str
    branch: str | None
    options: Mapping[str, str]

    def open(self) -> _core.Table | _core.Catalog:
        """Open it anew."""
        if self.branch is None:
            return _core.Catalog(self.location, self.options)
        return _core.Table.open(self.location, self.options, self.branch)


def scan_of(
    place: Place,
    system: str,
    columns: Sequence[str] | None = None,
    filter: str | Expression | None = None,  # noqa: A002  # the API's name
    limit: int | None = None,
) -> SystemScan:
    """Describe a read of a system table; see :meth:`siltstone.Table.inspect`."""
    sql, tree = split_filter(filter)
    listed = None if columns is None else texts_in("columns", list(columns))
    request = {"columns": listed, "filter_sql": sql, "filter_json": tree, "limit": count("limit", limit)}
    scan = SystemScan(place, system, request)
    scan.__arrow_c_schema__()  # unknown names and columns are errors now
    return scan


#: The table's rows in another form; they are scanned like the table itself.
VIEWS = ("audit_log", "binlog", "ro")
#: Those that look at one snapshot; the others are about the table.
OF_ONE_SNAPSHOT = frozenset(
    {"files", "file_key_ranges", "manifests", "partitions", "buckets", "statistics", "table_indexes"}
)


def inspect(
    table: Table,
    system: str,
    columns: Sequence[str] | None = None,
    filter: str | Expression | None = None,  # noqa: A002  # the API's name
    **query: Any,
) -> Scan:
    """Describe a read of a table's system table; see :meth:`siltstone.Table.inspect`."""
    if text("name", system).lower() in VIEWS:
        return _view(table, system.lower(), columns, filter, **query)
    given = {key: value for key, value in query.items() if value is not None and value is not False}
    limit = given.pop("limit", None)
    asked = next((key for key in ("version", "tag", "as_of") if key in given), None)
    if asked and system.lower() not in OF_ONE_SNAPSHOT:
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
    table: Table,
    system: str,
    columns: Sequence[str] | None,
    filter: str | Expression | None,  # noqa: A002  # the API's name
    **query: Any,
) -> Scan:
    """A scan of a view of the rows; wrong columns and conditions are told at once."""
    request = scan_request(columns, filter, **query) | {"system": system}
    core = _core.Table.open(table.location, table.dynamic_options, table.branch)
    core.view_schema(system, request["columns"], request["filter_sql"], request["filter_json"])
    return Scan(table.location, table.branch, table.dynamic_options, request)


def names() -> list[str]:
    """Names of all system tables of a table."""
    return _core.Table.system_tables()


class SystemTable(Table):
    """``db.table$snapshots`` and its like: a table that is only read.

    It says what it is and can be scanned. Whatever else a :class:`siltstone.Table` has is refused, because it would
    reach the table that the system table is about.

    Example:
        >>> t = example_table()
        >>> st.open_table(t.location + "$audit_log").delete("id = 1")
        Traceback (most recent call last):
            ...
        siltstone.errors.UnsupportedFeature: shop.orders$audit_log is a system table, which is only read: ...
        hint: use 'delete' of the table shop.orders
    """

    def __init__(self, core: _core.Table, system: str) -> None:
        """Use :meth:`siltstone.Catalog.table` with the name of a system table."""
        super().__init__(core)
        self._system = system
        inspect(self, system)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as location, dynamic options, branch and name."""
        return _open, (self.location, self.dynamic_options, self.branch, self._system)

    @property
    def name(self) -> str:
        """``db.table$name``."""
        return f"{super().name}${self._system}"

    @property
    def system(self) -> str:
        """The part behind ``$``."""
        return self._system

    @property
    def path(self) -> str:
        """Directory, branch and system table in one text."""
        return f"{super().path}${self._system}"

    @property
    def schema(self) -> pa.Schema:
        """Columns as a pyarrow schema."""
        import pyarrow as pa

        return pa.schema(self.scan())

    @property
    def primary_key(self) -> list[str]:
        """None."""
        return []

    @property
    def partition_by(self) -> list[str]:
        """None."""
        return []

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | Expression | None = None,  # noqa: A002  # the API's name
        *,
        row_kind: bool = False,
        **query: Any,
    ) -> Scan:
        """Describe a read.

        Args:
            columns: Columns, in this order; None for all.
            filter: A predicate over the system table's columns.
            row_kind: Refused: ``$audit_log`` has the kinds as a column.
            query: What else :meth:`siltstone.Table.inspect` takes.

        Raises:
            UnsupportedFeature: An argument that only tables of rows take.
        """
        if flag("row_kind", row_kind):
            raise UnsupportedFeature(f"the rows of {self.name} have no kinds of their own")
        return inspect(self, self._system, columns, filter, **query)

    def refuse(self, what: str) -> Never:
        """Say that a system table has no such thing, and which table has.

        Raises:
            UnsupportedFeature: Always.
        """
        about = self._about
        raise UnsupportedFeature(
            f"{self.name} is a system table, which is only read: it has no '{what}'",
            hint=f"use '{what}' of the table {about}" if about else "it is about all tables: open one by its name",
            context={"table": about} if about else {},
        )

    @property
    def _about(self) -> str | None:
        """The table that it is about; None for a whole catalog."""
        return self._core.name


class CatalogSystemTable(SystemTable):
    """``sys.tables`` and its like: a system table about a whole catalog."""

    def __init__(self, warehouse: str, options: Mapping[str, str], system: str) -> None:
        """Use :meth:`siltstone.Catalog.table` with a name such as ``sys.tables``."""
        self._warehouse = warehouse
        self._catalog_options = dict(options)
        self._system = system
        self.scan()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as warehouse, options and name."""
        return CatalogSystemTable, (self._warehouse, self._catalog_options, self._system)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | Expression | None = None,  # noqa: A002  # the API's name
        *,
        limit: int | None = None,
        **query: Any,
    ) -> Scan:
        """Describe a read; a catalog's tables have no versions."""
        if given := [key for key, value in query.items() if value is not None and value is not False]:
            raise UnsupportedFeature(f"{self.name} is read without '{given[0]}'")
        return scan_of(Place(self._warehouse, None, self._catalog_options), self._system, columns, filter, limit)

    @property
    def _about(self) -> str | None:
        return None

    @property
    def name(self) -> str:
        """``sys.name``."""
        return f"sys.{self._system}"

    @property
    def path(self) -> str:
        """Its name: there is no directory."""
        return self.name

    @property
    def location(self) -> str:
        """The warehouse."""
        return self._warehouse

    @property
    def branch(self) -> str:
        """Always ``main``."""
        return "main"

    @property
    def options(self) -> dict[str, str]:
        """None."""
        return {}

    dynamic_options = options

    @property
    def comment(self) -> str | None:
        """None."""
        return None

    @property
    def schema_id(self) -> int:
        """Always 0."""
        return 0


def writable(table: Table) -> Table:
    """The table, unless it is a system table.

    Raises:
        UnsupportedFeature: It is one; the hint names the table to write to.
    """
    if isinstance(table, SystemTable):
        table.refuse("write")
    return table


#: What a system table has of a table's public members.
_KEPT = frozenset(
    {
        *("name", "location", "branch", "path", "scan", "schema", "schema_id", "primary_key", "partition_by"),
        *("options", "dynamic_options", "comment"),
    }
)


def _refusal(name: str, member: Any) -> Any:
    """A member like one of :class:`siltstone.Table` that says where to find it."""
    if isinstance(member, property):
        return property(lambda self: self.refuse(name), doc="Refused.")

    def refused(self: SystemTable, *_: Any, **__: Any) -> Never:
        """Refused."""
        self.refuse(name)

    refused.__name__ = name
    return refused


# by what is kept, not by what is refused: a member that Table gets later is refused, too
for _name in dir(Table):
    if not _name.startswith("_") and _name not in _KEPT:
        setattr(SystemTable, _name, _refusal(_name, getattr(Table, _name)))


def _open(location: str, options: Mapping[str, str], branch: str, system: str) -> SystemTable:
    return SystemTable(_core.Table.open(location, dict(options), branch), system)
