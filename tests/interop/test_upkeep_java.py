"""Java and we look after twins: the same commits on tables with the same options leave the same versions.

Also tables of old releases, which must survive our upkeep and stay readable by the release that wrote them.
"""

import datetime as dt
import decimal
import itertools
import json
import pathlib
import tarfile
import time

import engines
import java_oracle
import pytest
import siltstone as st
from forging import patch_entries, sizes

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]
BATCH = 2**63 - 1
FIXTURES = pathlib.Path(__file__).parents[1] / "golden" / "fixtures"


class Twins:
    """Two tables of one definition: ours and Java's."""

    def __init__(self, cat, oracle, options, partition_by=()):
        self.oracle = oracle
        columns = {"p": "STRING", "k": "INT", "v": "INT"}
        key = [*partition_by, "k"]
        both = [
            cat.create_table(
                f"db.{name}",
                columns,
                primary_key=key,
                partition_by=list(partition_by),
                options={"bucket": "1", **options},
            )
            for name in ("ours", "javas")
        ]
        self.ours, self.javas = (pathlib.Path(t.location) for t in both)

    def both(self):
        return self.ours, self.javas

    def write(self, *rows, batch=True):
        """One commit of (p, k, v)."""
        st.open_table(str(self.ours)).append([{"p": p, "k": k, "v": v} for p, k, v in rows])
        step = {"op": "write", "rows": [["+I", *row] for row in rows]} | ({"commit_id": BATCH} if batch else {})
        self.oracle.call("apply", self.javas, json.dumps(step))

    def step(self, ours, java):
        ours(st.open_table(str(self.ours)))
        self.oracle.call("apply", self.javas, json.dumps(java))

    def state(self, path):
        """Which versions, partitions, changelogs, tags, consumers and folders are left."""
        t = st.open_table(str(path))
        names = lambda folder, prefix: sorted(p.name for p in (path / folder).glob(f"{prefix}*"))  # noqa: E731
        return {
            "snapshots": [(s.id, s.kind) for s in t.history(1000)],
            "rows": sorted(map(str, t.scan().to_arrow().to_pylist())),
            "changelogs": names("changelog", "changelog-"),
            "tags": names("tag", "tag-"),
            "consumers": names("consumer", "consumer-"),
            "data files": len(list(path.glob("**/bucket-*/data-*"))),
            "changelog files": len(list(path.glob("**/bucket-*/changelog-*"))),
            "index files": len(names("index", "index-")),
            "statistics": len(names("statistics", "stat-")),
            "folders": sorted(str(p.relative_to(path)) for p in path.glob("p=*/*")),
        }

    def check(self):
        assert self.state(self.ours) == self.state(self.javas)
        for path in self.both():
            assert not self.oracle.call("fsck", path, check=False)[0]["problems"]
            assert not st.open_table(str(path)).maintenance.fsck(deep=True).problems


ONE = {"snapshot.num-retained.min": "1"}
SHORT = {"snapshot.time-retained": "1 ms"}


@pytest.mark.parametrize(
    "options",
    [
        {**ONE, "snapshot.num-retained.max": "3"},
        {**ONE, "snapshot.num-retained.max": "2", "snapshot.expire.limit": "1"},
        {"snapshot.num-retained.min": "4", **SHORT},
        {"write-only": "true", **ONE, "snapshot.num-retained.max": "2"},
        {**ONE, "snapshot.num-retained.max": "2", "changelog-producer": "input"},
        {**ONE, "snapshot.num-retained.max": "2", "changelog-producer": "input", "changelog.num-retained.max": "5"},
        {**ONE, "snapshot.num-retained.max": "2", "changelog.num-retained.max": "4"},
        {**ONE, "snapshot.num-retained.max": "2", "changelog.time-retained": "1 d"},
        {**ONE, "snapshot.num-retained.max": "3", "deletion-vectors.enabled": "true"},
        {**ONE, "snapshot.num-retained.max": "3", "changelog-producer": "lookup"},
    ],
    ids=lambda options: ",".join(f"{k}={v}" for k, v in options.items()),
)
def test_commits_expire_the_same_versions_as_javas(cat, oracle, options):
    twins = Twins(cat, oracle, {"num-sorted-run.compaction-trigger": "3", **options})
    for n in range(9):
        twins.write(("a", n % 4, n))
        twins.check()


