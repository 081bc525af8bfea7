"""System tables: ``db.table$snapshots``, ``sys.tables`` and their like, which are only read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Never, cast

from siltstone import _core
from siltstone._args import flag
from siltstone.errors import UnsupportedFeature
from siltstone.inspection import Inspected, Place, scan_of
from siltstone.predicate import Expression
from siltstone.scan import Scan
from siltstone.table import Table
from siltstone.table.whole import Whole

if TYPE_CHECKING:
    import pyarrow as pa


class SystemTable(Whole):
    """A table that is only read: it has what it is about, and answers to the names of a :class:`siltstone.Table`.

    It says what it is and can be scanned. Whatever else a table has is refused.

    Example:
        >>> t = example_table()
        >>> st.open_table(t.location + "$audit_log").delete("id = 1")
        Traceback (most recent call last):
            ...
        siltstone.errors.UnsupportedFeature: shop.orders$audit_log is a system table, which is only read: ...
        hint: use 'delete' of the table shop.orders
    """

    def __init__(self, about: Table | WholeCatalog, system: str) -> None:
        """Use :meth:`siltstone.Catalog.table` with the name of a system table."""
        self._about = about
        self._system = system
        self.scan()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as what it is about, and its name."""
        return SystemTable, (self._about, self._system)

    def __repr__(self) -> str:
        """Name and place."""
        return f"SystemTable({self.name!r}, {self.location!r})"

    def __getattr__(self, name: str) -> Any:
        """Refuse what a table has besides reading; a name that it has not is an ``AttributeError``, as everywhere."""
        member = None if name.startswith("_") else getattr(Table, name, None)
        if member is None:
            raise AttributeError(f"'SystemTable' object has no attribute '{name}'", name=name, obj=self)
        if isinstance(member, property):
            self.refuse(name)
        return self._refusal(name)

    def _refusal(self, name: str) -> Callable[..., Never]:
        def refused(*_: Any, **__: Any) -> Never:
            """Refused."""
            self.refuse(name)

        refused.__name__ = name
        return refused

    def refuse(self, what: str) -> Never:
        """Say that a system table has no such thing, and which table has.

        Raises:
            UnsupportedFeature: Always.
        """
        about = self._about.name if isinstance(self._about, Table) else None
        raise UnsupportedFeature(
            f"{self.name} is a system table, which is only read: it has no '{what}'",
            hint=f"use '{what}' of the table {about}" if about else "it is about all tables: open one by its name",
            context={"table": about} if about else {},
        )

    @property
    def system(self) -> str:
        """The part of the name that says which system table it is."""
        return self._system

    @property
    def name(self) -> str:
        """``db.table$name`` or ``sys.name``."""
        return f"{self._about.name}{self._separator}{self._system}"

    @property
    def path(self) -> str:
        """Directory, branch and system table in one text; of a whole catalog the name."""
        return f"{self._about.path}{self._separator}{self._system}"

    @property
    def _separator(self) -> str:
        return "$" if isinstance(self._about, Table) else "."

    @property
    def location(self) -> str:
        """The directory of the table that it is about, or the warehouse."""
        return self._about.location

    @property
    def branch(self) -> str:
        """The branch of the table that it is about."""
        return self._about.branch

    @property
    def schema_id(self) -> int:
        """Number of the schema of the table that it is about."""
        return self._about.schema_id

    @property
    def options(self) -> dict[str, str]:
        """Options of the table that it is about."""
        return self._about.options

    @property
    def dynamic_options(self) -> dict[str, str]:
        """Options given when it was opened."""
        return self._about.dynamic_options

    @property
    def comment(self) -> str | None:
        """The comment of the table that it is about."""
        return self._about.comment

    @property
    def schema(self) -> pa.Schema:
        """Columns as a pyarrow schema."""
        from siltstone._pyarrow import pa

        return pa.schema(self.scan())

    @property
    def primary_key(self) -> list[str]:
        """None."""
        return []

    @property
    def partition_by(self) -> list[str]:
        """None."""
        return []

    def _rows(
        self,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: A002
        limit: int | None = None,
    ) -> Scan:
        return self.scan(columns, filter) if limit is None else self.scan(columns, filter, limit=limit)

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
        return self._about.inspect(self._system, columns, filter, **query)


@dataclass(frozen=True)
class WholeCatalog:
    """What ``sys.tables`` and its like are about.

    Attributes:
        catalog: The catalog.
        location: Its warehouse.
    """

    catalog: Inspected
    location: str
    name: str = "sys"
    path: str = "sys"
    branch: str = "main"
    schema_id: int = 0
    comment: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    dynamic_options: dict[str, str] = field(default_factory=dict)

    def inspect(
        self,
        name: str,
        columns: Sequence[str] | None = None,
        filter: str | Expression | None = None,  # noqa: A002  # the API's name
        *,
        limit: int | None = None,
        **query: Any,
    ) -> Scan:
        """Describe a read; a catalog's tables have no versions."""
        if given := [key for key, value in query.items() if value is not None and value is not False]:
            raise UnsupportedFeature(f"sys.{name} is read without '{given[0]}'")
        return scan_of(Place(self.location, None, {}, self.catalog), name, columns, filter, limit)


def system_table(about: Table | WholeCatalog, system: str) -> Table:
    """A system table, which a type checker takes for a table: it has a table's names, most of which it refuses."""
    return cast("Table", SystemTable(about, system))


def table_or_system(core: _core.Table, system: str | None) -> Table:
    """A table, or the system table of it that a name asks for."""
    table = Table(core)
    return table if system is None else system_table(table, system)


def writable(table: Table) -> Table:
    """The table, unless it is a system table.

    Raises:
        UnsupportedFeature: It is one; the hint names the table to write to.
    """
    if isinstance(table, SystemTable):
        table.refuse("write")
    return table
