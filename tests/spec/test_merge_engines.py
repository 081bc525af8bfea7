"""Merge engines, with the examples of the requirements (MERGE-01 to MERGE-52).

Each example comes out the same in three ways: all rows in one commit, a commit for each row, and a full compaction after
each of those.
"""

import dataclasses
import datetime as dt
import decimal
import json
import pathlib

import pyarrow as pa
import pytest
from siltstone import errors as e

WAYS = ["one commit", "a commit per row", "compaction after each row"]
PARTIAL = {"merge-engine": "partial-update"}
AGGREGATION = {"merge-engine": "aggregation"}
FIRST_ROW = {"merge-engine": "first-row", "changelog-producer": "lookup"}
ORDERS = "ARRAY<ROW<sub_order_id BIGINT, product_name STRING, price BIGINT>>"


@dataclasses.dataclass(frozen=True)
class Case:
    """Rows with their kind in front, and the content of the table after them."""

    name: str
    columns: dict
    options: dict
    rows: list
    expected: list
    #: content after the row of this number (from 1), where the example says so
    stages: dict = dataclasses.field(default_factory=dict)


def ints(*names):
    return dict.fromkeys(names, "INT")


def agg(function, **more):
    """A column `v` with this function."""
    return AGGREGATION | {"fields.v.aggregate-function": function} | {f"fields.v.{k}": v for k, v in more.items()}


GROUPS = PARTIAL | {"fields.g_1.sequence-group": "a,b", "fields.g_2.sequence-group": "c,d"}
DESCENDING = {"sequence.field": "s", "sequence.field.sort-order": "descending"}

