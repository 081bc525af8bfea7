"""Branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from siltstone.cli import output
from siltstone.cli.context import App, pass_app, plan_options, table_argument, with_options
from siltstone.cli.plans import carry_out, versions_gone
from siltstone.errors import SiltstoneError

if TYPE_CHECKING:
    from siltstone import Table
    from siltstone.report import UpkeepReport

_one = with_options(table_argument, click.argument("name"))
_two = with_options(table_argument, click.argument("source"), click.argument("target"))


@click.group()
def branch() -> None:
    """Manage branches: separate lines of versions."""


@branch.command("create")
@_one
@click.option("--tag", help="Start from this tag of main.")
@click.option("--version", help="Start from this snapshot of main, or from 'latest'. [default: an empty branch]")
@pass_app
def branch_create(app: App, table: str, name: str, tag: str | None, version: str | None) -> None:
    """Create a branch."""
    app.table(table).branches.create(name, tag=tag, version=version)
    output.record(app, {"branch": name})


@branch.command("list")
@table_argument
@pass_app
def branch_list(app: App, table: str) -> None:
    """List the branches."""
    output.rows(app, [{"name": b.name, "time": b.time} for b in app.table(table).branches.list()], ["name", "time"])


@branch.command("rename")
@_two
@pass_app
def branch_rename(app: App, table: str, source: str, target: str) -> None:
    """Rename a branch."""
    app.table(table).branches.rename(source, target)
    output.record(app, {"branch": target})


@branch.command("delete")
@_one
@plan_options
@pass_app
def branch_delete(app: App, table: str, name: str, dry_run: bool, yes: bool) -> None:
    """Delete a branch."""
    branches = app.table(table).branches
    carry_out(app, lambda dry: branches.delete(name, dry_run=dry), dry_run=dry_run, yes=yes)


@branch.command("fast-forward")
@_one
@plan_options
@pass_app
def branch_fast_forward(app: App, table: str, name: str, dry_run: bool, yes: bool) -> None:
    """Replace main by a branch.

    The snapshots and tags that main has got since the branch began are removed, with their rows.
    """
    t = app.table(table)

    def question(plan: UpkeepReport) -> str:
        theirs = app.table(f"{table}$branch_{name}")
        return f"main is at {_newest(t)}, branch '{name}' at {_newest(theirs)}: replace main by the branch, and remove \
{versions_gone(plan)} of main?"

    carry_out(app, lambda dry: t.branches.fast_forward(name, dry_run=dry), dry_run=dry_run, yes=yes, question=question)


def _newest(t: Table) -> str:
    try:
        newest = t.snapshot()
    except SiltstoneError:  # a fast-forward may be what mends it
        return "no version that can be read"
    return f"snapshot {newest.id} with {newest.total_rows} rows in files" if newest else "no snapshot"


COMMANDS: list[click.Command] = [branch]
