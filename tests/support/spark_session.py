"""A small local Spark session: two workers, no UI, two shuffle partitions."""

import os
import shutil
import sys

import pytest


def require():
    """Skip the test, or fail it, where there is no Java for Spark."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        if os.environ.get("CI") == "true":
            pytest.fail("CI must run the Spark tests, but there is no Java")
        pytest.skip("Spark needs Java 17")


def local_session(folder):
    require()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[2]")
        .appName("siltstone-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
