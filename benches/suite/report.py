"""Measurements of all rounds as one markdown table and one JSON document."""

import statistics
from typing import Any

from scenarios import GOALS, MEMORY_GOALS, OWN_GOALS


def summarise(rounds: list[dict]) -> dict[str, Any]:
    """One engine, one phase, all rounds: median, best, spread."""
    walls = [r["wall_s"] for r in rounds]
    wall = statistics.median(walls)
    rows = statistics.median(r["rows"] for r in rounds)
    return {
        "wall_s": wall,
        "wall_min_s": min(walls),
        "wall_all_s": walls,
        "spread": (max(walls) - min(walls)) / wall,
        "cpu_s": statistics.median(r["cpu_s"] for r in rounds),
        "rows": rows,
        "rows_per_s": rows / wall,
        "peak_rss_mb": max(r["peak_rss_mb"] for r in rounds),
        "disk_mb": statistics.median(r["disk_mb"] for r in rounds),
        "fingerprint": rounds[0].get("fingerprint"),
    }


def compare(phases: dict[str, dict[str, dict]], scenario: str) -> list[dict]:
    """One line per phase and engine, with ratios to Java and the goal where there is one."""
    lines = []
    for phase, engines in phases.items():
        java = engines.get("java")
        for engine, found in engines.items():
            line = {"scenario": scenario, "phase": phase, "engine": engine, **found}
            if java and engine != "java":
                line["times_java"] = java["wall_s"] / found["wall_s"]
                line["times_java_best"] = java["wall_min_s"] / found["wall_min_s"]
            goal = GOALS.get((scenario, phase)) if engine == "siltstone" else None
            if goal:
                line["goal"] = goal
                if "times_java" in line:
                    line["met"] = line["times_java"] >= goal
            lines.append(line)
    return lines


def disagreements(lines: list[dict]) -> list[str]:
    """Engines that read other rows than siltstone did; Java reports only how many."""
    wrong = []
    for line in lines:
        ours = next((o for o in lines if o["engine"] == "siltstone" and key(o) == key(line)), None)
        if not ours or not ours.get("fingerprint"):
            continue
        if line["rows"] != ours["rows"] or line.get("fingerprint") not in (None, ours["fingerprint"]):
            wrong.append(f"{line['scenario']} {line['phase']}: {line['engine']} read other rows than siltstone")
    return wrong


def own_goals(lines: list[dict]) -> list[dict[str, Any]]:
    """Ratios of our own times in two phases over the same rows; phases that did not run are left out."""
    ours = {key(line): line for line in lines if line["engine"] == "siltstone"}
    found = []
    for (scenario, phase), (base, limit) in OWN_GOALS.items():
        one, other = ours.get((scenario, phase)), ours.get(base)
        if one and other:
            ratio = one["wall_s"] / other["wall_s"]
            best = one["wall_min_s"] / other["wall_min_s"]
            met = None if limit is None else ratio <= limit
            names = {"scenario": scenario, "phase": phase, "base": " ".join(base)}
            found.append({**names, "ratio": ratio, "ratio_best": best, "limit": limit, "met": met})
    return found


def own_text(found: list[dict[str, Any]]) -> list[str]:
    """Those ratios in words."""

    def goal(f: dict[str, Any]) -> str:
        return "" if f["limit"] is None else f"; goal at most {f['limit']:g}: {'met' if f['met'] else 'open'}"

    return [
        f"{f['scenario']} {f['phase']} takes {f['ratio']:.2f} times as long as {f['base']} (best of both: "
        f"{f['ratio_best']:.2f}{goal(f)})."
        for f in found
    ]


def memory_goals(lines: list[dict]) -> list[dict[str, Any]]:
    """Our peaks of memory beside what we promise."""
    found = []
    for line in lines:
        limit = MEMORY_GOALS.get(key(line))
        if limit is not None and line["engine"] == "siltstone":
            names = {"scenario": line["scenario"], "phase": line["phase"]}
            peak = line["peak_rss_mb"]
            found.append({**names, "peak_rss_mb": peak, "limit": limit, "met": peak <= limit})
    return found


def memory_text(found: list[dict[str, Any]]) -> list[str]:
    """Those peaks in words."""
    return [
        f"{f['scenario']} {f['phase']} holds {f['peak_rss_mb']:,.0f} MB, the rows that it is given included; goal at most "
        f"{f['limit']:,}: {'met' if f['met'] else 'open'}."
        for f in found
    ]


def key(line: dict) -> tuple[str, str]:
    """What two lines must share to be compared."""
    return line["scenario"], line["phase"]


HEAD = "| scenario | phase | engine | wall s | best | spread | CPU s | rows/s | times Java | goal | peak RSS MB | MB |"


def markdown(lines: list[dict]) -> str:
    """The table of the report."""
    text = [HEAD, "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for line in lines:
        ratio = f"{line['times_java']:.2f}" if "times_java" in line else ""
        verdict = {True: " met", False: " open", None: ""}[line.get("met")]
        goal = f"{line['goal']:g}{verdict}" if "goal" in line else ""
        text.append(
            f"| {line['scenario']} | {line['phase']} | {line['engine']} | {line['wall_s']:.3f} | "
            f"{line['wall_min_s']:.3f} | {line['spread']:.0%} | {line['cpu_s']:.2f} | {line['rows_per_s']:,.0f} | "
            f"{ratio} | {goal} | {line['peak_rss_mb']:,.0f} | {line['disk_mb']:.1f} |"
        )
    return "\n".join(text)
