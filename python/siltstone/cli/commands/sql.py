"""SQL over the tables of a catalog, by DuckDB."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import click

from siltstone._duckdb import alike, for_duckdb
from siltstone._visible import visible
from siltstone.cli import output
from siltstone.cli.context import App, pass_app
from siltstone.cli.query import Query
from siltstone.cli.values import rows_of
from siltstone.errors import InvalidArgument, SiltstoneError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What DuckDB says of a Ctrl-C that it has noticed itself.
_INTERRUPTED = "Query interrupted"
#: Schemas and catalogs of DuckDB that are there before any other.
_OWN = {"information_schema", "memory", "pg_catalog", "system", "temp"}


@click.command()
@click.argument("query")
@pass_app
def sql(app: App, query: str) -> None:
    """Run a SQL query over the tables of the catalog.

    Tables are named db.table; names with $ are quoted: shop."orders$snapshots". Each is read as it is now: older
    versions are read by siltstone cat. DuckDB runs the query: pip install 'siltstone[duckdb]'.

    Columns and conditions are pushed into the tables. Statements that change something are refused, and so are tables
    with columns whose names differ only in case: DuckDB takes them for one. siltstone ls lists tables, and siltstone
    show TABLE their columns: of these DuckDB knows only what the query names.
    """
    try:
        import duckdb
    except ImportError:
        raise click.UsageError("siltstone sql needs DuckDB: pip install 'siltstone[duckdb]'") from None

    failed: list[SiltstoneError] = []
    try:
        connection = duckdb.connect()
        try:
            _register(app, connection, _tables(connection, query), failed)
        except BaseException:
            connection.close()
            raise
        with Query(connection, query) as running:
            rows = (row for batch in running.batches() for row in rows_of(batch))
            output.rows(app, rows, running.columns, null="NULL")
    except duckdb.Error as e:
        if failed:  # DuckDB has it as a text of several lines
            raise failed[0] from None
        said = f"DuckDB: {_in_lines(str(e))}"
        wrong = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException, duckdb.SyntaxException)
        if isinstance(e, wrong):
            raise click.UsageError(said) from e
        raise SiltstoneError(said) from e
    except RuntimeError as e:
        if str(e) != _INTERRUPTED:
            raise
        raise KeyboardInterrupt from e


def _tables(connection: Any, query: str) -> set[tuple[str, str]]:
    """Databases and names of the tables that a query reads."""
    ((text,),) = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    tree = json.loads(text)
    if tree.get("error"):
        raise click.UsageError(f"this cannot be run as a query: {_said(query, str(tree.get('error_message')))}")
    if len(tree["statements"]) != 1:
        raise click.UsageError("give one query, not several")
    if shown := _SHOWS.match(query):
        raise click.UsageError(
            "DuckDB knows only the tables that a query names: use siltstone ls, or siltstone ls DATABASE"
            if shown["tables"] or not shown["rest"]
            else "DuckDB knows no keys and no NOT NULL: use siltstone show TABLE, or DESCRIBE SELECT ..."
        )
    return set(_named(tree))


#: First words of statements that are no queries, and the command that does it.
_COMMANDS = {
    "delete": "siltstone delete TABLE --where CONDITION",
    "update": "siltstone update TABLE --set COLUMN=VALUE --where CONDITION",
    "insert": "siltstone write TABLE FILE",
    "merge": "t.merge(source, on) in Python, or siltstone write TABLE FILE --mode upsert",
    "create": "siltstone create TABLE",
    "drop": "siltstone drop TABLE",
    "alter": "siltstone alter TABLE",
    "truncate": "siltstone delete TABLE --where true",
    "call": "siltstone call PROCEDURE",
}
#: Statements that ask for tables or columns: DuckDB answers from what was registered for the query.
_SHOWS = re.compile(
    r"\s*(?:show|describe|desc)\b(?!\s+(?:select|from|with|values)\b|\s*\()"
    r"\s*(?P<tables>(?:all\s+)?tables|databases|schemas)?\s*(?P<rest>[^\s;]*)",
    re.IGNORECASE,
)
_TRAVEL = re.compile(r"\b(?:version|timestamp|system_time)\s+as\s+of\b", re.IGNORECASE)


def _said(query: str, error: str) -> str:
    """What to do instead of a statement that is no query; else what DuckDB says."""
    first = query.split(maxsplit=1)[0].lower() if query.strip() else ""
    if first in _COMMANDS:
        return f"{visible(first)} is no query: use {_COMMANDS[first]}"
    if _TRAVEL.search(query):
        return "DuckDB has no AS OF for versions: use siltstone cat TABLE with --version, --tag or --as-of"
    return _in_lines(error)


def _in_lines(text: str) -> str:
    """A text of DuckDB, which has lines of its own."""
    return "\n".join(visible(line) for line in text.splitlines())


def _named(tree: Any) -> Iterator[tuple[str, str]]:
    if isinstance(tree, dict):
        if tree.get("type") == "BASE_TABLE" and tree.get("schema_name"):
            yield tree["schema_name"], tree["table_name"]
        for part in tree.values():
            yield from _named(part)
    elif isinstance(tree, list):
        for part in tree:
            yield from _named(part)


def _register(app: App, connection: Any, tables: set[tuple[str, str]], failed: list[SiltstoneError]) -> None:
    """The tables that a query names, as views; what fails while they are read is kept in a list.

    Raises:
        InvalidArgument: DuckDB has a database of this name itself, or takes two of the tables for one.
        UnsupportedFeature: It takes two columns of a table for one.
    """
    if own := next((database for database, _ in sorted(tables) if database.lower() in _OWN), None):
        raise InvalidArgument(
            f"a query cannot name the database '{own}': DuckDB has one of this name itself",
            hint="siltstone ls lists the tables; those of a database of that name are read with siltstone cat",
        )
    if pair := alike(".".join(table) for table in sorted(tables)):
        raise InvalidArgument(
            f"the tables '{pair[0]}' and '{pair[1]}' differ only in case, which DuckDB does not tell apart",
            hint="name one of them in a query, or join them in Python",
        )
    for at, (database, table) in enumerate(sorted(tables)):
        connection.register(f"_siltstone_{at}", for_duckdb(app.table(f"{database}.{table}").scan(), failed))
        schema, view = (part.replace('"', '""') for part in (database, table))
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        connection.execute(f'CREATE VIEW "{schema}"."{view}" AS FROM _siltstone_{at}')


COMMANDS: list[click.Command] = [sql]
