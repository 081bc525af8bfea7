"""``SHOW``: databases, tables, partitions, columns, properties, tags and branches of the warehouse."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from siltstone.errors import InvalidArgument
from siltstone.procedures import PROCEDURES
from siltstone.procedures.naming import CATALOGS, quoted, spark_text
from siltstone.spark.definition import fields_of, own_options
from siltstone.spark.session import current_database
from siltstone.spark.statements.partitions import partition_values
from siltstone.spark.statements.target import Target, refused
from siltstone.spark.statements.type_text import declared_type
from siltstone.spark.statements.words import Words
from siltstone.spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from siltstone import Table

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?|true|false")


def show_databases(target: Target, text: str) -> DataFrame:
    """Databases of the warehouse, and those of Spark's own."""
    words = Words(text, "SHOW DATABASES [LIKE 'pattern']")
    words.expect("SHOW")
    words.one_of("DATABASES", "SCHEMAS", "NAMESPACES")
    pattern = _pattern(words)
    words.end()
    names = {*target.catalog.databases(), *(found.name for found in target.spark.catalog.listDatabases())}
    return target.rows([(name,) for name in _like(names, pattern)], "namespace STRING")


def show_tables(target: Target, text: str) -> DataFrame:
    """Tables of a database of the warehouse, with the session's temporary views; of any other one Spark shows them."""
    words = Words(text, "SHOW TABLES [IN db] [LIKE 'pattern']")
    words.expect("SHOW", "TABLES")
    given = words.name() if words.take("IN") or words.take("FROM") else [current_database(target.spark)]
    pattern = _pattern(words)
    words.end()
    database = given[-1]
    if len(given) == 1 and not target.is_database(database):
        return target.spark.sql(text)
    name = target.database(given, "SHOW TABLES IN")
    views = [found.name for found in target.spark.catalog.listTables() if found.isTemporary]
    rows = [(name, table, False) for table in _like(target.catalog.tables(name), pattern)]
    rows += [("", view, True) for view in _like(views, pattern)]
    return target.rows(rows, "namespace STRING, tableName STRING, isTemporary BOOLEAN")


def show_table_extended(target: Target, text: str) -> DataFrame:
    """What Spark has of its own tables alone."""
    words = Words(text, "SHOW TABLE EXTENDED [IN db] LIKE 'pattern'")
    words.expect("SHOW", "TABLE", "EXTENDED")
    given = words.name() if words.take("IN") or words.take("FROM") else [current_database(target.spark)]
    if target.is_database(given[-1]):
        raise refused("SHOW TABLE EXTENDED", "SHOW TABLES, then DESCRIBE EXTENDED db.t of each")
    return target.spark.sql(text)


def show_procedures(target: Target, text: str) -> DataFrame:
    """What ``CALL sys.…`` runs."""
    words = Words(text, "SHOW PROCEDURES [IN sys]")
    words.expect("SHOW", "PROCEDURES")
    if (words.take("IN") or words.take("FROM")) and words.name()[-1].lower() not in ("sys", *CATALOGS):
        return target.spark.sql(text)
    words.end()
    rows = [(CATALOGS[0], ["sys"], "sys", name) for name in sorted(PROCEDURES)]
    return target.rows(rows, "catalog STRING, namespace ARRAY<STRING>, schema STRING, procedure STRING")


def show_columns(target: Target, text: str) -> DataFrame:
    """Names of a table's columns."""
    words = Words(text, "SHOW COLUMNS IN db.t")
    words.expect("SHOW", "COLUMNS")
    words.one_of("IN", "FROM")
    parts = words.name()
    if words.take("IN") or words.take("FROM"):
        parts = [*words.name(), *parts]
    words.end()
    table = target.any_table(parts, "SHOW COLUMNS IN")
    return target.rows([(name,) for name in table.schema.names], "col_name STRING")


