"""One object per engine in the comparison: `round(scenario, place)` gives the measurements of one pass."""

import itertools
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
from typing import IO, Any

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "oracle"))
import java_paimon
import maven_jars

HERE = pathlib.Path(__file__).parent
MIB = 1 << 20
CHECK_ROWS = 200_000


def phases_of(scenario: dict, engine: str) -> list[dict]:
    """The phases that an engine takes part in."""
    return [phase for phase in scenario["phases"] if engine in phase.get("only", [engine])]


#: Files whose removal slows down who makes others right after it: ext4 passes over inodes for five seconds.
MANY_FILES = 1000


def empty(place: pathlib.Path) -> None:
    """A new folder in the place of an old one."""
    many = sum(1 for _ in itertools.islice(place.rglob("*"), MANY_FILES)) == MANY_FILES
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    if many:
        time.sleep(6)


#: Engines that keep no Paimon table, and options of tables that mean nothing to them.
OTHERS = ["polars", "duckdb", "pyarrow", "deltalake"]
PAIMON_ONLY = {"merge-engine", "changelog-producer", "deletion-vectors.enabled"}


def takes_part(engine: str, scenario: dict) -> bool:
    """Whether an engine has anything like the tables of a scenario: others than Paimon's take newest rows, and no partitions."""
    if engine not in OTHERS:
        return True
    by_bucket = scenario["options"].get("bucket") in {"1", "-1"} and "dynamic" not in scenario["name"]
    return by_bucket and not scenario["partition_keys"] and not PAIMON_ONLY & set(scenario["options"])


class Unavailable(Exception):
    """This engine cannot take part here; the text says why."""


class Worker:
    """A process that answers one line of JSON with lines of JSON."""

    def __init__(self, command: list[str], log: IO[str] | None = None) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)

    def send(self, request: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def line(self) -> dict:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise Unavailable(f"the process ended with status {self.process.wait()}; see the log")
        return json.loads(line)

    def close(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()


class PythonEngine:
    """An engine of engines.py."""

    def __init__(self, name: str, inputs: pathlib.Path, log: IO[str]) -> None:
        self.name, self.inputs = name, inputs
        self.worker = Worker([sys.executable, str(HERE / "engines.py"), name], log=log)
        hello = self.ask(do="hello")
        self.version, self.can, self.merges = hello["version"], set(hello["phases"]), hello["merges"]
        self.note = f"pyarrow {hello['pyarrow']}"

    def ask(self, **request: Any) -> dict:
        self.worker.send(request)
        reply = self.worker.line()
        if "error" in reply:
            raise Unavailable(reply["error"])
        return reply

    def round(self, scenario: dict, place: pathlib.Path) -> dict[str, dict]:
        """One pass over all phases on a fresh table."""
        empty(place)
        inputs = [str(self.inputs / f) for f in scenario["phases"][0]["inputs"]]
        self.ask(do="create", dir=str(place), scenario=scenario, inputs=inputs)
        keyed = bool(scenario["primary_keys"])
        found: dict[str, dict] = {}
        compacted = True
        written = 0
        for phase in phases_of(scenario, self.name):
            op = phase["op"]
            if op not in self.can or (op == "read" and keyed and not self.merges):
                compacted = False
                continue
            if op == "read" and not compacted:
                continue  # a read of compacted files needs an engine that compacts
            if op == "write" and not compacted:
                continue  # and so does what builds upon them
            if op == "write":
                files = [str(self.inputs / f) for f in phase["inputs"]]
                parts = [self.ask(do="write", dir=str(place), input=i, keyed=keyed) for i in files]
                found[phase["name"]] = total = add_up(parts)
                written += int(total["rows"])
            else:
                found[phase["name"]] = self.ask(do=op, dir=str(place), full=phase.get("full", False))
                if op == "compact":
                    found[phase["name"]]["rows"] = written
            found[phase["name"]]["disk_mb"] = self.ask(do="size", dir=str(place))["bytes"] / MIB
        return found

    def close(self) -> None:
        self.worker.close()


def add_up(parts: list[dict]) -> dict:
    """Several commits as one phase: times and rows add up, the peak is the highest."""
    total = {k: sum(p[k] for p in parts) for k in ("wall_s", "cpu_s", "rows")}
    return {**total, "peak_rss_mb": max(p["peak_rss_mb"] for p in parts), "wall_each": [p["wall_s"] for p in parts]}


class Java:
    """Real Java Paimon in one JVM that stays warm: the `bench` command of tests/oracle, one round a call."""

    name = "java"
    can = frozenset({"write", "read", "compact"})

    def __init__(self, inputs: pathlib.Path, work: pathlib.Path, options: str, log: IO[str]) -> None:
        if why := java_paimon.missing():
            raise Unavailable(why)
        self.version = java_paimon.DEFAULT_RELEASE
        self.note = f"JVM {options}"
        self.inputs, self.work, self.rounds = inputs, work, 0
        try:
            command = java_paimon.command(java_options=shlex.split(options))
        except maven_jars.JarError as why:
            raise Unavailable(str(why)) from why
        self.worker = Worker([*command, "serve"], log=log)

    def round(self, scenario: dict, place: pathlib.Path) -> dict[str, dict]:
        """One pass over all phases on a fresh table, in a folder that this JVM has not seen: it caches by path."""
        empty(place)
        self.rounds += 1
        place /= str(self.rounds)
        spec = self.work / "scenario.json"
        mine = {**scenario, "phases": phases_of(scenario, self.name)}
        spec.write_text(json.dumps({"scenarios": [mine]}), encoding="utf-8")
        os.sync()
        lines = self.ask("bench", str(spec), str(self.inputs), str(place), "--rounds=1", "--warmup=0")
        return {line["phase"]: {**line, "disk_mb": line.get("live_bytes", 0) / MIB} for line in lines}

    def check(self, table: pathlib.Path, rows: int) -> list[str]:
        """What Java finds wrong with a table that somebody else wrote and that should have so many rows.

        It compares large tables with their metadata only, because it would turn every row into JSON; for the same
        reason it looks for deleted rows among the first 200,000 of a file only, so their number says nothing here.
        """
        problems: list[str] = []
        large = rows > CHECK_ROWS
        for line in self.ask("fsck", str(table), *(["--no-data"] if large else [])):
            found = [str(p) for p in line.get("problems", [])]
            problems += [p for p in found if not (large and "positions, cardinality says" in p)]
        for line in self.ask("time", str(table), "read"):
            if line["rows"] != rows:
                problems.append(f"reads {line['rows']} rows instead of {rows}")
        return problems

    def ask(self, *command: str) -> list[dict]:
        """The lines that answer a command. A command that only found problems is not an error."""
        self.worker.send(command)
        lines: list[dict] = []
        while "_rc" not in (line := self.worker.line()):
            lines.append(line)
        if line.get("_error"):
            raise Unavailable(f"Java failed: {line['_error']}")
        return lines

    def close(self) -> None:
        self.worker.close()
