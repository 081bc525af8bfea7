"""Writing and reading: rows, row kinds, types, partitions, predicates, versions."""

import datetime as dt
import decimal
import os
import pickle
import time

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import siltstone as st
from siltstone import errors as e

ORDERS = {"id": "BIGINT", "item": "STRING", "amount": "DECIMAL(10,2)"}


def rows(table, **scan):
    return sorted((tuple(r.values()) for r in table.scan(**scan).to_arrow().to_pylist()), key=repr)


def test_the_last_row_of_a_key_wins_across_and_inside_commits(make):
    t = make(ORDERS, ["id"], bucket=2)
    t.upsert([{"id": 1, "item": "a"}, {"id": 1, "item": "b"}, {"id": 2, "item": "c"}])
    t.upsert([{"id": 2, "item": "d"}])
    assert rows(t) == [(1, "b", None), (2, "d", None)]
    t.append([{"id": 1}], row_kind="-D")
    assert rows(t) == [(2, "d", None)]


def test_row_kinds_one_per_row_and_the_rowkind_field(make):
    t = make(ORDERS, ["id"], bucket=1)
    data = [{"id": i, "item": "x"} for i in range(4)]
    t.append(data)
    t.append(data, row_kind=["-D", "+U", "-U", "+I"])
    assert [r[0] for r in rows(t)] == [1, 3]
    t = make({"id": "INT", "op": "STRING"}, ["id"], bucket=1, rowkind__field="op")
    t.append([{"id": 1, "op": "+I"}, {"id": 2, "op": "+I"}, {"id": 1, "op": "-D"}], row_kind="+I")
    assert [r[0] for r in rows(t)] == [2]
    with pytest.raises(e.InvalidRowKind):
        t.append([{"id": 3, "op": "insert"}])
    assert [r[0] for r in rows(t)] == [2]


def test_sequence_field_decides_and_ignore_delete_ignores(make):
    t = make({"id": "INT", "v": "STRING", "ts": "INT"}, ["id"], bucket=1, sequence__field="ts")
    t.append([{"id": 1, "v": "new", "ts": 9}])
    t.append([{"id": 1, "v": "late", "ts": 3}])
    t.append([{"id": 1, "v": "null", "ts": None}])
    assert rows(t) == [(1, "new", 9)]
    t.compact(full=True)
    assert rows(t) == [(1, "new", 9)]
    t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=1, ignore_delete="true")
    t.append([{"id": 1, "v": "a"}])
    t.append([{"id": 1, "v": "a"}], row_kind="-D")
    assert rows(t) == [(1, "a")]


def test_append_tables_keep_every_row(make):
    for options in ({}, {"bucket": 3, "bucket_key": "id"}):
        t = make(ORDERS, **options)
        t.append([{"id": 1, "item": "a"}, {"id": 1, "item": "a"}])
        t.append([{"id": 1, "item": "a"}])
        assert t.scan().count() == 3
        with pytest.raises(e.SiltstoneError):
            t.append([{"id": 1}], row_kind="-D")
        with pytest.raises(e.InvalidArgument):
            t.upsert([{"id": 1}])


