"""Which Spark types have room for all values of others: a cast between them needs no look at the values."""

from __future__ import annotations

from typing import Any

from siltstone.procedures.naming import spark_text

#: Digits that values of an integer type have at most, and that all values of so many digits have room in.
_DIGITS = {"tinyint": (3, 2), "smallint": (5, 4), "int": (10, 9), "bigint": (19, 18)}


def is_a(given: Any, wanted: Any, kind: str) -> bool:
    """Whether two types are both of a kind."""
    from pyspark.sql import types as st

    return isinstance(given, getattr(st, kind)) and isinstance(wanted, getattr(st, kind))


def always_fits(given: Any, wanted: Any) -> bool:
    """Whether all values of a type have room in another one that they may be stored as."""
    if is_a(given, wanted, "ArrayType"):
        return always_fits(given.elementType, wanted.elementType)
    if is_a(given, wanted, "MapType"):
        return always_fits(given.keyType, wanted.keyType) and always_fits(given.valueType, wanted.valueType)
    if is_a(given, wanted, "StructType"):
        return all(always_fits(a.dataType, b.dataType) for a, b in zip(given, wanted, strict=True))
    return given == wanted or not is_a(given, wanted, "NumericType") or _number_fits(given, wanted)


def _number_fits(given: Any, wanted: Any) -> bool:
    from pyspark.sql import types as st

    if isinstance(wanted, (st.FloatType, st.DoubleType)):
        return True
    digits = _whole_digits(given)
    if digits is None:
        return False
    if isinstance(wanted, st.DecimalType):
        # 999.9 becomes 1000
        rounds = isinstance(given, st.DecimalType) and given.scale > wanted.scale
        return digits + rounds <= wanted.precision - wanted.scale
    most, room = _DIGITS[wanted.simpleString()]
    return digits <= (most if isinstance(given, st.IntegralType) else room)


def _whole_digits(kind: Any) -> int | None:
    """Digits before the point that values of a type have at most; None where there is no bound."""
    from pyspark.sql import types as st

    if isinstance(kind, st.DecimalType):
        return int(kind.precision - kind.scale)
    return _DIGITS[kind.simpleString()][0] if isinstance(kind, st.IntegralType) else None


def fitted(value: str, given: Any, wanted: Any, place: str) -> str:
    """A number as one of a smaller type; the error of a value that does not fit names its column.

    Args:
        value: An expression, which stands there more than once.
        given: Its type.
        wanted: The type that it is stored as.
        place: The column, for the error.
    """
    if not is_a(given, wanted, "NumericType") or always_fits(given, wanted):
        return value
    kind = wanted.simpleString()
    before = spark_text("siltstone.errors.SchemaMismatch: the value ")
    hint = "leave such rows out, or give the column a wider type: ALTER TABLE t ALTER COLUMN c TYPE ..."
    behind = spark_text(f" does not fit column {place}, which is {kind}\nhint: {hint}\n")
    refused = f"raise_error(concat({before}, CAST({value} AS STRING), {behind}))"
    return f"coalesce(try_cast({value} AS {kind}), if({value} IS NULL, NULL, {refused}))"
