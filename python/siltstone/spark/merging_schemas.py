"""Columns of a frame that a table does not have yet: ``merge_schema=True``.

Source: ``SchemaMergingUtils``: columns are added at the end, numbers become wider, and nothing becomes narrower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from siltstone.errors import UnsupportedType
from siltstone.procedures.naming import quoted
from siltstone.spark.column_names import ColumnNames

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from siltstone import Table

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")


def merge_schema(schema: StructType, table: Table) -> None:
    """Give a table the columns, and the wider types, of a frame."""
    from siltstone.spark.types import spark_schema

    fields = {field.name: field for field in spark_schema(table.schema)}
    known = ColumnNames(fields)
    change, any_change = table.alter(), False
    for field in schema:
        name = known.find(field.name)
        if name is None:
            change.add_column(field.name, paimon_type(field.dataType))
            any_change = True
        elif wider := _wider(fields[name].dataType, field.dataType):
            change.set_type(name, wider)
            any_change = True
    if any_change:
        change.commit()


def paimon_type(t: Any) -> str:
    """A Spark type as Paimon's SQL; nullable.

    Raises:
        UnsupportedType: Paimon has no such type.
    """
    from pyspark.sql import types as st

    if isinstance(t, st.DecimalType):
        return f"DECIMAL({t.precision}, {t.scale})"
    if isinstance(t, st.ArrayType):
        return f"ARRAY<{paimon_type(t.elementType)}>"
    if isinstance(t, st.MapType):
        return f"MAP<{paimon_type(t.keyType)} NOT NULL, {paimon_type(t.valueType)}>"
    if isinstance(t, st.StructType):
        return f"ROW<{', '.join(f'{quoted(f.name)} {paimon_type(f.dataType)}' for f in t)}>"
    simple: dict[type, str] = {
        st.BooleanType: "BOOLEAN",
        st.ByteType: "TINYINT",
        st.ShortType: "SMALLINT",
        st.IntegerType: "INT",
        st.LongType: "BIGINT",
        st.FloatType: "FLOAT",
        st.DoubleType: "DOUBLE",
        st.StringType: "STRING",
        st.BinaryType: "BYTES",
        st.DateType: "DATE",
        st.TimestampType: "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        st.TimestampNTZType: "TIMESTAMP(6)",
    }
    kind = simple.get(type(t))
    if kind is None:
        raise UnsupportedType(f"Paimon has no counterpart of Spark's {t.simpleString()}")
    return kind


def _wider(mine: Any, given: Any) -> str | None:
    """The type that a column needs for given values, where that is a wider one."""
    from pyspark.sql import types as st

    if isinstance(mine, st.DecimalType) and isinstance(given, st.DecimalType):
        whole = max(mine.precision - mine.scale, given.precision - given.scale)
        scale = max(mine.scale, given.scale)
        made = st.DecimalType(whole + scale, scale)
        return paimon_type(made) if made != mine else None
    if isinstance(mine, st.FloatType) and isinstance(given, st.DoubleType):
        return "DOUBLE"
    if isinstance(mine, st.IntegralType) and isinstance(given, st.IntegralType):
        before, after = (_INTEGERS.index(paimon_type(one)) for one in (mine, given))
        return _INTEGERS[after] if after > before else None
    return None