CASES = [
    Case(
        "DEDUP-1: the last row wins, a delete removes the key",
        ints("k", "v"),
        {},
        [("+I", 1, 10), ("+I", 1, 20), ("-D", 1, 20), ("+I", 1, 30)],
        [(1, 30)],
        {2: [(1, 20)], 3: []},
    ),
    Case(
        "deduplicate with ignore-delete keeps what is deleted",
        ints("k", "v"),
        {"deduplicate.ignore-delete": "true"},
        [("+I", 1, 10), ("-D", 1, 10), ("-U", 1, 10)],
        [(1, 10)],
    ),
    Case(
        "ignore-update-before drops -U only",
        ints("k", "v"),
        {"ignore-update-before": "true"},
        [("+I", 1, 10), ("-U", 1, 10), ("+I", 2, 20), ("-D", 2, 20)],
        [(1, 10)],
    ),
    Case(
        "rowkind.field says what a row does",
        {"k": "INT", "op": "STRING"},
        {"rowkind.field": "op"},
        [(None, 1, "+I"), (None, 2, "+U"), (None, 1, "-D")],
        [(2, "+U")],
    ),
    Case(
        "sequence.field: the largest wins, null never, the later of equals",
        ints("k", "v", "s"),
        {"sequence.field": "s"},
        [("+I", 1, 1, 5), ("+I", 1, 2, None), ("+I", 1, 3, 7), ("+I", 1, 4, 6), ("+I", 1, 5, 7)],
        [(1, 5, 7)],
        {2: [(1, 1, 5)], 4: [(1, 3, 7)]},
    ),
    Case(
        "sequence.field descending: the smallest wins, null never",
        ints("k", "v", "s"),
        DESCENDING,
        [("+I", 1, 1, 5), ("+I", 1, 2, None), ("+I", 1, 3, 7)],
        [(1, 1, 5)],
    ),
    Case(
        "sequence.field of several columns is compared from the left",
        ints("k", "v", "s", "t"),
        {"sequence.field": "s,t"},
        [("+I", 1, 1, 5, 5), ("+I", 1, 2, 5, None), ("+I", 1, 3, 5, 6), ("+I", 1, 4, 4, 9)],
        [(1, 3, 5, 6)],
    ),
    Case(
        "PU-1: null does not overwrite",
        {"pk": "INT", "c1": "DOUBLE", "c2": "INT", "c3": "STRING"},
        PARTIAL,
        [("+I", 1, 23.0, 10, None), ("+I", 1, None, None, "This is a book"), ("+I", 1, 25.2, None, None)],
        [(1, 25.2, 10, "This is a book")],
    ),
    Case(
        "partial-update with its old ignore-delete",
        ints("k", "a", "b"),
        PARTIAL | {"partial-update.ignore-delete": "true"},
        [("+I", 1, 1, None), ("-D", 1, 1, None), ("+U", 1, None, 2)],
        [(1, 1, 2)],
    ),
    Case(
        "partial-update.remove-record-on-delete removes the row",
        ints("k", "a", "b"),
        PARTIAL | {"partial-update.remove-record-on-delete": "true"},
        [("+I", 1, 1, 1), ("-U", 1, 9, 9), ("-D", 1, 1, 1), ("+I", 2, 2, None)],
        [(2, 2, None)],
        {2: [(1, 1, 1)], 3: []},
    ),
    Case(
        "SG-1: each group follows its own sequence, null included",
        ints("k", "a", "b", "g_1", "c", "d", "g_2"),
        GROUPS,
        [("+I", 1, 1, 1, 1, 1, 1, 1), ("+I", 1, 2, 2, 2, 2, 2, None), ("+I", 1, 3, 3, 1, 3, 3, 3)],
        [(1, 2, 2, 2, 3, 3, 3)],
        {2: [(1, 2, 2, 2, 1, 1, 1)]},
    ),
    Case(
        "a group takes null of a newer row",
        ints("k", "a", "b", "g_1", "c", "d", "g_2"),
        GROUPS,
        [("+I", 1, 1, 1, 1, 1, 1, 1), ("+I", 1, None, 2, 2, None, None, None)],
        [(1, None, 2, 2, 1, 1, 1)],
    ),
    Case(
        "a retract takes back the columns of its group",
        ints("k", "a", "b", "g_1", "c", "d", "g_2"),
        GROUPS,
        [("+I", 1, 1, 1, 1, 1, 1, 1), ("-D", 1, 1, 1, 2, None, None, None)],
        [(1, None, None, 2, 1, 1, 1)],
    ),
    Case(
        "partial-update.remove-record-on-sequence-group removes the row",
        ints("k", "a", "b", "g_1", "c", "d", "g_2"),
        GROUPS | {"partial-update.remove-record-on-sequence-group": "g_1"},
        [("+I", 1, 1, 1, 1, 1, 1, 1), ("-D", 1, 1, 1, 2, None, None, None)],
        [],
    ),
    Case(
        "a group may have several sequence fields",
        ints("k", "a", "g_1", "g_2"),
        PARTIAL | {"fields.g_1,g_2.sequence-group": "a"},
        [("+I", 1, 1, 1, 1), ("+I", 1, 2, 1, 0), ("+I", 1, 3, 1, 2), ("+I", 1, 4, None, None)],
        [(1, 3, 1, 2)],
    ),
    Case(
        "SG-AGG-1: functions inside groups",
        ints("k", "a", "b", "c", "d"),
        PARTIAL
        | {
            "fields.a.sequence-group": "b",
            "fields.b.aggregate-function": "first_value",
            "fields.c.sequence-group": "d",
            "fields.d.aggregate-function": "sum",
        },
        [
            ("+I", 1, 1, 1, None, None),
            ("+I", 1, None, None, 1, 1),
            ("+I", 1, 2, 2, None, None),
            ("+I", 1, None, None, 2, 2),
        ],
        [(1, 2, 1, 2, 3)],
    ),
    Case(
        "AGG-1: max and sum",
        {"product_id": "BIGINT", "price": "DOUBLE", "sales": "BIGINT"},
        AGGREGATION | {"fields.price.aggregate-function": "max", "fields.sales.aggregate-function": "sum"},
        [("+I", 1, 23.0, 15), ("+I", 1, 30.2, 20)],
        [(1, 30.2, 35)],
    ),
    Case(
        "without a function the last value that is not null stays",
        ints("k", "a", "b"),
        AGGREGATION,
        [("+I", 1, 1, 1), ("+I", 1, None, 2)],
        [(1, 1, 2)],
    ),
    Case(
        "fields.default-aggregate-function is for columns without one",
        ints("k", "a", "b"),
        AGGREGATION | {"fields.default-aggregate-function": "min", "fields.b.aggregate-function": "sum"},
        [("+I", 1, 3, 1), ("+I", 1, 2, 1), ("+I", 1, 5, None)],
        [(1, 2, 2)],
    ),
    Case(
        "count counts values, whatever was merged before",
        {"k": "INT", "v": "BIGINT", "w": "INT"},
        AGGREGATION | {"fields.v.aggregate-function": "count", "fields.w.aggregate-function": "count"},
        [("+I", 1, 5, 5), ("+I", 1, 7, None), ("+I", 1, 9, 9), ("-D", 1, 9, None)],
        [(1, 2, 2)],
        {1: [(1, 1, 1)], 3: [(1, 3, 2)]},
    ),
    Case(
        "NESTED-1: rows of a nested table by their key",
        {"order_id": "BIGINT", "user_name": "STRING", "address": "STRING", "sub_orders": ORDERS},
        AGGREGATION
        | {"fields.sub_orders.aggregate-function": "nested_update", "fields.sub_orders.nested-key": "sub_order_id"},
        [
            ("+I", 1, "Wang", "HangZhou", None),
            ("+I", 1, None, None, [{"sub_order_id": 10, "product_name": "apple", "price": 6}]),
            ("+I", 1, None, None, [{"sub_order_id": 11, "product_name": "pear", "price": 5}]),
            ("+I", 1, None, None, [{"sub_order_id": 10, "product_name": "apple", "price": 7}]),
        ],
        [
            (
                1,
                "Wang",
                "HangZhou",
                [
                    {"sub_order_id": 10, "product_name": "apple", "price": 7},
                    {"sub_order_id": 11, "product_name": "pear", "price": 5},
                ],
            )
        ],
    ),
    Case(
        "RETRACT-COLLECT: an early retract did nothing",
        {"k": "INT", "v": "ARRAY<STRING>"},
        agg("collect"),
        [("-U", 1, ["A"]), ("+I", 1, ["A", "B"])],
        [(1, ["A", "B"])],
    ),
    Case(
        "RETRACT-MAP: an overwritten value does not come back",
        {"k": "INT", "v": "MAP<INT, STRING>"},
        agg("merge_map"),
        [("+I", 1, [(1, "A")]), ("+I", 1, [(1, "B")]), ("-D", 1, [(1, "B")])],
        [(1, [])],
    ),
    Case(
        "RETRACT-SUM: -U and +U replace a summand",
        ints("k", "v"),
        agg("sum"),
        [("+I", 1, 10), ("+I", 1, 5), ("-U", 1, 5), ("+U", 1, 7)],
        [(1, 17)],
    ),
    Case(
        "product multiplies, a retract divides",
        {"k": "INT", "v": "INT", "w": "DECIMAL(6, 2)"},
        agg("product") | {"fields.w.aggregate-function": "product"},
        [
            ("+I", 1, 2, decimal.Decimal("1.50")),
            ("+I", 1, 3, decimal.Decimal("2.00")),
            ("+I", 1, None, None),
            ("-U", 1, 3, decimal.Decimal("1.50")),
        ],
        [(1, 2, decimal.Decimal("2.00"))],
        {3: [(1, 6, decimal.Decimal("3.00"))]},
    ),
    Case(
        "max and min of texts and dates",
        {"k": "INT", "v": "STRING", "w": "DATE"},
        agg("max") | {"fields.w.aggregate-function": "min"},
        [
            ("+I", 1, "b", dt.date(2024, 5, 1)),
            ("+I", 1, "äb", dt.date(1969, 12, 31)),
            ("+I", 1, None, None),
        ],
        [(1, "äb", dt.date(1969, 12, 31))],
    ),
    Case(
        "collect of distinct elements",
        {"k": "INT", "v": "ARRAY<INT>"},
        agg("collect", distinct="true"),
        [("+I", 1, [1, 2, 2]), ("+I", 1, [2, 3]), ("+I", 1, None), ("-D", 1, [1])],
        [(1, [2, 3])],
        {3: [(1, [1, 2, 3])]},
    ),
    Case(
        "nested_update without a key appends rows",
        {"k": "INT", "v": "ARRAY<ROW<a INT>>"},
        agg("nested_update"),
        [("+I", 1, [{"a": 1}]), ("+I", 1, [{"a": 1}, {"a": 2}]), ("-D", 1, [{"a": 2}])],
        [(1, [{"a": 1}, {"a": 1}])],
    ),
    Case(
        "RETRACT-MAX: with ignore-retract the value stays",
        ints("k", "v"),
        agg("max", **{"ignore-retract": "true"}),
        [("+I", 1, 10), ("+I", 1, 5), ("-D", 1, 10)],
        [(1, 10)],
    ),
    Case(
        "last_value and last_non_null_value become null by a retract",
        ints("k", "v", "w"),
        agg("last_value") | {"fields.w.aggregate-function": "last_non_null_value"},
        [("+I", 1, 1, 1), ("+I", 2, 1, 1), ("-D", 1, 1, 1), ("-D", 2, 1, None)],
        [(1, None, None), (2, None, 1)],
    ),
    Case(
        "listagg joins with its delimiter",
        {"k": "INT", "v": "STRING"},
        agg("listagg", **{"list-agg-delimiter": ";"}),
        [("+I", 1, "a"), ("+I", 1, None), ("+I", 1, "b"), ("+I", 1, "a")],
        [(1, "a;b;a")],
    ),
    Case(
        "bool_and and bool_or",
        {"k": "INT", "v": "BOOLEAN", "w": "BOOLEAN"},
        agg("bool_and") | {"fields.w.aggregate-function": "bool_or"},
        [("+I", 1, True, False), ("+I", 1, False, True), ("+I", 1, None, None)],
        [(1, False, True)],
    ),
    Case(
        "first_value keeps null, first_non_null_value does not",
        ints("k", "v", "w", "x"),
        agg("first_value")
        | {
            "fields.w.aggregate-function": "first_non_null_value",
            "fields.x.aggregate-function": "first_not_null_value",
        },
        [("+I", 1, 1, None, None), ("+I", 1, 2, 2, 2), ("+I", 1, 3, 3, 3)],
        [(1, 1, 2, 2)],
    ),
    Case(
        "aggregation.remove-record-on-delete removes the row",
        ints("k", "v"),
        agg("max") | {"aggregation.remove-record-on-delete": "true"},
        [("+I", 1, 10), ("+I", 2, 5), ("-D", 1, 10)],
        [(2, 5)],
    ),
    Case(
        "aggregation by the order of a sequence field",
        ints("k", "v", "s"),
        AGGREGATION | {"fields.v.aggregate-function": "last_value", "sequence.field": "s"},
        [("+I", 1, 1, 2), ("+I", 1, 2, 1), ("+I", 1, 3, None)],
        [(1, 1, 2)],
    ),
    Case(
        "FIRST-1: the first row of a key stays",
        ints("k", "v"),
        FIRST_ROW,
        [("+I", 1, 10), ("+I", 1, 20), ("+I", 2, 5)],
        [(1, 10), (2, 5)],
    ),
    Case(
        "first-row ignores deletes by its old option",
        ints("k", "v"),
        {"merge-engine": "first-row", "first-row.ignore-delete": "true"},
        [("+I", 1, 10), ("-D", 1, 10), ("-U", 1, 10), ("+I", 1, 20)],
        [(1, 10)],
    ),
]


