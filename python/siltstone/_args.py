"""Forms in which arguments are accepted: times, durations, sizes, texts, partitions; and how messages show them."""

from __future__ import annotations

import datetime as dt
import os
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from siltstone import _core
from siltstone.errors import InvalidArgument

Time = dt.datetime | dt.date | str | int
Duration = dt.timedelta | str
Size = int | str

#: Longest text of a value in a message.
_SHOWN = 100
#: Bits of an integer whose digits are shown.
_SHOWN_BITS = 320
#: Digits of a number that 64 bits can hold.
_DIGITS = 19


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
        raise InvalidArgument(f"{what}={shown(value)} has more digits than Python converts to text") from None
    return text(what, own)


def number(given: str) -> int | str:
    """The number that a text of digits is; another text, or one with more digits than 64 bits can hold, as it is."""
    return int(given) if given.isdecimal() and len(given) <= _DIGITS else given


def millis(time: Time) -> int:
    """Epoch milliseconds of a datetime (naive: local time), a date (local midnight), ISO text or epoch milliseconds."""
    if isinstance(time, bool) or not isinstance(time, (dt.date, str, int)):
        raise InvalidArgument(f"{shown(time)} is not a time: give a datetime, ISO text or epoch milliseconds")
    if isinstance(time, dt.date) and not isinstance(time, dt.datetime):
        time = dt.datetime.combine(time, dt.time())
    if isinstance(time, int):
        if not -(2**63) <= time < 2**63:
            raise InvalidArgument(f"{shown(time)} is not a time: 64 bits of milliseconds do not reach there")
        return time
    if isinstance(time, str):
        try:
            time = dt.datetime.fromisoformat(time)
        except ValueError:
            raise InvalidArgument(f"{shown(time)} is not a time such as 2026-11-20T08:00:00") from None
    try:
        whole = int(time.replace(microsecond=0).timestamp())
    except (OverflowError, ValueError, OSError):
        raise InvalidArgument(f"{time} is outside the times that this system can represent") from None
    return whole * 1000 + time.microsecond // 1000


def duration_text(name: str, duration: Duration) -> str:
    """A duration of an argument as the core reads it: ``7 d``, ``90 min``; texts pass as they are.

    Raises:
        InvalidArgument: Neither a timedelta nor a text.
    """
    if isinstance(duration, dt.timedelta):
        return f"{duration // dt.timedelta(milliseconds=1)} ms"
    if not isinstance(duration, str):
        raise InvalidArgument(f"{name}={shown(duration)} is not a duration such as '7 d'")
    return text(name, duration)


def duration_millis(name: str, duration: Duration) -> int:
    """Milliseconds of a duration of an argument."""
    return _core.duration_millis(name, duration_text(name, duration))


def age_limit(name: str, older_than: Time | Duration | None) -> int | None:
    """Epoch milliseconds of a time, or of now less a duration; None stays None.

    Raises:
        InvalidArgument: Neither of them.
    """
    if older_than is None:
        return None
    if isinstance(older_than, (dt.timedelta, str)):
        limit = _core.age_limit(name, duration_text(name, older_than))
        if limit is not None or isinstance(older_than, dt.timedelta):
            return limit
    try:
        return millis(older_than)
    except InvalidArgument as e:
        raise InvalidArgument(f"{name}: {e.message}", hint="a duration such as '7 d' may be given, too") from None


def size_bytes(name: str, size: Size | None) -> int | None:
    """Bytes of an argument: a number of at least 1, or a text such as ``128 mb``; None stays None.

    Raises:
        InvalidArgument: For anything else.
    """
    if isinstance(size, str):
        size = _core.size_bytes(name, text(name, size))
    elif size is not None and not isinstance(size, int):
        raise InvalidArgument(f"{name}={shown(size)} is not a size such as '128 mb'")
    return count(name, size, 1)


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
        InvalidArgument: For one that cannot, and for dicts and lists that nest without an end.
    """
    try:
        _check_texts(name, value)
    except RecursionError:
        raise InvalidArgument(f"{name}={shown(value)} nests too deeply, or holds itself") from None
    return value


def _check_texts(name: str, value: Any) -> None:
    if isinstance(value, str):
        text(name, value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _check_texts(name, key)
            _check_texts(name, item)
    elif isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        for item in value:
            _check_texts(name, item)


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
    """A list of names of an argument; a single text is a list of one name, None an empty one.

    Raises:
        InvalidArgument: For anything else.
    """
    if value is None:
        return []
    if isinstance(value, str):
        return [text(name, value)]
    if isinstance(value, bytes) or not isinstance(value, Iterable):
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


def not_empty(name: str, value: str) -> str:
    """The text, which is not the empty one.

    Raises:
        InvalidArgument: It is, as that of a variable that is not set.
    """
    if not value:
        raise InvalidArgument(f"{name}='' is empty", hint="the current directory is '.'")
    return value


def directory(name: str, value: Any) -> str:
    """A path of an argument as text.

    Raises:
        InvalidArgument: For anything else, and for an empty text, which is what a variable that is not set gives.
    """
    if isinstance(value, (str, os.PathLike)):
        path = os.fspath(value)
        if isinstance(path, str):
            return not_empty(name, text(name, path))
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
