"""``DELETE`` and ``UPDATE``.

Where siltstone means the same by a condition as Spark, the table finds the rows itself. Otherwise Spark finds them,
whatever the condition: those of tables with a primary key are written again, others changed by their values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from siltstone._pushed import binds_whole
from siltstone.errors import InvalidArgument, UnsupportedFeature
from siltstone.procedures.naming import quoted
from siltstone.spark.column_names import ColumnNames, folded, tells_case
from siltstone.spark.conditions import Meaning, columns_by_name, condition
from siltstone.spark.queries import parse, run, understood
from siltstone.spark.relations import has_few_rows
from siltstone.spark.statements.assignment import assigned
from siltstone.spark.statements.fields import by_fields, matched
from siltstone.spark.statements.target import Target
from siltstone.spark.statements.unkeyed import KIND, Change, change_rows, old, set_values
from siltstone.spark.statements.words import Words
from siltstone.spark.writing import write, write_here

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from siltstone import Expression, Table

_REPLACES = "deduplicate"


def delete(target: Target, text: str) -> DataFrame:
    """Delete rows."""
    words = Words(text, "DELETE FROM db.t [AS name] [WHERE condition]")
    words.expect("DELETE", "FROM")
    parts = words.name()
    table = target.table(parts, "DELETE FROM")
    alias = _alias(words, "WHERE")
    if words.at_end:
        table.truncate()
        return target.nothing()
    words.expect("WHERE")
    where = words.rest()
    exact = own_condition(target, table, alias or parts[-1], where)
    if exact is not None:
        table.delete(exact)
        return target.nothing()
    name = f"{_quoted(parts)}{f' AS {quoted(alias)}' if alias else ''}"
    if not table.primary_key:
        _change_unkeyed(target, table, target.name(parts, "DELETE FROM"), name, where, {})
        return target.nothing()
    table.delete(keys=table.schema.empty_table())  # an engine that takes no deletes says so before a job starts
    rows = run(target.spark, f"SELECT * FROM {name} WHERE {where}")  # noqa: S608  # the user's own statement
    _written(table)(rows, table, "append", row_kind="-D")
    return target.nothing()


def update(target: Target, text: str) -> DataFrame:
    """Give columns of rows new values."""
    words = Words(text, "UPDATE db.t [AS name] SET column = value, ... [WHERE condition]")
    words.expect("UPDATE")
    parts = words.name()
    table = target.table(parts, "UPDATE")
    alias = _alias(words, "SET")
    words.expect("SET")
    names = ColumnNames(table.schema.names, exact=tells_case(target.spark))
    values = assignments(words, table, names, alias or parts[-1], "WHERE")
    where = words.rest() if words.take("WHERE") else None
    words.end()
    exact = None if where is None else own_condition(target, table, alias or parts[-1], where)
    kinds = {name: table.schema.field(name).type for name in values}
    literals = {name: own for name, value in values.items() if (own := _own_literal(value, kinds[name])) is not None}
    if len(literals) == len(values) and (where is None or exact is not None):
        table.update(literals, exact if exact is not None else "true")
        return target.nothing()
    name = f"{_quoted(parts)}{f' AS {quoted(alias)}' if alias else ''}"
    if not table.primary_key:
        _change_unkeyed(target, table, target.name(parts, "UPDATE"), name, where, values)
        return target.nothing()
    check_updates(table, values)
    columns = [f"{values.get(c, quoted(c))} AS {quoted(c)}" for c in table.schema.names]
    query = f"SELECT {', '.join(columns)} FROM {name}" + (f" WHERE {where}" if where else "")  # noqa: S608
    rows = by_fields(run(target.spark, query), table)
    _written(table)(assigned(rows, table, None, {}, by_name=False), table, "upsert")
    return target.nothing()


def assignments(words: Words, table: Table, columns: ColumnNames, alias: str, stop: str) -> dict[str, str]:
    """``a = 1, t.b = x + 1``: expressions by column."""
    found: dict[str, str] = {}
    while True:
        parts = words.name()
        if len(parts) > 1 and folded(parts[0]) == folded(alias):
            parts = parts[1:]
        column = columns.find(parts[0])
        if column is None:
            raise columns.missing(".".join(parts), table.name, InvalidArgument)
        if len(parts) > 1:
            raise UnsupportedFeature(
                f"SET {'.'.join(parts)} is not supported in siltstone.spark.sql: it is a part of a column",
                hint=f"give the whole column: SET {column} = named_struct(...)",
            )
        if column in found:
            raise InvalidArgument(f"SET gives '{column}' two values")
        words.expect("=")
        found[column] = words.until(",", stop)
        if not words.take(","):
            return found


def check_updates(table: Table, columns: Any) -> None:
    """Refuse updates that a merge engine would not make.

    Raises:
        InvalidArgument: A key column; or an engine that merges new values instead of replacing the old ones.
    """
    if key := next((name for name in columns if name in table.primary_key), None):
        raise InvalidArgument(
            f"'{key}' is a column of the primary key of {table.name}, which does not change",
            hint="delete the rows and insert them with the new key",
        )
    engine = table.options.get("merge-engine", _REPLACES)
    if engine != _REPLACES:
        raise InvalidArgument(
            f"{table.name} has the merge engine {engine}, which merges new values instead of replacing old ones",
            hint="insert rows with what is to be merged",
            context={"table": table.name},
        )


def own_condition(target: Target, table: Table, name: str, where: str) -> Expression | None:
    """A condition as siltstone's own, where all of it means the same; else None."""
    from sqlglot import exp

    query = f"SELECT 1 FROM {quoted(name)} WHERE {where}"  # noqa: S608  # the user's own statement
    given = understood(target.spark, query)
    tree = parse(given.readable)
    if not isinstance(tree, exp.Select) or tree.args.get("where") is None:
        return None
    if {key for key, value in tree.args.items() if value} - {"expressions", "from", "from_", "where"}:
        return None
    node = tree.args["where"].this
    meaning = Meaning.of(target.spark, given.text)
    own = {"", meaning.folded(name)}
    if any(column.args.get("db") or meaning.folded(column.table) not in own for column in node.find_all(exp.Column)):
        return None
    found = condition(node, columns_by_name(table.schema, meaning), meaning, whole=True)
    return found if found is not None and binds_whole(table.scan(), found.tree) else None


