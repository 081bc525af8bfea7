"""Tables whose primary key lacks a partition column: a key is in one partition, wherever rows of it come."""

import datetime as dt
import multiprocessing
import pathlib
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import siltstone as st
from siltstone import errors as e

SCHEMA = {"id": "INT", "p": "STRING", "v": "INT", "w": "INT"}


def clean(t):
    """No key is in two partitions or buckets."""
    assert t.maintenance.fsck(deep=True).problems == []


def rows(t):
    found = t.scan().to_arrow().to_pylist()
    by_key = {r["id"]: (r["p"], r["v"]) for r in found}
    assert len(by_key) == len(found), "a key twice"
    return by_key


def row(key, partition, v, w=None):
    return {"id": key, "p": partition, "v": v, "w": w}


def test_a_table_without_a_word_about_buckets_is_written(make):
    t = make(SCHEMA, ["id"], ["p"])
    assert t.bucket_mode == "cross-partition"
    t.upsert([row(1, "a", 1), row(2, "a", 1), row(3, "b", 1)])
    t.upsert([row(1, "b", 2), row(2, "a", 2), row(4, "c", 2)])
    assert rows(t) == {1: ("b", 2), 2: ("a", 2), 3: ("b", 1), 4: ("c", 2)}
    t.delete(keys=[{"id": 1}, {"id": 77}])
    t.upsert([row(1, "a", 3)])
    t.append([row(4, "a", 9)], row_kind="-D")
    assert rows(t) == {1: ("a", 3), 2: ("a", 2), 3: ("b", 1)}
    assert t.inspect("table_indexes").to_arrow().num_rows == 0
    t.compact(full=True)
    assert rows(t) == {1: ("a", 3), 2: ("a", 2), 3: ("b", 1)}
    clean(t)


def test_within_one_batch_the_last_row_of_a_key_counts(make):
    t = make(SCHEMA, ["id"], ["p"])
    t.upsert([row(1, "a", 1), row(1, "b", 2), row(1, None, 3), row(1, "a", 4), row(2, None, 5)])
    assert rows(t) == {1: ("a", 4), 2: (None, 5)}
    clean(t)


@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
def test_rows_go_to_the_partition_of_their_key(make, engine):
    t = make(SCHEMA, ["id"], ["p"], merge_engine=engine)
    t.upsert([row(1, "a", 1), row(2, "b", 1)])
    t.upsert([row(1, "b", None, 5), row(2, "c", 2, 6), row(3, "c", 3)])
    found = {r["id"]: r for r in t.scan().to_arrow().to_pylist()}
    assert found == {1: row(1, "a", 1, 5), 2: row(2, "b", 2, 6), 3: row(3, "c", 3)}
    with pytest.raises(e.InvalidArgument):
        t.update({"p": "'z'"}, where="id = 1")
    clean(t)


def test_first_row_keeps_the_row_that_is_there_whatever_the_partition(make):
    t = make(SCHEMA, ["id"], ["p"], merge_engine="first-row", changelog_producer="lookup")
    t.upsert([row(1, "a", 1), row(2, "b", 1)])
    t.upsert([row(1, "b", 2), row(2, "b", 2), row(3, "c", 2), row(3, "d", 3)])
    assert rows(t) == {1: ("a", 1), 2: ("b", 1), 3: ("c", 2)}
    clean(t)


@pytest.mark.parametrize("engine", ["first-row", "deduplicate"])
def test_keys_that_wait_in_level_0_are_known(make, engine):
    """Readers leave them out; a row of another partition would have been a second one once both were compacted."""
    vectors = {} if engine == "first-row" else {"deletion_vectors__enabled": "true"}
    t = make(SCHEMA, ["id"], ["p"], merge_engine=engine, write_only="true", **vectors)
    t.upsert([row(1, "a", 1)])
    t.upsert([row(1, "b", 2)])
    assert t.scan().count() == 0
    st.open_table(t.location, options={"write-only": "false"}).compact(full=True)
    assert rows(t) == {1: ("a", 1) if engine == "first-row" else ("b", 2)}
    clean(t)


@pytest.mark.parametrize("producer", ["input", "lookup", "full-compaction"])
def test_a_moved_row_is_taken_back_in_the_changelog(make, producer):
    t = make(SCHEMA, ["id"], ["p"], changelog_producer=producer)
    t.upsert([row(1, "a", 1), row(2, "a", 1)])
    t.compact(full=True)
    before = t.history()[0].id
    t.upsert([row(1, "b", 2)])
    t.compact(full=True)
    found = t.scan(between=(before, t.history()[0].id), mode="changelog", row_kind=True).to_arrow().to_pylist()
    assert sorted((r["rowkind"], r["id"], r["p"]) for r in found) == [("+I", 1, "b"), ("-D", 1, "a")]
    clean(t)


