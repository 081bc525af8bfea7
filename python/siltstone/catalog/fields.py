"""The columns that a table is made with, in the forms in which they are given."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from siltstone._args import shown, texts_in
from siltstone._column_types import of_types
from siltstone.catalog.columns_text import columns_of_text
from siltstone.catalog.given import check_arrow, dataclass_types, schema_in
from siltstone.errors import IllegalSchema, InvalidArgument


def definition_of(schema: Any) -> tuple[Any, list[str]]:
    """A schema as JSON text of fields, or as something with ``__arrow_c_schema__``, and the primary key it says."""
    key: list[str] = []
    if isinstance(schema, str):
        schema, key = columns_of_text(texts_in("schema", schema))
    types = dataclass_types(schema)
    if types is not None:
        schema = of_types(types)
    elif isinstance(schema, Mapping):
        schema = of_types(texts_in("schema", schema))
    elif not isinstance(schema, Sequence) and not hasattr(schema, "__arrow_c_schema__"):
        schema = schema_in(schema) or schema
    if hasattr(schema, "__arrow_c_schema__"):
        check_arrow(schema)
        return schema, key
    if isinstance(schema, Sequence) and not isinstance(schema, (str, bytes)):
        fields = list(texts_in("schema", schema))
        _refuse_unknown(fields, set())
        return _json(fields), key
    raise InvalidArgument(
        f"{type(schema).__name__} is not a schema: give a pyarrow schema, a dict of SQL types or a list of fields"
    )


def key_of(written: list[str], given: list[str]) -> list[str]:
    """The primary key, which the schema's text and the argument may both say.

    Raises:
        IllegalSchema: They say different ones.
    """
    if written and given and written != given:
        raise IllegalSchema(f"the text says PRIMARY KEY ({', '.join(written)}), primary_key={given}")
    return written or given


#: Keys of a column, and of a type with types in it, in the schema JSON.
_OF_FIELD = frozenset({"id", "name", "type", "description", "defaultValue"})
_OF_TYPE = {
    "ARRAY": {"element"},
    "MULTISET": {"element"},
    "MAP": {"key", "value"},
    "VECTOR": {"element", "length"},
    "ROW": {"fields"},
}


def _refuse_unknown(fields: Sequence[Any], ids: set[int]) -> None:
    """Nobody would honour a key that the schema JSON does not have, or one id of two columns.

    Args:
        fields: The columns, or the fields of a row.
        ids: Those that other columns have.

    Raises:
        IllegalSchema: There is one.
    """
    for field in fields:
        if isinstance(field, Mapping):
            if "name" not in field and "type" not in field:
                raise IllegalSchema(
                    f"{shown(field)} is no column: it has neither a name nor a type",
                    hint="write [{'name': 'id', 'type': 'BIGINT'}], or {'id': 'BIGINT'}; rows do not say their types",
                )
            _refuse_keys(f"the column {shown(field.get('name'))}", field, _OF_FIELD)
            if isinstance(field.get("id"), int):
                if field["id"] in ids:
                    raise IllegalSchema(f"two columns have the id {field['id']}", hint="leave ids out")
                ids.add(field["id"])
            _refuse_in_type(field.get("type"), ids)


def _refuse_in_type(kind: Any, ids: set[int]) -> None:
    if not isinstance(kind, Mapping):
        return
    root = re.match(r"\s*(\w*)", kind["type"]) if isinstance(kind.get("type"), str) else None
    known = _OF_TYPE.get(root[1].upper(), set()) if root else set()
    _refuse_keys(f"the type {shown(kind.get('type'))}", kind, {"type", "nullable", *known})
    for inside in ("element", "key", "value"):
        _refuse_in_type(kind.get(inside), ids)
    if isinstance(kind.get("fields"), Sequence) and not isinstance(kind["fields"], str):
        _refuse_unknown(kind["fields"], ids)


def _refuse_keys(what: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    for key in given:
        if key not in known:
            hint = f"keys: {', '.join(sorted(known))}"
            if str(key).lower() == "nullable":
                hint = "write NOT NULL behind the type"
            raise IllegalSchema(f"{what} has the key {shown(key)}, which is unknown", hint=hint)


def _json(fields: list[Any]) -> str:
    try:
        return json.dumps(fields)
    except (TypeError, ValueError):
        raise InvalidArgument(f"the fields {shown(fields)} of the schema cannot be written as JSON") from None