def test_every_type_comes_back_as_it_went_in(make):
    schema = {
        "c": "CHAR(3)", "s": "STRING", "y": "BYTES", "b": "BOOLEAN", "i8": "TINYINT", "i16": "SMALLINT", "i": "INT",
        "l": "BIGINT", "f": "FLOAT", "d": "DOUBLE", "dec": "DECIMAL(38,10)", "small": "DECIMAL(5,2)", "day": "DATE",
        "t": "TIME(3)", "t0": "TIMESTAMP(0)", "t3": "TIMESTAMP(3)", "t6": "TIMESTAMP(6)", "t9": "TIMESTAMP(9)",
        "z": "TIMESTAMP_LTZ(6)", "a": "ARRAY<INT>", "m": "MAP<STRING, BIGINT>", "r": "ROW<x INT, y ARRAY<STRING>>",
    }  # fmt: skip
    moment = dt.datetime(1969, 12, 31, 23, 59, 59, 123456)
    row = {
        "c": "é", "s": "日本", "y": b"\x00\xff", "b": True, "i8": -128, "i16": -1, "i": 2**31 - 1, "l": -(2**63),
        "f": 1.5, "d": float("-inf"), "dec": decimal.Decimal("-1234567890.0123456789"), "small": decimal.Decimal("1.50"),
        "day": dt.date(1969, 12, 31), "t": dt.time(1, 2, 3, 4000), "t0": dt.datetime(1960, 1, 1),
        "t3": dt.datetime(2024, 5, 14, 12, 34, 56, 789000), "t6": moment, "t9": moment,
        "z": moment.replace(tzinfo=dt.UTC), "a": [1, None, 3], "m": [("k", 1), ("l", None)], "r": {"x": 1, "y": ["p", None]},
    }  # fmt: skip
    null = dict.fromkeys(row)
    for keys in ((), ("l",)):
        t = make(schema, keys, **({"bucket": 1} if keys else {}))
        second = {**null, "l": 7}
        t.append(pa.Table.from_pylist([row, second], schema=pa.schema([f.with_nullable(True) for f in t.schema])))
        found = {r["l"]: r for r in t.scan().to_arrow().to_pylist()}
        got = found[row["l"]]
        got["t9"] = got["t9"].to_pydatetime() if hasattr(got["t9"], "to_pydatetime") else got["t9"]
        assert got == row
        assert found[7] == second
        t.compact(full=True)
        assert t.scan().count() == 2


def test_data_may_come_in_many_shapes(make):
    t = make({"id": "BIGINT", "s": "STRING"}, ["id"], bucket=2)
    arrow = pa.table({"s": ["a", "b"], "id": pa.array([1, 2], pa.int32())})
    t.append(arrow)
    t.append(arrow.to_batches()[0])
    t.append(arrow.to_reader())
    t.append(arrow.to_pandas())
    t.append(arrow.set_column(0, "s", arrow["s"].dictionary_encode()))
    t.append(arrow.set_column(0, "s", arrow["s"].cast(pa.large_string())))
    t.append(arrow.set_column(0, "s", arrow["s"].cast(pa.string_view())))
    import duckdb
    import polars as pl

    t.append(pl.DataFrame(arrow))
    t.append(duckdb.sql("select 3::bigint as id, 'c' as s"))
    assert rows(t) == [(1, "a"), (2, "b"), (3, "c")]
    scan = t.scan()
    assert duckdb.sql("select count(*) from scan").fetchall() == [(3,)]
    assert pl.DataFrame(scan).height == 3
    assert pa.table(scan).num_rows == 3


def test_partitions_are_pruned_and_rows_are_filtered(make):
    t = make({"dt": "STRING", "id": "INT", "v": "DOUBLE"}, ["dt", "id"], ["dt"], bucket=2)
    t.append([{"dt": f"d{d}", "id": i, "v": float(i)} for d in range(3) for i in range(100)])
    assert t.scan(filter="dt = 'd1' AND v >= 97.5").count() == 2
    assert rows(t, columns=["id"], filter=(st.col("dt") == "d2") & st.col("id").is_in([1, 5, 1000])) == [
        (1,),
        (5,),
    ]
    assert t.scan(filter="dt IN ('d0','d9') AND NOT (id < 99)").count() == 1
    assert t.scan(filter="id BETWEEN 10 AND 19 OR dt LIKE 'd2%'").count() == 10 * 2 + 100
    assert t.scan(["v"], limit=7).to_arrow().num_rows == 7
    assert len(t.scan(filter="dt = 'd1'").splits()) <= 2
    with pytest.raises(e.InvalidArgument):
        t.scan(filter="nope = 1").count()
    with pytest.raises(e.InvalidArgument):
        t.scan(["nope"]).count()


