"""Types of columns as they are given: in SQL, of Python, of pyarrow, of polars."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from siltstone import _core
from siltstone._args import shown
from siltstone._pyarrow import has_pyarrow
from siltstone._sql_types import sql_type
from siltstone.errors import IllegalSchema, UnsupportedType


def column_type(name: str, kind: Any) -> Any:
    """A type of a column as SQL text; a text, or a type in the schema JSON, is taken as it is.

    Raises:
        UnsupportedType: No column has such a type.
    """
    if is_arrow(kind) or is_polars(kind):
        (text,) = _core.column_types(of_types({name: kind}))
        return text
    return sql_type(name, kind)


def of_types(columns: Mapping[str, Any]) -> Any:
    """Fields of the schema JSON, or a pyarrow schema, from types by column.

    Raises:
        IllegalSchema: Types of Arrow beside types in SQL.
        UnsupportedType: A type of Python that no column has.
    """
    if not any(is_arrow(kind) or is_polars(kind) for kind in columns.values()):
        return [{"name": name, "type": sql_type(name, kind)} for name, kind in columns.items()]
    if not has_pyarrow() and not any(isinstance(kind, str) for kind in columns.values()):
        import polars as pl

        return pl.Schema(columns)
    from siltstone._pyarrow import pa

    fields = []
    for name, kind in columns.items():
        if isinstance(kind, str):
            raise IllegalSchema(
                f"column '{name}' has a SQL type, and others have Arrow types",
                hint="write all types in SQL, or give all of them as Arrow types",
            )
        fields.append(pa.field(name, _arrow(name, kind)))
    return pa.schema(fields)


def of_polars(name: str, kind: Any) -> Any:
    """The type of pyarrow for one of polars.

    Raises:
        UnsupportedType: There is none.
    """
    import polars as pl

    from siltstone._pyarrow import pa

    try:
        if "Object" not in str(kind):  # which would be the bytes of addresses
            return pl.DataFrame(schema={name: kind}).to_arrow().schema.field(0).type
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError):
        pass
    raise UnsupportedType(
        f"column '{name}' has the type {kind} of polars, which is none of Arrow's",
        hint="give the column another type, for example with cast(...)",
        context={"column": name},
    )


def is_arrow(kind: Any) -> bool:
    """Whether a type is one of pyarrow."""
    return type(kind).__module__.partition(".")[0] == "pyarrow"


def is_polars(kind: Any) -> bool:
    """Whether a type is one of polars."""
    found = kind if isinstance(kind, type) else type(kind)
    return found.__module__.startswith("polars.")


def _arrow(name: str, kind: Any) -> Any:
    from siltstone._pyarrow import pa

    if isinstance(kind, pa.DataType):
        return kind
    if is_polars(kind):
        return of_polars(name, kind)
    plain: dict[Any, Any] = {
        int: pa.int64(),
        float: pa.float64(),
        str: pa.string(),
        bool: pa.bool_(),
        bytes: pa.binary(),
        dt.date: pa.date32(),
        dt.datetime: pa.timestamp("us"),
        dt.time: pa.time32("ms"),
    }
    if kind in plain:
        return plain[kind]
    raise UnsupportedType(f"the type {shown(kind)} of column '{name}' cannot be the type of a column")