def _own_literal(value: str, kind: pa.DataType) -> str | None:
    """A number, truth value, NULL or simple text in the words of ``Table.update``, for a column of the same kind alone.

    Another kind would be cast by Paimon's rules, where Spark refuses it, or has another value.
    """
    import pyarrow as pa

    plain = value.strip()
    if len(plain) > 1 and plain[0] == plain[-1] == "'":
        fits = pa.types.is_string(kind) and not set("'\\") & set(plain[1:-1])
    elif plain.lstrip("-").isdecimal():
        fits = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    else:
        fits = plain.upper() == "NULL" or (plain.upper() in ("TRUE", "FALSE") and pa.types.is_boolean(kind))
    return plain if fits else None


def _written(table: Table) -> Callable[..., Any]:
    """What writes the changes of a table: of few rows this process, in the time that a job takes to start."""
    return write_here if has_few_rows(table) else write


def _change_unkeyed(
    target: Target, table: Table, known_as: str, name: str, where: str | None, values: Mapping[str, str]
) -> None:
    """Delete rows of a table without a key, or give columns new values."""
    condition = f" WHERE {where}" if where else ""
    kind = "+U" if values else "-D"
    stored = values
    if values:  # what cannot be stored is an error before a job starts
        given = [values.get(c, quoted(c)) + f" AS {quoted(c)}" for c in table.schema.names]
        found = run(target.spark, f"SELECT {', '.join(given)} FROM {name}")  # noqa: S608  # the user's own statement
        assigned(by_fields(found, table), table, None, {}, by_name=False)
        stored = matched(found, table, values)

    def find(columns: Sequence[str], versions: dict[str, int | None]) -> DataFrame:
        items = [f"{quoted(c)} AS {old(at)}" for at, c in enumerate(columns)]
        items += [*set_values(stored, table), f"'{kind}' AS {KIND}"]
        query = f"SELECT {', '.join(items)} FROM {name}{condition}"  # noqa: S608  # the user's own statement
        # the new values are those of the old ones; DISTINCT would compare them, which no MAP can be
        return run(target.spark, query, versions=versions).dropDuplicates([old(at) for at in range(len(columns))])

    change_rows(Change(table, known_as, [where or "true", *values.values()], list(values), {kind}, find))


def _alias(words: Words, stop: str) -> str | None:
    if words.take("AS"):
        return words.identifier()
    return None if words.at_end or words.follows(stop) else words.identifier()


def _quoted(parts: list[str]) -> str:
    return ".".join(map(quoted, parts))
