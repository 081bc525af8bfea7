"""A bucket of 20 M rows: one key of its first half, the peak memory of its compaction, and that of writing so many rows.

    python benches/python/large.py [--large 20000000] [--rounds 3] [--json FILE]

The rows are the suite's, every key once, in ten files. Five are upserted and compacted: `key_large` asks for a hundred keys of these
10 M. The other five are upserted, then all is compacted: `compact_mib` is the most that this process holds, its libraries included.
`write_mib` is the most that a writer with `memory_limit=64mb` holds, less what a process holds that reads the same batches of 100,000
rows and drops them. What is measured runs in processes of their own; rows and sums of the tables are compared with the files'.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import siltstone as st

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "suite"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "table"))
from engines import peak_mb
from generate import SEED, rows_of
from lines import line, save
from scenarios import COLUMNS

FILES = 10
BATCH = 100_000
OPTIONS = {"bucket": "1", "write-only": "true"}


def make_files(place: pathlib.Path, rows: int) -> tuple[list[pathlib.Path], np.ndarray]:
    """The input files, and the keys in their order."""
    rng = np.random.default_rng([SEED, 14])
    part = rows // FILES
    keys = rng.permutation(part * FILES)
    paths = [place / f"input-{number}.parquet" for number in range(FILES)]
    for number, path in enumerate(paths):
        made = rows_of(keys[number * part : (number + 1) * part], rng)
        pq.write_table(made, path, compression="zstd", row_group_size=BATCH)
    return paths, keys


def batches(paths: list[pathlib.Path]) -> Iterator[pa.Table]:
    """The rows of files, a few at a time."""
    for path in paths:
        for batch in pq.ParquetFile(path).iter_batches(BATCH):
            yield pa.Table.from_batches([batch])


def total(tables: Iterator[Any]) -> list[int]:
    """Rows, and sums of two columns, both in 64 bits: pyarrow's go round, and those of several tables together do as well."""
    parts = [(each.num_rows, pc.sum(each["id"]).as_py(), pc.sum(each["c"]).as_py()) for each in tables]
    return [sum(column) % 2**64 for column in zip(*parts, strict=True)]


def job_compact(table: str, _: list[pathlib.Path]) -> None:
    st.open_table(table).compact(full=True)


def job_write(table: str, paths: list[pathlib.Path]) -> None:
    with st.open_table(table).writer(memory_limit="64mb") as writer:
        for rows in batches(paths):
            writer.write(rows)
        writer.commit()


def job_base(_: str, paths: list[pathlib.Path]) -> None:
    """What the process of a write holds without writing."""
    for rows in batches(paths):
        del rows


def measured(job: str, table: Any, paths: list[pathlib.Path]) -> float:
    """The peak of a process that does this, in mebibytes."""
    command = [sys.executable, __file__, "--job", job, str(table.location), *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def check(what: str, table: Any, wanted: list[int]) -> None:
    """Both hold the same rows."""
    found = total(iter([table.scan(["id", "c"]).to_arrow()]))
    if found != wanted:
        sys.exit(f"PROBLEM: {what}: {found} instead of {wanted}")


class Tables:
    """Tables of one bucket in a directory."""

    def __init__(self, place: pathlib.Path) -> None:
        self.cat = st.connect(place / "lake")
        self.cat.create_database("b")

    def new(self, name: str) -> Any:
        return self.cat.create_table(f"b.{name}", COLUMNS, primary_key=["id"], options=OPTIONS)

    def copy(self, table: Any, name: str) -> Any:
        shutil.copytree(table.location, pathlib.Path(table.location).parent / name)
        return self.cat.table(f"b.{name}")


def key_times(table: Any, keys: np.ndarray) -> list[float]:
    """Milliseconds of asking for each of these keys but the first."""
    found = []
    for wanted in keys:
        start = time.perf_counter()
        row = table.get(int(wanted))
        found.append(1000 * (time.perf_counter() - start))
        if row["id"].to_pylist() != [int(wanted)]:
            sys.exit(f"PROBLEM: another row has the key {wanted}: {row}")
    return found[1:]


def run(place: pathlib.Path, rows: int, rounds: int, out: pathlib.Path | None) -> None:
    paths, keys = make_files(place, rows)
    wanted = total(batches(paths))
    tables = Tables(place)
    table = tables.new("half")
    for path in paths[: FILES // 2]:
        table.upsert(pq.read_table(path))
    table.compact(full=True)
    known = keys[: len(keys) // 2]
    found = [line("key_large", key_times(table, np.random.default_rng([SEED, 15]).choice(known, 101)))]
    for path in paths[FILES // 2 :]:
        table.upsert(pq.read_table(path))
    peaks: dict[str, list[float]] = {"compact": [], "write": []}
    for number in range(rounds):
        copy, new = tables.copy(table, f"copy{number}"), tables.new(f"new{number}")
        peaks["compact"].append(measured("compact", copy, []))
        base = measured("base", new, paths)
        peaks["write"].append(measured("write", new, paths) - base)
        for name, each in (("compaction", copy), ("write", new)):
            check(name, each, wanted)
            shutil.rmtree(each.location)
    found += [line(f"{name}_mib", each) for name, each in peaks.items()]
    print(f"{rows:,} rows")
    for each in found:
        print(f"{each.goal.words:75}{each.ours:8.1f} {each.goal.unit}  bar {each.goal.bar:g}: {each.verdict()}")
    save(out, found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", type=int, default=20_000_000, help="rows of the bucket")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path, help="where the lines of the table are written, too")
    parser.add_argument("--job", help="do only this, in this process: NAME TABLE FILE..")
    parser.add_argument("rest", nargs="*")
    args = parser.parse_args()
    if args.job:
        jobs = {"compact": job_compact, "write": job_write, "base": job_base}
        jobs[args.job](args.rest[0].removeprefix("file:"), [pathlib.Path(path) for path in args.rest[1:]])
        print(json.dumps(peak_mb()))
        return 0
    with tempfile.TemporaryDirectory() as place:
        run(pathlib.Path(place), args.large, args.rounds, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
