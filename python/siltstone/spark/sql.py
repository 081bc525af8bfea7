"""SQL over Paimon tables without a catalog plugin.

Source: semantics i. A query runs with a frame in the place of each Paimon table (``queries``), other statements about
tables of the warehouse have a function each (``statements``). What touches no Paimon table reaches Spark as it came, or
is refused where Spark would do it to a table of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from siltstone._args import text
from siltstone._spellings import hinted, known_as
from siltstone.errors import UnsupportedFeature
from siltstone.procedures import is_call, parse_call, run_call
from siltstone.spark.allowed import changes_rows, check, first_words
from siltstone.spark.parameters import bound
from siltstone.spark.queries import run
from siltstone.spark.session import OWN_CONF, connected, current_database, no_warehouse, table_of, warehouse_of
from siltstone.spark.settings import looked_up_once
from siltstone.spark.statements import Statement, Target, statement_of
from siltstone.spark.statements.target import OfSpark
from siltstone.spark.variables import substituted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from siltstone import Table

_EXPLAIN = re.compile(r"\s*EXPLAIN\s+((?:EXTENDED|CODEGEN|COST|FORMATTED)\s+)?", re.IGNORECASE)
#: Statements that change nothing: about tables of Spark's own they are Spark's.
_LOOKS = ("SHOW", "DESC", "DESCRIBE", "REFRESH")
#: What Spark says of names that it does not know, and of a text that it cannot read.
_UNKNOWN = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "UNRESOLVABLE_TABLE_VALUED_FUNCTION")
_NOT_READ = "PARSE_SYNTAX_ERROR"


@hinted
@known_as(sqlQuery="query=...", parameters="args=...", params="args=...")
def sql(spark: SparkSession, query: str, args: Mapping[str, Any] | Sequence[Any] | None = None) -> DataFrame:
    """Run a statement that may name Paimon tables, in a session that :func:`enable` has prepared.

    ``SELECT`` takes ``db.t``, ``db.t$snapshots`` and the other system tables, ``db.t$branch_b``, ``VERSION AS OF`` (a
    number is a snapshot, a text a tag), ``TIMESTAMP AS OF`` with any constant, and behind the table's name
    ``/*+ OPTIONS('scan.tag-name' = 'v1') */`` with options of reading. ``CALL sys.<procedure>(...)`` has Java's names;
    what it has to say beside its result is logged.
    Statements about databases and tables of the warehouse do what they do in Paimon's Spark catalog: ``CREATE``,
    ``DROP`` and ``ALTER`` of databases and tables, tags and branches, ``INSERT``, ``DELETE``, ``UPDATE``, ``MERGE``,
    ``TRUNCATE``, ``ANALYZE``, ``SHOW``, ``DESCRIBE`` and ``USE`` (docs/spark.md has a table of them). A name without a
    database is a temporary view, else a table of the database that ``USE`` named, else of the session's.
    Variables (``${name}``) are put in first, as Spark does it; ``RESET`` leaves the warehouse and what ``USE`` said.
    Queries without a Paimon table, and what stays in the session (``SET``, ``CREATE TEMPORARY VIEW`` ...), go to Spark.
    Every other statement is refused: Spark would do it to a table of its own. All tables of a query are read at the
    versions that are the latest when it is given; only the columns and rows that it can need are read.

    Args:
        spark: The session.
        query: One statement.
        args: Values of its parameters: by name, ``{"day": ...}`` for ``:day``, or a list of those for each ``?``.
            Statements of all kinds take them: numbers, texts, truth values, dates, times, bytes and None.

    Raises:
        InvalidArgument: A procedure, version or hint that cannot be read; a table, and the session has no warehouse.
        CommitConflict: Other commits got in the way of a procedure, also of a compaction that was given up.
        UnsupportedFeature: A statement, or a clause of one, that cannot be carried out, with the Python call to use in
            the hint; a hint that has no meaning here.
    """
    with looked_up_once(spark):
        return _run(spark, bound(spark, substituted(spark, text("query", query)), args))


def _run(spark: SparkSession, query: str) -> DataFrame:
    if is_call(query):
        return _call(spark, query)
    prefix, body = _explain(query)
    words = first_words(body)
    if words and words[0] == "WITH" and (change := changes_rows(body)) is not None:
        words = change
    statement = None if prefix or not words else statement_of(words)
    if warehouse_of(spark) is None:
        return _without_warehouse(spark, query, body, is_statement=statement is not None)
    if words and words[0] == "RESET":
        return _reset(spark, query)
    if statement is not None:
        return _carried_out(statement, spark, query, words)
    if not prefix:
        check(body)
    return run(spark, body, prefix)


def _carried_out(statement: Statement, spark: SparkSession, query: str, words: list[str]) -> DataFrame:
    try:
        return statement(Target(spark), query)
    except OfSpark as e:
        if words[0] not in _LOOKS:
            raise UnsupportedFeature(e.message, hint=e.hint) from None
        return spark.sql(query)


def _without_warehouse(spark: SparkSession, query: str, body: str, *, is_statement: bool) -> DataFrame:
    """What Spark makes of a statement in a session that :func:`enable` was given no warehouse for.

    Raises:
        InvalidArgument: It is one about tables of a warehouse, or names what Spark does not know.
    """
    from pyspark.errors import AnalysisException

    try:
        check(body)
    except UnsupportedFeature:
        if not is_statement:
            raise
        raise no_warehouse() from None
    try:
        answer = spark.sql(query)
        answer.schema  # noqa: B018  # Spark Connect looks at a statement only when it is asked for its schema
    except AnalysisException as e:
        unknown = str(e.getCondition()).startswith(_UNKNOWN) or ("$" in body and e.getCondition() == _NOT_READ)
        if not unknown:
            raise
        raise no_warehouse(f", and in Spark: {str(e).strip().splitlines()[0]}") from e
    return answer


def _reset(spark: SparkSession, query: str) -> DataFrame:
    """Let Spark forget settings, but not what :func:`enable` and ``USE`` have said."""
    own = {key: value for key in OWN_CONF if (value := spark.conf.get(key, None)) is not None}
    answer = spark.sql(query)
    if first_words(query)[1] in ("", ";"):
        for key, value in own.items():
            spark.conf.set(key, value)
    return answer


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
