"""``ALTER TABLE``: columns, properties, names and partitions; tags and branches are in ``versions``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from siltstone.errors import InvalidArgument
from siltstone.procedures.parse import text_of
from siltstone.spark.column_names import ColumnNames
from siltstone.spark.column_types import json_type, type_text
from siltstone.spark.statements.partitions import partition_values
from siltstone.spark.statements.target import Target, only_plain, refused
from siltstone.spark.statements.type_names import type_of
from siltstone.spark.statements.versions import branch_clause, tag_clause
from siltstone.spark.statements.words import Words, split_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from siltstone import Table
    from siltstone.alter import Alter

_FORM = (
    "ALTER TABLE db.t ADD COLUMNS (c type [COMMENT 'text'] [FIRST | AFTER d]) | DROP COLUMNS (c) | RENAME COLUMN c TO d"
    " | ALTER COLUMN c {TYPE type | COMMENT 'text' | FIRST | AFTER d | {SET | DROP} NOT NULL | SET DEFAULT v"
    " | DROP DEFAULT}"
    " | SET TBLPROPERTIES (...) | UNSET TBLPROPERTIES (...) | RENAME TO db.u | DROP PARTITION (...)"
    " | {CREATE | REPLACE | DELETE | RENAME} TAG ... | {CREATE | DELETE | RENAME} BRANCH ..."
)
_ONE_BY_ONE = "one statement each: ALTER COLUMN c TYPE type, ALTER COLUMN c COMMENT 'text', RENAME COLUMN c TO d"


def alter_table(target: Target, text: str) -> DataFrame:
    """Change a table."""
    words = Words(text, _FORM)
    words.expect("ALTER", "TABLE")
    parts = words.name()
    table = target.table(parts, "ALTER TABLE")
    clauses: list[tuple[tuple[str, ...], Callable[[], None]]] = [
        (("ADD", "COLUMN"), lambda: _add(table, words)),
        (("ADD", "COLUMNS"), lambda: _add(table, words)),
        (("DROP", "COLUMN"), lambda: _drop(table, words)),
        (("DROP", "COLUMNS"), lambda: _drop(table, words)),
        (("DROP", "PARTITION"), lambda: _drop_partitions(table, words, missing_is_fine=False)),
        (("DROP", "IF", "EXISTS", "PARTITION"), lambda: _drop_partitions(table, words, missing_is_fine=True)),
        (("RENAME", "COLUMN"), lambda: _rename_column(table, words)),
        (("RENAME", "TO"), lambda: _rename(target, table, words)),
        (("SET", "TBLPROPERTIES"), lambda: _set(table, words)),
        (("UNSET", "TBLPROPERTIES"), lambda: _unset(table, words)),
        (("ALTER",), lambda: _change(table, words, hive_style=False)),
        (("CHANGE",), lambda: _change(table, words, hive_style=True)),
    ]
    for first, change in clauses:
        if words.take(*first):
            change()
            break
    else:
        if not tag_clause(table, words) and not branch_clause(table, words):
            raise _unknown(words)
    words.end()
    return target.nothing()


def _unknown(words: Words) -> Exception:
    hints = {
        "SET LOCATION": "a table lies where its database is: rename it, or copy its rows",
        "ADD PARTITION": "a partition is there as soon as rows are in it",
        "ADD IF": "a partition is there as soon as rows are in it",
        "RECOVER PARTITIONS": "partitions are found by the table's own metadata",
        "REPLACE COLUMNS": "drop and add columns, so that it is plain which rows lose values",
        "CLUSTER BY": "use the option 'clustering.columns' of Paimon",
        "ADD CONSTRAINT": "the key is given when the table is made: TBLPROPERTIES ('primary-key' = 'id')",
    }
    for first, hint in hints.items():
        if words.follows(*first.split()):
            return refused(f"ALTER TABLE ... {first}", hint)
    return words.unreadable("a change is expected")


def _add(table: Table, words: Words) -> None:
    change = table.alter()
    in_brackets = words.take("(")
    while True:
        _add_one(change, words)
        if not words.take(","):
            break
    if in_brackets:
        words.expect(")")
    change.commit()


def _add_one(change: Alter, words: Words) -> None:
    parts = words.name()
    name, t = split_names(parts), type_of(words.type(), ".".join(parts))
    options: dict[str, Any] = {}
    default: str | None = None
    nullable = True
    while clause := next((c for c in ("NOT", "COMMENT", "FIRST", "AFTER", "DEFAULT") if words.take(c)), None):
        if clause == "NOT":
            words.expect("NULL")
            nullable = False
        elif clause == "DEFAULT":
            default = _literal(words.until(",", ")", "COMMENT", "FIRST", "AFTER", "NOT"))
        elif clause == "FIRST":
            options["first"] = True
        else:
            options[clause.lower()] = words.string() if clause == "COMMENT" else words.identifier()
    change.add_column(name, type_text(json_type(t, nullable=nullable)), **options)
    if default is not None:
        change.set_default(name, default)


def _literal(text: str) -> str:
    """The value of a default, which is a literal."""
    plain = text.strip()
    if plain[:1] in ("'", '"'):
        return text_of(plain)
    if "(" in plain:
        raise refused(f"DEFAULT {plain}", "a default is a literal such as 7 or 'x'")
    return plain


def _drop(table: Table, words: Words) -> None:
    missing_is_fine = words.take("IF", "EXISTS")
    change, known, any_column = table.alter(), ColumnNames(table.schema.names), False
    in_brackets = words.take("(")
    while True:
        name = words.name()
        if not (missing_is_fine and len(name) == 1 and known.find(name[0]) is None):
            change.drop_column(split_names(name))
            any_column = True
        if not words.take(","):
            break
    if in_brackets:
        words.expect(")")
    if any_column:
        change.commit()


def _rename_column(table: Table, words: Words) -> None:
    name = words.name()
    words.expect("TO")
    table.alter().rename_column(split_names(name), words.identifier()).commit()


def _rename(target: Target, table: Table, words: Words) -> None:
    parts = words.name()
    database = table.name.partition(".")[0]
    name = target.name(parts if len(parts) > 1 else [database, *parts], "ALTER TABLE ... RENAME TO")
    target.catalog.rename_table(table.name, only_plain(name))


def _change(table: Table, words: Words, *, hive_style: bool) -> None:
    words.take("COLUMN")
    parts = words.name()
    name = split_names(parts)
    change = table.alter()
    clauses: list[tuple[tuple[str, ...], Callable[[], object]]] = [
        (("TYPE",), lambda: change.set_type(name, type_text(json_type(type_of(words.type(), ".".join(parts)))))),
        (("COMMENT",), lambda: change.set_comment(name, words.string())),
        (("FIRST",), lambda: change.move_column(_top(name), first=True)),
        (("AFTER",), lambda: change.move_column(_top(name), after=words.identifier())),
        (("SET", "NOT", "NULL"), lambda: change.set_nullable(name, False)),
        (("DROP", "NOT", "NULL"), lambda: change.set_nullable(name, True)),
        (("SET", "DEFAULT"), lambda: change.set_default(name, _literal(words.rest()))),
        (("DROP", "DEFAULT"), lambda: change.set_default(name, None)),
    ]
    for first, make in clauses:
        if words.take(*first):
            make()
            break
    else:
        if hive_style and not words.at_end:
            raise refused("ALTER TABLE ... CHANGE COLUMN with a name and a type", _ONE_BY_ONE)
        raise words.unreadable("TYPE, COMMENT, FIRST, AFTER, SET or DROP is expected")
    words.end()
    change.commit()


def _top(name: Any) -> str:
    if isinstance(name, list):
        raise refused(f"moving the nested column {'.'.join(name)}", "columns of the table can be moved")
    return str(name)


def _set(table: Table, words: Words) -> None:
    change = table.alter()
    for key, value in words.properties().items():
        if value is None:
            raise InvalidArgument(f"the property '{key}' has no value")
        if key == "comment":
            change.set_table_comment(value)
        else:
            change.set_option(key, value)
    change.commit()


def _unset(table: Table, words: Words) -> None:
    words.take("IF", "EXISTS")
    change = table.alter()
    for key in words.properties():
        if key == "comment":
            change.set_table_comment(None)
        else:
            change.remove_option(key)
    change.commit()


def _drop_partitions(table: Table, words: Words, *, missing_is_fine: bool) -> None:
    specs = [partition_values(table, words)]
    while words.take(","):
        words.expect("PARTITION")
        specs.append(partition_values(table, words))
    words.take("PURGE")
    words.end()
    whole = [] if missing_is_fine else [spec for spec in specs if len(spec) == len(table.partition_by)]
    for spec in whole:  # one that names several partitions may find none, as in Java
        if not table.truncate([spec], dry_run=True).files:
            shown = ", ".join(f"{name}={value}" for name, value in spec.items())
            raise InvalidArgument(
                f"{table.name} has no partition {shown}",
                hint="SHOW PARTITIONS lists those there are; DROP IF EXISTS PARTITION drops one where it is there",
                context={"table": table.name},
            )
    table.truncate(specs)
