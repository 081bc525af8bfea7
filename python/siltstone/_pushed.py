"""Conditions that another engine hands to a scan, and checks itself: what the core cannot compare is left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from siltstone._args import shown
from siltstone.errors import InvalidArgument
from siltstone.predicate import both, flat

P = TypeVar("P")
Tree = dict[str, Any]
Request = Mapping[str, Any]

_NO_ROWS = {"op": "false"}


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


def without_texts(condition: Tree, texts: Collection[str]) -> Tree | None:
    """A condition without comparisons of texts with other columns than these: engines compare the column's text."""

    def is_alike(part: Tree) -> bool:
        values = part.get("values", [part.get("value")])
        return part.get("column") in texts or not any(isinstance(value, str) for value in values)

    return _known(condition, is_alike, negated=False)


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
