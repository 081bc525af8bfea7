"""Bounded: many files, many columns, many runs and long writes take the memory that they may, and time in proportion.

Small forms of each run always, large ones in `make stress`.
"""

import os
import pathlib
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from forging import many_files
from limited import run

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures memory as Linux counts it")
STRESS = pytest.mark.skipif("SILTSTONE_STRESS" not in os.environ, reason="make stress: minutes")

OF_PLANS = {
    "len(t.scan().splits())": 1,
    "len(t.scan().explain())": 1,
    "len(t.files())": 1,
    "t.inspect('files').to_arrow().num_rows": 1,
    "len(t.maintenance.plan_compaction(full=True).tasks)": None,
    "len(t.scan(filter='id = 7').splits())": 0,
}


@pytest.mark.parametrize("keyed", [False, True], ids=["append", "keyed"])
@pytest.mark.parametrize(
    ("manifests", "each", "limit"),
    [(4, 5_000, 3_000_000_000), pytest.param(20, 50_000, 1_000_000_000, marks=[STRESS, pytest.mark.timeout(1800)])],
    ids=["20,000 files", "a million files in 1 GB more"],
)
def test_a_plan_of_many_files_works_or_says_that_memory_does_not_suffice(make, keyed, manifests, each, limit):
    options = {"manifest__compression": "null", "write_only": "true", "bucket": 1 if keyed else -1}
    t = make({"id": "BIGINT", "s": "STRING"}, ["id"] if keyed else [], **options)
    t.append([{"id": 1, "s": "x"}])
    many_files(t.location, manifests, each)
    for what, least in OF_PLANS.items():
        done, _, _ = run(t, what, limit)
        if manifests < 20:
            assert least is None or int(done) >= least, what
        else:
            assert done == "MemoryLimitExceeded" or least is None or int(done) >= least, what


def wide(make, columns, **options):
    """A table of so many columns beside its key, with two commits of three rows."""
    names = [f"c{i}" for i in range(columns)]
    types = {name: "STRING" if i % 2 else "INT" for i, name in enumerate(names)}
    t = make({"id": "BIGINT", **types}, ["id"], bucket=1, write_only="true", siltstone__sync="false", **options)
    values = [pa.array([1, 2, None], pa.int32()), pa.array(["a", None, "b"])]
    rows = pa.table({"id": [1, 2, 3], **{name: values[i % 2] for i, name in enumerate(names)}})
    for _ in range(2):
        t.append(rows)
    return t


OF_COLUMNS = [
    "t.inspect('files').to_arrow().num_rows",
    "t.inspect('audit_log').to_arrow().num_rows",
    "t.maintenance.fsck(deep=True).ok",
    "len(t.scan().to_pandas())",
]


@pytest.mark.parametrize(
    ("few", "many"),
    [
        pytest.param(2_500, 20_000, marks=STRESS),
        pytest.param(12_500, 100_000, marks=[STRESS, pytest.mark.timeout(1800)]),
    ],
    ids=["20,000", "100,000"],
)
def test_eight_times_the_columns_take_about_eight_times_as_long(make, few, many):
    """Columns were looked for among all others, one by one: sixty-four times as long."""
    narrow, broad = wide(make, few), wide(make, many)
    for what in OF_COLUMNS:
        done, _, short = run(narrow, what)
        most, long = 12 * short + 0.2, float("inf")
        for _ in range(3):  # others on the machine slow it down
            if long > most:
                again, _, seconds = run(broad, what)
                assert done == again
                long = min(long, seconds)
        assert long < most, f"{what}: {few} columns {short:.2f} s, {many} columns {long:.2f} s"


def test_columns_beyond_the_memory_are_refused_without_an_abort(make):
    t = wide(make, 20_000)
    for what in ["t.scan().to_arrow().num_rows", "t.compact(full=True).tasks", *OF_COLUMNS]:
        done, _, _ = run(t, what, 300_000_000)
        assert done in ("MemoryLimitExceeded", "3", "2", "1", "True"), what
    assert run(t, "t.scan(['c5']).to_arrow().num_rows", 2_000_000_000)[0] == "3"


