"""``CREATE``, ``DROP`` and ``ALTER DATABASE``, and ``USE``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from siltstone.errors import InvalidArgument, UnsupportedFeature
from siltstone.procedures.naming import CATALOGS, quoted
from siltstone.spark.session import DATABASE_CONF
from siltstone.spark.statements.target import Target, refused
from siltstone.spark.statements.words import Words

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = logging.getLogger("siltstone.spark")
_KINDS = ("DATABASE", "SCHEMA", "NAMESPACE")


def create_database(target: Target, text: str) -> DataFrame:
    """Make a database of the warehouse."""
    words = Words(text, "CREATE DATABASE [IF NOT EXISTS] db [COMMENT 'text'] [WITH DBPROPERTIES ('key' = 'value')]")
    words.expect("CREATE")
    words.one_of(*_KINDS)
    exists = words.take("IF", "NOT", "EXISTS")
    name = target.database(words.name(), "CREATE DATABASE")
    properties: dict[str, str] = {}
    while not words.at_end:
        if words.take("COMMENT"):
            properties["comment"] = words.string()
        elif words.take("WITH", "DBPROPERTIES") or words.take("WITH", "PROPERTIES"):
            properties |= {key: value or "" for key, value in words.properties().items()}
        elif words.take("LOCATION"):
            raise refused(
                "CREATE DATABASE with LOCATION", "a database of the warehouse lies below it: leave LOCATION out"
            )
        else:
            words.end()
    _create(target, name, properties, if_not_exists=exists)
    return target.nothing()


def _create(target: Target, name: str, properties: Mapping[str, str], *, if_not_exists: bool) -> None:
    """Make a database; as in Java, a catalog of directories drops its properties with a warning."""
    try:
        target.catalog.create_database(name, if_not_exists=if_not_exists, properties=properties or None)
    except UnsupportedFeature as e:
        if not properties or "location" in properties:
            raise
        target.catalog.create_database(name, if_not_exists=if_not_exists)
        _LOG.warning("CREATE DATABASE %s: %s, and these are left out: %s", name, e.message, ", ".join(properties))


def drop_database(target: Target, text: str) -> DataFrame:
    """Drop a database of the warehouse."""
    words = Words(text, "DROP DATABASE [IF EXISTS] db [RESTRICT | CASCADE]")
    words.expect("DROP")
    words.one_of(*_KINDS)
    exists = words.take("IF", "EXISTS")
    name = target.database(words.name(), "DROP DATABASE")
    cascade = words.take("CASCADE")
    if not cascade:
        words.take("RESTRICT")
    words.end()
    if not target.is_database(name) and target.spark.catalog.databaseExists(quoted(name)):
        raise UnsupportedFeature(
            f"DROP DATABASE {name} is not supported in siltstone.spark.sql: it is no database of the warehouse",
            hint="what is meant for Spark's own tables goes through spark.sql(...)",
        )
    target.catalog.drop_database(name, cascade=cascade, if_exists=exists)
    if target.spark.conf.get(DATABASE_CONF, None) == name:
        target.spark.conf.unset(DATABASE_CONF)
    return target.nothing()


def alter_database(target: Target, text: str) -> DataFrame:
    """Change properties of a database; only catalogs that keep some can."""
    words = Words(text, "ALTER DATABASE db {SET DBPROPERTIES ('key' = 'value', ...) | UNSET DBPROPERTIES ('key', ...)}")
    words.expect("ALTER")
    words.one_of(*_KINDS)
    name = target.database(words.name(), "ALTER DATABASE")
    if words.follows("SET", "LOCATION"):
        raise refused("ALTER DATABASE ... SET LOCATION", "a database of the warehouse lies below it")
    change = words.one_of("SET", "UNSET")
    words.one_of("DBPROPERTIES", "PROPERTIES")
    exists = change == "UNSET" and words.take("IF", "EXISTS")
    given = words.properties()
    words.end()
    if change == "SET":
        target.catalog.alter_database(name, properties={key: value or "" for key, value in given.items()})
        return target.nothing()
    if missing := [key for key in given if key not in target.catalog.database(name)] if not exists else []:
        raise InvalidArgument(
            f"the database {name} has no property '{missing[0]}'", hint="UNSET DBPROPERTIES IF EXISTS"
        )
    target.catalog.alter_database(name, remove=list(given))
    return target.nothing()


def use(target: Target, text: str) -> DataFrame:
    """Let names without a database mean tables of this one."""
    words = Words(text, "USE [DATABASE] db")
    words.expect("USE")
    if not any(words.take(kind) for kind in _KINDS) and words.follows("CATALOG"):
        return target.spark.sql(text)
    name = words.name()
    words.end()
    ours = len(name) == 1 or name[0].lower() in CATALOGS
    if len(name) == 1 and name[0].lower() in CATALOGS and not target.is_database(name[0]):
        return target.nothing()  # the catalog: names of its databases are known without it
    if ours and target.is_database(name[-1]):
        target.spark.conf.set(DATABASE_CONF, name[-1])
        return target.nothing()
    answer = target.spark.sql(text)
    target.spark.conf.unset(DATABASE_CONF)
    return answer
