"""``DROP``, ``TRUNCATE`` and ``ANALYZE TABLE``, ``CREATE TABLE``, ``COMMENT ON TABLE``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siltstone.errors import InvalidArgument
from siltstone.procedures.naming import quoted
from siltstone.spark.column_names import ColumnNames, tells_case
from siltstone.spark.creation import create
from siltstone.spark.definition import fields_of, own_options
from siltstone.spark.queries import parse, run, understood
from siltstone.spark.statements.assignment import assigned
from siltstone.spark.statements.partitions import partition_values
from siltstone.spark.statements.target import Target, only_plain, refused
from siltstone.spark.statements.type_names import check_types, refuse_nulls
from siltstone.spark.statements.type_text import type_text
from siltstone.spark.statements.words import Words
from siltstone.spark.writing import write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def drop_table(target: Target, text: str) -> DataFrame:
    """Drop a table with its files."""
    words = Words(text, "DROP TABLE [IF EXISTS] db.t [PURGE]")
    words.expect("DROP", "TABLE")
    exists = words.take("IF", "EXISTS")
    name = only_plain(target.name(words.name(), "DROP TABLE"))
    words.take("PURGE")  # nothing goes into a bin in any case
    words.end()
    target.catalog.drop_table(name, if_exists=exists)
    return target.nothing()


def truncate_table(target: Target, text: str) -> DataFrame:
    """Remove all rows, or those of a partition."""
    words = Words(text, "TRUNCATE TABLE db.t [PARTITION (column = value, ...)]")
    words.expect("TRUNCATE", "TABLE")
    table = target.table(words.name(), "TRUNCATE TABLE")
    chosen = partition_values(table, words) if words.take("PARTITION") else None
    words.end()
    table.truncate(chosen)
    return target.nothing()


def analyze_table(target: Target, text: str) -> DataFrame:
    """Compute statistics of a table and all its columns, also where a statement names some of them."""
    words = Words(text, "ANALYZE TABLE db.t COMPUTE STATISTICS [FOR ALL COLUMNS | FOR COLUMNS a, b]")
    words.expect("ANALYZE", "TABLE")
    table = target.table(words.name(), "ANALYZE TABLE")
    if words.follows("PARTITION"):
        raise refused("ANALYZE TABLE of a PARTITION", "statistics are of the whole table: leave PARTITION out")
    words.expect("COMPUTE", "STATISTICS")
    if words.take("NOSCAN"):
        raise refused("ANALYZE TABLE with NOSCAN", "leave NOSCAN out, or read db.t$partitions")
    if words.take("FOR", "COLUMNS"):
        known = ColumnNames(table.schema.names, exact=tells_case(target.spark))
        while known.find(column := words.identifier()) is not None:
            if not words.take(","):
                break
        else:
            raise known.missing(column, table.name, InvalidArgument)
    else:
        words.take("FOR", "ALL", "COLUMNS")
    words.end()
    table.maintenance.analyze()
    return target.nothing()


def comment_on_table(target: Target, text: str) -> DataFrame:
    """Set or remove a table's comment."""
    words = Words(text, "COMMENT ON TABLE db.t IS 'text'")
    words.expect("COMMENT", "ON")
    words.one_of("TABLE")
    table = target.table(words.name(), "COMMENT ON TABLE")
    words.expect("IS")
    comment = None if words.take("NULL") else words.string()
    words.end()
    table.alter().set_table_comment(comment).commit()
    return target.nothing()


def create_table(target: Target, text: str) -> DataFrame:
    """Make a table: with columns, like another one, or with the rows of a query."""
    words = Words(text, "CREATE TABLE [IF NOT EXISTS] db.t [PARTITIONED BY (...)] [TBLPROPERTIES (...)] AS SELECT ...")
    words.expect("CREATE", "TABLE")
    exists = words.take("IF", "NOT", "EXISTS")
    parts = words.name()
    if words.follows("LIKE"):
        return create_table_like(target, text)
    name = only_plain(target.name(parts, "CREATE TABLE"))
    has_columns = words.follows("(") and not words.query_in_brackets
    clauses = words.until("AS") if not words.at_end and not words.follows("AS") else ""
    if words.at_end:
        tree = parse(understood(target.spark, text).readable)
        if tree is None:
            check_types(text)
        create(target.spark, tree)
        return target.nothing()
    if has_columns:
        raise refused(
            "CREATE TABLE with columns AS SELECT", "the query has the columns: leave them out, or INSERT INTO"
        )
    words.expect("AS")
    if exists and target.exists(name):
        return target.nothing()
    rows = run(target.spark, words.rest())
    refuse_nulls(rows.schema)
    columns = ", ".join(f"{quoted(f.name)} {type_text(f.dataType)}" for f in rows.schema)
    made = f"CREATE TABLE {'.'.join(map(quoted, name.split('.', 1)))} ({columns}) {clauses}"
    create(target.spark, parse(understood(target.spark, made).readable))
    try:
        table = target.catalog.table(name)
        write(assigned(rows, table, None, {}, by_name=True), table)
    except BaseException:
        target.catalog.drop_table(name)
        raise
    return target.nothing()


def refresh_table(target: Target, text: str) -> DataFrame:
    """Nothing: each statement reads the version that is the latest when it is given."""
    words = Words(text, "REFRESH TABLE db.t")
    words.expect("REFRESH", "TABLE")
    target.any_table(words.name(), "REFRESH TABLE")
    words.end()
    return target.nothing()


def create_table_like(target: Target, text: str) -> DataFrame:
    """Make a table with the columns, keys and options of another one."""
    words = Words(text, "CREATE TABLE [IF NOT EXISTS] db.t LIKE db.other [TBLPROPERTIES ('key' = 'value')]")
    words.expect("CREATE", "TABLE")
    exists = words.take("IF", "NOT", "EXISTS")
    name = only_plain(target.name(words.name(), "CREATE TABLE"))
    words.expect("LIKE")
    source = words.name()
    options: dict[str, str] = {}
    while not words.at_end:
        if words.take("USING"):
            words.one_of("PAIMON", "SILTSTONE")
        elif words.take("TBLPROPERTIES"):
            options |= {key: value or "" for key, value in words.properties().items()}
        elif words.follows("LOCATION") or words.follows("ROW") or words.follows("STORED"):
            raise refused("CREATE TABLE LIKE with LOCATION, ROW FORMAT or STORED AS", "leave it out")
        else:
            words.end()
    like = target.table(source, "CREATE TABLE LIKE")
    taken = {key: value for key, value in own_options(like).items() if key != "path"}
    target.catalog.create_table(
        name,
        fields_of(like),
        primary_key=like.primary_key,
        partition_by=like.partition_by,
        options={**taken, **options},
        comment=like.comment,
        if_not_exists=exists,
    )
    return target.nothing()
