"""Rules of sequence fields and functions that rarely meet, against Java: the same rows, or refused by both."""

import itertools
import json
import random

import engines
import pytest
import rows
import siltstone as st
from siltstone import errors as e

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]

PARTIAL = {"merge-engine": "partial-update"}
AGGREGATION = {"merge-engine": "aggregation"}
COLUMNS = {"k": "INT", "s": "INT", "a": "INT", "b": "INT"}
#: two commits: with ties, older and newer records, and nulls in every column but the key
COMMITS = [
    [("+I", 1, 5, 10, 1), ("+I", 1, 7, 20, 2), ("+I", 2, 1, 1, 1), ("+I", 3, None, 4, 4), ("+I", 4, 2, None, 2)],
    [("+I", 1, 6, 30, 3), ("+I", 2, 1, 5, 0), ("+I", 3, 3, None, 3), ("+I", 4, None, 8, 9), ("+U", 4, 3, 1, None)],
]


def same_rows(oracle, folder, columns, options, commits, keys=("k",)):
    """The commits by us and by Java: both read the same from both tables, before and after a full compaction."""
    cat = st.connect(folder)
    cat.create_database("db")
    fixed = {"bucket": "1", "write-only": "true"}
    mine, javas = (
        cat.create_table(f"db.{name}", columns, primary_key=list(keys), options=fixed | options)
        for name in ("mine", "javas")
    )
    for commit in commits:
        engines.ours(mine, ("write", commit))
        engines.javas(oracle, javas.location, ("write", commit))
        expected = agreed(oracle, mine, javas)
    mine.compact(full=True)
    oracle.call("compact", javas.location, "--full")
    assert rows.ours(agreed(oracle, mine, javas)) == rows.ours(expected)
    return expected.to_pylist()


def agreed(oracle, mine, javas):
    expected = oracle.call("read", javas.location)
    for t in (mine, javas):
        assert engines.same(expected, t.scan().to_arrow()) is None
    whole = mine.scan().to_arrow()
    assert engines.same(oracle.call("read", mine.location), whole) is None
    for name in whole.column_names:
        assert rows.ours(mine.scan([name]).to_arrow()) == rows.ours(whole.select([name])), name
    return whole


def refused_by_both(oracle, folder, columns, options, message):
    """We refuse to make the table; Java refuses to make it or to write to it."""
    cat = st.connect(folder / "lake")
    cat.create_database("db")
    with pytest.raises((e.InvalidOption, e.IllegalSchema)) as caught:
        cat.create_table("db.t", columns, primary_key=["k"], options={"bucket": "1"} | options)
    assert caught.value.context["option"] in options
    fields = [{"id": i, "name": name, "type": t} for i, (name, t) in enumerate(columns.items())]
    first = {"op": "write", "rows": [["+I", 1, *[None] * (len(columns) - 1)]] * 2}
    spec = {"fields": fields, "primary_keys": ["k"], "partition_keys": [], "steps": [first]}
    (folder / "spec.json").write_text(json.dumps(spec | {"options": {"bucket": "1"} | options}))
    with pytest.raises(RuntimeError, match=message):
        oracle.call("gen", folder / "spec.json", folder / "java")


@pytest.mark.parametrize("function", ["sum", "listagg"])
@pytest.mark.parametrize(
    "options",
    [
        AGGREGATION | {"fields.a.aggregate-function": "sum"},
        AGGREGATION | {"sequence.field": "s"},
        PARTIAL,
        PARTIAL | {"fields.s.sequence-group": "a,b"},
        {},
    ],
    ids=["aggregation", "aggregation by sequence", "partial-update", "groups", "deduplicate"],
)
def test_a_function_of_a_key_column_does_nothing(oracle, tmp_path, options, function):
    """Neither its name nor its type matters, as long as it exists."""
    found = same_rows(oracle, tmp_path, COLUMNS, options | {"fields.k.aggregate-function": function}, COMMITS)
    assert [row["k"] for row in found] == [1, 2, 3, 4]


def test_an_unknown_function_of_a_key_column_is_refused(oracle, tmp_path):
    option = {"fields.k.aggregate-function": "summ"}
    refused_by_both(oracle, tmp_path, COLUMNS, AGGREGATION | option, "summ")


@pytest.mark.parametrize("fields", ["k", "k,s"])
@pytest.mark.parametrize(
    "options",
    [{}, PARTIAL, PARTIAL | {"fields.b.sequence-group": "a"}, AGGREGATION | {"fields.a.aggregate-function": "sum"}],
    ids=["deduplicate", "partial-update", "groups", "aggregation"],
)
def test_a_key_column_as_sequence_field_decides_nothing(oracle, tmp_path, options, fields):
    found = same_rows(oracle, tmp_path, COLUMNS, options | {"sequence.field": fields}, COMMITS)
    if options == {}:
        last, greatest = {"k": 1, "s": 6, "a": 30, "b": 3}, {"k": 1, "s": 7, "a": 20, "b": 2}
        assert found[0] == (last if fields == "k" else greatest)


