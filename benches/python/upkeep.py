"""How long the care of a long history takes: expiring it, checking it, looking for files that nobody needs.

    python benches/python/upkeep.py PLACE [--snapshots 1000] [--files 100000] [--rounds 3] [--build]

Makes (once, below PLACE) a primary-key table of `--snapshots` snapshots and `--files` data files: one commit after the
other writes a small file into each of files/snapshots buckets, and universal compaction replaces them as it does in
daily use. Then measures on copies of it:

- expiring all snapshots but the last, by siltstone and by real Java Paimon on a copy of its own. Both begin with opening
  the table and end when the call returns; Java runs in a process that is up and has expired a smaller table before.
  What is left must be the same files.
- the metadata check of the whole table (`fsck`), and of what each expiry left.
- listing orphan files when each data file lies there twice, once under a name that nobody knows.
- a tag on the latest snapshot.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import siltstone as st

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "oracle"))
import java_paimon

COLUMNS = {"p": "INT", "k": "INT", "v": "BIGINT", "note": "STRING"}


def build(place: pathlib.Path, snapshots: int, files: int) -> None:
    """Makes the table: each commit writes one file into each partition."""
    partitions = files // snapshots
    cat = st.connect(place)
    cat.create_database("b", if_not_exists=True)
    options = {
        "bucket": "1",
        "snapshot.time-retained": "1000 d",
        "file.compression": "none",
        "siltstone.sync": "false",
    }
    table = cat.create_table("b.t", COLUMNS, primary_key=["p", "k"], partition_by=["p"], options=options)
    done, step = 0, 0
    while done < snapshots:
        step += 1
        rows = {
            "p": pa.array(range(partitions), pa.int32()),
            "k": pa.array([step % 7] * partitions, pa.int32()),
            "v": pa.array([step] * partitions, pa.int64()),
            "note": pa.array([f"step {step}"] * partitions),
        }
        table.append(pa.table(rows))
        done = table.snapshot().id
    shutil.move(table.location, place / "table")
    shutil.rmtree(place / "b.db")


def names(table: str) -> set[str]:
    """Paths of all files but hints and siltstone's own notes, relative."""
    found = set()
    for folder, _, children in os.walk(table):
        found |= {os.path.relpath(os.path.join(folder, child), table) for child in children}
    return {name for name in found if not name.endswith(("EARLIEST", "LATEST")) and not name.startswith("siltstone/")}


def copy(table: str, to: pathlib.Path) -> str:
    """A copy with blocks of its own."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(table, to)
    os.sync()
    return str(to)


def clock(work: Callable[[], object]) -> float:
    """Seconds."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("place", type=pathlib.Path)
    parser.add_argument("--snapshots", type=int, default=1000)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--build", action="store_true", help="make the table and stop")
    args = parser.parse_args()
    table = args.place / "table"
    if not table.exists():
        args.place.mkdir(parents=True, exist_ok=True)
        took = clock(lambda: build(args.place, args.snapshots, args.files))
        print(f"built in {took:.0f} s")
    if args.build:
        return 0
    return measure(str(table), args)


def measure(table: str, args: argparse.Namespace) -> int:
    """Prints figures; 1 when answers differ or a goal is open."""
    ours, theirs, problems = [], [], []
    of = st.open_table(table)
    data = [name for name in names(table) if "/bucket-" in name]
    print(f"{of.snapshot().id} snapshots, {len(data)} data files, {len(names(table))} files")
    figures = {"fsck": [clock(lambda: problems.extend(of.maintenance.fsck().problems)) for _ in range(args.rounds)]}
    oracle = real_java()
    if oracle:
        warm(oracle, args.place)
    mine, javas = args.place / "ours", args.place / "java"
    for number in range(args.rounds):
        jobs = [(ours, lambda: st.open_table(mine).expire_snapshots(retain_max=1), mine)]
        if oracle:
            jobs.append((theirs, lambda: oracle.call("expire", javas, "--retain-max=1", "--retain-min=1"), javas))
        for times, job, place in jobs if number % 2 == 0 else reversed(jobs):
            copy(table, place)
            times.append(clock(job))
        if oracle:
            different = names(mine) ^ names(javas)
            problems += [f"only one of the two left {name}" for name in sorted(different)[:10]]
            problems += oracle.call("fsck", mine, check=False)[0]["problems"]
    figures["expire"] = ours
    if theirs:
        figures["expire, Java"] = theirs
    left = st.open_table(str(args.place / "ours"))
    problems += left.maintenance.fsck().problems
    figures["orphan listing"] = orphans(table, data, args, problems)
    tag = [clock(lambda n=n: left.tags.create(f"t{n}")) for n in range(10)]
    for name, times in {**figures, "tag": tag}.items():
        print(f"{name:16} median {statistics.median(times):8.3f} s   all {' '.join(f'{t:.3f}' for t in times)}")
    return report(figures, problems)


def orphans(table: str, data: list[str], args: argparse.Namespace, problems: list) -> list[float]:
    """Times of listing as many orphans as there are data files."""
    place = args.place / "orphans"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(table, place, copy_function=os.link)
    for number, name in enumerate(data):
        os.link(place / name, (place / name).with_name(f"data-nobody-{number}.parquet"))
    t = st.open_table(str(place))
    times = []
    for _ in range(args.rounds):
        found = []
        times.append(clock(lambda found=found: found.append(t.maintenance.remove_orphan_files(older_than="0s"))))
        if found[0].deleted_files != len(data):
            problems.append(f"{found[0].deleted_files} orphans listed, there are {len(data)}")
    print(f"orphans: {found[0].deleted_files} of {2 * len(data)} data files")
    return times


def real_java() -> Any:
    """Java in a process that is up, or None."""
    if why := java_paimon.missing():
        print(f"without Java's times: {why}")
        return None
    return java_paimon.Oracle()


def warm(oracle: Any, place: pathlib.Path) -> None:
    """Java's classes are loaded and its hot methods compiled before the clock starts."""
    small = place / "small"
    if not small.exists():
        small.mkdir()
        build(small, 100, 2000)
    for _ in range(3):
        oracle.call("expire", copy(str(small / "table"), place / "warm"), "--retain-max=1", "--retain-min=1")


def report(figures: dict[str, list[float]], problems: list) -> int:
    """Goals and what went wrong."""
    medians = {name: statistics.median(times) for name, times in figures.items()}
    open_goals = [name for name in ("fsck", "orphan listing") if medians[name] > 10]
    if "expire, Java" in medians:
        ratio = medians["expire, Java"] / medians["expire"]
        print(f"expire: {ratio:.1f} times as fast as Java (goal 5)")
        open_goals += ["expire"] if ratio < 5 else []
    for problem in problems:
        print(f"PROBLEM: {problem}")
    print(f"open goals: {', '.join(open_goals) or 'none'}")
    return int(bool(problems or open_goals))


if __name__ == "__main__":
    sys.exit(main())
