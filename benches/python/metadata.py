"""Metadata at the scale of a lake: planning, counting and committing to a table of a million files.

    python benches/python/metadata.py [--files 1000000] [--rounds 3] [--json FILE]

The table has 20 columns with statistics; one real data file is listed under so many names, which are not on the disk, in
manifests of 50,000 entries (`tests/support/forging.py`). Each job is a process of its own, which opens the table; its time
begins behind the imports, and its peak memory is what it holds more than then. Medians. What each job answers is known, and compared.
`../table/goals.py` has the bars, the most that is wanted for a million files.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa
import siltstone as st

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "table"))
from forging import many_files
from goals import GOALS
from lines import Line, line, save

EACH = 50_000
COLUMNS = {"id": "BIGINT", "name": "STRING", "price": "DECIMAL(12,2)", "at": "TIMESTAMP(6)"} | {
    f"v{i}": "DOUBLE" for i in range(16)
}


class Job(NamedTuple):
    """What is timed, what of its answer is compared, with what (None: anything) when there are `files`, and the lines (`NAME_s`, `NAME_mib`)."""

    code: str
    look: str
    right: Callable[[int], int | None]
    name: str


JOBS = {
    "plan: splits": Job("t.scan().splits()", "sum(s.rows for s in answer)", lambda files: files, "plan"),
    "plan: one column excludes all": Job("t.scan(filter='id = 7').splits()", "len(answer)", lambda _: 0, "none"),
    "count": Job("t.scan().count()", "answer", lambda files: files, "count"),
    "plan: limit of 10 rows": Job("t.scan(limit=10).explain()", "len(answer)", lambda _: None, "limit"),
    "files()": Job("sum(1 for _ in t.files())", "answer", lambda files: files, "files"),
    "commit of one row": Job("t.append([{'id': 1}])", "answer.rows", lambda _: 1, "commit"),
}
PROGRAM = """
import json, sys, time
import pyarrow as pa
import siltstone as st
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
before = peak()
start = time.perf_counter()
t = st.open_table(sys.argv[1])
answer = eval(sys.argv[2])
seconds, held = time.perf_counter() - start, peak() - before
print(json.dumps([seconds, held, eval(sys.argv[3])]))
"""


def build(place: str, files: int) -> str:
    """The table's directory."""
    cat = st.connect(place)
    cat.create_database("b")
    options = {"bucket": "-1", "manifest.compression": "null", "write-only": "true"}
    table = cat.create_table("b.t", COLUMNS, options=options)
    values = [[1], ["a name"], [None], [None], *[[0.5 * n] for n in range(16)]]
    columns = [pa.array(v, table.schema.field(n).type) for n, v in enumerate(values)]
    table.append(pa.table(columns, schema=table.schema))
    location = str(table.location).removeprefix("file:")
    many_files(location, max(files // EACH, 1), min(files, EACH))
    return location


def measured(location: str, job: Job) -> tuple[float, float, int]:
    """Seconds, mebibytes, the answer."""
    command = [sys.executable, "-c", PROGRAM, location, job.code, job.look]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, mib, answer = json.loads(done.stdout.splitlines()[-1])
    return seconds, mib, answer


def lines_of(job: Job, found: list[tuple[float, float, int]]) -> list[Line]:
    """Those of the table; not every figure has one."""
    names = {f"{job.name}_s": 0, f"{job.name}_mib": 1}
    return [line(name, [each[at] for each in found]) for name, at in names.items() if name in GOALS]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path, help="where the lines of the table are written, too")
    args = parser.parse_args()
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as place:
        start = time.perf_counter()
        location = build(place, args.files)
        files = max(args.files // EACH, 1) * min(args.files, EACH)
        print(f"{files:,} files, made in {time.perf_counter() - start:.0f} s")
        print(f"{'':32}{'s':>8}{'MiB':>8}  bars")
        for name, job in JOBS.items():
            found = [measured(location, job) for _ in range(args.rounds)]
            if job.right(files) not in (None, found[0][2]) or len({each[2] for each in found}) > 1:
                sys.exit(f"PROBLEM: {name}: not the right answers: {found}")
            made = lines_of(job, found)
            lines += made
            seconds, mib = (statistics.median(each[n] for each in found) for n in (0, 1))
            bars = ", ".join(f"{each.goal.bar:g} {each.goal.unit}: {each.verdict()}" for each in made)
            print(f"{name:32}{seconds:8.2f}{mib:8.0f}  {bars}", flush=True)
    save(args.json, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