@pytest.mark.parametrize(
    ("runs", "columns"), [(60, 60), pytest.param(200, 300, marks=STRESS)], ids=["60 x 60", "200 x 300"]
)
def test_many_runs_of_many_columns_are_merged_in_little_memory(make, runs, columns):
    """All runs had their decoders and pages at once: 2 GB for a table of some MB."""
    names = [f"c{i}" for i in range(columns)]
    options = {"bucket": 1, "write_only": "true", "siltstone__sync": "false", "merge_engine": "partial-update"}
    t = make({"id": "BIGINT", **dict.fromkeys(names, "STRING")}, ["id"], **options)
    for r in range(runs):
        values = {name: pa.array([f"r{r}" if (i + r) % 3 else None] * 200) for i, name in enumerate(names)}
        t.upsert(pa.table({"id": np.arange(200) * 3 + r % 3, **values}))
    batches = "sum(b.num_rows for b in t.scan(memory_limit='64mb').to_batches())"
    for what, expected in [
        ("t.scan().to_arrow().num_rows", "600"),
        (batches, "600"),
        ("t.compact(full=True).tasks", "1"),
    ]:
        done, mib, _ = run(t, what)
        assert done == expected
        assert mib < 180, f"{what}: {mib} MiB"


@pytest.mark.parametrize("rows", [2_000_000, pytest.param(20_000_000, marks=STRESS)])
def test_a_write_with_a_limit_of_64_mb_peaks_little_above_it(make, rows):
    """260 MB for 20 million rows, which sorting and encoding held beside the buffer."""
    columns = {"id": "BIGINT", "a": "BIGINT", "s": "STRING"}
    t = make(columns, ["id"], bucket=1, write_only="true", siltstone__sync="false")
    t.append([{"id": 0, "a": 0, "s": ""}])
    write = f"""exec('''
import numpy as np
def batches():
    random = np.random.default_rng(0)
    for _ in range({rows} // 100_000):
        ids = random.integers(0, 2**62, 100_000)
        yield pa.record_batch({{"id": ids, "a": ids % 1000, "s": pa.array(np.char.add("value-", (ids % 10**6).astype(str)))}})
schema = next(batches()).schema
peak_of_batches = peak()
with t.writer(memory_limit="64mb") as w:
    w.write(pa.RecordBatchReader.from_batches(schema, batches()))
    w.commit()
print(peak() - peak_of_batches, end=";")
''')"""
    peaks = []
    while len(peaks) < 3 and min(peaks, default=130) >= 130:  # threads that wait for a busy machine hold more
        done, _, _ = run(t, write)
        peaks.append(int(done.split(";")[0]))
    assert min(peaks) < 130, f"{peaks} MiB"


def test_values_of_a_hundred_megabytes_are_merged_with_little_beside_them(make):
    """Reading such a row took 1.7 GB."""
    t = make({"id": "BIGINT", "s": "STRING"}, ["id"], bucket=1, write_only="true", siltstone__sync="false")
    for n in range(2):
        t.upsert(pa.table({"id": [1], "s": pa.array(["x" * 100_000_000 + str(n)])}))
    for what in ("sum(len(b) for b in t.scan().to_batches())", "t.compact(full=True).tasks"):
        done, mib, _ = run(t, what)
        assert done == "1"
        assert mib < 800, f"{what}: {mib} MiB"


def test_a_long_value_of_a_source_is_not_copied_for_all_rows_that_it_belongs_to_at_once(make):
    """A text of 100 KB that 20,000 rows belong to took 800 MB."""
    t = make({"id": "BIGINT", "k": "INT"}, ["id"], bucket=1, write_only="true", siltstone__sync="false")
    t.append(pa.table({"id": pa.array(range(20_000), pa.int64()), "k": pa.array([1] * 20_000, pa.int32())}))
    merge = "t.merge([{'k': 1, 'big': 'x' * 100_000}], on='t.k = s.k').when_matched_delete(\"s.big = 'z'\").execute()"
    done, mib, _ = run(t, f"{merge}.deleted_rows")
    assert done == "0"
    assert mib < 300, f"{mib} MiB"


LONG = {
    "ARRAY<STRING>": "pa.array([[text]], pa.list_(pa.string()))",
    "MAP<STRING, STRING>": "pa.array([[('k', text)]], pa.map_(pa.string(), pa.string()))",
    "ROW<a STRING>": "pa.array([{'a': text}], pa.struct([('a', pa.string())]))",
    "ARRAY<INT>": "pa.array([list(range(12_500))], pa.list_(pa.int32()))",
    "STRING": "pa.array([text])",
}


def long_value(kind):
    return eval(LONG[kind], {"pa": pa, "text": "x" * 50_000})


