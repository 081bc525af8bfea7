"""Looking at rows: cat, count."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import click

from siltstone._args import number
from siltstone.cli import output
from siltstone.cli.context import App, pass_app, table_argument
from siltstone.cli.values import rows_of

if TYPE_CHECKING:
    from siltstone import Scan


def query_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say which rows of which version."""
    for option in (
        click.option(
            "--as-of", help="Read the version of this time: ISO 8601, local time without a zone, or epoch milliseconds."
        ),
        click.option("--tag", help="Read the version that this tag names."),
        click.option("--version", help="Read this version: a tag name or a snapshot id."),
        click.option(
            "--between", metavar="START,END", help="Read what changed after START up to END: snapshot ids or tags."
        ),
        click.option(
            "--mode",
            type=click.Choice(["auto", "delta", "changelog", "diff"]),
            help="How --between finds changes: files of commits (delta), the changelog, or both versions (diff).",
        ),
        click.option(
            "--where", help="Only rows that satisfy this condition, for example \"dt = '2026-11-20' AND amount > 10\"."
        ),
    ):
        command = option(command)
    return command


def scan_of(app: App, table: str, columns: list[str] | None, limit: int | None, query: dict[str, Any]) -> Scan:
    """The scan that a command asks for."""
    as_of = query["as_of"]
    return app.table(table).scan(
        columns,
        query["where"],
        version=query["version"],
        tag=query["tag"],
        as_of=None if as_of is None else number(as_of),
        between=_between(query["between"]),
        mode=query["mode"],
        limit=limit,
    )


def _between(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    start, comma, end = (part.strip() for part in text.partition(","))
    if not (start and comma and end) or "," in end:
        raise click.UsageError("--between takes START,END, for example 3,7")
    return start, end


@click.command()
@table_argument
@click.option("-s", "--select", help="Columns to return, separated by commas.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    help="Maximum number of rows; 0 means all.",
)
@query_options
@pass_app
def cat(app: App, /, table: str, select: str | None, limit: int, **query: Any) -> None:
    """Print the rows of a table."""
    columns = [c.strip() for c in select.split(",")] if select else None
    scan = scan_of(app, table, columns, limit or None, query)
    items = (row for batch in scan.to_batches() for row in rows_of(batch))
    output.rows(app, items, columns, null="NULL")


@click.command()
@table_argument
@query_options
@pass_app
def count(app: App, /, table: str, **query: Any) -> None:
    """Count the rows of a table."""
    n = scan_of(app, table, None, None, query).count()
    if app.output == "json":
        output.record(app, {"count": n})
    else:
        click.echo(n)


@click.command()
@table_argument
@click.option(
    "--start",
    help="First snapshot: an id, a tag, a time, or 'full' to begin with all rows. [default: the earliest]",
)
@click.option("--end", help="Last snapshot: an id, a tag, or a time. [default: the latest]")
@click.option("--consumer", help="Continue where this consumer stopped, and remember its new position.")
@click.option("--follow", is_flag=True, help="Do not stop at the end, but wait for new snapshots.")
@click.option("--where", help="Only rows that satisfy this condition.")
@pass_app
def changes(  # one argument an option
    app: App,
    table: str,
    start: str | None,
    end: str | None,
    consumer: str | None,
    follow: bool,
    where: str | None,
) -> None:
    """Print the changes that each snapshot made.

    Its id is the column snapshot; _snapshot in a table that has a column of that name.
    """
    t = app.table(table)
    place = _free("snapshot", t.schema.names)
    stream = t.changes(_place(start), _place(end), consumer=consumer, follow=follow, filter=where)
    for batch in stream:
        output.rows(app, ({place: batch.snapshot_id, **row} for row in rows_of(batch)), null="NULL")


def _free(name: str, taken: Collection[str]) -> str:
    """A name that no column has."""
    return _free(f"_{name}", taken) if name in taken else name


def _place(text: str | None) -> str | int | None:
    return None if text is None else number(text)


COMMANDS = [cat, count, changes]
