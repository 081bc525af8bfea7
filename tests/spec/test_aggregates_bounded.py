"""Aggregates of large values: in the memory that there is, or with an error that says so; and Ctrl-C is answered."""

import contextlib
import os
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from limited import run
from signals import Stop, signal_after

MB = 1_000_000

#: Type of the column, its function and options, and the value of each of eight records, of some 8 MB.
LARGE = {
    "listagg": ("STRING", {}, lambda n: "x" * (8 * MB)),
    "listagg distinct": ("STRING", {"distinct": "true"}, lambda n: ",".join(map(str, range(n * MB, n * MB + MB)))),
    "collect": ("ARRAY<BIGINT>", {}, lambda n: np.arange(MB)),
    "collect distinct": ("ARRAY<BIGINT>", {"distinct": "true"}, lambda n: np.arange(MB // 2) + n * MB),
    "merge_map": ("MAP<BIGINT, BIGINT>", {}, lambda n: [(i + n * MB, i) for i in range(MB // 4)]),
    "nested_update": (
        "ARRAY<ROW<a BIGINT, b STRING>>",
        {"nested-key": "a"},
        lambda n: [{"a": i + n * MB, "b": "text"} for i in range(MB // 8)],
    ),
}


def aggregation(make, function, kind, options):
    """A table whose column `v` has a function, and the column's type."""
    t = make(
        {"id": "INT", "v": kind},
        ["id"],
        bucket=1,
        write_only="true",
        merge_engine="aggregation",
        siltstone__sync="false",
        **{f"fields.v.{name}": value for name, value in {"aggregate-function": function, **options}.items()},
    )
    return t, t.scan().to_arrow().schema.field("v").type


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is limited on Linux only")
@pytest.mark.parametrize("name", LARGE)
def test_merging_large_values_works_or_says_that_memory_does_not_suffice(make, name):
    """The process was aborted: nothing here asked for memory."""
    kind, options, value = LARGE[name]
    t, of_column = aggregation(make, name.split()[0], kind, options)
    for n in range(8):
        t.append(pa.table({"id": pa.array([1], pa.int32()), "v": pa.array([value(n)], of_column)}))
    read = "sum(b.num_rows for b in t.scan().to_batches())"
    assert run(t, read)[0] == "1"
    for limit in (150, 300, 600):
        for what in (read, "t.compact(full=True).tasks"):
            # a gigabyte that the allocator has reserved would hide how much is needed
            found, _, _ = run(t, what, limit * MB, MIMALLOC_ARENA_RESERVE="16384")
            assert found in ("0", "1", "MemoryLimitExceeded"), f"{what} with {limit} MB"


#: The first value, of many parts, and the values of the records that follow, of one new part each.
MANY = {
    "listagg distinct": (lambda parts: "--".join(parts), lambda part: part),
    "collect distinct": (list, lambda part: [part]),
    "merge_map": (lambda parts: [(part, 1) for part in parts], lambda part: [(part, 2)]),
    "nested_update": (
        lambda parts: [{"a": part, "b": "text"} for part in parts],
        lambda part: [{"a": part, "b": "text"}],
    ),
    "nested_partial_update": (
        lambda parts: [{"a": part, "b": "text"} for part in parts],
        lambda part: [{"a": part, "b": None}],
    ),
}
OF_TEXTS = {
    "listagg distinct": "STRING",
    "collect distinct": "ARRAY<STRING>",
    "merge_map": "MAP<STRING, INT>",
    "nested_update": "ARRAY<ROW<a STRING, b STRING>>",
    "nested_partial_update": "ARRAY<ROW<a STRING, b STRING>>",
}


@pytest.mark.skipif(os.name != "posix", reason="needs setitimer")
@pytest.mark.parametrize("name", MANY)
def test_a_signal_ends_the_merge_of_many_records_of_one_key(make, name):
    """Nothing in a group asked whether to stop; each record took as long as all parts so far."""
    first, more = MANY[name]
    options = {"distinct": "true"} if name.endswith("distinct") else {}
    options |= {"list-agg-delimiter": "--"} if name.startswith("listagg") else {}
    options |= {"nested-key": "a"} if name.startswith("nested") else {}
    t, kind = aggregation(make, name.split()[0], OF_TEXTS[name], options)
    count = 20_000 if name == "nested_partial_update" else 100_000
    values = [first([f"part-{i}" for i in range(count)]), *(more(f"more-{i}") for i in range(200))]
    rows = pa.table({"id": pa.array([1] * len(values), pa.int32()), "v": pa.array(values, kind)})
    answers = []
    for n in range(3):
        with contextlib.suppress(Stop), signal_after(0.05 + 0.07 * n) as sent:
            for _ in range(100):
                t.append(rows)
        answers.append(time.monotonic() - sent)
    # two of three, because a machine can stop a whole process for a while
    assert sorted(answers)[1] < 0.5, answers
    assert t.maintenance.fsck().ok


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is limited on Linux only")
@pytest.mark.parametrize("keyed", [False, True], ids=["append", "keyed"])
def test_rows_that_are_all_kept_fit_or_memory_does_not_suffice(make, keyed):
    """Each batch was too small to be asked for, and who collected them was aborted."""
    t = make({"id": "INT", "v": "STRING"}, ["id"] if keyed else [], bucket=1 if keyed else -1, siltstone__sync="false")
    for n in range(2):
        t.append(pa.table({"id": pa.array(range(200 * n, 200 * n + 200), pa.int32()), "v": ["x" * MB] * 200}))
    for limit in (150, 250, 350, 450, 900):
        found, _, _ = run(t, "t.scan().to_arrow().num_rows", limit * MB)
        assert found in ("400", "MemoryLimitExceeded"), limit
    assert run(t, "t.scan().to_arrow().num_rows")[0] == "400"