def new(cat, columns, options, keys=("k",), parts=()):
    """A table of one bucket; each has a name of its own."""
    name = f"db.t{len(cat.tables('db'))}"
    return cat.create_table(
        name, columns, primary_key=list(keys), partition_by=list(parts), options={"bucket": "1"} | options
    )


def created(cat, case, **more):
    return new(cat, case.columns, case.options | more, [next(iter(case.columns))])


def add(t, rows):
    """Rows with their kind in front, as one commit."""
    names = [f.name for f in t.schema]
    columns = zip(*[row[1:] for row in rows])
    data = pa.table([pa.array(c, f.type) for c, f in zip(columns, t.schema)], names=names)
    t.append(data, row_kind=[row[0] or "+I" for row in rows])


def content(t, **scan):
    """Rows as tuples; map entries and nested rows in a fixed order."""

    def plain(value):
        return sorted(value, key=repr) if isinstance(value, list) else value

    rows = t.scan(**scan).to_arrow().to_pylist()
    return sorted((tuple(plain(v) for v in row.values()) for row in rows), key=repr)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.split(":")[0])
def test_example(cat, case, way):
    t = created(cat, case)
    if way == "one commit":
        for number, expected in case.stages.items():
            until = created(cat, case)
            add(until, case.rows[:number])
            assert content(until) == expected, f"the first {number} rows"
            until.compact(full=True)
            assert content(until) == expected, f"the first {number} rows, compacted"
        add(t, case.rows)
    for number, row in enumerate(case.rows if way != "one commit" else [], 1):
        add(t, [row])
        if way == "compaction after each row":
            t.compact(full=True)
        if number in case.stages:
            assert content(t) == case.stages[number], f"after row {number}"
    assert content(t) == case.expected
    assert t.scan().count() == len(case.expected)
    t.compact(full=True)
    assert content(t) == case.expected


@pytest.mark.parametrize("way", WAYS)
def test_the_changelog_of_first_row_is_insert_only(cat, way):
    """FIRST-1 and MERGE-52: whoever reads the changelog gets each key once."""
    t = new(cat, ints("k", "v"), FIRST_ROW)
    given = [("+I", 1, 10), ("+I", 1, 20), ("+I", 2, 5)]
    for rows in [given] if way == "one commit" else [[row] for row in given]:
        add(t, rows)
        if way == "compaction after each row":
            t.compact(full=True)
    told = [tuple(row.values()) for batch in t.changes() for row in batch.to_pylist()]
    assert sorted(told) == [("+I", 1, 10), ("+I", 2, 5)]


def test_nested_rows_are_unnested_with_their_order(cat):
    """The second half of NESTED-1."""
    case = next(case for case in CASES if case.name.startswith("NESTED-1"))
    t = created(cat, case)
    for row in case.rows:
        add(t, [row])
    orders = t.scan().to_arrow().to_pylist()
    flat = [(*list(o.values())[:3], *sub.values()) for o in orders for sub in o["sub_orders"]]
    assert sorted(flat) == [(1, "Wang", "HangZhou", 10, "apple", 7), (1, "Wang", "HangZhou", 11, "pear", 5)]


@pytest.mark.parametrize(
    "column_type, older, newer",
    [
        ("DECIMAL(10, 2)", decimal.Decimal("-1.00"), decimal.Decimal("2.50")),
        ("TINYINT", -1, 2),
        ("SMALLINT", -1, 2),
        ("INT", -1, 2),
        ("BIGINT", -1, 2),
        ("FLOAT", -1.0, 2.0),
        ("DOUBLE", -1.0, 2.0),
        ("DATE", dt.date(1969, 12, 31), dt.date(2024, 5, 1)),
        ("TIME(3)", dt.time(0, 0, 1), dt.time(23)),
        ("TIMESTAMP(6)", dt.datetime(1969, 12, 31), dt.datetime(2024, 5, 1)),
        ("TIMESTAMP_LTZ(3)", dt.datetime(1969, 12, 31, tzinfo=dt.UTC), dt.datetime(2024, 5, 1, tzinfo=dt.UTC)),
    ],
)
def test_a_group_follows_a_sequence_of_any_comparable_type(cat, column_type, older, newer):
    """MERGE-16; dates before 1970 and negative numbers are the smaller ones."""
    t = new(cat, {"k": "INT", "a": "INT", "g": column_type}, PARTIAL | {"fields.g.sequence-group": "a"})
    for number, sequence in enumerate([newer, older, newer, None]):
        add(t, [("+I", 1, number, sequence)])
    assert content(t, columns=["a"]) == [(2,)]


