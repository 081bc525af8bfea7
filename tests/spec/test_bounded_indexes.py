"""Small files that say that they hold very much: indexes, containers of indexes, files of BLOBs, manifests, and what system tables
make of them. Each is refused, or asks for the memory, and no process is aborted.
"""

import glob
import os
import struct
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import siltstone as st
from forging import edit, many_files, patch_entries, sizes
from limited import run
from siltstone import errors as e

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures memory as Linux counts it")
MIB = 1 << 20


def folder(t):
    return t.location.removeprefix("file://")


def utf(text):
    return struct.pack(">H", len(text)) + text.encode()


def container(column, kinds, body):
    """A container with one column; each kind of index has its length, -1 for none, and they lie one after another."""
    size = 20 + len(utf(column)) + 4 + sum(len(utf(kind)) + 8 for kind, _ in kinds) + 4
    at, heads = size, b""
    for kind, length in kinds:
        heads += utf(kind) + (struct.pack(">ii", -1, 0) if length < 0 else struct.pack(">ii", at, length))
        at += max(length, 0)
    magic = struct.pack(">qiii", 1493475289347502, 1, size, 1)
    return magic + utf(column) + struct.pack(">i", len(kinds)) + heads + struct.pack(">i", 0) + body


@pytest.fixture
def indexed(make):
    """A table of a hundred rows whose index is a file, and that file."""

    def made(kind):
        options = {f"file-index.{kind}.columns": "id", "file-index.in-manifest-threshold": "0 b"}
        t = make({"id": "TINYINT"}, **options)
        t.append([{"id": n} for n in range(100)])
        (path,) = glob.glob(folder(t) + "/bucket-0/*.index")
        return t, path

    return made


def test_chunks_of_a_range_bitmap_that_share_their_keys(indexed):
    t, path = indexed("range-bitmap")
    chunks, each = 200, 100_000
    heads = b"".join(struct.pack(">bbiiiii", 1, 0, n * (each + 1), 0, each, each, 1) for n in range(chunks))
    dictionary = struct.pack(">ibiii", 13, 1, chunks, 0, len(heads)) + heads + b"\1" * each
    head = struct.pack(">biibbi", 1, 100, chunks * (each + 1), 0, 0, len(dictionary))
    numbers = struct.pack(">ibBii", 10, 1, 0, 8, 0) + struct.pack("<II", 12346, 0)
    body = struct.pack(">i", len(head)) + head + dictionary + numbers
    with open(path, "wb") as f:
        f.write(container("id", [("range-bitmap", len(body))], body))
    done, mib, _ = run(t, "t.scan(filter='id > 5').to_arrow().num_rows", 300 * MIB)
    assert (done, mib < 60) == ("CorruptFile", True)


