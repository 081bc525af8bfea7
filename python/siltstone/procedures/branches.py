"""Procedures about branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siltstone.procedures.model import DONE, Answer, Argument, done, names, procedure

if TYPE_CHECKING:
    from siltstone import Table

_BRANCH = Argument("branch", required=True)


@procedure("create_branch", _BRANCH, Argument("tag"), Argument("ignoreIfExists", bool))
def create_branch(table: Table, branch: str, tag: str | None = None, *, ignoreIfExists: bool = False) -> Answer:  # noqa: N803  # Java's name
    """Make a branch, from a tag or from the latest schema without rows."""
    if ignoreIfExists and table.branches.exists(branch):
        return DONE
    table.branches.create(branch, tag=tag)
    return DONE


@procedure("delete_branch", _BRANCH)
def delete_branch(table: Table, branch: str) -> Answer:
    """Delete branches of a comma list."""
    return done(*[table.branches.delete(name) for name in names(branch)])


@procedure("rename_branch", Argument("from_branch", required=True), Argument("to_branch", required=True))
def rename_branch(table: Table, from_branch: str, to_branch: str) -> Answer:
    """Give a branch another name."""
    table.branches.rename(from_branch, to_branch)
    return DONE


@procedure("fast_forward", _BRANCH)
def fast_forward(table: Table, branch: str) -> Answer:
    """Let the main branch become what a branch is."""
    return done(table.branches.fast_forward(branch))
