"""Offsets of Spark's streams, as Spark hands them back: ids of snapshots are given again after a rollback, a fast-forward, and in a
table that is made in the place of another. A stream that only counted on passed over what came there, without a word."""

import json

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone.spark.datasource import SiltstoneSource

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def t(cat):
    t = cat.create_table("db.t", {"id": "INT"})
    append(t, 1, 2, 3, 4, 5)
    return t


def append(t, *ids):
    for i in ids:
        t.append([{"id": i}])


def reader(t, **options):
    """As another process has it: Spark keeps nothing but the offsets."""
    source = SiltstoneSource({"path": t.location, **options})
    return source.streamReader(source.schema())


def ids(reader, start, end):
    return sorted(i for p in reader.partitions(start, end) for b in reader.read(p) for i in b.column("id").to_pylist())


def read(t, start=None, **options):
    """The rows of the next batch, and where it ends."""
    r = reader(t, **options)
    start = r.initialOffset() if start is None else json.loads(json.dumps(start))
    end = json.loads(json.dumps(r.latestOffset(start)))
    return ids(r, start, end), end


def rolled_back(cat, t):
    t.rollback(version=3)
    append(t, 40, 50, 60)


def gone_forward(cat, t):
    t.branches.create("b", tag="two")
    branch = st.open_table(t.location, branch="b")
    append(branch, 10, 11, 12, 13)
    t.branches.fast_forward("b")


def made_again(cat, t):
    cat.drop_table("db.t")
    append(cat.create_table("db.t", {"id": "INT"}), 11, 12, 13, 14, 15, 16)


@pytest.mark.parametrize("change", [rolled_back, gone_forward, made_again])
def test_a_batch_does_not_go_on_behind_what_was_taken_back(cat, t, change):
    t.tags.create("two", version=2)
    got, offset = read(t)
    assert got == [1, 2, 3, 4, 5]
    change(cat, t)
    with pytest.raises(e.SnapshotNotFound, match="snapshot 5"):
        reader(t).latestOffset(offset)
    # a batch that was planned before, tried again after a restart
    with pytest.raises(e.SnapshotNotFound, match="snapshot 5"):
        reader(t).partitions(offset, reader(t).offsets.behind(6))


def test_a_batch_whose_end_was_taken_back_before_it_ran_is_not_another_one(cat, t):
    _, first = read(t)
    append(t, 6, 7)
    end = reader(t).latestOffset(first)
    t.rollback(version=5)
    append(t, 60, 70)
    with pytest.raises(e.SnapshotNotFound, match="snapshot 7"):
        reader(t).partitions(first, end)
    assert read(t, first)[0] == [60, 70]


def test_a_rollback_to_the_end_of_a_batch_or_later_is_in_nobodys_way(cat, t):
    _, offset = read(t)
    append(t, 6, 7)
    t.rollback(version=5)
    assert read(t, offset)[0] == []
    append(t, 60)
    got, offset = read(t, offset)
    assert got == [60]
    t.expire_snapshots(retain_max=1, retain_min=1, older_than=0)
    assert read(t, offset) == ([], offset)


def test_offsets_of_checkpoints_from_before_are_still_read(cat, t):
    assert read(t, {"snapshot": 3, "full": 0})[0] == [4, 5]


def test_a_batch_that_brings_nothing_new_has_the_same_offset(cat, t):
    r = reader(t)
    _, offset = read(t)
    assert r.latestOffset(offset) is offset
    assert json.dumps(r.latestOffset()) == json.dumps(r.latestOffset()) == json.dumps(offset)


@pytest.mark.parametrize(
    ("options", "kept"),
    [({}, 5), ({"scan.mode": "latest"}, 6), ({"scan.snapshot-id": "3"}, 3)],
    ids=["full", "latest", "chosen"],
)
def test_a_consumer_keeps_what_the_first_batch_reads(cat, t, options, kept):
    """It was known after the first batch only: until then everything could expire."""
    r = reader(t, **{"consumer-id": "job"}, **options)
    start = r.initialOffset()
    assert [c.next_snapshot for c in t.consumers.list()] == [kept]
    end = r.latestOffset(start)
    append(t, 6, 7)
    t.expire_snapshots(retain_max=1, retain_min=1, older_than=0)
    expected = {5: [1, 2, 3, 4, 5], 6: [], 3: [3, 4, 5]}[kept]
    assert ids(r, start, end) == expected
    r.commit(end)
    assert [c.next_snapshot for c in t.consumers.list()] == [6]
    assert ids(r, end, r.latestOffset(end)) == [6, 7]
    # a new query goes on there
    assert read(t, **{"consumer-id": "job"})[0] == [6, 7]


def test_a_consumer_is_never_ahead_of_what_was_read(cat, t):
    r = reader(t, **{"consumer-id": "job"})
    end = r.latestOffset(r.initialOffset())
    append(t, 6, 7)
    t.consumers.delete("job")
    t.expire_snapshots(retain_max=1, retain_min=1, older_than=0)
    r.commit(end)
    assert [c.next_snapshot for c in t.consumers.list()] == [6]
    with pytest.raises(e.SnapshotExpired):
        reader(t, **{"consumer-id": "job"}).initialOffset()


def test_a_consumer_of_what_was_taken_back_does_not_go_on(cat, t):
    r = reader(t, **{"consumer-id": "job"})
    end = r.latestOffset(r.initialOffset())
    r.commit(end)
    rolled_back(cat, t)
    with pytest.raises(e.SnapshotNotFound, match="taken back"):
        reader(t, **{"consumer-id": "job"}).initialOffset()
    with pytest.raises(e.SnapshotNotFound, match="taken back"):
        r.commit(end)


def test_a_consumer_that_has_not_read_its_first_rows_to_their_end_begins_again(cat, t):
    stream = t.changes(start="full", consumer="job")
    next(stream)
    stream.close()
    for options in ({}, {"scan.mode": "latest"}):
        assert read(t, **{"consumer-id": "job"}, **options)[0] == [1, 2, 3, 4, 5]
