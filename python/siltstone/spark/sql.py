"""SQL over Paimon tables without a catalog plugin: table references become frames.

Source: semantics i.1 and i.2. sqlglot finds the references, Spark runs the statement's own text with a frame
in the place of each. A statement that touches no Paimon table reaches Spark as it came.
"""

from __future__ import annotations

import logging
import re
import uuid
from typing import TYPE_CHECKING, Any

from siltstone._args import text
from siltstone.errors import DatabaseNotFound, InvalidArgument, SiltstoneError, TableNotFound, UnsupportedFeature
from siltstone.inspection import is_about_table
from siltstone.procedures import is_call, parse_call, run_call
from siltstone.procedures.naming import CATALOGS, quoted
from siltstone.spark.columns import needed
from siltstone.spark.creation import create, is_creation
from siltstone.spark.dialect import Statement, hint_options, names_version, statement
from siltstone.spark.places import Edit, Places, qualifiers
from siltstone.spark.reading import read
from siltstone.spark.session import connected, current_database, table_of, warehouse_of
from siltstone.spark.statements import check
from siltstone.spark.travel import version_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from siltstone import Table

_EXPLAIN = re.compile(r"\s*EXPLAIN\s+((?:EXTENDED|CODEGEN|COST|FORMATTED)\s+)?", re.IGNORECASE)


def sql(spark: SparkSession, query: str) -> DataFrame:
    """Run a statement that may name Paimon tables, in a session that :func:`enable` has prepared.

    ``SELECT`` takes ``db.t``, ``db.t$snapshots`` and the other system tables, ``db.t$branch_b``, ``VERSION AS OF`` (a
    number is a snapshot, a text a tag), ``TIMESTAMP AS OF`` with any constant, and behind the table's name
    ``/*+ OPTIONS('scan.tag-name' = 'v1') */`` with options of reading. ``CALL sys.<procedure>(...)`` has Java's names;
    what it has to say beside its result is logged.
    ``CREATE TABLE [IF NOT EXISTS] db.t (columns) [PARTITIONED BY (...)] [COMMENT ...] [TBLPROPERTIES (...)]`` makes a
    Paimon table where ``db`` is a database of the warehouse; the key is the property ``primary-key``.
    Queries without a Paimon table, and what stays in the session (``SET``, ``SHOW``, ``CREATE TEMPORARY VIEW`` ...), go
    to Spark untouched. Every other statement is refused: Spark would do it to a table of its own. Nothing stays behind
    in the session.

    Args:
        spark: The session.
        query: One statement.

    Raises:
        InvalidArgument: A procedure, version or hint that cannot be read.
        CommitConflict: Other commits got in the way of a procedure, also of a compaction that was given up.
        UnsupportedFeature: A statement that makes, changes or drops something, with the Python call to use in the hint;
            a hint that has no meaning here.
    """
    if is_call(text("query", query)):
        return _call(spark, query)
    prefix, body = _explain(query)
    if not prefix and is_creation(body) and warehouse_of(spark) is not None:
        return create(spark, _parse(_given(spark, body).readable))
    if not prefix:
        check(body)
    if warehouse_of(spark) is None:
        return spark.sql(query)
    given = _given(spark, body)
    tree = _parse(given.readable)
    if tree is None:
        return _not_understood(spark, query)
    rewritten, frames = _rewrite(spark, tree, given)
    if not frames:
        return spark.sql(query)
    # Spark forgets the names of the frames once it has understood the statement
    return spark.sql(prefix + rewritten, **frames)


def _given(spark: SparkSession, body: str) -> Statement:
    since_4 = spark.version.partition(".")[0] not in ("2", "3")
    return statement(body, doubled=since_4)


def _explain(query: str) -> tuple[str, str]:
    match = _EXPLAIN.match(query)
    return (match[0], query[match.end() :]) if match else ("", query)


def _parse(query: str) -> Any:
    """The statement as a tree; None for what sqlglot does not understand, which Spark then answers."""
    try:
        import sqlglot
    except ImportError as e:
        raise InvalidArgument("SQL over Paimon tables needs sqlglot", hint="pip install 'siltstone[spark]'") from e
    quiet = logging.getLogger("sqlglot")
    level = quiet.level
    quiet.setLevel(logging.ERROR)  # it warns of every statement that it leaves to Spark
    try:
        statements = sqlglot.parse(query, read="spark")
    except sqlglot.errors.SqlglotError:
        return None
    finally:
        quiet.setLevel(level)
    return statements[0] if len(statements) == 1 else None


