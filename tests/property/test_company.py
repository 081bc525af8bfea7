"""Eight processes at one table, each doing its own thing in a random order, and an account of what each was told.

Four write, the others compact, expire, roll back, and make and delete tags. Each writes down what it did, between which
two moments and how it ended; the clock is the same for all. In the end every commit must be where the account says:

- in the table, unless a rollback to an older snapshot ended after the commit began,
- gone, when such a rollback began after the commit had ended.

Nobody may get an error but one that says that it gave up, and why. Ten minutes: `make stress`.
"""

import json
import multiprocessing
import os
import pathlib
import random
import time
import traceback
from collections import Counter
from typing import NamedTuple

import pytest
import siltstone as st
from siltstone import errors

SECONDS = float(os.environ.get("SILTSTONE_STRESS_SECONDS", "20"))
SEED = int(os.environ.get("SILTSTONE_STRESS_SEED", "7"))
KINDS = {
    "changelog": {"changelog-producer": "lookup"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "write-only": {"write-only": "true"},
}
WRITERS = 4
#: How an operation says that it gave up. A writer only ever loses against other commits.
LOST = ("CommitConflict", "CommitRetriesExhausted")
GAVE_UP = (
    *LOST,
    "SnapshotExpired",
    "SnapshotNotFound",
    "TagExists",
    "TagNotFound",
    "UpkeepRunning",
    "VersionInUse",
)


class Event(NamedTuple):
    """One line of the account."""

    who: str
    what: str
    began: int
    ended: int
    outcome: str
    """"done", or the class of the error."""
    about: dict
    """A commit's key and snapshots, a rollback's target, a tag's name and snapshot."""


class Account:
    """What one process did."""

    def __init__(self, folder, who):
        self.who = who
        self.file = pathlib.Path(folder, f"{who}.jsonl").open("a", encoding="utf-8")

    def do(self, what, operation, about, may_give_up=GAVE_UP):
        """Runs an operation and writes down how it ended; what it returns tells more about it."""
        began, outcome = time.monotonic_ns(), "done"
        try:
            about |= operation() or {}
        except errors.SiltstoneError as e:
            outcome = type(e).__name__
            about |= {"error": str(e)}
            if outcome not in may_give_up:
                about |= {"wrong": traceback.format_exc()}
        event = Event(self.who, what, began, time.monotonic_ns(), outcome, about)
        self.file.write(json.dumps(event) + "\n")
        self.file.flush()
        return outcome == "done"


def ids(report):
    return {"snapshots": [s.id for s in report.snapshots], "notes": report.notes}


def write(path, account, dice, until):
    """Each commit has a key of its own, and one that all commits of this writer write."""
    n, number = 0, int(account.who.split("-")[1])
    while time.monotonic() < until:
        n += 1
        key = number * 1_000_000 + n
        rows = [{"k": key, "v": n}, {"k": -number, "v": n}]
        account.do("commit", lambda: ids(st.open_table(path).upsert(rows)), {"key": key, "n": n}, LOST)
        if dice.random() < 0.1:
            time.sleep(dice.random() / 20)


def compact(path, account, dice, until):
    while time.monotonic() < until:
        t = st.open_table(path)
        account.do("compact", lambda: {"notes": t.compact(full=dice.random() < 0.3).notes}, {}, LOST)
        if dice.random() < 0.2:
            account.do("compact manifests", lambda: ids(t.maintenance.compact_manifests()), {}, LOST)
        time.sleep(dice.random() / 20)


def expire(path, account, dice, until):
    while time.monotonic() < until:
        t, keep = st.open_table(path), dice.randint(1, 8)
        account.do("expire", lambda: t.expire_snapshots(retain_max=keep) and None, {})
        if dice.random() < 0.2:
            account.do("clean", lambda: t.maintenance.remove_orphan_files(older_than="1d", dry_run=False) and None, {})
        time.sleep(dice.random() / 20)


def seen(account, what, look):
    """What a look at a table gives that changes meanwhile; nothing when it gave up."""
    found = []
    account.do(what, lambda: found.extend(look()), {})
    return found


def roll_back(path, account, dice, until):
    while time.monotonic() < until:
        time.sleep(dice.random())
        t = st.open_table(path)
        tags = seen(account, "list tags", t.tags.list)
        versions = seen(account, "history", lambda: t.history(6))
        if tags and dice.random() < 0.3:
            tag = dice.choice(tags)
            about, target = {"target": tag.snapshot.id, "tag": tag.name}, {"tag": tag.name}
        elif not versions:
            continue
        else:
            version = dice.choice(versions).id
            about, target = {"target": version}, {"version": version}
        account.do("rollback", lambda: t.rollback(**target) and None, about)


def tag(path, account, dice, until):
    """Tags of the newest version and of older ones; those that are not deleted are looked at in the end."""
    n = 0
    while time.monotonic() < until:
        n += 1
        t, name = st.open_table(path), f"t{n}"
        version = dice.choice([None, *(s.id for s in seen(account, "history", lambda: t.history(4)))])
        if account.do("tag", lambda: {"snapshot": t.tags.create(name, version=version).snapshot.id}, {"name": name}):
            account.do("read tag", lambda: {"rows": t.scan(tag=name).to_arrow().num_rows}, {"name": name})
        if n > 3 and dice.random() < 0.7:
            old = f"t{n - 3}"
            account.do("delete tag", lambda: t.tags.delete(old) and None, {"name": old})
        time.sleep(dice.random() / 10)


def run(work, who, path, folder, seconds, failures):
    try:
        work(path, Account(folder, who), random.Random(f"{SEED} {who}"), time.monotonic() + seconds)
    except BaseException:
        failures.put(f"{who}: {traceback.format_exc()}")
        raise


def live_through(path, folder, seconds):
    """All of them, and their account in the order of time."""
    context = multiprocessing.get_context("spawn")
    failures = context.Queue()
    company = [(write, f"writer-{n + 1}") for n in range(WRITERS)]
    company += [(compact, "compactor"), (expire, "expirer"), (roll_back, "roller"), (tag, "tagger")]
    jobs = [context.Process(target=run, args=(*one, path, str(folder), seconds, failures)) for one in company]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert failures.empty(), failures.get()
    lines = [line for file in folder.iterdir() for line in file.read_text(encoding="utf-8").splitlines()]
    return sorted((Event(*json.loads(line)) for line in lines), key=lambda event: event.ended)


def balance(events, rows):
    """What is in the table and should not be, or the other way round."""
    rollbacks = [e for e in events if e.what == "rollback" and e.outcome == "done"]
    wrong, acknowledged = [], set()
    for commit in (e for e in events if e.what == "commit" and e.outcome == "done"):
        key, n = commit.about["key"], commit.about["snapshots"][0]
        acknowledged.add(key)
        lower = [r for r in rollbacks if r.about["target"] < n]
        if key in rows:
            if any(r.began > commit.ended for r in lower):
                wrong.append(f"taken back and still there: {commit}")
        elif not any(r.ended > commit.began for r in lower):
            wrong.append(f"lost: {commit}")
    wrong.extend(f"never acknowledged: {key}" for key in rows if key > 0 and key not in acknowledged)
    return wrong


def twice(events):
    """Snapshot ids that two commits were told though no rollback lies between them."""
    rollbacks = [e for e in events if e.what == "rollback" and e.outcome == "done"]
    seen, wrong = {}, []
    for event in events:
        for n in event.about.get("snapshots", ()):
            before = seen.get(n)
            # which of the two was published first is not known: a commit ends after its compaction
            began, ended = (0, 0) if not before else (min(before.began, event.began), max(before.ended, event.ended))
            if before and not any(r.about["target"] < n and r.ended > began and r.began < ended for r in rollbacks):
                wrong.append(f"snapshot {n} twice: {before} and {event}")
            seen[n] = event
    return wrong


def kept(t, events):
    """Tags that are not there or do not have their rows, though nobody took them away."""
    rollbacks = [e for e in events if e.what == "rollback" and e.outcome == "done"]
    deleted = {e.about["name"] for e in events if e.what == "delete tag" and e.outcome == "done"}
    counted = {e.about["name"]: e.about["rows"] for e in events if e.what == "read tag" and e.outcome == "done"}
    wrong = []
    for event in (e for e in events if e.what == "tag" and e.outcome == "done"):
        name, n = event.about["name"], event.about["snapshot"]
        taken = name in deleted or any(r.about["target"] < n and r.ended > event.began for r in rollbacks)
        if not t.tags.exists(name):
            if not taken:
                wrong.append(f"lost: {event}")
        elif (found := t.scan(tag=name).to_arrow().num_rows) != counted.get(name, found):
            wrong.append(f"{found} rows: {event}")
    return wrong


def check(t, events):
    rows = {r["k"]: r["v"] for r in t.scan().to_arrow().to_pylist()}
    errors_ = [e.about["wrong"] for e in events if "wrong" in e.about]
    odd = ("failed", "missing")
    notes = [
        n
        for e in events
        for n in e.about.get("notes", ())
        if any(word in n for word in odd) and "Commit failed after" not in n and "conflicts detected" not in n
    ]
    wrong = balance(events, rows) + twice(events) + kept(t, events)
    wrong += [str(f) for f in t.maintenance.fsck(deep=True).problems]
    versions = sorted(s.id for s in t.history(1_000_000))
    if versions != list(range(versions[0], versions[-1] + 1)):
        wrong.append(f"gaps: {versions}")
    wrong += notes + errors_
    assert not wrong, f"{len(wrong)} things are wrong:\n" + "\n".join(wrong[:20])


def figures(events, seconds):
    counts = Counter((e.what, e.outcome) for e in events)
    told = ", ".join(f"{n} {what}{'' if how == 'done' else ' ' + how}" for (what, how), n in sorted(counts.items()))
    return f"{len(events)} operations in {seconds:.0f} s: {told}"


def company(cat, kind, folder, seconds):
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "3", **KINDS[kind]}
    t = cat.create_table("db.t", {"k": "INT", "v": "INT"}, primary_key=["k"], options=options)
    t.upsert([{"k": 0, "v": 0}])
    t.tags.create("beginning")
    folder.mkdir()
    events = live_through(t.location, folder, seconds)
    print(f"{kind}, seed {SEED}: {figures(events, seconds)}")
    t = st.open_table(t.location)
    if kind == "vectors":
        t.compact(full=True)
    check(t, events)
    # and on it goes
    t.upsert([{"k": 7, "v": 7}])
    t.expire_snapshots(retain_max=1)
    t.maintenance.remove_orphan_files(older_than="0s", dry_run=False)
    assert 7 in [r["k"] for r in t.scan().to_arrow().to_pylist()]
    assert not [f for f in t.maintenance.fsck(deep=True).findings if f.code != "wrong-hint"]


