"""``CREATE TABLE`` of a Paimon table, with the meaning that Paimon's Spark catalog gives it.

Columns have Spark's types, ``TBLPROPERTIES`` are the table's options, of which ``primary-key`` names the key. What else
a statement asks for is refused by name.

Source: ``SparkTypeUtils``, ``SparkCatalog.createTable``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from siltstone.errors import IllegalSchema, InvalidArgument, UnsupportedFeature
from siltstone.procedures.naming import CATALOGS
from siltstone.spark.allowed import first_words
from siltstone.spark.column_types import BACKTICKS, column, literal_text, unsupported
from siltstone.spark.session import connected, current_database

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMATS = ("paimon", "siltstone")
#: Without it Spark finds names equal that differ by case alone.
_CASE_CONF = "spark.sql.caseSensitive"


@dataclass
class Creation:
    """What a statement asks for.

    Attributes:
        catalog: The first of three parts of the name, or empty.
        database: The database, or empty.
        name: The table's own name.
        fields: Columns as in the schema JSON.
        partition_by: Partition columns.
        options: Table options.
        comment: The table's comment.
        if_not_exists: A table that is there stays.
    """

    catalog: str
    database: str
    name: str
    fields: list[dict[str, Any]]
    partition_by: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    if_not_exists: bool = False


def is_creation(query: str) -> bool:
    """Whether a statement is a ``CREATE TABLE``, whatever follows."""
    return first_words(query)[:2] == ["CREATE", "TABLE"]


def create(spark: SparkSession, tree: Any) -> DataFrame:
    """Make the table in the session's warehouse.

    Args:
        spark: A session with a warehouse.
        tree: What sqlglot makes of the statement; None where it cannot read it.

    Raises:
        IllegalSchema: Columns whose names Spark finds equal.
        UnsupportedFeature: The database is none of the warehouse, or the statement asks for what has no meaning here.
    """
    from pyspark.sql.types import StructType

    asked = creation(tree)
    if str(spark.conf.get(_CASE_CONF, "false")).lower() != "true":
        _refuse_alike(asked)
    catalog = connected(spark)
    database = asked.database or current_database(spark)
    if (asked.catalog and asked.catalog.lower() not in CATALOGS) or database not in catalog.databases():
        raise UnsupportedFeature(
            f"CREATE TABLE in {database} is not supported in siltstone.spark.sql: it is no database of the warehouse, "
            "and Spark would make a table of its own",
            hint="siltstone.connect(warehouse).create_database(name) makes it; what is meant for Spark's own tables "
            "goes through spark.sql(...)",
        )
    catalog.create_table(
        f"{database}.{asked.name}",
        asked.fields,
        partition_by=asked.partition_by,
        options=asked.options,
        comment=asked.comment,
        if_not_exists=asked.if_not_exists,
    )
    return spark.createDataFrame([], StructType([]))


def _refuse_alike(asked: Creation) -> None:
    """Spark could read none of two columns whose names it finds equal."""
    names: dict[str, str] = {}
    for name in (found["name"] for found in asked.fields):
        other = names.setdefault(name.lower(), name)
        if other != name:
            raise IllegalSchema(
                f"the columns {other} and {name} differ by case alone: Spark finds their names equal",
                hint=f"give one of them another name, or set {_CASE_CONF} to true",
            )


def creation(tree: Any) -> Creation:
    """What a statement asks for.

    Raises:
        InvalidArgument: It is no ``CREATE TABLE`` that can be read.
        UnsupportedFeature: It asks for something that has no meaning here.
        UnsupportedType: A column of a type that Paimon does not have.
    """
    from sqlglot import exp

    if not isinstance(tree, exp.Create) or tree.kind != "TABLE":
        raise InvalidArgument(
            "this CREATE TABLE cannot be read",
            hint="CREATE TABLE [IF NOT EXISTS] db.t (column type [NOT NULL] [COMMENT text], ...) "
            "[PARTITIONED BY (column, ...)] [COMMENT text] [TBLPROPERTIES ('primary-key' = 'column, ...', ...)]; "
            f"{BACKTICKS}",
        )
    if tree.expression:
        raise unsupported("AS SELECT", "make the table first, then siltstone.spark.write(frame, name)")
    known = ("this", "kind", "exists", "properties", "expression")
    if other := next((key for key, value in tree.args.items() if value and key not in known), None):
        raise unsupported(other.replace("_", " ").upper())
    schema = tree.this
    if not isinstance(schema, exp.Schema):
        like = next((p for p in _properties(tree) if isinstance(p, exp.LikeProperty)), None)
        raise unsupported("LIKE" if like else "a table without columns", "name the columns and their types")
    table = schema.this
    asked = Creation(table.catalog, table.db, table.name, [column(c) for c in schema.expressions])
    asked.if_not_exists = bool(tree.args.get("exists"))
    for given in _properties(tree):
        _property(asked, given)
    return asked


def _properties(tree: Any) -> list[Any]:
    properties = tree.args.get("properties")
    return list(properties.expressions) if properties else []


def _property(asked: Creation, given: Any) -> None:
    from sqlglot import exp

    match given:
        case exp.FileFormatProperty() if given.name.lower() in _FORMATS:
            pass
        case exp.FileFormatProperty():
            raise unsupported(f"USING {given.name}", "leave it out, or write USING paimon")
        case exp.PartitionedByProperty():
            _once("PARTITIONED BY", asked.partition_by)
            asked.partition_by = [_partition_column(c) for c in given.this.expressions]
        case exp.SchemaCommentProperty():
            _once("COMMENT of the table", asked.comment)
            asked.comment = literal_text("COMMENT", given.this)
        case _ if type(given) is exp.Property:
            key = given.this.name if isinstance(given.this, exp.Literal) else given.this.sql("spark")
            if key in asked.options:
                raise InvalidArgument(f"TBLPROPERTIES name '{key}' twice")
            asked.options[key] = _value(key, given.args["value"])
        case _:
            raise unsupported(given.sql("spark"))


def _once(what: str, before: object) -> None:
    if before:
        raise InvalidArgument(f"{what} stands twice")


def _value(key: str, value: Any) -> str:
    from sqlglot import exp

    if isinstance(value, exp.Boolean):
        return "true" if value.this else "false"
    if isinstance(value, (exp.Literal, exp.RawString)):
        return str(value.this)
    raise InvalidArgument(f"the value {value.sql('spark')} of '{key}' is no text, number or truth value")


def _partition_column(given: Any) -> str:
    from sqlglot import exp

    if isinstance(given, (exp.Identifier, exp.Column)):
        return str(given.name)
    raise unsupported(
        f"PARTITIONED BY ({given.sql('spark')})",
        "partition columns are named here, and have their types among the others",
    )
