"""Entry point: runs a command and turns errors into exit codes."""

from __future__ import annotations

import contextlib
import difflib
import io
import logging
import sys
from collections.abc import Iterator, Sequence

import click

from siltstone._core import __version__
from siltstone._progress import by_environment, progress
from siltstone._visible import visible_lines
from siltstone.cli import elsewhere, exits, query, streams
from siltstone.cli.commands import (
    branches,
    call,
    change,
    compact,
    create,
    demo,
    exchange,
    maintenance,
    parts,
    read,
    report,
    shell,
    show,
    sql,
    tables,
    versions,
)
from siltstone.cli.context import App
from siltstone.cli.output import FORMATS
from siltstone.errors import SiltstoneError

#: Options of the program itself without a value, which no command has.
_FLAGS = frozenset(("-v", "--verbose", "--no-color", "--no-progress"))
#: Those with one.
_WITH_VALUE = frozenset(("-o", "--output", "-w", "--warehouse", "-C", "--catalog"))


class Commands(click.Group):
    """The commands; a procedure that is taken for one is told apart, and options of the program may stand anywhere."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments, with those of the program itself in front, where click takes them."""
        return super().parse_args(ctx, _own_first(args))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with.

        Raises:
            UsageError: There is none; the text says what it is called here, or how a procedure of that name is called.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as e:
            from siltstone.procedures import PROCEDURES

            name = args[0].removeprefix("sys.").replace("-", "_").lower()
            if name in PROCEDURES:
                text = f"'{args[0]}' is a procedure: siltstone call {name} table=... (siltstone call -h)"
                raise click.UsageError(text, e.ctx) from None
            known = elsewhere.COMMANDS.get(name) or " or ".join(
                difflib.get_close_matches(args[0], self.list_commands(ctx), n=2)
            )
            if not known:
                raise
            raise click.UsageError(f"No such command '{args[0]}': use siltstone {known}", e.ctx) from None


def _own_first(args: Sequence[str]) -> list[str]:
    """``cat t -o json`` as ``-o json cat t``, and so with -w, -C and -v; what stands behind ``--`` is no option."""
    first: list[str] = []
    rest: list[str] = []
    at = 0
    while at < len(args):
        arg = args[at]
        if arg == "--":
            rest.extend(args[at:])
            break
        if arg in _WITH_VALUE and args[at + 1 : at + 2]:
            first.extend(args[at : at + 2])
            at += 2
            continue
        if arg in _FLAGS or (arg.startswith("--") and arg.partition("=")[0] in _WITH_VALUE and "=" in arg):
            first.append(arg)
        else:
            rest.append(arg)
        at += 1
    return [*first, *rest]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-w",
    "--warehouse",
    envvar="SILTSTONE_WAREHOUSE",
    help="The directory or URI that holds the databases; needed for names such as db.table. [env: SILTSTONE_WAREHOUSE]",
)
@click.option(
    "-C",
    "--catalog",
    envvar="SILTSTONE_CATALOG",
    help="A catalog defined in siltstone.toml; --warehouse replaces its warehouse. [env: SILTSTONE_CATALOG]",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="The format of the output. -o, -w, -C and -v may stand behind the command, too.",
)
@click.option("--no-color", is_flag=True, help="Print without colors.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Log one line to stderr for each commit, compaction, expiry and so on."
)
@click.option("--no-progress", is_flag=True, help="Show no progress bars. [env: SILTSTONE_PROGRESS=0]")
@click.version_option(__version__, "-V", "--version", prog_name="siltstone")
@click.pass_context
def cli(
    ctx: click.Context,
    warehouse: str | None,
    catalog: str | None,
    output: str,
    no_color: bool,
    verbose: bool,
    no_progress: bool,
) -> None:
    """Read, write, compact and maintain Apache Paimon tables, without a JVM.

    TABLE is the directory of a table, or its name db.table in the warehouse. TABLE$branch_NAME is a branch of it, and
    TABLE$snapshots, TABLE$files and so on are its system tables.

    Exit codes: 0 success, 1 failure, 2 wrong usage, 3 not found, 4 conflict with other commits after all retries,
    5 fsck found problems, 130 stopped by Ctrl-C: commits that were done before stay, and nothing else was changed.
    """
    ctx.obj = App(warehouse=warehouse, name=catalog, output=output, color=not no_color)
    ctx.with_resource(progress(not no_progress and by_environment(default=True)))
    if verbose:
        ctx.with_resource(_logged())


_MODULES = (
    show,
    read,
    sql,
    create,
    tables,
    exchange,
    change,
    parts,
    compact,
    versions,
    branches,
    maintenance,
    report,
    call,
    demo,
    shell,
)

for module in _MODULES:
    for command in module.COMMANDS:
        cli.add_command(command)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; the process ends with its exit code."""
    code = streams.taken() or _run(args)
    if args is None:
        query.leave(code)
    if code != exits.OK:
        sys.exit(code)


def _run(args: Sequence[str] | None) -> int:
    """The exit code of a command."""
    if logging.lastResort is not None:  # warnings go to stderr by it
        logging.lastResort.setFormatter(_VisibleLines())
    try:
        code = cli.main(args=None if args is None else list(args), prog_name="siltstone", standalone_mode=False)
        return code if isinstance(code, int) else exits.OK
    except click.exceptions.Abort as e:
        code, text = exits.of_abort(e)
        click.echo(text, err=True)
        return code
    except click.ClickException as e:
        _print_usage_error(e)
        return exits.USAGE
    except SiltstoneError as e:
        _print_error(e)
        return exits.of(e)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away, for example `| head`
        return exits.OK
    except OSError as e:
        _print_error(e)  # our output cannot be written, for example on a full disk
        return exits.FAILURE


@contextlib.contextmanager
def _logged() -> Iterator[None]:
    """What is logged for information, on stderr."""
    logger, handler = logging.getLogger("siltstone"), logging.StreamHandler()
    handler.setFormatter(_VisibleLines())
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


class _VisibleLines(logging.Formatter):
    """Warnings, which repeat names and options of tables, with the escapes of the output."""

    def format(self, record: logging.LogRecord) -> str:
        return visible_lines(super().format(record))


def _print_usage_error(e: click.ClickException) -> None:
    said = io.StringIO()
    elsewhere.with_hint(e).show(said)  # repeats what it was given
    click.echo(visible_lines(said.getvalue()), err=True, nl=False)


def _print_error(e: Exception) -> None:
    click.echo(visible_lines(f"error: {exits.for_commands(str(e))}"), err=True)


if __name__ == "__main__":
    main()
