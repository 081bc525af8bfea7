"""The SQL database of a JDBC catalog: Java's tables in it, and statements that are tried again while others hold it."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from siltstone.catalog import jdbc_waits
from siltstone.catalog.jdbc_url import DRIVERS, url_of
from siltstone.catalog.jdbc_waits import ROW_WAITS, WAITS, RowIsHeld, Use, answered, row_is_held
from siltstone.errors import StorageError, UnsupportedFeature

if TYPE_CHECKING:
    import sqlalchemy as sa

T = TypeVar("T")

#: Seconds that statements wait for others who write to a SQLite database, and between two tries.
_BUSY_SECONDS, _PAUSE_SECONDS = 60.0, 0.05
#: How often a transaction begins that meets rows of others who have made the same ones meanwhile.
_TRIES = 40


@dataclass(frozen=True)
class Tables:
    """The tables, as Java makes them (``JdbcUtils``)."""

    tables: sa.Table
    database_properties: sa.Table
    table_properties: sa.Table
    views: sa.Table
    locks: sa.Table


def _declared(sa: Any, lock_length: int) -> tuple[sa.MetaData, Tables]:
    metadata = sa.MetaData()

    def key(name: str, *, length: int = 255) -> sa.Column[str]:
        return sa.Column(name, sa.String(length), primary_key=True, nullable=False)

    catalog = ("catalog_key", "database_name")
    value = ("property_value", sa.String(1000))
    made = {
        "tables": [*map(key, catalog), key("table_name")],
        "database_properties": [*map(key, catalog), key("property_key"), sa.Column(*value)],
        "table_properties": [*map(key, catalog), key("table_name"), key("property_key"), sa.Column(*value)],
        "views": [*map(key, catalog), key("view_name"), sa.Column("view_schema", sa.Text, nullable=False)],
        "distributed_locks": [
            key("lock_id", length=lock_length),
            sa.Column("acquired_at", sa.TIMESTAMP, server_default=sa.text("CURRENT_TIMESTAMP"), nullable=False),
            sa.Column("expire_time_seconds", sa.BigInteger, server_default=sa.text("0"), nullable=False),
        ],
    }
    tables = [sa.Table(f"paimon_{name}", metadata, *columns) for name, columns in made.items()]
    return metadata, Tables(*tables)


class Database:
    """Connections to the database, and what is done with them.

    Each process has its own: after a fork the child's are made anew.
    """

    def __init__(self, options: Mapping[str, str], lock_length: int | None) -> None:
        """Connect, and make the tables that are missing; that of the locks where a length is given for their names.

        Raises:
            InvalidOption: The option ``uri`` is missing, or cannot be used.
            UnsupportedFeature: A database, or one whose driver is not installed.
            StorageError: The database does not answer.
        """
        try:
            import sqlalchemy as sa
        except ImportError:
            raise UnsupportedFeature(
                "a jdbc catalog needs SQLAlchemy, which is not installed", hint="pip install 'siltstone[sql-catalog]'"
            ) from None
        self.sa = sa
        self._url, self.dialect = url_of(sa, options)
        self._engines: dict[int, sa.Engine] = {}
        metadata, self.tables = _declared(sa, lock_length or 255)
        locks = [] if lock_length is None else [self.tables.locks]
        wanted = [self.tables.tables, self.tables.database_properties, self.tables.table_properties, *locks]
        self._make(metadata, wanted)
        self._views: bool | None = None

    def _make(self, metadata: sa.MetaData, wanted: Sequence[sa.Table]) -> None:
        def missing(connection: sa.Connection) -> list[sa.Table]:
            inspector = self.sa.inspect(connection)
            return [table for table in wanted if not inspector.has_table(table.name)]

        def make(table: sa.Table) -> Callable[[sa.Connection], None]:
            return lambda connection: metadata.create_all(connection, [table], checkfirst=False)

        for table in self.run(missing):
            try:
                self.run(make(table))
            except StorageError:
                # another process has made it meanwhile, or it cannot be made
                if table in self.run(missing):
                    raise

    def has_views(self) -> bool:
        """Whether there are views: newer releases of Java keep them here."""
        if not self._views:
            name = self.tables.views.name
            self._views = self.run(lambda connection: self.sa.inspect(connection).has_table(name))
        return self._views

    def run(self, work: Callable[[sa.Connection], T]) -> T:
        """Work in one transaction, from the beginning while others hold the database.

        Raises:
            StorageError: The database refuses, or does not answer.
        """
        errors = self.sa.exc
        until = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                return self._once(work)
            except errors.IntegrityError:
                raise
            except errors.OperationalError as e:
                if not _is_busy(e.orig) or time.monotonic() > until:
                    raise self._failed(e.orig) from None
                time.sleep(_PAUSE_SECONDS)
            except errors.DBAPIError as e:
                raise self._failed(e.orig) from None
            except errors.SQLAlchemyError as e:
                raise self._failed(e) from None

    def run_anew(self, work: Callable[[sa.Connection], T]) -> T:
        """The same, from the beginning also where others have made the same rows meanwhile.

        Raises:
            StorageError: They have each time; the database refuses, or does not answer.
        """
        for tries_left in reversed(range(_TRIES)):
            try:
                return self.run(work)
            except self.sa.exc.IntegrityError as e:
                if not tries_left:
                    raise self._failed(e.orig) from None
                time.sleep(_PAUSE_SECONDS)
        raise AssertionError("the last try returns or raises")

    def _once(self, work: Callable[[sa.Connection], T]) -> T:
        engine = self._engine()
        if self.dialect != "postgresql":
            with engine.begin() as connection:
                return work(connection)

        def use_of(use: Use) -> T:
            with engine.connect() as connection:
                use.of(connection.connection.driver_connection)
                try:
                    with connection.begin():
                        return work(connection)
                finally:
                    use.of(None)

        try:
            return answered(jdbc_waits.ANSWER_SECONDS, use_of)
        except TimeoutError as e:
            self._engines = {}  # what else it has may hang as well
            raise self._failed(e) from None

    def insert(
        self,
        table: sa.Table,
        rows: Sequence[Mapping[str, Any]],
        *,
        first: Callable[[sa.Connection], None] = lambda _: None,
    ) -> bool:
        """Insert rows, all or none, after something in the same transaction: False when one is there already."""

        def work(connection: sa.Connection) -> None:
            first(connection)
            connection.execute(self.sa.insert(table), list(rows))

        try:
            self.run(work)
        except self.sa.exc.IntegrityError:
            return False
        return True

    def insert_and_ask(self, table: sa.Table, row: Mapping[str, Any], question: sa.Select[Any]) -> str | None:
        """Insert a row and ask something about it; None when it is there already, or is about to be."""

        def work(connection: sa.Connection) -> str:
            if self.dialect in ROW_WAITS:
                connection.exec_driver_sql(ROW_WAITS[self.dialect])
            try:
                connection.execute(self.sa.insert(table), [dict(row)])
            except self.sa.exc.OperationalError as e:
                if row_is_held(e.orig):
                    raise RowIsHeld from None
                raise
            return str(connection.execute(question).scalar_one())

        try:
            return self.run(work)
        except (self.sa.exc.IntegrityError, RowIsHeld):
            return None

    def delete(self, *what: tuple[sa.Table, Sequence[Any]]) -> int:
        """Delete rows of tables that fulfil their conditions, at once: how many."""
        statements = [self.sa.delete(table).where(*conditions) for table, conditions in what]
        return self.run(lambda connection: sum(connection.execute(s).rowcount for s in statements))

    def replace(self, table: sa.Table, conditions: Sequence[Any], rows: Sequence[Mapping[str, Any]]) -> None:
        """Rows in the place of those that fulfil the conditions."""

        def work(connection: sa.Connection) -> None:
            connection.execute(self.sa.delete(table).where(*conditions))
            if rows:
                connection.execute(self.sa.insert(table), list(rows))

        self.run_anew(work)

    def set_properties(
        self,
        table: sa.Table,
        names: Mapping[str, str],
        given: Mapping[str, str],
        removed: Sequence[str],
        *,
        first: Callable[[sa.Connection], None],
    ) -> None:
        """Give properties their values, in the order of ``given``, and delete others; no other row is touched.

        Args:
            table: Where properties are.
            names: The values of the columns that say whose properties they are.
            given: Values by property.
            removed: Properties that go.
            first: What is done before, in the same transaction.
        """
        own = [table.c[column] == value for column, value in names.items()]

        def work(connection: sa.Connection) -> None:
            first(connection)
            for key, value in given.items():
                of_key = [*own, table.c.property_key == key]
                changed = connection.execute(self.sa.update(table).where(*of_key).values(property_value=value))
                if not changed.rowcount:
                    row = {**names, "property_key": key, "property_value": value}
                    connection.execute(self.sa.insert(table).values(row))
            if removed:
                connection.execute(self.sa.delete(table).where(*own, table.c.property_key.in_(removed)))

        self.run_anew(work)

    def _engine(self) -> sa.Engine:
        process = os.getpid()
        engine = self._engines.get(process)
        if engine is None:
            self._engines = {process: (engine := self._connected())}
        return engine

    def _connected(self) -> sa.Engine:
        waits = WAITS[self.dialect]
        try:
            engine = self.sa.create_engine(self._url, connect_args=waits, pool_pre_ping=self.dialect != "sqlite")
        except ImportError:
            driver = DRIVERS[self.dialect][1]
            raise UnsupportedFeature(
                f"a jdbc catalog in {self.dialect} needs {driver}, which is not installed",
                hint="pip install 'siltstone[sql-catalog]'",
            ) from None
        if self.dialect == "postgresql":
            self.sa.event.listen(engine, "connect", _as_java_connects)
        return engine

    def _failed(self, error: BaseException | None) -> StorageError:
        lines = str(error).strip().splitlines()
        where = self._url.render_as_string(hide_password=True)
        return StorageError(
            f"the catalog's database failed: {lines[0] if lines else type(error).__name__}",
            hint=f"check that {where} is right, and that the server is running",
        )


def _is_busy(error: BaseException | None) -> bool:
    """Whether others hold what a transaction needs, so that it may begin anew."""
    text = str(error).lower()
    return "locked" in text or "deadlock" in text


def _as_java_connects(connection: Any, _record: Any) -> None:
    """Times without a zone are local times of who wrote them: Java's driver sets its own zone, too."""
    offset = dt.datetime.now().astimezone().utcoffset() or dt.timedelta()
    seconds = int(offset.total_seconds())
    with connection.cursor() as cursor:
        cursor.execute(f"SET TIME ZONE INTERVAL '{seconds} seconds'")
    connection.commit()