def test_first_row_takes_no_sequence_field_not_even_a_key(oracle, tmp_path):
    refused_by_both(oracle, tmp_path, COLUMNS, {"merge-engine": "first-row", "sequence.field": "k"}, "FIRST_ROW")


@pytest.mark.parametrize(
    "options",
    [
        {"fields.s.sequence-group": "a"},
        {"fields.b.sequence-group": "a"},
        {"fields.b.sequence-group": "a,s"},
        {"fields.b.sequence-group": "s"},
        {"fields.s,b.sequence-group": "a"},
        {"fields.b.sequence-group": "a", "fields.a.aggregate-function": "sum"},
        {
            "fields.s.sequence-group": "a,b",
            "fields.a.aggregate-function": "sum",
            "fields.b.aggregate-function": "first_value",
        },
    ],
    ids=["same", "another", "protected", "protected alone", "several", "sum", "first_value"],
)
@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_sequence_groups_together_with_a_sequence_field(oracle, tmp_path, options, order):
    """Records come in the order of the sequence field, then each group looks at its own: always ascending."""
    if order == "descending":
        # inside one buffer Java sorts ascending whatever the option says: one commit for each row
        commits = [[row] for commit in COMMITS for row in commit]
    else:
        commits = COMMITS
    sequence = {"sequence.field": "s", "sequence.field.sort-order": order}
    same_rows(oracle, tmp_path, COLUMNS, PARTIAL | sequence | options, commits)


@pytest.mark.parametrize("function", ["sum", "first_value"])
@pytest.mark.parametrize("group", ["s", "s,b"])
def test_a_function_of_a_groups_own_sequence_column_does_nothing(oracle, tmp_path, group, function):
    options = {f"fields.{group}.sequence-group": "a", "fields.s.aggregate-function": function}
    found = same_rows(oracle, tmp_path, COLUMNS, PARTIAL | options, COMMITS)
    assert found[0]["s"] == 7, "the largest sequence, not what the function makes of it"


def test_a_function_of_the_sequence_field_is_refused(oracle, tmp_path):
    for number, engine in enumerate([AGGREGATION, PARTIAL]):
        options = engine | {"sequence.field": "s", "fields.s.aggregate-function": "last_value"}
        (tmp_path / str(number)).mkdir()
        refused_by_both(oracle, tmp_path / str(number), COLUMNS, options, "aggregation on sequence field")


#: values in ascending order
NESTED = {
    "ROW<x INT, y STRING>": [None, {"x": None, "y": "z"}, {"x": 0, "y": "b"}, {"x": 1, "y": None}, {"x": 1, "y": "a"}],
    "ARRAY<INT>": [None, [], [None, 9], [-1, 9], [0], [0, None], [0, 1]],
    "ARRAY<ROW<x INT>>": [None, [{"x": None}], [{"x": 1}], [{"x": 1}, {"x": 0}], [{"x": 2}]],
    "MAP<INT, INT>": [None, [[9, 0]], [[9, 1]], [[1, 7], [2, 0]], [[1, 7], [3, 0]]],
    "MULTISET<INT>": [None, [[9, 1]], [[1, 2], [2, 1]], [[1, 2], [2, 5]]],
}


@pytest.mark.parametrize("order", ["ascending", "descending"])
@pytest.mark.parametrize("column_type", NESTED)
def test_nested_sequence_fields_order_as_in_java(oracle, tmp_path, column_type, order):
    """Found by review: Java takes them, they were refused here. Each pair of values is a key of its own."""
    values = NESTED[column_type]
    pairs = [(a, b) for a in values for b in values]
    commits = [[("+I", key, pair[turn], turn) for key, pair in enumerate(pairs)] for turn in (0, 1)]
    columns = {"k": "INT", "s": column_type, "v": "INT"}
    found = same_rows(oracle, tmp_path, columns, {"sequence.field": "s", "sequence.field.sort-order": order}, commits)
    sign = 1 if order == "ascending" else -1
    rank = [None if value is None else sign * at for at, value in enumerate(values)]
    wins = [a is None or (b is not None and b >= a) for a in rank for b in rank]
    assert [row["v"] for row in sorted(found, key=lambda row: row["k"])] == [int(newer) for newer in wins]


@pytest.mark.parametrize("column_type", NESTED)
def test_nested_sequences_of_groups_order_as_in_java(oracle, tmp_path, column_type):
    values = NESTED[column_type]
    commit = [
        ("+I", key, pair[turn], turn)
        for turn in (0, 1)
        for key, pair in enumerate((a, b) for a in values for b in values)
    ]
    columns = {"k": "INT", "s": column_type, "v": "INT"}
    same_rows(oracle, tmp_path, columns, PARTIAL | {"fields.s.sequence-group": "v"}, [commit, commit[::-1]])


@pytest.mark.parametrize("option", ["sequence.field", "fields.s.sequence-group"])
def test_a_variant_is_no_sequence_field(oracle, tmp_path, option):
    columns = {"k": "INT", "s": "VARIANT", "v": "INT"}
    value = {"sequence.field": "s", "fields.s.sequence-group": "v"}[option]
    refused_by_both(oracle, tmp_path, columns, PARTIAL | {option: value}, "VARIANT")