def test_consumers_hold_snapshots_until_they_expire(cat, oracle):
    twins = Twins(cat, oracle, {**ONE, "write-only": "false", "snapshot.num-retained.max": "2"})
    twins.write(("a", 1, 1))
    twins.write(("a", 1, 2))
    for path in twins.both():
        st.open_table(str(path)).consumers.reset("audit", 2)
    for n in range(4):
        twins.write(("a", 1, n))
        twins.check()
    assert twins.state(twins.ours)["snapshots"][-1][0] == 2
    for path in twins.both():
        st.open_table(str(path)).alter().set_option("consumer.expiration-time", "1 ms").commit()
    twins.write(("a", 1, 9))
    twins.check()
    assert twins.state(twins.ours)["consumers"] == []


def test_tags_have_their_time_and_keep_their_files_until_then(cat, oracle):
    twins = Twins(cat, oracle, {**ONE, "snapshot.num-retained.max": "1", "num-sorted-run.compaction-trigger": "2"})
    for n in range(3):
        twins.write(("a", 1, n))
    twins.step(lambda t: t.tags.create("kept"), {"op": "tag", "name": "kept"})
    for path in twins.both():
        st.open_table(str(path)).tags.create("short", retain="1 ms")
    twins.write(("a", 1, 7))
    assert twins.state(twins.ours)["tags"] == ["tag-kept"]
    twins.check()
    twins.write(("a", 1, 8))
    twins.check()
    twins.step(lambda t: t.tags.delete("kept"), {"op": "delete_tag", "name": "kept"})
    twins.check()


def test_statistics_go_with_the_last_version_that_has_them(cat, oracle):
    twins = Twins(cat, oracle, {**ONE, "snapshot.num-retained.max": "2"})
    twins.write(("a", 1, 1))
    for _ in range(2):
        # Java inherits them from snapshot to snapshot as we do
        for path in twins.both():
            st.open_table(str(path)).maintenance.analyze()
        for n in range(3):
            twins.write(("a", n, n))
            twins.check()
    assert twins.state(twins.ours)["statistics"] == 1


@pytest.mark.parametrize(
    "options",
    [
        {"partition.expiration-strategy": "values-time"},
        {"partition.expiration-strategy": "values-time", "partition.expiration-batch-size": "2"},
        {"partition.expiration-strategy": "values-time", "partition.expiration-max-num": "1"},
        {"partition.timestamp-pattern": "$p", "partition.timestamp-formatter": "yyyy-MM-dd"},
        {**ONE, "snapshot.num-retained.max": "1", "snapshot.clean-empty-directories": "true"},
    ],
    ids=lambda options: ",".join(f"{k}={v}" for k, v in options.items()),
)
def test_old_partitions_go_as_javas_do(cat, oracle, options):
    check = {"partition.expiration-time": "7 d", "partition.expiration-check-interval": "0 s"}
    twins = Twins(cat, oracle, {**check, **options}, partition_by=["p"])
    old = [(day, 1, 1) for day in ("2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04", "2020-01-05")]
    twins.write(*old, ("2999-01-01", 1, 1), ("no day", 1, 1))
    twins.check()
    for _ in range(2):
        twins.write(("2020-02-01", 1, 1), ("2999-01-01", 2, 2))
        twins.check()


def test_partitions_that_nobody_wrote_to_for_long_go_as_javas_do(cat, oracle):
    """By the time of their newest file; files that were made just now are told to be of yesterday."""
    options = {
        "partition.expiration-strategy": "update-time",
        "partition.expiration-time": "12 h",
        "partition.expiration-check-interval": "0 s",
        "manifest.compression": "null",
    }
    twins = Twins(cat, oracle, options, partition_by=["p"])

    def yesterday(entry):
        entry["_FILE"]["_CREATION_TIME"] -= 24 * 3600 * 1000

    twins.write(("both", 1, 1), ("old", 1, 1), ("older", 1, 1), ("2999-01-01", 1, 1))
    for path in twins.both():
        patch_entries(str(path), yesterday)
        sizes(str(path))
    for left in (["both", "new"], ["both", "new", "newer"]):
        twins.write(("both", 2, 2), (left[-1], 1, 1))
        twins.check()
        assert sorted({r["p"] for r in st.open_table(str(twins.ours)).scan().to_arrow().to_pylist()}) == left