def test_a_lone_row_with_a_null_sequence_passes_through_until_it_meets_another_merge(cat):
    """Java 1.4.2 has the same rows: the group of a lone row is looked at only where rows of a key meet (semantics a.6), or
    where a lookup compaction asks the engine about every row (c.3), which also tells the changelog so."""
    columns, options = ints("k", "a", "g"), PARTIAL | {"fields.g.sequence-group": "a"}
    t = new(cat, columns, options | {"write-only": "true"})
    add(t, [("+I", 1, 5, None)])
    assert content(t) == [(1, 5, None)]
    add(t, [("+I", 1, 7, None)])
    assert content(t) == [(1, None, None)]
    t = new(cat, columns, options | {"changelog-producer": "lookup"})
    add(t, [("+I", 1, 5, None)])
    told = [tuple(row.values()) for batch in t.changes() for row in batch.to_pylist()]
    assert (content(t), told) == ([(1, 5, None)], [("+I", 1, None, None)])
    add(t, [("+I", 2, 1, 1)])
    assert content(t) == [(1, None, None), (2, 1, 1)]


def test_a_filter_finds_a_decimal_sum_with_a_digit_too_many(cat):
    """A literal beyond the column's precision was taken for greater than every value: `v > 150` lost the row of 299.7."""
    t = new(cat, {"k": "INT", "v": "DECIMAL(3, 1)"}, agg("sum"))
    for _ in range(3):
        add(t, [("+I", 1, decimal.Decimal("99.9"))])
    for compacted in (False, True):
        if compacted:
            t.compact(full=True)
        for found, condition in [
            (1, "v > 99"),
            (1, "v > 150"),
            (1, "v = 299.7"),
            (1, "v < 299.75"),
            (1, "v BETWEEN 200 AND 1000"),
            (0, "v > 299.7"),
            (0, "v < 150"),
            (0, "v > 99999999999999999999"),
        ]:
            assert t.scan(filter=condition).count() == found, (compacted, condition)


@pytest.mark.parametrize("way", WAYS[:2])
@pytest.mark.parametrize("precision, kept", [(3, True), (18, True), (19, False), (38, False)])
def test_a_decimal_sum_with_a_digit_too_many_is_kept_up_to_18_digits(cat, way, precision, kept):
    """Java adds decimals of up to 18 digits as BIGINTs and looks at no precision; longer ones become null."""
    t = new(cat, {"k": "INT", "v": f"DECIMAL({precision}, 0)"}, agg("sum"))
    rows = [("+I", 1, decimal.Decimal("9" * precision)), ("+I", 1, decimal.Decimal(1))]
    for part in [rows] if way == "one commit" else [[row] for row in rows]:
        add(t, part)
    assert content(t) == [(1, decimal.Decimal(10) ** precision if kept else None)]
    t.compact(full=True)
    assert content(t) == [(1, decimal.Decimal(10) ** precision if kept else None)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.split(":")[0])
def test_one_column_at_a_time_reads_what_all_columns_read(cat, case):
    t = created(cat, case, **{"write-only": "false" if "first-row" in case.options.values() else "true"})
    for row in case.rows:
        add(t, [row])
    for at, name in enumerate(case.columns):
        assert content(t, columns=[name]) == sorted(((row[at],) for row in case.expected), key=repr), name


def test_a_condition_is_tested_on_merged_rows(cat):
    t = new(cat, ints("k", "a", "b"), PARTIAL | {"write-only": "true"})
    add(t, [("+I", 1, 1, None)])
    add(t, [("+I", 1, None, 2)])
    add(t, [("+I", 2, 7, None)])
    assert content(t, filter="a = 1 AND b = 2") == [(1, 1, 2)]
    assert content(t, filter="b IS NULL") == [(2, 7, None)]
    assert content(t, filter="b = 2", columns=["a"]) == [(1,)]
    t = new(cat, ints("k", "v"), agg("sum") | {"write-only": "true"})
    for value in (3, 4):
        add(t, [("+I", 1, value)])
    assert content(t, filter="v = 7") == [(1, 7)]
    assert content(t, filter="v < 7") == []
    assert (t.scan(filter="v > 4").count(), t.scan().count()) == (1, 1)
    assert t.scan(limit=1).to_arrow().to_pylist() == [{"k": 1, "v": 7}]


# what is refused when a table is made


def refused(cat, columns, options, option, column=None):
    with pytest.raises((e.InvalidOption, e.IllegalSchema)) as caught:
        new(cat, columns, options)
    assert caught.value.context["option"] == option
    if column:
        assert caught.value.context["column"] == column
    assert caught.value.table
    return caught.value


@pytest.mark.parametrize(
    "function, column_type",
    [
        ("sum", "STRING"),
        ("product", "DATE"),
        ("count", "STRING"),
        ("max", "ARRAY<INT>"),
        ("max", "BOOLEAN"),
        ("min", "BOOLEAN"),
        ("min", "MAP<INT, INT>"),
        ("listagg", "INT"),
        ("listagg", "VARCHAR(10)"),
        ("bool_and", "INT"),
        ("bool_or", "STRING"),
        ("collect", "INT"),
        ("merge_map", "ARRAY<INT>"),
        ("merge_map_with_keytime", "MAP<INT, INT>"),
        ("nested_update", "ARRAY<INT>"),
        ("nested_partial_update", "ARRAY<INT>"),
        ("rbm32", "INT"),
        ("rbm64", "STRING"),
        ("hll_sketch", "STRING"),
        ("theta_sketch", "BIGINT"),
    ],
)
def test_a_function_that_does_not_take_the_type_is_refused(cat, function, column_type):
    option = "fields.v.aggregate-function"
    error = refused(cat, {"k": "INT", "v": column_type}, AGGREGATION | {option: function}, option, "v")
    assert function in str(error)


def test_an_unknown_function_is_refused_with_a_hint(cat):
    error = refused(cat, ints("k", "v"), agg("summ"), "fields.v.aggregate-function", "v")
    assert "sum" in error.hint


