"""Python values in conditions, as JSON for the core."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

from siltstone._args import written
from siltstone._numpy import of_numpy
from siltstone.errors import InvalidArgument


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
