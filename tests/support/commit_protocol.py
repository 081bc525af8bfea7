"""A model of commits, tags, expiry and rollback on one table, walked through every interleaving of their storage calls.

The table is a handful of values, each operation a few steps of one storage call, and `explore` tries every order of them.
An operation that dies at any step is one of the orders: the others go on without it.

Snapshots are published under the next id without replacing anything. That alone is wrong beside an expiry or a rollback,
because an id that is free again can be published twice. So whoever deletes snapshots publishes a record first, with the
ids *and identities* of those that it is about to delete; whoever publishes a snapshot reads the records before and after.
`Rules` switches parts of this off, to see that none of them can be done without.
"""

from collections import deque
from typing import NamedTuple


class Snapshot(NamedTuple):
    """What stands in `snapshot-<n>`."""

    identity: str
    known: int
    """How many records its writer knew."""
    files: frozenset


class Record(NamedTuple):
    """An expiry ("E": ids below the bound go) or a rollback ("R": ids above it go)."""

    kind: str
    bound: int
    listing: frozenset
    """(id, identity) of each snapshot that goes."""

    def reaches(self, n):
        return n < self.bound if self.kind == "E" else n > self.bound


class World(NamedTuple):
    """The storage, and what users were told."""

    snapshots: tuple
    records: tuple
    tags: tuple
    data: frozenset
    acknowledged: frozenset
    """(name, id) of commits, names of tags."""

    def with_(self, **changes):
        for part in ("snapshots", "tags"):
            if part in changes:
                changes[part] = tuple(sorted(changes[part].items()))
        return self._replace(**changes)


class Rules(NamedTuple):
    """Parts of the protocol; each is needed."""

    records: bool = True
    looks_again: bool = True
    lists_before_record: bool = True
    deletes_what_is_listed: bool = True
    listings: bool = True
    lock: bool = True


def fence(records):
    """Snapshots before this id have expired."""
    first = 1
    for record in records:
        first = max(first, record.bound) if record.kind == "E" else min(first, record.bound)
    return first


def line(world, known=None):
    """The snapshots that count, to somebody who knows so many records."""
    records = world.records[:known]

    def valid(n, snapshot):
        later = (r for r in records[snapshot.known :] if r.kind == "R")
        return n >= fence(records) and all(n <= r.bound for r in later)

    return {n: s for n, s in world.snapshots if valid(n, s)}


class Actor:
    """An operation: a method for each storage call. `local` is the next method and what it has to know."""

    FINISHED = ("finished",)
    START = ("begin",)
    upkeep = False

    def __init__(self, name, rules):
        self.name, self.rules = name, rules

    def step(self, world, local):
        return getattr(self, local[0])(world, *local[1:])


class Commit(Actor):
    """Adds a file of its own name, which it writes once, however often it tries."""

    AGAIN = ("read",)

    def begin(self, w):
        return w.with_(data=w.data | {self.name}), self.AGAIN

    def read(self, w):
        return w, ("prepare", len(w.records))

    def prepare(self, w, known):
        versions = line(w, known)
        if not versions:
            return w, self.AGAIN
        newest = max(versions)
        return w, ("publish", known, newest, versions[newest].files)

    def publish(self, w, known, base, files):
        snapshots = dict(w.snapshots)
        if base + 1 in snapshots:
            return w, self.AGAIN
        snapshots[base + 1] = Snapshot("c" + self.name, known, files | {self.name})
        return w.with_(snapshots=snapshots), ("judge", known, base + 1)

    def judge(self, w, known, n):
        newer = w.records[known:] if self.rules.looks_again else ()
        met = next((r for r in newer if r.reaches(n)), None)
        if met is None:
            return self.acknowledge(w, n)
        if self.rules.listings and (n, "c" + self.name) in met.listing:
            if met.kind == "R":
                return w, self.AGAIN
            taken_back = any(r.kind == "R" and r.reaches(n) for r in newer)
            return (w, self.FINISHED) if taken_back else self.acknowledge(w, n)
        return w, ("undo", n)

    def acknowledge(self, w, n):
        return w.with_(acknowledged=w.acknowledged | {(self.name, n)}), self.FINISHED

    def undo(self, w, n):
        snapshots = dict(w.snapshots)
        if not self.rules.listings or snapshots.get(n, (None,))[0] == "c" + self.name:
            snapshots.pop(n, None)
        return w.with_(snapshots=snapshots), self.AGAIN