def test_a_value_filter_never_brings_old_rows_back(make):
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, write_only="true")
    t.append([{"id": 1, "v": 100}])
    t.append([{"id": 1, "v": 1}])
    assert rows(t, filter="v > 50") == []
    assert rows(t, filter="v < 50") == [(1, 1)]


def test_old_versions_stay_readable(make):
    t = make({"id": "INT"}, ["id"], bucket=1)
    reports = [t.append([{"id": i}]) for i in range(3)]
    for n, report in enumerate(reports, 1):
        assert t.scan(version=report.snapshot.id).count() == n
        assert t.scan(as_of=report.snapshot.time).count() >= n
    with pytest.raises(e.SnapshotNotFound) as caught:
        t.scan(version=99).count()
    assert "1" in str(caught.value)
    with pytest.raises(e.TagNotFound):
        t.scan(tag="v1").count()
    with pytest.raises(e.InvalidArgument):
        t.scan(version=1, tag="x").count()
    assert st.open_table(t.location, options={"scan.snapshot-id": "1"}).scan().count() == 1
    assert [s.id for s in t.history(2)] == [t.snapshot().id, t.snapshot().id - 1]


def test_splits_travel_by_pickle_and_give_all_rows(make):
    t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=4)
    t.append([{"id": i, "v": str(i)} for i in range(1000)])
    splits = pickle.loads(pickle.dumps(t.scan(["v"], "id >= 10").splits()))
    found = sorted(int(v) for s in splits for b in s.read() for v in b.column("v").to_pylist())
    assert found == list(range(10, 1000))
    assert pickle.loads(pickle.dumps(t.scan(filter="id < 5"))).count() == 5


def test_row_kind_column_comes_first(make):
    t = make({"id": "INT"}, ["id"], bucket=1)
    t.append([{"id": 1}])
    assert t.scan(row_kind=True).to_arrow().to_pylist() == [{"rowkind": "+I", "id": 1}]


def test_spilling_does_not_change_the_result(make, tmp_path):
    t = make({"id": "BIGINT", "v": "STRING"}, ["id"], bucket=2, write_buffer_size="192kb")
    n = 60_000
    data = pa.table({"id": pa.array([(i * 7919) % n for i in range(n)] * 2), "v": [str(i) for i in range(2 * n)]})
    with t.writer(memory_limit="256kb", spill_dir=str(tmp_path)) as w:
        for batch in data.to_batches(max_chunksize=5000):
            w.write(batch)
        w.commit()
    found = t.scan().to_arrow()
    assert found.num_rows == n
    assert pc.min(pc.cast(found["v"], pa.int64())).as_py() == n


BAD = [
    ([{"id": None, "item": "a"}], e.NullInKey, "id"),
    ([{"item": "a"}], e.SchemaError, "id"),
    ([{"id": 1, "nope": 2}], e.SchemaMismatch, "nope"),
    ([{"id": 0}, {"id": 1, "amount": decimal.Decimal("123456789.00")}], e.LengthExceeded, "123456789.00 of row 1"),
    ([{"id": 1, "amount": decimal.Decimal("1.234")}], e.LengthExceeded, "amount"),
    ([{"id": 1, "amount": "much"}], e.SchemaMismatch, "'much' of row 0"),
    (pa.table({"id": ["x"]}), e.SchemaMismatch, "id"),
    (pa.table({"id": [1.5]}), e.SchemaMismatch, "id"),
    (pa.table({"id": [1], "code": ["toolong"]}), e.LengthExceeded, "code"),
    (pa.table({"id": [1], "raw": [b"toolong"]}), e.LengthExceeded, "raw"),
    (pa.table({"id": [1], "must": pa.array([None], pa.int32())}), e.SchemaError, "must"),
    ([{"id": 1.5}], e.SchemaMismatch, "id"),
    ([{"id": 1, "r": {"x": 1, "zz": 2}}], e.SchemaMismatch, "zz"),
    (pa.array([1]), e.InvalidArgument, "rows"),
    (42, e.InvalidArgument, "int"),
    ({"id": 1}, e.InvalidArgument, "dict"),
]


