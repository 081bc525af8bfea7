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
from dataclasses import replace
from typing import TYPE_CHECKING

from siltstone.errors import UnsupportedFeature
from siltstone.procedures.naming import quoted
from siltstone.spark.conditions import depends_on_more_than_values
from siltstone.spark.queries import run
from siltstone.spark.statements.assignment import assigned
from siltstone.spark.statements.change import check_updates
from siltstone.spark.statements.fields import by_fields, matched
from siltstone.spark.statements.merge_text import ALL, LEFT, MATCHED, NEW, Clause, Merge, read
from siltstone.spark.statements.target import Target
from siltstone.spark.statements.type_text import type_text
from siltstone.spark.statements.unkeyed import KIND, Change, change_rows, new, old, old_items
from siltstone.spark.types import spark_schema
from siltstone.spark.writing import write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from siltstone import Table

_KIND, _TIMES, _ROW = KIND, "__siltstone_times", "__siltstone_row"


def merge(target: Target, text: str) -> DataFrame:
    """Carry the statement out."""
    asked = read(target, text)
    table = asked.table
    changing = [c for c in asked.clauses if c.about != NEW]
    if changing and not table.primary_key:
        _merge_unkeyed(target, asked)
        return target.nothing()
    for clause in changing:
        if clause.kind == "-D":
            table.delete(keys=table.schema.empty_table())  # an engine that takes no deletes says so
        elif clause.values:
            check_updates(table, [] if ALL in clause.values else clause.values)
    _check_conditions(asked)
    versions: dict[str, int | None] = {}
    rows = [part for about in (MATCHED, NEW, LEFT) if (part := _rows(target, asked, about, versions)) is not None]
    write(functools.reduce(lambda a, b: a.unionByName(b), rows), table, row_kind_column=_KIND)
    return target.nothing()


def _check_conditions(asked: Merge) -> None:
    """Each column of a row, and what becomes of it, asks the conditions by itself.

    Raises:
        UnsupportedFeature: They may say something else each time.
    """
    conditions = [asked.on, *(clause.condition or "" for clause in asked.clauses)]
    if said := next((text for text in conditions if depends_on_more_than_values(text)), None):
        raise UnsupportedFeature(
            f"MERGE INTO {asked.known_as} by a condition that depends on more than the values of rows: {said}",
            hint="compute it as a column of the source first: USING (SELECT ..., rand() AS r FROM ...)",
            context={"table": asked.table.name},
        )


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
            for about in (MATCHED, NEW, LEFT)
            if (part := _rows(target, numbered, about, versions, columns)) is not None
        ]
        return functools.reduce(lambda a, b: a.unionByName(b), parts)

    clauses = [c for c in asked.clauses if c.about != NEW]
    looks_at = [asked.on, *(c.condition for c in clauses if c.condition)]
    looks_at += [value for c in clauses for value in c.values.values() if value != ALL]
    updating = [c for c in clauses if c.kind == "+U"]
    given = [set(table.schema.names if ALL in c.values else c.values) for c in updating]
    names = set[str]().union(*given)
    # what one clause updates and another one leaves must be the same in all rows of the same old values
    looks_at += [quoted(name) for name in sorted(names) if not all(name in one for one in given)]
    try:
        change_rows(Change(table, asked.known_as, looks_at, sorted(names), {c.kind for c in asked.clauses}, find))
    finally:
        target.spark.catalog.dropTempView(view)


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
    if about == MATCHED:
        joined = f"{asked.target} JOIN {asked.source} ON {asked.on}"
    elif about == NEW:
        joined = f"{asked.source} LEFT ANTI JOIN {asked.target} ON {asked.on}"
    else:
        joined = f"{asked.target} LEFT ANTI JOIN {asked.source} ON {asked.on}"
    types = {f.name: type_text(f.dataType) for f in spark_schema(asked.table.schema)}
    olds = old_items(compared or (), types, None if about == NEW else asked.name)
    olds += [f"{asked.source_name}.{_ROW}"] if olds and about == MATCHED else []
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
    if compared is not None and about != NEW:
        key = [old(at) for at in range(len(compared))]
        by_source = [_ROW] if about == MATCHED and not only_deletes else []
        frame = frame.dropDuplicates([*key, *by_source])
    checked = _once(frame, asked.table, key) if about == MATCHED and not only_deletes else frame
    return checked.drop(_ROW)


def _expressions(
    target: Target, asked: Merge, clause: Clause, joined: str, types: dict[str, str], versions: dict[str, int | None]
) -> dict[str, str]:
    """What a clause writes into each column, of the column's type."""
    values = clause.values
    if ALL in values:
        values = {name: f"{asked.source_name}.{quoted(name)}" for name in types}
    if clause.kind == "+I":
        values = {name: values.get(name, "NULL") for name in types}
    else:
        values = {name: values.get(name, f"{asked.name}.{quoted(name)}") for name in types}
    if clause.values:  # what cannot be stored is an error before a job starts
        given = ", ".join(f"{value} AS {quoted(name)}" for name, value in values.items())
        checked = run(target.spark, f"SELECT {given} FROM {joined}", versions=versions)  # noqa: S608
        assigned(by_fields(checked, asked.table), asked.table, None, {}, by_name=False)
        values = matched(checked, asked.table, values)
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
