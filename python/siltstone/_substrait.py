"""Conditions of pyarrow as conditions of ours, by way of Substrait, the form in which pyarrow hands them out.

What has no counterpart is left out where that keeps more rows, so that the result is for skipping files and rows: who
asked looks at the rows again. Numbers are those of the fields in Substrait's protocol buffers.
"""

from __future__ import annotations

import datetime as dt
import decimal
import re
import struct
from collections.abc import Iterator
from typing import Any

from siltstone._literals import literal

Tree = dict[str, Any]
Message = dict[int, list[Any]]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_COMPARISONS = {"equal": "eq", "not_equal": "ne", "lt": "lt", "lte": "le", "gt": "gt", "gte": "ge"}
_SWAPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
#: Fields of an expression.
_LITERAL, _FIELD, _CALL, _IF, _LIST, _CAST = 1, 2, 3, 6, 8, 11
#: Fields of a literal: whether it may be null, and that it is.
_NULLABLE, _NULL = 50, 29
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # a wall clock
_SIGN = 1 << 63
#: pyarrow's form of a call is twice as long as that of what is in it: of 12 in each other it is a megabyte.
_DEEPEST = 12
#: Brackets, and texts, which may have some in them.
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[()]', re.DOTALL)
#: Times that pyarrow multiplies to microseconds without a look at the end of 64 bits, by its text of them: it has no
#: year for them, and of a long list it does not show all.
_OVERFLOWS = re.compile(r"<value out of range|=timestamp\[m?s[,\]].*\.\.\.", re.DOTALL)


class Unknown(Exception):  # never leaves the module
    """Something without a counterpart."""


#: What reading an expression ends with where something has no counterpart.
_LEFT_OUT = (Unknown, LookupError, ValueError, ArithmeticError, struct.error)


def condition_of(expression: Any, schema: Any, *, exact: bool = False) -> Tree | None:
    """What rows that satisfy a pyarrow expression satisfy, or None where nothing is known of them.

    ``exact``: what they satisfy and no others do, or None.
    """
    from siltstone._pyarrow import pa

    text = str(expression)
    if _depth(text) > _DEEPEST or _OVERFLOWS.search(text):
        return None
    try:
        plan = _message(bytes(expression.to_substrait(schema)))
        functions = dict(_functions(plan))
        (referred,) = plan[3]
        floats = {field.name for field in schema if pa.types.is_floating(field.type)}
        reader = _Reader(functions, schema.names, floats)
        return reader.condition(_message(_message(referred)[1][0]), exact=exact)
    except (pa.ArrowException, *_LEFT_OUT):
        return None


def _depth(text: str) -> int:
    """How deep the calls of an expression nest, at most, by its text."""
    depth = deepest = 0
    for bracket in _BRACKETS.findall(text):
        depth += {"(": 1, ")": -1}.get(bracket, 0)
        deepest = max(deepest, depth)
    return deepest


def _functions(plan: Message) -> Iterator[tuple[int, str]]:
    for declared in plan.get(2, []):
        for function in _message(declared).get(3, []):
            parts = _message(function)
            yield parts.get(2, [0])[0], parts[3][0].decode().partition(":")[0]


def _message(data: bytes) -> Message:
    found: Message = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        value: Any
        if kind == _VARINT:
            value, at = _varint(data, at)
        elif kind == _BYTES:
            size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
        elif kind in {_FIXED64, _FIXED32}:
            size = 8 if kind == _FIXED64 else 4
            value, at = data[at : at + size], at + size
        else:
            raise Unknown
        found.setdefault(key >> 3, []).append(value)
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004  # the last byte
            return value, at
        shift += 7


def _signed(value: int) -> int:
    return value - (1 << 64) if value & _SIGN else value


