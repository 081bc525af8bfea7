"""Tags and rollback."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from siltstone._args import number
from siltstone.cli import output
from siltstone.cli.context import App, pass_app, plan_options, table_argument, with_options
from siltstone.cli.plans import carry_out, versions_gone

if TYPE_CHECKING:
    from siltstone.report import UpkeepReport
    from siltstone.versions import Tag

TAG_COLUMNS = ["name", "snapshot", "commit_time", "rows", "create_time", "time_retained"]


def _tag(tag: Tag) -> dict[str, Any]:
    return {
        "name": tag.name,
        "snapshot": tag.id,
        "commit_time": tag.commit_time,
        "rows": tag.record_count,
        "create_time": tag.create_time,
        "time_retained": tag.time_retained,
    }


@click.group()
def tag() -> None:
    """Manage tags: named snapshots that do not expire."""


def _create(app: App, /, table: str, name: str, **how: Any) -> None:
    output.record(app, _tag(app.table(table).tags.create(name, **how)))


def _delete(app: App, table: str, name: str, *, dry_run: bool, yes: bool) -> None:
    tags = app.table(table).tags
    carry_out(app, lambda dry: tags.delete(name, dry_run=dry), dry_run=dry_run, yes=yes)


_source = with_options(
    click.option("--version", help="Snapshot id, or another tag. [default: the latest snapshot]"),
    click.option("--as-of", help="The newest snapshot at or before this time, for example 2026-11-20T08:00."),
    click.option("--retain", help="Delete the tag after this long, for example '30 d'."),
)
_numeric = click.option(
    "--allow-numeric", is_flag=True, help="Allow a name of digits only, which looks like a snapshot id."
)
_new = with_options(
    _source, click.option("--if-not-exists", is_flag=True, help="Do nothing if the tag exists."), _numeric
)
_version = click.option("--version", "--snapshot", help="Snapshot id, or another tag. [default: the latest snapshot]")
_java_new = with_options(
    _version,
    click.option("--as-of", help="The newest snapshot at or before this time, for example 2026-11-20T08:00."),
    click.option("--retain", "--time_retained", help="Delete the tag after this long, for example '30 d'."),
    click.option("--if-not-exists", is_flag=True, help="Do nothing if the tag exists."),
    _numeric,
)


def _named(command: Callable[..., None]) -> Callable[..., None]:
    """A table and a tag as the arguments of Java's actions name them, or shorter; the command gets app and table."""

    @with_options(
        click.argument("place", metavar="[TABLE]", required=False),
        click.option("--name", "--tag_name", "--tag-name", required=True, help="Name of the tag."),
        click.option("--database", help="Database, with --table instead of TABLE."),
        click.option("--table", help="Table, with --database instead of TABLE."),
        click.option("--warehouse", help="Root directory of the catalog."),
    )
    @functools.wraps(command)
    def named(
        app: App,
        /,
        place: str | None,
        database: str | None,
        table: str | None,
        warehouse: str | None,
        **rest: Any,
    ) -> None:
        if (place is None) == (table is None) or (database is None) != (table is None):
            raise click.UsageError("give the table as TABLE, or as --database and --table")
        app = app if warehouse is None else dataclasses.replace(app, warehouse=warehouse)
        command(app, place or f"{database}.{table}", **rest)

    return named


def _java(command: click.Command) -> click.Command:
    """The same command with underscores, as Java's actions are called."""
    alias = copy.copy(command)
    alias.name, alias.hidden = (command.name or "").replace("-", "_"), True
    return alias


_one = with_options(table_argument, click.argument("name"))
_two = with_options(table_argument, click.argument("source"), click.argument("target"))


@tag.command("create")
@_one
@_new
@pass_app
def tag_create(app: App, /, table: str, name: str, **how: Any) -> None:
    """Create a tag."""
    _create(app, table, name, **how)


