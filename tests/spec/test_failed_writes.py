"""After a write that failed a writer publishes nothing before it is told what becomes of the rows it took."""

import warnings

import polars as pl
import pyarrow as pa
import pytest
from siltstone import errors as e

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int32())])


def stream(good, bad=None):
    """`good` batches of one row each, then an exception."""

    def batches():
        for i in range(good):
            yield pa.record_batch({"id": pa.array([i]), "v": pa.array([i], pa.int32())})
        if bad is not None:
            raise bad

    return pa.RecordBatchReader.from_batches(SCHEMA, batches())


@pytest.fixture
def t(make):
    t = make({"id": "BIGINT", "v": "INT"}, ["id"], bucket=2)
    t.upsert([{"id": 100, "v": 0}])
    return t


def ids(t):
    return sorted(r["id"] for r in t.scan(["id"]).to_arrow().to_pylist())


@pytest.mark.parametrize("use", ["commit", "prepare_commit", "compact", "write"])
def test_a_writer_that_failed_does_nothing_before_it_is_told(t, use):
    with t.writer() as w:
        with pytest.raises(e.InvalidArgument, match="boom"):
            w.write(stream(3, ValueError("boom")))
        with pytest.raises(e.WriteFailed, match="3 of its rows were taken") as raised:
            getattr(w, use)(*([[{"id": 7}]] if use == "write" else []))
    assert "discard()" in raised.value.hint
    assert "keep()" in raised.value.hint
    assert raised.value.table == t.name
    assert ids(t) == [100]
    assert not t.maintenance.remove_orphan_files(older_than="0s").deleted_files


def test_discard_drops_all_that_is_not_committed(t):
    with t.writer() as w:
        w.write([{"id": 7}])
        with pytest.raises(e.InvalidArgument):
            w.write(stream(3, ValueError("boom")))
        w.discard()
        w.write([{"id": 8}])
        assert w.commit().rows == 1
        w.write([{"id": 9}])
        w.commit()
    assert ids(t) == [8, 9, 100]


def test_keep_publishes_what_was_taken_before_the_error(t):
    with t.writer() as w:
        w.write([{"id": 7}])
        with pytest.raises(e.InvalidArgument):
            w.write(stream(2, ValueError("boom")))
        w.keep()
        assert w.commit().rows == 3
    assert ids(t) == [0, 1, 7, 100]


WRONG = {
    "a wrong type": [{"id": "x"}],
    "a null key": [{"id": None}],
    "an unknown column": [{"nope": 1}],
    "no rows": 7,
    "an Arrow column of a wrong type": pa.table({"id": ["x"]}),
}


@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG)
def test_any_error_of_a_write_counts(t, data):
    with t.writer() as w:
        w.write([{"id": 7}])
        with pytest.raises(e.SiltstoneError):
            w.write(data)
        with pytest.raises(e.WriteFailed, match="0 of its rows"):
            w.commit()
        w.keep()
        w.commit()
    assert ids(t) == [7, 100]


def test_wrong_row_kinds_count_too(t):
    with t.writer() as w:
        with pytest.raises(e.InvalidRowKind):
            w.write([{"id": 7}], row_kind="?")
        w.discard()
        with pytest.raises(e.InvalidRowKind, match="1 row kinds"):
            w.write(stream(2), row_kind=["+I"])
        with pytest.raises(e.WriteFailed):
            w.commit()


def test_closing_after_a_failure_leaves_the_table_as_it_was(t):
    w = t.writer()
    with pytest.raises(e.InvalidArgument):
        w.write(stream(5, RuntimeError("boom")))
    w.close()
    with pytest.raises(e.InvalidArgument, match="closed"):
        w.commit()
    assert ids(t) == [100]


def with_block(t):
    with t.writer() as w:
        w.write([{"id": 7}])


def closed(t):
    w = t.writer()
    w.write(stream(1))
    w.close()


def dropped(t):
    w = t.writer()
    w.write(pl.DataFrame({"id": [7]}))
    del w


def after_a_commit(t):
    with t.writer() as w:
        w.write([{"id": 100}])
        w.commit()
        w.write([{"id": 7}])


@pytest.mark.parametrize("use", [with_block, closed, dropped, after_a_commit])
def test_rows_that_nobody_committed_are_not_dropped_without_a_word(t, use):
    """As in pypaimon, `write` alone publishes nothing: the block ended, and the rows were gone."""
    with pytest.warns(UserWarning, match=r"closed without commit\(\): rows that were written") as told:
        use(t)
    assert [warning.filename for warning in told] == [__file__]
    assert ids(t) == [100]


def test_a_writer_says_that_rows_wait(t):
    with t.writer() as w:
        assert repr(w) == f"TableWrite('{t.name}')"
        w.write([{"id": 7}])
        assert repr(w) == f"TableWrite('{t.name}': rows wait for commit())"
        w.commit()
        assert repr(w) == f"TableWrite('{t.name}')"
    assert repr(w) == f"TableWrite('{t.name}': closed)"


def test_who_knows_that_rows_are_not_committed_is_not_told(t):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with t.writer() as w:
            w.write([])
            w.write(pl.DataFrame({"id": []}, schema={"id": pl.Int64}))
        with t.writer() as w:
            w.write([{"id": 7}])
            w.discard()
        with t.writer() as w:
            w.write([{"id": 7}])
            t.abort(w.prepare_commit())
        with pytest.raises(RuntimeError), t.writer() as w:
            w.write([{"id": 7}])
            raise RuntimeError
        w = t.writer()
        try:
            w.write([{"id": 7}])
            raise RuntimeError
        except RuntimeError:
            w.close()
        with t.writer() as w, pytest.raises(e.InvalidArgument):
            w.write(stream(1, ValueError("boom")))
    assert ids(t) == [100]
