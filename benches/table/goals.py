"""The lines of the table that `make bench` prints: what each must reach, on two cores, at the full sizes.

A line's value is a ratio (ours / other where little is wanted, other / ours where much is) or, where there is no other engine, our
own figure. The bar is what it must hold; the goal is what is hoped for.
"""

from dataclasses import dataclass

#: Rows of the suite, files of the metadata, rows of the large bucket: what the bars are for.
FULL = {"rows": 5_000_000, "files": 1_000_000, "large": 20_000_000}


@dataclass(frozen=True)
class Goal:
    """One line: its words, what it must reach, and the unit of our figure."""

    words: str
    bar: float
    goal: float | None
    unit: str = "ms"
    much: bool = False  # much is wanted: the other / ours


_AGAINST_JAVA = (2.5, 3.5, "ms", True)

GOALS = {
    "read": Goal("read all columns of the compacted file / polars", 1.0, 0.85),
    "filter": Goal("rows by a value column / polars", 1.1, 0.9),
    "columns": Goal("two columns / the best of the others", 1.05, 0.9),
    "merge_read": Goal("merge-read / pyarrow decoding the same files", 1.6, 1.4),
    "write": Goal("write of random rows / polars sort and write", 1.25, 1.1),
    "batch": Goal("one batch of four files / four batches", 1.15, 1.05),
    "compact_wall": Goal("full compaction / decoding and encoding on one thread, wall", 0.42, 0.40),
    "compact_cpu": Goal("the same, processor time", 0.78, 0.70),
    "changed": Goal("compaction after 1 % of a range has changed / copying the file", 1.5, 1.1),
    "partitions": Goal("compacting 1,000 partitions, Java / ours", 8, 12, "ms", much=True),
    "long_write": Goal("1 KB strings, Java / ours: write", *_AGAINST_JAVA),
    "long_merge": Goal("1 KB strings, Java / ours: merge-read", *_AGAINST_JAVA),
    "long_compact": Goal("1 KB strings, Java / ours: compaction", *_AGAINST_JAVA),
    "plan_s": Goal("plan 1 M files: time", 2, 1, "s"),
    "plan_mib": Goal("plan 1 M files: peak memory", 600, 300, "MiB"),
    "none_s": Goal("one column excludes all of 1 M files: time", 0.8, 0.4, "s"),
    "none_mib": Goal("one column excludes all of 1 M files: peak memory", 200, 100, "MiB"),
    "count_s": Goal("count with 1 M files: time", 0.8, 0.4, "s"),
    "count_mib": Goal("count with 1 M files: peak memory", 200, 100, "MiB"),
    "limit_s": Goal("a limit of 10 rows with 1 M files: time", 0.8, 0.4, "s"),
    "limit_mib": Goal("a limit of 10 rows with 1 M files: peak memory", 200, 100, "MiB"),
    "commit_mib": Goal("commit with 1 M live files: peak memory", 300, 100, "MiB"),
    "key": Goal("one key of 2.3 M", 3, 2, "ms"),
    "key_large": Goal("one key of 10 M", 4, 2.5, "ms"),
    "compact_mib": Goal("compaction of a bucket of 20 M rows: peak memory of the process", 300, 200, "MiB"),
    "write_mib": Goal("write of 20 M rows with `memory_limit=64mb`: peak memory beyond the base", 100, 80, "MiB"),
    "serial_write": Goal("serial part of a write", 5, None, "%"),
    "serial_merge": Goal("serial part of a merge-read", 5, None, "%"),
    "serial_compact": Goal("serial part of a compaction", 5, None, "%"),
    "serial_tasks": Goal("serial part of compacting 1,000 partitions", 5, None, "%"),
    "serial_plan": Goal("serial part of a plan", 5, None, "%"),
}
