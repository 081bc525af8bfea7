"""Upkeep jobs of their own processes beside a writer: whatever each of them does, no row and no needed file is lost.

Two processes look after a table at the same time, each with everything there is: expiry, tags made and deleted, orphan
cleaning, compaction. A third one writes. Files that were there before are made to look old, so that the orphan cleaning
may take them as soon as nothing refers to them; what the writer has not yet committed is young, as the age limit demands.
"""

import multiprocessing
import os
import pathlib
import time
import traceback

import pytest
import siltstone as st
from siltstone import errors

BEFORE, COMMITS = 30, 40
#: What another job may take from under a job's feet; whoever meets it tries again.
BESIDE = (
    errors.SnapshotExpired,
    errors.SnapshotNotFound,
    errors.TagNotFound,
    errors.FileMissing,
    errors.CommitConflict,
    errors.VersionInUse,
)
KINDS = {
    "changelog": {"changelog-producer": "lookup"},
    "decoupled": {
        "changelog-producer": "input",
        "snapshot.num-retained.max": "5",
        "snapshot.num-retained.min": "1",
        "changelog.num-retained.max": "9",
    },
    "vectors": {"deletion-vectors.enabled": "true"},
}


def write(path, first, last):
    """One commit for each number: one row that stays, and one key that all commits write."""
    for n in range(first, last):
        st.open_table(path).append([{"k": n, "v": n}, {"k": -1, "v": n}])


def sound(t):
    """A check beside all of them takes no version that is going for a broken one."""
    assert not t.maintenance.fsck(deep=True).problems


def care(path, name, stop):
    """Everything that a table is cared for with, until it is told to stop."""
    n = 0
    while not stop.is_set():
        n += 1
        t = st.open_table(path)
        jobs = [
            lambda: t.tags.create(f"{name}-{n}"),
            lambda: t.expire_snapshots(retain_max=3),
            lambda: t.maintenance.remove_orphan_files(older_than="1d", dry_run=False),
            lambda: t.compact(full=n % 3 == 0),
            lambda: t.tags.delete(f"{name}-{n - 2}") if n > 2 else None,
            lambda: t.maintenance.compact_manifests(),
            lambda: sound(t),
        ]
        for job in jobs:
            try:
                job()
            except BESIDE:
                continue


def report(work, args, failures):
    """Runs work in a process; what fails is told to the parent."""
    try:
        work(*args)
    except BaseException:
        failures.put(traceback.format_exc())
        raise


def age(path):
    """All files look two days old."""
    old = time.time() - 2 * 86400
    for folder, _, names in os.walk(path):
        for name in names:
            os.utime(os.path.join(folder, name), (old, old))


def live_through(path):
    """A writer and two jobs at the same time."""
    context = multiprocessing.get_context("spawn")
    stop, failures = context.Event(), context.Queue()

    def start(work, *args):
        process = context.Process(target=report, args=(work, args, failures))
        process.start()
        return process

    jobs = [start(care, path, name, stop) for name in ("one", "two")]
    writer = start(write, path, BEFORE, BEFORE + COMMITS)
    writer.join()
    stop.set()
    for job in jobs:
        job.join()
    assert failures.empty(), failures.get()
    assert [p.exitcode for p in (writer, *jobs)] == [0, 0, 0]


def table(cat, kind):
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "3", **KINDS[kind]}
    t = cat.create_table("db.t", {"k": "INT", "v": "INT"}, primary_key=["k"], options=options)
    write(t.location, 0, BEFORE)
    orphan = pathlib.Path(t.location, "bucket-0", "data-nobody-0.parquet")
    orphan.write_bytes(b"left by a writer that died")
    age(t.location)
    return t, orphan


def check(t, orphan):
    t = st.open_table(t.location)
    t.compact(full=True)
    rows = {r["k"]: r["v"] for r in t.scan().to_arrow().to_pylist()}
    assert rows == {n: n for n in range(BEFORE + COMMITS)} | {-1: BEFORE + COMMITS - 1}
    assert not orphan.exists()
    assert not t.maintenance.fsck(deep=True).problems
    for tag in t.tags.list():
        assert len(t.scan(tag=tag.name).to_arrow()) > BEFORE
        t.tags.delete(tag.name)
    t.expire_snapshots(retain_max=1)
    t.maintenance.remove_orphan_files(older_than="0s", dry_run=False)
    assert not [f for f in t.maintenance.fsck(deep=True).findings if f.code != "wrong-hint"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_two_jobs_and_a_writer_do_each_other_no_harm(cat, kind):
    t, orphan = table(cat, kind)
    live_through(t.location)
    check(t, orphan)


@pytest.mark.java
@pytest.mark.xdist_group("java")
@pytest.mark.timeout(600)
def test_java_finds_nothing_wrong_after_two_jobs_and_a_writer(cat, oracle):
    t, orphan = table(cat, "changelog")
    live_through(t.location)
    assert not oracle.call("fsck", t.location, check=False)[0]["problems"]
    ours = sorted((r["k"], r["v"]) for r in t.scan().to_arrow().to_pylist())
    assert sorted((r["k"], r["v"]) for r in oracle.call("read", t.location)) == ours
    check(t, orphan)
