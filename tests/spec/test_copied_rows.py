"""A compaction copies rows that no other run touches as they are encoded.

The file is the same to every reader as if all rows had been decoded, merged and encoded again: a twin of each table is compacted
that way (`compaction.force-rewrite-all-files`).
"""

import datetime as dt
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import siltstone as st
from untouched import COLUMNS, pages, row_groups, rows, twins

BASE = range(0, 40_000, 2)
ENGINES = {
    "deduplicate": {},
    "partial-update": {"merge_engine": "partial-update"},
    "aggregation": {"merge_engine": "aggregation", "fields__i__aggregate-function": "max"},
    "sequence": {"sequence__field": "ts"},
    "snappy": {"file__compression": "snappy"},
    "thin": {"data_file__thin_mode": "true"},
    "dense": {"metadata__stats_dense_store": "true"},
    "stats of whole texts": {"metadata__stats_mode": "full"},
    "pages of the second version": {"parquet__writer__version": "PARQUET_2_0"},
}


def described(t):
    """What the manifests say of the files, without names, sizes and times."""
    own = {"path", "name", "bytes"}
    files = [{k: v for k, v in file.items() if k not in own} for file in t.files()]
    told = t.inspect("files").to_pylist()
    kept = ("record_count", "level", "min_value_stats", "max_value_stats", "null_value_counts", "min_key", "max_key")
    kept += ("min_sequence_number", "max_sequence_number", "schema_id")
    return files, [{k: file[k] for k in kept if k in file} for file in told]


def compacted(make, changes, base=BASE, **options):
    """The twins after the same writes and a full compaction each; the first one's base file and its bytes."""
    pair = twins(make, **options)
    for t in pair:
        t.append(rows(base, 1))
        t.compact(full=True)
    (before,) = pair[0].files()
    kept = pages(before["path"])
    for t in pair:
        for change in changes:
            change(t)
        t.compact(full=True)
    return *pair, kept


def same(a, b):
    assert a.scan().to_arrow().sort_by("id").equals(b.scan().to_arrow().sort_by("id"))
    assert a.scan().count() == b.scan().count()
    assert described(a) == described(b)
    for t in (a, b):
        assert not t.maintenance.fsck(deep=True).problems


