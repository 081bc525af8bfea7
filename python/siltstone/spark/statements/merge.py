"""``MERGE INTO``.

Spark joins both sides, at one version of the target; of each target row the first clause that fits counts. Rows of
tables with a primary key go to the tasks of their buckets as changes with kinds, and are committed once; those of other
tables are changed by their values (``unkeyed``).

Source: ``MergeIntoPaimonTable``, ``MergeRowsExec``.
"""

from __future__ import annotations

import functools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from siltstone.errors import InvalidArgument, SchemaMismatch, UnsupportedFeature
from siltstone.procedures.naming import quoted
from siltstone.spark.column_names import ColumnNames, tells_case
from siltstone.spark.queries import run
from siltstone.spark.statements.assignment import assigned
from siltstone.spark.statements.change import assignments, check_updates
from siltstone.spark.statements.target import Target
from siltstone.spark.statements.unkeyed import KIND, Change, change_rows, new, old, old_items
from siltstone.spark.statements.words import Words
from siltstone.spark.types import spark_schema
from siltstone.spark.writing import write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from siltstone import Table

_FORM = (
    "MERGE INTO db.t [AS name] USING {db.s | (query)} [AS name] ON condition "
    "[WHEN MATCHED [AND condition] THEN {DELETE | UPDATE SET {* | column = value, ...}}] "
    "[WHEN NOT MATCHED [BY TARGET] [AND condition] THEN INSERT {* | (columns) VALUES (values)}] "
    "[WHEN NOT MATCHED BY SOURCE [AND condition] THEN {DELETE | UPDATE SET column = value, ...}]"
)
_KIND, _TIMES, _ROW = KIND, "__siltstone_times", "__siltstone_row"
_MATCHED, _NEW, _LEFT = "MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"
_ALL = "*"


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


def merge(target: Target, text: str) -> DataFrame:
    """Carry the statement out."""
    asked = read(target, text)
    table = asked.table
    changing = [c for c in asked.clauses if c.about != _NEW]
    if changing and not table.primary_key:
        _merge_unkeyed(target, asked)
        return target.nothing()
    for clause in changing:
        if clause.kind == "-D":
            table.delete(keys=table.schema.empty_table())  # an engine that takes no deletes says so
        elif clause.values:
            check_updates(table, [] if _ALL in clause.values else clause.values)
    versions: dict[str, int | None] = {}
    rows = [part for about in (_MATCHED, _NEW, _LEFT) if (part := _rows(target, asked, about, versions)) is not None]
    write(functools.reduce(lambda a, b: a.unionByName(b), rows), table, row_kind_column=_KIND)
    return target.nothing()


def _merge_unkeyed(target: Target, asked: Merge) -> None:
    """Change rows of a table without a key by their values."""
    from pyspark.sql import functions as F  # noqa: N812  # Spark's convention

    table = asked.table
    view = f"siltstone_{uuid.uuid4().hex}"
    numbered = replace(asked, source=f"{view} AS {asked.source_name}")

    def find(columns: Sequence[str], versions: dict[str, int | None]) -> DataFrame:
        source = run(target.spark, f"SELECT * FROM {asked.source}", versions=versions)  # noqa: S608
        source.withColumn(_ROW, F.monotonically_increasing_id()).createOrReplaceTempView(view)
        parts = [
            part.withColumnsRenamed({name: new(name, table) for name in table.schema.names})
            for about in (_MATCHED, _NEW, _LEFT)
            if (part := _rows(target, numbered, about, versions, columns)) is not None
        ]
        return functools.reduce(lambda a, b: a.unionByName(b), parts)

    clauses = [c for c in asked.clauses if c.about != _NEW]
    looks_at = [asked.on, *(c.condition for c in clauses if c.condition)]
    looks_at += [value for c in clauses for value in c.values.values() if value != _ALL]
    updating = [c for c in clauses if c.kind == "+U"]
    given = [set(table.schema.names if _ALL in c.values else c.values) for c in updating]
    names = set[str]().union(*given)
    # what one clause updates and another one leaves must be the same in all rows of the same old values
    looks_at += [quoted(name) for name in sorted(names) if not all(name in one for one in given)]
    try:
        change_rows(Change(table, asked.known_as, looks_at, sorted(names), {c.kind for c in asked.clauses}, find))
    finally:
        target.spark.catalog.dropTempView(view)


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
    about = _NEW if words.take("NOT") else _MATCHED
    words.expect("MATCHED")
    if about == _NEW and words.take("BY"):
        about = _LEFT if words.one_of("SOURCE", "TARGET") == "SOURCE" else _NEW
    condition = words.until("THEN") if words.take("AND") else None
    words.expect("THEN")
    if about == _NEW:
        words.expect("INSERT")
        if words.take("*"):
            return Clause(about, condition, "+I", {_ALL: _ALL})
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
    if about == _MATCHED and words.take("*"):
        return Clause(about, condition, "+U", {_ALL: _ALL})
    return Clause(about, condition, "+U", assignments(words, table, columns, alias, "WHEN"))


