"""The text of ``MERGE INTO``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from siltstone.errors import InvalidArgument, SchemaMismatch, UnsupportedFeature
from siltstone.procedures.naming import quoted
from siltstone.spark.column_names import ColumnNames, tells_case
from siltstone.spark.statements.change import assignments
from siltstone.spark.statements.target import Target
from siltstone.spark.statements.words import Words

if TYPE_CHECKING:
    from siltstone import Table

_FORM = (
    "MERGE INTO db.t [AS name] USING {db.s | (query)} [AS name] ON condition "
    "[WHEN MATCHED [AND condition] THEN {DELETE | UPDATE SET {* | column = value, ...}}] "
    "[WHEN NOT MATCHED [BY TARGET] [AND condition] THEN INSERT {* | (columns) VALUES (values)}] "
    "[WHEN NOT MATCHED BY SOURCE [AND condition] THEN {DELETE | UPDATE SET column = value, ...}]"
)
#: Which rows a clause is about.
MATCHED, NEW, LEFT = "MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"
#: In place of columns: all of them, by their names.
ALL = "*"


@dataclass
class Clause:
    """One WHEN.

    Attributes:
        about: Which rows it is about.
        condition: Its own condition; None for all of them.
        kind: What becomes of them: ``-D``, ``+U`` or ``+I``.
        values: New values by column; ``{"*": "*"}`` for those of the source by their names.
    """

    about: str
    condition: str | None
    kind: str
    values: dict[str, str] = field(default_factory=dict)


@dataclass
class Merge:
    """A statement.

    Attributes:
        table: The target.
        known_as: Its name, ``db.t``.
        target: The target in FROM, with its alias.
        name: The alias.
        source: The source in FROM, with its alias.
        source_name: The alias, quoted.
        on: The condition of the join.
        clauses: In their order.
    """

    table: Table
    known_as: str
    target: str
    name: str
    source: str
    source_name: str
    on: str
    clauses: list[Clause]


def read(target: Target, text: str) -> Merge:
    """The parts of a statement."""
    words = Words(text, _FORM)
    words.expect("MERGE")
    if words.take("WITH", "SCHEMA", "EVOLUTION"):
        raise UnsupportedFeature(
            "MERGE WITH SCHEMA EVOLUTION is not supported in siltstone.spark.sql",
            hint="ALTER TABLE ... ADD COLUMNS first, or siltstone.spark.write(frame, name, merge_schema=True)",
        )
    words.expect("INTO")
    parts = words.name()
    table = target.table(parts, "MERGE INTO")
    alias = _alias(words, "USING") or parts[-1]
    words.expect("USING")
    source = f"({words.brackets()})" if words.follows("(") else ".".join(map(quoted, source_parts := words.name()))
    source_alias = _alias(words, "ON") or (None if source.startswith("(") else source_parts[-1])
    source_name = quoted(source_alias or "__siltstone_source")
    words.expect("ON")
    on = words.until("WHEN")
    columns = ColumnNames(table.schema.names, exact=tells_case(target.spark))
    clauses = []
    while words.take("WHEN"):
        clauses.append(_clause(words, table, columns, alias))
    words.end()
    if not clauses:
        raise words.unreadable("WHEN is expected")
    own = f"{'.'.join(map(quoted, parts))} AS {quoted(alias)}"
    known_as = target.name(parts, "MERGE INTO")
    return Merge(table, known_as, own, quoted(alias), f"{source} AS {source_name}", source_name, on, clauses)


def _alias(words: Words, stop: str) -> str | None:
    if words.take("AS"):
        return words.identifier()
    return None if words.follows(stop) else words.identifier()


def _clause(words: Words, table: Table, columns: ColumnNames, alias: str) -> Clause:
    about = NEW if words.take("NOT") else MATCHED
    words.expect("MATCHED")
    if about == NEW and words.take("BY"):
        about = LEFT if words.one_of("SOURCE", "TARGET") == "SOURCE" else NEW
    condition = words.until("THEN") if words.take("AND") else None
    words.expect("THEN")
    if about == NEW:
        words.expect("INSERT")
        if words.take("*"):
            return Clause(about, condition, "+I", {ALL: ALL})
        names = words.names()
        words.expect("VALUES")
        inside = Words(words.brackets(), _FORM)
        values = [inside.until(",")]
        while inside.take(","):
            values.append(inside.until(","))
        inside.end()
        return Clause(about, condition, "+I", _inserted(table, columns, names, values))
    if words.one_of("DELETE", "UPDATE") == "DELETE":
        return Clause(about, condition, "-D")
    words.expect("SET")
    if about == MATCHED and words.take("*"):
        return Clause(about, condition, "+U", {ALL: ALL})
    return Clause(about, condition, "+U", assignments(words, table, columns, alias, "WHEN"))


def _inserted(table: Table, columns: ColumnNames, names: list[str], values: list[str]) -> dict[str, str]:
    if len(names) != len(values):
        raise InvalidArgument(f"INSERT names {len(names)} columns and has {len(values)} values")
    found: dict[str, str] = {}
    for column, value in zip(names, values, strict=True):
        name = columns.find(column)
        if name is None:
            raise columns.missing(column, table.name)
        if name in found:
            raise SchemaMismatch(f"{table.name} gets twice the column '{column}'", context={"table": table.name})
        found[name] = value
    return found
