"""Conditions that another engine hands to a scan, and checks itself: what the core cannot compare is left out."""

from __future__ import annotations

import copy
import datetime as dt
import decimal
import struct
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from siltstone._args import shown
from siltstone._arrow_schema import formats_of
from siltstone.errors import InvalidArgument
from siltstone.predicate import both, flat

P = TypeVar("P")
Tree = dict[str, Any]
Request = Mapping[str, Any]

_NO_ROWS = {"op": "false"}
#: Types by the format strings of Arrow's C data interface.
_INTEGERS = frozenset("cCsSiIlL")
_TEXTS, _BYTES = frozenset({"u", "U", "vu"}), frozenset({"z", "Z", "vz"})
#: Types whose values have one order, the same in every engine: not so numbers with NaN and a negative zero.
_SETTLED = _INTEGERS | _TEXTS | {"b", "tdD", "tsm:", "tsu:"}
#: Rows of a batch for an engine that does something for each batch: more of few columns, less of large rows.
LEAST_ROWS, _MOST_ROWS, _VALUES = 1 << 16, 1 << 18, 1 << 19
#: Decimals of so many digits are different ones as doubles, too.
_DIGITS_OF_DOUBLE = 15


def planned(plan: Callable[[Request], P], request: Request, condition: Tree | None) -> P:
    """The plan of a request, without files and rows that cannot satisfy a condition either.

    Args:
        plan: Makes a plan.
        request: What is asked for.
        condition: A condition of an engine that looks at the rows again: more of them may come.
    """
    if condition is None:
        return plan(request)
    try:
        return plan(_with(request, flat(condition)))
    except InvalidArgument:  # it may be the request's own: then it comes once more
        known = bound(plan, request, condition)
        return plan(request if known is None else _with(request, known))


def joined(condition: Tree | None, other: Any) -> Tree:
    """A condition, and another one that must hold, too.

    Raises:
        InvalidArgument: The other one is no tree.
    """
    if not isinstance(other, dict) or "op" not in other:
        raise InvalidArgument(
            f"condition={shown(other)} is not the tree of a condition", hint="give (st.col('id') > 1).tree"
        )
    return other if condition is None else {"op": "and", "args": [condition, other]}


def bound(plan: Callable[[Request], object], request: Request, condition: Tree) -> Tree | None:
    """What of a condition the core can compare with the columns of a request; rows that satisfy it satisfy this, too.

    None where that is nothing: types that cannot be compared, or a condition that is too deep.
    """

    def binds(part: Tree) -> bool:
        try:
            plan(_with(request, {"op": "and", "args": [part, _NO_ROWS]}))
        except InvalidArgument:
            return False
        return True

    try:
        known = _known(flat(condition), binds, negated=False)
    except InvalidArgument:
        return None
    return known if known is not None and binds(known) else None


