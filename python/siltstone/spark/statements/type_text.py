"""Types as Spark's SQL reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siltstone.procedures.naming import quoted

if TYPE_CHECKING:
    from pyspark.sql.types import DataType


def type_text(kind: DataType) -> str:
    """A type in SQL, such as ``STRUCT<`unit price`: INT>``; ``simpleString`` leaves names of fields without quotes."""
    from pyspark.sql import types as st

    if isinstance(kind, st.StructType):
        return f"STRUCT<{', '.join(f'{quoted(field.name)}: {type_text(field.dataType)}' for field in kind)}>"
    if isinstance(kind, st.ArrayType):
        return f"ARRAY<{type_text(kind.elementType)}>"
    if isinstance(kind, st.MapType):
        return f"MAP<{type_text(kind.keyType)}, {type_text(kind.valueType)}>"
    return kind.simpleString().upper()
