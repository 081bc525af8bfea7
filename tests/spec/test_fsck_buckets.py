"""Rows of fixed buckets are where the hash of their bucket key says: readers with a condition on it look nowhere else."""

import json
import pathlib

import pytest
import siltstone as st


def codes(t):
    return {finding.code for finding in st.open_table(t.location).maintenance.fsck(deep=True).findings}


def set_option(t, name, value):
    """As a hand in the files would."""
    schema = pathlib.Path(t.location, "schema/schema-0")
    stored = json.loads(schema.read_text())
    stored["options"][name] = value
    schema.write_text(json.dumps(stored))


@pytest.mark.parametrize("key", [[], ["id", "v"]], ids=["append", "keyed"])
def test_rows_that_their_bucket_key_would_put_elsewhere_are_found(make, key):
    t = make({"id": "INT", "v": "INT"}, key, bucket=4, bucket_key="id")
    t.append([{"id": i, "v": 100 - i} for i in range(50)])
    assert codes(t) == set()
    set_option(t, "bucket-key", "v")
    found = [
        f for f in st.open_table(t.location).maintenance.fsck(deep=True).problems if f.code == "row-in-wrong-bucket"
    ]
    assert found and all("rows of other buckets, of 4" in f.message and "overwrite" in f.repair for f in found)
    assert codes(t) == {"row-in-wrong-bucket"}


@pytest.mark.parametrize("function", ["default", "mod", "hive"])
def test_each_bucket_function_is_asked_of_all_versions(make, function):
    t = make({"p": "STRING", "id": "INT"}, ["p", "id"], partition_by=["p"], bucket=3, bucket_function__type=function)
    t.upsert([{"p": "a", "id": i} for i in range(30)])
    t.upsert([{"p": "b", "id": i} for i in range(30)])
    t.compact(full=True)
    t.tags.create("a")
    assert codes(t) == set()
    set_option(t, "bucket-function.type", "mod" if function == "default" else "default")
    assert codes(t) == {"row-in-wrong-bucket"}


def test_another_number_of_buckets_counts_from_where_it_was_taken(make):
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=2)
    t.upsert([{"id": i, "v": i} for i in range(40)])
    t.tags.create("before")
    t.rescale(5)
    t.upsert([{"id": i, "v": -i} for i in range(0, 40, 3)])
    assert codes(t) == set()


def test_a_bucket_key_that_had_another_type_is_not_judged(make):
    """Java lets an append table's bucket key become BIGINT; rows keep the bucket that their INT gave them."""
    t = make({"id": "INT", "v": "INT"}, [], bucket=3, bucket_key="id", compaction__min__file_num=2)
    for n in range(3):
        t.append([{"id": i, "v": n} for i in range(20)])
    t.alter().set_type("id", "BIGINT").commit()
    t = st.open_table(t.location)
    t.compact(full=True)
    assert codes(t) == set()
