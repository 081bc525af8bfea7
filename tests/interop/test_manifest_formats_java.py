"""Manifests in ORC and Parquet (`manifest.format`, up to 1.4), in both directions: Java reads, checks and goes on with ours."""

import json
import pathlib

import pytest
import rows
import siltstone as st
from siltstone import errors as e

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]

WRITTEN = {"orc": ["zstd", "none", "zlib", "snappy", "lz4"], "parquet": ["zstd", "none", "snappy", "gzip"]}


def manifests(t):
    folder = t.location.removeprefix("file:") + "/manifest"
    return {path.read_bytes()[:3] for path in pathlib.Path(folder).iterdir()}


@pytest.mark.parametrize(("kind", "compression"), [(k, c) for k, all_of in WRITTEN.items() for c in all_of])
def test_java_goes_on_with_our_manifests(make, oracle, kind, compression):
    t = make(
        {"p": "STRING", "k": "INT", "s": "STRING"},
        ["p", "k"],
        ["p"],
        bucket=2,
        manifest__format=kind,
        manifest__compression=compression,
        manifest__merge_min_count=4,
        deletion_vectors__enabled="true",
    )
    for n in range(6):
        t.upsert([{"p": "ab"[k % 2], "k": k, "s": None if k % 7 == 0 else f"{n}" * (k % 30)} for k in range(n, n + 40)])
        rows.same(oracle, t)
    t.compact(full=True)
    java = {"op": "write", "rows": [["+I", "b", k, "java"] for k in range(30, 60, 2)]}
    oracle.call("apply", t.location, json.dumps(java))
    oracle.call("compact", t.location, "--full")
    assert rows.same(oracle, t).num_rows == 60
    t.delete("k < 10")
    assert rows.same(oracle, t).num_rows == 50
    assert manifests(t) == {{"orc": b"ORC", "parquet": b"PAR"}[kind]}


@pytest.mark.parametrize("kind", WRITTEN)
def test_vectors_of_append_tables_in_index_manifests(make, oracle, kind):
    t = make({"k": "INT", "s": "STRING"}, manifest__format=kind, deletion_vectors__enabled="true")
    t.append([{"k": k, "s": str(k)} for k in range(50)])
    t.delete(where="k < 17")
    assert rows.same(oracle, t).num_rows == 33
    oracle.call("append-delete", t.location, json.dumps({"k": [20, 21]}))
    assert rows.same(oracle, t).num_rows == 31


@pytest.mark.parametrize("kind", WRITTEN)
def test_the_format_is_fixed_once_there_are_manifests(make, kind):
    """Java up to 1.4 reads all manifests of a table in the format that its newest schema names."""
    t = make({"k": "INT"})
    t.append([{"k": 1}])
    with pytest.raises(e.IllegalSchemaChange, match="snapshots"):
        t.alter().set_option("manifest.format", kind).commit()
    with pytest.raises(e.InvalidOption, match="fixed"):
        st.open_table(t.location, options={"manifest.format": kind})
    t.alter().set_option("manifest.format", "AVRO").commit()
    with pytest.raises(e.UnsupportedFeature, match="csv"):
        make({"k": "INT"}, manifest__format="csv")
    with pytest.raises(e.InvalidOption, match="deflate"):
        make({"k": "INT"}, manifest__format=kind, manifest__compression="deflate")
