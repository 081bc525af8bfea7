"""File indexes, and what a table says of its features."""

import pathlib

import pytest
import siltstone as st
from siltstone import errors as e


def test_a_table_says_which_files_have_which_indexes(make):
    t = make(
        {"k": "INT", "s": "STRING", "m": "MAP<STRING, INT>"},
        file_index__bloom_filter__columns="s, m[a]",
        file_index__bitmap__columns="k",
        **{"file-index.bloom-filter.s.items": 20, "file-index.bloom-filter.m.items": 20},
    )
    t.append([{"k": 1, "s": "a", "m": None}])
    found = t.inspect("file_indexes").to_arrow().to_pylist()
    kinds = [(r["column_name"], r["index_type"], r["storage_type"], r["is_empty"]) for r in found]
    assert kinds == [
        ("k", "bitmap", "EMBEDDED", False),
        ("m[a]", "bloom-filter", "EMBEDDED", True),
        ("s", "bloom-filter", "EMBEDDED", False),
    ]
    assert "indexes  of 1 files" in t.scan().explain()
    assert t.scan(filter="s = 'b'").explain().splitlines()[4].startswith("files    0 of 1")
    unread = st.open_table(t.location, options={"file-index.read.enabled": "false"})
    assert unread.scan(filter="s = 'b' AND s LIKE 'a%'").to_arrow().num_rows == 0
    assert "not read" in unread.scan().explain()


def test_a_large_index_is_a_file_that_goes_with_its_data_file(make):
    t = make({"k": "INT"}, file_index__range_bitmap__columns="k", file_index__in_manifest_threshold="1 b")
    t.append([{"k": k} for k in range(1000)])
    [found] = t.inspect("file_indexes").to_arrow().to_pylist()
    assert found["index_file_path"] == found["file_path"] + ".index"
    assert t.scan(filter="k IN (7, 900)").to_arrow()["k"].to_pylist() == [7, 900]
    t.truncate()
    t.maintenance.expire_snapshots(retain_max=1)
    assert t.maintenance.fsck(deep=True).problems == []
    folder = pathlib.Path(t.location.removeprefix("file:"))
    assert not list(folder.glob("bucket-*/*"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("file-index.bitmap.columns", "x"),
        ("file-index.bsi.columns", "s"),
        ("file-index.bitmap.k.version", "2"),
    ],
)
def test_indexes_that_cannot_be_made_are_refused_when_they_are_asked_for(cat, make, key, value):
    with pytest.raises((e.InvalidOption, e.UnsupportedFeature)) as caught:
        make({"k": "INT", "s": "STRING"}, **{key: value})
    assert caught.value.context["option"] == key
    t = make({"k": "INT", "s": "STRING"})
    with pytest.raises((e.InvalidOption, e.UnsupportedFeature)):
        t.alter().set_option(key, value).commit()
    with pytest.raises((e.InvalidOption, e.UnsupportedFeature)):
        st.open_table(t.location, options={key: value})


def test_features_say_what_is_used_and_what_is_refused(make):
    t = make({"k": "INT", "s": "STRING"}, ["k"], bucket=1, file_index__bitmap__columns="s")
    t.append([{"k": 1, "s": "a"}])
    t.alter().add_column("x", "INT").commit()
    t.append([{"k": 2, "s": "a"}])
    found = {f.name: (f.value, f.support) for f in t.features()}
    assert found == {
        "buckets": ("fixed: 1 by k", "read_and_written"),
        "merge engine": ("deduplicate", "read_and_written"),
        "manifest format": ("avro", "read_and_written"),
        "file format": ("parquet (2 files)", "read_and_written"),
        "schema evolution": ("files of 2 schemas", "read_and_written"),
        "file indexes": ("bitmap of s (2 files)", "read_and_written"),
    }