def _inserted(table: Table, columns: ColumnNames, names: list[str], values: list[str]) -> dict[str, str]:
    if len(names) != len(values):
        raise InvalidArgument(f"INSERT names {len(names)} columns and has {len(values)} values")
    found: dict[str, str] = {}
    for column, value in zip(names, values, strict=True):
        name = columns.find(column)
        if name is None or name in found:
            what = "has no column" if name is None else "gets twice the column"
            raise SchemaMismatch(f"{table.name} {what} '{column}'", context={"table": table.name})
        found[name] = value
    return found


def _rows(
    target: Target,
    asked: Merge,
    about: str,
    versions: dict[str, int | None],
    compared: Sequence[str] | None = None,
) -> DataFrame | None:
    """The rows that the clauses about some of the rows write, with their kinds.

    Of a table without a key once for all rows with the same old values of columns, which come, too.
    """
    clauses = [clause for clause in asked.clauses if clause.about == about]
    if not clauses:
        return None
    if about == _MATCHED:
        joined = f"{asked.target} JOIN {asked.source} ON {asked.on}"
    elif about == _NEW:
        joined = f"{asked.source} LEFT ANTI JOIN {asked.target} ON {asked.on}"
    else:
        joined = f"{asked.target} LEFT ANTI JOIN {asked.source} ON {asked.on}"
    types = {f.name: f.dataType.simpleString() for f in spark_schema(asked.table.schema)}
    olds = old_items(compared or (), types, None if about == _NEW else asked.name)
    olds += [f"{asked.source_name}.{_ROW}"] if olds and about == _MATCHED else []
    each = [_expressions(target, asked, clause, joined, types, versions) for clause in clauses]
    if len(clauses) == 1:
        chosen = "true" if clauses[0].condition is None else clauses[0].condition
        columns = [f"{each[0][name]} AS {quoted(name)}" for name in types]
        columns += [f"'{clauses[0].kind}' AS {quoted(_KIND)}", *olds]
        inner = f"SELECT {', '.join(columns)} FROM {joined} WHERE {chosen}"  # noqa: S608  # the user's own statement
    else:
        whens = [f"WHEN {'true' if c.condition is None else c.condition} THEN" for c in clauses]

        def case(values: list[str]) -> str:
            return f"CASE {' '.join(f'{w} {v}' for w, v in zip(whens, values, strict=True))} END"

        columns = [f"{case([one[name] for one in each])} AS {quoted(name)}" for name in types]
        columns += [f"{case([repr(c.kind) for c in clauses])} AS {quoted(_KIND)}", *olds]
        inner = f"SELECT * FROM (SELECT {', '.join(columns)} FROM {joined}) WHERE {quoted(_KIND)} IS NOT NULL"  # noqa: S608
    only_deletes = len(clauses) == 1 and clauses[0].kind == "-D" and clauses[0].condition is None
    frame = run(target.spark, inner, versions=versions)
    key = list(asked.table.primary_key)
    if compared is not None and about != _NEW:
        key = [old(at) for at in range(len(compared))]
        by_source = [_ROW] if about == _MATCHED and not only_deletes else []
        frame = frame.dropDuplicates([*key, *by_source])
    checked = _once(frame, asked.table, key) if about == _MATCHED and not only_deletes else frame
    return checked.drop(_ROW)


def _expressions(
    target: Target, asked: Merge, clause: Clause, joined: str, types: dict[str, str], versions: dict[str, int | None]
) -> dict[str, str]:
    """What a clause writes into each column, of the column's type."""
    values = clause.values
    if _ALL in values:
        values = {name: f"{asked.source_name}.{quoted(name)}" for name in types}
    if clause.kind == "+I":
        values = {name: values.get(name, "NULL") for name in types}
    else:
        values = {name: values.get(name, f"{asked.name}.{quoted(name)}") for name in types}
    if clause.values:  # what cannot be stored is an error before a job starts
        given = ", ".join(f"{value} AS {quoted(name)}" for name, value in values.items())
        checked = run(target.spark, f"SELECT {given} FROM {joined}", versions=versions)  # noqa: S608
        assigned(checked, asked.table, None, {}, by_name=False)
    return {name: f"CAST({value} AS {types[name]})" for name, value in values.items()}


def _once(frame: DataFrame, table: Table, names: Sequence[str]) -> DataFrame:
    """The rows, of which none may change a target row that another one changes, too."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812  # Spark's convention

    key = [F.col(quoted(name)) for name in names]
    said = (
        f"siltstone.errors.InvalidArgument: rows of the source match one row of {table.name} more than once, and it is "
        "not certain which of them counts\nhint: make the source unique, for example by max_by(...) GROUP BY its key\n"
    )
    counted = frame.withColumn(_TIMES, F.count(F.lit(1)).over(Window.partitionBy(*key)))
    kind = F.when(F.col(_TIMES) > 1, F.raise_error(F.lit(said))).otherwise(F.col(_KIND))
    return counted.withColumn(_KIND, kind).drop(_TIMES)
