"""Random lives of a table: writes, compactions, tags, branches, expiry, rollback, against a model of its versions.

The model remembers of every version, when it is new, its rows, its changes, and which data and changelog files it has.
From then on it knows which of them each living reference needs: snapshots, tags and long-lived changelogs, of every
branch. After each step all of that must still be there, read the same, and be in order by `fsck`; after orphan cleaning
no other file may be left. With Java present a second test lets Java take turns, and lets it check.
"""

import json
import pathlib
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace

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
    hs.tuples(hs.just("delete"), WHERE, hs.integers(0, 6)),
    hs.tuples(hs.just("compact"), WHERE),
    hs.tuples(hs.just("analyze"), WHERE),
    hs.tuples(hs.just("tag"), WHERE, NAMES, PICK),
    hs.tuples(hs.just("delete_tag"), WHERE, NAMES),
    hs.tuples(hs.just("expire"), WHERE, hs.integers(1, 4)),
    hs.tuples(hs.just("rollback"), PICK),
    hs.tuples(hs.just("branch"), NAMES, PICK),
    hs.tuples(hs.just("delete_branch")),
    hs.tuples(hs.just("fast_forward")),
    hs.tuples(hs.just("clean")),
)
DECOUPLED = {"snapshot.num-retained.max": "5", "snapshot.num-retained.min": "1", "changelog.num-retained.max": "7"}
WRITE_ONLY = {"write-only": "true"}
#: What kinds of tables live: how they are keyed, and what else than data files they have.
TABLES = {
    "plain": WRITE_ONLY,
    "compacting": {"num-sorted-run.compaction-trigger": "2"},
    "input changelog": {**WRITE_ONLY, "changelog-producer": "input"},
    "decoupled": {**WRITE_ONLY, "changelog-producer": "input", **DECOUPLED},
    "decoupled without files": {**WRITE_ONLY, **DECOUPLED},
    "lookup changelog": {"changelog-producer": "lookup"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "vectors, decoupled": {
        **WRITE_ONLY,
        "deletion-vectors.enabled": "true",
        "changelog-producer": "lookup",
        **DECOUPLED,
    },
    "append with vectors": {**WRITE_ONLY, "bucket": "-1", "deletion-vectors.enabled": "true"},
}
OPTIONS = hs.fixed_dictionaries(
    {
        "manifest.merge-min-count": hs.sampled_from(["2", "30"]),
        "snapshot.clean-empty-directories": hs.sampled_from(["true", "false"]),
    }
)


@dataclass(frozen=True)
class Version:
    """What one snapshot is: what must be found wherever it is kept."""

    rows: tuple
    #: The rows with those that wait in level 0.
    all_rows: Counter
    changes: tuple
    files: frozenset
    changelog: frozenset = frozenset()
    #: It came back from a tag: its changelog may be gone.
    restored: bool = False


@dataclass
class Line:
    """One branch: versions by snapshot id and by tag (with its id); changelogs that outlive their snapshots."""

    snapshots: dict = field(default_factory=dict)
    tags: dict = field(default_factory=dict)
    changelogs: dict = field(default_factory=dict)

    @property
    def latest(self):
        return max(self.snapshots, default=0)


class Life:
    """The table and its model."""

    def __init__(self, folder, kind, options):
        cat = st.connect(folder)
        cat.create_database("db")
        self.options = {"bucket": "1", **TABLES[kind], **options}
        self.key = [] if kind.startswith("append") else ["k"]
        t = cat.create_table("db.t", {"k": "INT", "v": "INT"}, primary_key=self.key, options=self.options)
        self.path, self.lines = t.location, {"main": Line()}
        self.seen_changelogs = set()

    def table(self, branch="main"):
        return st.open_table(self.path, branch=branch)

    def disk(self, prefix="", folder="bucket-*"):
        return {str(p) for p in pathlib.Path(self.path).glob(f"{folder}/{prefix}*") if not p.name.startswith(".")}

    def play(self, step):
        kind, branch = step[0], step[1] if len(step) > 1 else "main"
        if (
            kind in ("write", "delete", "compact", "analyze", "tag", "delete_tag", "expire")
            and branch not in self.lines
        ):
            return
        line = self.lines.get(branch) or self.lines["main"]
        if kind in ("write", "delete", "compact", "analyze"):
            self.commit(branch, step)
        elif kind == "tag" and line.snapshots and step[2] not in line.tags:
            version = sorted(line.snapshots)[step[3] % len(line.snapshots)]
            self.table(branch).tags.create(step[2], version=version)
            line.tags[step[2]] = (version, line.snapshots[version])
        elif kind == "delete_tag" and step[2] in line.tags:
            self.allowed(lambda: self.table(branch).tags.delete(step[2]), lambda: line.tags.pop(step[2]))
        elif kind == "expire" and line.snapshots:
            self.table(branch).expire_snapshots(retain_max=step[2])
            self.expired(branch, step[2])
        else:
            self.play_versions(step)

    def commit(self, branch, step):
        t, kind, before = self.table(branch), step[0], self.rows(branch)
        if kind == "write":
            t.append([{"k": k, "v": v} for k, v in step[2].items()])
        elif kind == "delete" and self.key:
            t.append([{"k": step[2], "v": None}], row_kind="-D")
        elif kind == "delete":
            t.delete(where=f"k = {step[2]}")
        elif kind == "compact":
            t.compact(full=True)
        elif self.lines[branch].snapshots:
            t.maintenance.analyze()
        self.note(branch, self.after(before, step), step)

    def rows(self, branch):
        """The rows of the latest version."""
        line = self.lines[branch]
        return line.snapshots[line.latest].all_rows if line.snapshots else Counter()

    def after(self, rows, step):
        """The rows after a step."""
        if step[0] == "write":
            gone = {(k, v) for k, v in rows if self.key and k in step[2]}
            return Counter({row: n for row, n in rows.items() if row not in gone}) + Counter(step[2].items())
        if step[0] == "delete":
            return Counter({row: n for row, n in rows.items() if row[0] != step[2]})
        return rows

    def note(self, branch, rows, step):
        """Remembers what is new."""
        t, line = self.table(branch), self.lines[branch]
        new = sorted(s.id for s in t.history(1000) if s.id > line.latest)
        made = self.disk("changelog-") - self.seen_changelogs
        self.seen_changelogs |= made
        owner = (new[0] if self.options.get("changelog-producer") == "input" else new[-1]) if new else None
        for version in new:
            files = frozenset(f["path"] for f in t.files(version=version))
            changelog = frozenset(made if version == owner else ())
            shown = content(t, version=version)
            line.snapshots[version] = Version(shown, rows, changes(t, version), files, changelog)
        assert new or not made
        waiting = self.key and "deletion-vectors.enabled" in self.options
        compacted = step[0] == "compact" or (step[0] in ("write", "delete") and "write-only" not in self.options)
        if new and (compacted or not waiting):
            assert Counter(line.snapshots[line.latest].rows) == rows

    def expired(self, branch, most):
        line = self.lines[branch]
        for version in sorted(line.snapshots)[:-most]:
            gone = line.snapshots.pop(version)
            if "changelog.num-retained.max" in self.options and self.is_long_lived(branch, version):
                line.changelogs[version] = gone
        newest = [v for v in range(line.latest - 6, line.latest + 1) if v in line.changelogs]
        assert all(self.is_long_lived(branch, v) for v in newest)
        line.changelogs = {v: c for v, c in line.changelogs.items() if self.is_long_lived(branch, v)}

    def is_long_lived(self, branch, version):
        return (self.root(branch) / "changelog" / f"changelog-{version}").exists()

    def root(self, branch):
        return pathlib.Path(self.path) / ("" if branch == "main" else f"branch/branch-{branch}")

    def play_versions(self, step):
        kind, main = step[0], self.lines["main"]
        if kind == "rollback" and main.snapshots:
            targets = sorted({*main.snapshots, *(version for version, _ in main.tags.values())})
            target = targets[step[1] % len(targets)]
            self.allowed(lambda: self.table().rollback(version=target), lambda: self.rolled_back(target))
        elif kind == "branch" and step[1] in main.tags and "dev" not in self.lines:
            self.table().branches.create("dev", tag=step[1])
            self.branched(step[1])
        elif kind == "delete_branch" and "dev" in self.lines:
            self.table().branches.delete("dev")
            del self.lines["dev"]
        elif kind == "fast_forward" and "dev" in self.lines:
            self.allowed(lambda: self.table().branches.fast_forward("dev"), self.forwarded)
        elif kind == "clean":
            self.table().maintenance.remove_orphan_files(older_than="0s", dry_run=False)

    def branched(self, tag):
        version, of = self.lines["main"].tags[tag]
        restored = replace(of, restored=True)
        self.lines["dev"] = Line({version: restored}, {tag: (version, of)})

    def forwarded(self):
        main, dev = self.lines["main"], self.lines["dev"]
        first = min(dev.snapshots)
        main.snapshots = {v: r for v, r in main.snapshots.items() if v < first} | {
            v: r if main.snapshots.get(v) is None else replace(r, restored=True) for v, r in dev.snapshots.items()
        }
        main.tags = {n: t for n, t in main.tags.items() if t[0] < first} | dict(dev.tags)

    def rolled_back(self, target):
        main = self.lines["main"]
        of = main.snapshots.get(target)
        if of is None:
            of = replace(next(r for v, r in main.tags.values() if v == target), restored=True)
        main.snapshots = {v: r for v, r in main.snapshots.items() if v < target} | {target: of}
        main.tags = {n: t for n, t in main.tags.items() if t[0] <= target}
        main.changelogs = {v: c for v, c in main.changelogs.items() if v <= target}

    @staticmethod
    def allowed(act, then):
        """A branch may need what would go."""
        try:
            act()
        except errors.VersionInUse:
            return
        then()

    def needed(self):
        """Data and changelog files that the living references need."""
        needed = set()
        for line in self.lines.values():
            for version in [*line.snapshots.values(), *(version for _, version in line.tags.values())]:
                needed |= version.files
            for version in [*line.snapshots.values(), *line.changelogs.values()]:
                if not version.restored:
                    needed |= version.changelog
        return needed

    def check(self):
        assert self.needed() <= self.disk()
        for branch, line in self.lines.items():
            t = self.table(branch)
            assert {s.id for s in t.history(1000)} == set(line.snapshots)
            assert {tag.name: tag.id for tag in t.tags.list()} == {n: v for n, (v, _) in line.tags.items()}
            for version, of in line.snapshots.items():
                assert content(t, version=version) == of.rows, (branch, version)
                found = changes(t, version)
                assert found == of.changes or (of.restored and found == ()), (branch, version)
            for name, (_, of) in line.tags.items():
                assert content(t, tag=name) == of.rows, (branch, name)
            for version, of in line.changelogs.items():
                assert changes(t, version) == of.changes, (branch, "changelog", version)
        assert self.table().maintenance.fsck(deep=True).problems == []

    def finish(self):
        self.table().maintenance.remove_orphan_files(older_than="0s", dry_run=False)
        self.check()
        left = [f for f in self.table().maintenance.fsck().findings if f.code == "unreferenced-file"]
        assert left == []
        unneeded = self.disk() - self.needed()
        if "changelog.num-retained.max" in self.options:
            # long-lived changelogs without files of their own keep what their snapshots added
            unneeded = {path for path in unneeded if "changelog-producer" in self.options}
        restored = {f for line in self.lines.values() for v in line.snapshots.values() for f in v.changelog}
        assert unneeded <= restored


def content(t, **version):
    return tuple(sorted((r["k"], r["v"]) for r in t.scan(**version).to_arrow().to_pylist()))


def changes(t, version):
    rows = [row for batch in t.changes(start=version, end=version) for row in batch.to_pylist()]
    return tuple(sorted((r["k"], str(r["v"]), r["rowkind"]) for r in rows))


def live(life, steps, play):
    try:
        for step in steps:
            play(life, step)
            life.check()
        life.finish()
    finally:
        shutil.rmtree(pathlib.Path(life.path).parents[1])


@pytest.mark.parametrize("kind", TABLES)
@given(OPTIONS, hs.lists(STEP, min_size=3, max_size=20))
def test_no_version_loses_a_file_and_no_file_is_left_that_nobody_needs(kind, options, steps):
    live(Life(tempfile.mkdtemp(), kind, options), steps, Life.play)


class Javas:
    """The same steps by Java, as far as it has them, and as far as it knows not to do harm."""

    def __init__(self, oracle):
        self.oracle = oracle

    def step(self, life, **step):
        self.oracle.call("apply", life.path, json.dumps(step))

    def play(self, life, step):
        """False: we have to."""
        kind, line = step[0], life.lines["main"]
        if (len(step) > 1 and step[1] == "dev") or ("dev" in life.lines and kind not in ("write", "fast_forward")):
            return False
        if kind in ("write", "delete", "compact", "analyze"):
            before = life.rows("main")
            if not self.commit(life, step):
                return False
            life.note("main", life.after(before, step), step)
        elif kind == "tag" and line.snapshots and step[2] not in line.tags:
            version = sorted(line.snapshots)[step[3] % len(line.snapshots)]
            self.step(life, op="tag", name=step[2], snapshot=version)
            line.tags[step[2]] = (version, line.snapshots[version])
        elif kind == "delete_tag" and step[2] in line.tags:
            self.step(life, op="delete_tag", name=step[2])
            del line.tags[step[2]]
        elif kind == "expire" and line.snapshots and "changelog.num-retained.max" not in life.options:
            self.step(life, op="expire", retain_max=step[2], retain_min=step[2])
            life.expired("main", step[2])
        elif kind == "rollback" and line.snapshots:
            target = sorted(line.snapshots)[step[1] % len(line.snapshots)]
            self.step(life, op="rollback", snapshot=target)
            life.rolled_back(target)
        elif kind == "branch" and step[1] in line.tags and line.tags[step[1]][0] in line.snapshots:
            self.step(life, op="branch", name="dev", tag=step[1])
            life.branched(step[1])
        else:
            return False
        return True

    def commit(self, life, step):
        if step[0] == "write":
            self.step(life, op="write", rows=[["+I", k, v] for k, v in step[2].items()])
        elif step[0] == "delete" and life.key:
            self.step(life, op="write", rows=[["-D", step[2], None]])
        elif step[0] == "compact" and life.lines["main"].snapshots:
            self.step(life, op="compact", full=True)
        else:
            return False
        return True


@pytest.mark.java
@pytest.mark.xdist_group("java")
@pytest.mark.parametrize("kind", TABLES)
@settings(max_examples=4)
@given(options=OPTIONS, steps=hs.lists(hs.tuples(hs.booleans(), STEP), min_size=4, max_size=14))
def test_java_takes_turns_and_finds_nothing_wrong(oracle, kind, options, steps):
    javas = Javas(oracle)

    def play(life, turn):
        javas_turn, step = turn
        if not (javas_turn and javas.play(life, step)):
            life.play(step)
        if life.lines["main"].snapshots:
            assert not oracle.call("fsck", life.path, check=False)[0]["problems"]

    live(Life(tempfile.mkdtemp(), kind, options), steps, play)
