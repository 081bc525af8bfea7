"""Tables with dynamic buckets: what everybody creates first (no `bucket`), and what its index says of each key."""

import json
import multiprocessing
import pathlib
import struct

import pyarrow as pa
import pytest
import siltstone as st
from siltstone import errors as e


def clean(t):
    """Each key is in the bucket that the index says."""
    assert t.maintenance.fsck(deep=True).problems == []


def rows(t):
    found = t.scan().to_arrow().to_pylist()
    by_key = {r["id"]: r.get("v") for r in found}
    assert len(by_key) == len(found), "a key twice"
    return by_key


def index_files(t):
    found = t.inspect("table_indexes").to_arrow().to_pylist()
    return {(r["partition"], r["bucket"]): r for r in found if r["index_type"] == "HASH"}


def test_a_table_without_a_word_about_buckets_is_written(make):
    """It was refused: the first example of every newcomer."""
    t = make({"id": "BIGINT", "v": "STRING"}, ["id"])
    assert t.bucket_mode == "dynamic"
    t.upsert([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
    t.upsert([{"id": 2, "v": "c"}, {"id": 3, "v": "d"}])
    t.delete(keys=[{"id": 1}])
    assert rows(t) == {2: "c", 3: "d"}
    assert [r["row_count"] for r in index_files(t).values()] == [3]
    clean(t)


def test_buckets_have_as_many_keys_as_the_option_says(make):
    t = make({"id": "BIGINT", "v": "INT"}, ["id"], dynamic_bucket__target_row_num=100)
    for first in (0, 50, 150, 900):
        t.upsert(pa.table({"id": range(first, first + 200), "v": [first] * 200}))
    assert {b: r["row_count"] for (_, b), r in index_files(t).items()} == {
        0: 100,
        1: 100,
        2: 100,
        3: 100,
        4: 100,
        5: 50,
    }
    t.compact(full=True)
    expected = dict.fromkeys(range(50), 0) | dict.fromkeys(range(50, 150), 50) | dict.fromkeys(range(150, 350), 150)
    assert rows(t) == expected | dict.fromkeys(range(900, 1100), 900)
    clean(t)


def test_each_partition_has_buckets_of_its_own(make):
    t = make({"p": "STRING", "id": "INT"}, ["id", "p"], ["p"], dynamic_bucket__target_row_num=2)
    t.upsert([{"p": p, "id": i} for i in range(5) for p in "ab"])
    assert sorted(b for _, b in index_files(t)) == [0, 0, 1, 1, 2, 2]
    clean(t)
    t.truncate({"p": "a"})
    assert sorted(b for _, b in index_files(t)) == [0, 1, 2]
    t.upsert([{"p": "a", "id": 9}])
    assert sorted(b for _, b in index_files(t)) == [0, 0, 1, 2]
    clean(t)


def test_at_max_buckets_keys_go_into_full_ones(make):
    t = make({"id": "INT"}, ["id"], dynamic_bucket__target_row_num=10, dynamic_bucket__max_buckets=3)
    t.upsert(pa.table({"id": pa.array(range(200), pa.int32())}))
    t.upsert(pa.table({"id": pa.array(range(400), pa.int32())}))
    assert sorted(b for _, b in index_files(t)) == [0, 1, 2]
    assert sum(r["row_count"] for r in index_files(t).values()) == 400 == len(rows(t))
    clean(t)


def test_index_files_stay_right_through_the_life_of_a_table(make):
    t = make({"id": "INT", "v": "INT"}, ["id"], dynamic_bucket__target_row_num=3)
    t.upsert([{"id": i, "v": 1} for i in range(8)])
    t.tags.create("one")
    t.upsert([{"id": i, "v": 2} for i in range(4, 12)])
    t.branches.create("dev", tag="one")
    dev = st.open_table(t.location, branch="dev")
    dev.upsert([{"id": i, "v": 3} for i in range(6, 20, 2)])
    t.update({"v": "v + 10"}, where="id < 2")
    t.delete(where="id = 3")
    assert rows(t) == {0: 11, 1: 11, 2: 1} | dict.fromkeys(range(4, 12), 2)
    t.overwrite([{"id": i, "v": 4} for i in (11, 5, 3, 1)])
    assert rows(t) == dict.fromkeys((11, 5, 3, 1), 4)
    assert sum(r["row_count"] for r in index_files(t).values()) == 4
    t.upsert([{"id": i, "v": 5} for i in range(3)])
    t.compact(full=True)
    clean(t)
    t.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    t.maintenance.remove_orphan_files(older_than="0s", dry_run=False)
    clean(t)
    assert rows(t) == {0: 5, 1: 5, 2: 5, 3: 4, 5: 4, 11: 4}
    t.rollback(tag="one")
    t.upsert([{"id": 30, "v": 6}, {"id": 0, "v": 6}])
    assert rows(t) == dict.fromkeys(range(1, 8), 1) | {0: 6, 30: 6}
    clean(t)


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation", "first-row"])
@pytest.mark.parametrize("producer", ["none", "lookup", "input"])
def test_every_engine_and_changelog_works_with_dynamic_buckets(make, engine, producer):
    if engine == "first-row" and producer == "input":
        pytest.skip("Java does not have it")
    t = make(
        {"id": "INT", "v": "INT"},
        ["id"],
        merge_engine=engine,
        changelog_producer=producer,
        dynamic_bucket__target_row_num=4,
    )
    for n in range(3):
        t.upsert([{"id": i, "v": n} for i in range(n * 3, n * 3 + 9)])
    t.compact(full=True)
    assert sorted(rows(t)) == list(range(15))
    clean(t)


def test_deletion_vectors_and_hashes_are_in_one_index_manifest(make):
    t = make({"id": "INT", "v": "INT"}, ["id"], deletion_vectors__enabled="true", dynamic_bucket__target_row_num=5)
    for n in range(4):
        t.upsert([{"id": i, "v": n} for i in range(n * 2, n * 2 + 8)])
    kinds = {r["index_type"] for r in t.inspect("table_indexes").to_arrow().to_pylist()}
    assert kinds == {"HASH", "DELETION_VECTORS"}
    assert sorted(rows(t)) == list(range(14))
    clean(t)


def test_keys_whose_hashes_are_equal_share_a_bucket(make):
    """Among 200,000 keys of 32-bit hashes some are equal."""
    t = make({"id": "STRING"}, ["id"], dynamic_bucket__target_row_num=50_000)
    keys = [f"a longer key {i}" for i in range(200_000)]
    t.upsert(pa.table({"id": keys}))
    t.upsert(pa.table({"id": keys[100_000:]}))
    hashes = sum(r["row_count"] for r in index_files(t).values())
    assert t.scan().count() == 200_000 > hashes > 199_900
    clean(t)


def index_path(t, entry):
    return pathlib.Path(t.location, "index", entry["file_name"])


@pytest.mark.parametrize("damage", ["cut", "longer", "missing", "odd"])
def test_a_broken_index_is_an_error_with_its_file_and_no_row_is_written(make, damage):
    t = make({"id": "INT", "v": "INT"}, ["id"])
    t.upsert([{"id": 1, "v": 1}, {"id": 2, "v": 2}])
    [entry] = index_files(t).values()
    path = index_path(t, entry)
    content = path.read_bytes()
    assert len(content) == 8
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes({"cut": content[:4], "longer": content + b"1234", "odd": content[:7]}[damage])
    expected = e.SiltstoneError if damage == "missing" else e.CorruptFile
    with pytest.raises(expected, match=entry["file_name"]) as error:
        t.upsert([{"id": 3, "v": 3}])
    assert "overwrite the partition with its own rows" in error.value.hint
    assert rows(t) == {1: 1, 2: 2}
    problems = t.maintenance.fsck().problems
    assert any("overwrite the partition with its own rows" in found.repair for found in problems)
    # what the hint says
    t.overwrite(t.scan().to_arrow())
    assert rows(t) == {1: 1, 2: 2}
    t.upsert([{"id": 2, "v": 3}])
    assert rows(t) == {1: 1, 2: 3}
    path.write_bytes(content)
    t.rollback(version=1)
    t.upsert([{"id": 3, "v": 3}])
    clean(t)


def test_the_keys_of_a_partition_are_loaded_when_its_first_row_comes(make):
    """And of no other one: what a writer holds follows the partitions that it writes to."""
    t = make({"p": "STRING", "id": "INT", "v": "INT"}, ["p", "id"], ["p"])
    t.upsert([{"p": p, "id": i, "v": 1} for p in "ab" for i in range(3)])
    other = index_path(t, next(entry for entry in index_files(t).values() if entry["partition"] == "{b}"))
    content = other.read_bytes()
    other.unlink()
    t.upsert([{"p": "a", "id": i, "v": 2} for i in range(1, 5)])
    with pytest.raises(e.SiltstoneError, match=other.name):
        t.upsert([{"p": "a", "id": 1, "v": 3}, {"p": "b", "id": 1, "v": 3}])
    other.write_bytes(content)
    t.upsert([{"p": "b", "id": 1, "v": 3}])
    clean(t)


def test_a_version_that_has_lost_its_index_manifest_is_not_written_to(make):
    """It looked like a table without keys: the upsert made each key twice."""
    t = make({"id": "INT", "v": "INT"}, ["id"], dynamic_bucket__target_row_num=2)
    t.upsert([{"id": i, "v": i} for i in range(6)])
    snapshot = pathlib.Path(t.location, "snapshot", "snapshot-1")
    snapshot.write_text(json.dumps({**json.loads(snapshot.read_text()), "indexManifest": None}))
    with pytest.raises(e.CorruptFile, match="names no index file of its partition"):
        st.open_table(t.location).upsert([{"id": i, "v": 9} for i in range(5, -1, -1)])
    assert st.open_table(t.location).scan().count() == 6


@pytest.mark.parametrize("settings", [("2", "5"), ("5", "2"), ("1", "100")])
def test_two_writers_with_other_settings_at_the_same_time_keep_each_key_in_one_bucket(make, settings):
    t = make({"id": "INT", "v": "INT"}, ["id"], dynamic_bucket__target_row_num=3)
    t.upsert([{"id": i, "v": 0} for i in range(4)])
    handles = [st.open_table(t.location, options={"dynamic-bucket.target-row-num": n}) for n in settings]
    with handles[0].writer() as a, handles[1].writer() as b:
        for n in range(3):
            a.write([{"id": i, "v": 10 * n + 1} for i in range(n, n + 9)])
            b.write([{"id": i, "v": 10 * n + 2} for i in range(n + 8, n - 1, -1)])
            for writer in (a, b) if n % 2 else (b, a):
                writer.commit()
    assert {r["id"] for r in t.scan().to_pylist()} == set(range(11)) and t.scan().count() == 11
    clean(t)


def test_fsck_names_keys_that_are_not_where_the_index_says(make):
    t = make({"id": "INT", "v": "INT"}, ["id"], dynamic_bucket__target_row_num=2)
    t.upsert([{"id": i, "v": i} for i in range(4)])
    first, second = (index_path(t, r) for r in sorted(index_files(t).values(), key=lambda r: r["bucket"]))
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(two)
    second.write_bytes(one)
    codes = {f.code for f in t.maintenance.fsck(deep=True).findings}
    assert "key-in-wrong-bucket" in codes, codes
    first.write_bytes(struct.pack(">2i", 7, 8))
    second.write_bytes(two)
    codes = {f.code for f in t.maintenance.fsck(deep=True).findings}
    assert "key-not-in-index" in codes, codes
    first.write_bytes(two)
    codes = {f.code for f in t.maintenance.fsck(deep=True).findings}
    assert "bad-hash-index" in codes, codes
    with pytest.raises(e.CorruptFile, match="two buckets"):
        t.upsert([{"id": 9, "v": 9}])


@pytest.mark.parametrize("partition", [0, 1])
def test_an_index_file_in_the_place_of_another_one_makes_no_key_twice(make, partition):
    """Of one size, nothing else tells them apart: the next upsert gave keys a second bucket."""
    t = make({"p": "INT", "id": "INT", "v": "INT"}, ["p", "id"], ["p"], dynamic_bucket__target_row_num=3)
    t.upsert([{"p": p, "id": i + 10 * p, "v": i} for p in range(2) for i in range(6)])
    files = index_files(t)
    one = index_path(t, files["{0}", 0])
    two = index_path(t, files[f"{{{partition}}}", 1])
    contents = one.read_bytes(), two.read_bytes()
    one.write_bytes(contents[1])
    two.write_bytes(contents[0])
    # also where no key of a bucket that has the wrong index comes
    upserts = [
        lambda ids=ids: t.upsert([{"p": 0, "id": i, "v": 9} for i in ids]) for ids in (range(6), [0], [4], [100])
    ]
    for upsert in [*upserts, *([lambda: shared_upsert(t)] if partition == 0 else [])]:
        with pytest.raises(e.CorruptFile, match="by the index") as error:
            upsert()
        assert "overwrite the partition" in error.value.hint
    assert t.scan().count() == 12
    one.write_bytes(contents[0])
    two.write_bytes(contents[1])
    upserts[0]()
    shared_upsert(t)
    assert t.scan().count() == 12
    clean(t)


def shared_upsert(t):
    """As a job with assigners of its own writes."""
    ids = range(6)
    plan = t.shared_writes.plan(1, overwrite=False)
    columns = {"p": pa.array([0] * 6, pa.int32()), "id": pa.array(ids, pa.int32()), "v": pa.array(ids, pa.int32())}
    batch = pa.record_batch(columns)
    buckets, _ = t.shared_writes.assigner(plan).assign(batch.select(["p", "id"]))
    with t.shared_writes.writer(plan, overwrite=False) as w:
        w.write(batch.append_column("bucket", buckets), None)
        t.commit(w.prepare_commit())


def upserts(location, number, commits, keys):
    t = st.open_table(location, options={"commit.max-retries": "1000"})
    for n in range(commits):
        first = (number * 7 + n * 13) % keys
        ids = [(first + i) % keys for i in range(60)]
        t.upsert(pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array([number * 1000 + n] * 60, pa.int32())}))