@pytest.mark.parametrize("function", ["rbm32", "rbm64", "hll_sketch", "theta_sketch"])
def test_sketches_that_we_refuse_leave_java_without_a_readable_table(oracle, tmp_path, function):
    """Java looks at the bytes when it merges them: in a commit of two rows at once, otherwise when it is too late."""
    cat = st.connect(tmp_path)
    cat.create_database("db")
    columns, options = {"k": "INT", "v": "BYTES"}, {"bucket": "1", "write-only": "true"}
    options |= AGGREGATION | {"fields.v.aggregate-function": function}
    t = cat.create_table("db.t", columns, primary_key=["k"], options=options)
    garbage = b"garbage" * 6
    bad = ["+I", 1, garbage.hex()]
    with pytest.raises(e.InvalidArgument):
        t.append([{"k": 1, "v": garbage}])
    with pytest.raises(RuntimeError):
        oracle.call("apply", t.location, json.dumps({"op": "write", "rows": [bad, bad]}))
    assert t.snapshot() is None
    for _ in range(2):
        oracle.call("apply", t.location, json.dumps({"op": "write", "rows": [bad]}))
    for command, *flags in (["read"], ["compact", "--full"]):
        with pytest.raises(RuntimeError):
            oracle.call(command, t.location, *flags)
    with pytest.raises(e.CorruptFile) as caught:
        t.scan().to_arrow()
    assert (caught.value.context["column"], caught.value.context["key"]) == ("v", "k=1")


def test_bytes_too_short_for_a_theta_sketch_are_an_empty_one(oracle, tmp_path):
    """Found by asking Java, which passes over fewer than 16 bytes; here the table could not be read."""
    values = [{"k": size, "v": (b"garbage!" * 2)[:size]} for size in (0, 3, 8, 15)]
    fixed = {"bucket": "1", "write-only": "true"}
    options = AGGREGATION | {"fields.v.aggregate-function": "theta_sketch"}
    cat = st.connect(tmp_path)
    cat.create_database("db")
    t = cat.create_table("db.t", {"k": "INT", "v": "BYTES"}, primary_key=["k"], options=fixed | options)
    for _ in range(2):
        t.append(values)
    javas = oracle.call("read", t.location)
    assert engines.same(javas, t.scan().to_arrow()) is None
    assert {row["v"] for row in javas} == {"01030300001e0000"}


@pytest.mark.parametrize("delimiter", [",", " ", "", "--"])
@pytest.mark.parametrize("distinct", ["false", "true"])
def test_listagg_leaves_out_empty_texts_only(oracle, tmp_path, delimiter, distinct):
    """Texts of spaces were left out, too."""
    texts = ["a", "", " ", "\t", "a, ,b", ",", "b,,b", " ,", "a--b", None]
    pairs = list(itertools.product(texts, repeat=2))
    commits = [[("+I", k, pair[at]) for k, pair in enumerate(pairs)] for at in (0, 1)]
    options = {"fields.v.list-agg-delimiter": delimiter, "fields.v.distinct": distinct}
    function = AGGREGATION | {"fields.v.aggregate-function": "listagg"}
    same_rows(oracle, tmp_path, {"k": "INT", "v": "STRING"}, function | options, commits)


def test_rows_that_java_emptied_before_it_took_them_back_are_read(oracle, tmp_path):
    """A NOT NULL column is empty in the merged -D, which nobody sees: reading failed."""
    cat = st.connect(tmp_path)
    cat.create_database("db")
    options = PARTIAL | {"bucket": "1", "write-only": "true", "fields.g.sequence-group": "v"}
    t = cat.create_table("db.t", {"k": "INT", "v": "INT NOT NULL", "g": "INT"}, primary_key=["k"], options=options)
    for commit in ([("+I", 2, 1, 1)], [("-D", 1, 1, 1)], [("-D", 1, 1, 2)]):
        engines.javas(oracle, t.location, ("write", commit))
    assert engines.same(oracle.call("read", t.location), t.scan().to_arrow()) is None
    t.compact(full=True)
    assert t.scan().to_arrow().to_pylist() == [{"k": 2, "v": 1, "g": 1}]
    assert engines.same(oracle.call("read", t.location), t.scan().to_arrow()) is None


@pytest.mark.parametrize(
    "options",
    [
        {"sequence.field": "s"},
        {"sequence.field": "s,b"},
        {"fields.s.sequence-group": "a"},
        {"fields.s,b.sequence-group": "a"},
        {"fields.s.sequence-group": "a", "fields.a.aggregate-function": "first_value"},
    ],
    ids=["field", "two fields", "group", "group of two fields", "function"],
)
def test_rows_of_partial_update_without_a_sequence(oracle, tmp_path, options):
    """Null is older than every value, and a group in whose fields a row has nothing but nulls sees nothing of the row."""
    chance = random.Random(7)  # noqa: S311  # a test
    commits = [
        [("+I", k, *(chance.choice([None, None, 1, 2, 3]) for _ in "sab")) for k in range(40) for _ in range(n)]
        for n in (1, 2, 1)
    ]
    same_rows(oracle, tmp_path, COLUMNS, PARTIAL | options, commits)
