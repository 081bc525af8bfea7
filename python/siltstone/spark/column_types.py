"""Columns of ``CREATE TABLE`` and ``ALTER TABLE``: Spark's types as Paimon's.

Source: ``SparkTypeUtils``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from siltstone.errors import InvalidArgument, UnsupportedFeature, UnsupportedType

#: Paimon's types by those that sqlglot finds for Spark's.
_SIMPLE = {
    "BOOLEAN": "BOOLEAN",
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    "INT": "INT",
    "BIGINT": "BIGINT",
    "FLOAT": "FLOAT",
    "DOUBLE": "DOUBLE",
    "TEXT": "STRING",
    "BINARY": "BYTES",
    "DATE": "DATE",
    "TIMESTAMPTZ": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "TIMESTAMPLTZ": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "TIMESTAMPNTZ": "TIMESTAMP(6)",
}
_NUMERIC = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL")
#: Types of Spark that Paimon does not have, under any name; what sqlglot has as no simple type is an INTERVAL.
_NOWHERE = ("", "INTERVAL", "NULL", "GEOMETRY", "GEOGRAPHY")
#: Types in a type of types.
_PARTS = {"ARRAY": 1, "MAP": 2}
#: How many numbers may follow a type.
_NUMBERS = {"CHAR": (1, 1), "VARCHAR": (1, 1), "DECIMAL": (0, 2)}
#: What helps where a name is not read as one.
BACKTICKS = "column names that are words of SQL, such as case, stand in backticks"


def column(given: Any) -> dict[str, Any]:
    """A column definition in the tree as a field of the schema JSON."""
    from sqlglot import exp

    if not isinstance(given, exp.ColumnDef):
        raise unsupported(given.sql("spark"), f"the key is the option 'primary-key' in TBLPROPERTIES; {BACKTICKS}")
    if not isinstance(given.this, exp.Identifier):
        raise InvalidArgument(f"{given.this.sql('spark')} is not read as the name of a column", hint=BACKTICKS)
    if given.kind is None:
        raise InvalidArgument(f"the column {given.name} has no type")
    made: dict[str, Any] = {"name": given.name}
    nullable = True
    for constraint in given.constraints:
        if isinstance(constraint.kind, exp.NotNullColumnConstraint) and not constraint.kind.args.get("allow_null"):
            nullable = False
        else:
            _constraint(made, constraint)
    try:
        made["type"] = json_type(given.kind, nullable=nullable)
    except UnsupportedType as e:
        path = ".".join(filter(None, (given.name, e.context.get("column"))))
        raise UnsupportedType(e.message, hint=e.hint, context={"column": path}) from None
    return made


def _constraint(made: dict[str, Any], constraint: Any) -> None:
    """What a constraint adds to a column."""
    from sqlglot import exp

    name = made["name"]
    match constraint.kind:
        case exp.CommentColumnConstraint():
            if "description" in made:
                raise InvalidArgument(f"the column {name} has two comments")
            made["description"] = literal_text(f"COMMENT of the column {name}", constraint.kind.this)
        case exp.DefaultColumnConstraint():
            if "defaultValue" in made:
                raise InvalidArgument(f"the column {name} has two defaults")
            made["defaultValue"] = _default(name, constraint.kind.this)
        case other:
            is_key = isinstance(other, exp.PrimaryKeyColumnConstraint)
            hint = "the key is the option 'primary-key' in TBLPROPERTIES" if is_key else None
            raise unsupported(f"{constraint.sql('spark')} of the column {name}", hint)


def json_type(given: Any, *, nullable: bool = True) -> Any:
    """A type as in the schema JSON."""
    root, inside, suffix = given.this.name, given.expressions, "" if nullable else " NOT NULL"
    nested: dict[str, Callable[[], dict[str, Any]]] = {
        "ARRAY": lambda: {"element": json_type(inside[0])},
        "MAP": lambda: {"key": json_type(inside[0], nullable=False), "value": json_type(inside[1])},
        "STRUCT": lambda: {"fields": [column(c) for c in inside]},
    }
    if root in nested and inside and len(inside) == _PARTS.get(root, len(inside)):
        return {"type": ("ROW" if root == "STRUCT" else root) + suffix, **nested[root]()}
    least, most = _NUMBERS.get(root, (0, 0))
    if root in (*_SIMPLE, *_NUMBERS) and least <= len(inside) <= most:
        if root == "DECIMAL":
            numbers = [n.name for n in inside]
            # as in Spark
            inside = [*numbers, *["10", "0"][len(numbers) :]]
            return f"DECIMAL({inside[0]}, {inside[1]}){suffix}"
        return (f"{root}({inside[0].name})" if inside else _SIMPLE[root]) + suffix
    raise UnsupportedType(
        f"the type {given.sql('spark')} is none of a Paimon table's in Spark",
        hint="Paimon has no such type: store a number or a text, such as CAST(... AS STRING)"
        if root in _NOWHERE
        else "siltstone.connect(warehouse).create_table(name, {column: type}) makes columns of types that Spark lacks, "
        "and of VARIANT, which Spark reads as JSON text",
    )


def _default(name: str, value: Any) -> str:
    """The value that is written for null, as a schema has it: a literal's text."""
    from sqlglot import exp

    sign = "-" if isinstance(value, exp.Neg) else ""
    literal = value.this if sign else value
    if isinstance(literal, exp.Boolean) and not sign:
        return "true" if literal.this else "false"
    if isinstance(literal, exp.Cast) and literal.to.is_type("DATE", *_NUMERIC):
        literal = literal.this  # DATE'2026-11-20', 2L
    if isinstance(literal, (exp.Literal, exp.RawString)):
        return sign + str(literal.this)
    raise unsupported(f"DEFAULT {value.sql('spark')} of the column {name}", "a default is a literal such as 7 or 'x'")


def literal_text(what: str, value: Any) -> str:
    """The text of a literal in the tree."""
    from sqlglot import exp

    if isinstance(value, exp.RawString) or (isinstance(value, exp.Literal) and value.is_string):
        return str(value.this)
    raise InvalidArgument(f"{what} is followed by {value.sql('spark')}, which is no text")


def unsupported(what: str, hint: str | None = None) -> UnsupportedFeature:
    """The error for a part of ``CREATE TABLE`` that has no meaning here."""
    return UnsupportedFeature(f"CREATE TABLE with {what} is not supported in siltstone.spark.sql", hint=hint)


def type_text(t: Any) -> str:
    """A type of the schema JSON as Paimon's SQL."""
    if isinstance(t, str):
        return t
    kind, _, suffix = str(t["type"]).partition(" ")
    if kind == "ARRAY":
        inside = type_text(t["element"])
    elif kind == "MAP":
        inside = f"{type_text(t['key'])}, {type_text(t['value'])}"
    else:
        inside = ", ".join(f"`{f['name'].replace('`', '``')}` {type_text(f['type'])}" for f in t["fields"])
    return f"{kind}<{inside}>" + (f" {suffix}" if suffix else "")
