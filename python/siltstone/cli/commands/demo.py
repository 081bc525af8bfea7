"""The demonstration."""

from __future__ import annotations

import sys

import click

from siltstone.cli.context import App, pass_app


@click.command()
@click.option("--keep", type=click.Path(), help="Keep the warehouse in this directory.")
@click.option("--rows", type=click.IntRange(min=1), help="Only the first rows of each month, for a quick look.")
@pass_app
def demo(app: App, keep: str | None, rows: int | None) -> None:
    """Run the demonstration on Spark.

    It loads a year of real flights, corrects them, compacts the table on executors, and checks every row.
    """
    from siltstone.demo import run

    sys.exit(0 if run(keep=keep, rows_a_month=rows, output=app.output, color=app.color) else 1)


COMMANDS = [demo]