@pytest.mark.parametrize(
    "options, option",
    [
        (GROUPS | {"fields.g_2.sequence-group": "b,c"}, "fields.g_2.sequence-group"),
        (PARTIAL | {"fields.g_1.sequence-group": "k"}, "fields.g_1.sequence-group"),
        (PARTIAL | {"fields.a.aggregate-function": "sum"}, "fields.a.aggregate-function"),
        (
            PARTIAL | {"partial-update.remove-record-on-sequence-group": "a"},
            "partial-update.remove-record-on-sequence-group",
        ),
        (GROUPS | {"partial-update.remove-record-on-delete": "true"}, "partial-update.remove-record-on-delete"),
        (
            PARTIAL | {"partial-update.remove-record-on-delete": "true", "ignore-delete": "true"},
            "partial-update.remove-record-on-delete",
        ),
        (
            AGGREGATION | {"aggregation.remove-record-on-delete": "true", "fields.a.ignore-retract": "true"},
            "fields.a.ignore-retract",
        ),
        (FIRST_ROW | {"sequence.field": "a"}, "sequence.field"),
        ({"sequence.field": "a,a"}, "sequence.field"),
        ({"sequence.field": "nothing"}, "sequence.field"),
        (AGGREGATION | {"sequence.field": "a", "fields.a.aggregate-function": "sum"}, "fields.a.aggregate-function"),
    ],
)
def test_options_that_exclude_each_other_are_refused(cat, options, option):
    refused(cat, ints("k", "a", "b", "g_1", "c", "d", "g_2"), options, option)


@pytest.mark.parametrize(
    "options, option",
    [
        # Java looks every name up, also those that nothing uses
        (AGGREGATION | {"fields.k.aggregate-function": "summ"}, "fields.k.aggregate-function"),
        (PARTIAL | {"fields.k.aggregate-function": "summ"}, "fields.k.aggregate-function"),
        (GROUPS | {"fields.g_1.aggregate-function": "summ"}, "fields.g_1.aggregate-function"),
        (AGGREGATION | {"fields.a.aggregate-function": " sum"}, "fields.a.aggregate-function"),
        # a space is part of a column's name
        (PARTIAL | {"fields.g_1.sequence-group": "a, b"}, "fields.g_1.sequence-group"),
        (PARTIAL | {"fields.g_1.sequence-group": " a"}, "fields.g_1.sequence-group"),
        (
            GROUPS | {"partial-update.remove-record-on-sequence-group": "g_1, g_2"},
            "partial-update.remove-record-on-sequence-group",
        ),
        ({"bucket-key": " k"}, "bucket-key"),
        # the texts of a choice are exact but for the case
        ({"merge-engine": "partial_update"}, "merge-engine"),
        ({"merge-engine": " aggregation"}, "merge-engine"),
        # Java's buffer has three pages at least
        ({"write-buffer-size": "0"}, "write-buffer-size"),
        ({"write-buffer-size": "191 kb"}, "write-buffer-size"),
        ({"write-buffer-size": "64 kb", "page-size": "32 kb"}, "write-buffer-size"),
        ({"page-size": "0"}, "page-size"),
    ],
)
def test_what_java_could_not_open_or_write_is_refused(cat, options, option):
    """Found by asking Java: each of these was accepted here and failed there."""
    assert refused(cat, ints("k", "a", "b", "g_1", "c", "d", "g_2"), options, option).hint or option == "page-size"


def test_what_java_takes_is_taken(cat):
    for columns, options in [
        (ints("k", "v"), AGGREGATION | {"fields.k.aggregate-function": "sum"}),
        (ints("k", "v", "g"), AGGREGATION | {"fields.g.sequence-group": "v"}),
        ({"k": "INT", "v": "BYTES"}, agg("max")),
        (ints("k", "v", "s", "t"), {"sequence.field": "s, t"}),
        (ints("k", "a", "g", "s"), PARTIAL | {"fields.g.sequence-group": "a,g", "sequence.field": "s"}),
        ({"k": "STRING", "v": "INT"}, AGGREGATION | {"fields.default-aggregate-function": "sum"}),
        (ints("k", "v"), {"merge-engine": "AGGREGATION"}),
        (ints("k", "v"), {"write-buffer-size": "192 kb"}),
        (ints("k", "v"), {"write-buffer-size": "64 kb", "page-size": "16 kb"}),
        (ints("k", "v"), {"file.compression.zstd-level": "99"}),
        (ints("k", "v"), {"file.compression.zstd-level": "-5"}),
    ]:
        t = new(cat, columns, options)
        add(t, [("+I", *("1" if kind == "STRING" else b"1" if kind == "BYTES" else 1 for kind in columns.values()))])
        assert t.scan().count() == 1
    t = new(cat, ints("k", "v"), AGGREGATION | {"bucket": "-1"}, keys=())
    add(t, [("+I", 1, 1), ("+I", 1, 1)])
    assert content(t) == [(1, 1), (1, 1)]


ENGINES = ["deduplicate", "partial-update", "aggregation", "first-row"]
PRODUCERS = ["none", "input", "lookup", "full-compaction"]


def forbidden(engine, producer, vectors):
    """The option that the combination is refused for (semantics b.8), or None."""
    if engine == "first-row" and producer in ("input", "full-compaction"):
        return "changelog-producer"
    if vectors and (producer == "full-compaction" or engine == "first-row"):
        return "deletion-vectors.enabled"
    return None


@pytest.mark.parametrize("partitioned", [False, True])
@pytest.mark.parametrize("producer", PRODUCERS)
@pytest.mark.parametrize("engine", ENGINES)
def test_each_engine_works_with_each_producer_that_it_may_have(cat, engine, producer, partitioned):
    columns = {"p": "STRING", "k": "INT", "v": "INT"}
    options = {"merge-engine": engine, "changelog-producer": producer}
    keys, parts = (["p", "k"], ["p"]) if partitioned else (["k"], [])
    option = forbidden(engine, producer, vectors=False)
    if option:
        with pytest.raises(e.InvalidOption) as caught:
            new(cat, columns, options, keys, parts)
        assert caught.value.context["option"] == option
        return
    t = new(cat, columns, options, keys, parts)
    for rows in (
        [("+I", "a", 1, 1), ("+I", "b", 2, 2)],
        [("+I", "a", 1, 3), ("+I", "b", 3, None)],
        [("+U", "b", 2, None)],
    ):
        add(t, rows)
    t.compact(full=True)
    last = {"deduplicate": (3, None), "partial-update": (3, 2), "aggregation": (3, 2), "first-row": (1, 2)}[engine]
    assert content(t) == [("a", 1, last[0]), ("b", 2, last[1]), ("b", 3, None)]


