"""Changing rows: delete, update."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from siltstone.cli import output
from siltstone.cli.context import App, pass_app, plan_options, table_argument

if TYPE_CHECKING:
    from siltstone.report import CommitReport


def _print(app: App, report: CommitReport) -> None:
    snapshots = [s.id for s in report.snapshots]
    output.record(app, {"affected_rows": report.affected_rows, "snapshots": snapshots, "notes": report.notes})


@click.command()
@table_argument
@click.option("--where", required=True, help='The rows to delete, for example "id = 3".')
@plan_options
@pass_app
def delete(app: App, table: str, where: str, dry_run: bool, yes: bool) -> None:
    """Delete the rows that satisfy a condition, as one commit."""
    t = app.table(table)
    if dry_run:
        output.record(app, {"dry_run": True, "affected_rows": t.scan(filter=where).count()})
        return
    if not yes:
        click.confirm(f"delete {t.scan(filter=where).count()} rows of {t.name}?", abort=True, err=True)
    _print(app, t.delete(where=where))


@click.command()
@table_argument
@click.option(
    "--set",
    "assignments",
    required=True,
    multiple=True,
    help='New value as column=expression, for example "amount=amount * 2". Can be repeated.',
)
@click.option("--where", required=True, help='The rows to update, for example "id = 3"; "true" means all.')
@pass_app
def update(app: App, table: str, assignments: tuple[str, ...], where: str) -> None:
    """Update the rows that satisfy a condition, as one commit."""
    pairs = [text.partition("=") for text in assignments]
    for text, (column, equals, value) in zip(assignments, pairs, strict=True):
        if not (column.strip() and equals and value.strip()):
            raise click.UsageError(f"--set {text!r} is not column=expression")
    columns = [column.strip() for column, _, _ in pairs]
    if twice := next((column for column in columns if columns.count(column) > 1), None):
        raise click.UsageError(f"--set gives column {twice} two values")
    _print(app, app.table(table).update({c.strip(): v.strip() for c, _, v in pairs}, where=where))


COMMANDS = [delete, update]
