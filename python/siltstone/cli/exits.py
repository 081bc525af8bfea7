"""Exit codes."""

from __future__ import annotations

from siltstone import errors

OK = 0
FAILURE = 1
USAGE = 2
NOT_FOUND = 3
CONFLICT = 4
PROBLEMS = 5

_NOT_FOUND = (
    errors.DatabaseNotFound,
    errors.TableNotFound,
    errors.SnapshotNotFound,
    errors.TagNotFound,
    errors.BranchNotFound,
)


def of(error: errors.SiltstoneError) -> int:
    """The exit code of an error."""
    if isinstance(error, _NOT_FOUND):
        return NOT_FOUND
    if isinstance(error, errors.CommitError):
        return CONFLICT
    if isinstance(error, errors.ConfigError):
        return USAGE
    return FAILURE
