"""Exit codes, and what is said where nobody answered or somebody stopped a command."""

from __future__ import annotations

import re

from siltstone import errors

OK = 0
FAILURE = 1
USAGE = 2
NOT_FOUND = 3
CONFLICT = 4
PROBLEMS = 5
#: What shells call a command that Ctrl-C has ended.
STOPPED = 130

_NOT_FOUND = (
    errors.DatabaseNotFound,
    errors.TableNotFound,
    errors.SnapshotNotFound,
    errors.TagNotFound,
    errors.BranchNotFound,
)


def of(error: errors.SiltstoneError) -> int:
    """The exit code of an error."""
    if isinstance(error, _NOT_FOUND) or (isinstance(error, errors.FileMissing) and error.table is None):
        return NOT_FOUND
    if isinstance(error, errors.CommitError):
        return CONFLICT
    if isinstance(error, errors.ConfigError):
        return USAGE
    return FAILURE


def of_abort(abort: BaseException) -> tuple[int, str]:
    """The exit code of a command that was given up, and what to say: by Ctrl-C, or at a question."""
    reasons = (abort.__cause__, abort.__context__)
    stopped = next((reason for reason in reasons if isinstance(reason, KeyboardInterrupt)), None)
    if stopped is not None:
        left = "; ".join(getattr(stopped, "__notes__", []))
        return STOPPED, f"stopped: {left or 'commits that were done before stay, and nothing else was changed'}"
    if any(isinstance(reason, EOFError) for reason in reasons):
        return FAILURE, "nobody answered, and nothing was changed: give --yes where nobody can"
    return FAILURE, "nothing was changed"


#: What hints say for Python, and what it is on the command line.
_HERE = {
    "exist_ok=True creates none where there is one": "siltstone write adds rows to it",
    "cat.create_database(name)": "siltstone create DB.TABLE --create-database",
    "create_database(name)": "siltstone create DB.TABLE --create-database, or siltstone import with it",
    "exist_ok=True": "--if-not-exists",
    "t.maintenance.fsck()": "siltstone fsck TABLE",
    "t.compact(full=True)": "siltstone compact TABLE --full",
    "t.compact()": "siltstone compact TABLE",
    "t.rescale()": "siltstone rescale TABLE",
    "t.append()": "siltstone write TABLE FILE",
    "t.history()": "siltstone history TABLE",
    "t.expire_snapshots": "siltstone expire snapshots TABLE",
    "expiration_time='90 d'": "--expiration-time '90 d'",
}
_CALL = re.compile("|".join(map(re.escape, _HERE)))
#: An argument that is an option of a command, too.
_SWITCH = re.compile(r"\b(allow_numeric|if_not_exists|if_exists|full)=True\b")


def for_commands(text: str) -> str:
    """An error as the command line says it: a hint that names a call of Python names the command."""
    message, hint, advice = text.partition("\nhint: ")
    message = message.replace("expire_partitions needs expiration_time", "expire partitions needs --expiration-time")
    advice = _CALL.sub(lambda found: _HERE[found[0]], advice)
    return message + hint + _SWITCH.sub(lambda found: "--" + found[1].replace("_", "-"), advice)
