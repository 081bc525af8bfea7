"""File indexes, and what a table says of its features."""

import pathlib
import re

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


@pytest.mark.parametrize("threshold", ["1 mb", "1 b"])
@pytest.mark.parametrize("keyed", [True, False])
def test_files_that_are_there_get_the_indexes_that_options_ask_for(make, keyed, threshold):
    keys = {"primary_key": ["k"], "bucket": 1} if keyed else {}
    t = make({"k": "INT", "s": "STRING"}, deletion_vectors__enabled="true", **keys)
    t.append([{"k": k, "s": f"v{k % 3}"} for k in range(90)])
    t.alter().rename_column("s", "text").commit()
    t.append([{"k": k, "text": f"v{k % 3}"} for k in range(90, 120)])
    if keyed:
        t.compact(full=True)
    rows = sorted(r["k"] for r in t.scan().to_arrow().to_pylist())
    change = t.alter().set_option("file-index.bitmap.columns", "text")
    change.set_option("file-index.in-manifest-threshold", threshold).commit()
    for again in (False, True):
        report = t.rewrite_file_index()
        files = t.inspect("files").count()
        what = "have the indexes that the options ask for already" if again else "got indexes"
        assert report.notes == [f"{files} files {what}"]
        if again:
            assert report.snapshot is None
        else:
            assert report.snapshot.kind == "COMPACT"
        found = t.inspect("file_indexes").to_arrow().to_pylist()
        assert len(found) == t.inspect("files").count()
        assert {r["storage_type"] for r in found} == {"EMBEDDED" if threshold == "1 mb" else "FILE"}
        assert sorted(r["k"] for r in t.scan().to_arrow().to_pylist()) == rows
        assert {r["text"] for r in t.scan(filter="text = 'v1'").to_arrow().to_pylist()} == {"v1"}
        assert t.scan(filter="text = 'v7'").to_arrow().num_rows == 0
    if threshold == "1 b":
        assert all(re.search(r"\.parquet-\d+\.index$", r["index_file_path"]) for r in found)
    t.maintenance.expire_snapshots(retain_max=1)
    assert t.maintenance.fsck(deep=True).problems == []
    assert t.scan(filter="text = 'v1'").count() == len([k for k in rows if k % 3 == 1])
    t.alter().remove_option("file-index.bitmap.columns").commit()
    assert t.rewrite_file_index().notes == [f"{files} files lost the indexes they had: the options ask for none"]
    assert t.rewrite_file_index().notes == ["the table has no files whose indexes could change"]
    assert t.inspect("file_indexes").count() == 0
    assert sorted(r["k"] for r in t.scan().to_arrow().to_pylist()) == rows
    assert t.maintenance.fsck(deep=True).problems == []


def test_only_some_partitions_are_indexed(make):
    t = make({"p": "STRING", "k": "INT"}, partition_by=["p"])
    t.append([{"p": p, "k": k} for p in "ab" for k in range(5)])
    t.alter().set_option("file-index.bsi.columns", "k").commit()
    t.rewrite_file_index({"p": "b"})
    assert [r["partition"] for r in t.inspect("file_indexes").to_arrow().to_pylist()] == ["{b}"]


def test_files_with_vectors_of_tables_without_a_key_keep_their_indexes(make):
    """A vector goes with the entry of its file: one without the other is a conflict, in Java, too."""
    t = make({"k": "INT"}, deletion_vectors__enabled="true")
    t.append([{"k": k} for k in range(10)])
    t.append([{"k": k} for k in range(10, 20)])
    t.delete("k < 3")
    t.alter().set_option("file-index.bitmap.columns", "k").commit()
    report = t.rewrite_file_index()
    assert report.notes == [
        "1 files got indexes",
        "1 files whose rows deletion vectors delete keep the indexes they have: compact them",
    ]
    assert t.inspect("file_indexes").count() == 1
    assert t.scan(filter="k IN (1, 5, 15)").to_arrow()["k"].to_pylist() == [5, 15]
    assert t.maintenance.fsck(deep=True).problems == []


