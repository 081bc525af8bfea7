"""What a table is made of and what would be done: partitions, drop-partition, explain, plan."""

from __future__ import annotations

from typing import Any

import click

from siltstone._visible import visible_lines
from siltstone.cli import output
from siltstone.cli.commands.read import query_options, scan_of
from siltstone.cli.context import App, pass_app, plan_options, table_argument


@click.command()
@table_argument
@pass_app
def partitions(app: App, table: str) -> None:
    """List partitions with their files, rows and bytes.

    Rows are those in files: older versions of a row and deletes count until a compaction.
    """
    found = app.table(table).partitions()
    rows = [{**p.spec, "files": p.files, "rows": p.rows, "bytes": p.bytes, "last_update": p.last_update} for p in found]
    output.rows(app, rows, null="NULL")


@click.command("drop-partition")
@table_argument
@click.argument("specs", nargs=-1, required=True, metavar="COLUMN=VALUE[,COLUMN=VALUE]...")
@plan_options
@pass_app
def drop_partition(app: App, table: str, specs: tuple[str, ...], dry_run: bool, yes: bool) -> None:
    """Drop partitions with all their rows.

    Rows in the question and the plan are those in files: older versions of a row and deletes count, too.

    For example: siltstone drop-partition shop.orders dt=2026-11-20
    """
    t = app.table(table)
    given = [_spec(text) for text in specs]
    plan = t.drop_partitions(given, dry_run=True)
    if dry_run:
        output.record(app, {"dry_run": True, "files": plan.files, "rows": plan.rows, "bytes": plan.bytes})
        return
    if not yes:
        click.confirm(f"remove {plan.files} files with {plan.rows} rows in them of {t.name}?", abort=True, err=True)
    report = t.drop_partitions(given)
    snapshots = [s.id for s in report.snapshots]
    output.record(app, {"files": report.files, "rows": report.rows, "bytes": report.bytes, "snapshots": snapshots})


def _spec(text: str) -> dict[str, str]:
    spec: dict[str, str] = {}
    for part in text.replace("/", ",").split(","):
        column, equals, value = part.partition("=")
        if not (column.strip() and equals) or column.strip() in spec:
            raise click.UsageError(f"{text!r} is not COLUMN=VALUE, for example dt=2026-11-20")
        spec[column.strip()] = value
    return spec


@click.command()
@table_argument
@click.option("-s", "--select", help="Columns to return, separated by commas.")
@query_options
@pass_app
def explain(app: App, /, table: str, select: str | None, **query: Any) -> None:
    """Print what a query would read: snapshot, files, splits."""
    columns = [c.strip() for c in select.split(",")] if select else None
    text = scan_of(app, table, columns, None, query).explain()
    if app.output == "json":
        output.record(app, {"explain": text})
    else:
        click.echo(visible_lines(text))


@click.command()
@table_argument
@click.option("--full", is_flag=True, help="Merge all files of each bucket, not only those that are due.")
@click.option("--where", help="Only partitions that satisfy this condition, for example \"dt < '2026-11-01'\".")
@click.option("--idle", help="Only partitions that were not written to for this long, for example '1 d' or '6 h'.")
@pass_app
def plan(app: App, table: str, full: bool, where: str | None, idle: str | None) -> None:
    """Print what a compaction would do."""
    found = app.table(table).maintenance.plan_compaction(full=full, where=where, idle=idle)
    fields = ["partition", "bucket", "files", "rows", "bytes"]
    output.rows(app, [{f: getattr(task, f) for f in fields} for task in found.tasks], fields)
    if not found.tasks:
        click.echo("nothing to do", err=True)


COMMANDS: list[click.Command] = [partitions, drop_partition, explain, plan]
