"""Rows of other shapes than the ten columns of `generate.py`: 1 KB of text, 200 columns, nested values. Some values are null."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

KILOBYTE = 1024
NULLS = 0.02
LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .", np.uint8)
WORDS = pa.array([f"word-{number}" for number in range(1000)])


def _words(n: int, rng: np.random.Generator, nulls: float = NULLS) -> pa.Array:
    return WORDS.take(pa.array(rng.integers(0, len(WORDS), n), mask=rng.random(n) < nulls))


def _numbers(n: int, rng: np.random.Generator) -> pa.Array:
    return pa.array(rng.integers(0, 10**6, n, dtype=np.int32), mask=rng.random(n) < NULLS)


def _doubles(n: int, rng: np.random.Generator) -> pa.Array:
    return pa.array(np.round(rng.random(n) * 1000, 2), mask=rng.random(n) < NULLS)


def _rows(keys: np.ndarray, columns: dict[str, pa.Array]) -> pa.Table:
    fields = [
        pa.field("id", pa.int64(), nullable=False),
        *(pa.field(name, each.type) for name, each in columns.items()),
    ]
    return pa.table([pa.array(keys, pa.int64()), *columns.values()], schema=pa.schema(fields))


def long_rows(keys: np.ndarray, rng: np.random.Generator) -> pa.Table:
    """A number and a random text of 1 KB; a codec takes a quarter off it."""
    n = len(keys)
    letters = LETTERS[rng.integers(0, len(LETTERS), n * KILOBYTE, dtype=np.uint8)]
    starts = np.arange(n + 1, dtype=np.int32) * KILOBYTE
    texts = pa.StringArray.from_buffers(n, pa.py_buffer(starts), pa.py_buffer(letters))
    return _rows(keys, {"a": _numbers(n, rng), "text": texts})


def broad_rows(keys: np.ndarray, rng: np.random.Generator) -> pa.Table:
    """The key, 99 whole numbers, 60 fractions and 40 short texts."""
    n = len(keys)
    kinds = {"i": (99, _numbers), "d": (60, _doubles), "s": (40, _words)}
    columns = {f"{kind}{number}": make(n, rng) for kind, (count, make) in kinds.items() for number in range(count)}
    return _rows(keys, columns)


def nested_rows(keys: np.ndarray, rng: np.random.Generator) -> pa.Table:
    """A list of up to five texts, a map of two texts to numbers, a row of three values."""
    n = len(keys)
    ends = np.concatenate([[0], np.cumsum(rng.integers(0, 6, n))]).astype(np.int32)
    tags = pa.ListArray.from_arrays(pa.array(ends), _words(int(ends[-1]), rng))
    names = pa.array(np.tile(["clicks", "visits"], n))
    pairs = pa.array(np.arange(n + 1, dtype=np.int32) * 2)
    counts = pa.MapArray.from_arrays(pairs, names, pa.array(rng.integers(0, 10**9, 2 * n)))
    place = pa.StructArray.from_arrays([_doubles(n, rng), _doubles(n, rng), _words(n, rng)], ["x", "y", "city"])
    return _rows(keys, {"tags": tags, "counts": counts, "place": place})


#: Kind: the series of its seeds, and what makes rows with given keys.
SHAPES: dict[str, tuple[int, Callable[[np.ndarray, np.random.Generator], pa.Table]]] = {
    "long": (11, long_rows),
    "broad": (12, broad_rows),
    "nested": (13, nested_rows),
}
