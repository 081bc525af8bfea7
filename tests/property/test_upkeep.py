"""Random lives of a table: writes, compactions, tags, branches, expiry, rollback, against a model of its versions.

The model knows the rows of every version that must be readable: snapshots, tags, and those of branches. After each step
every one of them is read, so no file may be missing; after orphan cleaning nothing may be left that nobody needs. With
Java present a second test lets Java take turns, and lets it check.
"""

import shutil
import tempfile

import pytest
import siltstone as st
from hypothesis import given, settings
from hypothesis import strategies as hs
from siltstone import errors

ROWS = hs.dictionaries(hs.integers(0, 6), hs.integers(0, 99), min_size=1, max_size=4)
NAMES = hs.sampled_from(["a", "b", "c"])
WHERE = hs.sampled_from(["main", "main", "main", "dev"])
PICK = hs.integers(0, 30)
STEP = hs.one_of(
    hs.tuples(hs.just("write"), WHERE, ROWS),
    hs.tuples(hs.just("write"), WHERE, ROWS),
    hs.tuples(hs.just("compact"), WHERE),
    hs.tuples(hs.just("tag"), WHERE, NAMES, PICK),
    hs.tuples(hs.just("delete_tag"), WHERE, NAMES),
    hs.tuples(hs.just("expire"), WHERE, hs.integers(1, 4)),
    hs.tuples(hs.just("rollback"), PICK),
    hs.tuples(hs.just("branch"), NAMES, PICK),
    hs.tuples(hs.just("delete_branch")),
    hs.tuples(hs.just("fast_forward")),
    hs.tuples(hs.just("clean")),
)


class Line:
    """One branch: rows by snapshot id, and by tag with its id."""

    def __init__(self):
        self.snapshots, self.tags = {}, {}

    @property
    def latest(self):
        return max(self.snapshots, default=0)

    def state(self):
        return dict(self.snapshots.get(self.latest, {}))


class Life:
    """The table and its model."""

    def __init__(self, folder, options):
        cat = st.connect(folder)
        cat.create_database("db")
        all_options = {"bucket": "1", "write-only": "true", **options}
        t = cat.create_table("db.t", {"k": "INT", "v": "INT"}, primary_key=["k"], options=all_options)
        self.path, self.lines = t.location, {"main": Line()}

    def table(self, branch="main"):
        return st.open_table(self.path, branch=branch)

    def play(self, step):  # noqa: PLR0912  # one case for each kind of step
        kind, branch = step[0], step[1] if len(step) > 1 else "main"
        if kind in ("write", "compact", "tag", "delete_tag", "expire") and branch not in self.lines:
            return
        line = self.lines.get(branch) or self.lines["main"]
        if kind == "write":
            self.table(branch).append([{"k": k, "v": v} for k, v in step[2].items()])
            line.snapshots[line.latest + 1] = line.state() | step[2]
        elif kind == "compact":
            if self.table(branch).compact(full=True).snapshots:
                line.snapshots[line.latest + 1] = line.state()
        elif kind == "tag" and line.snapshots and step[2] not in line.tags:
            version = sorted(line.snapshots)[step[3] % len(line.snapshots)]
            self.table(branch).tags.create(step[2], version=version)
            line.tags[step[2]] = (version, dict(line.snapshots[version]))
        elif kind == "delete_tag" and step[2] in line.tags:
            self.allowed(lambda: self.table(branch).tags.delete(step[2]), lambda: line.tags.pop(step[2]))
        elif kind == "expire" and line.snapshots:
            self.table(branch).expire_snapshots(retain_max=step[2])
            for version in sorted(line.snapshots)[: -step[2]]:
                del line.snapshots[version]
        else:
            self.play_versions(step)

    def play_versions(self, step):
        kind, main = step[0], self.lines["main"]
        if kind == "rollback" and main.snapshots:
            targets = sorted({*main.snapshots, *(version for version, _ in main.tags.values())})
            target = targets[step[1] % len(targets)]
            self.allowed(lambda: self.table().rollback(version=target), lambda: self.rolled_back(target))
        elif kind == "branch" and step[1] in main.tags and "dev" not in self.lines:
            self.table().branches.create("dev", tag=step[1])
            version, rows = main.tags[step[1]]
            dev = self.lines["dev"] = Line()
            dev.snapshots[version], dev.tags[step[1]] = dict(rows), (version, dict(rows))
        elif kind == "delete_branch" and "dev" in self.lines:
            self.table().branches.delete("dev")
            del self.lines["dev"]
        elif kind == "fast_forward" and "dev" in self.lines:
            self.table().branches.fast_forward("dev")
            dev = self.lines["dev"]
            first = min(dev.snapshots)
            main.snapshots = {v: r for v, r in main.snapshots.items() if v < first} | dict(dev.snapshots)
            main.tags = {n: t for n, t in main.tags.items() if t[0] < first} | dict(dev.tags)
        elif kind == "clean":
            self.table().maintenance.remove_orphan_files(older_than="0s", dry_run=False)

    def rolled_back(self, target):
        main = self.lines["main"]
        rows = main.snapshots.get(target) or next(r for v, r in main.tags.values() if v == target)
        main.snapshots = {v: r for v, r in main.snapshots.items() if v < target} | {target: dict(rows)}
        main.tags = {n: t for n, t in main.tags.items() if t[0] <= target}

    @staticmethod
    def allowed(act, then):
        """A branch may need what would go."""
        try:
            act()
        except errors.VersionInUse:
            return
        then()

    def check(self):
        for branch, line in self.lines.items():
            t = self.table(branch)
            assert {s.id for s in t.history(1000)} == set(line.snapshots)
            assert {tag.name: tag.id for tag in t.tags.list()} == {n: v for n, (v, _) in line.tags.items()}
            for version, rows in line.snapshots.items():
                assert content(t, version=version) == rows, (branch, version)
            for name, (_, rows) in line.tags.items():
                assert content(t, tag=name) == rows, (branch, name)
        assert not self.table().maintenance.fsck(deep=True).problems

    def finish(self):
        self.table().maintenance.remove_orphan_files(older_than="0s", dry_run=False)
        self.check()
        left = [f for f in self.table().maintenance.fsck().findings if f.code == "unreferenced-file"]
        assert left == []


