"""Eight processes upsert the same 10,000 keys into one table with dynamic buckets.

Each keeps an account of the commits that it was told of. In the end no key is there twice, every such commit is a
snapshot with exactly its rows, and every row is one that somebody wrote. The same when writers are killed, and when
others compact. The long ones: `make stress`.
"""

import json
import multiprocessing
import os
import pathlib
import random
import signal
import time
from typing import NamedTuple

import pyarrow as pa
import pytest
import siltstone as st
from siltstone import errors

KEYS = 10_000
ROWS = 200
SEED = int(os.environ.get("SILTSTONE_STRESS_SEED", "7"))
LONG = int(os.environ.get("SILTSTONE_STRESS_COMMITS", "100"))
#: Enough for a queue of eight.
OPTIONS = {"commit.max-retries": "1000", "commit.timeout": "10 min"}


class Setting(NamedTuple):
    """What happens beside the writers."""

    writers: int
    commits: int
    kill: bool = False
    compact: bool = False


def rows_of(number, n):
    """The rows of one commit: keys that others write too."""
    ids = random.Random(f"{SEED} {number} {n}").sample(range(KEYS), ROWS)
    return pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array([number * 1_000_000 + n] * ROWS, pa.int32())})


def upsert(location, number, commits, folder):
    """Commits what the account of an earlier life does not have."""
    account = pathlib.Path(folder, f"{number}.jsonl")
    told = [json.loads(line)["n"] for line in account.read_text("utf-8").splitlines()] if account.exists() else []
    with account.open("a", encoding="utf-8") as out:
        for n in range(max(told, default=-1) + 1, commits):
            began = time.monotonic()
            t = st.open_table(location, options=OPTIONS)
            before = t.snapshot()
            report = t.upsert(rows_of(number, n))
            line = {"n": n, "snapshot": report.snapshots[0].id, "seconds": time.monotonic() - began}
            line["began_at"] = 0 if before is None else before.id
            out.write(json.dumps(line) + "\n")
            out.flush()


def compact(location, until):
    dice = random.Random(SEED)
    while not until.is_set():
        try:
            st.open_table(location, options=OPTIONS).compact(full=dice.random() < 0.3)
        except errors.CommitConflict:
            continue
        time.sleep(dice.random() / 5)


def live_through(location, folder, setting):
    """All writers to their end; killed ones begin again. How often one was killed."""
    spawn = multiprocessing.get_context("spawn")
    dice, kills, done = random.Random(SEED), 0, spawn.Event()

    def start(number):
        job = spawn.Process(target=upsert, args=(location, number, setting.commits, str(folder)))
        job.start()
        return job

    beside = [spawn.Process(target=compact, args=(location, done))] if setting.compact else []
    for job in beside:
        job.start()
    jobs = {number: start(number) for number in range(setting.writers)}
    try:
        while any(job.is_alive() for job in jobs.values()):
            time.sleep(0.05)
            alive = [number for number, job in jobs.items() if job.is_alive()]
            if setting.kill and alive and kills < setting.writers * 5 and dice.random() < 0.05:
                number = dice.choice(alive)
                os.kill(jobs[number].pid, signal.SIGKILL)
                jobs[number].join()
                kills += 1
                jobs[number] = start(number)
    finally:
        done.set()
        for job in (*jobs.values(), *beside):
            job.join()
    assert all(job.exitcode in ({0, -signal.SIGKILL} if setting.kill else {0}) for job in jobs.values()), jobs
    assert all(job.exitcode == 0 for job in beside)
    return kills


def check(t, folder, setting):
    """The account against the table."""
    found = t.scan().to_arrow().to_pylist()
    values = {row["id"]: row["v"] for row in found}
    assert len(values) == len(found), "a key twice"
    kinds = {s.id: s.kind for s in t.history(1_000_000)}
    told, written, committed, newest = [], {}, {}, {}
    for number in range(setting.writers):
        account = pathlib.Path(folder, f"{number}.jsonl").read_text("utf-8").splitlines()
        lines = [json.loads(line) for line in account]
        assert [line["n"] for line in lines] == list(range(setting.commits))
        told += [(number, line) for line in lines]
        for line in lines:
            value = number * 1_000_000 + line["n"]
            committed[value] = line["snapshot"]
            for key in rows_of(number, line["n"])["id"].to_pylist():
                written.setdefault(key, set()).add(value)
                newest[key] = max(newest.get(key, 0), line["began_at"])
    assert set(values) == set(written)
    assert all(values[key] in all_ for key, all_ in written.items())
    # no commit that began later has the key: its value would be the newer one
    assert all(newest[key] < committed[value] for key, value in values.items())
    assert len({line["snapshot"] for _, line in told}) == len(told)
    for number, line in told:
        assert kinds[line["snapshot"]] == "APPEND", line
        span = (line["snapshot"] - 1, line["snapshot"])
        delta = t.scan(between=span, mode="delta").to_arrow().select(["id", "v"]).sort_by("id")
        assert delta.equals(rows_of(number, line["n"]).sort_by("id").cast(delta.schema)), (number, line)
    assert t.maintenance.fsck(deep=True).problems == []
    return sorted(line["seconds"] for _, line in told)


def company(make, folder, setting):
    options = {"dynamic_bucket__target_row_num": 900, "snapshot__num_retained__min": 1_000_000}
    # with a compactor beside, nobody else compacts
    options["write_only"] = str(setting.compact).lower()
    t = make({"id": "INT", "v": "INT"}, ["id"], **options, snapshot__num_retained__max=1_000_000)
    folder.mkdir()
    began = time.monotonic()
    kills = live_through(t.location, folder, setting)
    took = time.monotonic() - began
    seconds = check(st.open_table(t.location), folder, setting)
    middle, last = seconds[len(seconds) // 2], seconds[-1]
    print(
        f"{setting}: {len(seconds)} commits in {took:.0f} s, median {middle:.2f} s, longest {last:.2f} s, {kills} kills"
    )


ALL = {
    "alone": {},
    "killed": {"kill": True},
    "compacted": {"compact": True},
    "killed-and-compacted": {"kill": True, "compact": True},
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("beside", ["alone", "killed-and-compacted"])
def test_eight_processes_put_no_key_into_two_buckets(make, tmp_path, beside):
    company(make, tmp_path / "account", Setting(8, 3, **ALL[beside]))


@pytest.mark.skipif("SILTSTONE_STRESS" not in os.environ, reason="make stress: minutes")
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("beside", ALL)
def test_eight_processes_with_a_hundred_commits_each(make, tmp_path, beside):
    company(make, tmp_path / "account", Setting(8, LONG, **ALL[beside]))