@pytest.mark.parametrize("producer", PRODUCERS)
@pytest.mark.parametrize("engine", ENGINES)
def test_deletion_vectors_have_their_own_exclusions(cat, engine, producer):
    option = forbidden(engine, producer, vectors=True)
    if option is None:
        return
    with pytest.raises(e.InvalidOption) as caught:
        new(
            cat,
            ints("k", "v"),
            {"merge-engine": engine, "changelog-producer": producer, "deletion-vectors.enabled": "true"},
        )
    assert caught.value.context["option"] == option


def test_other_exclusions_of_changelogs(cat):
    for options, option in [
        ({"changelog-producer": "lookup", "full-compaction.delta-commits": "2"}, "full-compaction.delta-commits"),
        ({"changelog-producer": "lookup", "streaming-read-overwrite": "true"}, "streaming-read-overwrite"),
        ({"deletion-vectors.enabled": "true", "lookup-wait": "false"}, "lookup-wait"),
        ({"deletion-vectors.enabled": "true", "changelog-producer.lookup-wait": "false"}, "lookup-wait"),
    ]:
        refused(cat, ints("k", "v"), options, option)
    with pytest.raises(e.InvalidOption) as caught:
        new(cat, ints("k", "v"), {"bucket": "-1", "changelog-producer": "input"}, keys=())
    assert "primary key" in str(caught.value)


# what is refused when rows come


def test_a_retract_that_cannot_be_taken_commits_nothing(cat):
    for options, column in [
        (agg("max"), "v"),
        (agg("listagg") | {"fields.v.aggregate-function": "min"}, "v"),
        (PARTIAL, None),
        ({"merge-engine": "first-row"}, None),
    ]:
        t = new(cat, ints("k", "v"), options)
        add(t, [("+I", 1, 10)])
        before = t.snapshot().id
        for rows in ([("-D", 1, 10)], [("+I", 2, 1), ("-U", 2, 1)]):
            with pytest.raises(e.DeleteNotAllowed) as caught:
                add(t, rows)
            context = caught.value.context
            assert context["table"].endswith(t.name.split(".")[-1]) and f"k={rows[-1][1]}" in context["key"]
            assert context.get("column") == column
            assert context["option"] == ("fields.v.aggregate-function" if column else "merge-engine")
            assert caught.value.hint
        assert (t.snapshot().id, content(t)) == (before, [(1, 10)])


def test_a_retract_for_a_function_of_a_sequence_group_commits_nothing(cat):
    """Found by review: such a -D was taken, and the table could be neither read nor compacted any more."""
    columns = ints("k", "a", "x", "g", "y", "h")
    groups = PARTIAL | {"fields.g.sequence-group": "a,x", "fields.h.sequence-group": "y"}
    t = new(cat, columns, groups | {"fields.x.aggregate-function": "max", "fields.y.aggregate-function": "sum"})
    add(t, [("+I", 1, 1, 5, 1, 1, 1)])
    before = t.snapshot().id
    for kind in ("-D", "-U"):
        for rows in (
            [(kind, 1, 1, 5, 2, None, None)],
            [("+I", 2, 1, 1, 1, 1, 1), (kind, 1, None, None, 0, None, None)],
        ):
            with pytest.raises(e.DeleteNotAllowed) as caught:
                add(t, rows)
            context = caught.value.context
            assert (context["column"], context["option"], context["key"]) == ("x", "fields.x.aggregate-function", "k=1")
            assert context["table"] == t.name and "'fields.x.ignore-retract' = 'true'" in caught.value.hint
    assert t.snapshot().id == before
    # a group whose sequence is null takes no part; 'sum' takes values back
    add(t, [("-D", 1, 1, 5, None, 1, 2)])
    assert content(t) == [(1, 1, 5, 1, 0, 2)]
    t.compact(full=True)
    assert content(t) == [(1, 1, 5, 1, 0, 2)]


def test_a_delete_that_a_group_of_functions_takes_otherwise_is_written(cat):
    columns, groups = (
        ints("k", "x", "g"),
        PARTIAL | {"fields.g.sequence-group": "x", "fields.x.aggregate-function": "max"},
    )
    for options in (groups | {"ignore-delete": "true"}, groups | {"fields.x.ignore-retract": "true"}):
        t = new(cat, columns, options)
        add(t, [("+I", 1, 5, 1)])
        add(t, [("-D", 1, 5, 1)])
        t.compact(full=True)
        assert content(t) == [(1, 5, 1)]
    removing = groups | {"partial-update.remove-record-on-sequence-group": "g"}
    t = new(cat, ints("k", "g", "x"), removing)
    add(t, [("+I", 1, 1, 5)])
    with pytest.raises(e.DeleteNotAllowed):
        add(t, [("-U", 1, 1, 5)])
    add(t, [("-D", 1, 1, 5)])
    t.compact(full=True)
    assert content(t) == []
    # Java visits columns in their order: a function before the sequence field meets the delete first, and fails
    t = new(cat, columns, removing)
    with pytest.raises(e.DeleteNotAllowed):
        add(t, [("-D", 1, 5, 1)])


@pytest.mark.parametrize(
    "options, option",
    [
        (PARTIAL | {"fields.g.sequence-group": "v"}, "fields.g.sequence-group"),
        (AGGREGATION | {"fields.v.aggregate-function": "last_value"}, "fields.v.aggregate-function"),
        (AGGREGATION, "fields.v.aggregate-function"),
    ],
    ids=["group", "last_value", "default"],
)
def test_a_delete_that_would_empty_a_not_null_column_commits_nothing(cat, options, option):
    """Such a -D was taken, and the key could be neither read nor compacted until another row came; Java, too, fails when it
    compacts it. A -U is fine: its +U brings a value."""
    columns = {"k": "INT", "v": "INT NOT NULL", "g": "INT"}
    t = new(cat, columns, options)
    add(t, [("+I", 1, 1, 1)])
    with pytest.raises(e.DeleteNotAllowed, match="no value in the NOT NULL column 'v'") as caught:
        add(t, [("+I", 2, 1, 1), ("-D", 1, 1, 2)])
    context = caught.value.context
    assert (context["table"], context["column"], context["key"], context["option"]) == (t.name, "v", "k=1", option)
    assert content(t) == [(1, 1, 1)]
    add(t, [("-U", 1, 1, 2), ("+U", 1, 5, 3)])
    t.compact(full=True)
    assert content(t) == [(1, 5, 3)]
    # a null is what is asked for where it is allowed, or nothing goes
    for more in ({}, {"ignore-delete": "true"}):
        t = new(cat, {"k": "INT", "v": "INT", "g": "INT"} if not more else columns, options | more)
        add(t, [("+I", 1, 1, 1)])
        add(t, [("-D", 1, 1, 2)])
        t.compact(full=True)
        assert content(t, columns=["v"]) == ([(1,)] if more else [(None,)])


