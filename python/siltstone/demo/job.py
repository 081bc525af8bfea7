"""The demo's steps: load, correct, compact, check."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from siltstone.demo import flights as data
from siltstone.demo import versions
from siltstone.errors import InvalidArgument

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from siltstone import Table

NAME = "demo.flights"
MONTHS = range(1, 13)


@dataclass
class Story:
    """What happened, step by step."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        """Time a step; the body fills in what is worth telling."""
        print(f"{name} ...", file=sys.stderr, flush=True)  # noqa: T201  # progress for people
        at = time.perf_counter()
        line: dict[str, Any] = {"step": name}
        yield line
        line["seconds"] = round(time.perf_counter() - at, 1)
        self.steps.append(line)

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return round(time.perf_counter() - self.started, 1)


def run(*, keep: str | None = None, rows_a_month: int | None = None, output: str = "table", color: bool = True) -> bool:
    """Run the demo in a temporary warehouse.

    Args:
        keep: Use (and keep) this directory instead.
        rows_a_month: Only the first flights of each month.
        output: ``table`` or ``json``.
        color: Print with colours.

    Returns:
        Whether every row that was read back is right.
    """
    with contextlib.ExitStack() as stack:
        warehouse = keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="siltstone-demo-"))
        spark = _session()
        stack.callback(spark.stop)
        story = Story()
        wrong = _play(story, spark, warehouse, rows_a_month)
        _tell(story, wrong, output=output, color=color)
    return wrong == 0


def _session() -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise InvalidArgument("the demo needs PySpark: pip install 'siltstone[demo]'") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers of a local session are this Python
    return (
        SparkSession.builder.master("local[2]")
        .appName("siltstone demo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


def _play(story: Story, spark: SparkSession, warehouse: str, rows_a_month: int | None) -> int:
    """All steps; returns how many rows are wrong at the end."""
    import siltstone as st
    from siltstone import spark as ss

    ss.enable(spark, warehouse=warehouse)
    with story.step("read the flights") as line:
        flights = data.load(rows_a_month)
        line["rows"] = len(flights)
    cat = st.connect(warehouse)
    cat.create_database("demo", if_not_exists=True)
    # write-only: loads only add files, and the compaction below is the one that merges them
    options = {"bucket": "4", "write-only": "true"}
    t = cat.create_table(NAME, data.COLUMNS, primary_key=data.KEY, options=options, comment="New York flights, 2013")
    _load(story, spark, t, flights)
    _correct(story, spark, t, flights)
    with story.step("compact on Spark executors") as line:
        line["before"] = _shape(t)
        report = ss.compact(spark, NAME, full=True)
        line["rows"] = report.rows_before
        line["after"] = _shape(t)
    wrong = _check(story, spark, t, data.flown(flights))
    return wrong + _live(story, spark, t, flights)


def _live(story: Story, spark: SparkSession, t: Table, flights: pa.Table) -> int:
    """Versions: travel, a correction taken back, expiry; returns how many rows are wrong."""
    wrong = _travel(story, spark, flights, "the four quarters by VERSION AS OF in Spark SQL")
    t.tags.create(versions.FLOWN)
    with story.step("a wrong correction, rolled back to a tag") as line:
        line["before"] = _shape(t)
        line["rows"] = versions.spoil(spark, NAME, flights)
        bad = line["wrong"] = versions.take_back(t, flights)
        line["after"] = _shape(t)
    wrong += bad
    with story.step("expire all snapshots but the latest") as line:
        gone = versions.expire(t)
        line["before"] = f"-{gone['snapshots']} snapshots"
        line["after"] = f"-{gone['files']} files"
    return wrong + _travel(story, spark, flights, "the four quarters again: tags keep their files")


def _travel(story: Story, spark: SparkSession, flights: pa.Table, name: str) -> int:
    """Read every quarter by its tag; returns how many rows are wrong."""
    with story.step(name) as line:
        line["rows"], bad = versions.check_travel(spark, NAME, flights)
        line["wrong"] = bad
    return bad


def _load(story: Story, spark: SparkSession, t: Table, flights: pa.Table) -> None:
    from siltstone import spark as ss

    with story.step("twelve monthly loads through Spark, a tag per quarter") as line:
        line["before"] = _shape(t)
        line["rows"] = 0
        for month in MONTHS:
            frame = spark.createDataFrame(data.scheduled(flights, month))
            line["rows"] += ss.write(frame, NAME, mode="append").rows
            versions.tag_quarter(t, month)
        line["after"] = _shape(t)


def _correct(story: Story, spark: SparkSession, t: Table, flights: pa.Table) -> None:
    from siltstone import spark as ss

    with story.step("corrections: delays upserted") as line:
        line["before"] = _shape(t)
        line["rows"] = ss.write(spark.createDataFrame(data.flown(flights)), NAME, mode="upsert").rows
        line["after"] = _shape(t)
    with story.step("corrections: cancelled flights deleted") as line:
        line["before"] = _shape(t)
        line["rows"] = ss.write(spark.createDataFrame(data.cancelled(flights)), NAME, row_kind="-D").rows
        line["after"] = _shape(t)


def _check(story: Story, spark: SparkSession, t: Table, expected: pa.Table) -> int:
    """Compare what Spark and Python read with the expectation."""
    from siltstone import spark as ss

    wrong = 0
    readers: dict[str, Callable[[], pa.Table]] = {
        "Spark": lambda: ss.read(spark, NAME).toArrow(),
        "Python": lambda: t.scan().to_arrow(),
    }
    for reader, rows in readers.items():
        with story.step(f"read back by {reader}, compared row for row") as line:
            found = rows()
            bad = data.differences(expected, found)
            line["rows"] = len(found)
            line["wrong"] = bad
            wrong += bad
    return wrong


def _shape(t: Table) -> str:
    """Files by level: ``L0: 48  L5: 4``."""
    counts: dict[int, int] = {}
    for f in t.files():
        counts[f["level"]] = counts.get(f["level"], 0) + 1
    return "  ".join(f"L{level}: {n}" for level, n in sorted(counts.items())) or "empty"


def _tell(story: Story, wrong: int, *, output: str, color: bool) -> None:
    if output == "json":
        print(json.dumps({"steps": story.steps, "seconds": story.seconds, "wrong": wrong}))  # noqa: T201  # the result
        return
    from rich.console import Console
    from rich.table import Table as Grid

    grid = Grid(title=f"{NAME}: what happened", title_justify="left")
    grid.add_column("step")
    grid.add_column("rows", justify="right")
    grid.add_column("files by level, before")
    grid.add_column("after")
    grid.add_column("wrong", justify="right")
    grid.add_column("seconds", justify="right")
    for s in story.steps:
        rows = f"{s['rows']:,}" if "rows" in s else ""
        grid.add_row(
            s["step"],
            rows,
            s.get("before", ""),
            s.get("after", ""),
            str(s.get("wrong", "")),
            str(s["seconds"]),
        )
    console = Console(no_color=not color)
    console.print(grid)
    verdict = "every row is right" if wrong == 0 else f"{wrong:,} rows differ"
    console.print(f"{verdict}; {story.seconds} seconds in all")
