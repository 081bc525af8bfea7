"""Seeded inputs: parquet files of random keys, the same rows on every machine.

    python generate.py OUT [--rows 5000000]

`merge-0..4.parquet` hold rows/5 rows each, with distinct random keys below rows/2, so the five files overlap at
random: 5.0 M rows merge to 2.3 M. `partial-0..4.parquet` are the same with 60 % nulls. `base-0..4.parquet` hold every
key below rows once, shuffled, and `upsert.parquet` a random tenth of them. Ten columns: the BIGINT key, two INT, a BIGINT, two DOUBLE (one rounded to cents,
one of full entropy), a text of 20 values, a text that is nearly unique, a BOOLEAN, a TIMESTAMP(6); 2 % nulls outside
the key.
"""

import argparse
import pathlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILES = 5
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


def files(rows: int) -> Iterator[tuple[str, pa.Table]]:
    """Every input by its name, for `rows` rows in the five files of a kind together."""
    part = rows // FILES
    for number in range(FILES):
        for kind, series, nulls in (("merge", 1, NULLS), ("partial", 4, PARTIAL_NULLS)):
            rng = np.random.default_rng([SEED, series, number])
            yield f"{kind}-{number}.parquet", rows_of(rng.permutation(rows // 2)[:part], rng, nulls)
    rng = np.random.default_rng([SEED, 2])
    keys = rng.permutation(rows)
    for number in range(FILES):
        yield f"base-{number}.parquet", rows_of(keys[number * part : (number + 1) * part], rng)
    rng = np.random.default_rng([SEED, 3])
    yield "upsert.parquet", rows_of(rng.permutation(rows)[: rows // 10], rng)


def generate(out: pathlib.Path, rows: int) -> None:
    """Write the files; a folder that is complete already is left as it is."""
    done = out / f"done-{rows}"
    if done.exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    for name, table in files(rows):
        pq.write_table(table, out / name, compression="zstd", row_group_size=1 << 20)
    done.touch()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=5_000_000)
    args = parser.parse_args()
    generate(args.out, args.rows)


if __name__ == "__main__":
    main()