@pytest.mark.parametrize("group", ["fields.g.sequence-group", "fields.g,x.sequence-group"])
def test_a_sequence_field_may_be_in_a_group_of_its_own(cat, group):
    """Reading other columns, or counting, failed: the group was merged without its sequence."""
    columns = ints("k", "s", "g", "x")
    t = new(cat, columns, PARTIAL | {"write-only": "true", "sequence.field": "s", group: "s"})
    for v in (2, 1, 3):
        add(t, [("+I", 1, v, 10 - v, v)])
    whole = t.scan().to_arrow()
    for name in whole.column_names:
        assert t.scan([name]).to_arrow().to_pylist() == whole.select([name]).to_pylist()
    assert t.scan().count() == t.scan(filter=f"x = {whole['x'][0]}").count() == 1


@pytest.mark.parametrize("kind", ["-D", "-U", "X", ["+I", "+I"], ["X"], [None], 5])
def test_an_error_about_row_kinds_names_the_table(cat, kind):
    t = new(cat, ints("k", "v"), FIRST_ROW)
    with pytest.raises((e.InvalidRowKind, e.DeleteNotAllowed, e.InvalidArgument)) as caught:
        t.append([{"k": 1, "v": 1}], row_kind=kind)
    assert caught.value.context["table"] == t.name
    for delete in (lambda: t.delete(where="k = 1"), lambda: t.delete(keys=[{"k": 1}])):
        with pytest.raises(e.DeleteNotAllowed) as caught:
            delete()
        assert caught.value.context == {"table": t.name, "option": "merge-engine"}
    assert t.snapshot() is None


@pytest.mark.parametrize("columns", [None, ["v"]], ids=["all columns", "one column"])
def test_an_error_of_merging_names_the_whole_key_and_what_to_do(cat, columns):
    fields = {"dt": "STRING", "k": "INT", "v": "INT"}
    t = new(cat, fields, agg("sum") | {"write-only": "true"}, keys=["k", "dt"], parts=["dt"])
    for _ in range(2):
        add(t, [("+I", "2024-05-01", 7, 2**31 - 1)])
    with pytest.raises(e.LengthExceeded) as caught:
        t.scan(columns).to_arrow()
    assert caught.value.context["key"] == "k=7, dt=2024-05-01"
    assert "set_type" in caught.value.hint and "'v'" in caught.value.hint and "roll" in caught.value.hint
    # and so it is
    t.alter().set_type("v", "BIGINT").commit()
    assert content(t, columns=["v"]) == [(2**32 - 2,)]


@pytest.mark.parametrize("column_type, values", [("INT", (8, 0)), ("DECIMAL(6, 2)", (8, 0)), ("DECIMAL(6, 2)", (1, 3))])
def test_a_product_that_cannot_be_divided_is_a_delete_that_cannot_be_taken(cat, column_type, values):
    """By zero, and a quotient of decimals without an end; it used to be called a value that is too long."""
    t = new(cat, {"k": "INT", "v": column_type}, agg("product") | {"write-only": "true"})
    product, divisor = (decimal.Decimal(v) if column_type != "INT" else v for v in values)
    add(t, [("+I", 1, product)])
    add(t, [("-D", 1, divisor)])
    with pytest.raises(e.DeleteNotAllowed) as caught:
        t.scan().to_arrow()
    assert caught.value.context["column"] == "v" and caught.value.context["function"] == "product"
    assert "'fields.v.ignore-retract' = 'true'" in caught.value.hint


@pytest.mark.parametrize("way", ["in one commit", "at compaction"])
@pytest.mark.parametrize(
    "function, column_type, values", [("sum", "TINYINT", (100, 100)), ("product", "INT", (2**20, 2**20))]
)
def test_an_overflow_names_what_overflowed(cat, way, function, column_type, values):
    t = new(cat, {"k": "INT", "v": column_type}, agg(function))
    rows = [("+I", 7, value) for value in values]
    if way == "in one commit":
        with pytest.raises(e.SiltstoneError) as caught:
            add(t, rows)
        assert t.snapshot() is None
    else:
        for row in rows:
            add(t, [row])
        before = t.snapshot().id
        with pytest.raises(e.SiltstoneError) as caught:
            t.compact(full=True)
        assert t.snapshot().id == before
    context = caught.value.context
    assert context["column"] == "v" and "7" in context["key"] and context["table"]
    assert context["option"] == "fields.v.aggregate-function"
    assert "overflow" in str(caught.value).lower() or "fit" in str(caught.value)


def test_a_null_in_a_sequence_field_is_older_than_any_value(cat):
    t = new(cat, ints("k", "v", "s"), {"sequence.field": "s"})
    add(t, [("+I", 1, 1, None)])
    add(t, [("+I", 1, 2, None)])
    assert content(t) == [(1, 2, None)]
    add(t, [("+I", 1, 3, -5), ("+I", 1, 4, None)])
    assert content(t) == [(1, 3, -5)]


@pytest.mark.parametrize("bad", [None, "", "+X", "insert"])
def test_a_row_kind_field_holds_one_of_four_texts(cat, bad):
    t = new(cat, {"k": "INT", "op": "STRING"}, {"rowkind.field": "op"})
    with pytest.raises(e.InvalidRowKind) as caught:
        add(t, [(None, 1, "+I"), (None, 2, bad)])
    context = caught.value.context
    assert (context["column"], context["option"], context["key"]) == ("op", "rowkind.field", "k=2")
    assert context["table"] == t.name and t.snapshot() is None


def test_a_null_in_a_not_null_sequence_field_names_key_and_option(cat):
    """Found by review: the error named the column only. A sequence field that may be null takes null, as in Java."""
    columns = {"p": "STRING", "k": "INT", "v": "INT", "s": "INT NOT NULL"}
    group = PARTIAL | {"fields.s.sequence-group": "v"}
    for options, option in [({"sequence.field": "s"}, "sequence.field"), (group, "fields.s.sequence-group")]:
        t = new(cat, columns, options, keys=["p", "k"], parts=["p"])
        with pytest.raises(e.NullInKey) as caught:
            t.append([{"p": "x", "k": 1, "v": 1, "s": 1}, {"p": "x", "k": 7, "v": 1, "s": None}])
        context = caught.value.context
        assert (context["column"], context["key"], context["option"]) == ("s", "p=x, k=7", option)
        assert context["table"] == t.name and t.snapshot() is None
        with pytest.raises(e.SchemaMismatch) as caught:
            t.append([{"p": "x", "k": 7, "v": 1}])
        assert (caught.value.context["column"], caught.value.context["option"]) == ("s", option)


