"""Workers that have no siltstone get the driver's."""

import os
import pathlib
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

JOB = """
import sys
import siltstone as st
from pyspark.sql import SparkSession
from siltstone import spark as ss

master, lake, how = sys.argv[1:]
settings = {
    "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
}
builder = SparkSession.builder.config(map=settings)
spark = (builder.remote("local[2]") if master == "connect" else builder.master(master)).getOrCreate()
spark.sparkContext.setLogLevel("OFF") if master != "connect" else None
if how == "other platform":
    import sysconfig
    sysconfig.get_platform = lambda: "plan9-mips"
if how != "none":
    ss.ship(spark)
    ss.ship(spark)  # once more is nothing
try:
    ss.enable(spark, warehouse=lake)
except st.errors.InvalidArgument as error:
    sys.exit(f"refused: {error}")
cat = st.connect(lake)
cat.create_database("db")
t = cat.create_table("db.t", {"id": int, "v": str}, primary_key=["id"], options={"bucket": "2"})
ss.write(spark.range(100).selectExpr("id", "'a' AS v"), "db.t")
ss.write(spark.range(50).selectExpr("id", "'b' AS v"), "db.t")
ss.compact(spark, "db.t", full=True)
rows = ss.sql(spark, "SELECT v, count(*) AS n FROM db.t WHERE id >= 10 GROUP BY v ORDER BY v").collect()
print([(row.v, row.n) for row in rows], ss.read(spark, "db.t").count())
"""


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """A Python that has what this one has, but no siltstone."""
    import pyspark

    folder = tmp_path_factory.mktemp("bare")
    packages = folder / "packages"
    packages.mkdir()
    for entry in pathlib.Path(pyspark.__file__).parents[1].iterdir():
        if "siltstone" not in entry.name:
            (packages / entry.name).symlink_to(entry)
    python = folder / "python"
    base = pathlib.Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}:$PYTHONPATH" exec {base} -S "$@"\n')
    python.chmod(0o755)
    return python


def job(master, folder, python, how="shipped"):
    # the driver has siltstone; workers would inherit its path
    code = f"import sys; sys.path[:0] = {[p for p in sys.path if p]!r}\n" + JOB
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-c", code, master, str(folder / "lake"), how],
        env={**environment, "PYSPARK_PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("master", ["connect", "local-cluster[2,1,1024]"])
def test_workers_without_siltstone_get_it(
    spark, tmp_path, bare_python, master
):  # the session says whether there is a Spark
    done = job(master, tmp_path, bare_python)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split("\n")[-2] == "[('a', 50), ('b', 40)] 100"


@pytest.mark.parametrize(("how", "says"), [("none", "ss.ship(spark)"), ("other platform", "shipped from plan9-mips")])
def test_workers_that_cannot_have_it_are_told_of(spark, tmp_path, bare_python, how, says):
    done = job("local[2]", tmp_path, bare_python, how)
    assert done.returncode == 1, done.stdout
    assert "refused: " in done.stderr
    assert says in done.stderr
