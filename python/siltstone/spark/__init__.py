"""PySpark: read, write and compact Paimon tables on executors, without a jar.

Works with classic Spark and with Spark Connect (4.1 and later): no SparkContext, no RDD, no py4j. The package is
installed where Spark's Python workers run, or sent there by :func:`ship`.

Example:
    >>> from siltstone import spark as ss
    >>> ss.enable(spark, warehouse="/data/lake")  # doctest: +SKIP
    >>> df = ss.read(spark, "shop.orders", columns=["id", "amount"])  # doctest: +SKIP
    >>> ss.write(df, "shop.copy", mode="append")  # doctest: +SKIP
    >>> ss.compact(spark, "shop.orders", full=True)  # doctest: +SKIP
    >>> ss.sql(spark, "SELECT * FROM shop.orders VERSION AS OF 3")  # doctest: +SKIP
"""

from __future__ import annotations

try:
    import pyspark as _pyspark  # noqa: F401
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "siltstone.spark needs PySpark: pip install 'siltstone[spark-local]'", name="pyspark"
    ) from None

from siltstone.spark.compaction import compact, compact_database
from siltstone.spark.datasource import SiltstoneSource
from siltstone.spark.reading import read, table
from siltstone.spark.registration import enable
from siltstone.spark.shipping import ship
from siltstone.spark.sql import sql
from siltstone.spark.writing import write

__all__ = ["SiltstoneSource", "compact", "compact_database", "enable", "read", "ship", "sql", "table", "write"]