def batch_rows(scan: Any, schema: Any) -> int:
    """How many rows of a scan an engine gets at once, unless the scan says it.

    Args:
        scan: The scan.
        schema: What has its columns, as Arrow, where the scan is of all of them.
    """
    asked: int | None = scan.request.get("batch_size")
    named = scan.request.get("columns")
    columns = len(formats_of(schema) if named is None else named)
    return asked or max(LEAST_ROWS, min(_MOST_ROWS, _VALUES // max(columns, 1)))


def of_same_kinds(condition: Tree | None, schema: Any) -> Tree | None:
    """What of another engine's condition is surely the same comparison here: of values of the column's own kind.

    Engines compare all others by rules of their own: they cut a time to the unit of the column, round a number to its
    digits, compare a text with the text of a number, or a day with the day of a time.

    Args:
        condition: The condition.
        schema: What has the columns, as Arrow.
    """
    if condition is None:
        return None
    formats = formats_of(schema)

    def is_alike(part: Tree) -> bool:
        values = part.get("values", [part["value"]] if "value" in part else [])
        kind = formats.get(part.get("column", ""), "")
        return all(_is_of(kind, value) for value in values)

    return _known(condition, is_alike, negated=False)


def settled(scan: Any, condition: Tree | None, schema: Any) -> Any:
    """The scan with a condition that it decides as every engine would; None where an engine has to look at the rows.

    Its plan may say that the core knows no such comparison, ``InvalidArgument``.

    Args:
        scan: The scan.
        condition: The condition, all of it, true where it is to the engine; None: a part is not known.
        schema: What has the columns, as Arrow.
    """
    request = scan.request
    is_taken = "filter" in request and request.get("limit") is None
    if condition is None or not is_taken or of_same_kinds(condition, schema) != condition:
        return None
    formats = formats_of(schema)
    if any(formats.get(column) not in _SETTLED for column in _columns(condition)):
        return None
    filtered = copy.copy(scan)
    vars(filtered)["_request"] = _with(request, flat(condition))
    return filtered


def _columns(condition: Tree) -> set[str]:
    """The columns that a condition names."""
    if condition["op"] in {"and", "or", "not"}:
        return set().union(*(_columns(part) for part in condition["args"]))
    return {condition["column"]} if "column" in condition else set()


def _is_of(kind: str, value: Any) -> bool:  # noqa: C901, PLR0911  # one case for each type
    """Whether a literal is a value that a column has, or could have, as it is.

    Args:
        kind: The type, as the C data interface of Arrow writes it.
        value: The literal as JSON.
    """
    match value:
        case bool():
            return kind == "b"
        case int():
            return kind in _INTEGERS or abs(value) <= _whole_numbers(kind)
        case str():
            return kind in _TEXTS
        case {"type": "bytes"}:
            return kind in _BYTES or kind.startswith("w:")
        case {"type": "double", "value": text}:
            return kind == "g" or (kind == "f" and _is_short(float(text)))
        case {"type": "decimal", "value": text}:
            return kind.startswith("d:") and _fits(decimal.Decimal(text), kind)
        case {"type": "date"}:
            return kind == "tdD"
        case {"type": "time", "value": text}:
            return kind.startswith("tt") and _is_in_unit(dt.time.fromisoformat(text).microsecond, kind[2])
        case {"type": "timestamp", "value": text}:
            time = dt.datetime.fromisoformat(text)
            is_alike = kind.startswith("ts") and (time.tzinfo is not None) == (kind[4:] != "")
            return is_alike and _is_in_unit(time.microsecond, kind[2])
    return False


def _whole_numbers(kind: str) -> int:
    """Up to where a type of numbers with digits behind the point has each whole number, also in engines that round."""
    if kind.startswith("d:"):
        precision, scale = map(int, kind[2:].split(",")[:2])
        return 10 ** (precision - scale) - 1 if precision <= _DIGITS_OF_DOUBLE else -1
    return {"f": 1 << 24, "g": 1 << 53}.get(kind, -1)


def _is_short(number: float) -> bool:
    """Whether a FLOAT is this number."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0]) == number
    except OverflowError:
        return False


def _fits(number: decimal.Decimal, kind: str) -> bool:
    """Whether a type of decimals has this number."""
    precision, scale = map(int, kind[2:].split(",")[:2])
    _, digits, exponent = number.as_tuple()
    return isinstance(exponent, int) and -exponent <= scale and len(digits) + exponent <= precision - scale


def _is_in_unit(micros: int, unit: str) -> bool:
    return micros % {"s": 1_000_000, "m": 1000}.get(unit, 1) == 0


def that_binds(scan: Any, condition: Tree) -> Tree | None:
    """What of a condition the core can compare with the columns of a scan; None where that is nothing."""
    return bound(scan._table().plan, scan.request, condition)  # noqa: SLF001  # Scan's own


def _known(tree: Tree, binds: Callable[[Tree], bool], *, negated: bool) -> Tree | None:
    """A condition that at least as many rows satisfy; below a NOT, one that at most as many do."""
    op = tree["op"]
    if op not in {"and", "or", "not"}:
        return tree if binds(tree) else None
    parts = [_known(part, binds, negated=negated != (op == "not")) for part in tree["args"]]
    known = [part for part in parts if part is not None]
    # a part of an AND only takes rows away, and so does, below a NOT, a part of an OR
    enough = known if op == ("or" if negated else "and") else len(known) == len(parts)
    return {"op": op, "args": known} if enough else None


def _with(request: Request, condition: Tree) -> dict[str, Any]:
    return {**request, "filter": both(request.get("filter"), condition)}


def binds_whole(scan: Any, condition: Tree) -> bool:
    """Whether the core can compare all of a condition."""
    try:
        return that_binds(scan, condition) == flat(condition)
    except InvalidArgument:  # too deep
        return False
