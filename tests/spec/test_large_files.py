"""Large files: several threads read parts of one, and give the rows that one thread gives, in its order."""

import pathlib
import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import siltstone as st

ROWS = 450_000
"""Two parts of a file and more (`rust/siltstone/src/read/divide.rs`)."""

COLUMNS = {"id": "BIGINT", "v": "INT", "s": "STRING", "l": "ARRAY<INT>"}

KINDS = {
    "with a key": {"primary_key": "id", "options": {"bucket": 1}},
    "append": {"options": {"bucket": -1}},
    "many row groups": {"options": {"bucket": -1, "file.block-size": "4 mb"}},
    "small pages": {"primary_key": "id", "options": {"bucket": 1, "parquet.page.row.count.limit": 777}},
    "pages by bytes": {"options": {"bucket": -1, "parquet.page.size": "20480", "parquet.enable.dictionary": "false"}},
}


def rows() -> pa.Table:
    ids = pa.array(range(ROWS), pa.int64())
    texts = [f"text {i % 1000}" if i % 7 else None for i in range(ROWS)]
    lists = [[i] * (i % 3) for i in range(ROWS)]
    return pa.table(
        {
            "id": ids,
            "v": pc.cast(pc.bit_wise_and(ids, pa.scalar(1023, pa.int64())), pa.int32()),
            "s": pa.array(texts),
            "l": pa.array(lists, pa.list_(pa.int32())),
        }
    )


@pytest.fixture(scope="module")
def given() -> pa.Table:
    return rows()


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS.keys())
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, given: pa.Table) -> st.Table:
    cat = st.connect(str(tmp_path_factory.mktemp("lake")))
    cat.create_database("d")
    t = cat.create_table("d.t", COLUMNS, **request.param)
    (t.upsert if t.primary_key else t.append)(given)
    if t.primary_key:
        t.compact(full=True)
    return t


def read(scan: st.Scan) -> pa.Table:
    return pa.Table.from_batches(scan.to_batches(), pa.schema(scan)).combine_chunks()


CONDITIONS = {
    None: lambda t: t,
    "v = 17": lambda t: t.filter(pc.field("v") == 17),
    "id >= 100000 AND id < 400000": lambda t: t.filter((pc.field("id") >= 100_000) & (pc.field("id") < 400_000)),
    "s IS NULL": lambda t: t.filter(pc.is_null(pc.field("s"))),
    "id < 0": lambda t: t.slice(0, 0),
}


@pytest.mark.parametrize("columns", [None, ["s"], ["l", "id"]], ids=["all columns", "a text", "a list"])
def test_several_threads_give_the_rows_of_one_in_its_order(
    large: st.Table, given: pa.Table, columns: list[str] | None
) -> None:
    for condition, rows_of in CONDITIONS.items():
        wanted = rows_of(given).select(columns or given.column_names)
        for threads, batch_size in ((1, None), (2, None), (3, 1000), (16, 100_000)):
            scan = large.scan(columns, condition, threads=threads, batch_size=batch_size)
            assert read(scan).equals(wanted.cast(pa.schema(scan))), (condition, threads, batch_size)
        assert scan.to_arrow().equals(wanted.cast(pa.schema(scan))), condition
        assert large.scan(columns, condition, limit=5).to_arrow().num_rows == min(5, wanted.num_rows)
        assert large.scan(columns, condition).count() == wanted.num_rows


@pytest.mark.parametrize(
    "large", [KINDS["with a key"], KINDS["small pages"]], ids=["with a key", "small pages"], indirect=True
)
def test_keys_of_a_large_file_are_found(large: st.Table, given: pa.Table) -> None:
    keys = random.Random(5).sample(range(-50, ROWS + 50), 2000)
    found = large.get(keys)
    assert found["id"].to_pylist() == [key for key in keys if 0 <= key < ROWS]
    assert found.equals(given.take(found["id"].combine_chunks()).cast(found.schema))
    # the handle knows the end of the file by now
    assert large.get(keys).equals(found)


def test_rows_of_a_large_file_are_deleted_and_columns_change(tmp_path: pathlib.Path, given: pa.Table) -> None:
    cat = st.connect(str(tmp_path / "lake"))
    cat.create_database("d")
    t = cat.create_table("d.t", COLUMNS, options={"bucket": -1, "deletion-vectors.enabled": True})
    t.append(given)
    t.delete("v = 3 OR id BETWEEN 200000 AND 200500")
    t.alter().add_column("n", "INT").set_type("v", "BIGINT").drop_column("l").commit()
    gone = (pc.field("v") == 3) | ((pc.field("id") >= 200_000) & (pc.field("id") <= 200_500))
    left = given.filter(~gone).drop(["l"])
    wanted = left.append_column("n", pa.nulls(left.num_rows, pa.int32()))
    for threads in (1, 2, 5):
        scan = t.scan(threads=threads)
        assert read(scan).equals(wanted.cast(pa.schema(scan)))
        some = t.scan(["v", "n"], "v > 1000 AND n IS NULL", threads=threads)
        assert read(some).equals(wanted.filter(pc.field("v") > 1000).select(["v", "n"]).cast(pa.schema(some)))


def test_a_part_that_cannot_be_read_is_an_error_after_the_rows_before_it(large: st.Table) -> None:
    [path] = {pathlib.Path(row["file_path"]) for row in large.inspect("files").to_pylist()}
    whole = path.read_bytes()
    damaged = bytearray(whole)
    at, length = len(whole) // 2, len(whole) // 4
    damaged[at : at + length] = bytes(length)
    path.write_bytes(damaged)
    try:
        for threads in (1, 3):
            with pytest.raises(st.SiltstoneError) as caught:
                st.open_table(large.location).scan(threads=threads).to_arrow()
            assert str(path.name) in str(caught.value)
    finally:
        path.write_bytes(whole)
