"""Metadata at the scale of a lake: planning, counting and committing to a table of a million files.

    python benches/python/metadata.py [--files 1000000] [--rounds 3]

The table has 20 columns with statistics; one real data file is listed under so many names, which are not on the disk, in
manifests of 50,000 entries (`tests/support/forging.py`). Each job is a process of its own, which opens the table; its time
begins behind the imports, and its peak memory is what it holds more than then. Medians. A bar is what is wanted at most, for a
million files.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import pyarrow as pa
import siltstone as st

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "support"))
from forging import many_files

EACH = 50_000
COLUMNS = {"id": "BIGINT", "name": "STRING", "price": "DECIMAL(12,2)", "at": "TIMESTAMP(6)"} | {
    f"v{i}": "DOUBLE" for i in range(16)
}
#: Name: what is done, the bar for its seconds and its mebibytes.
JOBS: dict[str, tuple[str, float | None, float | None]] = {
    "plan: splits": ("len(t.scan().splits())", 2.0, 600),
    "plan: one column excludes all": ("len(t.scan(filter='id = 7').splits())", 0.8, 200),
    "count": ("t.scan().count()", 0.8, 200),
    "plan: limit of 10 rows": ("len(t.scan(limit=10).explain())", 0.8, 200),
    "files()": ("sum(1 for _ in t.files())", None, None),
    "commit of one row": ("t.append([{'id': 1}]).rows", None, 300),
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
print(json.dumps([time.perf_counter() - start, peak() - before, answer]))
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


def measured(location: str, what: str) -> tuple[float, float, int]:
    """Seconds, mebibytes, the answer."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, location, what], check=True, capture_output=True, text=True)
    seconds, mib, answer = json.loads(done.stdout.splitlines()[-1])
    return seconds, mib, answer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        start = time.perf_counter()
        location = build(place, args.files)
        print(f"{args.files:,} files, made in {time.perf_counter() - start:.0f} s")
        print(f"{'':32}{'s':>8}{'bar':>6}{'MiB':>8}{'bar':>6}")
        for name, (what, most_s, most_mib) in JOBS.items():
            found = [measured(location, what) for _ in range(args.rounds)]
            seconds, mib = (statistics.median(each[n] for each in found) for n in (0, 1))
            bars = [f"{bar:6g}" if bar else f"{'':6}" for bar in (most_s, most_mib)]
            missed = (most_s and seconds > most_s) or (most_mib and mib > most_mib)
            mark = "  MISSED" if missed and args.files == 1_000_000 else ""
            print(f"{name:32}{seconds:8.2f}{bars[0]}{mib:8.0f}{bars[1]}{mark}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
