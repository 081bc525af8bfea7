"""BLOB columns in both directions: values in files of their own, beside those of the other columns."""

import json
import pathlib
import struct

import pyarrow as pa
import pytest
import rows
import siltstone as st

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]

FIELDS = [
    {"id": 0, "name": "k", "type": "INT"},
    {"id": 1, "name": "picture", "type": "BLOB"},
    {"id": 2, "name": "s", "type": "STRING"},
    {"id": 3, "name": "sound", "type": "BLOB"},
]
OPTIONS = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}


def by_java(oracle, folder, steps, **options):
    spec = {"name": "t", "fields": FIELDS, "partition_keys": [], "primary_keys": [], "options": OPTIONS | options}
    (folder / "spec.json").write_text(json.dumps(spec | {"steps": steps}))
    oracle.call("gen", str(folder / "spec.json"), str(folder / "made"))
    return str(folder / "made" / "table")


def line(k, size=20):
    """A row with nulls, empty values and long ones."""
    picture = None if k % 3 == 0 else (bytes([k % 256]) * (k * size % 70_000)).hex()
    return ["+I", k, picture, f"row {k}", None if k % 5 else b"ogg".hex()]


def write(*keys):
    return {"op": "write", "rows": [line(k) for k in keys]}


def test_values_in_files_of_their_own_are_read(oracle, tmp_path):
    steps = [
        write(*range(40)),
        write(50),
        {"op": "alter", "changes": [{"kind": "add_column", "name": "n", "type": "INT"}]},
    ]
    path = by_java(oracle, tmp_path, steps, **{"blob.target-file-size": "1 kb"})
    t = st.open_table(path)
    names = [row["file_path"] for row in t.inspect("files").to_arrow().to_pylist()]
    assert len([name for name in names if name.endswith(".blob")]) > 10
    found = t.scan().to_arrow()
    assert found.schema.field("picture").type == pa.binary()
    assert rows.difference(oracle.call("read", path), found) is None
    assert (found.num_rows, t.scan().count()) == (41, 41)
    assert t.scan(["sound"], batch_size=7).to_arrow()["sound"].to_pylist() == found["sound"].to_pylist()
    where = t.scan(["k"], "picture is null and s > 'row 3'").to_arrow()["k"].to_pylist()
    assert sorted(where) == [k for k in range(40) if k % 3 == 0 and f"row {k}" > "row 3"]
    assert t.maintenance.fsck(deep=True).problems == []
    with pytest.raises(st.errors.UnsupportedFeature, match="BLOB"):
        list(t.changes())


def test_descriptors_say_where_values_lie(oracle, tmp_path):
    path = by_java(oracle, tmp_path, [write(*range(1, 9))])
    whole = st.open_table(path).scan(["k", "picture"]).to_arrow().to_pylist()
    t = st.open_table(path, options={"blob-as-descriptor": "true"})
    for row, of in zip(t.scan(["k", "picture"]).to_arrow().to_pylist(), whole, strict=True):
        assert row["k"] == of["k"]
        if of["picture"] is None:
            assert row["picture"] is None
            continue
        version, magic, length = struct.unpack_from("<bqi", row["picture"])
        uri = row["picture"][13 : 13 + length].decode()
        offset, size = struct.unpack_from("<qq", row["picture"], 13 + length)
        assert (version, magic) == (2, 4777280450765083459)
        stored = pathlib.Path(uri.removeprefix("file:")).read_bytes()
        assert stored[offset : offset + size] == of["picture"]


def ours(make, **options):
    columns = {"k": "INT", "picture": "BLOB", "s": "STRING", "sound": "BLOB"}
    return make(columns, row_tracking__enabled="true", data_evolution__enabled="true", **options)


def row(k):
    _, *values = line(k)
    picture, sound = (None if values[at] is None else bytes.fromhex(values[at]) for at in (1, 3))
    return {"k": values[0], "picture": picture, "s": values[2], "sound": sound}


@pytest.mark.parametrize("size", ["1 kb", "128 mb"])
def test_java_reads_what_we_write_update_and_compact(make, oracle, size):
    t = ours(make, blob__target_file_size=size)
    t.append([row(k) for k in range(40)])
    t.append([row(50)])
    rows.same(oracle, t)
    t.update({"s": "'changed'"}, where="k > 30")
    found = rows.same(oracle, t)
    blobs = sorted(name for name in names(t) if name.endswith(".blob"))
    assert (len(blobs) > 10) == (size == "1 kb")
    t.compact(full=True)
    assert rows.ours(rows.same(oracle, t)) == rows.ours(found)
    assert sorted(name for name in names(t) if name.endswith(".blob")) == blobs
    assert len(names(t)) == len(blobs) + 1
    oracle.call("apply", t.location, json.dumps(write(60)))
    assert rows.same(oracle, t).num_rows == 42


def names(t):
    return [row["file_path"].rpartition("/")[2] for row in t.inspect("files").to_arrow().to_pylist()]


def test_our_bytes_are_javas(make, oracle, tmp_path):
    theirs = st.open_table(by_java(oracle, tmp_path, [write(*range(9))]))
    t = ours(make)
    t.append([row(k) for k in range(9)])
    ours_and_theirs = [
        sorted(path.read_bytes() for path in pathlib.Path(table.location).rglob("*.blob")) for table in (t, theirs)
    ]
    assert len(ours_and_theirs[0]) == 2
    assert ours_and_theirs[0] == ours_and_theirs[1]