def _not_understood(spark: SparkSession, query: str) -> DataFrame:
    """What Spark makes of a statement that sqlglot cannot read; it sees no Paimon table there."""
    from pyspark.errors import AnalysisException

    try:
        frame = spark.sql(query)
        frame.schema  # noqa: B018  # Spark Connect looks at a statement only when it is asked for its schema
    except AnalysisException as e:
        if e.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
            raise
        raise UnsupportedFeature(
            "sqlglot, which finds the Paimon tables of a statement, cannot read this one, and Spark does not know "
            f"all its tables: {str(e).splitlines()[0]}",
            hint="put names that are words of SQL, such as case, into backticks; or give the table a name: "
            "siltstone.spark.read(spark, 'db.t').createOrReplaceTempView('t')",
        ) from e
    return frame


def _rewrite(spark: SparkSession, tree: Any, given: Statement) -> tuple[str, dict[str, Any]]:
    """The text with places of frames where Paimon tables stand; the frames by place, none without such a table."""
    from sqlglot import exp

    found = _paimon_tables(spark, tree)
    if not found:
        return given.text, {}
    if not isinstance(tree, exp.Query):
        what = f"{type(tree).__name__.upper()} on the Paimon table {found[0][1]} in SQL"
        hint = "use siltstone.spark.write(...), or the methods of the table"
        if isinstance(tree, exp.Describe):
            hint = f"siltstone.connect(warehouse).table('{found[0][1]}') has its schema, its options and explain()"
        raise UnsupportedFeature(f"{what} is not supported", hint=hint)
    places = Places(given.text, given.readable)
    references = [
        (node, name, _query(spark, node, name, places.version_text(node), given.take_hint(node)))
        for node, name in found
    ]
    given.refuse_other_hints(found[0][1])
    frames: dict[str, tuple[str, DataFrame]] = {}
    edits: list[Edit] = qualifiers(tree, [node for node, _ in found], current_database(spark))
    for node, name, query in references:
        columns = needed(spark, given.text, node, _columns(spark, name, query))
        key = repr((name, query, columns))
        if key not in frames:
            frames[key] = (f"siltstone_{uuid.uuid4().hex}", read(spark, name, columns, **query))
        edits += places.table(node, frames[key][0])
    return places.edited(edits), dict(frames.values())


def _paimon_tables(spark: SparkSession, tree: Any) -> list[tuple[Any, str]]:
    """References to tables of the warehouse, with their names."""
    from sqlglot import exp

    local = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    nodes = [node for node in tree.find_all(exp.Table) if not node.find_ancestor(exp.Hint)]
    named = [(node, _paimon_name(spark, node, local)) for node in nodes]
    return [(node, name) for node, name in named if name is not None]


def _query(spark: SparkSession, node: Any, name: str, at: str | None, hint: str | None) -> dict[str, Any]:
    """How a reference wants its table to be read, as arguments of :func:`read`; ``at`` is what its version says."""
    version = node.args.get("version")
    query = version_arguments(spark, version, at or "")
    if hint is None:
        return query
    options = hint_options(name, hint)
    if is_about_table(name) and names_version(options):
        raise UnsupportedFeature(
            f"{name} looks at no single version: it is read without the hint /*+{hint}*/", context={"table": name}
        )
    if version is not None and names_version(options):
        raise InvalidArgument(f"{name} is read at two versions: '{version.sql('spark')}' and the hint /*+{hint}*/")
    return query | {"options": options}


def _columns(spark: SparkSession, name: str, query: dict[str, Any]) -> list[str]:
    """The columns of the version that is read; what is wrong with a hint's options says whose they are."""
    import pyarrow as pa

    options = query.get("options")
    try:
        scan = table_of(spark, name, options).scan(**{k: v for k, v in query.items() if k != "options"})
        return list(pa.schema(scan).names)
    except SiltstoneError as e:
        if not options:
            raise
        shown = ", ".join(f"{key}={value}" for key, value in options.items())
        raise type(e)(e.message, hint=e.hint, context={"table": name, "options": shown} | e.context) from e


def _paimon_name(spark: SparkSession, node: Any, local: set[str]) -> str | None:
    """``db.t`` when the reference means a table of the warehouse."""
    parts = [node.catalog, node.db, node.name]
    if node.catalog and node.catalog.lower() not in CATALOGS:
        return None
    if not node.db:
        if node.name.lower() in local or not node.name:
            return None
        parts[1] = current_database(spark)
        if spark.catalog.tableExists(quoted(node.name)):
            return None
    if "." in parts[1]:  # no database of the warehouse
        return None
    name = f"{parts[1]}.{parts[2]}"
    try:
        table_of(spark, name.partition("$")[0])
    except (DatabaseNotFound, TableNotFound, InvalidArgument):  # the last: not even a name
        return None
    return name


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

    result = run_call(parse_call(query), find, compact=on_executors, tables=tables, database=database)
    return spark.createDataFrame(result.rows, result.schema)
