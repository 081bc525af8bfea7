"""The one table: what must be reached, beside what is reached here, and whether something is worse than it was.

    python benches/table/run.py [--rows 5000000] [--files 1000000] [--large 20000000] [--rounds 3] [--only peers,metadata]

Runs the programs that measure, one after the other; prints the table and writes it to target/bench/table.md, .json and .svg. Fails
when answers differ, when a program fails, and when a line has fallen against benches/recorded.json (`recorded.py` says what that is);
a bar that is missed is named, and fails nothing. With BENCH_RECORD=1 in the environment the record is written anew.
"""

import argparse
import datetime as dt
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "suite"))
import lines as measured
import recorded
import show
from goals import FULL, GOALS
from lines import Line
from machine import machine

BENCHES = pathlib.Path(__file__).resolve().parents[1]
RECORD = BENCHES / "recorded.json"
#: Lines that the suite measures beside Java: (scenario, phase).
IN_SUITE = {
    "partitions": ("partitions_zstd", "full_compact"),
    "long_write": ("long_zstd", "write"),
    "long_merge": ("long_zstd", "read_merge"),
    "long_compact": ("long_zstd", "full_compact"),
}
#: The programs: where they are, and which sizes they take.
PARTS = {
    "peers": ("python/peers.py", ["rows"]),
    "metadata": ("python/metadata.py", ["files"]),
    "suite": ("suite/run.py", ["rows"]),
    "large": ("python/large.py", ["large"]),
    "threads": ("python/threads.py", ["rows"]),
}


@dataclass
class Found:
    """What all programs have measured, and what went wrong."""

    lines: list[Line] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    #: Which program has measured a line.
    part_of: dict[str, str] = field(default_factory=dict)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, size in FULL.items():
        parser.add_argument(f"--{name}", type=int, default=size, help=f"the bars are for {size:,}")
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds, after one that is not counted")
    parser.add_argument(
        "--only", type=lambda text: text.split(","), default=list(PARTS), help=f"out of {','.join(PARTS)}"
    )
    parser.add_argument("--java-opts", default="-Xmx8g", help="for the JVM")
    parser.add_argument("--out", type=pathlib.Path, default=BENCHES.parent / "target/bench")
    return parser.parse_args()


def command(part: str, args: argparse.Namespace, out: pathlib.Path) -> list[str]:
    """How a program is started."""
    program, sizes = PARTS[part]
    words = [sys.executable, str(BENCHES / program), f"--rounds={args.rounds}", f"--json={out}"]
    words += [f"--{size}={getattr(args, size)}" for size in sizes]
    if part == "suite":
        scenarios = dict.fromkeys(scenario for scenario, _ in IN_SUITE.values())
        words += [f"--only={','.join(scenarios)}", "--engines=siltstone,java", f"--java-opts={args.java_opts}"]
        words += [f"--work={args.out}"]
    return words


def from_suite(path: pathlib.Path) -> list[Line]:
    """The lines of the table in what the suite has written."""
    rounds = {}
    for each in json.loads(path.read_text(encoding="utf-8"))["lines"]:
        rounds[each["scenario"], each["phase"], each["engine"]] = [1000 * wall for wall in each["wall_all_s"]]
    return [
        measured.line(name, rounds[*where, "siltstone"], rounds[*where, "java"], "Java")
        for name, where in IN_SUITE.items()
        if (*where, "siltstone") in rounds and (*where, "java") in rounds
    ]


def measure(part: str, args: argparse.Namespace, found: Found) -> None:
    """Run one program and take its lines."""
    print(f"\n== {part} ({dt.datetime.now(dt.UTC):%H:%M} UTC, load {os.getloadavg()[0]:.1f})", flush=True)
    out = args.out / f"{part}.json"
    out.unlink(missing_ok=True)
    start = time.perf_counter()
    status = subprocess.run(command(part, args, out), check=False).returncode
    print(f"== {part}: {time.perf_counter() - start:.0f} s", flush=True)
    if status:
        found.failed.append(f"{part} ended with status {status}")
    if out.exists():
        lines = from_suite(out) if part == "suite" else measured.load(out)
        found.lines += lines
        found.part_of |= {line.name: part for line in lines}
    elif not status:
        found.failed.append(f"{part} has written no figures")


