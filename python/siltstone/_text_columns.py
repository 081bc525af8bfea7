"""Whole columns of texts as values: what pyarrow reads exactly, which is most of what files hold."""

from __future__ import annotations

from typing import Any

_ZONE = r"(?:Z|[+-][0-9]{2}:?[0-9]{2})"
#: Texts that pyarrow reads exactly; others are looked at one by one.
_DOUBLE = r"^-?[0-9]{1,15}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?$"
_FLOAT = r"^-?[0-9]{1,7}(?:\.[0-9]{1,30})?$"
_INTEGER = r"^-?[0-9]{1,18}$"
_DECIMAL = r"^-?[0-9]{1,38}(?:\.[0-9]{1,38})?$"
_BOOLEAN = r"^(?:true|false|0|1)$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TIMESTAMP = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?"


def read_exactly(texts: Any, kind: Any) -> Any:
    """Texts as values of a type; None where one of them has to be looked at, which may be wrong or just rare."""
    import pyarrow.compute as pc

    from siltstone._pyarrow import pa

    pattern = _pattern(kind)
    if pattern is None or not pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py():
        return None
    try:
        return texts.cast(kind)
    except (pa.ArrowException, ValueError):
        return None


def _pattern(kind: Any) -> str | None:
    """What texts look like that pyarrow reads exactly as values of a type, or refuses."""
    from siltstone._pyarrow import pa

    t = pa.types
    patterns = (
        (t.is_float64, _DOUBLE), (t.is_float32, _FLOAT), (t.is_integer, _INTEGER), (t.is_decimal, _DECIMAL),
        (t.is_boolean, _BOOLEAN), (t.is_date, _DATE),
    )  # fmt: skip
    if t.is_timestamp(kind):
        return _TIMESTAMP + (_ZONE if kind.tz else "") + "$"
    return next((pattern for matches, pattern in patterns if matches(kind)), None)
