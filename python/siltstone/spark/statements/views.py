"""``CREATE TEMPORARY VIEW`` over Paimon tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siltstone.errors import InvalidArgument
from siltstone.spark.queries import run
from siltstone.spark.statements.target import Target, refused
from siltstone.spark.statements.words import Words

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def create_view(target: Target, text: str) -> DataFrame:
    """Make a view of the session; a query that uses it reads what is the latest version then."""
    words = Words(text, "CREATE [OR REPLACE] [GLOBAL] TEMPORARY VIEW [IF NOT EXISTS] name [(columns)] AS SELECT ...")
    words.expect("CREATE")
    replaces = words.take("OR", "REPLACE")
    is_global = words.take("GLOBAL")
    words.one_of("TEMPORARY", "TEMP")
    if not words.take("VIEW"):  # a function, or a table that the caller refuses
        return target.spark.sql(text)
    exists = words.take("IF", "NOT", "EXISTS")
    parts = words.name()
    columns = words.names() if words.follows("(") else None
    if words.follows("USING"):
        return target.spark.sql(text)
    if words.take("COMMENT"):
        words.string()
        raise refused("CREATE TEMPORARY VIEW with COMMENT", "leave it out: views of the session keep none here")
    words.expect("AS")
    if len(parts) != 1:
        raise InvalidArgument(f"a temporary view has no database: {'.'.join(parts)}")
    frame = run(target.spark, words.rest(), follows=True)
    frame = frame if columns is None else frame.toDF(*columns)
    if exists and target.spark.catalog.tableExists(parts[0]):
        return target.nothing()
    if is_global:
        (frame.createOrReplaceGlobalTempView if replaces else frame.createGlobalTempView)(parts[0])
    else:
        (frame.createOrReplaceTempView if replaces else frame.createTempView)(parts[0])
    return target.nothing()