def test_a_bitmap_index_of_more_values_than_rows(indexed):
    t, path = indexed("bitmap")
    size = 40 * MIB
    body = struct.pack(">biib", 1, 100, (size - 10) // 5, 0)
    with open(path, "wb") as f:
        f.write(container("id", [("bitmap", size)], body))
        f.truncate(f.tell() - len(body) + size)
    done, mib, _ = run(t, "t.scan(filter='id > 5').to_arrow().num_rows", 300 * MIB)
    assert (done, mib < 100) == ("CorruptFile", True)


def test_the_index_of_a_blob_file_of_nulls(make):
    t = make(
        {"id": "INT", "b": "BLOB"},
        **{"row-tracking.enabled": "true", "data-evolution.enabled": "true", "manifest.compression": "null"},
    )
    t.append([{"id": 1, "b": b"abc"}])
    (path,) = glob.glob(folder(t) + "/bucket-0/*.blob")
    nulls = 6 * MIB
    with open(path, "wb") as f:
        f.write(b"\1")
        f.truncate(nulls)
        f.seek(nulls)
        f.write(struct.pack("<ib", nulls, 1))

    def change(entry):
        if entry["_FILE"]["_FILE_NAME"].endswith(".blob"):
            entry["_FILE"]["_FILE_SIZE"] = os.path.getsize(path)

    patch_entries(folder(t), change)
    sizes(folder(t))
    # 144 MB of places: twice as many while the list grew, and once more when it was shared
    done, mib, _ = run(t, "t.scan().to_arrow().num_rows", 300 * MIB)
    assert (done, mib < 180) == ("CorruptFile", True)


def test_a_manifest_in_parquet_becomes_no_more_than_one_in_avro(make):
    t = make({"id": "INT"}, **{"manifest.format": "parquet", "write-only": "true"})
    t.append([{"id": 1}])
    (version,) = glob.glob(folder(t) + "/snapshot/snapshot-*")
    path = {}
    edit(version, lambda v: path.update(list=f"{folder(t)}/manifest/{v['deltaManifestList']}"))
    listed = pq.read_table(path["list"])
    (named,) = listed.to_pylist()
    manifest = f"{folder(t)}/manifest/{named['_FILE_NAME']}"
    stored = pq.read_table(manifest)
    (entry,) = stored.to_pylist()
    entry["_FILE"]["_FILE_NAME"] = "x" * 200_000
    rows = pa.Table.from_pylist([entry], schema=stored.schema).take(pa.array([0] * 2000, pa.int32()))
    pq.write_table(rows, manifest, compression="zstd", dictionary_pagesize_limit=1 << 30, data_page_size=1 << 30)
    named |= {"_FILE_SIZE": os.path.getsize(manifest), "_NUM_ADDED_FILES": 2000}
    assert 64 * MIB + 10_000 * named["_FILE_SIZE"] < 2000 * 200_000
    pq.write_table(pa.Table.from_pylist([named], schema=listed.schema), path["list"])
    edit(version, lambda v: v.update(deltaManifestListSize=os.path.getsize(path["list"])))
    with pytest.raises(e.CorruptFile, match="becomes at most"):
        st.open_table(t.location).scan().splits()


def test_of_the_files_of_a_wide_table_no_more_is_made_than_is_asked_for(make):
    names = {f"c{n}_{'a' * 40}": "INT" for n in range(1000)}
    t = make({"id": "INT", **names}, **{"manifest.compression": "null", "metadata.stats-mode": "none"})
    t.append([{"id": 1}])
    many_files(folder(t), 2, 1000)
    rows = "sum(b.num_rows for b in t.inspect('files'{}).to_arrow().to_batches())"
    for args, found in ((", ['file_path']", "2000"), (", limit=3", "3"), (", ['level'], filter='bucket = 1'", "0")):
        done, mib, _ = run(t, rows.format(args))
        assert (done, mib < 60) == (found, True)
    assert run(t, "t.inspect('files').count()")[0] == "2000"


def test_rows_of_file_indexes_repeat_a_long_path_only_where_it_is_asked_for(make):
    t = make({"id": "INT"}, **{"manifest.compression": "null"})
    t.append([{"id": 1}])
    kinds = container("id", [(f"{n:06x}", -1) for n in range(2000)], b"")

    def change(entry):
        entry["_FILE"] |= {"_EMBEDDED_FILE_INDEX": kinds, "_EXTERNAL_PATH": f"/x/{'y' * 200_000}/data-1.parquet"}

    patch_entries(folder(t), change)
    sizes(folder(t))
    rows = "t.inspect('file_indexes'{}).to_arrow().num_rows"
    for args, found in ((", limit=1", "1"), (", ['index_type']", "2000")):
        done, mib, _ = run(t, rows.format(args))
        assert (done, mib < 60) == (found, True)


def test_columns_that_nobody_asks_for_are_not_looked_at(make):
    t = make({"id": "INT"}, **{"manifest.compression": "null"})
    t.append([{"id": 1}])

    def change(entry):
        entry["_FILE"]["_VALUE_STATS"]["_MIN_VALUES"] = b"\0"

    patch_entries(folder(t), change)
    sizes(folder(t))
    t = st.open_table(t.location)
    with pytest.raises(e.CorruptFile):
        t.inspect("files").to_arrow()
    assert t.inspect("files", ["level"], filter="record_count = 1").to_arrow().to_pydict() == {"level": [0]}
    assert t.inspect("files").count() == 1
    assert t.inspect("files", limit=0).to_arrow().num_rows == 0
