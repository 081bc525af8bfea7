"""The health of a table: report."""

from __future__ import annotations

import dataclasses

import click

from siltstone.cli import output
from siltstone.cli.context import App, pass_app, table_argument


@click.command()
@table_argument
@click.option("--html", type=click.Path(dir_okay=False), help="Also write the report as a page to this file.")
@click.option("--orphans/--no-orphans", default=True, help="Also look for files that no version needs.")
@pass_app
def report(app: App, table: str, html: str | None, orphans: bool) -> None:
    """Show the health of a table.

    What it is made of, what its versions keep, and what upkeep would do now.
    Changes nothing. Pages need matplotlib: pip install 'siltstone[plot]'.
    """
    from siltstone.health.pictures import keeper_name
    from siltstone.system import writable

    found = writable(app.table(table)).report(html, orphans=orphans)
    if app.output == "json":
        output.record(app, dataclasses.asdict(found))
        return
    output.record(app, {"name": found.name, "snapshot": found.snapshot, **dataclasses.asdict(found.totals)})
    levels = [dataclasses.asdict(level) for level in found.levels]
    kept = [
        {"kept by": keeper_name(k), "snapshot": k.snapshot, "bytes": k.bytes, "by this alone": k.only_bytes}
        for k in found.keepers
    ]
    advice = [
        {"upkeep": a.operation, "files": a.files, "bytes": a.bytes, "win": a.failure or a.win, "command": a.command}
        for a in found.advice
    ]
    for rows in (levels, kept, advice):
        if rows:
            click.echo()
            output.rows(app, rows)
    if found.skipped_versions:
        click.echo(found.skipped_note(), err=True)


COMMANDS = [report]
