"""Merge engines, with the examples of the requirements (MERGE-01 to MERGE-52).

Each example comes out the same in three ways: all rows in one commit, a commit for each row, and a full compaction after
each of those.
"""

import dataclasses

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
        (AGGREGATION | {"sequence.field": "a", "fields.a.aggregate-function": "sum"}, "sequence.field"),
    ],
)
def test_options_that_exclude_each_other_are_refused(cat, options, option):
    refused(cat, ints("k", "a", "b", "g_1", "c", "d", "g_2"), options, option)


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
    assert caught.value.context["column"] == "op" and t.snapshot() is None


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
