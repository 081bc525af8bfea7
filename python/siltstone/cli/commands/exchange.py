"""Rows from files and into files: write, import, export."""

from __future__ import annotations

import contextlib
import pathlib
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any

import click

from siltstone._operation import operation
from siltstone.cli import output
from siltstone.cli.commands.read import query_options, scan_of
from siltstone.cli.context import App, pass_app, table_argument
from siltstone.cli.new_file import new_file
from siltstone.errors import InvalidArgument, UnsupportedFeature

if TYPE_CHECKING:
    from siltstone import Table
    from siltstone.report import CommitReport

_FORMATS = ["csv", "json", "parquet", "orc", "arrow"]

files_argument = click.argument("files", nargs=-1, required=True, metavar="FILE...")
format_option = click.option(
    "--format", "kind", type=click.Choice(_FORMATS), help="Format of the standard input (FILE is -)."
)


@contextlib.contextmanager
def _named(files: tuple[str, ...], kind: str | None) -> Iterator[list[str]]:
    """The files, with what comes on the input as one of them."""
    if "-" not in files:
        if kind is not None:
            raise click.UsageError("--format is for the standard input (-): of a file the name says what it holds")
        yield list(files)
        return
    if kind is None or len(files) > 1:
        raise click.UsageError("- (the standard input) must be the only FILE, and needs --format")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"input.{kind}"
        with path.open("wb") as copy, click.open_file("-", "rb") as source:
            while data := source.read(1 << 20):
                copy.write(data)
        yield [str(path)]


def _write(app: App, t: Table, files: list[str], mode: str, made: dict[str, Any] | None = None) -> None:
    reports: list[CommitReport] = []
    if mode == "overwrite":
        if len(files) > 1:
            raise click.UsageError(
                "--mode overwrite takes one FILE, or a pattern in quotes: each one would replace the last"
            )
        reports.append(t.overwrite(files[0]))
    else:
        if mode == "upsert" and not t.primary_key:
            raise InvalidArgument(f"{t.name} has no primary key: use --mode append")
        with operation("write", t.name, unit="rows") as done, t.writer() as w:
            for name in files:
                w.write(name)
            reports.append(done(w.commit()))
    (report,) = reports
    snapshots = [s.id for s in report.snapshots]
    told = {"rows": report.rows, "files": report.files, "snapshots": snapshots, "notes": report.notes}
    output.record(app, told | (made or {}))


@click.command()
@table_argument
@files_argument
@format_option
@click.option(
    "--mode",
    type=click.Choice(["append", "upsert", "overwrite"]),
    default="append",
    show_default=True,
    help="Add rows, replace rows with the same key, or replace the partitions that the rows belong to.",
)
@pass_app
def write(app: App, table: str, files: tuple[str, ...], kind: str | None, mode: str) -> None:
    """Write files into a table, as one commit.

    A FILE ends with .parquet, .orc, .arrow, .csv or .json, or is - for the standard input. A pattern such as
    'days/*.parquet' names several; put it in quotes. Each is read by itself, with its own columns.
    """
    with _named(files, kind) as named:
        _write(app, app.table(table), named, mode)


def _columns(option: str, given: tuple[str, ...]) -> list[str]:
    names = [name.strip() for text in given for name in text.split(",")]
    if "" in names:
        raise click.UsageError(f"{option} has an empty name")
    return names


@click.command("import")
@table_argument
@files_argument
@format_option
@click.option("--primary-key", "keys", multiple=True, help="Key columns, separated by commas.")
@click.option("--partition-by", "partitions", multiple=True, help="Partition columns, separated by commas.")
@click.option("--create-database", is_flag=True, help="Create the database if it does not exist.")
@pass_app
def import_(
    app: App,
    table: str,
    files: tuple[str, ...],
    kind: str | None,
    keys: tuple[str, ...],
    partitions: tuple[str, ...],
    create_database: bool,
) -> None:
    """Create a table from files, and write their rows into it.

    The table, db.table, gets the columns of the first FILE. Columns of CSV and JSON have the narrowest type that holds
    all of their values: one that is no number, or has zeros in front, makes the column a STRING, and one with more
    digits than a DOUBLE has makes it a DECIMAL. The first 16 MiB of a CSV decide. The types are printed.
    """
    from siltstone._files import file_schema

    catalog = app.catalog()
    with _named(files, kind) as named:
        schema = file_schema(named[0])
        if create_database:
            catalog.create_database(table.partition(".")[0], if_not_exists=True)
        t = catalog.create_table(
            table,
            schema,
            primary_key=_columns("--primary-key", keys),
            partition_by=_columns("--partition-by", partitions),
        )
        try:
            _write(app, t, named, "append", {"columns": {f.name: str(f.type) for f in t.schema}})
        except BaseException:
            # somebody else may write into it by now, so it is not dropped
            click.echo(f"{table} was created, without these rows: go on with 'siltstone write', or drop it", err=True)
            raise


@click.command()
@table_argument
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("-s", "--select", help="Columns to export, separated by commas.")
@click.option("-n", "--limit", type=click.IntRange(min=0), default=0, help="Maximum number of rows; 0 means all.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@query_options
@pass_app
def export(app: App, /, table: str, file: str, select: str | None, limit: int, force: bool, **query: Any) -> None:
    """Write rows into a file.

    The name of FILE says its format: .parquet, .arrow, .csv or .json (one object per line). To write to the standard
    output use siltstone cat TABLE -o csv or -o json.
    """
    path = pathlib.Path(file)
    columns = [c.strip() for c in select.split(",")] if select else None
    scan = scan_of(app, table, columns, limit or None, query)
    with new_file(path, force=force) as made, operation("export", table, unit="rows") as done:
        rows = done(_export(scan, made, path.suffix.lower(), done.advance))
    output.record(app, {"file": str(path), "rows": rows, "bytes": path.stat().st_size})


def _export(scan: Any, made: IO[bytes], suffix: str, advance: Callable[[int], None]) -> int:
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    from siltstone._pyarrow import pa

    schema, rows = pa.schema(scan), 0
    if suffix in {".json", ".jsonl", ".ndjson"}:
        from siltstone.cli.values import rows_of

        for batch in scan.to_batches():
            rows += batch.num_rows
            advance(batch.num_rows)
            made.writelines(f"{output.json_text(row)}\n".encode() for row in rows_of(batch))
        return rows
    makers = {
        ".parquet": lambda: pq.ParquetWriter(made, schema),
        ".csv": lambda: pc.CSVWriter(made, schema),
        ".arrow": lambda: pa.ipc.new_file(made, schema),
    }
    if suffix not in makers:
        raise click.UsageError(
            f"the name of the file says its format: it must end with {', '.join([*makers, '.json'])}"
        )
    try:
        with makers[suffix]() as writer:
            for batch in scan.to_batches():
                rows += batch.num_rows
                advance(batch.num_rows)
                writer.write_batch(batch)
    except pa.ArrowException as e:
        hint = "nested values, and bytes that are no text, go into .json, .parquet and .arrow files"
        raise UnsupportedFeature(f"a {suffix} file cannot hold these rows: {e}", hint=hint) from e
    return rows


COMMANDS: list[click.Command] = [write, import_, export]