class Tag(Actor):
    """Names the oldest version."""

    def begin(self, w):
        return w, ("choose", len(w.records))

    def choose(self, w, known):
        versions = line(w, known)
        if not versions:
            return w, self.START
        n = min(versions)
        return w, ("write", known, n, versions[n])

    def write(self, w, known, n, snapshot):
        tags = {**dict(w.tags), self.name: (n, snapshot.identity, snapshot.files)}
        return w.with_(tags=tags), ("judge", known, n)

    def judge(self, w, known, n):
        newer = w.records[known:] if self.rules.looks_again else ()
        if any(r.reaches(n) for r in newer):
            return w, ("undo",)
        return w.with_(acknowledged=w.acknowledged | {self.name}), self.FINISHED

    def undo(self, w):
        return w.with_(tags={name: tag for name, tag in w.tags if name != self.name}), self.FINISHED


class Upkeep(Actor):
    """Deletes versions; one such operation at a time. First it finishes what one that died has left."""

    upkeep = True

    def begin(self, w):
        there = {(n, s.identity) for n, s in w.snapshots}
        left = [pair for r in w.records for pair in r.listing & there if pair[0] not in line(w)]
        if left and self.rules.listings:
            n = max(left)[0]
            return w.with_(snapshots={m: s for m, s in w.snapshots if m != n}), self.START
        return self.plan(w)

    def record(self, w, kind, bound, going):
        if not self.rules.records:
            return w
        listing = frozenset((n, s.identity) for n, s in going) if self.rules.listings else frozenset()
        return w.with_(records=(*w.records, Record(kind, bound, listing)))

    def delete(self, w, snapshots):
        if not snapshots:
            return w, self.FINISHED
        (n, snapshot), rest = snapshots[0], snapshots[1:]
        there = dict(w.snapshots).get(n)
        mine = there is not None and there.identity == snapshot.identity
        left = {m: s for m, s in w.snapshots if m != n} if mine else dict(w.snapshots)
        return w.with_(snapshots=left), ("delete", rest)


class Expire(Upkeep):
    """Only the newest version stays."""

    def plan(self, w):
        versions = line(w)
        end = max(versions)
        return w, ("announce", end, tuple((n, s) for n, s in sorted(versions.items()) if n < end))

    def announce(self, w, end, going):
        if not self.rules.lists_before_record:
            w = self.record(w, "E", end, going)
            return w, ("list_late", end)
        return self.record(w, "E", end, going), ("protect", end, going)

    def list_late(self, w, end):
        return w, ("protect", end, tuple((n, s) for n, s in w.snapshots if n < end))

    def protect(self, w, end, going):
        tagged = frozenset().union(*(files for _, (_, _, files) in w.tags))
        return w, ("choose", end, going, tagged)

    def choose(self, w, end, going, tagged):
        kept = frozenset().union(*(s.files for n, s in w.snapshots if n >= end))
        files = frozenset().union(*(s.files for _, s in going)) - kept - tagged
        return w, ("delete_data", tuple(sorted(files)), going)

    def delete_data(self, w, files, going):
        if files:
            return w.with_(data=w.data - {files[0]}), ("delete_data", files[1:], going)
        return self.delete(w, going)


class Rollback(Upkeep):
    """Back to version 2, or to the tag of it, whose snapshot may have expired."""

    TARGET = 2

    def __init__(self, name, rules, tag=None):
        super().__init__(name, rules)
        self.tag = tag

    def plan(self, w):
        versions, tags, n = line(w), dict(w.tags), self.TARGET
        if max(versions) <= n or (self.tag is None and n not in versions) or (self.tag and self.tag not in tags):
            return w, self.FINISHED
        there = dict(w.snapshots).get(n)
        if self.tag and there is not None and (n not in versions or there.identity != tags[self.tag][1]):
            return w, self.START
        tag = tags[self.tag] if self.tag else None
        return w, ("restore", tag, tuple(sorted((m for m in versions if m > n), reverse=True)))

    def restore(self, w, tag, going):
        snapshots, n = dict(w.snapshots), self.TARGET
        if tag is not None:
            _, identity, files = tag
            if n in snapshots and snapshots[n].identity != identity:
                return w, self.START
            snapshots[n] = Snapshot(identity, 0, files)
        return w.with_(snapshots=snapshots), ("announce", going)

    def announce(self, w, going):
        snapshots = dict(w.snapshots)
        going = tuple((n, snapshots[n]) for n in going)
        kept = frozenset(a for a in w.acknowledged if isinstance(a, str) or a[1] <= self.TARGET)
        after = self.record(w, "R", self.TARGET, going).with_(acknowledged=kept)
        return after, ("delete", going) if self.rules.deletes_what_is_listed else ("delete_range",)

    def delete_range(self, w):
        last = max(dict(w.snapshots))
        if last <= self.TARGET:
            return w, self.FINISHED
        return w.with_(snapshots={n: s for n, s in w.snapshots if n != last}), ("delete_range",)


