"""Python values in conditions, as JSON for the core."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from typing import Any

from siltstone._args import written
from siltstone._numpy import of_numpy
from siltstone.errors import InvalidArgument

#: Values of a list that become JSON at once.
_PART = 1 << 16


def as_json(tree: dict[str, Any]) -> str:
    """A condition as JSON; a long list in parts, between which Python sees a Ctrl-C."""
    if "args" in tree:
        return f'{{"op": {json.dumps(tree["op"])}, "args": [{", ".join(map(as_json, tree["args"]))}]}}'
    values = tree.get("values")
    if not isinstance(values, list) or len(values) <= _PART:
        return json.dumps(tree, ensure_ascii=False)
    parts = (json.dumps(values[at : at + _PART], ensure_ascii=False)[1:-1] for at in range(0, len(values), _PART))
    others = json.dumps({name: value for name, value in tree.items() if name != "values"}, ensure_ascii=False)
    return f'{others[:-1]}, "values": [{", ".join(parts)}]}}'


def literal(value: object) -> Any:  # noqa: C901, PLR0911  # one line for each type
    """A value as JSON; typed where JSON has no word for it."""
    value = of_numpy(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:  # JSON readers would round it
        return {"type": "int", "value": written("value", value)}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"type": "double", "value": repr(value)}
    if isinstance(value, decimal.Decimal):
        return {"type": "decimal", "value": str(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"type": "bytes", "value": bytes(value).hex()}
    if isinstance(value, dt.datetime):
        return {"type": "timestamp", "value": value.isoformat(sep=" ")}
    if isinstance(value, dt.date):
        return {"type": "date", "value": value.isoformat()}
    if isinstance(value, dt.time):
        return {"type": "time", "value": value.isoformat()}
    raise InvalidArgument(f"{type(value).__name__} cannot stand in a predicate")
