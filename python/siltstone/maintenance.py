"""Care: compaction as plan, tasks and one commit, and what keeps manifests small."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from siltstone import _core
from siltstone._args import (
    Duration,
    Time,
    age_limit,
    count,
    duration_millis,
    duration_text,
    flag,
    millis,
    optional_text,
    partition_list,
    text,
)
from siltstone._handle import Handle
from siltstone.errors import CommitConflict, InvalidArgument, UpkeepRunning
from siltstone.predicate import Expression, split_filter
from siltstone.report import GIVEN_UP, CommitReport, CompactionReport, UpkeepReport, Verdict
from siltstone.write import commit_messages

Token = bytes
TRIES = 3
"""How often buckets are planned and compacted when other commits get in the way."""


@dataclass(frozen=True)
class CompactionTask:
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
class CompactionPlan:
    """What a compaction would do; empty when nothing has to be done.

    Attributes:
        tasks: One for each bucket, largest first.
    """

    tasks: list[CompactionTask]

    @classmethod
    def from_json(cls, items: Sequence[tuple[str, Token]]) -> CompactionPlan:
        """Read the core's descriptions and tokens."""
        return cls([CompactionTask(**json.loads(about), token=token) for about, token in items])

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


class Maintenance(Handle):
    """Maintenance of one table: ``t.maintenance``."""

    @property
    def _maintenance(self) -> _core.Maintenance:
        return self._table.maintenance

    def plan_compaction(
        self,
        *,
        full: bool = False,
        where: str | Expression | None = None,
        partitions: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        idle: Duration | None = None,
    ) -> CompactionPlan:
        """Decide what to compact, without doing it.

        Args:
            full: Merge each bucket into one run; otherwise only what universal compaction picks.
            where: A predicate over partition columns.
            partitions: Partition specs, partial ones included; None for all.
            idle: Only partitions that have not been written for this long.
        """
        sql, tree = split_filter(where, "where")
        wait = None if idle is None else duration_millis(idle)
        return CompactionPlan.from_json(
            self._table.plan_compaction(flag("full", full), sql, tree, partition_list(partitions), wait)
        )

    def compact(
        self,
        plan: CompactionPlan | None = None,
        *,
        full: bool = False,
        where: str | Expression | None = None,
        partitions: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        idle: Duration | None = None,
        progress: bool = False,
        commit_every: int | None = None,
    ) -> CompactionReport:
        """Compact and commit; also runs on write-only tables.

        Args:
            plan: What to do; planned now when None, and again when other commits get in the way.
            full: See :meth:`plan_compaction`.
            where: See :meth:`plan_compaction`.
            partitions: See :meth:`plan_compaction`.
            idle: See :meth:`plan_compaction`.
            progress: Show a progress bar on a terminal.
            commit_every: Commit after this many buckets, so that a long run keeps what it finished; None: one commit.

        Returns:
            What was done. When another commit changed the same files meanwhile the work is dropped, and these buckets
            are planned and compacted again, three times at most and not when ``plan`` was given; the rows are safe in
            any case, ``notes`` says what happened, and ``given_up`` what was not compacted: also buckets with rows that
            were written after somebody else altered the table, when they would lose columns or have values cut.

        Raises:
            InvalidArgument: A plan of another table or branch, or a plan and what is to be planned.
        """

        def plan_again() -> list[CompactionTask]:
            return self.plan_compaction(full=full, where=where, partitions=partitions, idle=idle).tasks

        if plan is not None and (full or where is not None or partitions is not None or idle is not None):
            raise InvalidArgument(
                "a plan says what to compact: full, where, partitions and idle cannot be given with it",
                hint="give them to plan_compaction()",
            )
        again = plan_again if plan is None else None
        plan = CompactionPlan(plan_again()) if plan is None else plan
        self._table.check_tasks([task.token for task in plan.tasks])
        done = CompactionReport()
        with _progress(plan, enabled=flag("progress", progress)) as advance:
            for wave in _waves(plan.tasks, count("commit_every", commit_every, 1)):
                done = self.compact_wave(wave, lambda tasks: _run_here(tasks, advance), again, done)
        return done

    def compact_wave(
        self,
        tasks: Sequence[CompactionTask],
        run: Callable[[Sequence[CompactionTask]], Ran],
        plan: Callable[[], list[CompactionTask]] | None,
        done: CompactionReport,
    ) -> CompactionReport:
        """Run tasks and commit what they did; again, as the table is then, when other commits got in the way.

        Args:
            tasks: Buckets to compact, to be committed together.
            run: Runs tasks, here or elsewhere.
            plan: Plans anew what is left to do; None: what others got in the way of is given up.
            done: What earlier waves did.
        """
        buckets = {(task.partition, task.bucket) for task in tasks}
        conflict = ""
        for left in reversed(range(TRIES if plan else 1)):
            ran = run(tasks)
            report = self.commit_compaction(ran.messages, done)
            given_up = [note for note in report.notes[len(done.notes) :] if note.startswith(GIVEN_UP)]
            if given_up:
                self._discard(ran.messages)
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

    def commit_compaction(self, messages: Iterable[bytes], done: CompactionReport | None = None) -> CompactionReport:
        """Commit what compaction tasks returned, and add it to a report.

        Args:
            messages: Serialized commit messages of :meth:`CompactionTask.run`.
            done: What earlier waves did.
        """
        messages = list(messages)
        before = done or CompactionReport()
        commit = commit_messages(self._table, messages) if messages else CommitReport()
        kept = messages if commit.snapshots else []
        return _add(before, json.loads(self._table.describe_messages(kept)), commit)

    def _discard(self, messages: Sequence[bytes]) -> None:
        """Delete what given-up tasks have made; nobody else has their messages. Beside another upkeep it stays."""
        with suppress(UpkeepRunning):
            self._table.abort(list(messages))

    def compact_manifests(self) -> CommitReport:
        """Rewrite small manifests and those with deletions into few large ones."""
        return CommitReport.from_json(self._table.compact_manifests())

    def expire_snapshots(
        self,
        *,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than: Time | None = None,
        max_deletes: int | None = None,
        dry_run: bool = False,
    ) -> UpkeepReport:
        """Expire snapshots and delete the files that nothing else needs.

        What tags, branches, consumers and long-lived changelogs need stays. Without arguments the table's options
        decide (``snapshot.num-retained.*``, ``snapshot.time-retained``). A number without ``older_than`` sets
        ``snapshot.time-retained`` aside; ``CALL sys.expire_snapshots`` takes what is not given from the options, as
        Java does, and keeps more.

        Args:
            retain_max: At most this many stay. Alone: this many stay, whatever their age.
            retain_min: At least this many stay. Alone, or with ``retain_max`` and without ``older_than``: this many
                stay, whatever their age. With ``retain_max`` and ``older_than``: those above ``retain_max`` go, and of
                the others those that are old enough.
            older_than: Only snapshots whose successor is older than this time.
            max_deletes: At most this many go.
            dry_run: Only say what would be deleted.

        Returns:
            What was deleted; ``details["snapshots"]`` has the ids.

        Raises:
            InvalidArgument: Numbers that contradict each other.
            CorruptFile: A tag, snapshot or consumer cannot be read, or a file to be deleted is still named: nothing is
                deleted.

        Example:
            >>> t = example_table()
            >>> _ = t.upsert([{"id": 9, "item": "nib"}])
            >>> t.maintenance.expire_snapshots(retain_max=1).snapshots
            [1]
        """
        limit = None if older_than is None else millis(older_than)
        most, least = count("retain_max", retain_max, 1), count("retain_min", retain_min, 1)
        deletes = count("max_deletes", max_deletes, 1)
        return UpkeepReport.from_core(
            self._maintenance.expire_snapshots(most, least, limit, deletes, flag("dry_run", dry_run))
        )

    def expire_consumers(self, *, older_than: Time | Duration, dry_run: bool = False) -> UpkeepReport:
        """Delete consumers that have not read for this long, or since this time: they keep no snapshots any more.

        Args:
            older_than: A duration, or a time.
            dry_run: Only say what would be deleted.

        Example:
            >>> example_table().maintenance.expire_consumers(older_than="7d").details["consumers"]
            []
        """
        return UpkeepReport.from_core(
            self._maintenance.expire_consumers(age_limit(older_than), flag("dry_run", dry_run))
        )

    def remove_orphan_files(self, *, older_than: Time | Duration = "1d", dry_run: bool = True) -> UpkeepReport:
        """List, and with ``dry_run=False`` delete, files that no version of any branch refers to.

        Files of writers that have not committed yet look like orphans: the age limit must exceed the longest job.

        Args:
            older_than: Only files older than this duration, or than this time.
            dry_run: Only list them.

        Raises:
            InvalidArgument: The limit lies in the future.
            CorruptFile: A snapshot, tag or manifest cannot be read, or of all versions only lists of manifests are
                left: nothing is deleted.

        Example:
            >>> example_table().maintenance.remove_orphan_files().deleted_files
            0
        """
        return UpkeepReport.from_core(
            self._maintenance.remove_orphan_files(age_limit(older_than), flag("dry_run", dry_run))
        )

    def fsck(self, *, deep: bool = False) -> Verdict:
        """Check every version of every branch against its metadata, and the metadata against the files.

        Whatever is wrong with the table's files is a finding; only a storage that fails raises. Of the line of versions
        it checks that ids have no gaps (``missing-snapshot``) and were given once (``id-twice``), that each version was
        made from the one before it (``not-in-line``), and that the hint LATEST hides none (``latest-went-back``).

        Args:
            deep: Also read every data, changelog and index file once, and every version as a whole. Checked of files:
                rows, delete rows, order and uniqueness of keys, bounds of keys, sequence numbers and columns, null
                counts; of deletion vectors: checksum, cardinality, and that they belong to rows of live files; of
                versions: that they can be read, the newest also under the newest schema, and that no primary key comes
                twice.

        Example:
            >>> example_table().maintenance.fsck().ok
            True
        """
        return Verdict.from_json(self._maintenance.fsck(flag("deep", deep)))

    def analyze(self) -> CommitReport:
        """Count rows, values, nulls and ranges of all columns into a statistics file that planners read.

        Different values are counted exactly up to 10 000 (or 1 MiB) a column, beyond that with an error of about 1 %.

        Example:
            >>> example_table().maintenance.analyze().snapshot.kind
            'ANALYZE'
        """
        return CommitReport.from_json(self._maintenance.analyze())

    def expire_partitions(
        self,
        *,
        expiration_time: Duration | None = None,
        timestamp_formatter: str | None = None,
        timestamp_pattern: str | None = None,
        strategy: str | None = None,
        max_expires: int | None = None,
        dry_run: bool = False,
    ) -> UpkeepReport:
        """Drop partitions that are old, by one commit; their files go when their snapshots expire.

        Args:
            expiration_time: Drop partitions older than this; None: option ``partition.expiration-time``.
            timestamp_formatter: How the time is written, such as ``yyyyMMdd``; None: the option. Partitions whose
                values say no whole date by it never expire.
            timestamp_pattern: Where it stands, such as ``$year-$month-$day``; None: the option, else the first column.
            strategy: ``values-time`` (what the values say) or ``update-time`` (the last write); None: the option.
            max_expires: At most this many, the smallest values first; None: the option.
            dry_run: Only say what would be dropped.

        Returns:
            What was dropped; ``details["partitions"]`` has the names.

        Raises:
            InvalidArgument: The table is not partitioned, or nobody says how long partitions are kept.
            InvalidOption: The formatter is no pattern of a date and time.
        """
        kept = None if expiration_time is None else duration_text("expiration_time", expiration_time)
        formatter = optional_text("timestamp_formatter", timestamp_formatter)
        pattern = optional_text("timestamp_pattern", timestamp_pattern)
        by, most = optional_text("strategy", strategy), count("max_expires", max_expires, 1)
        report = self._maintenance.expire_partitions(kept, formatter, pattern, by, most, flag("dry_run", dry_run))
        return UpkeepReport.from_core(report)


