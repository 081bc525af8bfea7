"""Fields of rows as columns of a scan: `a.b.c` is read without the rest of `a`."""

from __future__ import annotations

import fixture_tables as ft
import pyarrow as pa
import pytest
import siltstone as st
from siltstone import errors as e

SCHEMA = {"k": "INT NOT NULL", "a": "ROW<b ROW<c INT, d STRING>, x STRING, n INT NOT NULL>", "l": "ARRAY<ROW<z INT>>"}
ROWS = [
    {"k": 1, "a": {"b": {"c": 1, "d": "one"}, "x": "7", "n": 10}, "l": [{"z": 1}]},
    {"k": 2, "a": {"b": None, "x": "text", "n": 20}, "l": None},
    {"k": 3, "a": None, "l": []},
    {"k": 4, "a": {"b": {"c": None, "d": "four"}, "x": None, "n": 40}, "l": [None]},
]


@pytest.fixture(params=["parquet", "orc", "avro"])
def kind(request):
    return request.param


@pytest.fixture
def t(make, kind):
    t = make(SCHEMA, file__format=kind)
    t.append(ROWS)
    return t


def columns(t, *names, **query):
    found = t.scan([*names], **query).to_arrow()
    return [tuple(r.values()) for r in found.to_pylist()]


def test_the_result_has_the_paths_as_names(t):
    found = t.scan(["a.b.c", "k", "a.n", "a.b"]).to_arrow()
    assert found.column_names == ["a.b.c", "k", "a.n", "a.b"]
    assert found.schema.field("a.b.c").type == pa.int32()
    # the row around it may be null
    assert found.schema.field("a.n").nullable
    assert [tuple(r.values()) for r in found.to_pylist()] == [
        (1, 1, 10, {"c": 1, "d": "one"}),
        (None, 2, 20, None),
        (None, 3, None, None),
        (None, 4, 40, {"c": None, "d": "four"}),
    ]


def test_conditions_count_and_splits(t):
    assert columns(t, "a.b.d", filter="k > 1 AND a IS NOT NULL") == [(None,), ("four",)]
    assert columns(t, "a.b.d", "a", filter="k = 4")[0] == ("four", ROWS[3]["a"])
    assert t.scan(["a.b.d"]).count() == 4
    assert columns(t, "a.b.d", limit=2) == [("one",), (None,)]
    batches = [b for split in t.scan(["a.b.c", "a.x"]).splits() for b in split.read()]
    assert pa.Table.from_batches(batches).to_pydict() == {
        "a.b.c": [1, None, None, None],
        "a.x": ["7", "text", None, None],
    }
    assert columns(t, "a.b.c", row_kind=True) == [("+I", 1), ("+I", None), ("+I", None), ("+I", None)]
    assert t.scan(["a.n"], between=(0, 1)).to_arrow()["a.n"].to_pylist() == [10, 20, None, 40]


@pytest.mark.parametrize("path", ["a.q", "a.b.c.d", "q.b", "l.z", "l.element.z", "k.k", "a.", "a..b", ".a", "a.b.C"])
def test_a_path_that_leads_nowhere_is_an_error(t, path):
    with pytest.raises(e.InvalidArgument):
        t.scan([path]).to_arrow()


def test_a_path_is_asked_for_once(t):
    with pytest.raises(e.InvalidArgument, match="twice"):
        t.scan(["a.b", "k", "a.b"]).to_arrow()


def test_fields_are_found_in_files_from_before_an_alter(t):
    t.alter().rename_column(["a", "b", "c"], "cc").add_column(["a", "b", "new"], "INT").set_type(
        ["a", "n"], "BIGINT"
    ).commit()
    t.append([{"k": 5, "a": {"b": {"cc": 5, "d": "five", "new": 55}, "x": "5", "n": 2**40}}])
    assert columns(t, "a.b.cc", "a.b.new", "a.n") == [
        (1, None, 10),
        (None, None, 20),
        (None, None, None),
        (None, None, 40),
        (5, 55, 2**40),
    ]
    assert t.scan(["a.b.c"], version=1).to_arrow()["a.b.c"].to_pylist() == [1, None, None, None]


def test_other_fields_are_not_looked_at(t):
    """'text' is no INT: the whole column cannot be read, but the field beside it can."""
    t.alter().set_type(["a", "x"], "INT").commit()
    with pytest.raises(e.SchemaMismatch):
        t.scan(["a"]).to_arrow()
    assert columns(t, "a.n", "a.b.d")[:2] == [(10, "one"), (20, None)]


@pytest.mark.parametrize(
    "engine",
    [{}, {"merge-engine": "partial-update"}, {"merge-engine": "first-row"}, {"deletion-vectors.enabled": "true"}],
)
def test_rows_of_a_key_are_merged_first(cat, kind, engine):
    options = {"bucket": "1", "file.format": kind, **engine}
    t = cat.create_table("db.t", SCHEMA, primary_key=["k"], options=options)
    t.upsert(ROWS)
    t.upsert([{"k": 1, "a": {"b": {"c": 100, "d": None}, "x": "x", "n": 1}, "l": None}, {"k": 3, "a": None, "l": None}])
    if engine.get("merge-engine") == "first-row" or "deletion-vectors.enabled" in engine:
        t.compact()
    whole = t.scan(["k", "a"]).to_arrow().to_pylist()
    expected = [(r["k"], r["a"] and r["a"]["b"] and r["a"]["b"]["c"], r["a"] and r["a"]["n"]) for r in whole]
    assert columns(t, "k", "a.b.c", "a.n") == expected
    assert len(expected) == 4


def test_a_column_whose_name_has_dots_is_that_column(make):
    t = make({"a.b": "INT", "a": "ROW<b INT, `c.d` ROW<e INT>>"})
    t.append([{"a.b": 1, "a": {"b": 2, "c.d": {"e": 3}}}])
    assert columns(t, "a.b", "a.c.d", "a.c.d.e") == [(1, {"e": 3}, 3)]


def leaves(field, path):
    yield path
    if pa.types.is_struct(field.type):
        for inner in field.type:
            yield from leaves(inner, [*path, inner.name])


@pytest.mark.parametrize("name", [n for n in ft.names("types_nested_*", "evolve_append_*") if "avro" not in n])
def test_each_field_of_javas_tables_is_what_the_whole_column_has(name, tmp_path):
    t = st.open_table(ft.unpack(name, tmp_path))
    whole = t.scan().to_arrow()
    for field in whole.schema:
        for path in leaves(field, [field.name]):
            expected = whole[field.name].to_pylist()
            for step in path[1:]:
                expected = [value and value[step] for value in expected]
            found = t.scan([".".join(path)]).to_arrow()[".".join(path)].to_pylist()
            # as text: a NaN is no other value
            assert str(found) == str(expected), path
