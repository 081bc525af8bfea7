"""Parts of queries in the tree of a statement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def only(node: Any, known: set[str]) -> bool:
    """Whether a node has no other parts than these."""
    return all(key in known for key, value in node.args.items() if value)


def side_of(join: Any) -> str:
    """The side of an outer join whose rows all come."""
    kind = str(join.args.get("kind") or "").upper()
    side = str(join.args.get("side") or "").upper()
    return "FULL" if kind == "FULL" else side


def conjuncts(node: Any) -> Iterator[Any]:
    """The conditions that AND joins."""
    from sqlglot import exp

    if isinstance(node, exp.And):
        yield from conjuncts(node.left)
        yield from conjuncts(node.right)
    elif isinstance(node, exp.Paren):
        yield from conjuncts(node.this)
    else:
        yield node


def outputs_of(query: Any) -> list[str] | None:
    """Names of a query's columns; None with a star, or a column without a name."""
    from sqlglot import exp

    while isinstance(query, (exp.Subquery, exp.Union)):
        query = query.this
    if not isinstance(query, exp.Select):
        return None
    names = [e.output_name for e in query.expressions]
    return names if all(names) and not any(e.is_star for e in query.expressions) else None


def plain_star(query: Any) -> Any:
    """The only relation of ``SELECT * FROM relation``."""
    from sqlglot import exp

    first = isinstance(query, exp.Select) and (query.args.get("from_") or query.args.get("from"))
    if not first or query.args.get("joins") or query.args.get("laterals") or query.args.get("pivots"):
        return None
    stars = query.expressions
    return first.this if len(stars) == 1 and type(stars[0]) is exp.Star and not any(stars[0].args.values()) else None


def below(select: Any, one: Any) -> Any:
    """A condition on a query's result as one on what it selects from; None where it is none."""
    from sqlglot import exp

    if select.args.get("limit") or select.args.get("offset") or select.find(exp.Window):
        return None
    copy = one.copy()
    holder = exp.Paren(this=copy)
    star = plain_star(select) is not None
    group = select.args.get("group")
    grouped = group is not None or any(e.find(exp.AggFunc) for e in select.expressions)
    keys = group.expressions if group is not None and only(group, {"expressions"}) else []
    for column in list(holder.find_all(exp.Column)):
        name = column.name.lower()
        same = [e for e in select.expressions if e.output_name.lower() == name]
        inner = column if star else same[0].unalias() if len(same) == 1 else None
        if not isinstance(inner, exp.Column) or (grouped and inner not in keys):
            return None
        column.replace(exp.column(inner.this.copy()) if star else inner.copy())
    return holder.this


def sides(union: Any) -> list[Any] | None:
    """The queries of a UNION, with as many columns each; None when one of them is no plain query, or cut short."""
    from sqlglot import exp

    if any(union.args.get(key) for key in ("limit", "offset", "order", "by_name", "with", "with_")):
        return None
    found: list[Any] = []
    for query in (union.this, union.expression):
        while isinstance(query, exp.Subquery) and only(query, {"this"}):
            query = query.this  # noqa: PLW2901  # what is in the brackets
        inside = sides(query) if isinstance(query, exp.Union) else [query] if isinstance(query, exp.Select) else None
        if inside is None:
            return None
        found += inside
    names = [outputs_of(select) for select in found]
    return found if names[0] and all(n is not None and len(n) == len(names[0] or ()) for n in names) else None


def on_side(one: Any, names: list[str], own: list[str]) -> Any:
    """A condition on the columns of a UNION with the names that its columns have on one side."""
    from sqlglot import exp

    holder = exp.Paren(this=one.copy())
    for column in list(holder.find_all(exp.Column)):
        column.replace(exp.column(own[names.index(column.name)]))
    return holder.this
