"""What engines that move rows between processes have in common: the tables they are given, and jobs that write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from siltstone._args import shown, text
from siltstone._leftovers import delete_leftovers
from siltstone.catalog import table_of
from siltstone.errors import CommitConflict, InvalidArgument, ResourceError, SiltstoneError, StorageError
from siltstone.system import writable
from siltstone.table import Table

if TYPE_CHECKING:
    from siltstone.report import CommitReport

#: What a mode replaces, as the ``overwrite`` argument of a commit.
_REPLACED: dict[str, dict[str, Any] | None] = {
    "append": None,
    "upsert": None,
    "overwrite": {"dynamic": False},
    "overwrite-partitions": {"dynamic": True},
}


@dataclass(frozen=True)
class Written:
    """What a task of a job came to.

    Attributes:
        messages: Serialized commit messages.
        error: What another try would meet again.
    """

    messages: list[bytes]
    error: SiltstoneError | None = None


@dataclass(frozen=True)
class WriteJob:
    """A write by several tasks and one commit.

    Attributes:
        table: The table.
        overwrite: What the rows replace; see :func:`siltstone.write.commit_messages`.
        schema_id: The schema of the table that the job began with.
    """

    table: Table
    overwrite: dict[str, Any] | None
    schema_id: int

    @property
    def is_free(self) -> bool:
        """Whether any task may write any row."""
        return self.table.bucket_mode in {"unaware", "postponed"}

    @property
    def is_routed(self) -> bool:
        """Whether tasks write if each (partition, bucket) is in one of them; otherwise one task writes all rows."""
        return self.table.bucket_mode == "fixed"

    def write(self, batches: Iterable[Any]) -> Written:
        """Write rows inside a task. Errors that may pass are raised, so that the engine tries again."""
        try:
            if self.table.schema_id != self.schema_id:
                raise CommitConflict(
                    f"the table was altered while the job ran: it began with schema {self.schema_id}, "
                    f"now it is {self.table.schema_id}",
                    hint="write again: nothing was committed",
                    context={"table": self.table.name},
                )
            with self.table.writer(overwrite=self.overwrite is not None) as w:
                for batch in batches:
                    w.write(batch)
                return Written(w.prepare_commit())
        except (StorageError, ResourceError):
            raise
        except SiltstoneError as error:
            return Written([], error)

    def commit(self, done: Sequence[Written]) -> CommitReport:
        """Commit what all tasks wrote; where one met an error, delete the files of the others and raise it."""
        messages = [message for written in done for message in written.messages]
        failed = next((written.error for written in done if written.error is not None), None)
        if failed is not None:
            delete_leftovers(self.table, messages)
            raise failed
        return self.table.commit(messages, overwrite=self.overwrite)


def write_job(table: Table | str, mode: str) -> WriteJob:
    """A job that writes a table in a mode.

    Raises:
        InvalidArgument: Another mode, or ``upsert`` on a table without primary key.
        UnsupportedFeature: A system table, which is only read.
    """
    if text("mode", mode) not in _REPLACED:
        raise InvalidArgument(f"mode {shown(mode)} is not one of {', '.join(_REPLACED)}")
    t = writable(table_of(table))
    if mode == "upsert" and not t.primary_key:
        raise InvalidArgument(f"{t.name} has no primary key: use mode='append'", context={"table": t.name})
    return WriteJob(t, _REPLACED[mode], t.schema_id)


def missing(what: str, extra: str) -> InvalidArgument:
    """The error for a library that is not installed."""
    return InvalidArgument(f"{what} is not installed", hint=f"pip install 'siltstone[{extra}]'")
