"""Names of commands and options that people know from elsewhere, also from the API, and what they are called here."""

from __future__ import annotations

import click

#: Names that other programs have for commands, and the commands here.
COMMANDS = {
    "config": "-C NAME takes a catalog from siltstone.toml; show TABLE has its options",
    "connect": "-w WAREHOUSE or -C NAME, in front of a command",
    "copy": "export, and import",
    "create_database": "create DATABASE.TABLE --create-database --column 'NAME TYPE'",
    "count": "sql 'select count(*) from db.table'",
    "databases": "ls",
    "drop_database": "drop DATABASE. (with the dot)",
    "drop_table": "drop TABLE",
    "add_column": "alter TABLE --add-column 'NAME TYPE'",
    "create_table": "create TABLE --column 'NAME TYPE', or import TABLE FILE",
    "describe": "show TABLE",
    "desc": "show TABLE",
    "drop_column": "alter TABLE --drop-column NAME",
    "rename_column": "alter TABLE --rename-column OLD=NEW",
    "set": "alter TABLE --set KEY=VALUE",
    "upsert": "write TABLE FILE --mode upsert",
    "append": "write TABLE FILE",
    "overwrite": "write TABLE FILE --mode overwrite",
    "expire_snapshots": "expire snapshots TABLE",
    "gc": "expire snapshots TABLE, and clean orphans TABLE",
    "head": "cat TABLE --limit 10",
    "info": "show TABLE",
    "insert": "write TABLE FILE",
    "load": "write TABLE FILE",
    "log": "history TABLE",
    "optimize": "compact TABLE",
    "options": "show TABLE, and alter TABLE --set KEY=VALUE",
    "orphans": "clean orphans TABLE",
    "query": "sql QUERY",
    "read": "cat TABLE",
    "restore": "rollback TABLE --to VERSION",
    "schema": "show TABLE, or cat 'TABLE$schemas'",
    "schemas": "cat 'TABLE$schemas'",
    "select": "sql QUERY",
    "snapshots": "history TABLE, or cat 'TABLE$snapshots'",
    "stats": "report TABLE",
    "tables": "ls DATABASE",
    "tags": "tag list TABLE",
    "branches": "branch list TABLE",
    "truncate": "delete TABLE --where true",
    "vacuum": "expire snapshots TABLE, and clean orphans TABLE",
    "versions": "history TABLE",
}

#: Options, and what they are where a command has it.
OPTIONS = {
    "--filter": ("--where",),
    "--predicate": ("--where",),
    "--columns": ("--select",),
    "--column": ("--select",),
    "--version": ("--to", "--version"),
    "--snapshot": ("--version", "--to"),
    "--snapshot-id": ("--version", "--to"),
    "--timestamp": ("--as-of", "--to"),
    "--dry_run": ("--dry-run",),
    "--force": ("--yes",),
}

#: What is given instead of further arguments, by command.
_INSTEAD = {
    "create": "columns are given as --column 'NAME TYPE'; import TABLE FILE makes a table of a file",
    "alter": "changes are options, such as --add-column 'NAME TYPE' or --set KEY=VALUE",
    "cat": "columns are given as --select a,b, a condition as --where",
    "update": "values are given as --set COLUMN=VALUE, a condition as --where",
    "delete": "the condition is given as --where",
    "rollback": "the version is given as --to",
}


def with_hint(e: click.ClickException) -> click.ClickException:
    """An error of usage that says what is meant here, where that is known."""
    if not isinstance(e, click.UsageError) or e.ctx is None:
        return e
    command, said = e.ctx.command, e.message.rstrip(".")
    name = command.name or ""
    if isinstance(e, click.NoSuchOption):
        has = {option for parameter in command.params for option in parameter.opts}
        known = [option for option in OPTIONS.get(e.option_name, ()) if option in has]
        return click.UsageError(f"No such option '{e.option_name}': use {known[0]}", e.ctx) if known else e
    if said.startswith("Got unexpected extra argument") and name in _INSTEAD:
        return click.UsageError(f"{said}: {_INSTEAD[name]}", e.ctx)
    if said.startswith("No such command") and isinstance(command, click.Group) and e.ctx.parent is not None:
        verbs = ", ".join(command.list_commands(e.ctx))
        return click.UsageError(f"{said}: siltstone {name} is followed by one of {verbs}", e.ctx)
    return e