def content(t, **version):
    return {r["k"]: r["v"] for r in t.scan(**version).to_arrow().to_pylist()}


OPTIONS = hs.fixed_dictionaries(
    {
        "manifest.merge-min-count": hs.sampled_from(["2", "30"]),
        "snapshot.clean-empty-directories": hs.sampled_from(["true", "false"]),
    }
)


@given(OPTIONS, hs.lists(STEP, min_size=3, max_size=20))
def test_no_version_loses_a_file_and_no_file_is_left_that_nobody_needs(options, steps):
    folder = tempfile.mkdtemp()
    try:
        life = Life(folder, options)
        for step in steps:
            life.play(step)
            life.check()
        life.finish()
    finally:
        shutil.rmtree(folder)


def java_plays(oracle, life, step):
    """The same step by Java; False when it has none like it, or would do harm that we refuse."""
    kind, line = step[0], life.lines["main"]
    if len(step) > 1 and step[1] == "dev" or "dev" in life.lines:
        return False
    if kind == "write":
        rows = [["+I", k, v] for k, v in step[2].items()]
        oracle.call("apply", life.path, to_json({"op": "write", "rows": rows}))
        line.snapshots[line.latest + 1] = line.state() | step[2]
    elif kind == "tag" and line.snapshots and step[2] not in line.tags:
        version = sorted(line.snapshots)[step[3] % len(line.snapshots)]
        oracle.call("tag", life.path, step[2], f"--snapshot={version}")
        line.tags[step[2]] = (version, dict(line.snapshots[version]))
    elif kind == "delete_tag" and step[2] in line.tags:
        oracle.call("delete-tag", life.path, step[2])
        del line.tags[step[2]]
    elif kind == "expire" and line.snapshots:
        oracle.call("expire", life.path, f"--retain-max={step[2]}", f"--retain-min={step[2]}")
        for version in sorted(line.snapshots)[: -step[2]]:
            del line.snapshots[version]
    else:
        return False
    return True


def to_json(value):
    import json

    return json.dumps(value)


@pytest.mark.java
@pytest.mark.xdist_group("java")
@settings(max_examples=6)
@given(options=OPTIONS, steps=hs.lists(hs.tuples(hs.booleans(), STEP), min_size=4, max_size=12))
def test_java_takes_turns_and_finds_nothing_wrong(oracle, options, steps):
    folder = tempfile.mkdtemp()
    try:
        life = Life(folder, options)
        for javas_turn, step in steps:
            if not (javas_turn and java_plays(oracle, life, step)):
                life.play(step)
            life.check()
            if life.lines["main"].snapshots:
                assert not oracle.call("fsck", life.path, check=False)[0]["problems"]
        life.finish()
    finally:
        shutil.rmtree(folder)