def test_buckets_have_as_many_keys_as_the_option_says(make):
    t = make(SCHEMA, ["id"], ["p"], dynamic_bucket__target_row_num=10)
    t.upsert([row(i, "ab"[i % 2], i) for i in range(50)])
    t.upsert([row(i, "a", 100 + i) for i in range(50)])
    files = t.inspect("files").to_arrow().to_pylist()
    assert sorted({f["bucket"] for f in files if "a" in str(f["partition"])}) == [0, 1, 2, 3, 4]
    few = make(SCHEMA, ["id"], ["p"], name="few", dynamic_bucket__target_row_num=10, dynamic_bucket__max_buckets=2)
    few.upsert([row(i, "a", i) for i in range(100)])
    assert sorted({f["bucket"] for f in few.inspect("files").to_arrow().to_pylist()}) == [0, 1]
    for one in t, few:
        one.compact(full=True)
        assert len(rows(one)) in (50, 100)
        clean(one)


def test_a_table_stays_right_through_its_life(make):
    t = make(SCHEMA, ["id"], ["p"], dynamic_bucket__target_row_num=3)
    t.upsert([row(i, "ab"[i % 2], 1) for i in range(8)])
    t.tags.create("one")
    t.upsert([row(i, "b", 2) for i in range(4)])
    t.branches.create("dev", tag="one")
    dev = st.open_table(t.location, branch="dev")
    dev.upsert([row(i, "c", 3) for i in range(2)])
    assert {k: p for k, (p, _) in rows(dev).items()} == {0: "c", 1: "c"} | {i: "ab"[i % 2] for i in range(2, 8)}
    t.update({"p": "'z'", "v": "v + 10"}, where="id = 0")
    t.delete(where="id = 3")
    assert rows(t) == {0: ("z", 12), 1: ("b", 2), 2: ("b", 2), 4: ("a", 1), 5: ("b", 1), 6: ("a", 1), 7: ("b", 1)}
    t.truncate({"p": "b"})
    t.upsert([row(5, "a", 4), row(1, "a", 4)])
    assert rows(t) == {0: ("z", 12), 1: ("a", 4), 4: ("a", 1), 5: ("a", 4), 6: ("a", 1)}
    t.compact(full=True)
    t.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    t.maintenance.remove_orphan_files(older_than="0s", dry_run=False)
    clean(t)
    t.overwrite([row(i, "q", 5) for i in (9, 6)], dynamic=False)
    assert rows(t) == {9: ("q", 5), 6: ("q", 5)}
    t.rollback(tag="one")
    t.upsert([row(0, "b", 6), row(6, "b", 6)])
    assert rows(t) == {i: ("b", 6) if i in (0, 6) else ("ab"[i % 2], 1) for i in range(8)}
    clean(t)


def test_an_overwrite_of_a_partition_takes_no_key_of_another_one(make):
    t = make(SCHEMA, ["id"], ["p"])
    t.upsert([row(1, "a", 1), row(2, "b", 1)])
    with pytest.raises(e.InvalidArgument, match="leaves as it is"):
        t.overwrite([row(2, "a", 2)], partition={"p": "a"})
    assert rows(t) == {1: ("a", 1), 2: ("b", 1)}
    t.overwrite([row(3, "a", 2), row(1, "a", 2)], partition={"p": "a"})
    t.overwrite([row(1, "b", 3), row(3, "a", 3)])
    assert rows(t) == {1: ("b", 3), 3: ("a", 3)}
    clean(t)


def test_a_dynamic_overwrite_by_messages_that_move_keys_is_refused(make):
    """Partition a was replaced by the deletion of the row that had moved to b: its other rows were gone."""
    t = make(SCHEMA, ["id"], ["p"])
    t.upsert([row(i, "a", 1) for i in (1, 2, 3)])
    with t.writer() as w:
        w.write([row(1, "b", 2)])
        messages = w.prepare_commit()
    with pytest.raises(e.InvalidArgument, match="delete rows that moved"):
        t.commit(messages, overwrite={"dynamic": True})
    assert t.scan().count() == 3


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_nan_is_one_key_whatever_its_bits(make, partitioned):
    """Infinity less infinity has a sign on some machines: it went to another bucket, and the key was there twice."""
    nans = [struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in (0x7FF8 << 48, 0xFFF8 << 48, 0x7FF8 << 48 | 1)]
    schema = {"p": "STRING", "k": "DOUBLE", "v": "INT"}
    t = make(schema, ["k"], ["p"] if partitioned else [], dynamic_bucket__target_row_num=1)
    for i, nan in enumerate(nans):
        t.upsert(pa.table({"p": [f"{i}"], "k": pa.array([nan]), "v": pa.array([i], pa.int32())}))
    assert [r["v"] for r in t.scan().to_arrow().to_pylist()] == [2]


