"""Scalars of numpy as Python has them."""

from __future__ import annotations

import datetime as dt
from typing import Any


class _Moment(dt.datetime):
    """A wall clock with nanoseconds, as pandas' Timestamp has it."""

    nanosecond = 0

    def isoformat(self, sep: str = "T", timespec: str = "auto") -> str:
        if not self.nanosecond:
            return super().isoformat(sep, timespec)
        return f"{super().isoformat(sep, 'microseconds')}{self.nanosecond:03}"

    def __repr__(self) -> str:
        return f"datetime64('{self.isoformat()}')"


def of_numpy(value: Any) -> Any:
    """A scalar of numpy as Python has it; anything else as it is.

    Its ``item()`` is no way for times: it gives the bare number of nanoseconds. A moment becomes a datetime or a date,
    a duration stays what it is, as no column holds durations.
    """
    if type(value).__module__ != "numpy" or getattr(value, "shape", None) != ():
        return value
    kind = value.dtype.kind
    if kind in "US":
        # its ``item()`` leaves zeros at the end out
        return str.__str__(value) if kind == "U" else bytes.__getitem__(value, slice(None))
    if kind == "m" or (kind == "M" and value != value):  # noqa: PLR0124  # NaT
        return None if value != value else value[()]  # noqa: PLR0124
    if kind != "M" or not str(value.dtype).endswith("[ns]"):
        found = value.item()
        return value if kind == "M" and not isinstance(found, dt.date) else found
    micros, nanos = divmod(int(value.astype("int64")), 1000)
    moment = _Moment(1970, 1, 1) + dt.timedelta(microseconds=micros)
    moment.nanosecond = nanos
    return moment