def test_processes_that_upsert_the_same_keys_make_no_key_twice(make):
    """Each assigned buckets from what it had seen: a key of two of them was in two buckets."""
    t = make({"id": "INT", "v": "INT"}, ["id"], dynamic_bucket__target_row_num=40)
    spawn = multiprocessing.get_context("spawn")
    jobs = [spawn.Process(target=upserts, args=(t.location, n, 8, 300)) for n in range(3)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0, 0, 0]
    found = rows(t)
    written = {(n * 7 + c * 13 + i) % 300 for n in range(3) for c in range(8) for i in range(60)}
    assert set(found) == written
    assert sum(s.kind == "APPEND" for s in t.history(1000)) == 24
    clean(t)


def test_a_writer_goes_on_over_many_commits(make):
    t = make({"id": "INT", "v": "INT"}, ["id"], dynamic_bucket__target_row_num=5)
    with t.writer() as w:
        for n in range(6):
            w.write([{"id": i, "v": n} for i in range(n, n + 7)])
            w.commit()
            if n == 2:
                t.upsert([{"id": 100 + i, "v": n} for i in range(7)])
            if n == 3:
                t.overwrite([{"id": i, "v": -1} for i in (9, 6, 3)])
    # the fifth and sixth commit came after the overwrite
    assert rows(t) == {3: -1, 4: 4} | dict.fromkeys(range(5, 12), 5)
    clean(t)


