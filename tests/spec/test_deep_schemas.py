"""Schemas that nobody could read back: refused before anything is written, and those of others are said in words."""

import glob

import pyarrow as pa
import pytest
import siltstone as st
from siltstone import errors as e

MOST = 31
"""Nested types in one another that a column may have."""

OPEN = {"row": "ROW<a ", "map": "MAP<STRING, ", "array": "ARRAY<", "multiset": "MULTISET<"}


def nested(kind, levels):
    return OPEN[kind] * levels + "INT" + ">" * levels


def value(kind, levels):
    made = 7
    for _ in range(levels):
        made = {"row": lambda v: {"a": v}, "map": lambda v: [("k", v)], "array": lambda v: [v]}[kind](made)
    return made


@pytest.mark.parametrize("kind", OPEN)
def test_a_column_that_is_too_deep_is_refused_and_the_table_goes_on(make, kind):
    t = make({"id": "INT"}, ["id"], bucket=1)
    t.upsert([{"id": 1}])
    with pytest.raises(e.UnsupportedType, match="32 nested types"):
        t.alter().add_column("v", nested(kind, MOST + 1)).commit()
    assert [path[-8:] for path in glob.glob(t.location + "/schema/schema-*")] == ["schema-0"]
    assert st.open_table(t.location).upsert([{"id": 2}]).rows == 1
    t.alter().add_column("r", "ROW<x INT>").commit()
    with pytest.raises(e.UnsupportedType, match="32 nested types"):
        t.alter().add_column(["r", "deep"], nested(kind, MOST)).commit()


@pytest.mark.parametrize("kind", ["row", "map", "array"])
def test_the_deepest_column_is_written_and_read(make, kind):
    t = make({"id": "INT", "v": nested(kind, MOST)}, ["id"], bucket=1)
    t.upsert([{"id": 1, "v": value(kind, MOST)}])
    t.upsert([{"id": 2, "v": None}])
    t.compact(full=True)
    assert st.open_table(t.location).scan().to_arrow().sort_by("id").column("v").to_pylist() == [
        value(kind, MOST),
        None,
    ]


def test_a_table_that_is_too_deep_is_not_made(cat):
    deep = pa.int32()
    for _ in range(120):
        deep = pa.list_(deep)
    for columns in (pa.schema([("v", deep)]), {"v": nested("row", 45)}, {"v": nested("map", 35)}):
        with pytest.raises(e.UnsupportedType, match="nested"):
            cat.create_table("db.deep", columns)
    assert "deep" not in [name.split(".")[-1] for name in cat.tables("db")]


def test_a_row_without_fields_is_refused(cat, make):
    t = make({"id": "INT", "r": "ROW<a INT>"}, ["id"], bucket=1)
    for change in (
        lambda: cat.create_table("db.empty", {"v": "ARRAY<ROW<>>"}),
        lambda: t.alter().add_column("v", "ROW<>").commit(),
        lambda: t.alter().drop_column(["r", "a"]).commit(),
    ):
        with pytest.raises((e.IllegalSchema, e.IllegalSchemaChange)):
            change()
    assert t.upsert([{"id": 1, "r": {"a": 1}}]).rows == 1


@pytest.mark.parametrize(
    "columns", [{"a\0b": "INT"}, {"r": "ROW<`x\0` INT>"}, {"r": "MAP<INT, ARRAY<ROW<`x\0` INT>>>"}]
)
def test_a_name_with_a_nul_is_refused(cat, make, columns):
    t = make({"id": "INT"}, ["id"], bucket=1)
    with pytest.raises(e.IllegalSchema, match="NUL"):
        cat.create_table("db.nul", columns)
    with pytest.raises(e.IllegalSchema, match="NUL"):
        t.alter().add_column(*next(iter(columns.items()))).commit()
    assert t.upsert([{"id": 1}]).rows == 1


def test_a_name_with_a_nul_of_another_writer_is_a_feature_that_is_missing(make):
    t = make({"id": "INT", "name": "STRING"}, ["id"], bucket=1)
    t.upsert([{"id": 1, "name": "x"}])
    path = t.location + "/schema/schema-0"
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text.replace('"name" : "name"', '"name" : "na\\u0000me"'))
    t = st.open_table(t.location)
    for use in (lambda: t.scan().to_arrow(), lambda: t.schema, lambda: pa.table(t.scan())):
        with pytest.raises(e.UnsupportedFeature, match="NUL"):
            use()
    assert t.scan(columns=["id"]).to_arrow().to_pylist() == [{"id": 1}]
    t.alter().rename_column("na\0me", "name").commit()
    assert st.open_table(t.location).scan().to_arrow().column_names == ["id", "name"]
