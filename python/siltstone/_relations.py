"""Relations of DuckDB, whose types and values the Arrow data that they give out does not tell apart."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from siltstone.errors import SchemaMismatch, SiltstoneError

#: Types whose values are others in Arrow, by DuckDB's names, and what to do.
_LOST = {
    "uhugeint": "cast it: x::DECIMAL(38, 0)",
    "time with time zone": "cast it: x::TIME, without the offset, or x::VARCHAR",
    "bit": "cast it: x::VARCHAR",
    "bignum": "cast it: x::VARCHAR",
    "varint": "cast it: x::VARCHAR",
}
#: The infinite days and times, positive and negative, by the number of bits.
_MOST = {32: 2**31 - 1, 64: 2**63 - 1}


def is_relation(data: Any) -> bool:
    """Whether it is one of DuckDB's."""
    is_of_duckdb = type(data).__module__.partition(".")[0] in {"_duckdb", "duckdb"}
    return is_of_duckdb and hasattr(data, "types") and hasattr(data, "columns")


def refuse_types(relation: Any) -> None:
    """Look at the types of all columns, and of what is in them.

    Raises:
        SchemaMismatch: Arrow has other values than the relation.
    """
    for name, kind in zip(relation.columns, relation.types, strict=True):
        lost = next((part for part in _parts(kind) if part.id in _LOST), None)
        if lost is not None:
            raise SchemaMismatch(
                f"column '{name}' has the type {lost} of DuckDB, whose values Arrow does not have",
                hint=_LOST[lost.id],
                context={"column": name, "got": str(kind)},
            )


def has_times(relation: Any) -> bool:
    """Whether there are days or times in it, which may be infinite."""
    return any(_is_time(part) for kind in relation.types for part in _parts(kind))


def finite(reader: Any, refused: list[SiltstoneError]) -> Any:
    """A reader of pyarrow that ends at an infinite day or time.

    Args:
        reader: The rows of a relation.
        refused: Where the error goes: a stream hands on its text alone.
    """
    from siltstone._pyarrow import pa

    def batches() -> Iterator[Any]:
        # the connection has no other query while a reader is open, and what is kept of an error must not hold one
        with contextlib.closing(reader):
            for batch in reader:
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    if _is_infinite(column):
                        refused.append(_infinite(name))
                        raise _infinite(name)
                yield batch

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def finite_frame(relation: Any) -> Any:
    """The rows as a frame of polars.

    Raises:
        SchemaMismatch: A day or time is infinite.
        MissingPyarrow: There are times in seconds, which polars has as milliseconds where 64 bits hold these.
    """
    import polars as pl

    from siltstone._pyarrow import MissingPyarrow

    if any(part.id == "timestamp_s" for kind in relation.types for part in _parts(kind)):
        raise MissingPyarrow
    frame = pl.DataFrame(relation)
    for series, kind in zip(frame.get_columns(), relation.types, strict=True):
        if _is_infinite_in(series.to_physical(), kind):
            raise _infinite(series.name)
    return frame


def _parts(kind: Any) -> Iterator[Any]:
    """A type of DuckDB, and all that are in it."""
    yield kind
    for _, child in _children(kind):
        yield from _parts(child)


def _children(kind: Any) -> list[tuple[str, Any]]:
    if kind.id not in {"list", "array", "struct", "map", "union"}:
        return []
    return [(name, child) for name, child in kind.children if hasattr(child, "id")]  # not the length of an array


def _is_time(kind: Any) -> bool:
    return bool(kind.id == "date" or kind.id.startswith("timestamp"))


def _is_infinite(values: Any) -> bool:
    """Whether an array of pyarrow has an infinite day or time, at any depth."""
    from siltstone._pyarrow import pa

    kind = values.type
    if pa.types.is_timestamp(kind) or pa.types.is_date32(kind):
        import pyarrow.compute as pc

        ends = pc.min_max(values.cast(pa.int64() if kind.bit_width > 32 else pa.int32())).as_py()  # noqa: PLR2004
        most = _MOST[kind.bit_width]
        return ends["min"] is not None and (ends["min"] <= -most or ends["max"] >= most)
    if pa.types.is_struct(kind):
        return any(map(_is_infinite, values.flatten()))
    if pa.types.is_map(kind):
        return _is_infinite(values.keys) or _is_infinite(values.items)
    return bool(pa.types.is_nested(kind) and hasattr(values, "flatten") and _is_infinite(values.flatten()))


def _is_infinite_in(numbers: Any, kind: Any) -> bool:
    """The same of a series of polars, whose times are numbers, and its type of DuckDB."""
    if _is_time(kind):
        most = _MOST[32 if kind.id == "date" else 64]
        return bool(((numbers == most) | (numbers == -most)).any())
    children = _children(kind)
    if not any(_is_time(part) for part in _parts(kind)):
        return False
    if kind.id in {"list", "array"}:
        return _is_infinite_in(numbers.explode(), children[0][1])
    names = [name for name, _ in children]
    if kind.id == "map":
        numbers, names = numbers.explode(), ["key", "value"]
    fields = zip(names, children, strict=True)
    return any(_is_infinite_in(numbers.struct.field(name), child) for name, (_, child) in fields)


def _infinite(name: str) -> SchemaMismatch:
    return SchemaMismatch(
        f"column '{name}' has an infinite day or time of DuckDB, which no column here has",
        hint="make it null, or a last day: CASE WHEN isfinite(x) THEN x END",
        context={"column": name},
    )
