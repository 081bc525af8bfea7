"""A small pipeline in PySpark: load, correct, compact on executors, ask in SQL.

    python spark_pipeline.py [DIRECTORY]

It needs Java 17 or 21, and PySpark: pip install 'siltstone[spark-local]'
"""

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from siltstone import spark as ss


def main(lake: str) -> None:
    """Two days of trips; the second one corrects the first."""
    os.environ.setdefault(
        "PYSPARK_PYTHON", sys.executable
    )  # workers import siltstone, too
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")  # not 200, for so few rows
        .config("spark.sql.warehouse.dir", str(Path(lake, "spark")))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    try:
        ss.enable(spark, warehouse=lake)
        pipeline(spark)
    finally:
        spark.stop()


def pipeline(spark: SparkSession) -> None:
    """From frames to a table, and from the table to answers."""
    ss.sql(spark, "CREATE DATABASE IF NOT EXISTS city")
    ss.sql(
        spark,
        """CREATE TABLE IF NOT EXISTS city.trips
           (id BIGINT, zone INT, fare DECIMAL(8, 2))
           TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2')""",
    )
    first = spark.range(10_000).selectExpr(
        "id", "int(id % 7) AS zone", "decimal(id % 40) AS fare"
    )
    report = ss.write(
        first, "city.trips", mode="upsert"
    )  # one writer a bucket, one commit
    loaded = report.snapshot.id
    print(f"loaded {report.rows:,} trips as snapshot {loaded}")

    corrections = first.where("zone = 3").selectExpr("id", "zone", "fare + 1 AS fare")
    report = ss.write(corrections, "city.trips", mode="upsert")
    print(f"corrected {report.rows:,} of them")

    report = ss.compact(
        spark, "city.trips", full=True
    )  # a task for each bucket, one commit
    print(f"compacted {report.files_before} files to {report.files_after}\n")

    ss.table(spark, "city.trips").createOrReplaceTempView("now")
    ss.read(spark, "city.trips", version=loaded).createOrReplaceTempView("was")
    spark.sql(
        """SELECT now.zone, count(*) AS trips, sum(now.fare - was.fare) AS corrected
           FROM now JOIN was ON now.id = was.id
           GROUP BY now.zone ORDER BY now.zone"""
    ).show()
    trips = ss.read(spark, "city.trips", columns=["fare"], filter="zone = 3")
    print(f"zone 3 earned {trips.agg({'fare': 'sum'}).first()[0]}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(sys.argv[1] if len(sys.argv) > 1 else temporary)
