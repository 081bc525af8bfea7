"""Types as statements write them, and what is said of a text that is none."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from siltstone.errors import InvalidArgument, UnsupportedType
from siltstone.procedures.naming import quoted
from siltstone.spark.queries import parse
from siltstone.spark.statements.words import Words

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

#: Names of Spark's types of columns.
_NAMES = (
    "ARRAY", "BIGINT", "BINARY", "BOOLEAN", "BYTE", "CHAR", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "INT", "INTEGER",
    "LONG", "MAP", "NUMERIC", "REAL", "SHORT", "SMALLINT", "STRING", "STRUCT", "TIMESTAMP", "TIMESTAMP_LTZ",
    "TIMESTAMP_NTZ", "TINYINT", "VARCHAR",
)  # fmt: skip
_VOID = "VOID"


def type_of(text: str, column: str | None = None) -> Any:
    """A type in the tree.

    Args:
        text: The type, as the user's own statement has it.
        column: The column that it is of, for the error.

    Raises:
        InvalidArgument: It is none.
        UnsupportedType: It is the type of NULL.
    """
    if (given := _read(text)) is not None:
        return given.selects[0].to
    context = {} if column is None else {"column": column}
    wrong = next((m[0] for m in re.finditer(r"[A-Za-z_]\w*", text) if _is_wrong(text, m)), text)
    if wrong.upper() == _VOID:
        raise UnsupportedType(
            f"'{wrong}' is the type of NULL, and no column has it",
            hint="name the type that its values will have, such as STRING",
            context=context,
        )
    near = difflib.get_close_matches(wrong.upper(), _NAMES, n=1)
    hint = f"did you mean {near[0]}?" if near else f"types: {', '.join(_NAMES)}"
    raise InvalidArgument(f"'{wrong}' is not a type", hint=hint, context=context)


def _read(text: str) -> Any:
    return parse(f"SELECT CAST(x AS {text})")


def _is_wrong(text: str, word: re.Match[str]) -> bool:
    """Whether all is well with another type in the place of a word."""
    return word[0].upper() not in _NAMES and _read(f"{text[: word.start()]}INT{text[word.end() :]}") is not None


def check_types(statement: str) -> None:
    """Look at the types in a ``CREATE TABLE`` that cannot be read.

    Raises:
        SiltstoneError: One of them is none.
    """
    words = Words(statement, "CREATE TABLE db.t (column type, ...)")
    words.expect("CREATE", "TABLE")
    words.take("IF", "NOT", "EXISTS")
    words.name()
    if not words.take("("):
        return
    while not (words.at_end or words.follows(")")):
        try:
            name, kind = words.identifier(), words.type()
        except InvalidArgument:  # the fault is in something else
            return
        type_of(kind, name)
        if not (words.follows(",") or words.follows(")")):
            words.until(",", ")")
        words.take(",")


def refuse_nulls(schema: DataType) -> None:
    """Make sure that the columns of a query, and the fields in them, have types.

    Raises:
        UnsupportedType: One is NULL in all rows.
    """
    for path in _nulls(schema):
        name = ".".join(path)
        raise UnsupportedType(
            f"'{name}' of the query is NULL in all rows, and has no type (VOID)",
            hint="give it one: CAST(NULL AS STRING)" + (f" AS {quoted(name)}" if len(path) == 1 else " in its place"),
            context={"column": name},
        )


def _nulls(kind: DataType) -> Iterator[tuple[str, ...]]:
    """Where a type is that of NULL: names of columns and fields."""
    from pyspark.sql import types as st

    if isinstance(kind, st.NullType):
        yield ()
    if isinstance(kind, st.StructType):
        for field in kind:
            yield from ((field.name, *path) for path in _nulls(field.dataType))
    elif isinstance(kind, st.ArrayType):
        yield from (("element", *path) for path in _nulls(kind.elementType))
    elif isinstance(kind, st.MapType):
        for name, part in (("key", kind.keyType), ("value", kind.valueType)):
            yield from ((name, *path) for path in _nulls(part))