def wrong(w):
    """What a user would complain about; None: nothing."""
    versions = line(w)
    if not versions:
        return "no version is left"
    newest, tags = versions[max(versions)], dict(w.tags)
    if not newest.files <= w.data:
        return f"the newest version lost {sorted(newest.files - w.data)}"
    for told in w.acknowledged:
        if isinstance(told, tuple) and told[0] not in newest.files:
            return f"the acknowledged commit {told} is not in version {max(versions)}"
    promised = {name for name in w.acknowledged if isinstance(name, str)} | {"v"}
    for name in promised & set(tags):
        if not tags[name][2] <= w.data:
            return f"tag {name} lost {sorted(tags[name][2] - w.data)}"
    if set(range(min(versions), max(versions) + 1)) != set(versions):
        return f"gaps between versions {sorted(versions)}"
    return None


def beginning():
    """Two commits and a compaction; a tag of the second commit."""
    files = (frozenset("a"), frozenset("ab"), frozenset({"ab"}))
    snapshots = tuple((n, Snapshot(f"u{n}", 0, f)) for n, f in zip((1, 2, 3), files, strict=True))
    return World(snapshots, (), (("v", (2, "u2", files[1])),), frozenset({"a", "b", "ab"}), frozenset())


def actors(words, rules):
    """ "commit x", "tag t", "expire", "rollback", "rollback to tag": one actor each."""

    def actor(number, word):
        kind, _, name = word.partition(" ")
        if kind == "commit":
            return Commit(name, rules)
        if kind == "tag":
            return Tag(name, rules)
        if kind == "expire":
            return Expire(f"expire {number}", rules)
        return Rollback(f"rollback {number}", rules, tag="v" if name == "to tag" else None)

    return [actor(number, word) for number, word in enumerate(words)]


class Found(NamedTuple):
    """What a walk has seen."""

    states: int
    wrong: str | None
    path: tuple


def explore(words, rules=None, deaths=True):
    """Every order of all steps, the shortest way to something wrong first."""
    all_actors = actors(words, rules or Rules())
    start = (beginning(), tuple(Actor.START for _ in all_actors))
    came_from, todo = {start: None}, deque([start])
    while todo:
        state = todo.popleft()
        world, locals_ = state
        if (found := wrong(world)) is not None:
            return Found(len(came_from), found, _path(came_from, state))
        for i, actor in enumerate(all_actors):
            for after, local, label in _steps(all_actors, world, locals_, i, actor, deaths):
                following = (after, (*locals_[:i], local, *locals_[i + 1 :]))
                if following not in came_from:
                    came_from[following] = (state, label)
                    todo.append(following)
    return Found(len(came_from), None, ())


def _steps(all_actors, world, locals_, i, actor, deaths):
    local = locals_[i]
    if local == Actor.FINISHED:
        return
    if actor.upkeep:
        idle = (Actor.START, Actor.FINISHED)
        busy = any(a.upkeep and j != i and locals_[j] not in idle for j, a in enumerate(all_actors))
        if busy and actor.rules.lock:
            return
        if deaths and local != Actor.START:
            # the lock of a process that died is free; commits and tags hold none, to stop for ever is the same for them
            yield world, Actor.FINISHED, f"{actor.name} dies"
    yield (*actor.step(world, local), f"{actor.name}: {local[0]}")


def _path(came_from, state):
    labels = []
    while came_from[state] is not None:
        state, label = came_from[state]
        labels.append(label)
    return tuple(reversed(labels))