class _Reader:
    """Expressions of one plan."""

    def __init__(self, functions: dict[int, str], names: list[str], floats: set[str]) -> None:
        self._functions, self._names, self._floats = functions, names, floats

    def condition(self, expression: Message, *, exact: bool) -> Tree:
        """A condition; unless ``exact``, one that more rows may satisfy."""
        if _CALL in expression:
            return self._call(_message(expression[_CALL][0]), exact=exact)
        if _LIST in expression:
            return self._in(_message(expression[_LIST][0]), exact=exact)
        if _IF in expression:
            return self._guarded(_message(expression[_IF][0]), exact=exact)
        return {"op": "eq", "column": self._column(expression), "value": True}

    def _call(self, call: Message, *, exact: bool) -> Tree:
        name = self._functions[call.get(1, [0])[0]]
        arguments = [_message(_message(argument)[3][0]) for argument in call.get(4, [])]
        if name in _COMPARISONS:
            return self._comparison(_COMPARISONS[name], *arguments, exact=exact)
        if name == "and":
            return self._all(arguments, exact=exact)
        if name == "or":
            return {"op": "or", "args": [self.condition(part, exact=exact) for part in arguments]}
        if name == "not":
            return {"op": "not", "args": [self.condition(arguments[0], exact=True)]}
        if name in {"is_null", "is_not_null"}:
            return {"op": name, "column": self._column(arguments[0])}
        raise Unknown

    def _all(self, parts: list[Message], *, exact: bool) -> Tree:
        known = []
        for part in parts:
            try:
                known.append(self.condition(part, exact=exact))
            except _LEFT_OUT:
                if exact:
                    raise
        return {"op": "and", "args": known} if known else {"op": "true"}

    def _comparison(self, op: str, left: Message, right: Message, *, exact: bool) -> Tree:
        if _FIELD not in left:
            left, right, op = right, left, _SWAPPED[op]
        column = self._column(left)
        if exact and op in {"gt", "ge"} and column in self._floats:
            raise Unknown  # NaN is above all numbers here, and above none in pyarrow
        return {"op": op, "column": column, "value": self._literal(right)}

    def _in(self, listed: Message, *, exact: bool) -> Tree:
        values = [self._literal(_message(option)) for option in listed.get(2, [])]
        column = self._column(_message(listed[1][0]))
        found = {"op": "in", "column": column, "values": values}
        if not exact:
            return found
        if column in self._floats:
            raise Unknown  # pyarrow looks floats up by their bits: -0.0 is not in [0.0]
        # null is in no list for pyarrow, which is false and not unknown: a NOT keeps it
        return {"op": "and", "args": [{"op": "is_not_null", "column": column}, found]}

    def _guarded(self, choice: Message, *, exact: bool) -> Tree:
        """A condition that is unknown where its column is null, as DuckDB writes it."""
        (branch,) = choice[1]
        parts = _message(branch)
        guard = self.condition(_message(parts[1][0]), exact=True)
        otherwise = _message(_message(choice[2][0]).get(_LITERAL, [b""])[0])
        if guard["op"] != "is_not_null" or _NULL not in otherwise or exact:
            raise Unknown
        return self.condition(_message(parts[2][0]), exact=exact)

    def _column(self, expression: Message) -> str:
        if _CAST in expression:
            raise Unknown
        place = _message(_message(_message(expression[_FIELD][0])[1][0])[2][0])
        if len(place) > 1 or not place.keys() <= {1}:
            raise Unknown  # a field of a row
        return self._names[place.get(1, [0])[0]]

    def _literal(self, expression: Message) -> Any:  # noqa: C901, PLR0911  # one line for each type
        parts = _message(expression[_LITERAL][0])
        parts.pop(_NULLABLE, None)
        ((kind, (value,)),) = parts.items()
        match kind:
            case 1:
                return bool(value)
            case 2 | 3 | 5 | 7:
                return literal(_signed(value))
            case 10:
                return literal(_number(struct.unpack("<f", value)[0]))
            case 11:
                return literal(_number(struct.unpack("<d", value)[0]))
            case 12:
                return literal(value.decode())
            case 13:
                return literal(bytes(value))
            case 14:
                return literal(_EPOCH + dt.timedelta(microseconds=_signed(value)))
            case 27:
                return literal(_EPOCH.replace(tzinfo=dt.UTC) + dt.timedelta(microseconds=_signed(value)))
            case 16:
                return literal(_EPOCH.date() + dt.timedelta(days=_signed(value)))
            case 24:
                return literal(_decimal(_message(value)))
        raise Unknown


def _number(value: float) -> float:
    if value != value:  # noqa: PLR0124  # NaN, which is like nothing in pyarrow
        raise Unknown
    return value


def _decimal(parts: Message) -> decimal.Decimal:
    unscaled = int.from_bytes(parts[1][0], "little", signed=True)
    return decimal.Decimal(unscaled).scaleb(-_signed(parts.get(3, [0])[0]), decimal.Context(prec=60))