def test_a_writer_goes_on_over_many_commits_beside_others(make):
    t = make(SCHEMA, ["id"], ["p"])
    with t.writer() as w:
        for n in range(6):
            w.write([row(i, "abc"[n % 3], n) for i in range(n, n + 4)])
            w.commit()
            if n == 2:
                t.upsert([row(i, "z", -1) for i in (5, 6)])
    expected = {i: ("abc"[min(i, 5) % 3], min(i, 5)) for i in range(9)}
    assert rows(t) == expected
    clean(t)


def test_messages_of_a_writer_travel_and_come_in_order(make):
    t = make(SCHEMA, ["id"], ["p"])
    with t.writer() as w:
        w.write([row(1, "a", 1)])
        first = w.prepare_commit()
        w.write([row(1, "b", 2)])
        second = w.prepare_commit()
    with pytest.raises(e.CommitConflict, match="not in the table"):
        t.commit(second)
    with t.writer() as w:
        w.write([row(1, "a", 1)])
        first = w.prepare_commit()
        w.write([row(1, "b", 2)])
        second = w.prepare_commit()
        t.commit(first)
        w.write([row(1, "c", 3)])
        third = w.prepare_commit()
        t.commit(second)
        t.commit(third)
    assert rows(t) == {1: ("c", 3)}
    clean(t)


def test_messages_of_two_writers_that_disagree_are_a_conflict(make):
    t = make(SCHEMA, ["id"], ["p"])
    messages = []
    for partition in "ab":
        with t.writer() as w:
            w.write([row(1, partition, 1)])
            messages += w.prepare_commit()
    with pytest.raises(e.CommitConflict, match="another partition"):
        t.commit(messages)
    t.commit(messages[:1])
    with pytest.raises(e.CommitConflict, match="another partition"):
        t.commit(messages[1:])
    assert rows(t) == {1: ("a", 1)}
    clean(t)


def test_a_small_memory_limit_spills_the_index(make, tmp_path):
    t = make(SCHEMA, ["id"], ["p"], dynamic_bucket__target_row_num=20_000)
    ids = list(range(60_000))
    table = lambda p, v: pa.table(  # noqa: E731
        {"id": pa.array(ids, pa.int32()), "p": [p(i) for i in ids], "v": pa.array([v] * len(ids), pa.int32())}
    )
    t.upsert(table(lambda i: "abc"[i % 3], 1))
    with t.writer(memory_limit="256kb", spill_dir=str(tmp_path / "spill")) as w:
        w.write(table(lambda i: "abc"[i % 2], 2))
        w.commit()
    found = t.scan(["p"], "v = 2").to_arrow()
    assert found.num_rows == 60_000 == t.scan().count()
    assert found.column("p").to_pylist().count("a") == 30_000
    clean(t)
    assert not list((tmp_path / "spill").iterdir())


def test_an_index_forgets_old_files_where_the_option_says_so(make):
    """As Java says of the option: keys may come twice then."""
    t = make(SCHEMA, ["id"], ["p"])
    t.upsert([row(1, "a", 1)])
    short = {"cross-partition-upsert.index-ttl": "1 ms", "cross-partition-upsert.bootstrap-parallelism": "1"}
    st.open_table(t.location, options=short).upsert([row(1, "b", 2)])
    assert t.scan().count() == 2
    assert {f.code for f in t.maintenance.fsck(deep=True).findings} == {"key-twice"}
    with pytest.raises(e.CorruptFile, match="two partitions") as error:
        t.upsert([row(1, "c", 3)])
    assert "overwrite it with its own rows" in error.value.hint
    t.overwrite([row(1, "b", 2)], dynamic=False)
    t.upsert([row(1, "c", 3)])
    assert rows(t) == {1: ("c", 3)}
    t.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    clean(t)
    long = {"cross-partition-upsert.index-ttl": "1 h"}
    u = make(SCHEMA, ["id"], ["p"], name="u")
    u.upsert([row(1, "a", 1)])
    st.open_table(u.location, options=long).upsert([row(1, "b", 2)])
    assert rows(u) == {1: ("b", 2)}


