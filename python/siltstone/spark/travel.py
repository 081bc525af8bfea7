"""``VERSION AS OF`` and ``TIMESTAMP AS OF`` as arguments of :func:`siltstone.spark.read`."""

from __future__ import annotations

import datetime as dt
import math
import zoneinfo
from typing import TYPE_CHECKING, Any

from siltstone._args import number, shown
from siltstone.errors import InvalidArgument

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def version_arguments(spark: SparkSession, node: Any, written: str) -> dict[str, Any]:
    """The version that a table's clause names; nothing without a clause.

    Args:
        spark: The session.
        node: The clause.
        written: The expression in it, as the statement has it.

    Raises:
        InvalidArgument: The clause names no version.
    """
    if node is None:
        return {}
    return {"as_of": _time(spark, node, written)} if node.this == "TIMESTAMP" else {"version": _version(node)}


def _version(node: Any) -> int | str:
    """A number is a snapshot, a text a tag before anything else."""
    from sqlglot import exp

    value = node.expression
    if isinstance(value, exp.Cast) and value.to.is_type("bigint"):
        value = value.this  # 2L
    if not isinstance(value, exp.Literal):
        raise InvalidArgument(f"'{node.sql('spark')}': the version must be a literal")
    text = str(value.this)
    if value.is_string:
        return text
    if not text.isdecimal():
        raise InvalidArgument(
            f"'{node.sql('spark')}': a snapshot's id is a whole number, a tag's name a text in quotes"
        )
    return number(text)


def _time(spark: SparkSession, node: Any, written: str) -> int:
    """Epoch milliseconds: a text is a time of the session's zone, a number counts seconds, the rest Spark computes."""
    from sqlglot import exp

    value = node.expression
    if not isinstance(value, exp.Literal):
        return _computed(spark, value, written)
    text = str(value.this)
    if not value.is_string:
        seconds = float(text)
        if not math.isfinite(seconds):
            raise InvalidArgument(f"{shown(text)} is not a time in seconds")
        return int(seconds * 1000)
    try:
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        return _computed(spark, value, written)
    if time.tzinfo is None:
        try:
            time = time.replace(tzinfo=zoneinfo.ZoneInfo(spark.conf.get("spark.sql.session.timeZone") or "UTC"))
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):  # an offset such as +08:00 is a zone for Spark
            return _computed(spark, value, written)
    return (time - _EPOCH) // dt.timedelta(milliseconds=1)


def _computed(spark: SparkSession, value: Any, text: str) -> int:
    """What Spark says that a constant expression is."""
    from pyspark.errors import PySparkException
    from sqlglot import exp

    if value.find(exp.Query, exp.Column):
        raise InvalidArgument(f"{text} is not a constant: TIMESTAMP AS OF takes one")
    try:
        (millis,) = spark.sql(f"SELECT unix_millis(CAST(({text}) AS TIMESTAMP))").collect()[0]
    except PySparkException as e:
        raise InvalidArgument(f"{text} is not a time such as '2026-11-20 08:00:00': {e.getCondition()}") from e
    if millis is None:
        raise InvalidArgument(f"{text} is not a time such as '2026-11-20 08:00:00': it is NULL")
    return int(millis)
