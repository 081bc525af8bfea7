"""Values of files of text: numbers, days and times as CSV and JSON write them, each taken exactly or refused."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import decimal
import re
from collections.abc import Callable
from typing import Any

from siltstone import _scalars as scalars
from siltstone._scalars import Converter, Misfit

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_DAY = r"(?P<year>-?[0-9]{4,})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_CLOCK = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,9}))?)?"
_ZONE = r"(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
_DATE = re.compile(_DAY)
_TIME = re.compile(_CLOCK)
_TIMESTAMP = re.compile(rf"{_DAY}(?:[T ]{_CLOCK})?{_ZONE}")

_SECONDS = 86_400
_NANOS = 10**9
#: Days and years after which the calendar begins again.
_CYCLE_DAYS, _CYCLE_YEARS = 146_097, 400
_EPOCH = dt.date(1970, 1, 1).toordinal()
#: Digits of a year, with which it is still within the days of 32 bits.
_YEAR_DIGITS = 8


class NumberText:
    """A number with a fraction or an exponent, as JSON writes it: all its digits, until it is known who takes it."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        """A number of this text."""
        self.text = text

    def __repr__(self) -> str:
        """The text."""
        return self.text


def of_json(kind: Any) -> Converter | None:
    """What makes of a value of JSON the one that a column stores; None where it is that of Python itself."""
    from siltstone._pyarrow import pa

    t = pa.types
    if t.is_floating(kind):
        return _floating(kind, {"NaN", "Infinity", "-Infinity"}.__contains__, by_text=False)
    if t.is_integer(kind):
        return _parsed(_written_number, scalars.integer(kind.bit_width))
    if t.is_decimal(kind):
        return _parsed(_number_or_text, scalars.decimal128(kind.precision, kind.scale))
    return _bytes if t.is_binary(kind) else _temporal(kind)


def of_csv(kind: Any) -> Converter | None:
    """What makes of a text of CSV the value that a column stores; None where it is the text itself."""
    from siltstone._pyarrow import pa

    t = pa.types
    if t.is_floating(kind):
        return _floating(kind, _NOT_FINITE.fullmatch, by_text=True)
    if t.is_integer(kind):
        return _parsed(_number_or_text, scalars.integer(kind.bit_width))
    if t.is_decimal(kind):
        return _parsed(_number_or_text, scalars.decimal128(kind.precision, kind.scale))
    return _boolean if t.is_boolean(kind) else _temporal(kind)


def _parsed(parse: Converter, convert: Converter) -> Converter:
    def parsed(value: Any) -> Any:
        return convert(parse(value))

    return parsed


def _written_number(value: Any) -> Any:
    """The number that a JSON file has; anything else as it is."""
    return _exact(value, value.text) if isinstance(value, NumberText) else value


def _number_or_text(value: Any) -> Any:
    """The number that a text is; what is none is refused by who takes numbers."""
    if isinstance(value, str):
        plain = value.strip(" \t")
        return value if _NUMBER.fullmatch(plain) is None else _exact(value, plain)
    return _written_number(value)


def _exact(value: Any, text: str) -> decimal.Decimal:
    """A number with all its digits."""
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation:
        raise Misfit(value, "the number has an exponent that is too large") from None


def _floating(kind: Any, is_special: Callable[[str], Any], *, by_text: bool) -> Converter:
    """Numbers for FLOAT and DOUBLE: the nearest one, but whole numbers exactly, and none becomes zero or infinite.

    Args:
        kind: float or double.
        is_special: Whether a text means NaN or an infinity.
        by_text: Any number may be a text, and one is exact, too, that is the shortest text of the number it becomes.
    """
    from siltstone._pyarrow import pa

    fits = scalars.float32 if pa.types.is_float32(kind) else scalars.float64

    def convert(value: Any) -> float:
        given = value
        if isinstance(value, str):
            plain = value.strip(" \t")
            if is_special(plain):
                return float(plain)
            given = _number_or_text(value) if by_text else value
        given = _written_number(given)
        if not isinstance(given, decimal.Decimal):
            return fits(given)
        real = fits(_nearest(given))
        if kind.bit_width < 64:  # noqa: PLR2004  # the nearest to the text, not to the number of 64 bits
            real = pa.scalar(str(given)).cast(kind).as_py()
        if by_text and given.as_tuple().exponent == 0:  # 7 is a whole number, 7.0 is none
            stored = pa.scalar(real, kind)
            shortest = decimal.Decimal(stored.cast(pa.string()).as_py()) == given
            if stored.as_py() != given and not shortest:
                raise Misfit(value, "the column has no floating-point number with exactly this value")
        return real

    return convert


def _nearest(given: decimal.Decimal) -> float:
    """The nearest float of 64 bits."""
    real = float(given)
    if real in {float("inf"), float("-inf")}:
        raise Misfit(given, "the number is larger than the column's floating-point numbers")
    if real == 0 and given:
        raise Misfit(given, "the number is smaller than the column's floating-point numbers")
    return real


def _boolean(value: Any) -> bool:
    known = {"true": True, "1": True, "false": False, "0": False}
    found = known.get(value.strip(" \t").lower())
    if found is None:
        raise Misfit(value, "the column holds true and false")
    return found


def _bytes(value: Any) -> bytes:
    """Bytes, which JSON writes as base64."""
    if not isinstance(value, str):
        raise Misfit(value, "the column holds bytes, which JSON has as a text in base64")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise Misfit(value, "the column holds bytes, and the text is not base64") from None


def _temporal(kind: Any) -> Converter | None:
    from siltstone._pyarrow import pa

    t = pa.types
    if t.is_date(kind):
        return lambda value: _day(value, _match(_DATE, value, "the column holds days such as 2026-11-20"))
    if t.is_time(kind):
        return _time_of_day
    if t.is_timestamp(kind):
        return _moment(kind.unit, zoned=kind.tz is not None)
    return None


def _match(pattern: re.Pattern[str], value: Any, reason: str) -> re.Match[str]:
    found = pattern.fullmatch(value.strip(" \t")) if isinstance(value, str) else None
    if found is None:
        raise Misfit(value, reason)
    return found


def _day(value: Any, found: re.Match[str]) -> int:
    """Days since 1970, of any year."""
    if len(found["year"]) > _YEAR_DIGITS:
        raise Misfit(value, "the year is too far away")
    cycles, year = divmod(int(found["year"]) - 1, _CYCLE_YEARS)
    try:
        of_cycle = dt.date(year + 1, int(found["month"]), int(found["day"])).toordinal()
    except ValueError as e:
        raise Misfit(value, str(e)) from None
    days = of_cycle - _EPOCH + cycles * _CYCLE_DAYS
    if not -(2**31) <= days < 2**31:
        raise Misfit(value, "the year is too far away")
    return days


def _clock(value: Any, found: re.Match[str]) -> int:
    """Nanoseconds since midnight."""
    if found["hour"] is None:
        return 0
    hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"] or 0)
    if hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004  # a clock
        raise Misfit(value, "there is no such time of a day")
    return (hour * 3600 + minute * 60 + second) * _NANOS + int((found["fraction"] or "").ljust(9, "0"))


def _time_of_day(value: Any) -> int:
    """Milliseconds since midnight."""
    nanos = _clock(value, _match(_TIME, value, "the column holds times of a day such as 08:30:00"))
    ticks, rest = divmod(nanos, 10**6)
    if rest:
        raise Misfit(value, "the column holds milliseconds")
    return ticks


def _moment(unit: str, *, zoned: bool) -> Converter:
    """Instants, or times of a wall clock, in a unit."""
    per_second = scalars.PER_SECOND[unit]

    def convert(value: Any) -> int:
        found = _match(_TIMESTAMP, value, "the column holds times such as 2026-11-20T08:30:00")
        zone = found["zone"]
        if zone and not zoned:
            raise Misfit(value, "an instant has no wall clock without a zone: leave the zone out")
        if zone and found["hour"] is None:
            raise Misfit(value, "the text has a zone and no time of a day")
        nanos = _day(value, found) * _SECONDS * _NANOS + _clock(value, found) - _offset(value, zone) * _NANOS
        ticks, rest = divmod(nanos * per_second, _NANOS)
        if rest:
            raise Misfit(value, f"the column holds no fractions of a second finer than {unit}")
        if not -(2**63) <= ticks < 2**63:
            raise Misfit(value, f"64 bits of {unit} do not reach there")
        return ticks

    return convert


def _offset(value: Any, zone: str | None) -> int:
    """Seconds of a zone."""
    if not zone or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:  # noqa: PLR2004  # a clock
        raise Misfit(value, "there is no such zone")
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)
