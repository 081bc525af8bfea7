"""Statements about tables of the warehouse, one function each; ``STATEMENTS`` has a line for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from siltstone.spark.statements.alter import alter_table
from siltstone.spark.statements.change import delete, update
from siltstone.spark.statements.databases import alter_database, create_database, drop_database, use
from siltstone.spark.statements.describe import describe
from siltstone.spark.statements.insert import insert
from siltstone.spark.statements.merge import merge
from siltstone.spark.statements.show import (
    show_branches,
    show_columns,
    show_create_table,
    show_databases,
    show_partitions,
    show_procedures,
    show_properties,
    show_table_extended,
    show_tables,
    show_tags,
)
from siltstone.spark.statements.tables import (
    analyze_table,
    comment_on_table,
    create_table,
    drop_table,
    refresh_table,
    truncate_table,
)
from siltstone.spark.statements.target import Target
from siltstone.spark.statements.views import create_view

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Statement = Callable[[Target, str], "DataFrame"]

#: What runs a statement, by the words that it begins with; the first line that fits.
STATEMENTS: tuple[tuple[str, Statement], ...] = (
    ("CREATE DATABASE", create_database),
    ("CREATE SCHEMA", create_database),
    ("CREATE NAMESPACE", create_database),
    ("DROP DATABASE", drop_database),
    ("DROP SCHEMA", drop_database),
    ("DROP NAMESPACE", drop_database),
    ("ALTER DATABASE", alter_database),
    ("ALTER SCHEMA", alter_database),
    ("ALTER NAMESPACE", alter_database),
    ("USE", use),
    ("CREATE TABLE", create_table),
    ("CREATE TEMPORARY VIEW", create_view),
    ("CREATE TEMP VIEW", create_view),
    ("CREATE GLOBAL TEMPORARY VIEW", create_view),
    ("CREATE GLOBAL TEMP VIEW", create_view),
    ("CREATE OR REPLACE TEMPORARY VIEW", create_view),
    ("CREATE OR REPLACE TEMP VIEW", create_view),
    ("CREATE OR REPLACE GLOBAL TEMPORARY VIEW", create_view),
    ("CREATE OR REPLACE GLOBAL TEMP VIEW", create_view),
    ("DROP TABLE", drop_table),
    ("ALTER TABLE", alter_table),
    ("TRUNCATE TABLE", truncate_table),
    ("ANALYZE TABLE", analyze_table),
    ("COMMENT ON TABLE", comment_on_table),
    ("REFRESH TABLE", refresh_table),
    ("SHOW DATABASES", show_databases),
    ("SHOW SCHEMAS", show_databases),
    ("SHOW NAMESPACES", show_databases),
    ("SHOW TABLES", show_tables),
    ("SHOW TABLE", show_table_extended),
    ("SHOW COLUMNS", show_columns),
    ("SHOW PARTITIONS", show_partitions),
    ("SHOW TBLPROPERTIES", show_properties),
    ("SHOW CREATE TABLE", show_create_table),
    ("SHOW TAGS", show_tags),
    ("SHOW BRANCHES", show_branches),
    ("SHOW PROCEDURES", show_procedures),
    ("DESCRIBE", describe),
    ("DESC", describe),
    ("INSERT", insert),
    ("DELETE FROM", delete),
    ("UPDATE", update),
    ("MERGE", merge),
)


def statement_of(words: list[str]) -> Statement | None:
    """What runs a statement that begins with these words; None for what is no statement about tables.

    Args:
        words: The first words, in capitals.
    """
    for first, run in STATEMENTS:
        parts = first.split()
        if words[: len(parts)] == parts:
            return run
    return None


__all__ = ["STATEMENTS", "Statement", "Target", "statement_of"]