def worse_twice(
    args: argparse.Namespace, found: Found, fallen: Callable[[list[Line]], list[recorded.Fallen]]
) -> list[recorded.Fallen]:
    """The lines that have fallen, also when their programs have measured once more: a slow minute of the machine is no defect."""
    worse = fallen(found.lines)
    parts = dict.fromkeys(found.part_of[each.name] for each in worse)
    if not parts:
        return []
    print(f"\nworse than recorded: {', '.join(each.name for each in worse)}; measured once more", flush=True)
    again = Found()
    for part in parts:
        measure(part, args, again)
    found.failed += again.failed
    names = {each.name for each in fallen(again.lines)}
    return [each for each in worse if each.name in names]


def reasons(args: argparse.Namespace, found: Found) -> dict[str, str]:
    """Of lines that are not there: why."""
    there = {line.name for line in found.lines}
    absent = [name for name in GOALS if name not in there]
    if found.failed:
        return dict.fromkeys(absent, "; ".join(found.failed))
    no_java = "suite" in args.only
    return {name: "no Java here" if name in IN_SUITE and no_java else "left out" for name in absent}


def main() -> int:
    args = arguments()
    args.out = args.out.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    start, found = time.perf_counter(), Found()
    for part in args.only:
        measure(part, args, found)
    found.left = reasons(args, found)
    where = machine()
    words = f"{where['cpus']} x {where['cpu']}"
    sizes = {name: getattr(args, name) for name in FULL}
    last = recorded.load(RECORD)
    records = os.environ.get("BENCH_RECORD", "0") not in ("", "0")
    fallen = partial(recorded.fallen, recorded=last, machine=words, sizes=sizes)
    worse = fallen(found.lines) if records else worse_twice(args, found, fallen)
    tell(args, found, where, worse, time.perf_counter() - start)
    if last and last["sizes"] != sizes:
        print("Nothing was compared with the record, which is of other sizes.")
    if records and not found.failed:
        recorded.save(RECORD, recorded.document(found.lines, last, words, sizes))
        print(f"recorded: {RECORD}")
        return 0
    return 1 if found.failed or worse else 0


def tell(args: argparse.Namespace, found: Found, where: dict, worse: list[recorded.Fallen], seconds: float) -> None:
    """The table on stdout, and all forms as files."""
    sizes = ", ".join(f"{getattr(args, name):,} {name}" for name in FULL)
    head = [
        f"{sizes}; medians of {args.rounds} rounds; {dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC; {seconds / 60:.0f} minutes.",
        f"{where['cpus']} x {where['cpu']}, {where['system']}, Python {where['python']}, revision {where['revision']}.",
    ]
    if any(getattr(args, name) < size for name, size in FULL.items()):
        head.append("The bars are for greater sizes.")
    tail = [show.summary(found.lines), *(f"PROBLEM {what}" for what in found.failed)]
    tail += [f"WORSE {each}" for each in worse]
    text = "\n".join([*head, "", show.markdown(found.lines, found.left), "", *tail])
    document = {**where, **show.document(found.lines, found.left, worse), "failed": found.failed}
    document["sizes"] = {name: getattr(args, name) for name in FULL}
    (args.out / "table.md").write_text(text + "\n", encoding="utf-8")
    (args.out / "table.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    drawn = show.plot(found.lines, args.out / "table.svg")
    print(
        f"\n{text}\nwritten: {args.out}/table.md, .json{' and .svg' if drawn else '; without matplotlib there is no plot'}"
    )


if __name__ == "__main__":
    sys.exit(main())