def test_messages_of_a_writer_travel_and_come_back(make):
    t = make({"id": "INT", "v": "INT"}, ["id"], dynamic_bucket__target_row_num=3)
    with t.writer() as w:
        w.write([{"id": i, "v": 1} for i in range(5)])
        first = w.prepare_commit()
        w.write([{"id": i, "v": 2} for i in range(3, 9)])
        second = w.prepare_commit()
    t.commit(first + second)
    assert rows(t) == {0: 1, 1: 1, 2: 1} | dict.fromkeys(range(3, 9), 2)
    clean(t)
    with t.writer(overwrite=True) as w:
        w.write([{"id": i, "v": 3} for i in (8, 1, 20, 21)])
        t.commit(w.prepare_commit(), overwrite={"dynamic": False})
    assert rows(t) == {8: 3, 1: 3, 20: 3, 21: 3}
    clean(t)
    with t.writer() as w:
        w.write([{"id": 8, "v": 4}])
        t.commit(w.prepare_commit(), overwrite={"dynamic": False})
    assert rows(t) == {8: 4}
    assert sum(r["row_count"] for r in index_files(t).values()) >= 1
    clean(t)


def test_writers_with_other_settings_keep_known_keys_where_they_are(make):
    t = make({"id": "INT", "v": "INT"}, ["id"], dynamic_bucket__target_row_num=2)
    t.upsert([{"id": i, "v": 1} for i in range(6)])
    large = st.open_table(t.location, options={"dynamic-bucket.target-row-num": "100"})
    large.upsert([{"id": i, "v": 2} for i in range(3, 12)])
    few = st.open_table(t.location, options={"dynamic-bucket.max-buckets": "2"})
    few.upsert([{"id": i, "v": 3} for i in range(10, 20)])
    assert rows(t) == {0: 1, 1: 1, 2: 1} | dict.fromkeys(range(3, 10), 2) | dict.fromkeys(range(10, 20), 3)
    assert sorted(b for _, b in index_files(t)) == [0, 1, 2]
    clean(t)


