"""Whole jobs side by side: siltstone, warm Java Paimon, pypaimon and engines without Paimon on the same seeded rows, in turn.

    python benches/suite/run.py [--rows 5000000] [--rounds 3] [--only dedup_zstd,append_zstd] [--engines siltstone,java]

Writes results/<time>.json and .md below --work and prints the table; benches/README.md says how to read it.
"""

import argparse
import contextlib
import datetime as dt
import json
import os
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import IO, Any

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from drivers import OTHERS, Java, PythonEngine, Unavailable, takes_part
from generate import generate
from machine import machine
from report import (
    compare,
    disagreements,
    markdown,
    memory_goals,
    memory_text,
    own_goals,
    own_text,
    summarise,
)
from scenarios import SCENARIOS

REPOSITORY = pathlib.Path(__file__).parents[2]
ALL = ["siltstone", "java", "pypaimon-native", "pypaimon", *OTHERS]
DEFAULT = ["siltstone", "java", "pypaimon-native"]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the five inputs together")
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds per engine; the median is reported")
    parser.add_argument("--warmup", type=int, default=1, help="rounds before, not counted")
    parser.add_argument(
        "--only", default="dedup_zstd,append_zstd", help=f"scenarios out of {','.join(SCENARIOS)}, or all"
    )
    parser.add_argument("--engines", default=",".join(DEFAULT), help=f"out of {','.join(ALL)}, or all")
    parser.add_argument(
        "--work", type=pathlib.Path, default=REPOSITORY / "target/bench", help="inputs, tables, results"
    )
    parser.add_argument("--java-opts", default="-Xmx8g", help="for the JVM")
    parser.add_argument("--json", type=pathlib.Path, help="where the JSON is written, too")
    parser.add_argument("--strict", action="store_true", help="fail when a goal is not met")
    args = parser.parse_args()
    args.work = args.work.resolve()
    args.engines = ALL if args.engines == "all" else args.engines.split(",")
    args.scenarios = (
        list(SCENARIOS.values()) if args.only == "all" else [SCENARIOS[name] for name in args.only.split(",")]
    )
    return args


@contextlib.contextmanager
def engines(args: argparse.Namespace, log: IO[str]) -> Iterator[list[Any]]:
    """The engines that are here; the others are named with the reason."""
    inputs = args.work / f"inputs-{args.rows}"
    started: list[Any] = []
    try:
        for name in args.engines:
            try:
                if name == "java":
                    started.append(Java(inputs, args.work, args.java_opts, log))
                else:
                    started.append(PythonEngine(name, inputs, log))
            except Unavailable as why:
                say(f"{name} does not take part: {why}")
        yield started
    finally:
        for engine in started:
            engine.close()


def say(text: str) -> None:
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def inputs_of(scenarios: list[dict]) -> list[str]:
    """The kinds of files that scenarios need."""
    phases = [phase for scenario in scenarios for phase in scenario["phases"]]
    files = [name for phase in phases for name in phase.get("inputs", [])]
    return list(dict.fromkeys(re.split(r"[-.]", name)[0] for name in files))


def measure(engines: list[Any], scenario: dict, args: argparse.Namespace) -> dict[str, dict[str, list[dict]]]:
    """phase -> engine -> measurements of each counted round; who goes first changes from round to round."""
    found: dict[str, dict[str, list[dict]]] = {p["name"]: {e.name: [] for e in engines} for p in scenario["phases"]}
    able = [engine for engine in engines if takes_part(engine.name, scenario)]
    for number in range(args.warmup + args.rounds):
        turn = number % max(1, len(able))
        for engine in able[turn:] + able[:turn]:
            load = os.getloadavg()[0]
            try:
                phases = engine.round(scenario, args.work / "tables" / engine.name / scenario["name"])
            except Unavailable as why:
                say(f"{engine.name} leaves {scenario['name']}: {why}")
                able.remove(engine)
                continue
            kept = number >= args.warmup
            walls = ", ".join(f"{name} {m['wall_s']:.2f}" for name, m in phases.items())
            say(
                f"{scenario['name']} {'round' if kept else 'warm-up'} {number + 1} {engine.name}: {walls} (load {load:.1f})"
            )
            for name, measured in phases.items():
                if kept:
                    found[name][engine.name].append({**measured, "load_before": load})
    return found


def java_checks(engines: list[Any], scenario: dict, phases: dict[str, dict], args: argparse.Namespace) -> list[str]:
    """Java looks at the table that siltstone wrote, and reads it."""
    java = next((e for e in engines if e.name == "java"), None)
    table = args.work / "tables" / "siltstone" / scenario["name"] / "bench.db" / "t"
    ours = list(phases.values())[-1].get("siltstone")  # the last phase is a read
    if java is None or ours is None:
        return []
    try:
        return [f"{scenario['name']}: Java about our table: {p}" for p in java.check(table, int(ours["rows"]))]
    except Unavailable as why:
        return [f"{scenario['name']}: Java about our table: {why}"]


def main() -> int:
    args = arguments()
    args.work.mkdir(parents=True, exist_ok=True)
    generate(args.work / f"inputs-{args.rows}", args.rows, inputs_of(args.scenarios))
    lines: list[dict] = []
    problems: list[str] = []
    raw: dict[str, Any] = {}
    with (args.work / "log.txt").open("w", encoding="utf-8") as log, engines(args, log) as able:
        versions = {e.name: f"{e.version} ({e.note})" for e in able}
        for scenario in args.scenarios:
            found = raw[scenario["name"]] = measure(able, scenario, args)
            phases = {p: {e: summarise(r) for e, r in by.items() if r} for p, by in found.items()}
            lines += compare(phases, scenario["name"])
            problems += java_checks(able, scenario, phases, args)
    problems += disagreements(lines)
    write_results(args, versions, lines, problems, raw)
    unmet = [line for line in [*lines, *own_goals(lines), *memory_goals(lines)] if line.get("met") is False]
    return 1 if problems or (args.strict and unmet) else 0


def write_results(args: argparse.Namespace, versions: dict, lines: list[dict], problems: list[str], raw: dict) -> None:
    """The table on stdout, and both forms as files."""
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H%M%SZ")
    facts = {"time": now, "rows": args.rows, "rounds": args.rounds, "warmup": args.warmup, "java_opts": args.java_opts}
    where = machine()
    head = [
        f"{args.rows:,} rows, median of {args.rounds} rounds after {args.warmup} warm-up, engines in turn; {now}.",
        f"{where['cpus']} x {where['cpu']}, {where['system']}, Python {where['python']}, revision {where['revision']}.",
        "Versions: " + "; ".join(f"{k} {v}" for k, v in versions.items()) + ".",
    ]
    own = own_goals(lines)
    memory = memory_goals(lines)
    tail = [*own_text(own), *memory_text(memory), *(f"PROBLEM {p}" for p in problems)]
    text = "\n".join([*head, "", markdown(lines), *(["", *tail] if tail else [])])
    results = args.work / "results"
    results.mkdir(exist_ok=True)
    (results / f"{now}.md").write_text(text + "\n", encoding="utf-8")
    document = {
        **facts,
        **where,
        "versions": versions,
        "lines": lines,
        "own": own,
        "memory": memory,
        "problems": problems,
        "measurements": raw,
    }
    for path in filter(None, (results / f"{now}.json", args.json)):
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(text)
    say(f"written: {results / now}.json and .md")


if __name__ == "__main__":
    sys.exit(main())
