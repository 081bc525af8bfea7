"""``SET spark.paimon.…``: options of tables in a session's configuration.

``spark.paimon.<option>`` is of all tables, ``spark.paimon.<catalog>.<database>.<table>.<option>`` of one, ``*`` of any.
What is of one table wins over what is of all, as in Java (``OptionUtils``); hints and arguments win over both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from siltstone._scoped import Scoped
from siltstone.procedures.naming import CATALOGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PREFIX = "spark.paimon."
_ANY = "*"
#: Catalog, database, table, option.
_OF_A_TABLE = 4
_known: Scoped[Mapping[str, str]] = Scoped("siltstone_settings")


@contextlib.contextmanager
def looked_up_once(spark: SparkSession) -> Iterator[None]:
    """Let all that a statement asks see the same settings, and ask Spark for them once."""
    if _known.get() is not None:
        yield
        return
    with _known.hold(_all(spark)):
        yield


def settings_of(spark: SparkSession, name: str) -> dict[str, str]:
    """The options that a session has for a table.

    Args:
        spark: The session.
        name: ``db.t``, also with a system table or branch behind it, or the table's directory.
    """
    known = _known.get()
    return options_of(_all(spark) if known is None else known, name)


def options_of(settings: Mapping[str, str], name: str) -> dict[str, str]:
    """The options that settings have for a table; the prefix is not in their keys."""
    own = _database_and_table(name)
    of_all: dict[str, str] = {}
    of_one: dict[str, str] = {}
    for key, value in settings.items():
        parts = key.split(".", _OF_A_TABLE - 1)
        if len(parts) < _OF_A_TABLE or parts[0] not in (*CATALOGS, _ANY):
            of_all[key] = value
        elif all(said in (_ANY, mine) for said, mine in zip(parts[1:3], own, strict=True)):
            of_one[parts[3]] = value
    return of_all | of_one


def _all(spark: SparkSession) -> dict[str, str]:
    # one question: `spark.conf.getAll` asks the JVM for each key and each value; SET hides values of keys like `token`
    keys = [row.key for row in spark.sql("SET").collect() if row.key.startswith(_PREFIX)]
    return {key.removeprefix(_PREFIX): str(spark.conf.get(key)) for key in keys}


def _database_and_table(name: str) -> tuple[str, str]:
    """The names of a table and its database; a directory has them, too."""
    parent, slash, last = name.rstrip("/").rpartition("/")
    if slash:
        return parent.rpartition("/")[2].removesuffix(".db"), last.partition("$")[0]
    database, _, table = name.partition("$")[0].rpartition(".")
    return database, table
