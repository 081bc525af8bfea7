"""Queries over Paimon tables: each reference becomes a relation with the columns and rows that the query needs.

Source: semantics i.2. sqlglot finds the references, Spark runs the query's own text with a frame in the place of each.
"""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from siltstone._pushed import that_binds
from siltstone.errors import DatabaseNotFound, InvalidArgument, SiltstoneError, TableNotFound, UnsupportedFeature
from siltstone.inspection import is_about_table
from siltstone.predicate import Expression
from siltstone.procedures.naming import CATALOGS, plain_name
from siltstone.spark.columns import needed
from siltstone.spark.conditions import Meaning
from siltstone.spark.dialect import Statement, hint_options, names_version, statement
from siltstone.spark.following import following
from siltstone.spark.max_partition import with_max_partitions
from siltstone.spark.metadata_columns import named_for
from siltstone.spark.not_found import add_where_looked
from siltstone.spark.places import Edit, Places, qualifiers
from siltstone.spark.pushdown import Pushdown
from siltstone.spark.reading import ScanRequest, columns_of, latest
from siltstone.spark.relations import relation
from siltstone.spark.session import current_database, is_of_spark, table_of
from siltstone.spark.source_reader import scan_of
from siltstone.spark.travel import version_arguments
from siltstone.system import SystemTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from siltstone import Table


#: What to do instead of statements that are about tables of Spark's own.
_INSTEAD = {
    "Cache": "siltstone.spark.table(spark, 'db.t').cache() keeps the rows of a frame",
    "Uncache": "frame.unpersist() lets the rows of a frame go",
    "Refresh": "leave it out: each statement reads the version that is the latest when it is given",
}
#: The database of the tables about the whole catalog.
_SYSTEM = "sys"
#: What Spark says of columns that it does not know, with the names of others.
_UNKNOWN_COLUMN = ("UNRESOLVED_COLUMN", "UNRESOLVED_USING_COLUMN")


def run(
    spark: SparkSession,
    query: str,
    prefix: str = "",
    *,
    versions: dict[str, int | None] | None = None,
    follows: bool = False,
) -> DataFrame:
    """Run a query; one that names no Paimon table reaches Spark as it came.

    Args:
        spark: A session with a warehouse.
        query: The query.
        prefix: ``EXPLAIN`` with what belongs to it, or nothing.
        versions: The latest snapshots of tables, looked up once for all queries that share them.
        follows: The frame reads what is the latest version when it is used.
    """
    from pyspark.errors import AnalysisException

    query = with_max_partitions(query, lambda name: table_of(spark, plain_name(name)))
    known = {} if versions is None else versions
    missing: dict[str, SiltstoneError] = {}
    try:
        return _answer(spark, query, prefix, known, missing, follows=follows)
    except AnalysisException as e:
        if not str(e.getCondition()).startswith(_UNKNOWN_COLUMN):
            add_where_looked(spark, e, missing)
            raise
    # again with all columns of the tables, so that Spark names those that may be meant
    return _answer(spark, query, prefix, known, missing, follows=follows, all_columns=True)


def _answer(
    spark: SparkSession,
    query: str,
    prefix: str,
    versions: dict[str, int | None],
    missing: dict[str, SiltstoneError],
    *,
    follows: bool,
    all_columns: bool = False,
) -> DataFrame:
    words = understood(spark, query)
    tree = parse(words.readable)
    if tree is None:
        return _not_understood(spark, prefix + query)
    found = _paimon_tables(spark, tree, missing)
    rewritten, frames = _rewrite(spark, tree, found, words, versions, follows=follows, all_columns=all_columns)
    if not frames:
        return spark.sql(prefix + query)
    # Spark forgets the names of the frames once it has understood the statement
    return spark.sql(prefix + rewritten, **frames)


def understood(spark: SparkSession, body: str) -> Statement:
    """A query in words that sqlglot reads."""
    since_4 = spark.version.partition(".")[0] not in ("2", "3")
    return statement(body, doubled=since_4)


def parse(query: str) -> Any:
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
        answer = spark.sql(query)
        answer.schema  # noqa: B018  # Spark Connect looks at a statement only when it is asked for its schema
    except AnalysisException as e:
        if e.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
            raise
        raise UnsupportedFeature(
            "sqlglot, which finds the Paimon tables of a statement, cannot read this one, and Spark does not know "
            f"all its tables: {str(e).splitlines()[0]}",
            hint="put names that are words of SQL, such as case, into backticks; or give the table a name: "
            "siltstone.spark.read(spark, 'db.t').createOrReplaceTempView('t')",
        ) from e
    return answer


