"""``DESCRIBE``: a table's columns, and with EXTENDED what else there is to say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siltstone.errors import InvalidArgument, TableNotFound
from siltstone.spark.column_names import ColumnNames, tells_case
from siltstone.spark.definition import fields_of, own_options
from siltstone.spark.statements.target import OfSpark, Target, refused
from siltstone.spark.statements.words import Words
from siltstone.spark.types import spark_schema
from siltstone.system import SystemTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from siltstone import Table

_ROWS = "col_name STRING, data_type STRING, comment STRING"
_OF_SPARK = ("FUNCTION", "QUERY", "CATALOG", "SELECT", "WITH", "VALUES", "PROCEDURE")


def describe(target: Target, text: str) -> DataFrame:
    """Describe a table, a column of one, or a database of the warehouse; what else there is Spark describes."""
    words = Words(text, "DESCRIBE [TABLE] [EXTENDED | FORMATTED] db.t [column]")
    words.one_of("DESCRIBE", "DESC")
    if any(words.follows(word) for word in (*_OF_SPARK, "(")):
        return target.spark.sql(text)
    if any(words.take(word) for word in ("DATABASE", "SCHEMA", "NAMESPACE")):
        return _database(target, words, text)
    words.take("TABLE")
    extended = words.take("EXTENDED") or words.take("FORMATTED")
    table = _table(target, words)
    if words.follows("AS"):
        raise refused("DESCRIBE ... AS JSON", "DESCRIBE EXTENDED has the same as rows")
    if words.follows("PARTITION"):
        raise refused("DESCRIBE of a PARTITION", "read db.t$partitions")
    column = None if words.at_end else words.identifier()
    words.end()
    comments = {} if isinstance(table, SystemTable) else {f["name"]: f.get("description") for f in fields_of(table)}
    types = {found.name: found.dataType.simpleString() for found in spark_schema(table.schema)}
    if column is not None:
        return _column(target, table.name, column, types, comments)
    rows = [(name, kind, comments.get(name)) for name, kind in types.items()]
    if not isinstance(table, SystemTable):
        if table.partition_by:
            rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
            rows += [(name, types[name], comments.get(name)) for name in table.partition_by]
        rows += _details(table) if extended else []
    return target.rows(rows, _ROWS)


def _table(target: Target, words: Words) -> Table:
    parts = words.name()
    try:
        return target.any_table(parts, "DESCRIBE")
    except (OfSpark, TableNotFound):
        if [part.upper() for part in parts] != ["HISTORY"] or words.at_end:
            raise
        raise refused("DESCRIBE HISTORY", "read db.t$snapshots") from None


def _details(table: Table) -> list[tuple[str, str, str | None]]:
    options = ", ".join(f"{key}={value}" for key, value in sorted(own_options(table).items()))
    given = {
        "Name": table.name,
        "Comment": table.comment,
        "Primary Key": ", ".join(table.primary_key),
        "Location": table.location,
        "Provider": "paimon",
        "Table Properties": f"[{options}]",
    }
    return [("", "", ""), ("# Detailed Table Information", "", ""), *[(k, v, "") for k, v in given.items() if v]]


def _column(
    target: Target, table: str, column: str, types: dict[str, str], comments: dict[str, str | None]
) -> DataFrame:
    known = ColumnNames(types, exact=tells_case(target.spark))
    name = known.find(column)
    if name is None:
        raise known.missing(column, table, InvalidArgument)
    rows = [("col_name", name), ("data_type", types[name]), ("comment", comments.get(name) or "NULL")]
    return target.rows(rows, "info_name STRING, info_value STRING")


def _database(target: Target, words: Words, text: str) -> DataFrame:
    words.take("EXTENDED")
    parts = words.name()
    words.end()
    if not target.is_database(parts[-1]):
        return target.spark.sql(text)
    name = target.database(parts, "DESCRIBE DATABASE")
    rows = [("Namespace Name", name), *sorted(target.catalog.database(name).items())]
    return target.rows(rows, "info_name STRING, info_value STRING")
