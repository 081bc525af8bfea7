"""The table as markdown, JSON and a plot."""

import contextlib
import pathlib
from collections.abc import Sequence
from typing import Any

from goals import GOALS
from lines import Line
from recorded import Fallen

HEAD = "| | ours | other | beside | value | bar | goal | met |\n|---|--:|--:|---|--:|--:|--:|---|"


def figure(value: float | None, unit: str = "") -> str:
    """Three digits that count, with the unit."""
    if value is None:
        return ""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}".rstrip()


def row(line: Line) -> str:
    """One line of the table."""
    goal = line.goal
    ratio = figure(line.value, "" if line.other is not None else goal.unit)
    hoped = "" if goal.goal is None else f"{goal.goal:g}"
    cells = [goal.words, figure(line.ours, goal.unit), figure(line.other, goal.unit if line.other else ""), line.beside]
    return f"| {' | '.join([*cells, ratio, f'{goal.bar:g}', hoped, line.verdict()])} |"


def missing(name: str, why: str) -> str:
    """The line of what was not measured."""
    goal = GOALS[name]
    hoped = "" if goal.goal is None else f"{goal.goal:g}"
    return f"| {goal.words} | | | | | {goal.bar:g} | {hoped} | not measured: {why} |"


def markdown(lines: Sequence[Line], left: dict[str, str]) -> str:
    """The whole table, in the order of the goals; `left` says of lines that are not there why."""
    by_name = {line.name: line for line in lines}
    rows = [row(by_name[name]) if name in by_name else missing(name, left.get(name, "left out")) for name in GOALS]
    return "\n".join([HEAD, *rows])


def summary(lines: Sequence[Line]) -> str:
    """How many lines hold what."""
    met = sum(line.holds(line.goal.bar) for line in lines)
    hoped = sum(line.holds(line.goal.goal) for line in lines)
    return f"{met} of {len(lines)} measured lines hold their bar, {hoped} their goal; the table has {len(GOALS)}."


def document(lines: Sequence[Line], left: dict[str, str], worse: Sequence[Fallen]) -> dict[str, Any]:
    """The same for programs."""
    shown = {
        line.name: {
            "words": line.goal.words,
            "unit": line.goal.unit,
            "ours": line.ours,
            "other": line.other,
            "beside": line.beside,
            "value": line.value,
            "best": line.best,
            "bar": line.goal.bar,
            "goal": line.goal.goal,
            "met": line.verdict(),
        }
        for line in lines
    }
    return {"lines": shown, "not_measured": left, "fallen": [vars(each) for each in worse]}


def far(line: Line) -> float:
    """The value in bars: 1 is the bar, less is better."""
    share = line.goal.bar / line.value if line.goal.much else line.value / line.goal.bar
    return max(share, 0.01)


def plot(lines: Sequence[Line], path: pathlib.Path) -> bool:
    """A bar for each line, its length the value in bars, with the bar as a line and the goal as a mark; needs matplotlib."""
    with contextlib.suppress(ImportError):
        import matplotlib as mpl

        mpl.use("svg")
        from matplotlib import pyplot as plt

        shown = [line for name in reversed(GOALS) for line in lines if line.name == name]
        height = max(2.0, 0.3 * len(shown) + 1)
        drawing, axes = plt.subplots(figsize=(11, height), layout="constrained")
        colours = ["#2a7f4f" if line.holds(line.goal.bar) else "#b5402f" for line in shown]
        axes.barh([line.goal.words for line in shown], [far(line) for line in shown], color=colours, height=0.6)
        goals = [(far_goal, at) for at, line in enumerate(shown) if (far_goal := hoped(line)) is not None]
        axes.plot([x for x, _ in goals], [y for _, y in goals], "k|", markersize=9, label="goal")
        axes.axvline(1, color="black", linewidth=1, label="bar")
        for at, line in enumerate(shown):
            unit = "" if line.other is not None else line.goal.unit
            axes.annotate(f" {figure(line.value, unit)}", (max(far(line), 1), at), va="center", fontsize=8)
        axes.set_xscale("log")
        axes.set_xlabel("value / bar (less is better)")
        axes.legend(loc="lower right")
        drawing.savefig(path)
        plt.close(drawing)
        return True
    return False


def hoped(line: Line) -> float | None:
    """The goal in bars."""
    if line.goal.goal is None:
        return None
    return line.goal.bar / line.goal.goal if line.goal.much else line.goal.goal / line.goal.bar
