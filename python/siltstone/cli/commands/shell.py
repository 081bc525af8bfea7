"""Completion of the command line in shells."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    For example: eval "$(siltstone completion bash)"
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"there is no completion for {shell}")
    click.echo(found(ctx.find_root().command, {}, "siltstone", "_SILTSTONE_COMPLETE").source())


@click.command("help")
@click.argument("verbs", nargs=-1)
@click.pass_context
def help_(ctx: click.Context, verbs: tuple[str, ...]) -> None:
    """Print the help of a command, for example of `tag create`."""
    root = ctx.find_root()
    command: click.Command = root.command
    for verb in verbs:
        found = command.get_command(ctx, verb) if isinstance(command, click.Group) else None
        if found is None:
            raise click.UsageError(f"there is no command '{' '.join(verbs)}'")
        command = found
    path = " ".join(["siltstone", *verbs])
    click.echo(command.get_help(click.Context(command, info_name=path)))


COMMANDS: list[click.Command] = [completion, help_]
