"""SQL over Paimon tables without a catalog plugin.

Source: semantics i. A query runs with a frame in the place of each Paimon table (``queries``), other statements about
tables of the warehouse have a function each (``statements``). What touches no Paimon table reaches Spark as it came, or
is refused where Spark would do it to a table of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from siltstone._args import text
from siltstone.procedures import is_call, parse_call, run_call
from siltstone.spark.allowed import changes_rows, check, first_words
from siltstone.spark.queries import run
from siltstone.spark.session import connected, current_database, table_of, warehouse_of
from siltstone.spark.settings import looked_up_once
from siltstone.spark.statements import Target, statement_of
from siltstone.spark.statements.target import OfSpark
from siltstone.spark.variables import substituted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from siltstone import Table

_EXPLAIN = re.compile(r"\s*EXPLAIN\s+((?:EXTENDED|CODEGEN|COST|FORMATTED)\s+)?", re.IGNORECASE)
#: Statements that change nothing: about tables of Spark's own they are Spark's.
_LOOKS = ("SHOW", "DESC", "DESCRIBE")


def sql(spark: SparkSession, query: str) -> DataFrame:
    """Run a statement that may name Paimon tables, in a session that :func:`enable` has prepared.

    ``SELECT`` takes ``db.t``, ``db.t$snapshots`` and the other system tables, ``db.t$branch_b``, ``VERSION AS OF`` (a
    number is a snapshot, a text a tag), ``TIMESTAMP AS OF`` with any constant, and behind the table's name
    ``/*+ OPTIONS('scan.tag-name' = 'v1') */`` with options of reading. ``CALL sys.<procedure>(...)`` has Java's names;
    what it has to say beside its result is logged.
    Statements about databases and tables of the warehouse do what they do in Paimon's Spark catalog: ``CREATE``,
    ``DROP`` and ``ALTER`` of databases and tables, tags and branches, ``INSERT``, ``DELETE``, ``UPDATE``, ``MERGE``,
    ``TRUNCATE``, ``ANALYZE``, ``SHOW``, ``DESCRIBE`` and ``USE`` (docs/spark.md has a table of them). A name without a
    database is a temporary view, else a table of the database that ``USE`` named, else of the session's.
    Variables (``${name}``) are put in first, as Spark does it.
    Queries without a Paimon table, and what stays in the session (``SET``, ``CREATE TEMPORARY VIEW`` ...), go to Spark.
    Every other statement is refused: Spark would do it to a table of its own. All tables of a query are read at the
    versions that are the latest when it is given; only the columns and rows that it can need are read.

    Args:
        spark: The session.
        query: One statement.

    Raises:
        InvalidArgument: A procedure, version or hint that cannot be read.
        CommitConflict: Other commits got in the way of a procedure, also of a compaction that was given up.
        UnsupportedFeature: A statement, or a clause of one, that cannot be carried out, with the Python call to use in
            the hint; a hint that has no meaning here.
    """
    with looked_up_once(spark):
        return _run(spark, substituted(spark, text("query", query)))


def _run(spark: SparkSession, query: str) -> DataFrame:
    if is_call(query):
        return _call(spark, query)
    prefix, body = _explain(query)
    if warehouse_of(spark) is None:
        check(body)
        return spark.sql(query)
    words = first_words(body)
    if words and words[0] == "WITH" and (change := changes_rows(body)) is not None:
        words = change
    statement = None if prefix or not words else statement_of(words)
    if statement is not None:
        try:
            return statement(Target(spark), body)
        except OfSpark:
            if words[0] not in _LOOKS:
                raise
            return spark.sql(query)
    if not prefix:
        check(body)
    return run(spark, body, prefix)


def _explain(query: str) -> tuple[str, str]:
    match = _EXPLAIN.match(query)
    return (match[0], query[match.end() :]) if match else ("", query)


def _call(spark: SparkSession, query: str) -> DataFrame:
    """Run a procedure; its result has Java's columns."""
    from siltstone.spark.compaction import compact

    def find(name: str) -> Table:
        return table_of(spark, name)

    def tables(database: str) -> Iterable[str]:
        return connected(spark).tables(database)

    def on_executors(table: Table, **arguments: Any) -> Any:
        return compact(spark, table, **arguments)

    def database() -> str:
        return current_database(spark)

    def databases() -> Iterable[str]:
        return connected(spark).databases()

    result = run_call(parse_call(query), find, on_executors, tables, database, databases)
    return spark.createDataFrame(result.rows, result.schema)