def test_batch_commits_look_for_old_partitions_at_once_when_told_to(cat, oracle):
    options = {
        "partition.expiration-time": "7 d",
        "partition.expiration-check-interval": "1 d",
        "end-input.check-partition-expire": "true",
    }
    twins = Twins(cat, oracle, options, partition_by=["p"])
    for n in range(3):
        twins.write((f"2020-01-0{n + 1}", 1, 1), ("2999-01-01", n, n))
        twins.check()
    assert len(twins.state(twins.ours)["rows"]) == 3


# not append_types: these releases cannot read the timestamps before 1970 that they wrote into it
OLD = [
    f"written_by_{release}_{kind}"
    for release in ("0_9_0", "1_0_0")
    for kind in ("dedup", "partial_partitioned", "dv", "dynamic_bucket")
]


@pytest.fixture(scope="module")
def releases():
    """Old Java, one process for each release."""
    opened = {}

    def of(name):
        release = name.split("_by_")[1][:5].replace("_", ".")
        if release not in opened:
            opened[release] = java_oracle.open_oracle(release)
            opened[release] = (opened[release], opened[release].__enter__())
        return opened[release][1]

    yield of
    for context, _ in opened.values():
        context.__exit__(None, None, None)


@pytest.mark.parametrize("name", OLD)
def test_tables_of_old_releases_survive_tags_expiry_and_cleaning(name, tmp_path, oracle, releases):
    with tarfile.open(FIXTURES / name / "table.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    path = str(tmp_path / "table")
    old = releases(name)
    rows = lambda java, *options: sorted(map(str, java.call("read", path, *options)))  # noqa: E731
    t = st.open_table(path)
    snapshots = sorted(s.id for s in t.history(1000))
    first, latest = snapshots[0], snapshots[-1]
    wanted = {v: rows(old, f"scan.snapshot-id={v}") for v in (first, latest)}
    t.tags.create("first", version=first)
    t.tags.create("middle", version=snapshots[len(snapshots) // 2])
    assert t.expire_snapshots(retain_max=1).snapshots == snapshots[:-1]
    t.maintenance.remove_orphan_files(older_than="0s", dry_run=False)
    assert not t.maintenance.fsck(deep=True).problems
    assert rows(old) == wanted[latest]
    assert rows(old, "scan.tag-name=first") == wanted[first]
    assert rows(oracle, "scan.tag-name=first") == wanted[first]
    t.tags.delete("middle")
    assert rows(old, "scan.tag-name=first") == wanted[first]
    t.rollback(tag="first")
    assert rows(old) == wanted[first]
    t.tags.delete("first")
    t.maintenance.remove_orphan_files(older_than="0s", dry_run=False)
    assert rows(old) == wanted[first]
    verdict = t.maintenance.fsck(deep=True)
    assert not verdict.problems and not [f for f in verdict.findings if f.code == "unreferenced-file"]
    assert not oracle.call("fsck", path, check=False)[0]["problems"]


def test_reads_from_a_creation_time_choose_the_same_files_as_java(oracle, cat):
    """Times around four commits and a compaction."""
    both = Twins(cat, oracle, {"write-only": "true"})
    for v in range(1, 4):
        both.write(("a", v, v), ("b", 9, v))
        time.sleep(0.02)
    both.step(lambda t: t.compact(full=True), {"op": "compact", "full": True})
    time.sleep(0.02)
    both.write(("c", 5, 5))
    found = set()
    for path in both.both():
        history = st.open_table(str(path)).history()
        times = {s.raw["timeMillis"] + d for s in history for d in (-10, 0, 10)} | {0, 2**50}
        for key, millis in itertools.product(("scan.creation-time-millis", "scan.file-creation-time-millis"), times):
            t = st.open_table(str(path), options={key: str(millis)})
            expected = oracle.call("read", path, f"{key}={millis}")
            assert engines.same(expected, t.scan().to_arrow()) is None, (key, millis)
            found.add((key, len(expected)))
    assert len(found) > 5, "the times make a difference"


#: Columns of every type that has statistics, with two values each.
RANGES = {
    "k": ("INT", [1, 2]),
    "t1": ("TINYINT", [-128, 127]),
    "t2": ("SMALLINT", [-32768, 32767]),
    "t8": ("BIGINT", [-(2**63), 2**63 - 1]),
    "f4": ("FLOAT", [-1.5e10, 1.25]),
    "f8": ("DOUBLE", [-1e300, 1e-300]),
    "yes": ("BOOLEAN", [False, True]),
    "d9": ("DECIMAL(9, 8)", [decimal.Decimal("-1.00000001"), decimal.Decimal("0.00000001")]),
    "d38": ("DECIMAL(38, 10)", [decimal.Decimal("-1234567890123456789.5"), decimal.Decimal("0.5")]),
    "day": ("DATE", [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    "clock": ("TIME(3)", [dt.time(0, 0), dt.time(23, 59, 59, 999000)]),
    **{
        f"{kind}{p}": (
            f"{name}({p})",
            # nanoseconds in 64 bits begin with 1677
            [dt.datetime(1 if p < 9 else 1900, 1, 1, tzinfo=zone), dt.datetime(2024, 5, 1, 1, 2, 3, tzinfo=zone)],
        )
        for kind, name, zone in (("w", "TIMESTAMP", None), ("i", "TIMESTAMP_LTZ", dt.UTC))
        for p in (0, 3, 6, 9)
    },
    "text": ("STRING", ["", 'a "b" \\ \u00e9']),
    "short": ("VARCHAR(5)", ["a", "b"]),
    "raw": ("BYTES", [b"", b"\xff\x00"]),
    "fixed": ("BINARY(2)", [b"ab", b"\xff\x00"]),
}


@pytest.mark.parametrize("nulls", [False, True])
def test_java_reads_the_statistics_of_columns_of_every_type(cat, oracle, nulls):
    """Dates and times were written as people write them, bytes as text: Java could plan no query of the table."""
    t = cat.create_table("db.t", {name: kind for name, (kind, _) in RANGES.items()}, options={"bucket": "-1"})
    rows = [{name: values[n] for name, (_, values) in RANGES.items()} for n in (0, 1)]
    t.append([dict.fromkeys(RANGES)] if nulls else rows)
    snapshot = t.maintenance.analyze().snapshot
    (row,) = oracle.call("read", f"{t.location}$statistics")
    stats = json.loads(row["colstat"])
    raw = json.loads((pathlib.Path(t.location) / "statistics" / snapshot.raw["statistics"]).read_text())
    assert (row["snapshot_id"], row["mergedRecordCount"]) == (1, 1 if nulls else 2)
    assert stats == raw["colStats"]
    assert stats.keys() == RANGES.keys()
    if not nulls:
        ranged = {name for name, column in stats.items() if {"min", "max"} <= column.keys()}
        assert RANGES.keys() - ranged == {"raw", "fixed"}
        assert (stats["day"]["max"], stats["clock"]["max"]) == ("2932896", "86399999")
        assert (stats["w0"]["max"], stats["i9"]["max"]) == ("2024-05-01 01:02:03", "2024-05-01 01:02:03.000000000")


def test_partitions_and_buckets_were_last_written_to_when_java_says_so(cat, oracle):
    t = cat.create_table(
        "db.t",
        {"p": "STRING", "k": "INT"},
        primary_key=["p", "k"],
        partition_by=["p"],
        options={"bucket": "1", "deletion-vectors.enabled": "true"},
    )
    t.append([{"p": p, "k": k} for p in ("a", "b") for k in (1, 2)])
    t.delete(where="p = 'a' AND k = 1")
    for table in ("partitions", "buckets"):
        ours = {r["partition"]: r["last_update_time"] for r in t.inspect(table).to_arrow().to_pylist()}
        javas = {r["partition"]: r["last_update_time"] for r in oracle.call("read", f"{t.location}${table}")}
        assert {name: at.isoformat(timespec="milliseconds") for name, at in ours.items()} == javas, table
        assert len(set(javas.values())) == 2
