"""The life of the demo's table: a tag per quarter, travel, a correction taken back, expiry that keeps tagged files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from siltstone.demo import flights as data

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from siltstone import Table

QUARTERS = {3: "2013-q1", 6: "2013-q2", 9: "2013-q3", 12: "2013-q4"}
FLOWN = "2013-flown"


def tag_quarter(t: Table, month: int) -> bool:
    """Tag the load that ends a quarter; whether one did."""
    name = QUARTERS.get(month)
    if name is not None:
        t.tags.create(name)
    return name is not None


def scheduled_until(flights: pa.Table, month: int) -> pa.Table:
    """What the table held when this month had been loaded."""
    import pyarrow as pa

    return pa.concat_tables([data.scheduled(flights, m) for m in range(1, month + 1)])


def check_travel(spark: SparkSession, name: str, flights: pa.Table) -> tuple[int, int]:
    """Read every quarter's tag through Spark SQL; rows read, and rows that are wrong."""
    from siltstone import spark as ss

    read = wrong = 0
    for month, tag in QUARTERS.items():
        found = ss.sql(spark, f"SELECT * FROM {name} VERSION AS OF '{tag}'").toArrow()  # noqa: S608  # our own names
        read += len(found)
        wrong += data.differences(scheduled_until(flights, month), found)
    return read, wrong


def spoil(spark: SparkSession, name: str, flights: pa.Table) -> int:
    """A correction that should never have happened: no flight was ever late. Rows written."""
    import pyarrow as pa

    from siltstone import spark as ss

    rows = data.flown(flights)
    zeros = pa.array([0] * len(rows), pa.int32())
    for column in ("dep_delay", "arr_delay"):
        rows = rows.set_column(rows.column_names.index(column), column, zeros)
    return ss.write(spark.createDataFrame(rows), name, mode="upsert").rows


def take_back(t: Table, flights: pa.Table) -> int:
    """Roll back to the tag before it; rows that are wrong afterwards."""
    t.rollback(tag=FLOWN)
    return data.differences(data.flown(flights), t.scan().to_arrow())


def expire(t: Table) -> dict[str, Any]:
    """Keep the latest snapshot and the tags; what went."""
    report = t.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    return {"snapshots": len(report.details["snapshots"]), "files": report.deleted_files}
