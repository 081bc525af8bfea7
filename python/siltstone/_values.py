"""Python values as Arrow arrays of a table's types: each is stored as it was given, or refused by name.

One rule for all containers: a value fits a column that can hold exactly this value. Integers fit columns of numbers;
floats and Decimals without a fraction fit columns of integers (1.0 is an INT, 1.5 is none). Other floats are for FLOAT
and DOUBLE, other Decimals for DECIMAL: 0.1 is not the same number in both. FLOAT takes the nearest number it has,
unless that is zero or infinite. Nothing is cut or parsed, and an instant is no wall clock. A datetime without zone is
taken as UTC by TIMESTAMP_LTZ.
"""

from __future__ import annotations

import datetime as dt
import decimal
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from siltstone._args import cut, of_numpy, shown
from siltstone.errors import LengthExceeded, SchemaError, SchemaMismatch

Converter = Callable[[Any], Any]

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # a wall clock
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NANOS = 10**9
#: Most digits of an integer of 64 bits.
_INTEGER_DIGITS = 19
#: What pandas has for a missing value.
_MISSING = ("NaTType", "NAType")


class _Misfit(Exception):  # never leaves this module
    """A value that its type cannot hold; ``place`` leads from the column to it."""

    def __init__(self, value: Any, reason: str, error: type[SchemaError] = SchemaMismatch) -> None:
        super().__init__(reason)
        self.value, self.reason, self.error, self.place = value, reason, error, ""


def column(name: str, values: Sequence[Any], kind: Any) -> Any:
    """A pyarrow array of ``kind`` with these values.

    Raises:
        SchemaMismatch: A value that the type cannot hold exactly; the message names column, row and value.
        LengthExceeded: A number with too many digits.
    """
    import pyarrow as pa

    if _plain(kind).issuperset(map(type, values)):
        try:
            return pa.array(values, kind)
        except (pa.ArrowException, ValueError, OverflowError):
            pass  # the loop below names the value
    convert = _nullable(_converter(kind))
    taken = []
    for row, value in enumerate(values):
        try:
            taken.append(convert(value))
        except _Misfit as e:
            place = name + e.place
            text = f"the value {_short(e.value)} of row {row} does not fit column '{place}': {e.reason}"
            raise e.error(text, context={"column": place}) from None
    try:
        return pa.array(taken, kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as e:
        raise SchemaMismatch(f"the values do not fit column '{name}': {e}", context={"column": name}) from e


def _plain(kind: Any) -> frozenset[type]:
    """The Python types whose values pyarrow stores exactly, or refuses; others are looked at one by one."""
    import pyarrow as pa

    t = pa.types
    plain = (
        (t.is_string, str), (t.is_integer, int), (t.is_float64, float), (t.is_boolean, bool), (t.is_binary, bytes),
        (t.is_date, dt.date),
    )  # fmt: skip
    found = next((python for matches, python in plain if matches(kind)), None)
    return frozenset() if found is None else frozenset((found, type(None)))


def _short(value: Any) -> str:
    return cut(str(value)) if isinstance(value, decimal.Decimal) else shown(value)


def _nullable(convert: Converter) -> Converter:
    def nullable(value: Any) -> Any:
        if value is None or type(value).__name__ in _MISSING:
            return None
        value = of_numpy(value)
        return None if value is None else convert(value)

    return nullable


def _converter(kind: Any) -> Converter:
    """What makes of a value, which is not None, the one that pyarrow stores without another change."""
    import pyarrow as pa

    t = pa.types
    makers: tuple[tuple[Callable[[Any], bool], Converter], ...] = (
        (t.is_struct, _row),
        (t.is_map, _map),
        (t.is_list, _list),
        (t.is_integer, lambda kind: _integer(kind.bit_width)),
        (t.is_decimal, lambda kind: _decimal(kind.precision, kind.scale)),
        (t.is_timestamp, lambda kind: _timestamp(kind.unit, zoned=kind.tz is not None)),
        (t.is_float32, lambda _: _float),
        (t.is_float64, lambda _: _double),
        (t.is_boolean, lambda _: _boolean),
        (t.is_string, lambda _: _text),
        (t.is_binary, lambda _: _bytes),
        (t.is_date, lambda _: _date),
        (t.is_time, lambda _: _time),
    )
    convert: Converter = next(make(kind) for matches, make in makers if matches(kind))
    return convert


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise _Misfit(value, "the column holds True and False")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _integer(bits: int) -> Converter:
    end = 1 << (bits - 1)

    def convert(value: Any) -> int:
        if isinstance(value, decimal.Decimal):
            value = _whole(value)
        if not _is_number(value):
            raise _Misfit(value, "the column holds whole numbers")
        if isinstance(value, float) and not value.is_integer():
            raise _Misfit(value, f"{shown(value)} is not an integer")
        if not -end <= value < end:
            raise _Misfit(value, f"the column holds whole numbers of {bits} bits")
        return int(value)

    return convert


def _whole(value: decimal.Decimal) -> int:
    """A Decimal without a fraction as an integer."""
    reason = "the column holds whole numbers"
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise _Misfit(value, reason)
    whole = "".join(map(str, digits)).lstrip("0")
    significant = whole.rstrip("0")
    zeros = exponent + len(whole) - len(significant)
    # more digits than 64 bits hold, which might be too many to make an integer of them
    if significant and (zeros < 0 or len(significant) + zeros > _INTEGER_DIGITS):
        raise _Misfit(value, reason)
    number = int(significant + "0" * zeros) if significant else 0
    return -number if sign else number


def _double(value: Any) -> float:
    if not _is_number(value):
        raise _Misfit(value, "the column holds floating-point numbers")
    try:
        real = float(value)
    except OverflowError:
        real = float("inf")
    if isinstance(value, int) and real != value:
        raise _Misfit(value, "the column has no floating-point number with exactly this value")
    return real


def _float(value: Any) -> float:
    real = _double(value)
    try:
        (single,) = struct.unpack("<f", struct.pack("<f", real))
    except OverflowError:
        raise _Misfit(value, "the number is larger than the column's floating-point numbers of 32 bits") from None
    if isinstance(value, int) and single != value:
        raise _Misfit(value, "the column has no floating-point number of 32 bits with exactly this value")
    if single == 0 and real != 0:
        raise _Misfit(value, "the number is smaller than the column's floating-point numbers of 32 bits")
    return real


def _decimal(precision: int, scale: int) -> Converter:
    reason = f"the column holds {precision} digits, {scale} of them after the point"

    def convert(value: Any) -> decimal.Decimal:
        if isinstance(value, int) and not isinstance(value, bool):
            if abs(value) >= 10**precision:
                raise _Misfit(value, reason, LengthExceeded)
            value = decimal.Decimal(value)
        if not isinstance(value, decimal.Decimal):
            raise _Misfit(value, "int or Decimal object expected")
        sign, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int):
            raise _Misfit(value, "the column holds finite numbers", LengthExceeded)
        # as text: Python makes no integer of more than 4300 digits
        whole = "".join(map(str, digits)).lstrip("0")
        significant = whole.rstrip("0")
        zeros = exponent + scale + len(whole) - len(significant)
        if significant and (zeros < 0 or len(significant) + zeros > precision):
            raise _Misfit(value, reason, LengthExceeded)
        unscaled = significant + "0" * zeros if significant else "0"
        return decimal.Decimal((sign, tuple(map(int, unscaled)), -scale))

    return convert


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Misfit(value, "the column holds text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _Misfit(value, "the text has half a character (a lone surrogate)") from None
    return value


def _bytes(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise _Misfit(value, "the column holds bytes")


def _date(value: Any) -> dt.date:
    if isinstance(value, dt.datetime):
        raise _Misfit(value, "the column holds days without a time: give value.date()")
    if not isinstance(value, dt.date):
        raise _Misfit(value, "the column holds dates")
    return value


def _time(value: Any) -> dt.time:
    if not isinstance(value, dt.time):
        raise _Misfit(value, "the column holds times of a day")
    if value.tzinfo is not None:
        raise _Misfit(value, "the column holds times without a zone")
    if value.microsecond % 1000:
        raise _Misfit(value, "the column holds milliseconds")
    return value


def _timestamp(unit: str, *, zoned: bool) -> Converter:
    per_second = _PER_SECOND[unit]

    def convert(value: Any) -> int:
        if not isinstance(value, dt.datetime):
            raise _Misfit(value, "the column holds datetimes")
        nanos = getattr(value, "nanosecond", 0)  # of a pandas Timestamp
        clock = value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value
        offset = clock.utcoffset()
        if offset is not None and not zoned:
            reason = "an instant has no wall clock without a zone: convert it to a datetime without zone first"
            raise _Misfit(value, reason)
        since = clock.replace(tzinfo=None) - _EPOCH - (offset or dt.timedelta())
        whole = (since.days * 86_400 + since.seconds) * _NANOS + since.microseconds * 1000 + nanos
        ticks, rest = divmod(whole * per_second, _NANOS)
        if rest:
            raise _Misfit(value, f"the column holds no fractions of a second finer than {unit}")
        if not -(2**63) <= ticks < 2**63:
            raise _Misfit(value, "the column counts nanoseconds, which 64 bits hold for the years 1677 to 2262")
        return ticks

    return convert


def _inside(place: str, convert: Converter) -> Converter:
    """A conversion of a part: what does not fit is at this place."""
    convert = _nullable(convert)

    def inside(value: Any) -> Any:
        try:
            return convert(value)
        except _Misfit as e:
            e.place = place + e.place
            raise

    return inside


def _is_list(value: Any) -> bool:
    listed = isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview))
    return listed or (type(value).__module__ == "numpy" and getattr(value, "ndim", 0) > 0)


