"""Looking at catalogs and tables: ls, show, history, files, doctor, version."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from siltstone.cli import output
from siltstone.cli.context import App, pass_app, table_argument

if TYPE_CHECKING:
    from siltstone import Table


@click.command()
@click.argument("name", required=False)
@pass_app
def ls(app: App, name: str | None) -> None:
    """List databases, or the tables of a database."""
    catalog = app.catalog()
    if name is None:
        output.rows(
            app,
            [{"database": d, "tables": len(catalog.tables(d))} for d in catalog.databases()],
            ["database", "tables"],
        )
    else:
        output.rows(app, [{"table": f"{name}.{t}"} for t in catalog.tables(name)], ["table"])


@click.command()
@table_argument
@pass_app
def show(app: App, table: str) -> None:
    """Show the definition of a table and the shape of its files."""
    from siltstone.system import SystemTable

    t = app.table(table)
    is_system = isinstance(t, SystemTable)
    latest = None if is_system else t.snapshot()
    info: dict[str, Any] = {
        "name": t.name,
        "location": t.location,
        "comment": t.comment,
        "primary_key": t.primary_key,
        "partition_by": t.partition_by,
        "bucket_mode": None if is_system else t.bucket_mode,
        "options": t.options,
        "snapshot": latest.id if latest else None,
        "snapshot_time": latest.time if latest else None,
        "rows_in_files": None if is_system else latest.total_rows if latest else 0,
    }
    columns = [
        {"name": f.name, "type": str(f.type), "nullable": f.nullable, "key": f.name in t.primary_key} for f in t.schema
    ]
    levels = [] if is_system else _levels(t)
    if app.output == "json":
        output.record(app, {**info, "columns": columns, "levels": levels})
        return
    output.record(app, {k: v for k, v in info.items() if v not in (None, [], {})})
    click.echo()
    output.rows(app, columns)
    if levels:
        click.echo()
        output.rows(app, levels if app.output == "csv" else _with_bars(levels))


#: Letters of the longest bar.
_BAR = 30


def _levels(t: Table) -> list[dict[str, Any]]:
    """Files, rows, bytes and sorted runs of each level."""
    from siltstone.health.files import levels_of

    return [dataclasses.asdict(level) for level in levels_of(t)]


def _with_bars(levels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The levels, with their shares of the bytes as bars."""
    total = sum(level["bytes"] for level in levels)
    mark = output.drawn("\u2588", "#")
    return [{**level, "": _bar(level["bytes"], total, mark)} for level in levels]


def _bar(size: int, total: int, mark: str) -> str:
    share = size / total if total else 0
    return f"{mark * max(1, round(share * _BAR))} {share:.0%}"


@click.command()
@table_argument
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Maximum number of snapshots, newest first.",
)
@pass_app
def history(app: App, table: str, limit: int) -> None:
    """List the newest snapshots. Times are in UTC, with +00:00; --as-of takes them as they stand here.

    total_rows are rows in files: older versions of a row and deletes count until a compaction. A terminal that is too
    narrow shows no users, and then no identifiers; with -o json they are always there.
    """
    from siltstone.report import as_dict

    snapshots = app.table(table).history(limit)
    rows = [as_dict(s) for s in snapshots]
    if app.output == "table":
        rows = [
            row | {"time": s.time.isoformat(timespec="milliseconds")} for s, row in zip(snapshots, rows, strict=True)
        ]
    columns = ["id", "time", "kind", "user", "identifier", "total_rows", "delta_rows"]
    output.rows(app, rows, columns, spare=["user", "identifier"])


@click.command()
@table_argument
@click.option("--version", type=int, help="Snapshot id. [default: the latest]")
@pass_app
def files(app: App, table: str, version: int | None) -> None:
    """List the data files of a snapshot."""
    columns = ["partition", "bucket", "level", "name", "rows", "bytes", "min_key", "max_key"]
    output.rows(app, app.table(table).files(version=version), columns)


@click.command()
@table_argument
@pass_app
def doctor(app: App, table: str) -> None:
    """List the features that a table uses, and their support."""
    from siltstone.report import as_dict

    output.rows(app, [as_dict(f) for f in app.table(table).features()], ["name", "value", "support", "reason"])


@click.command()
@pass_app
def version(app: App) -> None:
    """Print the versions of siltstone and of the table format."""
    import siltstone as st

    output.record(app, {"siltstone": st.__version__, "writes": "Paimon 1.4", "reads": "Paimon 0.8 to 2.x"})


COMMANDS = [ls, show, history, files, doctor, version]
