"""Temporary views over Paimon tables: made again, of the latest versions, when a statement of ours names them.

Spark keeps what it has planned for a view's relation and uses it again: without this, a view would stay at the version
of its first use in some queries and not in others.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from siltstone.procedures.naming import quoted
from siltstone.spark.session import DATABASE_CONF

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The views of the session, as JSON: what they are made of, by name.
VIEWS_CONF = "spark.siltstone.views"
#: In the metadata of a view's first column: a view of the same name without it is somebody else's.
_MARK = "siltstone.view"
#: Where global temporary views are.
GLOBAL = "global_temp"


def key_of(name: str, *, is_global: bool) -> str:
    """How a view is known: names differ in more than case."""
    return f"{GLOBAL}.{name.lower()}" if is_global else name.lower()


def make(
    name: str,
    frame: DataFrame,
    columns: Sequence[str] | None,
    *,
    replaces: bool,
    is_global: bool,
) -> str | None:
    """Make a view of a frame; what tells it from others of its name, None where two of its columns have one name."""
    if columns is not None:
        frame = frame.toDF(*columns)
    names = [column.lower() for column in frame.columns]
    mark = None
    if names and len({*names}) == len(names):
        mark = uuid.uuid4().hex
        first, *others = frame.schema.fields
        marked = frame[quoted(first.name)].alias(first.name, metadata={**first.metadata, _MARK: mark})
        frame = frame.select(marked, *(frame[quoted(column.name)] for column in others))
    if is_global:
        (frame.createOrReplaceGlobalTempView if replaces else frame.createGlobalTempView)(name)
    else:
        (frame.createOrReplaceTempView if replaces else frame.createTempView)(name)
    return mark


def remember(
    spark: SparkSession,
    name: str,
    mark: str | None,
    query: str,
    columns: Sequence[str] | None,
    named: set[str],
    *,
    is_global: bool,
) -> None:
    """Know a view from now on, or no longer.

    Args:
        spark: A session.
        name: The view.
        mark: What :func:`make` gave.
        query: What it is of.
        columns: Its columns, where they have names of their own.
        named: The views and tables that the query names, as :func:`key_of` says; of a view that is made of itself, by
            others or not, Spark keeps what it was.
        is_global: Whether all sessions see it.
    """
    known, key = _known(spark), key_of(name, is_global=is_global)
    known.pop(key, None)
    if mark is not None and key not in _all_named(known, named):
        database = spark.conf.get(DATABASE_CONF, None)
        known[key] = {
            "name": name,
            "mark": mark,
            "query": query,
            "columns": columns,
            "named": sorted(named),
            "database": database,
        }
    spark.conf.set(VIEWS_CONF, json.dumps(known))


def refresh(spark: SparkSession, keys: set[str], run: Callable[[SparkSession, str], DataFrame]) -> None:
    """Make those of the views again that are ours still, of the latest versions of their tables."""
    known = _known(spark)
    for key in sorted(keys & known.keys()):
        view = known[key]
        is_global = key.startswith(f"{GLOBAL}.")
        if _mark_of(spark, f"{GLOBAL}.{quoted(view['name'])}" if is_global else quoted(view["name"])) != view["mark"]:
            continue
        with _database(spark, view["database"]):
            frame = run(spark, view["query"])
        mark = make(view["name"], frame, view["columns"], replaces=True, is_global=is_global)
        remember(spark, view["name"], mark, view["query"], view["columns"], {*view["named"]}, is_global=is_global)


def _known(spark: SparkSession) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(spark.conf.get(VIEWS_CONF, None) or "{}")
    return found


def _all_named(known: dict[str, Any], named: set[str]) -> set[str]:
    """With what the views among them name."""
    found: set[str] = set()
    waiting = [*named]
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += known.get(key, {}).get("named", [])
    return found


def _mark_of(spark: SparkSession, name: str) -> str | None:
    """What tells a view of ours; None where it is gone, or is another one."""
    if not spark.catalog.tableExists(name):
        return None
    fields = spark.table(name).schema.fields
    mark: str | None = fields[0].metadata.get(_MARK) if fields else None
    return mark


@contextlib.contextmanager
def _database(spark: SparkSession, database: str | None) -> Iterator[None]:
    """The database of bare names is the one of when the view was made."""
    before = spark.conf.get(DATABASE_CONF, None)
    _use(spark, database)
    try:
        yield
    finally:
        _use(spark, before)


def _use(spark: SparkSession, database: str | None) -> None:
    if database is None:
        spark.conf.unset(DATABASE_CONF)
    else:
        spark.conf.set(DATABASE_CONF, database)
