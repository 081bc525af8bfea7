"""Types of polars: what is in them, and what has no counterpart in Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from siltstone.errors import SchemaMismatch


def is_map(kind: Any) -> bool:
    """Whether it is the type of maps, which releases before 2 do not have."""
    return type(kind).__name__ == "Map"


def parts(kind: Any) -> Iterator[Any]:
    """A type and all that are in it."""
    yield kind
    if is_map(kind):
        yield from parts(kind.key)
        yield from parts(kind.value)
    elif hasattr(kind, "fields"):
        for field in kind.fields:
            yield from parts(field.dtype)
    elif (inner := getattr(kind, "inner", None)) is not None:
        yield from parts(inner)


def has_objects(kind: Any) -> bool:
    """Whether a type is Object or has such a part."""
    return any(str(part) == "Object" for part in parts(kind))


def has_long_integers(kind: Any) -> bool:
    """Whether there are integers of 128 bits in it, which Arrow does not have."""
    return any(str(part) in {"Int128", "UInt128"} for part in parts(kind))


def is_of_python(kind: Any) -> bool:
    """Whether values of a type are objects of Python, or numbers that only Python has: none of them times."""
    return has_objects(kind) or has_long_integers(kind)


def refuse_objects(frame: Any) -> None:
    """Look at a frame's types.

    Raises:
        SchemaMismatch: A column has addresses in it.
    """
    for name, kind in frame.schema.items():
        if has_objects(kind):
            raise SchemaMismatch(
                f"column '{name}' has the type Object of polars, which holds addresses and no values",
                hint="give the column a type, for example with map_elements(..., return_dtype=...)",
                context={"column": name, "got": str(kind)},
            )


def has_nulls(kind: Any) -> bool:
    """Whether a part of a type has nothing but nulls."""
    return any(str(part) == "Null" for part in parts(kind))


def without_nulls(kind: Any, known: Any) -> Any:
    """A type with those of a column in the place of types of nothing but nulls; all others stay.

    Args:
        kind: The type.
        known: The column's own type at the same place, None where it has none.
    """
    import polars as pl

    if str(kind) == "Null":
        return pl.Boolean() if known is None else known
    if not has_nulls(kind):
        return kind
    if is_map(kind):
        return pl.Map(*(without_nulls(getattr(kind, at), getattr(known, at, None)) for at in ("key", "value")))
    if isinstance(kind, pl.Struct):
        there = {f.name: f.dtype for f in getattr(known, "fields", ())}
        return pl.Struct({f.name: without_nulls(f.dtype, there.get(f.name)) for f in kind.fields})
    inner = without_nulls(kind.inner, getattr(known, "inner", None))
    return pl.Array(inner, kind.size) if isinstance(kind, pl.Array) else pl.List(inner)


def with_pairs(kind: Any) -> Any:
    """A type with lists of keys and values in the place of maps, which may have a key twice then."""
    import polars as pl

    if is_map(kind):
        return pl.List(pl.Struct({"key": with_pairs(kind.key), "value": with_pairs(kind.value)}))
    if isinstance(kind, pl.Struct):
        return pl.Struct({f.name: with_pairs(f.dtype) for f in kind.fields})
    if isinstance(kind, pl.Array):
        return pl.Array(with_pairs(kind.inner), kind.size)
    return pl.List(with_pairs(kind.inner)) if isinstance(kind, pl.List) else kind