@pytest.mark.parametrize(("data", "error", "says"), BAD)
def test_bad_rows_are_refused_by_column_and_nothing_is_written(make, data, error, says):
    schema = {**ORDERS, "code": "VARCHAR(3)", "raw": "VARBINARY(3)", "must": "INT NOT NULL", "r": "ROW<x INT>"}
    t = make(schema, ["id"], bucket=1)
    good = {"id": 1, "must": 1}
    t.append([good])
    if isinstance(data, list):
        data = [{"must": 1, **r} for r in data]
    elif isinstance(data, pa.Table) and "must" not in data.column_names:
        data = data.append_column("must", pa.array([1], pa.int32()))
    with pytest.raises(error) as caught:
        t.append(data)
    assert says in str(caught.value)
    assert (t.snapshot().id, t.scan().count()) == (1, 1)
    t.append([good])  # and the table goes on


def test_a_bad_batch_leaves_the_writer_usable(make):
    t = make(ORDERS, ["id"], bucket=1)
    with t.writer() as w:
        w.write([{"id": 1, "item": "a"}])
        with pytest.raises(e.SchemaError):
            w.write([{"id": None}])
        w.keep()
        w.write([{"id": 2, "item": "b"}])
        assert w.commit().rows == 2
    with pytest.raises(e.InvalidRowKind):
        t.append([{"id": 1}], row_kind="X")
    with pytest.raises(e.InvalidRowKind):
        t.append([{"id": 1}], row_kind=["+I", "+I"])


def test_null_partition_values_and_odd_names_have_their_own_directories(make):
    t = make({"p": "STRING", "id": "INT"}, (), ["p"])
    values = [None, "a/b", "a=b", "ü", " ", "x:y%"]
    t.append(pa.table({"p": values, "id": list(range(len(values)))}))
    assert {r["p"] for r in t.scan().to_arrow().to_pylist()} == set(values)
    assert t.scan(filter="p IS NULL").count() == 1
    assert t.scan(filter="p = 'a/b'").count() == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_reads_and_writes_after_its_parent_did(make):
    """Threads do not survive a fork: a child that waited for its parent's pool would hang (Spark forks its workers)."""
    t = make({"dt": "STRING", "id": "INT"}, ["dt", "id"], ["dt"], bucket=2)
    t.append([{"dt": f"d{i % 5}", "id": i} for i in range(50_000)])
    assert t.scan().count() == 50_000
    child = os.fork()
    if child == 0:
        code = 1
        try:
            rows = sum(b.num_rows for b in st.open_table(t.location).scan(filter="id < 40000").to_batches())
            t.append([{"dt": "x", "id": i} for i in range(40_000)])
            code = 0 if rows == 40_000 else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + 60
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.05)
    if done == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the forked child hangs")
    assert os.waitstatus_to_exitcode(done[1]) == 0
    assert t.scan().count() == 90_000


@pytest.mark.parametrize(
    "bad", [{"limit": -1}, {"batch_size": 0}, {"threads": 0}, {"memory_limit": -5}, {"limit": "3"}, {"version": 1.5}]
)
def test_numbers_that_make_no_sense_are_refused(make, bad):
    with pytest.raises(e.InvalidArgument):
        make({"id": "INT"}).scan(**bad)


def test_a_split_by_itself_keeps_the_memory_limit_of_its_scan(make):
    t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=1)
    t.append(pa.table({"id": pa.array(range(20_000), pa.int32()), "v": ["x"] * 20_000}))
    limited = t.scan(memory_limit="1mb")
    largest = max(b.num_rows for b in limited.to_batches())
    assert largest < max(b.num_rows for b in t.scan().to_batches())
    (split,) = limited.splits()
    for s in (split, pickle.loads(pickle.dumps(split))):
        assert max(b.num_rows for b in s.read()) <= largest
        assert max(b.num_rows for b in pa.RecordBatchReader.from_stream(s)) <= largest