def show_partitions(target: Target, text: str) -> DataFrame:
    """Partitions that have files, as ``dt=2026-11-20/hour=8``."""
    words = Words(text, "SHOW PARTITIONS db.t [PARTITION (column = value, ...)]")
    words.expect("SHOW", "PARTITIONS")
    table = target.table(words.name(), "SHOW PARTITIONS")
    if not table.partition_by:
        raise InvalidArgument(f"{table.name} has no partitions", context={"table": table.name})
    wanted = partition_values(table, words) if words.take("PARTITION") else {}
    words.end()
    found = table.inspect("partitions", ["partition"]).to_arrow().column("partition").to_pylist()
    parts = [f"{column}={value}" for column, value in wanted.items()]
    rows = [(name,) for name in sorted(found) if set(parts) <= set(name.split("/"))]
    return target.rows(rows, "partition STRING")


def show_properties(target: Target, text: str) -> DataFrame:
    """Options of a table."""
    words = Words(text, "SHOW TBLPROPERTIES db.t [('key')]")
    words.expect("SHOW", "TBLPROPERTIES")
    table = target.table(words.name(), "SHOW TBLPROPERTIES")
    options = _properties(table)
    if words.follows("("):
        (key,) = words.properties()
        words.end()
        missing = f"Table {table.name} does not have property: {key}"
        return target.rows([(key, options.get(key, missing))], "key STRING, value STRING")
    words.end()
    return target.rows(sorted(options.items()), "key STRING, value STRING")


def _properties(table: Table) -> dict[str, str]:
    """Options, and the key as the option that it is in SQL."""
    options = own_options(table)
    return options | ({"primary-key": ",".join(table.primary_key)} if table.primary_key else {})


def show_create_table(target: Target, text: str) -> DataFrame:
    """The statement that makes such a table."""
    words = Words(text, "SHOW CREATE TABLE db.t")
    words.expect("SHOW", "CREATE", "TABLE")
    table = target.table(words.name(), "SHOW CREATE TABLE")
    words.take("AS", "SERDE")
    words.end()
    fields = {found["name"]: found for found in fields_of(table)}
    columns = []
    for column in spark_schema(table.schema):
        comment, default = (fields[column.name].get(key) for key in ("description", "defaultValue"))
        parts = [quoted(column.name), declared_type(column.dataType, fields[column.name]["type"])]
        parts += [] if column.nullable else ["NOT NULL"]
        parts += (
            [] if default is None else [f"DEFAULT {default if _NUMBER.fullmatch(default) else spark_text(default)}"]
        )
        parts += [f"COMMENT {spark_text(comment)}"] if comment else []
        columns.append("  " + " ".join(parts))
    database, _, name = table.name.partition(".")
    lines = [f"CREATE TABLE {quoted(database)}.{quoted(name)} (", ",\n".join(columns) + ")", "USING paimon"]
    if table.partition_by:
        lines.append(f"PARTITIONED BY ({', '.join(map(quoted, table.partition_by))})")
    if table.comment:
        lines.append(f"COMMENT {spark_text(table.comment)}")
    options = [f"  {spark_text(key)} = {spark_text(value)}" for key, value in sorted(_properties(table).items())]
    if options:
        lines += ["TBLPROPERTIES (", ",\n".join(options) + ")"]
    return target.rows([("\n".join(lines),)], "createtab_stmt STRING")


def show_tags(target: Target, text: str) -> DataFrame:
    """Names of a table's tags."""
    words = Words(text, "SHOW TAGS db.t")
    words.expect("SHOW", "TAGS")
    table = target.table(words.name(), "SHOW TAGS")
    words.end()
    return target.rows([(tag.name,) for tag in table.tags.list()], "tag STRING")


def show_branches(target: Target, text: str) -> DataFrame:
    """Names of a table's branches."""
    words = Words(text, "SHOW BRANCHES db.t")
    words.expect("SHOW", "BRANCHES")
    table = target.table(words.name(), "SHOW BRANCHES")
    words.end()
    return target.rows([(branch.name,) for branch in table.branches.list()], "branch STRING")


def _pattern(words: Words) -> str | None:
    if words.at_end:
        return None
    words.take("LIKE")
    return words.string()


def _like(names: Iterable[str], pattern: str | None) -> list[str]:
    """Names that fit a pattern of SHOW: ``*`` stands for anything, ``|`` for or, and case does not count."""
    parts = [] if pattern is None else [part.strip().lower().replace("[", "[[]") for part in pattern.split("|")]
    fits = [n for n in names if pattern is None or any(fnmatch.fnmatchcase(n.lower(), part) for part in parts)]
    return sorted(fits)
