"""``INSERT INTO`` and ``INSERT OVERWRITE``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siltstone.errors import InvalidArgument
from siltstone.spark.queries import run
from siltstone.spark.statements.assignment import assigned
from siltstone.spark.statements.fields import by_fields
from siltstone.spark.statements.partitions import partition_clause
from siltstone.spark.statements.target import Target, refused
from siltstone.spark.statements.words import Words
from siltstone.spark.writing import replaces_found, write, write_here

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FORM = (
    "INSERT {INTO | OVERWRITE} [TABLE] db.t [PARTITION (column [= value], ...)] [(columns) | BY NAME] "
    "{SELECT ... | VALUES ... | TABLE ...}"
)


def insert(target: Target, text: str) -> DataFrame:
    """Add the rows of a query, or replace others by them."""
    words = Words(text, _FORM)
    prefix = _common_tables(words)
    words.expect("INSERT")
    overwrites = words.one_of("INTO", "OVERWRITE") == "OVERWRITE"
    if words.follows("DIRECTORY") or words.follows("LOCAL"):
        raise refused("INSERT OVERWRITE DIRECTORY", "what is no table is written by Spark: spark.sql(...)")
    words.take("TABLE")
    table = target.table(words.name(), "INSERT INTO")
    spec = partition_clause(table, words) if words.take("PARTITION") else {}
    if words.take("IF", "NOT", "EXISTS"):
        raise refused("INSERT OVERWRITE with IF NOT EXISTS", "look into db.t$partitions first")
    if words.follows("REPLACE"):
        raise refused("INSERT INTO ... REPLACE", "INSERT OVERWRITE db.t PARTITION (...), or DELETE and INSERT")
    by_name = words.take("BY", "NAME")
    columns = None
    if not by_name and words.follows("(") and not words.query_in_brackets:
        columns = words.names()
    static = {name: value for name, value in spec.items() if not isinstance(value, bool)}
    dynamic = [name for name, value in spec.items() if isinstance(value, bool)]
    if dynamic and columns is None and not by_name:
        # as in Spark: columns of the clause without a value come last
        others = [name for name in table.schema.names if name not in spec]
        columns = [*others, *dynamic]
    query = words.rest()
    is_values = query.lstrip().upper().startswith("VALUES")
    if by_name and is_values:
        raise InvalidArgument("rows of VALUES have no names to match columns by: leave BY NAME out")
    found = run(target.spark, prefix + query)
    rows = assigned(by_fields(found, table) if by_name else found, table, columns, static, by_name=by_name)
    replaced = None if not static or replaces_found(target.spark, table, static) else static
    mode, replaced = ("overwrite", replaced) if overwrites else ("append", None)
    (write_here if is_values else write)(rows, table, mode, partition=replaced)
    return target.nothing()


def _common_tables(words: Words) -> str:
    """The WITH clause that stands before INSERT."""
    if not words.follows("WITH"):
        return ""
    return words.until("INSERT") + " "
