"""Spark with a warehouse on a store: driver and executors have credentials of their own, plans hold none."""

import os
import pathlib
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.stores, pytest.mark.spark, pytest.mark.xdist_group("spark")]

#: In a process of its own: Spark's workers have the environment of the one that started the session.
SCRIPT = """
import sys
import pytest
import siltstone as st
from pyspark.sql import SparkSession
from siltstone import spark as ss
from siltstone.errors import InvalidArgument

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
warehouse, endpoint = sys.argv[1:]
options = {"s3.endpoint": endpoint, "s3.region": "us-east-1"}
with pytest.raises(InvalidArgument, match="is a secret"):
    ss.enable(spark, warehouse=warehouse, options={**options, "s3.secret-key": "x"})
ss.enable(spark, warehouse=warehouse, options=options)
cat = st.connect(warehouse, options=options)
cat.create_database("db")
cat.create_table("db.t", {"id": "BIGINT", "v": "STRING"}, primary_key=["id"], options={"bucket": "2"})
frame = spark.createDataFrame([(1, "a"), (2, "b"), (3, "c")], "id long, v string")
frame.write.format("siltstone").mode("append").save("db.t")
read = spark.read.format("siltstone").load("db.t")
assert sorted(map(tuple, read.collect())) == [(1, "a"), (2, "b"), (3, "c")]
plan = read._jdf.queryExecution().toString()
assert "test-secret-value" not in plan and "test-key" not in plan
assert ss.sql(spark, "SELECT count(*) FROM db.t").collect()[0][0] == 3
print("all is well")
"""


def test_a_table_is_written_and_read_by_executors(s3, bucket):
    python = str(pathlib.Path(__file__).parents[2] / "python")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([python, os.environ.get("PYTHONPATH", "")]),
        "PYSPARK_PYTHON": sys.executable,
        "AWS_ACCESS_KEY_ID": "test-key",
        "AWS_SECRET_ACCESS_KEY": "test-secret-value",
    }
    command = [sys.executable, "-c", SCRIPT, f"s3://{bucket}/lake", s3.url]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert "all is well" in done.stdout, done.stderr[-3000:]