@click.command("create-tag")
@_java_new
@pass_app
@_named
def create_tag(app: App, /, table: str, name: str, **how: Any) -> None:
    """Create a tag; arguments are named as in Java.

    The same as `tag create`, with the arguments of Java's action create_tag.
    """
    _create(app, table, name, **how)


@tag.command("replace")
@_one
@_source
@pass_app
def tag_replace(app: App, /, table: str, name: str, **how: Any) -> None:
    """Move an existing tag to another snapshot."""
    output.record(app, _tag(app.table(table).tags.replace(name, **how)))


@tag.command("list")
@table_argument
@pass_app
def tag_list(app: App, table: str) -> None:
    """List tags, by snapshot. Rows are those in files: older versions of a row and deletes count, too."""
    output.rows(app, [_tag(t) for t in app.table(table).tags.list()], TAG_COLUMNS)


@tag.command("show")
@_one
@pass_app
def tag_show(app: App, table: str, name: str) -> None:
    """Show a tag, and the tags before and after it."""
    tags = app.table(table).tags
    output.record(app, {**_tag(tags.get(name)), "previous": tags.previous(name), "next": tags.next(name)})


@tag.command("rename")
@_two
@_numeric
@pass_app
def tag_rename(app: App, table: str, source: str, target: str, allow_numeric: bool) -> None:
    """Rename a tag."""
    tags = app.table(table).tags
    tags.rename(source, target, allow_numeric=allow_numeric)
    output.record(app, _tag(tags.get(target)))


@tag.command("delete")
@_one
@plan_options
@pass_app
def tag_delete(app: App, table: str, name: str, dry_run: bool, yes: bool) -> None:
    """Delete a tag, and the files that only it needs."""
    _delete(app, table, name, dry_run=dry_run, yes=yes)


@click.command("delete-tag")
@plan_options
@pass_app
@_named
def delete_tag(app: App, table: str, name: str, dry_run: bool, yes: bool) -> None:
    """Delete a tag; arguments are named as in Java.

    The same as `tag delete`, with the arguments of Java's action delete_tag.
    """
    _delete(app, table, name, dry_run=dry_run, yes=yes)


def expire_tags(app: App, table: str, older_than: str | None, *, dry_run: bool, yes: bool) -> None:
    """What `tag expire` and `expire tags` do."""
    tags = app.table(table).tags
    carry_out(app, lambda dry: tags.expire(older_than=older_than, dry_run=dry), dry_run=dry_run, yes=yes)


@tag.command("expire")
@table_argument
@click.option(
    "--older-than", help="Also tags older than this, whatever their retention: a duration such as '7 d', or a time."
)
@plan_options
@pass_app
def tag_expire(app: App, table: str, older_than: str | None, dry_run: bool, yes: bool) -> None:
    """Delete the tags whose retention time is over."""
    expire_tags(app, table, older_than, dry_run=dry_run, yes=yes)


@click.command()
@table_argument
@click.option("--to", "target", required=True, help="The version to return to: a tag, a snapshot id, or a time.")
@plan_options
@pass_app
def rollback(app: App, table: str, target: str, dry_run: bool, yes: bool) -> None:
    """Return to an earlier version, and remove all later ones.

    Data files of the removed versions stay until `clean orphans` deletes them.
    """
    t = app.table(table)
    where: dict[str, Any]
    if t.tags.exists(target):
        where = {"tag": target}
    elif target.isdecimal():
        where = {"version": number(target)}
    elif target[:4].isdecimal() and "-" in target[4:6]:
        where = {"as_of": target}
    else:
        where = {"tag": target}

    def question(plan: UpkeepReport) -> str:
        return f"go back to snapshot {plan.details['current_snapshot']}, and remove {versions_gone(plan)} after it?"

    carry_out(app, lambda dry: t.rollback(**where, dry_run=dry), dry_run=dry_run, yes=yes, question=question)


COMMANDS: list[click.Command] = [
    tag,
    create_tag,
    _java(create_tag),
    delete_tag,
    _java(delete_tag),
    rollback,
]