@pytest.mark.parametrize("threshold", ["1 mb", "1 b"])
def test_an_index_that_comes_and_goes_leaves_the_rows(make, threshold):
    """Entries of manifests with the same index were the same entry: an index taken away, given and taken away again left a
    deletion of the very entry that was added last. Java read no rows, and the next merge of manifests dropped the file."""
    t = make({"k": "INT"}, file_index__in_manifest_threshold=threshold)
    t.append([{"k": k} for k in range(10)])
    for _ in range(3):
        t.alter().set_option("file-index.bitmap.columns", "k").commit()
        assert t.rewrite_file_index().snapshot is not None
        t.alter().remove_option("file-index.bitmap.columns").commit()
        assert t.rewrite_file_index().snapshot is not None
        assert t.rewrite_file_index().snapshot is None
        assert t.inspect("file_indexes").count() == 0
        assert "indexes" not in t.scan().explain()
        t.maintenance.expire_snapshots(retain_max=1)
    entries = t.inspect("manifests").to_arrow()
    assert sum(entries["num_added_files"].to_pylist()) == 7
    t.maintenance.compact_manifests()
    assert t.scan().count() == 10
    assert t.scan(filter="k = 3").count() == 1
    assert t.maintenance.fsck(deep=True).problems == []


@pytest.mark.parametrize("kind", ["bitmap", "range-bitmap", "bsi"])
def test_an_index_that_takes_too_much_memory_is_given_up(make, caplog, kind):
    """Texts of 1 MB that compress well were held several times over, whatever the limit, and the process was aborted."""
    column, value = ("n", range) if kind == "bsi" else ("s", None)
    t = make({"k": "INT", "s": "STRING", "n": "BIGINT"}, **{f"file-index.{kind}.columns": column})
    with t.writer(memory_limit="1mb") as writer:
        for k in range(60 if value is None else 100_000 // 1000):
            if value is None:
                writer.write([{"k": k, "s": f"{k:09}" + "x" * 100_000, "n": k}])
            else:
                writer.write([{"k": k, "s": "", "n": n} for n in range(1000)])
        writer.commit()
    # the last one may be small
    assert t.inspect("file_indexes").count() < t.inspect("files").count()
    assert "too much memory" in caplog.text
    assert t.scan(filter="k = 7").count() == (1 if value is None else 1000)


def test_filters_that_are_larger_than_the_write_buffer_are_given_up(make, caplog):
    """Each had fewer bits than are refused, and all together ended the process at the first row."""
    columns = {f"c{i}": "INT" for i in range(20)}
    filters = {f"file-index.bloom-filter.{c}.items": 440_000_000 for c in columns}
    t = make(columns, **{"file-index.bloom-filter.columns": ",".join(columns), **filters}, write_buffer_size="1 mb")
    t.append([dict.fromkeys(columns, 1)])
    assert t.scan(filter="c3 = 1").count() == 1
    assert t.inspect("file_indexes").count() == 0
    assert "too much memory" in caplog.text


@pytest.mark.parametrize("kind", ["bitmap", "bsi", "range-bitmap", "bloom-filter"])
def test_an_index_of_a_column_is_not_asked_for_a_key_of_a_map(make, kind):
    """The index of the column ``x[k]`` was asked for the key ``k`` of ``x``, and rows were lost."""
    key = f"file-index.{kind}.columns"
    t = make({"id": "INT", "x[k]": "INT", "x": "MAP<STRING, INT>"}, **{key: "x[k]"})
    t.append([{"id": n, "x[k]": n, "x": {"k": 100 + n}} for n in range(10)])
    assert t.scan(["id"], filter="x['k'] = 105").to_arrow()["id"].to_pylist() == [5]
    later = make({"id": "INT", "x": "MAP<STRING, INT>"}, **{key: "x[k]"})
    later.append([{"id": 1, "x": {"k": 100}}])
    later.alter().add_column("x[k]", "INT").commit()
    later = st.open_table(later.location)
    later.append([{"id": 2, "x": {"k": 200}, "x[k]": 1}])
    assert later.scan(["id"], filter="x['k'] = 200").to_arrow()["id"].to_pylist() == [2]
    assert later.scan(["id"], filter="x['k'] = 100").to_arrow()["id"].to_pylist() == [1]
