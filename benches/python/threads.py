"""What a second core gives: each job on one core and on two, and the serial part that follows by Amdahl's law.

    python benches/python/threads.py [--rows 5000000] [--files 200000] [--rounds 3] [--json FILE]

Of times T1 and T2 the serial part is 2 T2 / T1 - 1: 0 % when two cores take half the time, 100 % when they take as long. Waiting for
the disk counts as serial. Each measurement is a process that may use the first core, or the first two, and does the job twice; the
second counts. What the jobs answer is compared.

write    one file of `--rows`/5 random rows
merge    five such files, merged when they are read
compact  the five files into one
tasks    compacting 1,000 partitions, each a task
plan     all splits of a table of `--files` files
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import siltstone as st

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "suite"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "table"))
import metadata
from generate import FILES, generate
from lines import Line, save
from scenarios import COLUMNS

OPTIONS = {"bucket": "1", "write-only": "true"}
JOBS = ["write", "merge", "compact", "tasks", "plan"]


def total(rows: pa.Table) -> list[int]:
    """Rows, and sums of two columns."""
    return [rows.num_rows, pc.sum(rows["id"]).as_py(), pc.sum(rows["c"]).as_py()]


def rows_in(table: Any) -> list[int]:
    """The same of a table."""
    return total(table.scan(["id", "c"]).to_arrow())


def build(place: pathlib.Path, rows: int, files: int) -> None:
    """The input files and the tables that jobs start from."""
    generate(place / "inputs", rows, ["merge", "spread"])
    cat = st.connect(place / "lake")
    cat.create_database("b")
    cat.create_table("b.empty", COLUMNS, primary_key=["id"], options=OPTIONS)
    runs = cat.create_table("b.runs", COLUMNS, primary_key=["id"], options=OPTIONS)
    spread = cat.create_table("b.spread", COLUMNS, primary_key=["a", "id"], partition_by=["a"], options=OPTIONS)
    for number in range(FILES):
        runs.upsert(pq.read_table(place / "inputs" / f"merge-{number}.parquet"))
        spread.upsert(pq.read_table(place / "inputs" / f"spread-{number}.parquet"))
    metadata.build(str(place / "many"), files)


def once(job: str, place: pathlib.Path) -> tuple[float, Any]:
    """The seconds of a job on tables of its own, and what it answers."""
    start_from = {"write": "empty", "compact": "runs", "tasks": "spread"}.get(job)
    folder = place / "lake" / "b.db"
    with tempfile.TemporaryDirectory(dir=folder) as copied:
        if start_from:
            shutil.copytree(folder / start_from, copied, dirs_exist_ok=True)
        table = st.open_table(copied if start_from else folder / "runs")
        if job == "plan":
            table = st.open_table(next((place / "many" / "b.db").iterdir()))
        rows = pq.read_table(place / "inputs" / "merge-0.parquet") if job == "write" else None
        os.sync()
        start = time.perf_counter()
        if job == "write":
            table.upsert(rows)
        elif job == "merge":
            read = table.scan().to_arrow()
        elif job == "plan":
            splits = table.scan().splits()
        else:
            table.compact(full=True)
        seconds = time.perf_counter() - start
        if job == "merge":
            return seconds, total(read)
        return seconds, sum(each.rows for each in splits) if job == "plan" else rows_in(table)


def measured(job: str, cores: list[int], place: pathlib.Path) -> tuple[float, Any]:
    """The same in a process that has these cores."""
    command = [sys.executable, __file__, "--job", job, "--cores", ",".join(map(str, cores)), "--place", str(place)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, answer = json.loads(done.stdout.splitlines()[-1])
    return seconds, answer


def serial(one: float, two: float) -> float:
    """The serial part in per cent."""
    return 100 * (2 * two / one - 1)


def compare(job: str, place: pathlib.Path, cores: list[int], rounds: int) -> Line:
    """A job on one core and on two, in turn."""
    times: dict[int, list[float]] = {1: [], 2: []}
    answers = []
    for number in range(rounds):
        for count in (1, 2) if number % 2 else (2, 1):
            seconds, answer = measured(job, cores[:count], place)
            times[count].append(seconds)
            answers.append(answer)
    if len({str(answer) for answer in answers}) > 1:
        sys.exit(f"PROBLEM: {job}: not the same answers: {answers}")
    one, two = (statistics.median(times[count]) for count in (1, 2))
    beside = f"one core {1000 * one:,.0f} ms, two {1000 * two:,.0f}: {one / two:.2f} times as fast"
    best = serial(min(times[1]), min(times[2]))
    return Line(f"serial_{job}", serial(one, two), best_ours=best, beside=beside)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--files", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", type=lambda text: text.split(","), default=JOBS, help=f"out of {','.join(JOBS)}")
    parser.add_argument("--json", type=pathlib.Path, help="where the lines of the table are written, too")
    parser.add_argument("--job", choices=JOBS, help="do only this, in this process")
    parser.add_argument("--cores", default="")
    parser.add_argument("--place", type=pathlib.Path)
    args = parser.parse_args()
    if args.job:
        os.sched_setaffinity(0, [int(core) for core in args.cores.split(",")])
        once(args.job, args.place)
        print(json.dumps(once(args.job, args.place)))
        return 0
    cores = sorted(os.sched_getaffinity(0))
    found: list[Line] = []
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        build(place, args.rows, args.files)
        for job in args.only if len(cores) > 1 else []:
            found.append(compare(job, place, cores, args.rounds))
            print(f"{job:10}{found[-1].ours:6.0f} % serial  {found[-1].beside}", flush=True)
    if not found:
        print("one core: nothing to compare")
    save(args.json, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
