"""Forms in which arguments are accepted: times, durations, sizes, texts, partitions; and how messages show them."""

from __future__ import annotations

import datetime as dt
import os
import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from siltstone.errors import InvalidArgument

Time = dt.datetime | str | int
Duration = dt.timedelta | str
Size = int | str

#: Longest text of a value in a message.
_SHOWN = 100
#: Bits of an integer whose digits are shown.
_SHOWN_BITS = 320
_SIZES = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
#: Milliseconds that 64 bits can hold, and the digits of such a number.
_LONGEST = 2**63
_DIGITS = 19
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


class _Shown(reprlib.Repr):
    """Short texts of values, also of those that Python does not write: an integer of more than 4300 digits."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring = 4, _SHOWN
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = _SHOWN // 3  # with commas, more are never seen
        self.maxfrozenset = self.maxdeque = self.maxarray = _SHOWN // 3

    def repr1(self, x: Any, level: int) -> str:
        try:
            return super().repr1(x, level)
        except Exception:  # noqa: BLE001  # whatever the value's own text fails with
            return f"an object of the type {type(x).__name__}"

    def repr_int(self, x: int, level: int) -> str:  # noqa: ARG002  # reprlib's signature
        bits = x.bit_length()
        return repr(x) if bits <= _SHOWN_BITS else f"{'a negative' if x < 0 else 'an'} integer of {bits} bits"

    def repr_instance(self, x: Any, level: int) -> str:  # noqa: ARG002  # reprlib's signature
        return repr(x)


_SHORT = _Shown()


def shown(value: Any) -> str:
    """A value as messages show it: never long, and never an error of its own."""
    return cut(_SHORT.repr(value))


def cut(text: str) -> str:
    """A text as messages show it: its beginning when it is long."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def written(what: str, value: Any) -> str:
    """A value of an argument as its own text.

    Raises:
        InvalidArgument: An integer of so many digits that Python does not write it.
    """
    try:
        own = str(value)
    except ValueError:
        raise InvalidArgument(f"{what}={shown(value)} has more digits than Python writes") from None
    return text(what, own)


def number(given: str) -> int | str:
    """The number that a text of digits is; another text, or one with more digits than 64 bits can hold, as it is."""
    return int(given) if given.isdecimal() and len(given) <= _DIGITS else given


def millis(time: Time) -> int:
    """Epoch milliseconds of a datetime (naive: local time), ISO text or epoch milliseconds."""
    if isinstance(time, bool) or not isinstance(time, (dt.datetime, str, int)):
        raise InvalidArgument(f"{shown(time)} is not a time: give a datetime, ISO text or epoch milliseconds")
    if isinstance(time, int):
        if not -(2**63) <= time < 2**63:
            raise InvalidArgument(f"{shown(time)} is not a time: there are no so many milliseconds")
        return time
    if isinstance(time, str):
        try:
            time = dt.datetime.fromisoformat(time)
        except ValueError:
            raise InvalidArgument(f"{shown(time)} is not a time such as 2026-11-20T08:00:00") from None
    try:
        whole = int(time.replace(microsecond=0).timestamp())
    except (OverflowError, ValueError, OSError):
        raise InvalidArgument(f"{time} is not a time that this machine knows") from None
    return whole * 1000 + time.microsecond // 1000


def duration_millis(duration: Duration) -> int:
    """Milliseconds of a timedelta or a text such as ``7d``, ``90 min``."""
    if isinstance(duration, dt.timedelta):
        return duration // dt.timedelta(milliseconds=1)
    given = duration.lower() if isinstance(duration, str) else ""
    match = re.fullmatch(r"\s*(\d+)\s*(ms|s|m|min|h|d)\s*", given)
    if not match:
        raise InvalidArgument(f"{shown(duration)} is not a duration such as 7d, 12h, 30min")
    wanted = int(match[1]) * _UNITS[match[2]] if len(match[1]) <= _DIGITS else _LONGEST
    if wanted >= _LONGEST:
        raise InvalidArgument(f"{shown(duration)} is too long for a duration", hint="give at most 100000000000d")
    return wanted


def duration_text(name: str, duration: Duration) -> str:
    """A duration of an argument as the core reads it; texts pass as they are."""
    return text(name, duration) if isinstance(duration, str) else f"{duration_millis(duration)} ms"


