"""What all commands share: where tables are found and how results are printed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from siltstone import Catalog, Table

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class App:
    """Options of the program itself."""

    warehouse: str | None
    name: str | None
    output: str
    color: bool

    def catalog(self) -> Catalog:
        """The catalog of ``--catalog`` or ``--warehouse``."""
        import siltstone as st

        if self.warehouse is None and self.name is None:
            raise click.UsageError(
                "no warehouse is given: give --warehouse DIR, set $SILTSTONE_WAREHOUSE, or give --catalog NAME"
            )
        return st.connect(self.warehouse, name=self.name)

    def table(self, name: str) -> Table:
        """A table by directory or name."""
        import siltstone as st

        if _is_path(name):
            return st.open_table(name)
        return self.catalog().table(name)

    def location(self, name: str) -> str:
        """The directory of a table, whether the table can be opened or not."""
        if _is_path(name):
            return name
        return self.catalog().location(name)


def _is_path(name: str) -> bool:
    """A directory, or what is there as one.

    Raises:
        InvalidArgument: For a name that is no text.
    """
    from siltstone import _core
    from siltstone._args import text

    return _core.is_path(text("table", name)) or os.path.isdir(name)  # noqa: PTH112  # False for names that no file has


pass_app = click.make_pass_decorator(App)
table_argument = click.argument("table")


def with_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options and arguments of a command as one decorator, in their order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


dry_run_option = click.option("--dry-run", is_flag=True, help="Only print what would be done.")
yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
plan_options = with_options(dry_run_option, yes_option)