@pytest.mark.parametrize("engine", ENGINES)
def test_the_rest_of_a_file_is_copied_when_a_range_of_keys_has_changed(make, engine):
    copied, decoded, (base,) = compacted(make, [lambda t: t.append(rows(range(20_001, 20_401), 2))], **ENGINES[engine])
    assert row_groups(decoded) == [1]
    assert row_groups(copied)[0] > 2
    # the pages of the first rows are those that were there
    assert base[: min(5_000, len(base) // 4)] in b"".join(pages(copied.files()[0]["path"]))
    same(copied, decoded)
    for condition in (
        "id = 77",
        "id = 20000",
        "id BETWEEN 19990 AND 20100",
        "i > 2000000000",
        "s >= 'f'",
        "day IS NULL",
    ):
        assert copied.scan(filter=condition).to_arrow().num_rows == decoded.scan(filter=condition).to_arrow().num_rows
    assert copied.get([0, 20_001, 39_998, 5]) == decoded.get([0, 20_001, 39_998, 5])


CHANGES = {
    "before all": [range(-400, 0)],
    "behind all": [range(50_000, 50_400)],
    "the first keys": [range(300)],
    "the last keys": [range(39_700, 40_100)],
    "several ranges at once": [[*range(100, 200), *range(21_000, 21_100), *range(38_000, 38_100)]],
    "several ranges one after another": [range(100, 200), range(21_000, 21_100), range(21_050, 21_150)],
    "everywhere": [range(0, 40_000, 40)],
    "one key": [[20_000]],
    "one new key": [[20_001]],
}


@pytest.mark.parametrize("which", CHANGES)
def test_whatever_keys_have_changed(make, which):
    changes = [lambda t, n=n, ids=ids: t.append(rows(ids, 10 + n)) for n, ids in enumerate(CHANGES[which])]
    copied, decoded, _ = compacted(make, changes)
    assert (row_groups(copied) == [1]) == (which in ("everywhere", "before all", "behind all"))
    same(copied, decoded)


def test_again_and_again(make):
    """Row groups that got small are put together with what changes beside them: they do not become more and more."""
    copied, decoded, _ = compacted(make, [])
    for n in range(12):
        for t in (copied, decoded):
            t.append(rows(range(n * 3000, n * 3000 + 300), 20 + n))
            t.compact(full=True)
        same(copied, decoded)
    assert max(row_groups(copied)) <= 16
    assert sum(file["bytes"] for file in copied.files()) < 1.2 * sum(file["bytes"] for file in decoded.files())


def test_files_do_not_grow_where_rows_come_before_them(make):
    """What is copied comes behind the new rows, into their file: it must end all the same."""
    copied, decoded = twins(make, target_file_size="1 mb")
    for t in (copied, decoded):
        t.append(rows(range(10_000), 1))
        t.compact(full=True)
        for n in range(1, 8):
            t.append(rows([*range(-3000 * n, -3000 * n + 3000), -3000 * n + 3100], n))
            t.compact(full=True)
    assert max(row_groups(copied)) > 1
    assert max(file["bytes"] for file in copied.files()) < 2.2 * 2**20
    assert copied.scan().to_arrow().sort_by("id").equals(decoded.scan().to_arrow().sort_by("id"))
    assert not copied.maintenance.fsck(deep=True).problems


def test_deleted_keys_go(make):
    def delete(t):
        t.delete("id BETWEEN 20000 AND 20100")

    copied, decoded, _ = compacted(make, [delete])
    assert row_groups(copied)[0] > 2
    assert copied.scan(filter="id BETWEEN 20000 AND 20100").count() == 0
    same(copied, decoded)


def test_many_keys_of_several_columns(make):
    columns = {"a": "STRING NOT NULL", "b": "INT NOT NULL", "s": "STRING"}

    def some(first, last):
        numbers = list(range(first, last))
        return pa.table(
            {
                "a": [f"{n // 1000:05}" for n in numbers],
                "b": pa.array([n % 1000 for n in numbers], pa.int32()),
                "s": [f"{n * 7919 % 1_000_003:09}" * 6 for n in numbers],
            }
        )

    copied, decoded = twins(make, columns, ("a", "b"), file__compression="none")
    for t in (copied, decoded):
        t.append(some(0, 30_000))
        t.compact(full=True)
        t.append(some(14_990, 15_010))
        t.compact(full=True)
    assert row_groups(copied)[0] > 2
    assert copied.scan().to_arrow().equals(decoded.scan().to_arrow())
    assert described(copied) == described(decoded)


REFUSED = {
    "another compression": lambda t: t.alter().set_option("file.compression", "snappy").commit(),
    "another type": lambda t: t.alter().set_type("i", "BIGINT").commit(),
    "a column more": lambda t: t.alter().add_column("more", "INT").commit(),
    "a column of the same name": lambda t: (
        t.alter().drop_column("i").commit(),
        t.alter().add_column("i", "INT").commit(),
    ),
    "an index": lambda t: t.alter().set_option("file-index.bloom-filter.columns", "i").commit(),
}


@pytest.mark.parametrize("what", REFUSED)
def test_rows_are_encoded_again_where_the_table_asks_for_other_files(make, cat, what):
    t, _ = twins(make)
    t.append(rows(BASE, 1))
    t.compact(full=True)
    REFUSED[what](t)
    t = cat.table(t.name)
    before = t.scan().to_arrow().sort_by("id")
    t.delete("id = 20000")
    t.compact(full=True)
    assert row_groups(t) == [1]
    assert t.scan().to_arrow().sort_by("id").equals(before.filter(pa.compute.not_equal(before["id"], 20_000)))


def test_row_groups_with_lists_are_not_divided(make):
    """How many rows a page of lists has, only its levels say: an index that lied about it made a file that nobody could read."""
    columns = {"id": "BIGINT NOT NULL", "s": "STRING", "list": "ARRAY<INT>"}
    t, _ = twins(make, columns)
    base = rows(BASE, 1, columns).append_column(
        "list", pa.array([[n] * (n % 3) for n in range(len(BASE))], pa.list_(pa.int32()))
    )
    t.append(base)
    t.compact(full=True)
    t.append(base.slice(5000, 10))
    t.compact(full=True)
    assert row_groups(t) == [1]
    assert t.scan().to_arrow().equals(base.cast(t.schema))


@pytest.mark.parametrize("column", ["_SEQUENCE_NUMBER", "i"])
def test_bounds_of_pages_that_are_not_those_of_the_footer_are_not_believed(make, column):
    """They came into the manifest: a greatest number that is too small, and the next update of such a row was lost."""
    t, _ = twins(make)
    t.append(rows(range(0, 4000, 40), 1))
    t.compact(full=True)
    t.append(rows(BASE, 2))
    newest = max(t.files(), key=lambda file: file["rows"])
    lowered(newest["path"], column)
    t.compact(full=True)
    t.append(rows([39_998], 3))
    assert t.get(39_998).to_pylist() == rows([39_998], 3).to_pylist()
    assert not t.maintenance.fsck(deep=True).problems


def lowered(path, column):
    """The greatest value of a column is one less in its page index, and stays what it is in the footer."""
    described = pq.ParquetFile(path).metadata.row_group(0)
    at = next(i for i in range(described.num_columns) if described.column(i).path_in_schema == column)
    kind = "<q" if described.column(at).physical_type == "INT64" else "<i"
    greatest = described.column(at).statistics.max
    greatest = struct.pack(kind, greatest)
    with open(path, "rb") as file:
        content = bytearray(file.read())
    chunks = [described.column(i) for i in range(described.num_columns)]
    end = max((c.dictionary_page_offset or c.data_page_offset) + c.total_compressed_size for c in chunks)
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    place = content.index(greatest, end, footer)
    content[place] ^= 0x01
    with open(path, "wb") as file:
        file.write(content)


def test_a_nan_is_seen_by_who_looks_for_large_numbers(make):
    """Bounds of pages leave NaN out, which is the greatest value: files with NaN are encoded again."""
    columns = {"id": "BIGINT NOT NULL", "s": "STRING", "x": "DOUBLE"}
    t, _ = twins(make, columns)
    base = rows(BASE, 1, columns)
    x = base["x"].to_pylist()
    x[7] = float("nan")
    t.append(base.set_column(2, "x", pa.array(x)))
    t.compact(full=True)
    t.append(rows([20_000], 2, columns))
    t.compact(full=True)
    assert t.scan(filter="x > 1e300").to_arrow()["id"].to_pylist() == [BASE[7]]


def test_old_records_go_where_records_expire(make):
    columns = {k: v for k, v in COLUMNS.items() if k in ("id", "s", "ts")}
    t, _ = twins(make, columns, record_level__expire_time="1 h", record_level__time_field="ts")
    now = dt.datetime.now()
    old = rows(BASE, 1, columns).set_column(
        2, "ts", pa.array([now - dt.timedelta(days=2)] * len(BASE), pa.timestamp("us"))
    )
    t.append(old)
    t.append(rows([20_000], 2, columns).set_column(2, "ts", pa.array([now], pa.timestamp("us"))))
    t.compact(full=True)
    assert t.scan().to_arrow()["id"].to_pylist() == [20_000]


def test_a_page_that_is_not_where_its_index_says_is_damage(make):
    t, _ = twins(make)
    t.append(rows(BASE, 1))
    t.compact(full=True)
    (file,) = t.files()
    damaged(file["path"])
    t.append(rows([20_000], 2))
    with pytest.raises(st.errors.CorruptFile) as failed:
        t.compact(full=True)
    assert file["name"] in str(failed.value)


def damaged(path):
    """The head of a page in the middle says more values than it has."""
    described = pq.ParquetFile(path).metadata
    chunk = described.row_group(0).column(0)
    with open(path, "r+b") as file:
        file.seek(chunk.data_page_offset)
        head = bytearray(file.read(64))
        # PageHeader: 1 type, 2 and 3 sizes, then the struct of a data page whose first field is the number of values
        at = head.index(0x2C) + 1
        assert head[at] == 0x15
        head[at + 1] ^= 0x02
        file.seek(chunk.data_page_offset)
        file.write(head)


def test_differences_of_the_second_version_do_not_stay_where_the_first_one_is_written(make):
    """Java 0.9 and 1.0 do not read them: after an alter back to the default no page of a new file has them."""
    t, decoded, _ = compacted(make, [], parquet__writer__version="PARQUET_2_0")

    def encodings():
        (file,) = t.files()
        groups = pq.ParquetFile(file["path"]).metadata
        chunks = (groups.row_group(g).column(0) for g in range(groups.num_row_groups))
        return {encoding for chunk in chunks for encoding in chunk.encodings}

    assert "DELTA_BINARY_PACKED" in encodings()
    for table in (t, decoded):
        table.alter().set_option("parquet.writer.version", "PARQUET_1_0").commit()
        table.append(rows(range(20_001, 20_401), 2))
        table.compact(full=True)
    assert "DELTA_BINARY_PACKED" not in encodings()
    same(t, decoded)
