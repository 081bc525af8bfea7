"""Compaction."""

from __future__ import annotations

from typing import Any

import click

from siltstone.cli import exits, output
from siltstone.cli.context import App, pass_app, table_argument


@click.command()
@table_argument
@click.option("--full", is_flag=True, help="Merge all files of each bucket, not only those that are due.")
@click.option("--where", help="Only partitions that satisfy this condition, for example \"dt < '2026-11-01'\".")
@click.option("--idle", help="Only partitions that were not written to for this long, for example '1 d' or '6 h'.")
@click.option(
    "--order-by", help="Sort the rows of each partition by these columns, for example 'a,b' (tables without a key)."
)
@click.option(
    "--strategy",
    type=click.Choice(["order", "zorder", "hilbert"]),
    help="How --order-by sorts: column by column (order, the default), or along a curve through all of them.",
)
@click.option("--dry-run", is_flag=True, help="Only print what would be done.")
@click.option(
    "--commit-every", type=click.IntRange(min=1), help="Commit after this many buckets, instead of once at the end."
)
@pass_app
def compact(
    app: App,
    table: str,
    full: bool,
    where: str | None,
    idle: str | None,
    order_by: str | None,
    strategy: str | None,
    dry_run: bool,
    commit_every: int | None,
) -> int:
    """Compact a table.

    Works on tables with the option write-only, too. Commits once, or after every N buckets with --commit-every.
    """
    from siltstone.report import as_dict

    t = app.table(table)
    before = t.snapshot()
    columns = None if order_by is None else [name.strip() for name in order_by.split(",")]
    chosen: dict[str, Any] = {"full": full, "where": where, "idle": idle, "order_by": columns, "strategy": strategy}
    if dry_run:
        plan = t.maintenance.plan_compaction(**chosen)
        fields = ("partition", "bucket", "files", "rows", "bytes")
        output.rows(app, [{f: getattr(task, f) for f in fields} for task in plan.tasks], list(fields))
        if not plan.tasks:
            click.echo("nothing to do", err=True)
        return exits.OK
    report = t.maintenance.compact(**chosen, commit_every=commit_every)
    after = t.snapshot()
    summary = as_dict(report)
    summary["snapshots"] = [s.id for s in report.snapshots]
    output.record(app, {"snapshot_before": before and before.id, "snapshot_after": after and after.id, **summary})
    return exits.CONFLICT if report.given_up else exits.OK


_BUCKETS = click.IntRange(min=1, max=2**31 - 1)


@click.command()
@table_argument
@click.argument("number", required=False, type=_BUCKETS, metavar="[BUCKETS]")
@click.option("--buckets", type=_BUCKETS, help="The same as BUCKETS.")
@click.option("--where", help="Only partitions that satisfy this condition, for example \"dt < '2026-11-01'\".")
@click.option("--dry-run", is_flag=True, help="Only print what would be done.")
@pass_app
def rescale(app: App, table: str, number: int | None, buckets: int | None, where: str | None, dry_run: bool) -> None:
    """Change the number of buckets of a table.

    BUCKETS is the new number of each partition, or with --where of some of them. Without it they get the number that
    the table option 'bucket' says.
    """
    if number is not None and buckets is not None:
        raise click.UsageError("give the number of buckets once: BUCKETS or --buckets")
    report = app.table(table).rescale(buckets if number is None else number, where=where, dry_run=dry_run)
    snapshots = [s.id for s in report.snapshots]
    output.record(app, {"snapshots": snapshots, "rows": report.rows, "files": report.files, "notes": report.notes})


COMMANDS = [compact, rescale]
