"""What a program has measured of the table: lines, kept as JSON between the programs and `run.py`."""

import dataclasses
import json
import pathlib
import statistics
from collections.abc import Sequence
from typing import Any

from goals import GOALS, Goal


@dataclasses.dataclass(frozen=True)
class Line:
    """One line: our figure and the other engine's in the unit of its goal, each the median and the best of the rounds."""

    name: str
    ours: float
    other: float | None = None
    best_ours: float | None = None
    best_other: float | None = None
    beside: str = ""  # who the other is, or what else is worth knowing

    @property
    def goal(self) -> Goal:
        return GOALS[self.name]

    @property
    def value(self) -> float:
        """The ratio; our figure where there is no other."""
        return self._ratio(self.ours, self.other)

    @property
    def best(self) -> float:
        """The same of the best rounds."""
        other = self.other if self.best_other is None else self.best_other
        return self._ratio(self.ours if self.best_ours is None else self.best_ours, other)

    def _ratio(self, ours: float, other: float | None) -> float:
        if other is None:
            return ours
        return other / ours if self.goal.much else ours / other

    def holds(self, limit: float | None) -> bool:
        """Whether the value is at least, or at most, so much."""
        if limit is None:
            return False
        return self.value >= limit if self.goal.much else self.value <= limit

    def verdict(self) -> str:
        """Whether the goal is met, the bar, or neither, and by how much."""
        if self.holds(self.goal.goal):
            return "goal"
        if self.holds(self.goal.bar):
            return "bar"
        far = abs(self.value / self.goal.bar - 1)
        return (
            f"MISSED by {100 * far:.0f} %"
            if self.goal.unit != "%"
            else f"MISSED by {self.value - self.goal.bar:.0f} points"
        )


def line(name: str, ours: Sequence[float], other: Sequence[float] = (), beside: str = "") -> Line:
    """A line of the figures of all rounds."""
    medians = [statistics.median(figures) if figures else None for figures in (ours, other)]
    bests = [min(figures) if figures else None for figures in (ours, other)]
    assert medians[0] is not None
    return Line(name, medians[0], medians[1], bests[0], bests[1], beside)


def save(path: pathlib.Path | None, lines: Sequence[Line]) -> None:
    """Write them for `run.py`, where somebody asks."""
    if path:
        path.write_text(json.dumps([dataclasses.asdict(each) for each in lines], indent=1) + "\n", encoding="utf-8")


def load(path: pathlib.Path) -> list[Line]:
    """What `save` wrote."""
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return [Line(**each) for each in found]
