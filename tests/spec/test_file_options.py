"""Options of data files: what their writer would refuse is refused before a table has it."""

import json
import pathlib

import pytest
import siltstone as st
from siltstone import errors as e

UNUSABLE = {
    "parquet.page.size": ["0", "-1", "1 mb", "63"],
    "parquet.block.size": ["0", "x"],
    "parquet.page.row.count.limit": ["0"],
    "parquet.dictionary.page.size": ["0"],
    "parquet.writer.version": ["7"],
    "parquet.compression": ["rar"],
    "parquet.compression.codec.zstd.level": ["high", "9" * 20],
    "parquet.enable.dictionary#v": ["maybe"],
    "parquet.bloom.filter.enabled": ["1"],
    "file.compression": ["rar", " zstd"],
    "file.compression.per.level": ["0:rar"],
    "changelog-file.compression": ["rar", "zstd "],
    "file.format": [" parquet"],
    "changelog-file.format": ["parquet "],
    "manifest.compression": ["none", "SNAPPY", " zstd"],
    "spill-compression": ["nope", "snappy", " zstd"],
    "sort-engine": ["nope"],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in UNUSABLE.items() for value in values])
def test_options_that_no_write_could_use_are_refused_when_they_are_set(cat, make, key, value):
    """A table with `parquet.page.size` = 0 was created, or altered to it, and then every write failed."""
    columns = {"k": "INT", "v": "STRING"}
    with pytest.raises(e.InvalidOption) as caught:
        cat.create_table("db.never", columns, primary_key=["k"], options={"bucket": "1", key: value})
    assert caught.value.context["option"] == key
    t = make(columns, ["k"], bucket=1, changelog_producer="input")
    with pytest.raises(e.InvalidOption) as caught:
        t.alter().set_option(key, value).commit()
    assert caught.value.context["option"] == key
    t.append([{"k": 1, "v": "a"}])
    assert t.scan().count() == 1


def test_options_of_files_that_can_be_used_are_taken(cat):
    options = {
        "parquet.page.size": "64",
        "parquet.block.size": "1",
        "parquet.compression": "SNAPPY",
        "parquet.compression.codec.zstd.level": "99",
        "parquet.writer.version": "PARQUET_2_0",
        "changelog-file.compression": "LZ4",
        "changelog-producer": "input",
        "manifest.compression": "ZSTD",
        "spill-compression": "LZ4",
        "sort-engine": "Min-Heap",
    }
    t = cat.create_table("db.t", {"k": "INT", "v": "STRING"}, primary_key=["k"], options={"bucket": "1", **options})
    t.append([{"k": 1, "v": "a"}])
    assert t.scan().count() == 1


UNDONE = {"parquet.statistics.enabled": "false", "parquet.crypto.factory.class": "a.B", "scan.partitions": "k=1"}


@pytest.mark.parametrize(("key", "value"), UNDONE.items())
def test_options_that_would_do_nothing_are_refused_by_name(cat, make, key, value):
    with pytest.raises(e.UnsupportedFeature) as caught:
        cat.create_table("db.never", {"k": "INT"}, options={key: value})
    assert caught.value.context["option"] == key
    t = make({"k": "INT"})
    with pytest.raises(e.UnsupportedFeature):
        t.alter().set_option(key, value).commit()
    with pytest.raises(e.UnknownOption, match="parquet.blocks.size"):
        t.alter().set_option("parquet.blocks.size", "1").commit()


def test_tables_of_others_that_have_such_options_are_used(make):
    t = make({"k": "INT"})
    schema = pathlib.Path(t.location) / "schema" / "schema-0"
    text = json.loads(schema.read_text())
    text["options"] |= {"parquet.statistics.enabled": "false", "scan.partitions": "k=1", "parquet.blocks.size": "1"}
    schema.write_text(json.dumps(text))
    t = st.open_table(t.location)
    t.append([{"k": 1}])
    t.alter().set_option("snapshot.num-retained.max", "50").commit()
    assert t.scan().count() == 1
