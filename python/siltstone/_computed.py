"""Values that are computed from columns, as SQL text: ``col("amount") * 2``, ``lit("x")``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from siltstone._args import text
from siltstone._sql import literal_text, number_text
from siltstone.errors import InvalidArgument


class Value:
    """A value that is computed from columns: a new value of :meth:`siltstone.Table.update`."""

    __slots__ = ("sql",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, sql: str) -> None:
        """Wrap SQL text; use :func:`col` and :func:`lit` to build one."""
        self.sql = sql

    def _computed(self, operator: str, other: object, *, swapped: bool = False) -> Value:
        given = other.sql if isinstance(other, Value) else number_text(other)
        left, right = (given, self.sql) if swapped else (self.sql, given)
        return Value(f"({left} {operator} {right})")

    def __add__(self, other: object) -> Value:
        """Sum."""
        return self._computed("+", other)

    def __radd__(self, other: object) -> Value:
        """Sum."""
        return self._computed("+", other, swapped=True)

    def __sub__(self, other: object) -> Value:
        """Difference."""
        return self._computed("-", other)

    def __rsub__(self, other: object) -> Value:
        """Difference."""
        return self._computed("-", other, swapped=True)

    def __mul__(self, other: object) -> Value:
        """Product."""
        return self._computed("*", other)

    def __rmul__(self, other: object) -> Value:
        """Product."""
        return self._computed("*", other, swapped=True)

    def __truediv__(self, other: object) -> Value:
        """Quotient with its fraction: a DOUBLE, or a DECIMAL where a side is one."""
        return self._computed("/", other)

    def __floordiv__(self, other: object) -> Value:
        """Quotient of integers or decimals without its fraction."""
        return self._computed("DIV", other)

    def __mod__(self, other: object) -> Value:
        """Remainder."""
        return self._computed("%", other)

    def __neg__(self) -> Value:
        """The same with the other sign."""
        return Value(f"(-{self.sql})")

    def concat(self, *others: object) -> Value:
        """Texts joined, as ``||`` does."""
        given = [_operand(other) for other in others]
        return Value(f"({' || '.join([self.sql, *given])})")

    def coalesce(self, *others: object) -> Value:
        """The first of the values that is not null."""
        given = [_operand(other) for other in others]
        return Value(f"coalesce({', '.join([self.sql, *given])})")

    def upper(self) -> Value:
        """The text in capital letters."""
        return Value(f"upper({self.sql})")

    def lower(self) -> Value:
        """The text in small letters."""
        return Value(f"lower({self.sql})")

    def __eq__(self, other: object) -> Any:
        """Refused: conditions look at columns."""
        raise _computed_in_condition(self)

    def __bool__(self) -> bool:
        """Refused: a value is known when rows are read."""
        raise InvalidArgument("combine conditions with & | ~ and parentheses, not with and, or, not")

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__

    def __repr__(self) -> str:
        """The SQL text."""
        return f"Value({self.sql!r})"


def _computed_in_condition(value: Value) -> InvalidArgument:
    return InvalidArgument(
        f"the expression {value.sql} cannot be compared: conditions compare columns with values",
        hint="compare col('name'), and filter further in the engine that reads the scan",
    )


def _operand(value: object) -> str:
    return value.sql if isinstance(value, Value) else literal_text(value)


def lit(value: object) -> Value:
    """A value as it is, where a text would be SQL.

    Example:
        >>> import siltstone as st
        >>> example_table().update({"item": st.lit("it's new")}, where="id = 1").affected_rows
        1
    """
    return value if isinstance(value, Value) else Value(literal_text(value))


def value_text(value: object) -> str:
    """A new value of an argument as SQL: a text is SQL as it is, anything else a literal or a computed value."""
    if isinstance(value, str):
        return value
    return lit(value).sql


def new_values(name: str, given: Any) -> dict[str, str]:
    """New values by column of an argument, as SQL.

    Raises:
        InvalidArgument: Not a dict of column names, an empty one, or a value that no literal has.
    """
    if not isinstance(given, Mapping) or not all(isinstance(column, str) for column in given):
        raise InvalidArgument(
            f"{name} maps column names to new values; a text is SQL, and needs quotes of its own: \"'x'\""
        )
    if not given:
        raise InvalidArgument(f"{name} is empty: nothing would change")
    return {text(name, column): text(name, value_text(value)) for column, value in given.items()}
