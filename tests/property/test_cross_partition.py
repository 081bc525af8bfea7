"""Random lives of tables whose keys may come in any partition, against a dictionary of keys.

After each step the rows are the dictionary's, each version stays what it was, and at the end no key is in two partitions or
buckets (``fsck``). With Java present a second test lets Java take turns.
"""

import json
import shutil
import tempfile

import pytest
import siltstone as st
from hypothesis import given, settings
from hypothesis import strategies as hs
from siltstone import errors

SCHEMA = {"p": "STRING", "k": "INT", "v": "INT"}
PARTITIONS = hs.sampled_from(["a", "b", "c"])
KEYS = hs.integers(0, 9)
VALUES = hs.one_of(hs.none(), hs.integers(-100, 100))
ROWS = hs.lists(hs.tuples(PARTITIONS, KEYS, VALUES), min_size=1, max_size=12)
STEP = hs.one_of(
    hs.tuples(hs.just("upsert"), ROWS),
    hs.tuples(hs.just("upsert"), ROWS),
    hs.tuples(hs.just("delete"), ROWS),
    hs.tuples(hs.just("mixed"), hs.lists(hs.tuples(hs.sampled_from(["+I", "+U", "-D"]), ROWS), min_size=1, max_size=3)),
    hs.tuples(hs.just("move"), KEYS, PARTITIONS),
    hs.tuples(hs.just("delete where"), KEYS),
    hs.tuples(hs.just("compact"), hs.booleans()),
    hs.tuples(hs.just("overwrite"), hs.sampled_from(["dynamic", "static", "all"]), ROWS),
    hs.tuples(hs.just("truncate"), hs.sampled_from([None, "a", "b"])),
    hs.tuples(hs.just("tag"), hs.sampled_from(["one", "two"])),
    hs.tuples(hs.just("rollback"), hs.one_of(hs.sampled_from(["one", "two"]), hs.integers(0, 20))),
    hs.tuples(hs.just("expire"), hs.integers(1, 4)),
)
ENGINES = {
    "deduplicate": {},
    "partial-update": {},
    "aggregation": {"fields.v.aggregate-function": "sum"},
    "first-row": {"changelog-producer": "lookup"},
    "vectors": {"deletion-vectors.enabled": "true"},
}
#: Engines whose tables take deletes, and whose rows move.
MOVES = ("deduplicate", "vectors")
OPTIONS = hs.fixed_dictionaries(
    {
        "dynamic-bucket.target-row-num": hs.sampled_from(["1", "3", "2000000"]),
        "dynamic-bucket.max-buckets": hs.sampled_from(["2", "-1"]),
        "num-sorted-run.compaction-trigger": hs.sampled_from(["2", "5"]),
        "target-file-size": hs.sampled_from(["1kb", "128mb"]),
    }
)


def dicts(rows):
    return [{"p": p, "k": k, "v": v} for p, k, v in rows]


def merged(engine, old, row):
    """What a key is, and where, when a row comes to what it was."""
    p, _, v = row
    if old is None or engine in MOVES:
        return p, v
    if engine == "first-row":
        return old
    place, before = old
    if engine == "partial-update" or None in (before, v):
        return place, before if v is None else v
    return place, before + v


