"""Types as Spark's SQL reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from siltstone.procedures.naming import quoted

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

#: Types with a length that Spark's types of a frame do not have.
_LENGTH = re.compile(r"(?:VAR)?CHAR\(\d+\)")


def declared_type(kind: DataType, given: Any) -> str:
    """A type in SQL as a table is made with it.

    Args:
        kind: The type that Spark reads.
        given: The same in the schema JSON, which knows the lengths of texts and which fields are never null.
    """
    from pyspark.sql import types as st

    if isinstance(given, str):
        return found[0] if (found := _LENGTH.match(given)) else type_text(kind)
    if isinstance(kind, st.StructType) and "fields" in given:
        pairs = zip(kind, (field["type"] for field in given["fields"]), strict=True)
        return f"STRUCT<{', '.join(_field(field.name, field.dataType, inside) for field, inside in pairs)}>"
    if isinstance(kind, st.ArrayType) and "element" in given:
        return f"ARRAY<{declared_type(kind.elementType, given['element'])}>"
    if isinstance(kind, st.MapType) and "key" in given:
        return f"MAP<{declared_type(kind.keyType, given['key'])}, {declared_type(kind.valueType, given['value'])}>"
    return type_text(kind)


def _field(name: str, kind: DataType, given: Any) -> str:
    outer = given if isinstance(given, str) else given["type"]
    return f"{quoted(name)}: {declared_type(kind, given)}" + (" NOT NULL" if outer.endswith("NOT NULL") else "")


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
