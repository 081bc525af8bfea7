"""``CREATE TEMPORARY VIEW`` over Paimon tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siltstone.errors import InvalidArgument
from siltstone.procedures.naming import quoted
from siltstone.spark.queries import named_in, parse, run, understood
from siltstone.spark.statements.target import Target, refused
from siltstone.spark.statements.words import Words
from siltstone.spark.temporary_views import GLOBAL, make, remember

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def create_view(target: Target, text: str) -> DataFrame:
    """Make a view of the session; it is made again, of the latest versions, for each statement that names it."""
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
    query = words.rest()
    frame = run(target.spark, query)
    if exists and target.spark.catalog.tableExists(f"{GLOBAL}.{quoted(parts[0])}" if is_global else quoted(parts[0])):
        return target.nothing()
    mark = make(parts[0], frame, columns, replaces=replaces, is_global=is_global)
    named = named_in(parse(understood(target.spark, query).readable))
    remember(target.spark, parts[0], mark, query, columns, named, is_global=is_global)
    return target.nothing()