def check_directory(location: str, *, deep: bool = False) -> Verdict:
    """Check the table in a directory, even one whose newest schema is broken, so that it cannot be opened.

    Args:
        location: The table's directory.
        deep: See :meth:`Maintenance.fsck`.

    Raises:
        TableNotFound: No table is there.
    """
    return Verdict.from_json(_core.check(text("location", location), flag("deep", deep)))


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


@dataclass(frozen=True)
class Ran:
    """What running tasks came to.

    Attributes:
        messages: Serialized commit messages of those that were done.
        overtaken: A note for each task whose files others had compacted, and which had expired.
    """

    messages: list[bytes] = field(default_factory=list)
    overtaken: list[str] = field(default_factory=list)


def overtaken_note(conflict: CommitConflict) -> str:
    """Say in a report why a task was given up."""
    return f"{GIVEN_UP}, rows are safe: {conflict.message}"


def _run_here(tasks: Sequence[CompactionTask], advance: Callable[[CompactionTask], None]) -> Ran:
    ran = Ran()
    for task in tasks:
        try:
            ran.messages.append(task.run())
        except CommitConflict as conflict:
            ran.overtaken.append(overtaken_note(conflict))
        advance(task)
    return ran


def _waves(tasks: list[CompactionTask], size: int | None) -> list[list[CompactionTask]]:
    if size is None:
        return [tasks] if tasks else []
    step = max(1, size)
    return [tasks[i : i + step] for i in range(0, len(tasks), step)]


def _add(before: CompactionReport, change: Mapping[str, int], commit: CommitReport) -> CompactionReport:
    """Reports of two waves as one."""
    sums = {name: getattr(before, name) + change[name] for name in change}
    return CompactionReport(
        snapshots=[*before.snapshots, *commit.snapshots], notes=[*before.notes, *commit.notes], **sums
    )


class _progress:  # noqa: N801  # a context manager used as a function
    """A rich progress bar on stderr when it is a terminal, else nothing."""

    def __init__(self, plan: CompactionPlan, *, enabled: bool) -> None:
        self._plan, self._enabled = plan, enabled
        self._bar: Any = None

    def __enter__(self) -> Any:
        if not self._enabled:
            return lambda _task: None
        from rich.console import Console
        from rich.progress import Progress

        bar = Progress(console=Console(stderr=True), transient=True)
        self._bar = bar
        bar.start()
        line = bar.add_task(f"compacting {len(self._plan)} buckets", total=max(1, self._plan.bytes))
        return lambda task: bar.update(line, advance=task.bytes)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
