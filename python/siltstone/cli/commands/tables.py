"""Tables as a whole: alter, drop, rename."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from siltstone._visible import visible_lines
from siltstone.cli import output
from siltstone.cli.context import App, pass_app, table_argument, yes_option


@click.command()
@table_argument
@click.option("--rename-column", "renamed", multiple=True, metavar="OLD=NEW", help="Rename a column.")
@click.option("--add-column", "added", multiple=True, metavar='"NAME TYPE"', help="Add a column after the last one.")
@click.option("--set-type", "typed", multiple=True, metavar='"NAME TYPE"', help="Change the type of a column.")
@click.option("--drop-column", "dropped", multiple=True, metavar="NAME", help="Drop a column and its values.")
@click.option("--set", "options", multiple=True, metavar="KEY=VALUE", help="Set a table option.")
@click.option("--unset", "removed", multiple=True, metavar="KEY", help="Remove a table option.")
@click.option("--comment", help="Comment of the table.")
@yes_option
@pass_app
def alter(
    app: App,
    table: str,
    renamed: tuple[str, ...],
    added: tuple[str, ...],
    typed: tuple[str, ...],
    dropped: tuple[str, ...],
    options: tuple[str, ...],
    removed: tuple[str, ...],
    comment: str | None,
    yes: bool,
) -> None:
    """Change the columns, options or comment of a table.

    Changes are made in the order of the options below, as one new schema. All but --comment can be repeated. Where
    values may be lost (--drop-column, and a --set-type that does not hold all values) it asks first, unless --yes.
    """
    t = app.table(table)
    change = t.alter()
    steps: list[tuple[Callable[..., Any], tuple[str, ...]]] = [
        *[(change.rename_column, _pair("--rename-column", text, "OLD=NEW")) for text in renamed],
        *[(change.add_column, _typed("--add-column", text)) for text in added],
        *[(change.set_type, _typed("--set-type", text)) for text in typed],
        *[(change.drop_column, (name,)) for name in dropped],
        *[(change.set_option, _pair("--set", text, "KEY=VALUE")) for text in options],
        *[(change.remove_option, (key,)) for key in removed],
        *[(change.set_table_comment, (text,)) for text in (comment,) if text is not None],
    ]
    if not steps:
        raise click.UsageError("say what to change, for example --add-column 'note STRING'")
    for step, given in steps:
        step(*given)
    losses = change.losses()
    if not yes:
        _ask(t.name, dropped, losses)
    change.commit()
    columns = [{"name": f.name, "type": str(f.type), "nullable": f.nullable} for f in t.schema]
    output.record(app, {"table": t.name, "schema": t.schema_id, "columns": columns, "options": t.options})


def _ask(table: str, dropped: tuple[str, ...], losses: list[str]) -> None:
    """Ask before values are lost."""
    if dropped:
        click.confirm(f"drop {', '.join(dropped)} of {table} with all values?", abort=True, err=True)
    for text in losses:
        click.echo(visible_lines(text), err=True)
    if losses:
        click.confirm(f"change {table} so that values of {len(losses)} columns may be lost?", abort=True, err=True)


def _pair(option: str, text: str, form: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key.strip() and equals):
        raise click.UsageError(f"{option} {text!r} is not {form}")
    return key.strip(), value.strip()


def _typed(option: str, text: str) -> tuple[str, str]:
    match text.split(maxsplit=1):
        case [name, kind]:
            return name, kind
    raise click.UsageError(f"{option} {text!r} is not 'NAME TYPE'")


@click.command()
@table_argument
@click.option("--if-exists", is_flag=True, help="Do nothing if the table does not exist.")
@yes_option
@pass_app
def drop(app: App, table: str, if_exists: bool, yes: bool) -> None:
    """Drop a table with all its files.

    TABLE is db.table. With a trailing dot (db.) an empty database is dropped.
    """
    catalog = app.catalog()
    if table.endswith("."):
        catalog.drop_database(table[:-1], if_exists=if_exists)
        output.record(app, {"dropped": table[:-1]})
        return
    if not yes:
        click.confirm(f"drop {table} with all its files, tags and branches?", abort=True, err=True)
    catalog.drop_table(table, if_exists=if_exists)
    output.record(app, {"dropped": table})


@click.command()
@click.argument("source")
@click.argument("target")
@pass_app
def rename(app: App, source: str, target: str) -> None:
    """Rename a table: SOURCE and TARGET are db.table."""
    app.catalog().rename_table(source, target)
    output.record(app, {"table": target})


COMMANDS: list[click.Command] = [alter, drop, rename]
