"""Found by Spark at start (it looks for ``pyspark_*``), so that ``format("siltstone")`` needs no registration."""

from siltstone.spark.datasource import SiltstoneSource as DefaultSource

__all__ = ["DefaultSource"]
