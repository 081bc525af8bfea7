"""Procedures by their Java names."""

from __future__ import annotations

import click

from siltstone.cli import output
from siltstone.cli.context import App, pass_app


@click.command()
@click.argument("procedure")
@click.argument("arguments", nargs=-1, metavar="[ARGUMENT=VALUE]...")
@pass_app
def call(app: App, procedure: str, arguments: tuple[str, ...]) -> None:
    """Run one of Paimon's procedures.

    Give its name and ARGUMENT=VALUE pairs, or a whole CALL statement.

    \b
    siltstone call create_tag table=shop.orders tag=v1
    siltstone call "CALL sys.create_tag(table => 'shop.orders', tag => 'v1')"
    """  # noqa: D301  # click takes the character, not its escape
    from siltstone.procedures import Call, is_call, parse_call, run_call

    if is_call(procedure):
        if arguments:
            raise click.UsageError("a CALL statement already holds its arguments")
        parsed = parse_call(procedure)
    else:
        pairs = [pair.partition("=") for pair in arguments]
        if bad := next((name for name, sign, _ in pairs if not sign or not name), None):
            raise click.UsageError(f"'{bad}' is not ARGUMENT=VALUE")
        names = [name for name, _, _ in pairs]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise click.UsageError(f"{twice} is given twice")
        parsed = Call(procedure.removeprefix("sys.").lower(), named={name: value for name, _, value in pairs})
    result = run_call(
        parsed,
        app.table,
        tables=lambda database: app.catalog().tables(database),
        databases=lambda: app.catalog().databases(),
    )
    output.rows(app, [dict(zip(result.columns, row, strict=True)) for row in result.rows], result.columns, null="NULL")


COMMANDS = [call]
