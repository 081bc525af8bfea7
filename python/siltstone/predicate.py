"""Predicates built in Python: ``(col("a") > 1) & col("b").is_in([1, 2])``.

An expression is a description; the core checks it against the table and evaluates it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from siltstone._args import shown, text
from siltstone._computed import Value
from siltstone._literals import as_json, literal
from siltstone._spellings import Hinted, condition_hint
from siltstone._sql import column_text, literal_text
from siltstone.errors import InvalidArgument

#: How deep conditions nest, as in the texts of conditions.
_DEEPEST = 50


def _of_another(_condition: object, other: object) -> Any:
    """Refused: ``1 & col("b") < 5`` is what Python makes of a comparison without parentheses."""
    raise InvalidArgument(
        f"{shown(other)} is not a condition",
        hint="put each comparison into parentheses: (col('a') > 1) & (col('a') < 5)",
    )


class Expression:
    """A condition over columns. Combine with ``&``, ``|`` and ``~``."""

    __slots__ = ("tree",)

    def __init__(self, tree: dict[str, Any]) -> None:
        """Wrap a tree; use :func:`col` to build one."""
        self.tree = tree

    def __and__(self, other: Expression | Column) -> Expression:
        """Both hold."""
        return Expression({"op": "and", "args": [self.tree, _expression(other).tree]})

    def __or__(self, other: Expression | Column) -> Expression:
        """At least one holds."""
        return Expression({"op": "or", "args": [self.tree, _expression(other).tree]})

    __rand__ = __ror__ = _of_another

    def __invert__(self) -> Expression:
        """SQL NOT: unknown stays unknown."""
        return Expression({"op": "not", "args": [self.tree]})

    def __bool__(self) -> bool:
        """Refused: ``and``/``or``/``not`` cannot be overloaded."""
        raise InvalidArgument("combine conditions with & | ~ and parentheses, not with and, or, not")

    def __repr__(self) -> str:
        """The tree as text."""
        return f"Expression({self.to_json()})"

    def to_json(self) -> str:
        """The form in which the core takes it.

        Raises:
            InvalidArgument: For conditions that nest more than 50 levels deep; ``a | b | c ...`` is one level.
        """
        return as_json(flat(self.tree))


class Column(Value, Hinted):
    """A column: comparing it gives an :class:`Expression`, computing with it a :class:`Value`."""

    __slots__ = ("name",)
    __hash__ = None  # type: ignore[assignment]
    __iter__ = None  # else Python would ask for the keys 0, 1, 2 ...

    def __init__(self, name: str) -> None:
        """A column by its name in the table."""
        if not isinstance(name, str):
            raise InvalidArgument(f"{shown(name)} is not the name of a column")
        super().__init__(column_text(name))
        self.name = name

    def __getitem__(self, key: object) -> Column:
        """What the map in the column has for a key: null where it has no such key.

        Example:
            >>> st.col("tags")["color"] == "red"
            Expression({"op": "eq", "column": "tags", "key": "color", "value": "red"})
        """
        return _Entry(self, key)

    @property
    def _operand(self) -> dict[str, Any]:
        return {"column": self.name}

    @property
    def tree(self) -> dict[str, Any]:
        """The condition that a boolean column is by itself."""
        return {"op": "eq", **self._operand, "value": True}

    def __and__(self, other: Expression | Column) -> Expression:
        """Both hold; the column is a boolean."""
        return Expression(self.tree) & other

    def __or__(self, other: Expression | Column) -> Expression:
        """At least one holds; the column is a boolean."""
        return Expression(self.tree) | other

    __rand__ = __ror__ = _of_another

    def __invert__(self) -> Expression:
        """SQL NOT of a boolean column."""
        return ~Expression(self.tree)

    def _compare(self, op: str, value: object) -> Expression:
        plain = literal(value)
        if plain is None:
            raise InvalidArgument(f"compare {self.name} with null by is_null() or is_not_null()")
        return Expression({"op": op, **self._operand, "value": plain})

    def __eq__(self, value: object) -> Expression:  # type: ignore[override]
        """Column = value."""
        return self._compare("eq", value)

    def __ne__(self, value: object) -> Expression:  # type: ignore[override]
        """Column <> value."""
        return self._compare("ne", value)

    def __lt__(self, value: object) -> Expression:
        """Column < value."""
        return self._compare("lt", value)

    def __le__(self, value: object) -> Expression:
        """Column <= value."""
        return self._compare("le", value)

    def __gt__(self, value: object) -> Expression:
        """Column > value."""
        return self._compare("gt", value)

    def __ge__(self, value: object) -> Expression:
        """Column >= value."""
        return self._compare("ge", value)

    def is_in(self, values: Iterable[object]) -> Expression:
        """Column IN (values).

        Raises:
            InvalidArgument: A single text or bytes, whose letters would be the values.
        """
        if isinstance(values, str | bytes | bytearray) or not isinstance(values, Iterable):
            raise InvalidArgument(f"is_in must get a list of values, not {shown(values)}")
        return Expression({"op": "in", **self._operand, "values": [literal(v) for v in values]})

    def is_not_in(self, values: Iterable[object]) -> Expression:
        """Column NOT IN (values).

        Raises:
            InvalidArgument: A single text or bytes, whose letters would be the values.
        """
        return Expression({**self.is_in(values).tree, "op": "not_in"})

    def is_null(self) -> Expression:
        """Column IS NULL."""
        return Expression({"op": "is_null", **self._operand})

    def is_not_null(self) -> Expression:
        """Column IS NOT NULL."""
        return Expression({"op": "is_not_null", **self._operand})

    def like(self, pattern: str) -> Expression:
        """Column LIKE pattern, with ``%`` and ``_``."""
        return Expression({"op": "like", **self._operand, "value": literal(pattern)})

    def _like(self, before: str, value: str, after: str) -> Expression:
        plain = text("the text", value)
        for special in ("!", "%", "_"):
            plain = plain.replace(special, f"!{special}")
        return Expression({"op": "like", **self._operand, "value": f"{before}{plain}{after}", "escape": "!"})

    def starts_with(self, prefix: str) -> Expression:
        """The text begins with ``prefix``.

        Example:
            >>> example_table().scan(filter=st.col("item").starts_with("p")).count()
            1
        """
        return self._like("", prefix, "%")

    def ends_with(self, suffix: str) -> Expression:
        """The text ends with ``suffix``."""
        return self._like("%", suffix, "")

    def contains(self, part: str) -> Expression:
        """The text has ``part`` in it."""
        return self._like("%", part, "%")

    def between(self, low: object, high: object) -> Expression:
        """Column between low and high, both included."""
        return (self >= low) & (self <= high)

    def __repr__(self) -> str:
        """``col('a')``."""
        return f"col({self.name!r})"


class _Entry(Column):
    """What a map has for a key."""

    __slots__ = ("key",)
    __hash__ = None

    def __init__(self, column: Column, key: object) -> None:
        if isinstance(column, _Entry) or literal(key) is None:
            raise InvalidArgument(f"{column!r}[{shown(key)}] is not the key of a map in a column")
        super().__init__(column.name)
        self.key = key
        self.sql = f"{self.sql}[{literal_text(key)}]"

    @property
    def _operand(self) -> dict[str, Any]:
        return {"column": self.name, "key": literal(self.key)}

    def __repr__(self) -> str:
        """``col('m')['k']``."""
        return f"col({self.name!r})[{self.key!r}]"


def col(name: str) -> Column:
    """A column, for a predicate or for a new value.

    As in SQL text, case counts only where names differ by nothing else.

    Example:
        >>> import siltstone as st
        >>> (st.col("dt") == "2026-11-20") & (st.col("amount") > 10)  # doctest: +ELLIPSIS
        Expression(...)
        >>> example_table().update({"item": st.col("item").upper()}, where=st.col("id") == 1).affected_rows
        1
    """
    return Column(name)


def flat(tree: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """A tree in which a chain of one operator is one list: a fold over many conditions is as deep as it is long."""
    if "args" not in tree:
        return tree
    if depth == _DEEPEST:
        raise InvalidArgument("the condition nests too deeply", hint="use is_in(...) for many values")
    op, found, rest = tree["op"], [], [tree]
    if op == "not":
        return {"op": op, "args": [flat(arg, depth + 1) for arg in tree["args"]]}
    while rest:
        part = rest.pop()
        if part["op"] == op:
            rest.extend(reversed(part["args"]))
        else:
            found.append(flat(part, depth + 1))
    return {"op": op, "args": found}


def _expression(value: object) -> Expression:
    if isinstance(value, Column):
        return Expression(value.tree)
    if not isinstance(value, Expression):
        message = f"{shown(value)} is not a condition: compare a column, as in col('a') > 1"
        raise InvalidArgument(message, hint=condition_hint(value))
    return value


def condition_of(condition: str | Expression | Column | None, name: str = "filter") -> tuple[str, str] | None:
    """A predicate of an argument, as the core takes it: in which form, and its text."""
    if condition is None:
        return None
    if isinstance(condition, str):
        return "sql", text(name, condition)
    return "json", text(name, _expression(condition).to_json())


def both(condition: tuple[str, str] | None, tree: dict[str, Any]) -> tuple[str, str]:
    """A condition as the core takes it, and another one that must hold, too."""
    if condition is None:
        return "json", as_json(tree)
    form, given = condition
    first = as_json({"op": "sql", "text": given}) if form == "sql" else given
    return "json", f'{{"op": "and", "args": [{first}, {as_json(tree)}]}}'
