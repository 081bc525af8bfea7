"""Variables in the text of a statement, put in as Spark puts them in before it parses anything.

Source: Spark's ``VariableSubstitution`` and ``ConfigReader``: ``${name}`` and ``${spark:name}`` are settings of the
session, ``${env:NAME}`` and ``${system:name}`` of the driver's process.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from siltstone.errors import InvalidArgument, UnsupportedFeature

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_REFERENCE = re.compile(r"\$\{(?:(\w+?):)?(\S+?)\}")
_OF_SESSION = (None, "spark", "sparkconf", "hivevar", "hiveconf")
_OF_PROCESS = ("env", "system")


def substituted(spark: SparkSession, query: str) -> str:
    """The text with the values of its variables; a setting that there is not is an empty text, as in Spark.

    Raises:
        InvalidArgument: A variable whose value names it again.
        UnsupportedFeature: On Connect a variable of the server's process.
    """
    if "${" not in query or str(spark.conf.get("spark.sql.variable.substitute", "true")).lower() != "true":
        return query
    return _within(spark, query, frozenset())


def _within(spark: SparkSession, text: str, used: frozenset[str]) -> str:
    def value(match: re.Match[str]) -> str:
        if match[0] in used:
            raise InvalidArgument(f"the variable {match[0]} is a part of its own value")
        found = _value(spark, match[1], match[2])
        return match[0] if found is None else _within(spark, found, used | {match[0]})

    return _REFERENCE.sub(value, text)


def _value(spark: SparkSession, kind: str | None, name: str) -> str | None:
    """What a variable stands for; None: it stays in the text."""
    if kind in _OF_SESSION:
        return str(spark.conf.get(name, "") or "")
    if kind not in _OF_PROCESS:
        return None
    try:
        system = spark.sparkContext._jvm.java.lang.System  # type: ignore[union-attr]  # noqa: SLF001
    except Exception as error:
        raise UnsupportedFeature(
            f"the variable ${{{kind}:{name}}} is of the server's process, which does not tell it",
            hint="write its value, or SET a variable of the session: ${name}",
        ) from error
    found = system.getenv(name) if kind == "env" else system.getProperty(name)
    return None if found is None else str(found)
