"""Columns of a query as values of a table's columns, by the rules of ``spark.sql.storeAssignmentPolicy=ANSI``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from siltstone.errors import InvalidArgument, SchemaMismatch
from siltstone.spark.column_names import ColumnNames, tells_case
from siltstone.spark.statements.fitting import always_fits, fitted
from siltstone.spark.statements.type_text import type_text
from siltstone.spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from siltstone import Table

_POLICY_CONF = "spark.sql.storeAssignmentPolicy"
#: Without it Spark's casts give other values, or none, where one does not fit.
_ANSI_CONF = "spark.sql.ansi.enabled"


def assigned(
    df: DataFrame, table: Table, columns: list[str] | None, static: Mapping[str, str | None], *, by_name: bool
) -> DataFrame:
    """The rows that an INSERT of a query's rows stores: all columns of the table, with their types.

    Args:
        df: The query's rows.
        table: The table.
        columns: The columns that the statement names; None for all that ``static`` does not have.
        static: Values of partition columns.
        by_name: The query's columns are matched by their names.

    Raises:
        SchemaMismatch: Too many or too few columns, or types that cannot be stored; without
            ``spark.sql.ansi.enabled`` also types of which some values do not fit.
    """
    from pyspark.sql import functions as F  # noqa: N812  # Spark's convention

    ansi = _casts_by_ansi(df.sparkSession)
    wanted = {field.name: field for field in spark_schema(table.schema)}
    known = ColumnNames(wanted, exact=tells_case(df.sparkSession))
    targets = _targets(table, known, columns, static)
    given = df.columns
    if by_name:
        targets = [_named(name, known, table) for name in given]
        if len(set(targets)) < len(targets) or set(targets) & set(static):
            raise SchemaMismatch(f"a column of {table.name} is given twice", context={"table": table.name})
    elif len(given) != len(targets):
        raise SchemaMismatch(
            f"the query has {len(given)} columns, and {len(targets)} of {table.name} are to be filled: "
            f"{', '.join(targets)}",
            hint="name the columns: INSERT INTO t (a, b) SELECT ..., or match them by name: INSERT INTO t BY NAME ...",
            context={"table": table.name},
        )
    numbered = df.toDF(*[f"c{at}" for at in range(len(given))])
    values: dict[str, Any] = {}
    for at, name in enumerate(targets):
        _check(df.schema[at].dataType, wanted[name].dataType, name, table, ansi=ansi)
        place = f"'{name}' of {table.name}"
        values[name] = F.expr(fitted(f"c{at}", df.schema[at].dataType, wanted[name].dataType, place))
    for name, value in static.items():
        _check_static(df.sparkSession, value, wanted[name].dataType, name, table)
        values[name] = F.lit(value)
    parts = []
    for name, field in wanted.items():
        value = values.get(name, F.lit(None))
        parts.append(value.cast(field.dataType).alias(name))
    return numbered.select(*parts)


def _casts_by_ansi(spark: Any) -> bool:
    policy = str(spark.conf.get(_POLICY_CONF, "ANSI")).upper()
    if policy != "ANSI":
        raise InvalidArgument(f"{_POLICY_CONF} is {policy}: siltstone.spark.sql stores by ANSI, and by nothing else")
    # without a default of ours: Spark's own depends on the environment
    return str(spark.conf.get(_ANSI_CONF)).lower() == "true"


def _targets(
    table: Table, known: ColumnNames, columns: list[str] | None, static: Mapping[str, str | None]
) -> list[str]:
    names = table.schema.names
    if columns is None:
        return [name for name in names if name not in static]
    targets: list[str] = []
    for column in columns:
        name = known.find(column)
        if name is None:
            raise known.missing(column, table.name)
        if name in targets or name in static:
            raise SchemaMismatch(f"{table.name} gets twice the column '{column}'", context={"table": table.name})
        targets.append(name)
    return targets


def _named(given: str, known: ColumnNames, table: Table) -> str:
    name = known.find(given)
    if name is None:
        raise known.missing(given, table.name)
    return name


def _check(given: Any, wanted: Any, name: str, table: Table, *, ansi: bool) -> None:
    if not storable(given, wanted):
        raise SchemaMismatch(
            f"column '{name}' of {table.name} is {wanted.simpleString()}: {given.simpleString()} is not stored there",
            hint=f"cast it: CAST(... AS {type_text(wanted)})",
            context={"table": table.name, "column": name},
        )
    if not ansi and not always_fits(given, wanted):
        raise SchemaMismatch(
            f"column '{name}' of {table.name} is {wanted.simpleString()}: with {_ANSI_CONF} = false Spark would store "
            f"another value where one of {given.simpleString()} does not fit",
            hint=f"set {_ANSI_CONF} to true, or say what is meant: CAST(... AS {type_text(wanted)})",
            context={"table": table.name, "column": name},
        )


def _check_static(spark: Any, value: str | None, wanted: Any, name: str, table: Table) -> None:
    if value is None or wanted.typeName() == "string":
        return
    [found] = spark.sql(f"SELECT TRY_CAST(:value AS {wanted.simpleString()})", args={"value": value}).collect()
    if found[0] is None:
        raise SchemaMismatch(
            f"partition column '{name}' of {table.name} is {wanted.simpleString()}, which '{value}' is not",
            context={"table": table.name, "column": name},
        )


def storable(given: Any, wanted: Any) -> bool:
    """Whether ANSI SQL lets values of one Spark type be stored as another; a value that does not fit is an error."""
    from pyspark.sql import types as st

    if isinstance(given, st.NullType) or given == wanted:
        return True
    if isinstance(wanted, st.ArrayType):
        return isinstance(given, st.ArrayType) and storable(given.elementType, wanted.elementType)
    if isinstance(wanted, st.MapType):
        return (
            isinstance(given, st.MapType)
            and storable(given.keyType, wanted.keyType)
            and storable(given.valueType, wanted.valueType)
        )
    if isinstance(wanted, st.StructType):
        return (
            isinstance(given, st.StructType)
            and len(given) == len(wanted)
            and all(storable(a.dataType, b.dataType) for a, b in zip(given, wanted, strict=True))
        )
    times = (st.DateType, st.TimestampType, st.TimestampNTZType)
    groups = ((st.NumericType,), times)
    if any(isinstance(given, group) and isinstance(wanted, group) for group in groups):
        return True
    return isinstance(wanted, st.StringType) and not isinstance(given, (st.ArrayType, st.MapType, st.StructType))