class Life:
    """The table and its dictionary."""

    def __init__(self, folder, engine, options):
        cat = st.connect(folder)
        cat.create_database("db")
        name = "deduplicate" if engine == "vectors" else engine
        options = {**options, **ENGINES[engine], "merge-engine": name}
        self.t = cat.create_table("db.t", SCHEMA, primary_key=["k"], partition_by=["p"], options=options)
        self.engine, self.model, self.versions, self.tags = engine, {}, {}, {}

    def put(self, rows, kind="+I"):
        for row in rows:
            if kind == "-D":
                self.model.pop(row[1], None)
            else:
                self.model[row[1]] = merged(self.engine, self.model.get(row[1]), row)

    def play(self, step):
        kind, *args = step
        if kind in ("delete", "mixed", "move", "delete where") and self.engine not in MOVES:
            return
        getattr(self, kind.replace(" ", "_"))(*args)

    def upsert(self, rows):
        self.t.upsert(dicts(rows))
        self.put(rows)

    def delete(self, rows):
        self.t.append(dicts(rows), row_kind="-D")
        self.put(rows, "-D")

    def mixed(self, parts):
        with self.t.writer() as w:
            for kind, rows in parts:
                w.write(dicts(rows), kind)
                self.put(rows, kind)
            w.commit()

    def move(self, key, partition):
        self.t.update({"p": f"'{partition}'", "v": "v + 1"}, where=f"k = {key}")
        if key in self.model:
            v = self.model[key][1]
            self.model[key] = (partition, None if v is None else v + 1)

    def delete_where(self, key):
        self.t.delete(where=f"k < {key} AND p <> 'b'")
        self.keep(lambda k, p: not (k < key and p != "b"))

    def keep(self, kept):
        self.model = {k: (p, v) for k, (p, v) in self.model.items() if kept(k, p)}

    def compact(self, full):
        self.t.compact(full=full)

    def overwrite(self, mode, rows):
        rows = [row for row in rows if mode != "static" or row[0] == "a"]
        if mode == "dynamic":
            # where rows go to their keys, the first row of a key says where
            first = {k: p for p, k, _ in reversed(rows)}
            gone = set(first.values()) if self.engine not in MOVES else {p for p, _, _ in rows}
        else:
            gone = {"a"} if mode == "static" else set("abc")
        elsewhere = {k for k, (p, _) in self.model.items() if p not in gone}
        overwrite = {"partition": {"p": "a"}} if mode == "static" else {"dynamic": mode == "dynamic"}
        if elsewhere & {k for _, k, _ in rows}:
            with pytest.raises(errors.InvalidArgument, match="leaves as it is"):
                self.t.overwrite(dicts(rows), **overwrite)
            return
        self.t.overwrite(dicts(rows), **overwrite)
        self.keep(lambda _, p: p not in gone)
        self.put(rows)

    def truncate(self, partition):
        self.t.truncate(None if partition is None else {"p": partition})
        self.keep(lambda _, p: partition is not None and p != partition)

    def tag(self, name):
        if self.t.snapshot() and name not in self.tags:
            self.t.tags.create(name)
            self.tags[name] = (self.t.snapshot().id, dict(self.model))

    def rollback(self, to):
        if isinstance(to, int):
            if not self.versions:
                return
            to = sorted(self.versions)[to % len(self.versions)]
            self.t.rollback(version=to)
            self.model = dict(self.versions[to])
        elif to in self.tags:
            self.t.rollback(tag=to)
            to, self.model = self.tags[to][0], dict(self.tags[to][1])
        else:
            return
        self.versions = {v: rows for v, rows in self.versions.items() if v <= to}
        self.tags = {name: tag for name, tag in self.tags.items() if tag[0] <= to}

    def expire(self, retained):
        self.t.maintenance.expire_snapshots(retain_max=retained, retain_min=1)

    def check(self):
        assert content(self.t) == self.model
        found = {snapshot.id for snapshot in self.t.history(1000)}
        self.versions = {v: rows for v, rows in self.versions.items() if v in found}
        if found:
            self.versions[max(found)] = dict(self.model)

    def end(self):
        for version, rows in self.versions.items():
            assert content(self.t, version=version) == rows
        for name, (_, rows) in self.tags.items():
            assert content(self.t, tag=name) == rows
        assert self.t.maintenance.fsck(deep=True).problems == []


def content(t, **version):
    rows = t.scan(**version).to_arrow().to_pylist()
    found = {r["k"]: (r["p"], r["v"]) for r in rows}
    assert len(found) == len(rows), "a key twice"
    return found


@given(hs.sampled_from(sorted(ENGINES)), OPTIONS, hs.lists(STEP, max_size=10))
def test_the_table_is_the_dictionary_at_every_version(engine, options, steps):
    folder = tempfile.mkdtemp()
    try:
        life = Life(folder, engine, options)
        for step in steps:
            life.play(step)
            life.check()
        life.end()
    finally:
        shutil.rmtree(folder)


def javas(oracle, life, step):
    """The same step by Java; False when Java has no such step here."""
    kind = step[0]
    if kind == "upsert" or (kind == "delete" and life.engine in MOVES):
        sign = "+I" if kind == "upsert" else "-D"
        rows = [[sign, p, k, v] for p, k, v in step[1]]
        oracle.call("apply", life.t.location, json.dumps({"op": "write", "rows": rows}))
        life.put(step[1], sign)
    elif kind == "compact":
        oracle.call("compact", life.t.location, *(["--full"] if step[1] else []))
    else:
        return False
    return True


@pytest.mark.java
@pytest.mark.xdist_group("java")
@settings(max_examples=6)
@given(
    engine=hs.sampled_from(sorted(ENGINES)),
    options=OPTIONS,
    steps=hs.lists(hs.tuples(hs.booleans(), STEP), min_size=2, max_size=7),
)
def test_java_and_we_take_turns_on_one_table(oracle, engine, options, steps):
    folder = tempfile.mkdtemp()
    try:
        life = Life(folder, engine, options)
        for javas_turn, step in steps:
            if not (javas_turn and javas(oracle, life, step)):
                life.play(step)
            life.check()
            rows = oracle.call("read", life.t.location)
            assert {r["k"]: (r["p"], r["v"]) for r in rows} == life.model
        life.end()
        if life.t.snapshot():
            assert not oracle.call("fsck", life.t.location, check=False)[0]["problems"]
    finally:
        shutil.rmtree(folder)
