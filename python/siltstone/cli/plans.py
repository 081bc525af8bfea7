"""Whatever deletes: the plan is shown, asked for, and carried out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from siltstone._visible import visible_lines
from siltstone.cli import output

if TYPE_CHECKING:
    from siltstone.cli.context import App
    from siltstone.report import UpkeepReport

SHOWN = 50


def summary(report: UpkeepReport) -> dict[str, Any]:
    """A report's sums and details as one record."""
    out: dict[str, Any] = {
        "dry_run": report.dry_run,
        "deleted_files": report.deleted_files,
        "freed_bytes": report.freed_bytes,
        **report.details,
    }
    return {**out, "notes": report.notes} if report.notes else out


def deletion(plan: UpkeepReport) -> str:
    """The question before partitions or files go."""
    if partitions := plan.details.get("partitions"):
        return f"drop {len(partitions)} partitions with all their rows?"
    return f"delete {plan.deleted_files} files?"


def versions_gone(plan: UpkeepReport) -> str:
    """How many snapshots and tags go."""
    kinds = [(kind, plan.by_kind.get(kind, {}).get("files", 0)) for kind in ("snapshot", "tag")]
    return " and ".join(f"{number} {kind}{'s' * (number != 1)}" for kind, number in kinds if number or kind != "tag")


def carry_out(
    app: App,
    run: Callable[[bool], UpkeepReport],
    *,
    dry_run: bool,
    yes: bool,
    question: Callable[[UpkeepReport], str] = deletion,
) -> None:
    """Show the plan and stop (``dry_run``), or ask (unless ``yes``) and do it.

    Args:
        app: Where to print.
        run: Called with True for the plan, with False to do it.
        dry_run: Only show.
        yes: Do not ask.
        question: What is asked of a plan.
    """
    if dry_run:
        _show(app, run(True), everything=True)
        return
    if not yes:
        plan = run(True)
        if _does_something(plan):
            if app.output == "table":
                _show(app, plan, everything=False)
            click.confirm(visible_lines(question(plan)), abort=True, err=True)
    output.record(app, summary(run(False)))


def _does_something(plan: UpkeepReport) -> bool:
    """Whether files, versions or partitions would go; a question about nothing is none."""
    named = any(isinstance(value, (list, tuple)) and value for value in plan.details.values())
    moved = plan.details.get("previous_snapshot") != plan.details.get("current_snapshot")
    return plan.deleted_files > 0 or named or moved


def _show(app: App, plan: UpkeepReport, *, everything: bool) -> None:
    if app.output == "json":
        listed = [{"path": f.path, "kind": f.kind, "bytes": f.bytes, "reason": f.reason} for f in plan.files]
        output.record(app, {**summary(plan), "files": listed})
        return
    files = plan.files if everything else plan.files[:SHOWN]
    output.rows(
        app,
        [{"kind": f.kind, "path": f.path, "bytes": f.bytes, "reason": f.reason} for f in files],
        ["kind", "path", "bytes", "reason"],
    )
    if len(files) < plan.deleted_files:
        click.echo(f"... and {plan.deleted_files - len(files)} more (--dry-run lists them all)")
    click.echo()
    output.record(app, summary(plan))
