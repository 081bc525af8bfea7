"""Procedures about branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siltstone.procedures.model import DONE, Argument, Rows, names, procedure

if TYPE_CHECKING:
    from siltstone import Table

_BRANCH = Argument("branch", required=True)


@procedure("create_branch", _BRANCH, Argument("tag"), Argument("ignoreIfExists", bool))
def create_branch(table: Table, branch: str, tag: str | None = None, *, ignoreIfExists: bool = False) -> Rows:  # noqa: N803  # Java's name
    """Make a branch, from a tag or from the latest schema without rows."""
    if ignoreIfExists and table.branches.exists(branch):
        return DONE
    table.branches.create(branch, tag=tag)
    return DONE


@procedure("delete_branch", _BRANCH)
def delete_branch(table: Table, branch: str) -> Rows:
    """Delete branches of a comma list."""
    for name in names(branch):
        table.branches.delete(name)
    return DONE


@procedure("rename_branch", Argument("from_branch", required=True), Argument("to_branch", required=True))
def rename_branch(table: Table, from_branch: str, to_branch: str) -> Rows:
    """Give a branch another name."""
    table.branches.rename(from_branch, to_branch)
    return DONE


@procedure("fast_forward", _BRANCH)
def fast_forward(table: Table, branch: str) -> Rows:
    """Let the main branch become what a branch is."""
    table.branches.fast_forward(branch)
    return DONE
