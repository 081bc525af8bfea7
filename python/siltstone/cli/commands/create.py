"""Making a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import IO, Any

import click

from siltstone.cli import output
from siltstone.cli.context import App, pass_app, table_argument


@click.command()
@table_argument
@click.option("--column", "columns", multiple=True, metavar='"NAME TYPE"', help="Add a column. Can be repeated.")
@click.option(
    "--schema",
    type=click.File(encoding="utf-8"),
    help="Read all columns from a JSON file, or from the standard input (-).",
)
@click.option("--primary-key", "keys", multiple=True, help="Key columns, separated by commas.")
@click.option("--partition-by", "partitions", multiple=True, help="Partition columns, separated by commas.")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Set a table option. Can be repeated.")
@click.option("--comment", help="Comment of the table.")
@click.option("--if-not-exists", is_flag=True, help="Do nothing if the table exists.")
@click.option("--create-database", is_flag=True, help="Create the database if it does not exist.")
@pass_app
def create(
    app: App,
    table: str,
    columns: tuple[str, ...],
    schema: IO[str] | None,
    keys: tuple[str, ...],
    partitions: tuple[str, ...],
    options: tuple[str, ...],
    comment: str | None,
    if_not_exists: bool,
    create_database: bool,
) -> None:
    """Create the table db.table.

    \b
    siltstone create shop.orders --create-database --column "id BIGINT" --column "amount DECIMAL(12,2)" --primary-key id
    siltstone create shop.orders --schema columns.json --partition-by dt --option bucket=4

    The JSON is {"id": "BIGINT NOT NULL"} or a list of fields as in the table's schema files. Without the option bucket
    a table with a key has dynamic buckets.
    """  # noqa: D301  # click takes the character, not its escape
    if (schema is None) == (not columns):
        raise click.UsageError("give the columns, by --column or by --schema")
    catalog = app.catalog()
    database, dot, _ = table.partition(".")
    if create_database and dot:
        catalog.create_database(database, if_not_exists=True)
    made = catalog.create_table(
        table,
        _columns(columns) if schema is None else _read(schema),
        primary_key=_names("--primary-key", keys),
        partition_by=_names("--partition-by", partitions),
        options=dict(_once("--option", (_pair(text) for text in options))),
        comment=comment,
        if_not_exists=if_not_exists,
    )
    output.record(
        app,
        {
            "table": made.name,
            "location": made.location,
            "primary_key": made.primary_key,
            "partition_by": made.partition_by,
            "buckets": made.bucket_mode,
        },
    )


def _columns(given: Iterable[str]) -> dict[str, str]:
    def column(text: str) -> tuple[str, str]:
        match text.split(maxsplit=1):
            case [name, kind]:
                return name, kind
        raise click.UsageError(f"--column {text!r} is not 'NAME TYPE'")

    return dict(_once("--column", (column(text) for text in given)))


def _read(schema: IO[str]) -> Any:
    def once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        return dict(_once("--schema", pairs))

    try:
        return json.load(schema, object_pairs_hook=once)
    except ValueError as e:
        raise click.UsageError(f"--schema is not JSON: {e}") from e


def _names(option: str, given: Iterable[str]) -> list[str]:
    names = [name.strip() for text in given for name in text.split(",")]
    if "" in names:
        raise click.UsageError(f"{option} has an empty name")
    return names


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key.strip() and equals):
        raise click.UsageError(f"--option {text!r} is not KEY=VALUE")
    return key.strip(), value


def _once(option: str, pairs: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, Any]]:
    """The pairs, none of whose names comes twice."""
    seen: set[str] = set()
    for name, value in pairs:
        if name in seen:
            raise click.UsageError(f"{option} gives {name} twice")
        seen.add(name)
        yield name, value


COMMANDS = [create]
