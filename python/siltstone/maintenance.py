"""Maintenance of a table: compaction, expiry, orphan files, checks and statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    optional_text,
)
from siltstone._handle import Handle
from siltstone._operation import P, R, told
from siltstone._partitions import partition_list
from siltstone.compaction import CompactionPlan, CompactionTask, Ran, commit_compaction, compact_tasks, sort_order
from siltstone.errors import InvalidArgument
from siltstone.predicate import Expression, condition_of
from siltstone.report import CommitReport, CompactionReport, UpkeepReport, Verdict


class Maintenance(Handle):
    """Maintenance of one table: ``t.maintenance``."""

    @property
    def _maintenance(self) -> _core.Maintenance:
        return self._table.maintenance

    def _told(self, name: str, run: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        return told(name, self._table, run, *args, **kwargs)

    def plan_compaction(
        self,
        *,
        full: bool = False,
        where: str | Expression | None = None,
        partitions: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        idle: Duration | None = None,
        order_by: str | Sequence[str] | None = None,
        strategy: str | None = None,
    ) -> CompactionPlan:
        """Decide what to compact, without doing it.

        Args:
            full: Merge each bucket into one run; otherwise only what universal compaction picks.
            where: A predicate over partition columns.
            partitions: Partition specs, partial ones included; None for all.
            idle: Only partitions that have not been written for this long.
            order_by: Sort all rows of each partition by these columns, so that scans skip more files (append tables
                without buckets only).
            strategy: ``order`` (by default), or along a curve through all of the columns: ``zorder``, ``hilbert``.
        """
        wait = None if idle is None else duration_millis("idle", idle)
        chosen = condition_of(where, "where"), partition_list(partitions), wait, sort_order(order_by, strategy)
        return CompactionPlan(self._table.plan_compaction(flag("full", full), *chosen))

    def compact(
        self,
        plan: CompactionPlan | None = None,
        *,
        full: bool = False,
        where: str | Expression | None = None,
        partitions: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        idle: Duration | None = None,
        order_by: str | Sequence[str] | None = None,
        strategy: str | None = None,
        progress: bool = False,
        commit_every: int | None = None,
        run: Callable[[Sequence[CompactionTask]], Ran] | None = None,
    ) -> CompactionReport:
        """Compact and commit; also runs on write-only tables.

        Args:
            plan: What to do; planned now when None, and again when other commits get in the way.
            full: See :meth:`plan_compaction`.
            where: See :meth:`plan_compaction`.
            partitions: See :meth:`plan_compaction`.
            idle: See :meth:`plan_compaction`.
            order_by: See :meth:`plan_compaction`.
            strategy: See :meth:`plan_compaction`.
            progress: Show a progress bar on a terminal; see :func:`siltstone.progress`.
            commit_every: Commit after this many buckets, so that a long run keeps what it finished; None: one commit.
            run: Runs tasks, perhaps elsewhere; None: here, one after another.

        Returns:
            What was done. When another commit changed the same files meanwhile the work is dropped, and these buckets
            are planned and compacted again, three times at most and not when ``plan`` was given; the rows are safe in
            any case, ``notes`` says what happened, and ``given_up`` what was not compacted: also buckets with rows that
            were written after another process altered the table, when they would lose columns or have values cut.

        Raises:
            InvalidArgument: A plan of another table or branch, or a plan and what is to be planned.
            UnsupportedFeature: Rows that cannot be sorted: of primary keys, fixed buckets, or data evolution.
        """
        limits: dict[str, Any] = {"where": where, "partitions": partitions, "idle": idle}
        limits |= {"order_by": order_by, "strategy": strategy}

        def plan_again() -> list[CompactionTask]:
            return self.plan_compaction(full=full, **limits).tasks

        if plan is not None and (full or any(given is not None for given in limits.values())):
            raise InvalidArgument(
                f"a plan says what to compact: full, {', '.join(limits)} cannot be given with it",
                hint="give them to plan_compaction()",
            )
        again = plan_again if plan is None else None
        plan = CompactionPlan(plan_again()) if plan is None else plan
        every, shows = count("commit_every", commit_every, 1), flag("progress", progress)
        return compact_tasks(self._table, plan, run, again, every, progress=shows)

    def commit_compaction(self, messages: Iterable[bytes], done: CompactionReport | None = None) -> CompactionReport:
        """Commit what compaction tasks returned, and add it to a report.

        Args:
            messages: Serialized commit messages of :meth:`siltstone.compaction.CompactionTask.run`.
            done: What earlier waves did.
        """
        return commit_compaction(self._table, messages, done)

    def compact_manifests(self) -> CommitReport:
        """Rewrite small manifests and those with deletions into few large ones."""
        return self._told("compact_manifests", self._table.compact_manifests)

    def expire_snapshots(
        self,
        *,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than: Time | Duration | None = None,
        max_deletes: int | None = None,
        dry_run: bool = False,
    ) -> UpkeepReport:
        """Expire snapshots and delete the files that nothing else needs.

        What tags, branches, consumers and long-lived changelogs need stays. Without arguments the table's options
        decide, as they are now (``snapshot.num-retained.*``, ``snapshot.time-retained``). A number without
        ``older_than`` sets ``snapshot.time-retained`` aside; ``CALL sys.expire_snapshots`` takes what is not given from
        the options, as Java does, and keeps more.

        Args:
            retain_max: At most this many stay. Alone: this many stay, whatever their age.
            retain_min: At least this many stay. Alone, or with ``retain_max`` and without ``older_than``: this many
                stay, whatever their age. With ``retain_max`` and ``older_than``: those above ``retain_max`` go, and of
                the others those that are old enough.
            older_than: Only snapshots whose successor is older than this duration, or than this time.
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
        limit = age_limit("older_than", older_than)
        most, least = count("retain_max", retain_max, 1), count("retain_min", retain_min, 1)
        deletes = count("max_deletes", max_deletes, 1)
        chosen = most, least, limit, deletes, flag("dry_run", dry_run)
        return self._told("expire_snapshots", self._maintenance.expire_snapshots, *chosen)

    def expire_snapshots_by_options(
        self, *, older_than: Time | Duration | None = None, dry_run: bool = False
    ) -> UpkeepReport:
        """Expire snapshots as the table's options say, as ``CALL sys.expire_snapshots`` does.

        Args:
            older_than: As of :meth:`expire_snapshots`; None: ``snapshot.time-retained``.
            dry_run: Only say what would be deleted.

        Example:
            >>> example_table().maintenance.expire_snapshots_by_options().snapshots
            []
        """
        limit = age_limit("older_than", older_than)
        by_options = self._maintenance.expire_snapshots_by_options
        return self._told("expire_snapshots", by_options, limit, flag("dry_run", dry_run))

    def expire_consumers(self, *, older_than: Time | Duration, dry_run: bool = False) -> UpkeepReport:
        """Delete consumers that have not read for this long, or since this time: they keep no snapshots any more.

        Args:
            older_than: A duration, or a time.
            dry_run: Only say what would be deleted.

        Example:
            >>> example_table().maintenance.expire_consumers(older_than="7d").details["consumers"]
            []
        """
        limit = age_limit("older_than", older_than)
        if limit is None:
            raise InvalidArgument("older_than cannot be None: say for how long a consumer has not read")
        return self._told("expire_consumers", self._maintenance.expire_consumers, limit, flag("dry_run", dry_run))

    def remove_orphan_files(self, *, older_than: Time | Duration | None = None, dry_run: bool = True) -> UpkeepReport:
        """List, and with ``dry_run=False`` delete, files that no version of any branch refers to.

        Files of writers that have not committed yet look like orphans: the age limit must exceed the longest job.

        Args:
            older_than: Only files older than this duration, or than this time; None: than a day.
            dry_run: Only list them.

        Raises:
            InvalidArgument: The limit lies in the future.
            CorruptFile: A snapshot, tag or manifest cannot be read, or of all versions only lists of manifests are
                left: nothing is deleted.

        Example:
            >>> example_table().maintenance.remove_orphan_files().deleted_files
            0
        """
        limit, is_plan = age_limit("older_than", older_than), flag("dry_run", dry_run)
        return self._told("remove_orphan_files", self._maintenance.remove_orphan_files, limit, is_plan)

    def fsck(self, *, deep: bool = False) -> Verdict:
        """Check every version of every branch against its metadata, and the metadata against the files.

        Whatever is wrong with the table's files is a finding; only a storage that fails raises. Of the line of versions
        it checks that ids have no gaps (``missing-snapshot``) and were given once (``id-twice``), that each version was
        made from the one before it (``not-in-line``), and that the hint LATEST hides none (``latest-went-back``).

        Args:
            deep: Also read every data, changelog and index file once, and every version as a whole. Checked of files:
                rows, delete rows, order and uniqueness of keys, bounds of keys, sequence numbers and columns, null
                counts, and that their indexes answer (``bad-file-index``); of deletion vectors: checksum, cardinality,
                and that they belong to rows of live files; of versions: that they can be read, the newest also under
                the newest schema, and that no primary key comes twice.

        Example:
            >>> example_table().maintenance.fsck().ok
            True
        """
        return self._told("fsck", self._maintenance.fsck, flag("deep", deep))

    def analyze(self) -> CommitReport:
        """Count rows, values, nulls and ranges of all columns into a statistics file that planners read.

        Different values are counted exactly up to 10 000 (or 1 MiB) a column, beyond that with an error of about 1 %.

        Example:
            >>> example_table().maintenance.analyze().snapshot.kind
            'ANALYZE'
        """
        return self._told("analyze", self._maintenance.analyze)

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
            InvalidArgument: The table is not partitioned, or neither argument nor option says for how long.
            InvalidOption: The formatter is no pattern of a date and time.
        """
        kept = None if expiration_time is None else duration_text("expiration_time", expiration_time)
        formatter = optional_text("timestamp_formatter", timestamp_formatter)
        pattern = optional_text("timestamp_pattern", timestamp_pattern)
        by, most = optional_text("strategy", strategy), count("max_expires", max_expires, 1)
        chosen = kept, formatter, pattern, by, most, flag("dry_run", dry_run)
        return self._told("expire_partitions", self._maintenance.expire_partitions, *chosen)
