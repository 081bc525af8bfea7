"""Types of Python as types of columns."""

from __future__ import annotations

import datetime as dt
import decimal
import types
import typing
from collections.abc import Mapping
from typing import Any, Union

from siltstone._args import shown
from siltstone.errors import InvalidArgument, UnsupportedType

_SCALARS = {
    int: "BIGINT",
    float: "DOUBLE",
    str: "STRING",
    bool: "BOOLEAN",
    bytes: "BYTES",
    bytearray: "BYTES",
    dt.date: "DATE",
    dt.datetime: "TIMESTAMP(6)",
    dt.time: "TIME(3)",
}


def sql_type(name: str, kind: Any) -> Any:
    """A type as SQL text; a text, or a type in the schema JSON, is taken as it is."""
    if not isinstance(kind, (str, Mapping, type)) and typing.get_origin(kind) is None:
        raise InvalidArgument(f"column '{name}' has {shown(kind)} where its type is expected")
    return kind if isinstance(kind, (str, Mapping)) else _of_python(name, kind)


def _of_python(name: str, kind: Any) -> str:
    if isinstance(kind, type) and kind in _SCALARS:
        return _SCALARS[kind]
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in {Union, types.UnionType} and len(inside) == 2 and type(None) in inside:  # noqa: PLR2004  # or None
        return _of_python(name, next(part for part in inside if part is not type(None)))
    if origin is list and len(inside) == 1:
        return f"ARRAY<{_of_python(name, inside[0])}>"
    if origin is dict and len(inside) == 2:  # noqa: PLR2004  # keys and values
        return f"MAP<{_of_python(name, inside[0])}, {_of_python(name, inside[1])}>"
    hint = "types of Python are int, float, str, bool, bytes, date, datetime, time, list[...] and dict[..., ...]"
    if kind is decimal.Decimal:
        hint = "say how many digits it has: 'DECIMAL(12, 2)'"
    raise UnsupportedType(f"the type {shown(kind)} of column '{name}' cannot be the type of a column", hint=hint)