@pytest.mark.timeout(600)
def test_eight_processes_lose_nothing_that_one_of_them_was_told(cat, tmp_path):
    company(cat, "changelog", tmp_path / "account", SECONDS)


@pytest.mark.skipif("SILTSTONE_STRESS" not in os.environ, reason="make stress: minutes")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
def test_eight_processes_for_minutes(cat, tmp_path, kind):
    company(cat, kind, tmp_path / "account", float(os.environ.get("SILTSTONE_STRESS_SECONDS", "200")))


def event(what, began, ended, outcome="done", **about):
    return Event("test", what, began, ended, outcome, about)


def test_the_account_finds_what_was_lost_and_what_came_back():
    commit = event("commit", 10, 20, key=5, n=1, snapshots=[9])
    assert balance([commit], {5: 1}) == []
    assert balance([commit], {})[0].startswith("lost")
    before, during, after = (event("rollback", *span, target=8) for span in ((1, 9), (15, 30), (25, 30)))
    assert balance([before, commit], {})[0].startswith("lost")
    assert balance([during, commit], {}) == balance([during, commit], {5: 1}) == []
    assert balance([commit, after], {}) == []
    assert balance([commit, after], {5: 1})[0].startswith("taken back")
    assert balance([commit, event("rollback", 25, 30, target=9)], {})[0].startswith("lost")
    assert balance([], {6: 1}) == ["never acknowledged: 6"]
    again = event("commit", 40, 50, key=6, n=2, snapshots=[9])
    assert twice([commit, after, again]) == []
    assert len(twice([commit, again])) == 1
