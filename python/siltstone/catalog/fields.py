"""The columns that a table is made with, in the forms in which they are given."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from siltstone._args import shown, texts_in
from siltstone.errors import IllegalSchema, InvalidArgument


def schema_of(schema: Any) -> Any:
    """A schema as JSON text of fields, or as something with ``__arrow_c_schema__``."""
    if hasattr(schema, "__arrow_c_schema__"):
        return schema
    if isinstance(schema, Mapping):
        return _json([{"name": name, "type": kind} for name, kind in texts_in("schema", schema).items()])
    if isinstance(schema, Sequence) and not isinstance(schema, (str, bytes)):
        fields = list(texts_in("schema", schema))
        _refuse_unknown(fields, set())
        return _json(fields)
    raise InvalidArgument(
        f"{type(schema).__name__} is not a schema: give a pyarrow schema, a dict of SQL types or a list of fields"
    )


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
            raise IllegalSchema(f"{what} has the key {shown(key)}, which nobody reads", hint=hint)


def _json(fields: list[Any]) -> str:
    try:
        return json.dumps(fields)
    except (TypeError, ValueError):
        raise InvalidArgument(f"the fields {shown(fields)} of the schema cannot be written as JSON") from None