@pytest.mark.parametrize(
    "options",
    [{"sequence_field": "v"}, {"ignore_delete": "true"}, {"cross_partition_upsert__bootstrap_parallelism": "0"}],
)
def test_what_would_leave_a_key_in_two_partitions_is_refused(make, options):
    with pytest.raises(e.SiltstoneError):
        make(SCHEMA, ["id"], ["p"], **options)


def upserts(location, number, commits, keys):
    t = st.open_table(location, options={"commit.max-retries": "1000"})
    for n in range(commits):
        first = (number * 7 + n * 13) % keys
        t.upsert([row((first + i) % keys, "abc"[(number + n + i) % 3], number * 1000 + n) for i in range(30)])


def test_processes_that_move_the_same_keys_make_no_key_twice(make):
    t = make(SCHEMA, ["id"], ["p"], dynamic_bucket__target_row_num=40)
    spawn = multiprocessing.get_context("spawn")
    jobs = [spawn.Process(target=upserts, args=(t.location, n, 5, 100)) for n in range(3)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0, 0, 0]
    assert set(rows(t)) == {(n * 7 + c * 13 + i) % 100 for n in range(3) for c in range(5) for i in range(30)}
    assert sum(s.kind == "APPEND" for s in t.history(1000)) == 15
    clean(t)


def spoil(path, column):
    """Overwrites the pages of a column with zeros."""
    group = pq.ParquetFile(path).metadata.row_group(0)
    (at,) = (i for i in range(group.num_columns) if group.column(i).path_in_schema == column)
    chunk = group.column(at)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content = bytearray(pathlib.Path(path).read_bytes())
    content[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    pathlib.Path(path).write_bytes(content)


def test_the_index_of_keys_is_made_of_key_columns_alone(make):
    """Pages of other columns may be anything: nothing decodes them."""
    t = make(SCHEMA, ["id"], ["p"], write_only="true")
    t.upsert([row(i, "ab"[i % 2], i, i) for i in range(50)])
    for file in t.files():
        for column in "vw":
            spoil(file["path"], column)
    with pytest.raises(e.CorruptFile):
        t.scan(["v"]).to_arrow()
    t.upsert([row(1, "a", 9), row(99, "c", 9)])
    found = t.scan(["id", "p"], "id = 1 OR id = 99").to_arrow().sort_by("id").to_pylist()
    assert found == [{"id": 1, "p": "a"}, {"id": 99, "p": "c"}]


@pytest.mark.parametrize("producer", ["none", "lookup", "input"])
def test_changes_applied_by_partition_and_key_leave_each_key_once(make, producer):
    """As the page of changelogs says: they come partition by partition, and a key that moves may come before it goes."""
    t = make({"id": "INT", "p": "STRING", "v": "INT"}, ["id"], ["p"], changelog_producer=producer)
    state = {}
    moves = [("b", range(6)), ("a", range(4)), ("c", [0, 4]), ("b", [0, 1, 5]), ("a", [0])]
    for n, (partition, ids) in enumerate(moves):
        t.upsert([{"id": i, "p": partition, "v": n} for i in ids])
    # out of its partition and back in one commit: it goes where it was, not into another bucket
    t.upsert([{"id": 2, "p": "z", "v": 7}, {"id": 2, "p": "a", "v": 8}])
    for batch in t.changes():
        for change in batch.to_pylist():
            kind, key = change.pop("rowkind"), (change["p"], change["id"])
            if kind in ("+I", "+U"):
                state[key] = change
            else:
                state.pop(key, None)
    assert sorted(state.values(), key=lambda r: r["id"]) == sorted(t.scan().to_pylist(), key=lambda r: r["id"])


@pytest.mark.parametrize("engine", ["first-row", "partial-update"])
def test_an_open_writer_forgets_keys_that_a_compaction_has_let_expire(make, engine):
    options = {"merge-engine": engine, "record-level.expire-time": "1 d", "record-level.time-field": "at"}
    now = int(dt.datetime.now(dt.UTC).timestamp())
    t = make({"id": "INT", "p": "STRING", "at": "INT"}, ["id"], ["p"], **options)
    with t.writer() as w:
        w.write([{"id": 1, "p": "a", "at": now - 3 * 86_400}])
        w.commit()
        st.open_table(t.location).compact(full=True)
        assert t.scan().count() == 0
        w.write([{"id": 1, "p": "b", "at": now}])
        w.commit()
    t.compact(full=True)
    assert [(r["id"], r["p"]) for r in t.scan().to_pylist()] == [(1, "b")]
