"""Postponed buckets on executors: rows wait wherever they were written, and tasks give them buckets."""

import pytest
from siltstone import spark as ss

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_rows_are_written_and_get_their_buckets_on_executors(spark, cat, make):
    t = make({"p": "INT", "k": "BIGINT", "v": "STRING"}, ["p", "k"], ["p"], bucket=-2, postpone__default_bucket_num=3)
    frame = spark.range(1000).selectExpr("CAST(id % 2 AS INT) AS p", "id AS k", "'a' AS v")
    report = ss.write(frame.repartition(4), t, mode="upsert")
    assert report.invisible_rows == 1000
    assert t.scan().count() == 0
    done = ss.compact(spark, t)
    assert (done.tasks, done.rows_before, t.scan().count()) == (2, 1000, 1000)
    more = spark.range(10).selectExpr("CAST(0 AS INT) AS p", "id * 2 AS k", "'b' AS v")
    ss.write(more, t, mode="upsert")
    ss.compact(spark, t, full=True, commit_every=1)
    assert (t.scan().count(), t.scan(filter="v = 'b'").count()) == (1000, 10)
    assert t.maintenance.fsck(deep=True).problems == []
