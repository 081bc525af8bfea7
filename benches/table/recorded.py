"""The ratios of the last recorded run, and which of today's are worse.

`benches/recorded.json` holds the machine, the date, the sizes and for each line its value and that of the best rounds. A line has
fallen when its value is more than 10 % worse than the recorded one (a share in per cent: more than 10 points) and that of the best
rounds is worse, too: what only the medians say may be noise. Seconds and milliseconds without another engine beside them, which differ
from machine to machine, are compared on the same processor only.
"""

import datetime as dt
import json
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from goals import Goal
from lines import Line

WORSE = 0.10
POINTS = 10


@dataclass(frozen=True)
class Fallen:
    """A line that is worse than it was."""

    name: str
    was: float
    now: float

    def __str__(self) -> str:
        return f"{self.name}: {self.now:.3g}, recorded {self.was:.3g}"


def worsening(goal: Goal, was: float, now: float) -> float:
    """By what share a value is worse; of those in per cent, by how many tenths of a hundred points."""
    if goal.unit == "%":
        return (now - was) / POINTS * WORSE
    return was / now - 1 if goal.much else now / was - 1


def compared(line: Line, *, same_machine: bool) -> bool:
    """Whether what was recorded elsewhere says something about this line."""
    return same_machine or line.other is not None or line.goal.unit in {"MiB", "%"}


def fallen(lines: Sequence[Line], recorded: dict[str, Any], machine: str, sizes: dict[str, int]) -> list[Fallen]:
    """The lines that have fallen; none of them when other sizes were measured."""
    if recorded.get("sizes") != sizes:
        return []
    found = []
    for line in lines:
        was = recorded["lines"].get(line.name)
        if was is None or not compared(line, same_machine=recorded["machine"] == machine):
            continue
        best = was["value"] if was["best"] is None else was["best"]
        if worsening(line.goal, was["value"], line.value) > WORSE and worsening(line.goal, best, line.best) > 0:
            found.append(Fallen(line.name, was["value"], line.value))
    return found


def document(lines: Sequence[Line], recorded: dict[str, Any], machine: str, sizes: dict[str, int]) -> dict[str, Any]:
    """What is recorded of this run; lines that were not measured now stay as they are, if the rest is the same."""
    same = recorded.get("machine") == machine and recorded.get("sizes") == sizes
    kept = recorded["lines"] if same else {}
    new = {line.name: {"value": round(line.value, 4), "best": round(line.best, 4)} for line in lines}
    return {"date": dt.datetime.now(dt.UTC).date().isoformat(), "machine": machine, "sizes": sizes, "lines": kept | new}


def load(path: pathlib.Path) -> dict[str, Any]:
    """The last record, or an empty one."""
    if not path.exists():
        return {}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def save(path: pathlib.Path, content: dict[str, Any]) -> None:
    """Write it anew."""
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
