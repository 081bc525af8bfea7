"""What reports, versions and plans look like in notebooks and terminals."""

import copy
import io
import pickle

import pytest
import rich.console
import siltstone as st


@pytest.fixture
def t(cat):
    t = cat.create_table("db.<b>", {"id": int, "item": str}, primary_key="id", options={"bucket": "1"})
    t.append({"id": [1, 2], "item": ["pen", "ink"]})
    t.upsert({"id": [2], "item": ["nib"]})
    return t


def terminal(thing):
    console = rich.console.Console(file=io.StringIO(), width=1000)
    console.print(thing)
    return console.file.getvalue()


LOOKS = {
    "snapshot": (lambda t: t.snapshot(), ["Snapshot", "2", "APPEND"]),
    "history": (lambda t: t.history(), ["total rows", "APPEND"]),
    "commit": (lambda t: t.append({"id": [3], "item": ["cap"]}), ["CommitReport", "3 (APPEND)", "KiB"]),
    "merge": (
        lambda t: t.merge([{"id": 9, "item": "x"}], on="id").when_not_matched_insert_all().execute(),
        ["MergeReport", "inserted rows"],
    ),
    "plan": (lambda t: t.maintenance.plan_compaction(full=True), ["CompactionPlan", "buckets", "partition"]),
    "compaction": (lambda t: t.compact(full=True), ["CompactionReport", "files before", "3 (COMPACT)"]),
    "tag": (lambda t: t.tags.create("v1"), ["Tag", "v1"]),
    "tags": (lambda t: t.tags.create("v1") and t.tags.list(), ["name", "v1", "2 (APPEND)"]),
    "expiry": (lambda t: t.expire_snapshots(retain_max=1, dry_run=True), ["nothing was done", "reason", "snapshot-1"]),
    "rollback": (lambda t: t.rollback(version=1), ["deleted files", "current snapshot"]),
    "fsck": (lambda t: t.maintenance.fsck(), ["Verdict", "problems", "0"]),
    "stats": (lambda t: t.stats(), ["TableStats", "levels"]),
    "files": (lambda t: t.files(), ["level", "parquet"]),
    "features": (lambda t: t.features(), ["merge engine", "deduplicate"]),
    "branches": (lambda t: t.branches.create("b", version="latest") or t.branches.list(), ["name", "time"]),
    "consumers": (lambda t: t.consumers.reset("audit", 2) or t.consumers.list(), ["next snapshot", "audit"]),
}


@pytest.mark.parametrize("name", LOOKS)
def test_results_show_themselves(t, name):
    make, words = LOOKS[name]
    thing = make(t)
    page, text = thing._repr_html_(), terminal(thing)
    for word in words:
        assert word in text
        assert word.replace("<", "&lt;") in page
    assert page.startswith(("<div>", "<table>"))
    assert page.count("<tr>") == page.count("</tr>")
    assert pickle.loads(pickle.dumps(thing)) == copy.copy(thing) == thing


def test_what_is_not_ours_is_escaped(t):
    t.tags.create("<script>")
    assert "<script>" not in t.tags.list()._repr_html_()
    assert "&lt;script&gt;" in t.tags.list()._repr_html_()
    assert "<b>" not in t.expire_snapshots(retain_max=1, dry_run=True)._repr_html_()
    assert "[red]" in terminal(st.report.UpkeepReport(notes=["[red]\x1b[31m"]))
    assert "\x1b" not in terminal(st.report.UpkeepReport(notes=["[red]\x1b[31m"]))


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536 * 1024, "1.5 MiB"), (2**63 - 1, "8.0 EiB")],
)
def test_sizes_have_units(size, text):
    assert text in terminal(st.CommitReport(bytes=size))


def test_long_lists_are_counted(t):
    for name in range(60):
        t.tags.create(f"v{name}")
    listed = t.tags.list()
    assert len(listed) == 60
    assert "... 10 more" in listed._repr_html_()
    assert listed[:2] == list(listed)[:2]
    assert terminal(t.branches.list()).strip() == "none"