def _rewrite(
    spark: SparkSession,
    tree: Any,
    found: list[tuple[Any, str]],
    given: Statement,
    versions: dict[str, int | None],
    *,
    follows: bool,
    all_columns: bool,
) -> tuple[str, dict[str, Any]]:
    """The text with places of frames where Paimon tables stand; the frames by place, none without such a table."""
    from sqlglot import exp

    if not found:
        return given.text, {}
    if not isinstance(tree, exp.Query):
        raise UnsupportedFeature(
            f"{type(tree).__name__.upper()} on the Paimon table {found[0][1]} in SQL is not supported",
            hint=_INSTEAD.get(type(tree).__name__, "use siltstone.spark.write(...), or the methods of the table"),
        )
    places = Places(given.text, given.readable)
    references = [
        _Reference(spark, node, name, _query(spark, node, name, places.version_text(node), given.take_hint(node)))
        for node, name in found
    ]
    for r in references:
        r.pin(None if follows else versions)
    given.refuse_other_hints(found[0][1])
    schemas = {id(r.node): r.schema for r in references if not isinstance(r.table, SystemTable)}
    conditions = Pushdown(given.text, tree, schemas, Meaning.of(spark, given.text))
    frames: dict[str, DataFrame] = {}
    edits: list[Edit] = qualifiers(tree, [node for node, _ in found], current_database(spark))
    for r in references:
        columns = r.schema.names if all_columns else needed(spark, given.text, r.node, r.schema)
        if not isinstance(r.table, SystemTable) and (named := named_for(r.node, r.table)):
            r.query["places"] = named
        place = f"siltstone_{uuid.uuid4().hex}"
        # a relation of its own for each reference: Spark keeps what a reader was told with its relation
        request = ScanRequest(spark, r.table, columns, _that_binds(r, conditions.of(r.node)), r.query)
        frames[place] = (following if follows and not r.named else relation)(request, r.schema)
        edits += places.table(r.node, place)
    return places.edited(edits), frames


def _that_binds(r: _Reference, condition: Expression | None) -> Expression | None:
    """What of a condition siltstone can compare (a VARIANT, say, it cannot); Spark looks at all rows again."""
    tree = None if condition is None else that_binds(scan_of(r.table, None, r.query), condition.tree)
    return None if tree is None else Expression(tree)


class _Reference:
    """A place in which a statement names a table, and the version that is read there."""

    def __init__(self, spark: SparkSession, node: Any, name: str, query: dict[str, Any]) -> None:
        """Open the table."""
        self.node, self._name = node, name
        self._options = query.pop("options", None)
        none = {"version": None, "tag": None, "as_of": None, "between": None, "mode": None}
        self.named = bool(self._options) or any(value is not None for value in query.values())
        self.query = none | query
        with self._said():
            self.table: Table = table_of(spark, name, self._options)

    def pin(self, versions: dict[str, int | None] | None) -> None:
        """Fix the version, where none is named, and look the columns up; ``versions`` has those that are known."""
        with self._said():
            if versions is not None and not self.named and self._name not in versions:
                versions[self._name] = latest(self.table, self.query)
            self.query["pinned"] = None if self.named or versions is None else versions[self._name]
            self.schema: pa.Schema = columns_of(self.table, self.query)

    @contextlib.contextmanager
    def _said(self) -> Iterator[None]:
        """What is wrong with a hint's options says whose they are."""
        try:
            yield
        except SiltstoneError as e:
            if not self._options:
                raise
            shown = ", ".join(f"{key}={value}" for key, value in self._options.items())
            raise type(e)(e.message, hint=e.hint, context={"table": self._name, "options": shown} | e.context) from e


def _paimon_tables(spark: SparkSession, tree: Any, missing: dict[str, SiltstoneError]) -> list[tuple[Any, str]]:
    """References to tables of the warehouse, with their names; ``missing`` gets what it says of others, as written."""
    from sqlglot import exp

    local = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    nodes = [node for node in tree.find_all(exp.Table) if not node.find_ancestor(exp.Hint)]
    named = [(node, _paimon_name(spark, node, local, missing)) for node in nodes]
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


def _paimon_name(spark: SparkSession, node: Any, local: set[str], missing: dict[str, SiltstoneError]) -> str | None:
    """``db.t`` when the reference means a table of the warehouse."""
    parts = [node.catalog, node.db, node.name]
    if node.catalog and node.catalog.lower() not in CATALOGS:
        return None
    if not node.db:
        if node.name.lower() in local or not node.name or is_of_spark(spark, node.name):
            return None
        parts[1] = current_database(spark)
    if "." in parts[1]:  # no database of the warehouse
        return None
    name = f"{parts[1]}.{parts[2]}"
    try:
        table_of(spark, name.partition("$")[0])
    except (DatabaseNotFound, TableNotFound, InvalidArgument) as e:  # the last: not even a name
        if parts[1].lower() == _SYSTEM and isinstance(e, TableNotFound) and not spark.catalog.databaseExists(_SYSTEM):
            raise  # the error has the names of those that there are
        missing[".".join(part.name for part in node.parts).lower()] = e
        return None
    return name
