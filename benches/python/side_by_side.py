"""The tables of `peers.py`, how engines take turns on them, and how a line is shown."""

import os
import pathlib
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import siltstone as st

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "suite"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "table"))
from generate import FILES, SEED, rows_of
from lines import Line, line
from scenarios import COLUMNS

Job = Callable[[], Any]
Check = Callable[[Any], Any]
#: Wall and processor seconds of each round.
Times = tuple[list[float], list[float]]


def total(answer: Any) -> tuple[int, ...]:
    """Rows and sums of columns of whole numbers, of whatever an engine gives: the same rows give the same."""
    if isinstance(answer, pl.DataFrame):
        answer = answer.to_arrow()
    sums = [pc.sum(answer[name]).as_py() for name in ("id", "b", "c") if name in answer.column_names]
    return (int(answer.num_rows), *map(int, sums))


def newest(tables: list[pa.Table]) -> tuple[int, ...]:
    """What `total` gives for the rows that stay when these are upserted in this order."""
    frames = [pl.DataFrame(rows.select(["id", "b", "c"])) for rows in tables]
    return total(pl.concat(frames).unique("id", keep="last"))


class Bench:
    """The tables, and how a line is measured and shown."""

    def __init__(self, place: pathlib.Path, rows: int, rounds: int) -> None:
        self.place, self.rounds, self.rows = place, rounds, rows
        self.cat = st.connect(place / "lake")
        self.cat.create_database("b")
        self.numbers = iter(range(1_000_000))
        part = rows // FILES
        self.inputs = []
        for number in range(FILES):
            rng = np.random.default_rng([SEED, 1, number])
            self.inputs.append(rows_of(rng.permutation(rows // 2)[:part], rng))
        self.merged = newest(self.inputs)
        self.runs = self.table()
        for rows_of_file in self.inputs:
            self.runs.upsert(rows_of_file)
        self.compacted = self.copy(self.runs)
        self.compacted.compact(full=True)
        self.lines: list[Line] = []
        print(f"{rows:,} rows, {self.merged[0]:,} of them stay; {rounds} rounds; load {os.getloadavg()[0]:.1f}")
        print(f"{'':24}{'ours':>10}{'other':>10}  ratio   bar")

    def table(self) -> Any:
        options = {"bucket": "1", "write-only": "true"}
        return self.cat.create_table(f"b.t{next(self.numbers)}", COLUMNS, primary_key=["id"], options=options)

    def copy(self, table: Any) -> Any:
        """The same table under another name, in the same directory's neighbour."""
        target = pathlib.Path(table.location).parent / f"t{next(self.numbers)}"
        shutil.copytree(table.location, target)
        return self.cat.table(f"b.{target.name}")

    def file(self) -> str:
        """The file of the compacted table."""
        (only,) = self.compacted.files()
        return str(only["path"])

    def new_file(self) -> str:
        """Where nothing was written yet, as our files are: one that is written again has its memory already."""
        return str(self.place / f"f{next(self.numbers)}.parquet")

    def times(self, jobs: dict[str, Job], checks: dict[str, Check], expected: Any = None) -> dict[str, Times]:
        """Of each round but the first. What the checks say about the answers must agree, and be what is expected."""
        found: dict[str, Times] = {name: ([], []) for name in jobs}
        names = list(jobs)
        for number in range(self.rounds + 1):
            answers = {} if expected is None else {"expected": expected}
            for name in names[number % len(names) :] + names[: number % len(names)]:
                os.sync()
                used, start = time.process_time(), time.perf_counter()
                answer = jobs[name]()
                wall, busy = time.perf_counter() - start, time.process_time() - used
                if number:
                    found[name][0].append(wall)
                    found[name][1].append(busy)
                if name in checks:
                    answers[name] = checks[name](answer)
                del answer
            if len({str(answer) for answer in answers.values()}) > 1:
                sys.exit(f"PROBLEM: not the same answers: {answers}")
        return found

    def say(self, what: str, ours: list[float], other: list[float], name: str = "", beside: str = "") -> None:
        """A line in milliseconds; with a name it is one of the table and has a bar."""
        shown = f"{what:24}{1000 * statistics.median(ours):10.1f}"
        if other:
            shown += f"{1000 * statistics.median(other):10.1f}{statistics.median(ours) / statistics.median(other):7.2f}"
        if name:
            made = line(name, [1000 * each for each in ours], [1000 * each for each in other], beside)
            self.lines.append(made)
            shown += f"{made.goal.bar:6g}  {made.verdict()}"
        print(shown, flush=True)

    def against(self, what: str, found: dict[str, Times], peer: str, name: str) -> None:
        """Ours beside each engine; beside `peer` it is a line of the table."""
        beside = ", ".join(
            f"{each} {1000 * statistics.median(found[each][0]):,.0f}" for each in found if each not in ("ours", peer)
        )
        for each in found:
            if each != "ours":
                is_line = each == peer
                note = f"{peer} ({beside})" if beside else peer
                self.say(
                    f"{what} / {each}",
                    found["ours"][0],
                    found[each][0],
                    name if is_line else "",
                    note if is_line else "",
                )