def test_the_bucket_mode_is_named(make):
    t = make({"p": "STRING", "id": "INT"}, ["p", "id"], ["p"])
    assert t.explain().splitlines()[-1] == "buckets     dynamic: an index of keys, 2000000 keys a bucket"
    assert "buckets  dynamic" in t.scan().explain()
    assert t.scan(filter="id = 1 OR id IS NULL").explain().splitlines()[-1] == "filter   id = 1 OR id IS NULL"
    few = make({"id": "INT"}, ["id"], dynamic_bucket__max_buckets=3)
    assert few.explain().endswith("2000000 keys a bucket, at most 3")
    assert make({"id": "INT"}).explain().endswith("buckets     none: rows go to files in the order in which they come")
    assert make({"id": "INT", "v": "INT"}, ["id"], bucket=4).explain().endswith("buckets     fixed: 4 by id")


def test_an_old_default_value_of_an_option_does_nothing_as_in_java(make):
    """Java dropped it: the table was refused for writing, though Java 1.4 writes it."""
    with pytest.raises(e.UnsupportedFeature, match=r"fields\.v\.default-value"):
        make({"id": "INT", "v": "INT"}, ["id"], **{"fields.v.default-value": "7"})
    t = make({"id": "INT", "v": "INT"}, ["id"])
    schema = pathlib.Path(t.location, "schema", "schema-0")
    stored = json.loads(schema.read_text("utf-8"))
    stored["options"]["fields.v.default-value"] = "7"
    schema.write_text(json.dumps(stored))
    t = st.open_table(t.location)
    t.upsert([{"id": 1}, {"id": 2, "v": 3}])
    assert t.options["fields.v.default-value"] == "7"
    assert rows(t) == {1: None, 2: 3}


