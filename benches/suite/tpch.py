"""Orders and line items of TPC-H, made by `tpchgen-cli`, and batches of new and changed rows in the manner of its refresh functions.

Of the rows 97.5 % are loaded, in five files in the order of the benchmark. Each of five batches has 0.5 % of the rows new, as RF1
inserts them, and 0.5 % that are loaded with another price, where RF2 would delete. 5 M rows of the suite stand for a scale factor of one.
"""

import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROWS_OF_SCALE_ONE = 5_000_000
PARTS = 5
SEED = 20240602
#: Table: the columns of its key, and the price that changes.
TABLES = {"orders": (["o_orderkey"], "o_totalprice"), "lineitem": (["l_orderkey", "l_linenumber"], "l_extendedprice")}
ORDERS_COLUMNS = {
    "o_orderkey": "BIGINT NOT NULL",
    "o_custkey": "BIGINT",
    "o_orderstatus": "STRING",
    "o_totalprice": "DECIMAL(15, 2)",
    "o_orderdate": "DATE",
    "o_orderpriority": "STRING",
    "o_clerk": "STRING",
    "o_shippriority": "INT",
    "o_comment": "STRING",
}
LINEITEM_COLUMNS = {
    "l_orderkey": "BIGINT NOT NULL",
    "l_partkey": "BIGINT",
    "l_suppkey": "BIGINT",
    "l_linenumber": "INT NOT NULL",
    "l_quantity": "DECIMAL(15, 2)",
    "l_extendedprice": "DECIMAL(15, 2)",
    "l_discount": "DECIMAL(15, 2)",
    "l_tax": "DECIMAL(15, 2)",
    "l_returnflag": "STRING",
    "l_linestatus": "STRING",
    "l_shipdate": "DATE",
    "l_commitdate": "DATE",
    "l_receiptdate": "DATE",
    "l_shipinstruct": "STRING",
    "l_shipmode": "STRING",
    "l_comment": "STRING",
}


def table_of(name: str, rows: int) -> pa.Table:
    """The whole table; nothing but its key is NOT NULL."""
    program = pathlib.Path(sys.executable).with_name("tpchgen-cli")
    if not program.exists():
        sys.exit(f"TPC-H needs {program}: pip install tpchgen-cli")
    with tempfile.TemporaryDirectory() as folder:
        scale = f"{rows / ROWS_OF_SCALE_ONE:g}"
        command = [str(program), "parquet", "-s", scale, "--tables", name, "-o", folder, "-q"]
        subprocess.run(command, check=True)
        made = pq.read_table(f"{folder}/{name}.parquet")
    keys, _ = TABLES[name]
    schema = pa.schema([pa.field(each.name, each.type, nullable=each.name not in keys) for each in made.schema])
    return pa.table(made.columns, schema=schema)


def loaded(rows: int, name: str) -> Iterator[tuple[str, pa.Table]]:
    """The files of the load."""
    table, _, ends = parts(rows, name)
    for number in range(PARTS):
        yield f"{name}-{number}", table.take(pa.array(ends[number]))


def changes(rows: int, name: str) -> Iterator[tuple[str, pa.Table]]:
    """The batches after it."""
    table, new, ends = parts(rows, name)
    present = np.concatenate(ends)
    rng = np.random.default_rng([SEED, 2])
    price = TABLES[name][1]
    at = table.schema.get_field_index(price)
    for number, fresh in enumerate(np.array_split(new, PARTS)):
        changed = table.take(pa.array(rng.choice(present, len(fresh), replace=False)))
        dearer = pc.cast(pc.add(changed[price], pa.scalar(number + 1, pa.int32())), changed[price].type)
        changed = changed.set_column(at, table.schema.field(at), dearer)
        both = pa.concat_tables([table.take(pa.array(fresh)), changed])
        yield f"{name}changes-{number}", both.take(pa.array(rng.permutation(both.num_rows)))


def parts(rows: int, name: str) -> tuple[pa.Table, np.ndarray, list[np.ndarray]]:
    """A table, the rows of it that come later, and those of each file of the load."""
    table = table_of(name, rows)
    rng = np.random.default_rng([SEED, 1])
    new = rng.permutation(table.num_rows)[: table.num_rows // 40]
    here = np.setdiff1d(np.arange(table.num_rows), new)
    return table, new, np.array_split(here, PARTS)
