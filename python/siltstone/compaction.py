"""Compaction: a plan of tasks, one for each bucket, that run anywhere, and the report of a commit of what they did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from siltstone import _core
from siltstone._args import count, names, shown, text
from siltstone._leftovers import delete_leftovers
from siltstone._looks import Facts, Grid, Looks, size_text
from siltstone._operation import operation
from siltstone._progress import progress as shown_progress
from siltstone.errors import CommitConflict, InvalidArgument
from siltstone.report import GIVEN_UP, CommitReport, CompactionReport
from siltstone.write import commit_messages, message_list

Token = bytes
TRIES = 3
"""How often buckets are planned and compacted when other commits get in the way."""
AT_ONCE, AT_ONCE_BYTES = 256, 64 << 20
"""Tasks that are begun together, and bytes of their files from which on no more are."""


@dataclass(frozen=True)
class CompactionTask(Looks):
    """One bucket to compact; runs anywhere that reaches the table's files.

    Attributes:
        partition: The partition as ``dt=2026-11-20``; empty when the table has none.
        bucket: Bucket number.
        files: Data files it reads.
        bytes: Their size.
        rows: Rows in them.
        token: The serialized task, versioned; holds no credentials.
    """

    partition: str
    bucket: int
    files: int
    bytes: int
    rows: int
    token: Token = field(repr=False)

    def run(self) -> Token:
        """Rewrite the files and return a serialized commit message; nothing is committed.

        Raises:
            CommitConflict: Others have compacted the files since the plan, and these have expired; plan again.
            CorruptFile: An input file is not what the metadata says.
        """
        return run_task(self.token)


@dataclass(frozen=True)
class CompactionPlan(Looks):
    """What a compaction would do; empty when nothing has to be done.

    Attributes:
        tasks: One for each bucket, largest first.
    """

    tasks: list[CompactionTask]

    @property
    def files(self) -> int:
        """Data files it would read."""
        return sum(t.files for t in self.tasks)

    @property
    def bytes(self) -> int:
        """Their size."""
        return sum(t.bytes for t in self.tasks)

    def __len__(self) -> int:
        """Number of tasks."""
        return len(self.tasks)

    def _facts(self) -> Facts:
        return [("buckets", f"{len(self):,}"), ("files", f"{self.files:,}"), ("size", size_text(self.bytes))]

    def _grids(self) -> list[Grid]:
        rows = [(t.partition, str(t.bucket), f"{t.files:,}", f"{t.rows:,}", size_text(t.bytes)) for t in self.tasks]
        return [Grid(("partition", "bucket", "files", "rows", "size"), rows)] if rows else []


def sort_order(order_by: str | Sequence[str] | None, strategy: str | None) -> tuple[list[str], str] | None:
    """The columns to sort by and the strategy; None where nothing is to be sorted.

    Raises:
        InvalidArgument: A strategy without columns, or one that is none of ``order``, ``zorder``, ``hilbert``.
    """
    if order_by is None:
        if strategy is not None:
            raise InvalidArgument("strategy says how rows are sorted, and order_by by which columns: give both")
        return None
    return names("order_by", order_by), text("strategy", "order" if strategy is None else strategy)


def run_task(token: bytes, threads: int | None = None) -> bytes:
    """Run a task by its token, where it arrived; see :meth:`CompactionTask.run`.

    Args:
        token: The serialized task.
        threads: Threads to use; None for all cores.

    Raises:
        CorruptFile: The token was damaged on its way, or an input file is not what the metadata says.
        InvalidArgument: The table was dropped and created anew since the task was planned.
    """
    return _core.run_compaction(token, count("threads", threads, 1))


def run_tasks(tokens: Sequence[bytes], threads: int | None = None) -> list[bytes | CommitConflict]:
    """Run tasks by their tokens, where they arrived; with all cores small ones side by side.

    Args:
        tokens: The serialized tasks.
        threads: Threads to use; None for all cores.

    Returns:
        What each came to, in their order: a serialized commit message, or why nothing is left to be done for it.

    Raises:
        CorruptFile: A token was damaged on its way, or an input file is not what the metadata says. What the others
            wrote is deleted then.
        InvalidArgument: The table was dropped and created anew since the tasks were planned.
    """
    return _core.run_compactions(tokens, count("threads", threads, 1))


@dataclass(frozen=True)
class Ran:
    """What running tasks came to.

    Attributes:
        messages: Serialized commit messages of those that were done.
        overtaken: A note for each task whose files others had compacted, and which had expired.
    """

    messages: list[bytes] = field(default_factory=list)
    overtaken: list[str] = field(default_factory=list)


Run = Callable[[Sequence[CompactionTask]], Ran]
"""Runs tasks, here or elsewhere."""


def overtaken_note(conflict: CommitConflict) -> str:
    """Say in a report why a task was given up."""
    return f"{GIVEN_UP}, rows are safe: {conflict.message}"


def compact_tasks(
    table: _core.Table,
    plan: CompactionPlan,
    run: Run | None,
    again: Callable[[], list[CompactionTask]] | None,
    commit_every: int | None,
    *,
    progress: bool,
) -> CompactionReport:
    """Carry a plan out, and commit after so many buckets; see :meth:`siltstone.maintenance.Maintenance.compact`."""
    if not isinstance(plan, CompactionPlan):
        raise InvalidArgument(
            f"plan={shown(plan)} is not a plan of compaction", hint="give t.maintenance.plan_compaction()"
        )
    if run is not None and not callable(run):
        raise InvalidArgument(f"run={shown(run)} cannot be called", hint="give a function of a list of tasks")
    table.check_tasks([task.token for task in plan.tasks])
    done = CompactionReport()
    with shown_progress(True) if progress else nullcontext(), operation("compact", table, unit="bytes") as told:
        told.expect(plan.bytes)

        def here(tasks: Sequence[CompactionTask]) -> Ran:
            return run_here(tasks, lambda task: told.advance(task.bytes))

        for wave in waves(plan.tasks, commit_every):
            done = compact_wave(table, wave, run or here, again, done)
            if run is not None:
                told.advance(sum(task.bytes for task in wave))
        return told(done)


def compact_wave(
    table: _core.Table,
    tasks: Sequence[CompactionTask],
    run: Run,
    plan: Callable[[], list[CompactionTask]] | None,
    done: CompactionReport,
) -> CompactionReport:
    """Run tasks and commit what they did; again, as the table is then, when other commits got in the way.

    Args:
        table: The table.
        tasks: Buckets to compact, to be committed together.
        run: Runs tasks, here or elsewhere.
        plan: Plans again what is still to be compacted; None: buckets with a conflict are given up.
        done: What earlier waves did.
    """
    buckets = {(task.partition, task.bucket) for task in tasks}
    conflict = ""
    for left in reversed(range(TRIES if plan else 1)):
        ran = run(tasks)
        report = commit_compaction(table, ran.messages, done)
        given_up = [note for note in report.notes[len(done.notes) :] if note.startswith(GIVEN_UP)]
        if given_up:
            delete_leftovers(table, ran.messages)  # no other process has them
        if not given_up and not ran.overtaken:
            again = f"another commit got in the way of the compaction, which was done again: {conflict}"
            return replace(report, notes=[*report.notes, again]) if conflict else report
        if not left or plan is None:
            break
        done = done if given_up else report
        conflict = [*given_up, *ran.overtaken][0]
        tasks = [task for task in plan() if (task.partition, task.bucket) in buckets]
        if not tasks:
            nothing = f"another commit left nothing to compact: {conflict}"
            return replace(done, notes=[*done.notes, nothing])
    return replace(report, notes=[*report.notes, *ran.overtaken])


def commit_compaction(
    table: _core.Table, messages: Iterable[bytes], done: CompactionReport | None = None
) -> CompactionReport:
    """Commit what compaction tasks returned, and add it to a report.

    Args:
        table: The table.
        messages: Serialized commit messages of :meth:`CompactionTask.run`.
        done: What earlier waves did.
    """
    messages = message_list(messages)
    if done is not None and not isinstance(done, CompactionReport):
        raise InvalidArgument(f"done={shown(done)} is not the report of a compaction")
    before = done or CompactionReport()
    commit = commit_messages(table, messages) if messages else CommitReport()
    kept = messages if commit.snapshots else []
    return _add(before, table.describe_messages(kept), commit)


def run_here(tasks: Sequence[CompactionTask], advance: Callable[[CompactionTask], None]) -> Ran:
    """Run tasks in this process, small ones side by side; those that were overtaken are reported."""
    ran = Ran()
    for group in _groups(tasks):
        for task, end in zip(group, run_tasks([task.token for task in group]), strict=True):
            if isinstance(end, CommitConflict):
                ran.overtaken.append(overtaken_note(end))
            else:
                ran.messages.append(end)
            advance(task)
    return ran


def _groups(tasks: Sequence[CompactionTask]) -> Iterator[list[CompactionTask]]:
    """Tasks that are begun together: between two groups it can be said how far the work has come."""
    group: list[CompactionTask] = []
    for task in tasks:
        group.append(task)
        if len(group) == AT_ONCE or sum(each.bytes for each in group) >= AT_ONCE_BYTES:
            yield group
            group = []
    if group:
        yield group


def waves(tasks: list[CompactionTask], size: int | None) -> list[list[CompactionTask]]:
    """Tasks in groups that are committed together; None: all of them in one."""
    if size is None:
        return [tasks] if tasks else []
    step = max(1, size)
    return [tasks[i : i + step] for i in range(0, len(tasks), step)]


def _add(before: CompactionReport, change: CompactionReport, commit: CommitReport) -> CompactionReport:
    """Reports of two waves as one: what was done before, what messages replace, and their commit."""
    return CompactionReport(
        snapshots=[*before.snapshots, *commit.snapshots],
        tasks=before.tasks + change.tasks,
        files_before=before.files_before + change.files_before,
        files_after=before.files_after + change.files_after,
        bytes_before=before.bytes_before + change.bytes_before,
        bytes_after=before.bytes_after + change.bytes_after,
        rows_before=before.rows_before + change.rows_before,
        rows_after=before.rows_after + change.rows_after,
        notes=[*before.notes, *commit.notes],
    )
