"""The report of a table's health says what its system tables say, on a page that needs nothing else."""

import datetime as dt
import html.parser
import json
import pickle
import random
import sys
from pathlib import Path

import pyarrow.compute as pc
import pytest
import siltstone as st
from forging import many_files
from siltstone.cli.__main__ import main
from siltstone.health import Moment, pictures
from siltstone.health import files as file_figures
from siltstone.health import versions as version_figures

KEYED = {"id": "BIGINT", "item": "STRING"}
HOSTILE = "<script>alert(1)</script>&\"'$x$"


def sums(t, **query):
    """Files, rows and bytes by `$files`."""
    files = t.inspect("files", **query).to_arrow()
    return files.num_rows, *(pc.sum(files[name]).as_py() or 0 for name in ("record_count", "file_size_in_bytes"))


def totals(report):
    return report.totals.files, report.totals.rows, report.totals.bytes


def keeper(report, kind, name=""):
    (found,) = [k for k in report.keepers if (k.kind, k.name) == (kind, name)]
    return found


class Page(html.parser.HTMLParser):
    """Reads a page: every element that was opened is closed, and these are all of them."""

    EMPTY = {"meta", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], set(), [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def page(report):
    """The page, which runs nothing and fetches nothing."""
    read = Page(report.html)
    assert not read.tags & {"script", "img", "iframe", "object", "link", "foreignobject"}
    for name, value in read.attributes:
        assert not name.startswith("on")
        assert name not in {"href", "src", "xlink:href"} or value.startswith("#")
    assert "url(http" not in report.html and "@import" not in report.html
    return read


def test_an_empty_table_has_an_empty_report(make):
    report = make(KEYED, ["id"], bucket=1).report()
    assert (report.snapshot, report.levels, report.buckets, report.keepers) == (None, [], [], [])
    assert totals(report) == (0, 0, 0)
    assert {a.operation for a in report.advice if not a.failure} >= {"compact", "full compaction", "expire snapshots"}
    assert "svg" not in page(report).tags


def test_an_append_table_has_no_runs(make):
    t = make({"dt": "STRING", "n": "INT"}, (), ["dt"])
    for number in range(3):
        t.append([{"dt": f"d{number % 2}", "n": number}])
    report = t.report()
    assert totals(report) == sums(t)
    assert [(level.level, level.files, level.runs) for level in report.levels] == [(0, 3, 0)]
    assert sum(c.files for c in report.sizes) == 3 and not any(c.fresh for c in report.sizes)
    found = {p.partition: (p.files, p.rows, p.bytes) for p in report.partitions}
    assert found == {f"dt={p.spec['dt']}": (p.files, p.rows, p.bytes) for p in t.partitions()}
    (ages,) = {c.age for c in report.partition_classes}
    assert ages == 0 and sum(c.bytes for c in report.partition_classes) == report.totals.bytes
    page(report)


def test_runs_are_files_of_level_0_and_higher_levels(make):
    t = make(KEYED, ["id"], bucket=2, write_only="true")
    rows = [{"id": n, "item": "x"} for n in range(40)]
    t.upsert(rows)
    t.compact(full=True)
    t.upsert(rows)
    t.upsert(rows[:1])
    report = t.report()
    assert totals(report) == sums(t)
    levels = {level.level: (level.files, level.runs) for level in report.levels}
    assert levels[0] == (3, 3) and levels[max(levels)] == (2, 2)
    assert [bucket.runs for bucket in report.buckets] == [3, 2]
    shown = t.inspect("buckets", ["bucket", "file_count", "record_count", "file_size_in_bytes"]).to_pylist()
    assert sorted((b.bucket, b.files, b.rows, b.bytes) for b in report.buckets) == [tuple(b.values()) for b in shown]
    assert all(sum(b.levels.values()) == b.bytes for b in report.buckets)
    full = next(a for a in report.advice if a.operation == "full compaction")
    plan = t.maintenance.plan_compaction(full=True)
    assert (full.files, full.bytes) == (plan.files, plan.bytes) == report_files(report)
    page(report)


def report_files(report):
    return report.totals.files, report.totals.bytes


def test_deleted_rows_are_those_of_the_vectors(make):
    t = make({"n": "INT"}, (), (), deletion_vectors__enabled="true")
    t.append({"n": list(range(100))})
    t.delete("n < 30")
    report = t.report()
    assert report.totals.deleted_rows == 30 == report.buckets[0].deleted_rows
    assert report.totals.rows - report.totals.deleted_rows == t.count()
    assert "30 of 100" in "".join(page(report).text)


def test_dynamic_buckets(make):
    t = make(KEYED, ["id"], dynamic_bucket__target_row_num=5)
    t.upsert([{"id": n, "item": "x"} for n in range(20)])
    report = t.report()
    assert report.totals.buckets == t.stats().buckets > 1
    assert totals(report) == sums(t)
    page(report)


def test_what_tags_branches_and_snapshots_keep(make):
    """v1 keeps files that nothing else has any more, the branch has files of its own, and the newest version what was compacted."""
    t = make(KEYED, ["id"], bucket=1, write_only="true")
    t.upsert([{"id": 1, "item": "a"}])
    t.tags.create("v1")
    t.upsert([{"id": 2, "item": "b"}])
    t.branches.create("fix", version=2)
    st.open_table(t.location, branch="fix").upsert([{"id": 3, "item": "c"}])
    t.compact(full=True)
    report = t.report()
    assert [m.snapshot for m in report.snapshots] == [1, 2, 3] and report.snapshots[0].tags == ["v1"]
    assert [m.bytes for m in report.snapshots] == [sums(t, version=n)[2] for n in (1, 2, 3)]
    assert keeper(report, "newest").only_bytes == sums(t)[2]
    assert (keeper(report, "tag", "v1").bytes, keeper(report, "tag", "v1").only_bytes) == (sums(t, version=1)[2], 0)
    own = st.open_table(t.location, branch="fix").files()
    assert keeper(report, "branch", "fix").bytes == sum(f["bytes"] for f in own)
    assert keeper(report, "branch", "fix").only_bytes == next(f["bytes"] for f in own if f["min_key"] == ["3"])
    expiry = next(a for a in report.advice if a.operation == "expire snapshots")
    assert expiry.win.startswith("nothing to do")
    t.branches.delete("fix")
    t.expire_snapshots(retain_max=1, retain_min=1)
    assert keeper(t.report(), "tag", "v1").only_bytes == sums(t, tag="v1")[2] > 0
    page(report)


@pytest.mark.parametrize("name", ["odd", "..", "a:b", "\x1b[2J", "123"])
def test_a_branch_without_a_schema_keeps_nothing(make, name):
    """An empty directory in ``branch``, which everybody's list of branches has, ended the report with BranchNotFound."""
    t = make(KEYED, ["id"], bucket=1)
    t.upsert([{"id": 1, "item": "a"}])
    t.branches.create("fix", version=1)
    (Path(t.location) / "branch" / f"branch-{name}").mkdir()
    report = t.report()
    assert keeper(report, "branch", name).snapshot is None
    assert keeper(report, "branch", "fix").snapshot == 1
    page(report)
    with pytest.raises(st.errors.BranchNotFound, match=r"has no schema[^$]*\nhint: its directory holds no schema"):
        st.open_table(t.location, branch=name)
    # as in Java: it stands in the list, its name is taken, and orphan files are not looked for until it is gone
    assert [branch.name for branch in t.branches] == sorted(["fix", name])
    assert [finding.place for finding in t.maintenance.fsck().problems] == [name]
    with pytest.raises(st.errors.CorruptFile, match="has no schema"):
        t.maintenance.remove_orphan_files(older_than="1d", dry_run=True)
    t.branches.delete(name)
    assert t.maintenance.fsck().problems == []


@pytest.mark.parametrize("name", ["main", "", "  "])
def test_a_directory_of_a_name_of_main_is_no_branch(make, name):
    """It stood in the list as ``main``, and a blank one could be listed and not be opened."""
    t = make(KEYED, ["id"], bucket=1)
    t.upsert([{"id": 1, "item": "a"}])
    (Path(t.location) / "branch" / f"branch-{name}").mkdir(parents=True)
    assert list(t.branches) == []
    assert t.inspect("branches").to_arrow().num_rows == 0
    assert [keeper.kind for keeper in t.report().keepers] == ["newest"]
    assert t.maintenance.fsck().problems == []
    t.maintenance.remove_orphan_files(older_than="1d", dry_run=True)


def test_more_versions_than_can_be_compared_are_counted(make, monkeypatch):
    monkeypatch.setattr(version_figures, "COMPARED", 2)
    t = make(KEYED, ["id"], bucket=1, write_only="true")
    for number in range(4):
        t.upsert([{"id": number, "item": "x"}])
    report = t.report()
    assert report.skipped_versions == 3 and report.snapshots[0].bytes is None
    assert keeper(report, "newest").bytes == sums(t)[2]
    assert "3 versions were not looked at" in "".join(page(report).text)


def test_names_of_others_are_text(cat):
    """A tag `<script>` and a partition with dollars are letters on the page, no elements and no formula."""
    t = cat.create_table("db.<i>", {"p": "STRING", "n": "INT"}, partition_by="p", comment=HOSTILE)
    t.append([{"p": HOSTILE, "n": 1}])
    t.tags.create("<script>")
    report = t.report()
    read = page(report)
    text = "".join(read.text)
    assert "db.<i>" in text and "tag <script>" in text and "i" not in read.tags
    assert any("<script>aler" in part for part in read.text)
    Page(report._repr_html_())


def test_a_report_is_a_value(make, tmp_path):
    t = make(KEYED, ["id"], bucket=1)
    t.upsert([{"id": 1, "item": "a"}])
    report = t.report(html=tmp_path / "out.html")
    assert pickle.loads(pickle.dumps(report)) == report
    assert (tmp_path / "out.html").read_text(encoding="utf-8") == report.html
    assert "full compaction: " in str(report) and "rows: 1" in str(report)
    with pytest.raises(st.errors.StorageError, match="cannot be written"):
        report.save(tmp_path)
    for wrong in (7, b"out.html", "out\ud800.html"):
        with pytest.raises(st.errors.InvalidArgument, match="path"):
            report.save(wrong)
        with pytest.raises(st.errors.InvalidArgument, match="html"):
            t.report(html=wrong)


def test_without_matplotlib_there_are_figures_and_no_page(make, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    t = make(KEYED, ["id"], bucket=1)
    t.upsert([{"id": 1, "item": "a"}])
    report = t.report()
    assert "<svg" not in report._repr_html_() and "HealthReport" in report._repr_html_()
    for run in (lambda: report.html, lambda: t.report(html=tmp_path / "out.html")):
        with pytest.raises(st.errors.InvalidArgument, match=r"siltstone\[plot\]"):
            run()
    assert not (tmp_path / "out.html").exists()


def test_the_command_writes_the_page(make, capsys, tmp_path):
    t = make(KEYED, ["id"], bucket=1, write_only="true")
    t.upsert([{"id": 1, "item": "a"}])
    main(["-o", "json", "report", t.location, "--html", str(tmp_path / "out.html")])
    shown = json.loads(capsys.readouterr().out)
    assert shown["totals"]["files"] == 1 and shown["levels"][0]["runs"] == 1
    assert (tmp_path / "out.html").stat().st_size > 5000
    main(["report", t.location, "--no-orphans"])
    out = capsys.readouterr().out
    assert "newest version" in out and "orphan" not in out
    with pytest.raises(SystemExit):
        main(["report", f"{t.location}$snapshots"])
    main(["show", t.location])
    assert "#" * 30 + " 100%" in capsys.readouterr().out


def test_ages_of_partitions(make):
    t = make({"dt": "STRING", "n": "INT"}, (), ["dt"])
    t.append([{"dt": "a", "n": 1}, {"dt": "b", "n": 2}])
    now = dt.datetime.now()
    for later, age in ((-1, 0), (0, 0), (2 / 24, 1), (2, 2), (20, 3), (200, 4), (2000, 5)):
        found = file_figures.figures_of(t, 1, [], 0, now + dt.timedelta(days=later))
        assert found.totals.partitions == 2 and {c.age for c in found.partition_classes} == {age}


@pytest.mark.parametrize("days", [0, 0.0001, 0.002, 0.1, 0.8, 2.9, 40, 92, 400, 1100, 9000])
def test_timelines_of_any_span(days):
    """The ticks of a timeline of some milliseconds could not be chosen, which warned."""
    start = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
    times = [start, start + dt.timedelta(days=days)]
    moments = [Moment(n + 1, at, "APPEND", 10 * n, tags=["v$1$"]) for n, at in enumerate(times)]
    assert "v$1$" in pictures.timeline(moments)


@pytest.fixture
def rng(request):
    return random.Random(request.node.name)


def summed(files, *names):
    """Sums of some fields of files, and how many there are."""
    return len(files), *(sum(f[name] or 0 for f in files) for name in names)


def grouped(files, key):
    groups = {}
    for file in files:
        groups.setdefault(key(file), []).append(file)
    return groups


def runs_of(t, files):
    """Sorted runs of a bucket."""
    if not t.primary_key:
        return 0
    return sum(f["level"] == 0 for f in files) + len({f["level"] for f in files} - {0})


def check_figures(t):
    """All figures of a report are those of lists of files and of plans, which Python adds up."""
    report, files = t.report(orphans=False), t.files()
    buckets = grouped(files, lambda f: (f["partition"], f["bucket"]))
    partitions = grouped(files, lambda f: f["partition"]) if t.partition_by else {}
    found = report.totals
    assert (found.files, found.rows, found.retractions, found.bytes) == summed(files, "rows", "deleted_rows", "bytes")
    assert (found.buckets, found.partitions) == (len(buckets), len(partitions))
    levels = grouped(files, lambda f: f["level"])
    assert {x.level: (x.files, x.rows, x.bytes) for x in report.levels} == {
        level: summed(of_level, "rows", "bytes") for level, of_level in levels.items()
    }
    assert sum(x.runs for x in report.levels) == sum(runs_of(t, of_bucket) for of_bucket in buckets.values())
    expected = [(runs_of(t, fs), *summed(fs, "rows", "bytes"), b) for (_, b), fs in buckets.items()]
    expected.sort(key=lambda x: (-x[0], -x[3]))
    shown = [(b.runs, b.files, b.rows, b.bytes, b.bucket) for b in report.buckets]
    assert (
        sorted(shown) == sorted(expected)
        if len(expected) <= 30
        else [x[0] for x in shown] == [x[0] for x in expected[:30]]
    )
    assert [(b.runs, b.bytes) for b in report.buckets] == [(x[0], x[3]) for x in expected[:30]]
    assert all(sum(b.levels.values()) == b.bytes for b in report.buckets)
    powers = grouped(files, lambda f: max(1, f["bytes"]).bit_length() - 1)
    fresh = {p: sum(bool(t.primary_key) and f["level"] == 0 for f in fs) for p, fs in powers.items()}
    assert [(c.least_bytes, c.files, c.fresh) for c in report.sizes] == [
        (2**p, len(powers[p]) - fresh[p], fresh[p]) for p in sorted(powers)
    ]
    sizes = sorted((sum(f["bytes"] for f in fs) for fs in partitions.values()), reverse=True)
    assert [p.bytes for p in report.partitions] == sizes[:30]
    assert {p.partition: (p.files, p.rows, p.bytes) for p in report.partitions}.items() <= {
        name: summed(fs, "rows", "bytes") for name, fs in partitions.items()
    }.items()
    assert sum(c.partitions for c in report.partition_classes) == len(partitions)
    assert all(c.age == 0 for c in report.partition_classes)
    vectors = t.inspect("table_indexes", ["dv_ranges"], "index_type = 'DELETION_VECTORS'").to_pylist()
    assert found.deleted_rows == sum(r["_CARDINALITY"] for row in vectors for r in row["dv_ranges"])
    for advice, full in zip(report.advice, (False, True), strict=False):
        plan = t.maintenance.plan_compaction(full=full)
        assert (advice.files, advice.bytes, advice.failure) == (plan.files, plan.bytes, ""), advice
        assert bool(plan.tasks) == (advice.win != "nothing to do")
    check_keepers(t, report)


def check_keepers(t, report):
    """What versions keep is what the lists of their files say."""
    tags = {f"tag {tag.name}": [{"tag": tag.name}] for tag in t.tags.list()}
    newest = report.snapshots[-1].snapshot
    earlier = [{"version": m.snapshot} for m in report.snapshots[:-1]]
    versions = {"newest ": [{"version": newest}], **tags, **({"snapshots ": earlier} if earlier else {})}
    held = {
        name: {row["file_path"]: row["file_size_in_bytes"] for at in of for row in t.inspect("files", **at).to_pylist()}
        for name, of in versions.items()
    }
    for keeper in report.keepers:
        own = held[f"{keeper.kind} {keeper.name}"]
        others = set().union(*(files for name, files in held.items() if name != f"{keeper.kind} {keeper.name}"))
        assert keeper.bytes == sum(own.values()), keeper
        assert keeper.only_bytes == sum(size for path, size in own.items() if path not in others), keeper
    assert [m.bytes for m in report.snapshots] == [sums(t, version=m.snapshot)[2] for m in report.snapshots]


KINDS = {
    "keys": ({"bucket": "3", "write-only": "true"}, True),
    "dynamic": ({"dynamic-bucket.target-row-num": "7"}, True),
    "vectors": ({"bucket": "1", "deletion-vectors.enabled": "true", "write-only": "true"}, True),
    "postponed": ({"bucket": "-2"}, True),
    "old records": ({"bucket": "2", "record-level.expire-time": "1 h", "record-level.time-field": "n"}, True),
    "append": ({}, False),
    "deleted": ({"deletion-vectors.enabled": "true"}, False),
    "buckets": ({"bucket": "2", "bucket-key": "n"}, False),
}


@pytest.mark.parametrize("partitioned", [False, True], ids=["whole", "partitioned"])
@pytest.mark.parametrize("kind", KINDS)
def test_figures_are_those_of_the_files(make, rng, kind, partitioned):
    """Of random tables: what the core sums up from one look at the manifests is what lists of files add up to."""
    options, keyed = KINDS[kind]
    by = ["p"] if partitioned else []
    t = make({"p": "INT", "n": "INT", "x": "STRING"}, [*by, "n"] if keyed else (), by, **options)
    for number in range(rng.randrange(3, 9)):
        places = [rng.randrange(40 if partitioned else 4) for _ in range(rng.randrange(1, 30))]
        rows = [{"p": p, "n": rng.randrange(20), "x": "x" * rng.randrange(500)} for p in places]
        (t.upsert if keyed else t.append)(rows)
        if number == 1:
            t.tags.create("early")
        if kind == "deleted" and rng.random() < 0.7:
            t.delete(f"n < {rng.randrange(5)}")
        if rng.random() < 0.3:
            t.compact(full=rng.random() < 0.5)
    check_figures(t)


def test_the_figures_of_many_files(make):
    """100 000 files in twenty manifests: they come as sums, and the page has no mark for each of them."""
    t = make(KEYED, ["id"], bucket=1, manifest__compression="null", write_only="true")
    t.upsert([{"id": n, "item": "x"} for n in range(5)])
    many_files(t.location, 20, 5000)
    report = t.report(orphans=False)
    assert totals(report) == sums(t) and report.totals.files == report.levels[0].runs == 100_000
    assert report.advice[1].files == 100_000
    assert len(report.html) < 100_000


def test_null_and_the_text_null_are_two_partitions(make):
    """Buckets were told apart by the texts of their partitions, which are the same."""
    t = make({"p": "STRING", "n": "INT"}, (), ["p"])
    t.append([{"p": None, "n": 1}, {"p": "null", "n": 2}])
    report = t.report()
    assert (report.totals.partitions, report.totals.buckets, len(report.buckets)) == (2, 2, 2)


def test_commands_of_the_advice_are_safe_in_a_shell():
    """``siltstone compact db.a;touch zz`` was there to be copied, and a shell took ``$branch_b`` for a variable."""
    from types import SimpleNamespace

    from siltstone.health.advice import _command

    names = {
        ("db.a;touch zz", "main"): "siltstone compact 'db.a;touch zz' --full",
        ("db.`id`", "main"): "siltstone compact 'db.`id`' --full",
        ("db.t", "b"): "siltstone compact 'db.t$branch_b' --full",
        ("-x.t", "main"): "siltstone compact --full -- -x.t",
        ("db.t", "main"): "siltstone compact db.t --full",
    }
    for (name, branch), command in names.items():
        assert _command(SimpleNamespace(name=name, branch=branch), "compact", option="--full") == command


@pytest.mark.parametrize(
    ("options", "waiting"),
    [({"bucket": "-2"}, 5), ({"deletion-vectors.enabled": "true", "write-only": "true"}, 5), ({"bucket": "1"}, 0)],
    ids=["postponed", "vectors", "fixed"],
)
def test_rows_that_nobody_sees_yet_are_told(make, options, waiting):
    """A report said `rows: 5` of a table that no reader found a row in."""
    t = make(KEYED, ["id"], **options)
    t.upsert([{"id": i, "item": "x"} for i in range(5)])
    assert (t.scan().count(), t.report().totals.waiting_rows) == (5 - waiting, waiting)
    assert ("not shown by batch reads" in str(t.report())) == bool(waiting)
    t.compact()
    assert (t.scan().count(), t.report().totals.waiting_rows) == (5, 0)
