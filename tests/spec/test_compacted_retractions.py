"""A compaction never changes what a read shows, where rows take back what lies in a level that it leaves out.

A compaction of level 0 put a ``-D`` and a later row of its key together without the key's older row: values that were deleted came back, and
what a ``-D`` took back was forgotten. Java 1.4.2 does so. Here such a compaction takes all files of the bucket in.
"""

import decimal
import itertools

import pytest

OLDER = range(10, 3000)
FIXED = {"bucket": "1", "write-only": "true", "num-sorted-run.compaction-trigger": "2", "num-levels": "6"}
OWN = {"write-only": "false"}
PARTIAL = {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}


def key_1(t):
    return t.to_pylist(filter="id = 1")


def levels(t):
    return sorted(f["level"] for f in t.files())


def table(cat, columns, options, first):
    """Rows of many keys, key 1 among them, in the highest level."""
    t = cat.create_table("db.t", {"id": "INT", **columns}, primary_key="id", options=FIXED | options)
    t.upsert([{"id": 1, **first}] + [{"id": i, **first} for i in OLDER])
    t.compact(full=True)
    assert set(levels(t)) == {5}
    return t


def unchanged(t, before):
    """After compactions of every kind."""
    t.compact()
    assert key_1(t) == before
    t.compact(full=True)
    assert key_1(t) == before
    assert t.count() == len(OLDER) + 1
    assert not t.maintenance.fsck(deep=True).problems


DELETED = {
    "partial-update": (
        {"a": "STRING", "b": "STRING"},
        PARTIAL,
        {"a": "x", "b": "y"},
        {"a": "z"},
        {"a": "z", "b": None},
    ),
    "partial-update-full-changelog": (
        {"a": "STRING", "b": "STRING"},
        PARTIAL | {"changelog-producer": "full-compaction"},
        {"a": "x", "b": "y"},
        {"a": "z"},
        {"a": "z", "b": None},
    ),
    "partial-update-vectors": (
        {"a": "STRING", "b": "STRING"},
        PARTIAL | OWN | {"deletion-vectors.enabled": "true"},
        {"a": "x", "b": "y"},
        {"a": "z"},
        {"a": "z", "b": None},
    ),
    "partial-update-lookup": (
        {"a": "STRING", "b": "STRING"},
        PARTIAL | OWN | {"changelog-producer": "lookup"},
        {"a": "x", "b": "y"},
        {"a": "z"},
        {"a": "z", "b": None},
    ),
    "aggregation": (
        {"n": "INT", "b": "STRING"},
        {
            "merge-engine": "aggregation",
            "aggregation.remove-record-on-delete": "true",
            "fields.n.aggregate-function": "sum",
        },
        {"n": 100, "b": "y"},
        {"n": 1},
        {"n": 1, "b": None},
    ),
}


@pytest.mark.parametrize("case", DELETED)
@pytest.mark.parametrize("own", [False, True], ids=["by-a-job", "by-the-writer"])
def test_values_of_a_deleted_row_do_not_come_back_when_its_key_is_compacted(cat, case, own):
    columns, options, first, again, shown = DELETED[case]
    t = table(cat, columns, options | (OWN if own else {}), first)
    t.delete("id = 1")
    assert key_1(t) == []
    t.upsert([{"id": 1, **again}])
    assert key_1(t) == [{"id": 1, **shown}]
    t.upsert([{"id": 2, **again}])
    t.delete("id = 2")
    unchanged(t, [{"id": 1, **shown}])


def test_a_row_that_a_sequence_group_removed_does_not_come_back_when_its_key_is_compacted(cat):
    columns = {"a": "STRING", "b": "STRING", "g": "INT", "h": "INT", "c": "STRING"}
    options = {
        "merge-engine": "partial-update",
        "fields.g.sequence-group": "a,b",
        "fields.h.sequence-group": "c",
        "partial-update.remove-record-on-sequence-group": "g",
    }
    t = table(cat, columns, options, {"a": "x", "b": "y", "g": 1, "h": 1, "c": "keep"})
    t.append([{"id": 1, "g": 2}], row_kind="-D")
    t.upsert([{"id": 1, "a": "z", "g": 3}])
    before = key_1(t)
    assert before == [{"id": 1, "a": "z", "b": None, "g": 3, "h": None, "c": None}]
    unchanged(t, before)


