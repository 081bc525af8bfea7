"""Single Python values as a column of one type stores them; those that it cannot hold are refused."""

from __future__ import annotations

import datetime as dt
import decimal
import struct
from collections.abc import Callable
from typing import Any

from siltstone._args import cut, shown
from siltstone.errors import LengthExceeded, SchemaError, SchemaMismatch

Converter = Callable[[Any], Any]

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # a wall clock
#: Ticks of a second by unit.
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NANOS = 10**9
#: Most digits of an integer of 64 bits.
_INTEGER_DIGITS = 19


class Misfit(Exception):  # never leaves the package
    """A value that its type cannot hold; ``place`` leads from the column to it."""

    def __init__(self, value: Any, reason: str, error: type[SchemaError] = SchemaMismatch) -> None:
        super().__init__(reason)
        self.value, self.reason, self.error, self.place = value, reason, error, ""


def short(value: Any) -> str:
    """A value as messages show it."""
    return cut(str(value)) if isinstance(value, decimal.Decimal) else shown(value)


def boolean(value: Any) -> bool:
    """True or False."""
    if isinstance(value, bool):
        return value
    raise Misfit(value, "the column holds True and False")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def integer(bits: int) -> Converter:
    """Whole numbers of so many bits."""
    end = 1 << (bits - 1)

    def convert(value: Any) -> int:
        if isinstance(value, decimal.Decimal):
            value = _whole(value)
        if not _is_number(value):
            raise Misfit(value, "the column holds whole numbers")
        if isinstance(value, float) and not value.is_integer():
            raise Misfit(value, f"{shown(value)} is not an integer")
        if not -end <= value < end:
            raise Misfit(value, f"the column holds whole numbers of {bits} bits")
        return int(value)

    return convert


def _whole(value: decimal.Decimal) -> int:
    """A Decimal without a fraction as an integer."""
    reason = "the column holds whole numbers"
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise Misfit(value, reason)
    whole = "".join(map(str, digits)).lstrip("0")
    significant = whole.rstrip("0")
    zeros = exponent + len(whole) - len(significant)
    # more digits than 64 bits hold, which might be too many to make an integer of them
    if significant and (zeros < 0 or len(significant) + zeros > _INTEGER_DIGITS):
        raise Misfit(value, reason)
    number = int(significant + "0" * zeros) if significant else 0
    return -number if sign else number


def float64(value: Any) -> float:
    """A float of 64 bits."""
    if not _is_number(value):
        raise Misfit(value, "the column holds floating-point numbers")
    try:
        real = float(value)
    except OverflowError:
        real = float("inf")
    if isinstance(value, int) and real != value:
        raise Misfit(value, "the column has no floating-point number with exactly this value")
    return real


def float32(value: Any) -> float:
    """The nearest float of 32 bits."""
    real = float64(value)
    try:
        (single,) = struct.unpack("<f", struct.pack("<f", real))
    except OverflowError:
        raise Misfit(value, "the number is larger than the column's floating-point numbers of 32 bits") from None
    if isinstance(value, int) and single != value:
        raise Misfit(value, "the column has no floating-point number of 32 bits with exactly this value")
    if single == 0 and real != 0:
        raise Misfit(value, "the number is smaller than the column's floating-point numbers of 32 bits")
    return real


def decimal128(precision: int, scale: int) -> Converter:
    """Decimals of a precision and scale."""
    reason = f"the column holds {precision} digits, {scale} of them after the point"

    def convert(value: Any) -> decimal.Decimal:
        if isinstance(value, int) and not isinstance(value, bool):
            if abs(value) >= 10**precision:
                raise Misfit(value, reason, LengthExceeded)
            value = decimal.Decimal(value)
        if not isinstance(value, decimal.Decimal):
            raise Misfit(value, "int or Decimal object expected")
        sign, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int):
            raise Misfit(value, "the column holds finite numbers", LengthExceeded)
        # as text: Python makes no integer of more than 4300 digits
        whole = "".join(map(str, digits)).lstrip("0")
        significant = whole.rstrip("0")
        zeros = exponent + scale + len(whole) - len(significant)
        if significant and (zeros < 0 or len(significant) + zeros > precision):
            raise Misfit(value, reason, LengthExceeded)
        unscaled = significant + "0" * zeros if significant else "0"
        return decimal.Decimal((sign, tuple(map(int, unscaled)), -scale))

    return convert


def string(value: Any) -> str:
    """A text of whole characters."""
    if not isinstance(value, str):
        raise Misfit(value, "the column holds text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Misfit(value, "the text has half a character (a lone surrogate)") from None
    return value


def binary(value: Any) -> bytes:
    """Bytes."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise Misfit(value, "the column holds bytes")


def date(value: Any) -> dt.date:
    """A day."""
    if isinstance(value, dt.datetime):
        raise Misfit(value, "the column holds days without a time: give value.date()")
    if not isinstance(value, dt.date):
        raise Misfit(value, "the column holds dates")
    return value


def time(value: Any) -> dt.time:
    """A time of the day."""
    if not isinstance(value, dt.time):
        raise Misfit(value, "the column holds times of a day")
    if value.tzinfo is not None:
        raise Misfit(value, "the column holds times without a zone")
    return value


def time_in_millis(value: Any) -> dt.time:
    """A time of the day, in milliseconds."""
    found = time(value)
    if found.microsecond % 1000:
        raise Misfit(value, "the column holds milliseconds")
    return found


def timestamp(unit: str, *, zoned: bool) -> Converter:
    """Instants, or times of a wall clock, in a unit."""
    per_second = PER_SECOND[unit]

    def convert(value: Any) -> int:
        if not isinstance(value, dt.datetime):
            raise Misfit(value, "the column holds datetimes")
        nanos = getattr(value, "nanosecond", 0)  # of a pandas Timestamp
        clock = value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value
        offset = clock.utcoffset()
        if offset is not None and not zoned:
            reason = "an instant has no wall clock without a zone: convert it to a datetime without zone first"
            raise Misfit(value, reason)
        since = clock.replace(tzinfo=None) - _EPOCH - (offset or dt.timedelta())
        whole = (since.days * 86_400 + since.seconds) * _NANOS + since.microseconds * 1000 + nanos
        ticks, rest = divmod(whole * per_second, _NANOS)
        if rest:
            raise Misfit(value, f"the column holds no fractions of a second finer than {unit}")
        if not -(2**63) <= ticks < 2**63:
            raise Misfit(value, "the column counts nanoseconds, which 64 bits hold for the years 1677 to 2262")
        return ticks

    return convert
