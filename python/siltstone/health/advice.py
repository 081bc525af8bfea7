"""What compaction, expiry and the removal of orphan files would do now: their plans, which change nothing."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from siltstone._looks import size_text
from siltstone.errors import SiltstoneError
from siltstone.health.figures import Advice
from siltstone.health.files import Figures, PlanSums

if TYPE_CHECKING:
    Table = Any


def advice_of(table: Table, figures: Figures, *, orphans: bool) -> list[Advice]:
    """The plans, one after another; one that cannot be made says why."""
    plans: list[tuple[str, str, Callable[[], Advice]]] = [
        ("compact", _command(table, "compact"), lambda: _compaction(table, figures.compaction, full=False)),
        (
            "full compaction",
            _command(table, "compact", option="--full"),
            lambda: _compaction(table, figures.full_compaction, full=True),
        ),
        ("expire snapshots", _command(table, "expire", "snapshots"), lambda: _expiry(table)),
    ]
    if orphans:
        plans.append(("remove orphan files", _command(table, "clean", "orphans"), lambda: _orphans(table)))
    return [_tried(*plan) for plan in plans]


def _command(table: Table, *command: str, option: str | None = None) -> str:
    """A command to be copied into a shell: names of tables come from others, and are never more than a word there."""
    name = f"{table.name}{'' if table.branch == 'main' else f'$branch_{table.branch}'}"
    options = [] if option is None else [option]
    words = [*options, "--", name] if name.startswith("-") else [name, *options]
    return shlex.join(["siltstone", *command, *words])


def _tried(operation: str, command: str, plan: Callable[[], Advice]) -> Advice:
    try:
        found = plan()
    except SiltstoneError as e:
        return Advice(operation, command=command, failure=e.message)
    return replace(found, operation=operation, command=command)


def _compaction(table: Table, plan: PlanSums, *, full: bool) -> Advice:
    if plan.failure is not None:
        return Advice("", failure=plan.failure)
    if not plan.tasks:
        return Advice("", win="nothing to do")
    kind = "one run each" if table.primary_key else "fewer, larger files"
    win = f"{plan.tasks:,} buckets with {plan.rows:,} rows become {kind}"
    return Advice("", plan.files, plan.bytes, win if full or not table.primary_key else _due(plan.tasks, plan.files))


def _due(buckets: int, files: int) -> str:
    return f"{files:,} files of {buckets:,} buckets become fewer runs"


def _expiry(table: Table) -> Advice:
    plan = table.maintenance.expire_snapshots(dry_run=True)
    if not plan.snapshots:
        return Advice("", win="nothing to do: the options keep all snapshots")
    win = f"{len(plan.snapshots):,} snapshots go, {size_text(plan.freed_bytes)} become free"
    return Advice("", plan.deleted_files, plan.freed_bytes, win)


def _orphans(table: Table) -> Advice:
    plan = table.maintenance.remove_orphan_files(dry_run=True)
    if not plan.deleted_files:
        return Advice("", win="nothing to do: no file older than a day is unused")
    return Advice("", plan.deleted_files, plan.freed_bytes, f"{size_text(plan.freed_bytes)} become free")
