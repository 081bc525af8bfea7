"""What a table is, in the words of SQL."""

from __future__ import annotations

import json
from typing import Any

from siltstone import Table


def fields_of(table: Table) -> list[dict[str, Any]]:
    """The columns of a table as in its schema's JSON."""
    found = table.inspect("schemas", ["fields"], f"schema_id = {table.schema_id}").to_arrow().to_pylist()
    fields: list[dict[str, Any]] = json.loads(found[0]["fields"])
    return fields


def own_options(table: Table) -> dict[str, str]:
    """Options that are stored with a table, without those of this session."""
    found = table.inspect("schemas", ["options"], f"schema_id = {table.schema_id}").to_arrow().to_pylist()
    options: dict[str, str] = json.loads(found[0]["options"])
    return options
