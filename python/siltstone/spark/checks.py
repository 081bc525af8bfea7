"""What a session must have: Spark 4.1, and workers with this siltstone, which see the same storage.

The workers are asked by a job of their own, once for each session and warehouse.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from siltstone import _core
from siltstone.errors import InvalidArgument, SiltstoneError, StorageError, UnsupportedFeature
from siltstone.spark.parallelism import slots
from siltstone.spark.session import CHECKED_CONF, catalog_at

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_LEAST = (4, 1)
_ASKED = "version string, host string, problem string"
_NO_MODULE = re.compile(r"No module named '(siltstone[\w.]*)'")
_NOT_OURS = re.compile(r"siltstone was shipped from .*")
_INSTALL = (
    "Spark's workers are Python processes: set PYSPARK_PYTHON to a Python with this siltstone before the session "
    "starts, or send it there with ss.ship(spark) (docs/spark.md)"
)


def check_version(version: str) -> None:
    """Refuse what is older than Spark 4.1.

    Raises:
        UnsupportedFeature: It is.
    """
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < _LEAST:
        raise UnsupportedFeature(
            f"this is Spark {version}: siltstone needs 4.1 or later",
            hint="pip install 'pyspark>=4.1'; before, a Python source got no filters, and Spark had neither arrow_udf "
            "nor repartitionById, by which rows reach the task of their bucket",
        )


def check_packages() -> None:
    """Refuse a PySpark without what its Arrow functions need, which hand over every row that is written.

    Raises:
        InvalidArgument: pandas or pyarrow is missing, or too old for this PySpark.
    """
    from pyspark.errors import PySparkImportError
    from pyspark.sql.pandas.utils import require_minimum_pandas_version, require_minimum_pyarrow_version

    try:
        require_minimum_pandas_version()
        require_minimum_pyarrow_version()
    except PySparkImportError as e:
        raise InvalidArgument(
            f"PySpark lacks what its Arrow functions need: {e.getMessage()}", hint="pip install 'siltstone[spark]'"
        ) from e


def check_workers(spark: SparkSession, warehouse: str | None, storage: Mapping[str, str]) -> None:
    """Ask the workers for their siltstone, and for the databases of the warehouse; once for each warehouse.

    Raises:
        InvalidArgument: They have none, or another version.
        StorageError: They do not see the warehouse that the driver sees.
    """
    local = str(spark.conf.get("spark.master", None) or "").startswith("local")
    place = None if local else warehouse  # workers of this machine see what the driver sees
    wanted = json.dumps([_core.__version__, place])
    if spark.conf.get(CHECKED_CONF, None) == wanted:
        return
    if place is not None and not _is_there(place, storage):
        place = None
    n = slots(spark) or 1
    for row in _answers(spark, n, functools.partial(_look, place, dict(storage))):
        if row.version != _core.__version__:
            raise InvalidArgument(
                f"workers on {row.host} have siltstone {row.version}, the driver has {_core.__version__}", hint=_INSTALL
            )
        if row.problem is not None:
            raise StorageError(
                f"workers on {row.host} do not see the warehouse {place}: {row.problem}",
                hint="a warehouse is a URI, or a directory that all machines have; workers take credentials of a "
                "store from their own environment",
            )
    spark.conf.set(CHECKED_CONF, wanted)


def _answers(spark: SparkSession, n: int, look: functools.partial[Iterator[pa.RecordBatch]]) -> list[Any]:
    from pyspark.errors import PySparkException

    try:
        return list(spark.range(0, n, 1, n).mapInArrow(look, _ASKED).collect())
    except PySparkException as failure:
        if other := _NOT_OURS.search(str(failure)):
            raise InvalidArgument(other[0]) from failure
        missing = _NO_MODULE.search(str(failure))
        if missing is None:
            raise
        what = "no siltstone" if missing[1] == "siltstone" else "another siltstone than the driver"
        raise InvalidArgument(f"Spark's workers have {what}: {missing[0]}", hint=_INSTALL) from failure


def _is_there(warehouse: str, storage: Mapping[str, str]) -> bool:
    try:
        catalog_at(warehouse, storage).databases()
    except SiltstoneError:  # there is none yet
        return False
    return True


def _look(
    warehouse: str | None, storage: dict[str, str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    import socket

    import pyarrow as pa

    problem = None
    try:
        if warehouse is not None:
            catalog_at(warehouse, storage).databases()
    except SiltstoneError as error:
        problem = error.message
    for _ in batches:
        values = [_core.__version__, socket.gethostname(), problem]
        yield pa.record_batch([pa.array([v], pa.string()) for v in values], names=["version", "host", "problem"])
