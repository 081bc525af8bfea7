"""Which rows of each table a statement can need: conditions that its scans may begin with.

Conditions come from WHERE and ON, go through subqueries and common table expressions that are used once, and end at the
tables whose columns they are about. A condition is only given to a table when rows that do not satisfy it cannot change
what the statement returns; where the form of a query is not known in every part, nothing is given.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from siltstone.errors import InvalidArgument
from siltstone.spark.conditions import Meaning, columns_by_name, condition, depends_on_more_than_values
from siltstone.spark.query_parts import below, conjuncts, on_side, only, outputs_of, plain_star, side_of, sides

if TYPE_CHECKING:
    import pyarrow as pa

    from siltstone.predicate import Expression

_OF_SELECT = {
    "expressions", "from", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with",
    "with_", "hint", "sort", "cluster", "distribute", "windows",
}  # fmt: skip
_OF_JOIN = {"this", "side", "kind", "on", "using", "method"}
_OF_TABLE = {"this", "db", "catalog", "alias", "version"}
_OF_SUBQUERY = {"this", "alias"}


@dataclass
class _Source:
    """One of the relations of a FROM clause.

    Attributes:
        node: The relation in the tree.
        names: Its columns; None when they are not known.
        keeps: Whether a condition on it in WHERE may be evaluated before the joins.
        hidden: Whether only ON sees it (semi and anti joins).
        given: Conditions on it, with its own names of columns.
    """

    node: Any
    names: frozenset[str] | None
    keeps: bool = True
    hidden: bool = False
    given: list[Any] = field(default_factory=list)


class Pushdown:
    """The conditions of one statement."""

    def __init__(self, text: str, tree: Any, schemas: Mapping[int, pa.Schema], meaning: Meaning) -> None:
        """Look at a statement.

        Args:
            text: The statement.
            tree: The same as a tree.
            schemas: The columns of the tables that take conditions, by the identity of their nodes.
            meaning: What the session makes of names and literals.
        """
        from sqlglot import exp

        self._meaning = meaning
        self._columns = {key: columns_by_name(schema, meaning) for key, schema in schemas.items()}
        self._found: dict[int, Expression] = {}
        self._visited: set[int] = set()
        self._ctes = _once_used(tree)
        if not depends_on_more_than_values(text):
            for select in tree.find_all(exp.Select):
                self._select(select, [])

    def of(self, node: Any) -> Expression | None:
        """The condition of a table; None for all rows."""
        return self._found.get(id(node))

    def _query(self, query: Any, inherited: list[Any]) -> None:
        """Hand conditions on the columns of a query's result on."""
        from sqlglot import exp

        while isinstance(query, exp.Subquery) and only(query, {"this"}):
            query = query.this
        if isinstance(query, exp.Select):
            self._select(query, inherited)
        elif isinstance(query, exp.Union) and (selects := sides(query)):
            self._union(selects, inherited)

    def _union(self, selects: list[Any], inherited: list[Any]) -> None:
        """Hand conditions on to each side of a UNION, where its columns have the types of the whole."""
        from sqlglot import exp

        names = [outputs_of(select) or [] for select in selects]
        for select, own in zip(selects, names, strict=True):
            given = []
            for one in inherited:
                at = {names[0].index(c.name) if c.name in names[0] else -1 for c in one.find_all(exp.Column)}
                if -1 not in at and all(self._same_type(selects, place) for place in at):
                    given.append(on_side(one, names[0], own))
            self._select(select, given)

    def _same_type(self, selects: list[Any], at: int) -> bool:
        """Whether the columns in a place are columns of tables, of one type."""
        from sqlglot import exp

        found: set[str | None] = set()
        for select in selects:
            item = select.expressions[at].unalias()
            sources = self._sources(select) if isinstance(item, exp.Column) else None
            source = sources and self._owner(item, sources, merged=False)
            columns = self._columns.get(id(source.node), {}) if source else {}
            field = columns.get(self._meaning.folded(item.name))
            found.add(None if field is None else str(field.type))
        return None not in found and len(found) == 1

    def _select(self, select: Any, inherited: list[Any]) -> None:
        if id(select) in self._visited:
            return
        self._visited.add(id(select))
        sources = self._sources(select) if only(select, _OF_SELECT) else None
        if sources is None:
            return
        where = select.args.get("where")
        conditions = list(conjuncts(where.this)) if where is not None else []
        conditions += filter(None, (below(select, one) for one in inherited))
        merged = any(join.args.get("using") or join.args.get("method") for join in select.args.get("joins") or ())
        for one in conditions:
            source = self._source_of(one, [s for s in sources if not s.hidden], merged=merged)
            if source is not None and source.keeps:
                source.given.append(one)
        self._of_joins(select, sources, merged=merged)
        for source in sources:
            self._give(source)

    def _of_joins(self, select: Any, sources: list[_Source], *, merged: bool) -> None:
        """Conditions in ON about the side that the join adds: rows of it that do not satisfy them match nothing."""
        for join, source in zip(select.args.get("joins") or (), sources[1:], strict=True):
            on = join.args.get("on")
            for one in conjuncts(on) if on is not None and side_of(join) not in ("RIGHT", "FULL") else ():
                if self._source_of(one, sources, merged=merged) is source:
                    source.given.append(one)

    def _give(self, source: _Source) -> None:
        from sqlglot import exp

        node, given = source.node, source.given
        if id(node) in self._columns:
            columns = self._columns[id(node)]
            known = [e for e in (condition(one, columns, self._meaning) for one in given) if e is not None]
            if known:
                joined = functools.reduce(operator.and_, known)
                try:
                    joined.to_json()
                except InvalidArgument:  # too deep
                    return
                self._found[id(node)] = joined
        elif isinstance(node, exp.Subquery):
            self._query(node.this, given)
        elif cte := self._ctes.get(id(node)):
            self._query(cte.this, given)

    def _sources(self, select: Any) -> list[_Source] | None:
        """The relations of a FROM clause; None when one of them, or how they are joined, is not known."""
        first = select.args.get("from_") or select.args.get("from")
        joins = select.args.get("joins") or []
        if first is None or not all(only(join, _OF_JOIN) for join in joins):
            return None
        sources = [self._source(first.this)]
        for join in joins:
            side, kind = side_of(join), str(join.args.get("kind") or "").upper()
            source = self._source(join.this)
            if side in ("RIGHT", "FULL"):
                for before in sources:
                    if before is not None:
                        before.keeps = False
            if source is not None:
                source.hidden = kind in ("SEMI", "ANTI")
                source.keeps = side in ("", "RIGHT") and not source.hidden
            if kind not in ("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI"):
                return None
            sources.append(source)
        known = [source for source in sources if source is not None]
        return known if len(known) == len(sources) else None

    def _source(self, node: Any) -> _Source | None:
        from sqlglot import exp

        if isinstance(node, exp.Table) and only(node, _OF_TABLE):
            names: frozenset[str] | None = None
            if not node.alias_column_names:
                if id(node) in self._columns:
                    names = frozenset(self._columns[id(node)])
                elif cte := self._ctes.get(id(node)):
                    names = self._names(cte.this)
            return _Source(node, names)
        if isinstance(node, exp.Subquery) and only(node, _OF_SUBQUERY):
            return _Source(node, None if node.alias_column_names else self._names(node.this))
        return None

    def _names(self, query: Any) -> frozenset[str] | None:
        """The columns of a query's result; None when not all are known."""
        outputs = outputs_of(query)
        if outputs is not None:
            return frozenset(map(self._meaning.folded, outputs))
        inner = plain_star(query)
        source = None if inner is None else self._source(inner)
        return None if source is None else source.names

    def _source_of(self, one: Any, sources: list[_Source], *, merged: bool) -> _Source | None:
        """The relation that all columns of a condition are of; None when it is not one, or not certain."""
        from sqlglot import exp

        if one.find(exp.Query, exp.Subquery):
            return None
        owners = [self._owner(column, sources, merged=merged) for column in one.find_all(exp.Column)]
        return owners[0] if owners and owners[0] and all(owner is owners[0] for owner in owners) else None

    def _owner(self, column: Any, sources: list[_Source], *, merged: bool) -> _Source | None:
        name = self._meaning.folded(column.name)
        if column.args.get("db"):
            return None
        if column.table:
            wanted = self._meaning.folded(column.table)
            called = [s for s in sources if self._meaning.folded(s.node.alias_or_name) == wanted]
            return called[0] if len(called) == 1 and called[0].names and name in called[0].names else None
        if any(s.names is None for s in sources):
            return None
        having = [s for s in sources if s.names and name in s.names]
        if merged:  # of a column that joins have in common the first one counts
            return having[0] if having and having[0] is sources[0] else None
        return having[0] if len(having) == 1 else None


def _once_used(tree: Any) -> dict[int, Any]:
    """Common table expressions that one reference names, by the identity of that reference."""
    from sqlglot import exp

    if any(w.args.get("recursive") for w in tree.find_all(exp.With)):
        return {}
    ctes: dict[str, list[Any]] = {}
    for cte in tree.find_all(exp.CTE):
        ctes.setdefault(cte.alias.lower(), []).append(cte)
    uses: dict[str, list[Any]] = {}
    for table in tree.find_all(exp.Table):
        if not table.db:
            uses.setdefault(table.name.lower(), []).append(table)
    return {
        id(uses[name][0]): found[0]
        for name, found in ctes.items()
        if len(found) == 1 and len(uses.get(name, [])) == 1 and not found[0].alias_column_names
    }
