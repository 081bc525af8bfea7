"""Requests whose answers never come: what they did is found out, nothing is lost and nothing comes twice."""

import pyarrow as pa
import pytest
import s3_server
import siltstone as st

pytestmark = pytest.mark.stores


def rows(*ids):
    return pa.table({"id": pa.array(ids, pa.int64())})


@pytest.fixture
def cut_table(s3, bucket):
    """cut_table(when): a table behind a proxy that cuts the answers of such requests, and the proxy."""
    cutters = []

    def make(when):
        direct = st.connect(f"s3://{bucket}/w", options=s3.options())
        direct.create_database("db")
        direct.create_table("db.t", {"id": "BIGINT NOT NULL"}, primary_key=["id"], options={"bucket": "1"}).upsert(
            rows(0)
        )
        cutters.append(s3_server.Cutter(s3.port, when))
        behind = st.connect(f"s3://{bucket}/w", options={**s3.options(), "s3.endpoint": cutters[-1].url})
        return behind.table("db.t"), cutters[-1]

    yield make
    for cutter in cutters:
        cutter.close()


def once_of(part):
    """The first request of this kind."""
    seen = []

    def when(method, path):
        if method == "PUT" and part in path and not seen:
            seen.append(path)
            return True
        return False

    return when


@pytest.mark.parametrize("part", ["/snapshot/snapshot-", "/snapshot/LATEST", "/manifest/", "/bucket-0/data-"])
def test_an_answer_that_is_lost_once(cut_table, part):
    t, cutter = cut_table(once_of(part))
    t.upsert(rows(1))
    t.upsert(rows(2))
    assert cutter.cut, "the request was never sent"
    assert sorted(t.scan().to_arrow().column("id").to_pylist()) == [0, 1, 2]
    assert [s.id for s in t.history()] == [3, 2, 1]
    assert t.maintenance.fsck(deep=True).ok


def test_every_third_answer_of_a_snapshot_is_lost(cut_table):
    count = iter(range(1_000_000))
    t, cutter = cut_table(
        lambda method, path: method == "PUT" and "/snapshot/snapshot-" in path and next(count) % 3 == 0
    )
    for n in range(1, 10):
        t.upsert(rows(n))
    assert len(cutter.cut) >= 3
    assert sorted(t.scan().to_arrow().column("id").to_pylist()) == list(range(10))
    assert len([s for s in t.history() if s.kind == "APPEND"]) == 10
