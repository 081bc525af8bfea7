"""A report as one page of HTML that needs nothing else: no script, no file, no network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from siltstone._looks import Grid, escaped, html_of_facts, html_of_grid, shown_fields, size_text, value_text
from siltstone.health import pictures

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Report = Any

_STYLE = """
.siltstone-report{--line:#9aa3ad;--s0:#2f6fb3;--s1:#2f8f5b;--s2:#c26a1b;--s3:#b0413e;--s4:#7a52a8;--s5:#11808a;
 --s6:#8a6d0b;--s7:#667;color:#1b1f24;background:#fff;font:15px/1.5 system-ui,sans-serif;padding:1rem;
 max-width:100rem;margin:0 auto;box-sizing:border-box}
@media (prefers-color-scheme:dark){.siltstone-report{--line:#5c6670;--s0:#6aa9e9;--s1:#62c28d;--s2:#eb9a50;
 --s3:#e57f7c;--s4:#b797e0;--s5:#4fbcc6;--s6:#cdb24a;--s7:#a3a9b3;color:#e4e7eb;background:#14171b}}
.siltstone-report h1{font-size:1.5rem;margin:0 0 .3rem;overflow-wrap:anywhere}
.siltstone-report h2{font-size:1.05rem;margin:0 0 .4rem}
.siltstone-report p{margin:.2rem 0;overflow-wrap:anywhere}
.siltstone-report .grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:1rem;
 margin-top:1rem;align-items:start}
.siltstone-report section{border:1px solid var(--line);border-radius:6px;padding:.8rem;min-width:0}
.siltstone-report .wide{grid-column:1/-1}
.siltstone-report .scroll{overflow-x:auto}
.siltstone-report svg{width:100%;height:auto;display:block}
.siltstone-report table{border-collapse:collapse;font-size:.9rem}
.siltstone-report th,.siltstone-report td{text-align:left;padding:.15rem .8rem .15rem 0;vertical-align:top;
 white-space:nowrap}
.siltstone-report tbody tr{border-top:1px solid var(--line)}
@media (max-width:48rem){.siltstone-report .plans td{white-space:normal}}
"""
_HEAD = (
    '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark">'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)
_BODY = "<style>html{background:#fff}body{margin:0}@media (prefers-color-scheme:dark){html{background:#14171b}}</style>"


def page_of(report: Report) -> str:
    """The whole page."""
    title = f"<title>{escaped(report.name)}: report</title>"
    return f"{_HEAD}{title}{_BODY}</head><body>{fragment_of(report)}</body></html>\n"


def fragment_of(report: Report) -> str:
    """The report as a part of another page, for example of a notebook."""
    taken = value_text("time", report.time)
    version = "no snapshot yet" if report.snapshot is None else f"snapshot {report.snapshot}"
    place = f"<p>{escaped(report.location)}, branch {escaped(report.branch)}, {version}; looked at {taken} UTC</p>"
    sections = "".join(_sections(report))
    return (
        f'<div class="siltstone-report"><style>{_STYLE}</style><h1>{escaped(report.name)}</h1>{place}'
        f'<div class="grid">{sections}</div></div>'
    )


def grid_of(things: Sequence[Any], *names: str) -> Grid:
    """Figures as rows: the fields of these names."""
    rows = [[value_text(name, shown_fields(thing)[name]) for name in names] for thing in things]
    return Grid([name.replace("_", " ") for name in names], rows)


def _section(title: str, *parts: str, kind: str = "") -> str:
    content = "".join(part if part.startswith("<svg") else f'<div class="scroll">{part}</div>' for part in parts)
    return f'<section class="{kind}"><h2>{title}</h2>{content}</section>'


def _table(things: Sequence[Any], *names: str) -> str:
    return html_of_grid(grid_of(things, *names)) if things else "<p>none</p>"


def _note(text: str) -> str:
    return f"<p>{escaped(text)}</p>"


def _sections(report: Report) -> Iterable[str]:
    yield _section("The newest version", html_of_facts([*report.totals._facts()]))  # noqa: SLF001  # of this package
    if report.levels:
        yield _section("Levels", _table(report.levels, "level", "files", "runs", "rows", "bytes"))
    yield _deleted(report)
    yield _advice(report)
    yield _timeline(report)
    yield _kept(report)
    if report.buckets:
        yield _section(
            "Levels and runs" if report.primary_key else "Buckets",
            pictures.levels(report.buckets),
            _note(_of(report.buckets, report.totals.buckets, "buckets, those with the most runs first")),
        )
        yield _section("File sizes", pictures.sizes(report.sizes))
    if report.partition_classes:
        yield _section("Partitions by age and size", pictures.partitions(report.partition_classes))
        named = _of(report.partitions, report.totals.partitions, "partitions, the largest first")
        columns = ("partition", "files", "rows", "bytes", "last_update")
        yield _section("Partitions", _table(report.partitions, *columns), _note(named), kind="wide")
    if report.buckets:
        names = ("partition", "bucket", "files", "runs", "rows", "deleted_rows", "bytes")
        yield _section("Buckets one by one", _table(report.buckets, *names), kind="wide")


def _of(shown: Sequence[Any], there_are: int, what: str) -> str:
    return f"{len(shown):,} of {there_are:,} {what}"


def _advice(report: Report) -> str:
    rows = [
        (
            advice.operation,
            f"{advice.files:,}",
            size_text(advice.bytes),
            f"not planned: {advice.failure}" if advice.failure else advice.win,
            advice.command,
        )
        for advice in report.advice
    ]
    return _section(
        "What upkeep would do now", html_of_grid(Grid(("", "files", "size", "", "command"), rows)), kind="wide plans"
    )


def _timeline(report: Report) -> str:
    if not report.snapshots:
        return _section("Snapshots", _note("none yet"))
    newest = list(reversed(report.snapshots))[:10]
    return _section(
        "Snapshots",
        pictures.timeline(report.snapshots),
        _table(newest, "snapshot", "time", "kind", "rows", "bytes", "tags"),
    )


def _kept(report: Report) -> str:
    if not report.keepers:
        return _section("What versions keep", _note("nothing yet"))
    rows = [
        (pictures.keeper_name(k), *(value_text(n, getattr(k, n)) for n in ("snapshot", "bytes", "only_bytes")))
        for k in report.keepers
    ]
    table = html_of_grid(Grid(("", "snapshot", "bytes of data files", "kept by this alone"), rows))
    skipped = _note(report.skipped_note()) if report.skipped_versions else ""
    picture = pictures.kept(report.keepers) if any(k.bytes is not None for k in report.keepers) else ""
    return _section("What versions keep", *(part for part in (picture, table, skipped) if part))


def _deleted(report: Report) -> str:
    totals = report.totals
    facts = [
        ("retractions (-U, -D) in files", f"{totals.retractions:,}"),
        ("rows that deletion vectors delete", f"{totals.deleted_rows:,} of {totals.rows:,}"),
    ]
    picture = [pictures.deleted(report.buckets)] if any(b.deleted_rows for b in report.buckets) else []
    return _section("Deleted rows", html_of_facts(facts), *picture)
