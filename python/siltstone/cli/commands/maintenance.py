"""Expiry, orphan files, checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from siltstone.cli import exits, output
from siltstone.cli.commands.versions import expire_tags
from siltstone.cli.context import App, pass_app, plan_options, table_argument
from siltstone.cli.plans import carry_out

if TYPE_CHECKING:
    from siltstone.report import Verdict


@click.group()
def expire() -> None:
    """Delete expired snapshots, tags and partitions."""


@expire.command("snapshots")
@table_argument
@click.option("--retain-max", type=click.IntRange(min=1), help="Keep at most this many snapshots.")
@click.option("--retain-min", type=click.IntRange(min=1), help="Keep at least this many snapshots.")
@click.option(
    "--older-than", help="Only snapshots older than this: a duration such as '7 d', or a time such as 2026-11-20T08:00."
)
@click.option("--max-deletes", type=click.IntRange(min=1), help="Expire at most this many snapshots.")
@plan_options
@pass_app
def expire_snapshots(app: App, /, table: str, dry_run: bool, yes: bool, **how: Any) -> None:
    """Expire old snapshots, with the files that only they need.

    Without options the table's own options decide (snapshot.num-retained.*, snapshot.time-retained).
    """
    maintenance = app.table(table).maintenance
    carry_out(app, lambda dry: maintenance.expire_snapshots(**how, dry_run=dry), dry_run=dry_run, yes=yes)


@expire.command("tags")
@table_argument
@click.option(
    "--older-than", help="Also tags older than this, whatever their retention: a duration such as '7 d', or a time."
)
@plan_options
@pass_app
def tags(app: App, table: str, older_than: str | None, dry_run: bool, yes: bool) -> None:
    """Delete the tags whose retention time is over."""
    expire_tags(app, table, older_than, dry_run=dry_run, yes=yes)


@expire.command("partitions")
@table_argument
@click.option("--expiration-time", help="Drop partitions older than this, for example '90 d'.")
@click.option("--timestamp-formatter", help="How the time is written in the partition values, for example yyyyMMdd.")
@click.option("--timestamp-pattern", help="Which partition columns hold the time, for example '$year-$month-$day'.")
@click.option(
    "--strategy",
    type=click.Choice(["values-time", "update-time"]),
    help="Take the age from the partition values, or from the last write.",
)
@click.option("--max-expires", type=click.IntRange(min=1), help="Drop at most this many partitions.")
@plan_options
@pass_app
def partitions(app: App, /, table: str, dry_run: bool, yes: bool, **how: Any) -> None:
    """Drop old partitions."""
    maintenance = app.table(table).maintenance
    carry_out(app, lambda dry: maintenance.expire_partitions(**how, dry_run=dry), dry_run=dry_run, yes=yes)


@click.group()
def clean() -> None:
    """Find and delete files that no version refers to."""


@clean.command("orphans")
@table_argument
@click.option("--older-than", help="Only files older than this: a duration such as '7 d', or a time. [default: 1 d]")
@click.option("--delete", is_flag=True, help="Delete the files, instead of only listing them.")
@plan_options
@pass_app
def orphans(app: App, table: str, older_than: str | None, delete: bool, dry_run: bool, yes: bool) -> None:
    """List orphan files; with --delete, delete them.

    An orphan file is one that no snapshot, tag or branch refers to. Files of a job that has not committed yet look like
    orphans: --older-than must be longer than the longest job.
    """
    if yes and not delete and not dry_run:
        raise click.UsageError("--yes answers no question without --delete: nothing would be deleted.")
    maintenance = app.table(table).maintenance
    carry_out(
        app,
        lambda dry: maintenance.remove_orphan_files(older_than=older_than, dry_run=dry),
        dry_run=dry_run or not delete,
        yes=yes,
    )


@click.command()
@table_argument
@click.option("--deep", is_flag=True, help="Also read every data file and every version completely.")
@click.pass_context
def fsck(ctx: click.Context, table: str, deep: bool) -> None:
    """Check a table for missing, damaged and unused files.

    The exit code is 5 when there are problems.
    """
    app: App = ctx.obj
    verdict = _verdict(app, table, deep=deep)
    columns = ["severity", "code", "place", "message", "repair"]
    findings = [{c: getattr(f, c) for c in columns} for f in verdict.findings]
    if app.output == "json":
        output.record(app, {"ok": verdict.ok, "checked": verdict.checked, "findings": findings})
    else:
        output.rows(app, findings, columns)
        output.record(app, {"problems": len(verdict.problems), "warnings": len(verdict.warnings), **verdict.checked})
    if not verdict.ok:
        ctx.exit(exits.PROBLEMS)


def _verdict(app: App, table: str, *, deep: bool) -> Verdict:
    """What is wrong with a table, even with one that cannot be opened."""
    from siltstone.checking import check_directory
    from siltstone.errors import CorruptFile, FileMissing, TableNotFound

    try:
        return app.table(table).maintenance.fsck(deep=deep)
    except (CorruptFile, FileMissing, TableNotFound) as unopened:
        try:
            return check_directory(app.location(table), deep=deep)
        except TableNotFound:
            raise unopened from None


@click.command()
@table_argument
@pass_app
def analyze(app: App, table: str) -> None:
    """Compute column statistics for query planners."""
    snapshot = app.table(table).maintenance.analyze().snapshot
    output.record(app, {"snapshot": snapshot and snapshot.id})


COMMANDS: list[click.Command] = [expire, clean, fsck, analyze]