def age_limit(older_than: Time | Duration) -> int:
    """Epoch milliseconds of a time, or of now less a duration."""
    if isinstance(older_than, dt.timedelta) or (
        isinstance(older_than, str) and re.fullmatch(r"\s*\d+\s*[a-z]+\s*", older_than.lower())
    ):
        return int(dt.datetime.now(dt.UTC).timestamp() * 1000) - duration_millis(older_than)
    return millis(older_than)


def size_bytes(size: Size | None) -> int | None:
    """Bytes of a number or a text such as ``128mb``; None stays None."""
    if size is None or isinstance(size, int):
        return size
    match = re.fullmatch(r"\s*(\d+)\s*([kmgt]?)i?b?\s*", size.lower() if isinstance(size, str) else "")
    if not match:
        raise InvalidArgument(f"{shown(size)} is not a size such as 128mb")
    if len(match[1]) > _DIGITS:
        raise InvalidArgument(f"{shown(size)} is too large for a size: 64 bits must hold its bytes")
    return int(match[1]) * _SIZES[match[2]]


def text(name: str, value: Any) -> str:
    """A text of an argument.

    Raises:
        InvalidArgument: For anything else.
    """
    if not isinstance(value, str):
        raise InvalidArgument(f"{name}={shown(value)} is not a text")
    half = None if value.isascii() else next((c for c in value if "\ud800" <= c <= "\udfff"), None)
    if half is not None:
        raise InvalidArgument(
            f"{name}={shown(value)} is not a text: it has half a character (the lone surrogate {half!r})"
        )
    return value


def texts_in(name: str, value: Any) -> Any:
    """An argument, when all texts in its dicts and lists can be written.

    Raises:
        InvalidArgument: For one that cannot.
    """
    if isinstance(value, str):
        text(name, value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            texts_in(name, key)
            texts_in(name, item)
    elif isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        for item in value:
            texts_in(name, item)
    return value


def version_of(name: str, value: Any) -> int | str | None:
    """A version of an argument: a number is a snapshot's id, a text a tag's name before anything else; None stays None.

    Raises:
        InvalidArgument: For anything else.
    """
    if value is None or isinstance(value, str):
        return optional_text(name, value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgument(f"{name}={shown(value)} is neither a snapshot id nor the name of a version")
    return count(name, value, -(2**63))


def optional_text(name: str, value: Any) -> str | None:
    """A text of an argument, or None."""
    return None if value is None else text(name, value)


def names(name: str, value: Any) -> list[str]:
    """A list of names of an argument; None is an empty one.

    Raises:
        InvalidArgument: For anything else, a single text among it.
    """
    if value is None:
        return []
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InvalidArgument(f"{name} must be a list of names, not {shown(value)}")
    return [text(name, item) for item in value]


def option_texts(value: Mapping[str, Any] | None) -> dict[str, str]:
    """Options as texts; None stands for none. Python's booleans are written as Java writes them.

    Raises:
        InvalidArgument: Not a dict, a key that is no text, or a value that is neither text nor number nor boolean.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidArgument(f"options={shown(value)} is not a dict of texts")
    for key, item in value.items():
        if not isinstance(item, (str, int, float)):
            raise InvalidArgument(f"the option {shown(key)} has the value {shown(item)}, which is not a text")
    return {text("an option's key", k): _option_value(k, v) for k, v in value.items()}


def _option_value(key: str, value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else written(f"the option {shown(key)}", value)


def flag(name: str, value: Any) -> bool:
    """True or False of an argument.

    Raises:
        InvalidArgument: For anything else.
    """
    if not isinstance(value, bool):
        raise InvalidArgument(f"{name}={shown(value)} is neither True nor False")
    return value


def directory(name: str, value: Any) -> str:
    """A path of an argument as text.

    Raises:
        InvalidArgument: For anything else.
    """
    if isinstance(value, (str, os.PathLike)):
        path = os.fspath(value)
        if isinstance(path, str):
            return text(name, path)
    raise InvalidArgument(f"{name}={shown(value)} is not a path")


def count(name: str, value: int | None, at_least: int = 0) -> int | None:
    """A whole number of an argument, not below ``at_least``; None stays None.

    Raises:
        InvalidArgument: For anything else.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise InvalidArgument(f"{name}={shown(value)} is not a whole number of at least {at_least}")
    if value >= 2**63:
        raise InvalidArgument(f"{name}={shown(value)} is too large: 64 bits must hold it")
    return value
