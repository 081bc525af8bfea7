"""BLOB columns that Java wrote: values in files of their own, beside those of the other columns."""

import json
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
    steps = [write(*range(40)), write(50), {"op": "alter", "changes": [{"op": "add_column", "name": "n", "type": "INT"}]}]
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
        t.append([{"k": 1}])
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
        with open(uri.removeprefix("file:"), "rb") as file:
            file.seek(offset)
            assert file.read(size) == of["picture"]
