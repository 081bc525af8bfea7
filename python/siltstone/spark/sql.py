"""SQL over Paimon tables without a catalog plugin: table references become temporary views.

Source: semantics i.1 and i.2. sqlglot finds the references, Spark runs the rewritten text. A statement that touches no
Paimon table reaches Spark as it came.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
import re
import zoneinfo
from typing import TYPE_CHECKING, Any

from siltstone.errors import DatabaseNotFound, InvalidArgument, TableNotFound, UnsupportedFeature
from siltstone.procedures import is_call, parse_call, run_call
from siltstone.spark.reading import read
from siltstone.spark.session import table_of, warehouse_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from siltstone import Table

# `t$snapshots` without quotes: sqlglot would read `$snapshots` as a parameter
_SYSTEM = re.compile(
    r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|--[^\n]*|/\*.*?\*/)|(\b\w+(?:\$\w+)+)", re.DOTALL
)
_EXPLAIN = re.compile(r"\s*EXPLAIN\s+((?:EXTENDED|CODEGEN|COST|FORMATTED)\s+)?", re.IGNORECASE)
_CATALOGS = ("paimon", "siltstone")


def sql(spark: SparkSession, query: str) -> DataFrame:
    """Run a statement that may name Paimon tables, in a session that :func:`enable` has prepared.

    ``SELECT`` takes ``db.t``, ``db.t$snapshots`` and the other system tables, ``db.t$branch_b``, ``VERSION AS OF`` (a
    number is a snapshot, a text a tag) and ``TIMESTAMP AS OF``. ``CALL sys.<procedure>(...)`` has Java's names. What
    has no Paimon table goes to Spark untouched.

    Args:
        spark: The session.
        query: One statement.

    Raises:
        InvalidArgument: A procedure or version that cannot be read.
        UnsupportedFeature: A statement other than a query over a Paimon table.
    """
    if is_call(query):
        return _call(spark, query)
    warehouse = warehouse_of(spark)
    if warehouse is None:
        return spark.sql(query)
    prefix, body = _explain(query)
    tree = _parse(_SYSTEM.sub(lambda m: m[1] or f"`{m[2]}`", body))
    if tree is None or not _rewrite(spark, tree):
        return spark.sql(query)
    return spark.sql(prefix + tree.sql("spark"))


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


def _rewrite(spark: SparkSession, tree: Any) -> bool:
    """Put views in the place of Paimon tables; False when there is none."""
    from sqlglot import exp

    local = {cte.alias for cte in tree.find_all(exp.CTE)}
    found = []
    for node in list(tree.find_all(exp.Table)):
        name = _paimon_name(spark, node, local)
        if name is not None:
            found.append((node, name))
    if not found:
        return False
    if not isinstance(tree, exp.Query):
        what = f"{type(tree).__name__.upper()} on the Paimon table {found[0][1]} in SQL"
        raise UnsupportedFeature(
            f"{what} is not supported", hint="use siltstone.spark.write(...), or the methods of the table"
        )
    columns = _needed_columns(spark, tree, found)
    for node, name in found:
        view = _view(spark, name, node.args.get("version"), columns.get(id(node)))
        alias = node.alias or node.name
        node.replace(exp.alias_(exp.to_table(view), alias, table=True, quoted=True))
    return True


def _paimon_name(spark: SparkSession, node: Any, local: set[str]) -> str | None:
    """``db.t`` when the reference means a table of the warehouse."""
    parts = [node.catalog, node.db, node.name]
    if node.catalog and node.catalog.lower() not in _CATALOGS:
        return None
    if not node.db:
        if node.name in local or not node.name:
            return None
        parts[1] = spark.catalog.currentDatabase()
        if spark.catalog.tableExists(node.name):
            return None
    name = f"{parts[1]}.{parts[2]}"
    try:
        table_of(spark, name.partition("$")[0])
    except (DatabaseNotFound, TableNotFound, InvalidArgument):  # the last: not even a name
        return None
    return name


def _needed_columns(spark: SparkSession, tree: Any, found: list[tuple[Any, str]]) -> dict[int, list[str]]:
    """The columns that a query uses of each table; a table is missing here when that cannot be told."""
    from sqlglot import errors, exp
    from sqlglot.optimizer.scope import traverse_scope

    schemas = {id(node): table_of(spark, name).schema.names for node, name in found if "$" not in name}
    needed: dict[int, list[str]] = {}
    try:
        for scope in traverse_scope(tree):
            sources = {alias: s for alias, s in scope.sources.items() if isinstance(s, exp.Table)}
            if any(e.is_star for e in scope.expression.selects) or len(sources) != len(scope.sources):
                continue
            if any(c.table for c in scope.external_columns):
                continue
            _assign(scope, sources, schemas, needed)
    except errors.SqlglotError:
        return {}
    return needed


def _assign(scope: Any, sources: dict[str, Any], schemas: dict[int, list[str]], needed: dict[int, list[str]]) -> None:
    """Columns of one scope, when every one of them is found in exactly one table."""
    used: dict[int, list[str]] = {id(node): [] for node in sources.values()}
    using = [i.name for join in scope.expression.args.get("joins") or [] for i in join.args.get("using") or []]
    columns = [(c.table, c.name) for c in scope.columns] + [("", name) for name in using]
    for table, column in columns:
        homes = [n for alias, n in sources.items() if not table or alias.lower() == table.lower()]
        matching = [(id(n), name) for n in homes for name in schemas.get(id(n), []) if name.lower() == column.lower()]
        if not matching and not any(id(n) in schemas for n in homes):
            continue  # a column of a table that is not ours
        if not matching:
            return  # an alias of the query, or an error that Spark words better
        for node, name in matching:
            used[node].append(name)
    for node, names in used.items():
        if node in schemas:
            needed[node] = [n for n in schemas[node] if n in names] or schemas[node][:1]


def _view(spark: SparkSession, name: str, version: Any, columns: list[str] | None) -> str:
    """A temporary view over one version of a table; the same reference gets the same name."""
    given = _version(spark, version)
    frame = read(spark, name, columns, **given)
    text = repr((name, sorted(given.items()), columns))
    view = "siltstone_" + hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:16]
    frame.createOrReplaceTempView(view)
    return view


def _version(spark: SparkSession, node: Any) -> dict[str, Any]:
    """``VERSION AS OF`` and ``TIMESTAMP AS OF`` as arguments of :func:`read`."""
    if node is None:
        return {}
    value = node.expression
    from sqlglot import exp

    if not isinstance(value, exp.Literal):
        raise InvalidArgument(f"'{node.sql('spark')}': the version must be a literal")
    text = str(value.this)
    if node.this == "TIMESTAMP":
        return {"as_of": _time(spark, text, is_text=value.is_string)}
    return {"version": text if value.is_string else int(text)}


def _time(spark: SparkSession, text: str, *, is_text: bool) -> int:
    """Epoch milliseconds; a text is a time of the session's zone, a number counts seconds."""
    if not is_text:
        return int(float(text) * 1000)
    try:
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArgument(f"'{text}' is not a time such as 2026-11-20 08:00:00") from None
    if time.tzinfo is None:
        zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
        time = time.replace(tzinfo=zoneinfo.ZoneInfo(zone))
    return round(time.timestamp() * 1000)


def _call(spark: SparkSession, query: str) -> DataFrame:
    """Run a procedure; its result has Java's columns."""

    def find(name: str) -> Table:
        return table_of(spark, name)

    from siltstone.spark.compaction import compact

    def on_executors(table: Table, **arguments: Any) -> Any:
        return compact(spark, table, **arguments)

    result = run_call(parse_call(query), find, compact=on_executors)
    return spark.createDataFrame(result.rows, result.schema)
