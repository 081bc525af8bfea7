"""Seeded inputs: parquet files of random keys, the same rows on every machine.

    python generate.py OUT [--rows 5000000] [--only merge,base]

`merge-0..4.parquet` hold rows/5 rows each, with distinct random keys below rows/2, so the five files overlap at
random: 5.0 M rows merge to 2.3 M. `partial-0..4.parquet` are the same with 60 % nulls. `base-0..4.parquet` hold every
key below rows once, shuffled, and `upsert.parquet` a random tenth of them.
`known-0..4.parquet` repeat keys of the files before in 30 % of their rows. `wide-0..9.parquet` hold every key below
2 x rows once, rows/5 in a file, and `moved.parquet` rows/5 of these keys with other values. `spread-0..4.parquet` have one
row with a new key for each of 1,000 values of `a`, however many rows are asked for. `long-`, `broad-` and `nested-0..4.parquet`
overlap as `merge` does, a twenty-fifth of its rows; `shapes.py` has their columns. `tpch.py` makes
`orders`, `lineitem` and their changes. The others have ten: the BIGINT key, two INT, a BIGINT, two DOUBLE (one rounded to cents,
one of full entropy), a text of 20 values, a text that is nearly unique, a BOOLEAN, a TIMESTAMP(6); 2 % nulls outside
the key.
"""

import argparse
import functools
import pathlib
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tpch
from shapes import SHAPES

FILES = 5
PARTITIONS = 1000
FEWER = 25  # rows of large or many values are so many times fewer
SEED = 20240601
NULLS = 0.02
PARTIAL_NULLS = 0.6
MICROS = 1_700_000_000_000_000
CITIES = np.array(
    "Aarhus Bergen Cork Dresden Espoo Faro Ghent Haifa Izmir Jena "  # noqa: SIM905
    "Kaunas Lyon Malmo Nantes Oslo Porto Quito Riga Split Turku".split()
)
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("a", pa.int32()),
        ("b", pa.int32()),
        ("c", pa.int64()),
        ("x", pa.float64()),
        ("y", pa.float64()),
        ("city", pa.string()),
        ("code", pa.string()),
        ("flag", pa.bool_()),
        ("ts", pa.timestamp("us")),
    ]
)


def rows_of(keys: np.ndarray, rng: np.random.Generator, nulls: float = NULLS) -> pa.Table:
    """Random rows with these keys."""
    n = len(keys)

    def column(values: np.ndarray, kind: pa.DataType) -> pa.Array:
        return pa.array(values, kind, mask=rng.random(n) < nulls)

    # The order of the draws is part of the contract: it decides the rows.
    columns = [
        pa.array(keys, pa.int64()),
        column(rng.integers(0, 1000, n, dtype=np.int32), pa.int32()),
        column(rng.integers(-(2**31), 2**31 - 1, n, dtype=np.int32), pa.int32()),
        column(rng.integers(0, 10**12, n), pa.int64()),
        column(np.round(rng.random(n) * 1000, 2), pa.float64()),
        column(rng.standard_normal(n), pa.float64()),
        column(CITIES[rng.integers(0, len(CITIES), n)], pa.string()),
        column(np.char.add("code-", rng.integers(0, 10**6, n).astype(str)), pa.string()),
        column(rng.random(n) < 0.3, pa.bool_()),
        column(MICROS + rng.integers(0, 10**13, n), pa.timestamp("us")),
    ]
    return pa.table(columns, schema=SCHEMA)


def _overlapping(rows: int, kind: str) -> Iterator[tuple[str, pa.Table]]:
    part = rows // FILES
    series, nulls = {"merge": (1, NULLS), "partial": (4, PARTIAL_NULLS)}[kind]
    for number in range(FILES):
        rng = np.random.default_rng([SEED, series, number])
        yield f"{kind}-{number}", rows_of(rng.permutation(rows // 2)[:part], rng, nulls)


def _once(rows: int, kind: str) -> Iterator[tuple[str, pa.Table]]:
    part = rows // FILES
    series, number_of_files = {"base": (2, FILES), "wide": (6, 2 * FILES)}[kind]
    rng = np.random.default_rng([SEED, series])
    keys = rng.permutation(part * number_of_files)
    for number in range(number_of_files):
        yield f"{kind}-{number}", rows_of(keys[number * part : (number + 1) * part], rng)


def _upsert(rows: int) -> Iterator[tuple[str, pa.Table]]:
    rng = np.random.default_rng([SEED, 3])
    yield "upsert", rows_of(rng.permutation(rows)[: rows // 10], rng)


def _known(rows: int) -> Iterator[tuple[str, pa.Table]]:
    part = rows // FILES
    rng = np.random.default_rng([SEED, 5])
    keys, used = rng.permutation(rows), 0
    for number in range(FILES):
        repeated = rng.choice(keys[:used], part * 3 // 10 if number else 0, replace=False)
        new = keys[used : used + part - len(repeated)]
        used += len(new)
        yield f"known-{number}", rows_of(rng.permutation(np.concatenate([new, repeated])), rng)


def _moved(rows: int) -> Iterator[tuple[str, pa.Table]]:
    part = rows // FILES
    rng = np.random.default_rng([SEED, 7])
    yield "moved", rows_of(rng.permutation(part * 2 * FILES)[:part], rng)


def _spread(_rows: int) -> Iterator[tuple[str, pa.Table]]:
    rng = np.random.default_rng([SEED, 8])
    for number in range(FILES):
        rows = rows_of(np.arange(PARTITIONS) + number * PARTITIONS, rng)
        at = rows.schema.get_field_index("a")
        yield f"spread-{number}", rows.set_column(at, SCHEMA.field(at), pa.array(np.arange(PARTITIONS), pa.int32()))


def _shaped(rows: int, kind: str) -> Iterator[tuple[str, pa.Table]]:
    count = rows // FEWER
    series, make = SHAPES[kind]
    for number in range(FILES):
        rng = np.random.default_rng([SEED, series, number])
        yield f"{kind}-{number}", make(rng.permutation(count // 2)[: count // FILES], rng)


#: Kinds of files; `name-3.parquet` is of the kind `name`.
KINDS: dict[str, Callable[[int], Iterator[tuple[str, pa.Table]]]] = {
    "merge": functools.partial(_overlapping, kind="merge"),
    "partial": functools.partial(_overlapping, kind="partial"),
    "base": functools.partial(_once, kind="base"),
    "upsert": _upsert,
    "known": _known,
    "wide": functools.partial(_once, kind="wide"),
    "moved": _moved,
    "spread": _spread,
    **{kind: functools.partial(_shaped, kind=kind) for kind in SHAPES},
    **{name: functools.partial(tpch.loaded, name=name) for name in tpch.TABLES},
    **{f"{name}changes": functools.partial(tpch.changes, name=name) for name in tpch.TABLES},
}


def generate(out: pathlib.Path, rows: int, kinds: Iterable[str] = KINDS) -> None:
    """Write the files of these kinds; those that are complete already are left as they are."""
    out.mkdir(parents=True, exist_ok=True)
    for kind in kinds:
        done = out / f"done-{kind}-{rows}"
        if done.exists():
            continue
        for name, table in KINDS[kind](rows):
            pq.write_table(table, out / f"{name}.parquet", compression="zstd", row_group_size=1 << 20)
        done.touch()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--only", default=",".join(KINDS), help=f"out of {','.join(KINDS)}")
    args = parser.parse_args()
    generate(args.out, args.rows, args.only.split(","))


if __name__ == "__main__":
    main()