def test_shared_writers_and_another_commit_agree_about_keys(make):
    """Each process of the job began with an index that is not the newest any more."""
    t = make({"id": "INT", "v": "INT"}, ["id"], dynamic_bucket__target_row_num=3)
    t.upsert([{"id": i, "v": 1} for i in range(4)])

    def prepared(ids, v):
        plan = t.shared_writes.plan(2, overwrite=False)
        batch = pa.record_batch({"id": pa.array(ids, pa.int32()), "v": pa.array([v] * len(ids), pa.int32())})
        buckets, _ = t.shared_writes.assigner(plan).assign(batch.select(["id"]))
        with t.shared_writes.writer(plan, overwrite=False) as w:
            w.write(batch.append_column("bucket", buckets), None)
            return w.prepare_commit()

    known = prepared(range(4), 2)
    t.upsert([{"id": 50, "v": 1}])
    t.commit(known)
    assert rows(t) == dict.fromkeys(range(4), 2) | {50: 1}
    clean(t)
    new = prepared(range(60, 70), 3)
    t.upsert([{"id": i, "v": 1} for i in range(69, 55, -1)])
    with pytest.raises(e.CommitConflict, match="another bucket"):
        t.commit(new)
    clean(t)
    with t.shared_writes.writer(t.shared_writes.plan(2, overwrite=False), overwrite=False) as w:
        with pytest.raises(e.InvalidArgument, match="buckets"):
            w.write(pa.record_batch({"id": ["a"]}), None)


def test_a_shared_write_whose_index_has_expired_is_a_conflict(make):
    t = make({"id": "INT", "v": "INT"}, ["id"])
    t.upsert([{"id": 1, "v": 1}])
    plan = t.shared_writes.plan(2, overwrite=False)
    t.upsert([{"id": 2, "v": 1}])
    t.expire_snapshots(retain_max=1, retain_min=1)
    with pytest.raises(e.CommitConflict, match="has expired"):
        t.shared_writes.assigner(plan).assign(pa.record_batch({"id": pa.array([1], pa.int32())}))


@pytest.mark.parametrize(
    ("key", "part", "options", "says"),
    [
        (["id"], ["p"], {}, "cross-partition: all keys of the table are looked up, 2000000 keys a bucket"),
        (["id"], [], {"bucket": -2}, "postponed: rows wait until a compaction gives them buckets"),
        (["id"], [], {}, "dynamic: an index of keys, 2000000 keys a bucket"),
        (["id"], [], {"bucket": 4}, "fixed: 4 by id"),
        ([], [], {}, "none: rows go to files in the order in which they come"),
    ],
)
def test_each_bucket_mode_is_named(make, key, part, options, says):
    t = make({"id": "INT", "p": "INT"}, key, part, **options)
    assert t.explain().splitlines()[-1] == f"buckets     {says}"
    assert f"buckets  {says}" in t.scan().explain()