@pytest.mark.parametrize("kind", LONG)
def test_a_long_nested_value_of_a_source_is_not_copied_for_all_its_rows_at_once(make, kind):
    """Its bytes were those of the average row: 800 MB for one value of 50 KB among 5,000 short ones."""
    t = make({"id": "BIGINT", "k": "INT"}, ["id"], bucket=1, write_only="true", siltstone__sync="false")
    t.append(pa.table({"id": pa.array(range(20_000), pa.int64()), "k": pa.array([1] * 20_000, pa.int32())}))
    source = f"""(lambda text: pa.table({{"k": pa.array(range(1, 5002), pa.int32()),
        "big": pa.concat_arrays([{LONG[kind]}, pa.nulls(5000, ({LONG[kind]}).type)])}}))("x" * 50_000)"""
    merge = f"t.merge({source}, on='t.k = s.k').when_matched_delete('s.big IS NULL').execute()"
    done, mib, _ = run(t, f"{merge}.deleted_rows")
    assert done == "0"
    assert mib < 250, f"{mib} MiB"


@pytest.mark.parametrize("kind", LONG)
def test_a_long_value_of_a_table_is_not_copied_for_all_rows_of_a_source_at_once(make, kind):
    """Nobody counted the bytes of the table's row: 1 GB for a value of 50 KB."""
    t = make({"k": "INT", "n": "INT", "v": kind}, siltstone__sync="false")
    t.append(pa.table({"k": pa.array([1], pa.int32()), "n": pa.array([1], pa.int32()), "v": long_value(kind)}))
    source = "pa.table({'k': pa.array([1] * 20_000, pa.int32()), 'n': pa.array(range(20_000), pa.int32())})"
    merge = (
        f"""t.merge({source}, on="k").when_matched_update({{"n": "s.n"}}, condition="s.n = 7 AND t.v IS NOT NULL")"""
    )
    done, mib, _ = run(t, f"{merge}.execute().updated_rows")
    assert done == "1"
    assert mib < 250, f"{mib} MiB"
    assert t.scan(["n"]).to_pylist() == [{"n": 7}]


def test_a_merge_beside_a_limit_is_done_or_refused(make):
    """A column of less than a megabyte was thought to be little, however often its one row was copied: the process ended."""
    t = make({"k": "INT", "n": "INT", "v": "ARRAY<STRING>"}, siltstone__sync="false")
    t.append(
        pa.table({"k": pa.array([1], pa.int32()), "n": pa.array([1], pa.int32()), "v": long_value("ARRAY<STRING>")})
    )
    source = "pa.table({'k': pa.array([1] * 20_000, pa.int32()), 'n': pa.array(range(20_000), pa.int32())})"
    merge = (
        f"""t.merge({source}, on="k").when_matched_update({{"n": "s.n"}}, condition="s.n = -1 AND t.v IS NOT NULL")"""
    )
    for limit in (300_000_000, 700_000_000):
        assert run(t, f"{merge}.execute().updated_rows", limit)[0] in ("0", "MemoryLimitExceeded")


def test_what_waits_for_a_slow_consumer_of_a_large_file_is_bounded_by_bytes(make):
    """Texts that are few, and long, are small in a file: 131,072 rows of a part of it waited, decoded."""
    rows, length = 210_000, 8_192
    t = make({"id": "BIGINT", "s": "STRING", "room": "BYTES"}, bucket=-1, siltstone__sync="false")
    ids, kinds = np.arange(rows), (np.arange(rows) % 4).astype(np.int32)
    room = pa.array([np.random.default_rng(0).bytes(2_000_000)] + [None] * (rows - 1), pa.binary())
    t.append(pa.table({"id": ids, "s": pa.array(list("abcd")).take(pa.array(kinds)), "room": room}))
    (file,) = t.files()
    texts = pa.DictionaryArray.from_arrays(pa.array(kinds), pa.array([letter * length for letter in "abcd"]))
    path = file["path"].removeprefix("file:")
    settings = {"dictionary_pagesize_limit": 1 << 20, "write_page_index": True, "store_schema": False}
    pq.write_table(pa.table({"id": ids, "s": texts}), path, compression="zstd", row_group_size=rows, **settings)
    lengthened(path, file["bytes"])
    slow = """exec('''
import time
batches = t.scan(["id", "s"], threads=2, batch_size=64).to_batches()
first = next(batches)
time.sleep(4)
print(first.num_rows + sum(batch.num_rows for batch in batches), end=";")
''')"""
    done, mib, _ = run(t, slow)
    assert int(done.split(";")[0]) == rows
    assert mib < 600, f"{mib} MiB"


def lengthened(path, size):
    """Makes a Parquet file as long as its manifest says, by bytes before its footer that nothing refers to."""
    content = pathlib.Path(path).read_bytes()
    at = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    pathlib.Path(path).write_bytes(content[:at] + bytes(size - len(content)) + content[at:])