#: type, what is there, what is taken back of it, what is added, what is shown then
FUNCTIONS = {
    "sum": ("INT", 10, 3, 4, 11),
    "count": ("BIGINT", 1, 1, 1, 1),
    "product": ("INT", 12, 3, 4, 16),
    "collect": ("ARRAY<STRING>", ["a", "b"], ["a"], ["c"], ["b", "c"]),
    "merge_map": ("MAP<STRING, INT>", [("a", 1), ("b", 2)], [("a", 1)], [("c", 3)], [("b", 2), ("c", 3)]),
    "last_value": ("INT", 10, 3, 4, 4),
    "last_non_null_value": ("INT", 10, 10, None, None),
    "nested_update": (
        "ARRAY<ROW<k INT, v STRING>>",
        [{"k": 1, "v": "x"}, {"k": 2, "v": "y"}],
        [{"k": 1, "v": "x"}],
        [{"k": 3, "v": "z"}],
        [{"k": 3, "v": "z"}, {"k": 2, "v": "y"}],
    ),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    "order", [["-D", "more"], ["-U", "more"], ["-D", "-D"], ["more", "-D"], ["-D"]], ids="then".join
)
def test_what_rows_take_back_stays_taken_back_when_their_key_is_compacted(cat, function, order):
    data_type, first, back, more, shown = FUNCTIONS[function]
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": function}
    if function == "nested_update":
        options["fields.v.nested-key"] = "k"
    t = table(cat, {"v": data_type}, options, {"v": first})
    for step in order:
        if step == "more":
            t.upsert([{"id": 1, "v": more}])
        else:
            t.append([{"id": 1, "v": back}], row_kind=step)
    before = key_1(t)
    if order[1:] == ["more"]:
        assert before == [{"id": 1, "v": shown}]
    if order == ["-D"]:
        t.append([{"id": 11, "v": None}])
    unchanged(t, before)


def test_a_compaction_of_several_buckets_takes_older_rows_in_where_they_are_needed(cat):
    options = FIXED | PARTIAL | {"bucket": "4"}
    t = cat.create_table("db.t", {"id": "INT", "a": "STRING", "b": "STRING"}, primary_key="id", options=options)
    t.upsert([{"id": i, "a": "x", "b": "y"} for i in range(8000)])
    t.compact(full=True)
    t.delete("id in (1, 2)")
    t.upsert([{"id": i, "a": "z"} for i in range(9)])
    t.upsert([{"id": i, "a": "w"} for i in range(5, 20)])
    before = sorted(t.to_pylist(filter="id < 30"), key=lambda r: r["id"])
    assert before[1] == {"id": 1, "a": "z", "b": None}
    by_bucket = {f["bucket"]: f["level"] for f in t.files() if f["level"] == 5}
    assert len(by_bucket) == 4
    t.compact(full=False)
    assert sorted(t.to_pylist(filter="id < 30"), key=lambda r: r["id"]) == before
    alone = [
        list(g) for _, g in itertools.groupby(sorted((f["bucket"], f["level"]) for f in t.files()), lambda f: f[0])
    ]
    whole = [files for files in alone if {level for _, level in files} == {5}]
    # one or two buckets have the deleted keys
    assert 1 <= len(whole) <= 2
    assert t.count() == 8000


def test_a_delete_that_is_alone_under_its_key_leaves_older_files_where_they_are(cat):
    t = table(cat, {"a": "STRING", "b": "STRING"}, PARTIAL, {"a": "x", "b": "y"})
    older = levels(t)
    t.delete("id = 1")
    t.upsert([{"id": 20, "a": "z"}])
    t.upsert([{"id": 21, "a": "z"}])
    t.delete("id = 21")
    t.compact()
    assert levels(t) == [4, *older]
    assert key_1(t) == []
    assert t.to_pylist(filter="id in (20, 21)") == [{"id": 20, "a": "z", "b": "y"}]