SKETCHES = ["rbm32", "rbm64", "hll_sketch", "theta_sketch"]
SKETCH_GROUP = PARTIAL | {"fields.s.sequence-group": "v"}


@pytest.mark.parametrize("engine", [AGGREGATION, SKETCH_GROUP], ids=["aggregation", "partial-update"])
@pytest.mark.parametrize("function", SKETCHES)
def test_bytes_that_are_no_sketch_are_refused_before_they_are_written(cat, function, engine):
    """Found by review: any bytes were committed, and afterwards nothing could read or compact the table. So it is in
    Java, which looks at them when it merges."""
    t = new(cat, {"k": "INT", "s": "INT", "v": "BYTES"}, engine | {"fields.v.aggregate-function": function})
    good = bytes.fromhex(sketches(function)[0])
    add(t, [("+I", 1, 1, good), ("+I", 2, 1, None)])
    before = t.snapshot().id
    short = [] if function == "theta_sketch" else [b"", good[:5]]  # of those Java makes an empty sketch
    for bad in (b"garbage" * 6, b"\xff" * 40, *short):
        with pytest.raises(e.InvalidArgument) as caught:
            add(t, [("+I", 3, 1, good), ("+U", 4, 1, bad)])
        context = caught.value.context
        assert (context["column"], context["key"], context["table"]) == ("v", "k=4", t.name)
        assert context["option"] == "fields.v.aggregate-function" and function in caught.value.hint
    assert (t.snapshot().id, content(t)) == (before, [(1, 1, good), (2, 1, None)])
    for value in sketches(function):
        add(t, [("+I", 1, 2, bytes.fromhex(value))])
    t.compact(full=True)
    assert content(t)[1] == (2, 1, None)


def test_bytes_that_no_sketch_function_merges_are_not_looked_at(cat):
    sketch = agg("rbm32") | {"fields.v.ignore-retract": "true"}
    for options, kind in [({}, "+I"), (agg("last_value"), "+I"), (PARTIAL, "+I"), (sketch, "-D"), (sketch, "-U")]:
        t = new(cat, {"k": "INT", "v": "BYTES"}, options)
        add(t, [(kind, 1, b"garbage")])
        assert content(t) == ([(1, b"garbage")] if kind == "+I" else [])


def sketches(function):
    """Two values that Java wrote, as hexadecimal digits."""
    lines = (pathlib.Path(__file__).parents[1] / "golden" / "vectors" / "unions.jsonl").read_text().splitlines()
    unions = [json.loads(line) for line in lines]
    return next(line["inputs"][:2] for line in unions if line["function"] == function)


# what may change later


def test_what_engines_were_told_at_first_stays(cat):
    t = new(cat, ints("k", "a", "g"), PARTIAL | {"fields.g.sequence-group": "a"})
    add(t, [("+I", 1, 1, 1)])
    for key, value in [
        ("merge-engine", "deduplicate"),
        ("rowkind.field", "a"),
        ("partial-update.remove-record-on-delete", "true"),
        ("partial-update.remove-record-on-sequence-group", "g"),
    ]:
        with pytest.raises(e.IllegalSchemaChange):
            t.alter().set_option(key, value).commit()
    t.alter().set_option("ignore-delete", "true").commit()
    for change in (t.alter().set_option("ignore-delete", "false"), t.alter().remove_option("ignore-delete")):
        with pytest.raises(e.IllegalSchemaChange):
            change.commit()
    with pytest.raises(e.IllegalSchemaChange):
        t.alter().drop_column("g").commit()
    t.alter().rename_column("g", "version").rename_column("a", "value").commit()
    options = t.options
    assert options["fields.version.sequence-group"] == "value"
    add(t, [("+I", 1, 5, 0)])
    assert content(t) == [(1, 1, 1)]


@pytest.mark.parametrize("producer", ["none", "input", "lookup", "full-compaction"])
@pytest.mark.parametrize("options", [{}, {"ignore_delete": "true"}, {"fields__g__sequence_group": "a"}], ids=str)
def test_a_delete_on_partitions_alone_drops_them_whatever_the_merge_engine(make, producer, options):
    schema = {"dt": "STRING", "id": "INT", "a": "INT", "g": "INT"}
    base = {"bucket": 1, "merge_engine": "partial-update", "changelog_producer": producer}
    t = make(schema, ["dt", "id"], ["dt"], **base, **options)
    t.append([{"dt": d, "id": 1, "a": 1, "g": 1} for d in "xy"])
    report = t.delete("dt = 'y'")
    assert report.affected_rows == 1
    assert [r["dt"] for r in t.scan().to_arrow().to_pylist()] == ["x"]
    assert any("changelog does not have their rows" in note for note in report.notes) == (producer != "none")
    with pytest.raises(e.DeleteNotAllowed):
        t.delete("dt = 'x' AND id = 1")
    told = make(schema, ["dt", "id"], ["dt"], **base, **options, delete__force_produce_changelog="true")
    told.append([{"dt": "y", "id": 1, "a": 1, "g": 1}])
    with pytest.raises(e.DeleteNotAllowed):
        told.delete("dt = 'y'")


def test_a_delete_that_no_sequence_group_would_see_is_refused(make):
    schema = {"id": "INT", "a": "INT", "g": "INT", "b": "INT", "h": "INT"}
    groups = {"fields__g__sequence_group": "a", "fields__h__sequence_group": "b"}
    t = make(schema, ["id"], bucket=1, merge_engine="partial-update", **groups)
    t.append([{"id": 1, "a": 1, "g": 1, "b": 1, "h": 1}])
    with pytest.raises(e.DeleteNotAllowed, match=r"null in all sequence fields \(g, h\) deletes nothing"):
        t.append([{"id": 1}], row_kind="-D")
    t.append([{"id": 1, "g": 2}], row_kind="-D")
    assert t.scan().to_arrow().to_pylist() == [{"id": 1, "a": None, "g": 2, "b": 1, "h": 1}]
    t.append([{"id": 1}], row_kind="-U")
    t.append([{"id": 1}], row_kind=["-D"])  # a row of a changelog, which other groups may have sent
