"""``__paimon_file_path``, ``__paimon_row_index``, ``__paimon_bucket`` and ``__paimon_partition`` in statements."""

import pathlib

import pyarrow.parquet as pq
import pytest
from siltstone import errors as e

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_rows_of_files_have_their_places(shop, sql):
    t = shop.create_table("shop.t", {"dt": "STRING", "id": "INT"}, partition_by=["dt"])
    for _ in range(2):
        t.append([{"dt": d, "id": i} for i in range(5) for d in ("a", "b")])
    found = sql(
        "SELECT id, __paimon_file_path, __paimon_row_index, __paimon_bucket, __paimon_partition.dt "
        "FROM shop.t WHERE id > 2 AND dt = 'a'"
    )
    assert len(found) == 4
    for number, path, index, bucket, dt in found:
        assert pq.read_table(path, partitioning=None).to_pylist()[index] == {"dt": "a", "id": number}
        assert (bucket, dt, pathlib.Path(path).parts[-3]) == (0, "a", "dt=a")
    by_file = sql("SELECT __paimon_file_path f, count(*) FROM shop.t GROUP BY f")
    assert sorted(by_file) == sorted((file["path"], file["rows"]) for file in t.files())
    with pytest.raises(e.UnsupportedFeature, match="does not name"):
        sql("SELECT *, __paimon_bucket FROM shop.t")
    assert len(sql("SELECT * FROM shop.t")[0]) == 2
    assert sql("SELECT max(__paimon_row_index) FROM shop.t VERSION AS OF 1") == [(4,)]
    with pytest.raises(e.UnsupportedFeature, match="number of its snapshot"):
        sql("SELECT __paimon_bucket FROM shop.t TIMESTAMP AS OF current_timestamp()")


def test_rows_that_are_merged_or_marked_have_a_bucket_and_no_place(shop, sql):
    t = shop.create_table("shop.k", {"id": "INT", "v": "INT"}, primary_key=["id"], options={"bucket": "2"})
    for v in (1, 2):
        t.upsert([{"id": i, "v": v} for i in range(8)])
    buckets = sql("SELECT id, __paimon_bucket FROM shop.k WHERE v = 2")
    assert {b for _, b in buckets} == {0, 1} and len(buckets) == 8
    with pytest.raises(e.UnsupportedFeature, match="merged from several files"):
        sql("SELECT __paimon_file_path FROM shop.k")
    t.compact(full=True)
    assert {f for (f,) in sql("SELECT DISTINCT __paimon_file_path FROM shop.k")} == {f["path"] for f in t.files()}
    m = shop.create_table("shop.m", {"id": "INT"}, options={"deletion-vectors.enabled": "true"})
    m.append([{"id": i} for i in range(3)])
    m.delete("id = 1")
    assert sorted(i for i, _ in sql("SELECT id, __paimon_file_path FROM shop.m")) == [0, 2]
    with pytest.raises(e.UnsupportedFeature, match="deletion vectors"):
        sql("SELECT __paimon_row_index FROM shop.m")


def test_a_column_of_the_table_is_its_own(shop, sql):
    t = shop.create_table("shop.own", {"id": "INT", "__paimon_bucket": "STRING"})
    t.append([{"id": 1, "__paimon_bucket": "mine"}])
    assert sql("SELECT __paimon_bucket FROM shop.own") == [("mine",)]
    other = shop.create_table("shop.other", {"id": "INT"})
    other.append([{"id": 1}])
    assert sql("SELECT o.__paimon_bucket, s.__paimon_bucket FROM shop.own s JOIN shop.other o ON s.id = o.id") == [
        (0, "mine")
    ]
