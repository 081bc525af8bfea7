"""What others do between opening a writer and its commit: the commit begins with what the writer has found, and notices."""

import pyarrow as pa
import pytest
import siltstone as st


def rows(*ids):
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids(t):
    return sorted(t.scan().to_arrow().column("id").to_pylist())


@pytest.fixture(params=["append", "keys"])
def tables(cat, request):
    """Two handles of a table with the rows 1, 2 and 3, each of a commit of its own."""
    column = "BIGINT" if request.param == "append" else "BIGINT NOT NULL"
    more = {} if request.param == "append" else {"primary_key": ["id"]}
    t = cat.create_table("db.t", {"id": column}, options={"bucket": "-1" if not more else "1"}, **more)
    for n in (1, 2, 3):
        t.append(rows(n)) if not more else t.upsert(rows(n))
    return t, st.open_table(t.location)


def put(t, *ids):
    return t.upsert(rows(*ids)) if t.primary_key else t.append(rows(*ids))


def commit_around(t, meanwhile):
    with t.writer() as w:
        w.write(rows(9))
        meanwhile()
        return w.commit()


def test_another_commit(tables):
    t, other = tables
    commit_around(t, lambda: put(other, 4))
    assert ids(t) == [1, 2, 3, 4, 9]
    put(t, 5)
    assert ids(t) == [1, 2, 3, 4, 5, 9] and t.maintenance.fsck(deep=True).ok


def test_a_rollback(tables):
    t, other = tables
    commit_around(t, lambda: other.rollback(version=1))
    assert ids(t) == [1, 9] and t.maintenance.fsck(deep=True).ok


def test_an_expiry(tables):
    t, other = tables
    commit_around(t, lambda: (put(other, 4), other.expire_snapshots(retain_max=1)))
    assert ids(t) == [1, 2, 3, 4, 9] and t.maintenance.fsck(deep=True).ok


def test_a_compaction(tables):
    t, other = tables
    commit_around(t, lambda: other.compact(full=True))
    assert ids(t) == [1, 2, 3, 9] and t.maintenance.fsck(deep=True).ok


def test_an_alter_and_a_commit_under_it(tables):
    t, other = tables

    def meanwhile():
        other.alter().add_column("v", "STRING").commit()
        other.append({"id": [4], "v": ["x"]}) if not other.primary_key else other.upsert({"id": [4], "v": ["x"]})

    commit_around(t, meanwhile)
    assert [s.schema_id for s in t.history()][:2] == [1, 1]
    assert ids(t) == [1, 2, 3, 4, 9]
