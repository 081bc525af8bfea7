"""Tables of which a compaction touches some keys only, and twins whose compaction decodes every row."""

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

#: small pages and files: what is copied in tables of a gigabyte is copied here
SMALL = {"bucket": 1, "write_only": "true", "target_file_size": "3 mb", "parquet__page__row__count__limit": 500}

COLUMNS = {
    "id": "BIGINT NOT NULL",
    "s": "STRING",
    "i": "INT",
    "x": "DOUBLE",
    "d": "DECIMAL(30,4)",
    "day": "DATE",
    "ts": "TIMESTAMP(6)",
    "f": "BOOLEAN",
    "nested": "ROW<a INT, b STRING>",
}


def rows(ids, seed, columns=COLUMNS):
    """Rows of these ids with values that do not compress well, some of them null."""
    rng, chance = np.random.default_rng(seed), random.Random(seed)
    count = len(ids)

    def some(values):
        return [None if chance.random() < 0.1 else value for value in values]

    made = {
        "s": pa.array(some(rng.bytes(24).hex() for _ in range(count))),
        "i": pa.array(some(rng.integers(-(2**31), 2**31, count).tolist()), pa.int32()),
        "x": pa.array(some(rng.standard_normal(count).tolist())),
        "d": pa.array(some(rng.integers(-(2**60), 2**60, count).tolist())).cast(pa.decimal128(30, 4)),
        "day": pa.array(some(rng.integers(0, 20_000, count).tolist()), pa.int32()).cast(pa.date32()),
        "ts": pa.array(some(rng.integers(0, 2**50, count).tolist()), pa.int64()).cast(pa.timestamp("us")),
        "f": pa.array(some((rng.random(count) < 0.5).tolist())),
        "nested": pa.array(some({"a": int(v), "b": str(v)} for v in rng.integers(0, 10**6, count))).cast(
            pa.struct([("a", pa.int32()), ("b", pa.string())])
        ),
    }
    return pa.table({"id": pa.array(list(ids), pa.int64()), **{k: v for k, v in made.items() if k in columns}})


def twins(make, columns=COLUMNS, key=("id",), **options):
    """Two tables that differ in one option: the second one's compactions decode every row."""
    same = SMALL | options
    return make(columns, list(key), **same), make(
        columns, list(key), **same, compaction__force_rewrite_all_files="true"
    )


def row_groups(t):
    """How many row groups the files have, in the order of their keys."""
    return [pq.ParquetFile(file["path"]).metadata.num_row_groups for file in t.files()]


def pages(path, column="id"):
    """The bytes of a column of a file, from its dictionary on."""
    with open(path, "rb") as file:
        content = file.read()
    found = []
    described = pq.ParquetFile(path).metadata
    for group in range(described.num_row_groups):
        for at in range(described.num_columns):
            chunk = described.row_group(group).column(at)
            if chunk.path_in_schema == column:
                start = chunk.dictionary_page_offset or chunk.data_page_offset
                found.append(content[start : start + chunk.total_compressed_size])
    return found
