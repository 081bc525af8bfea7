"""Fields of ROW values, matched by their names at any depth: in INSERT BY NAME, UPDATE and MERGE, as Spark does it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from siltstone.errors import SchemaMismatch
from siltstone.procedures.naming import quoted, spark_text
from siltstone.spark.column_names import ColumnNames, tells_case
from siltstone.spark.conditions import depends_on_more_than_values
from siltstone.spark.statements.fitting import fitted, is_a
from siltstone.spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from siltstone import Table

_SUBQUERY = re.compile(r"\bselect\b", re.IGNORECASE)


def matched(given: DataFrame, table: Table, values: Mapping[str, str]) -> dict[str, str]:
    """Values of columns, with the fields of their rows in the order of the table's.

    Args:
        given: A frame that has the values in columns of these names: their types are taken from it.
        table: The table.
        values: Expressions by column.

    Raises:
        SchemaMismatch: A field is missing, or is none of the table's.
    """
    wanted = {field.name: field.dataType for field in spark_schema(table.schema)}
    types = {field.name: field.dataType for field in given.schema}
    exact = tells_case(given.sparkSession)
    return {
        name: _Value(f"'{name}' of {table.name}", exact, fits=True).of(value, types[name], wanted[name])
        if name in types
        else value
        for name, value in values.items()
    }


def by_fields(given: DataFrame, table: Table) -> DataFrame:
    """A frame for a table, the fields of its rows in the table's order; columns that the table lacks stay as they are.

    Raises:
        SchemaMismatch: A field is missing, or is none of the table's.
    """
    known = ColumnNames(table.schema.names, exact=tells_case(given.sparkSession))
    names = [known.find(name) or name for name in given.columns]
    plain = given.toDF(*[f"c{at}" for at in range(len(names))])
    wanted = {field.name: field.dataType for field in spark_schema(table.schema)}
    exact = tells_case(given.sparkSession)
    items = []
    for at, name in enumerate(names):
        kind = plain.schema[at].dataType
        value = _Value(f"'{name}' of {table.name}", exact).of(f"c{at}", kind, wanted.get(name, kind))
        items.append(f"{value} AS {quoted(given.columns[at])}")
    return plain.selectExpr(*items)


@dataclass(frozen=True)
class _Value:
    """The value of a column.

    Attributes:
        place: The column, for errors.
        exact: Names of fields differ by case.
        fits: Numbers are stored as they are, or not at all.
    """

    place: str
    exact: bool
    fits: bool = False

    def of(self, value: str, given: Any, wanted: Any) -> str:
        """The value; its expression stands there once where fields have to be put in order."""
        if self._differs(given, wanted):
            return f"element_at(transform(array({value}), x0 -> {self._text('x0', given, wanted, 1)}), 1)"
        # Spark takes no subquery into a lambda: values stand there more than once, and subqueries have its own error
        once = _SUBQUERY.search(value) or depends_on_more_than_values(value)
        return value if once or not self.fits else fitted(f"({value})", given, wanted, self.place)

    def _differs(self, given: Any, wanted: Any) -> bool:
        """Whether fields come in another order, or are not those of the table."""
        if is_a(given, wanted, "StructType"):
            names = ColumnNames(given.names, exact=self.exact)
            found = [names.find(field.name) for field in wanted]
            return found != given.names or any(
                self._differs(a.dataType, b.dataType) for a, b in zip(given, wanted, strict=True)
            )
        if is_a(given, wanted, "ArrayType"):
            return self._differs(given.elementType, wanted.elementType)
        if is_a(given, wanted, "MapType"):
            return self._differs(given.keyType, wanted.keyType) or self._differs(given.valueType, wanted.valueType)
        return False

    def _text(self, value: str, given: Any, wanted: Any, depth: int) -> str:
        """An expression for a value that has a name."""
        inner = f"x{depth}"
        if is_a(given, wanted, "StructType"):
            fields = ", ".join(self._fields(value, given, wanted, depth))
            return f"if({value} IS NULL, NULL, named_struct({fields}))"
        if is_a(given, wanted, "ArrayType"):
            of_one = self._text(inner, given.elementType, wanted.elementType, depth + 1)
            return f"transform({value}, {inner} -> {of_one})"
        if is_a(given, wanted, "MapType"):
            key = self._text(f"{inner}.key", given.keyType, wanted.keyType, depth + 1)
            item = self._text(f"{inner}.value", given.valueType, wanted.valueType, depth + 1)
            return f"map_from_entries(transform(map_entries({value}), {inner} -> struct({key}, {item})))"
        return value

    def _fields(self, value: str, given: Any, wanted: Any, depth: int) -> Sequence[str]:
        names = ColumnNames(given.names, exact=self.exact)
        found = {field.name: names.find(field.name) for field in wanted}
        missing = [name for name, there in found.items() if there is None]
        more = [name for name in given.names if name not in found.values()]
        if missing or more:
            what = (
                f"has no field '{missing[0]}'"
                if missing
                else f"has the field '{more[0]}', which is none of the table's"
            )
            raise SchemaMismatch(
                f"the value of column {self.place} {what}",
                hint=f"fields are matched by their names: {', '.join(map(quoted, found))}",
            )
        parts = []
        for field in wanted:
            name = str(found[field.name])
            text = self._text(f"{value}.{quoted(name)}", given[name].dataType, field.dataType, depth)
            parts += [spark_text(field.name), text]
        return parts