def _list(kind: Any) -> Converter:
    element = _inside(".element", _converter(kind.value_type))

    def convert(value: Any) -> list[Any]:
        if not _is_list(value):
            raise _Misfit(value, "the column holds lists")
        return [element(item) for item in value]

    return convert


def _map(kind: Any) -> Converter:
    key, item = _inside(".key", _converter(kind.key_type)), _inside(".value", _converter(kind.item_type))

    def pairs(value: Any) -> Iterator[tuple[Any, Any]]:
        for pair in value.items() if isinstance(value, Mapping) else value:
            if not _is_list(pair) or len(pair) != 2:  # noqa: PLR2004  # a pair
                raise _Misfit(value, "the column holds dicts, or lists of pairs")
            yield pair[0], pair[1]

    def convert(value: Any) -> list[tuple[Any, Any]]:
        if not isinstance(value, Mapping) and not _is_list(value):
            raise _Misfit(value, "the column holds dicts, or lists of pairs")
        found = [(key(k), item(v)) for k, v in pairs(value)]
        if any(k is None for k, _ in found):
            raise _Misfit(value, "a key is null")
        return found

    return convert


def _row(kind: Any) -> Converter:
    fields = {f.name: _inside(f".{f.name}", _converter(f.type)) for f in kind}

    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _Misfit(value, "the column holds dicts with the names of its fields")
        for name in value:
            if name not in fields:
                raise _Misfit(value, f"{shown(name)} is not a field")
        return {name: convert(value.get(name)) for name, convert in fields.items()}

    return convert