def test_a_stream_is_told_once_what_a_compaction_with_older_rows_changed(cat):
    options = PARTIAL | {"changelog-producer": "full-compaction"}
    t = table(cat, {"a": "STRING", "b": "STRING"}, options, {"a": "x", "b": "y"})
    start = t.snapshot().id
    t.delete("id = 1")
    t.upsert([{"id": 1, "a": "z"}])
    t.compact()
    t.compact(full=True)
    told = t.scan(between=(start, t.snapshot().id), mode="changelog", row_kind=True).to_pylist()
    assert [(r["rowkind"], r["a"], r["b"]) for r in told] == [("-U", "x", "y"), ("+U", "z", None)]


def test_a_task_that_was_planned_for_level_0_takes_older_rows_in_where_it_is_run(cat):
    """A task carries all files of its bucket; what it takes is found out where it runs."""
    t = table(cat, {"a": "STRING", "b": "STRING"}, PARTIAL, {"a": "x", "b": "y"})
    t.delete("id = 1")
    t.upsert([{"id": 1, "a": "z"}])
    before = key_1(t)
    t.maintenance.commit_compaction([task.run() for task in t.maintenance.plan_compaction().tasks])
    assert set(levels(t)) == {5}
    assert key_1(t) == before == [{"id": 1, "a": "z", "b": None}]


D = decimal.Decimal
KEYTIME = "MAP<INT, ROW<v INT, ts STRING>>"
ROWS = "ARRAY<ROW<k INT, v INT>>"


def nested(*pairs):
    return [{"k": k, "v": v} for k, v in pairs]


ADDED = {
    # -9e17, and then twice 6e17: the two alone have too many digits
    "sum": ("DECIMAL(20,2)", {}, D("-9e17"), [D("6e17"), D("6e17")], D("3e17")),
    # shown beyond its nine digits, and stored, but 2.7e9 is not
    "sum-of-nine-digits": ("DECIMAL(9,0)", {}, D(-900_000_000), [D(900_000_000)] * 3, D(1_800_000_000)),
    "sum-of-integers": ("INT", {}, -(2**31), [2**30, 2**30], 0),
    "product": ("DECIMAL(4,2)", {}, D("0.01"), [D("50"), D("50")], D("25.00")),
    "product-rounded": ("DECIMAL(6,2)", {}, D("10"), [D("0.05"), D("0.09")], D("0.05")),
    "nested_update": (
        ROWS,
        {"nested-key": "k", "count-limit": "3"},
        nested((1, 1)),
        [nested((2, 2), (3, 3)), nested((2, 4)), nested((4, 4))],
        nested((1, 1), (2, 2), (3, 3)),
    ),
    "merge_map_with_keytime": (
        KEYTIME,
        {},
        [(1, {"v": 1, "ts": "1"}), (2, {"v": 2, "ts": "1"})],
        [[(1, None)], [(3, {"v": 3, "ts": "2"})]],
        [(2, {"v": 2, "ts": "1"}), (3, {"v": 3, "ts": "2"})],
    ),
}


@pytest.mark.parametrize("engine", ["aggregation", "partial-update"])
@pytest.mark.parametrize("name", ADDED)
def test_rows_that_are_added_do_not_come_to_something_else_without_the_older_ones(cat, name, engine):
    """A sum of decimals of level 0 was null for its digits, and what had been added was lost for good."""
    column, own, first, added, expected = ADDED[name]
    options = {"merge-engine": engine, "fields.v.aggregate-function": name.split("-")[0]}
    options |= {f"fields.v.{key}": value for key, value in own.items()}
    columns, group = {"v": column}, itertools.count()
    if engine == "partial-update":
        columns |= {"g": "INT"}
        options |= {"fields.g.sequence-group": "v"}

    def row(value):
        return {"v": value} | ({"g": next(group)} if engine == "partial-update" else {})

    t = table(cat, columns, options, row(first))
    for value in added:
        t.upsert([{"id": 1, **row(value)}])
    before = key_1(t)
    assert sorted_value(before[0]["v"]) == sorted_value(expected)
    unchanged(t, before)


def sorted_value(value):
    """Rows of nested tables come in the order of Java's hash map."""
    return sorted(value, key=str) if isinstance(value, list) else value
