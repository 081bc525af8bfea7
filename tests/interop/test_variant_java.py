"""Columns of the type VARIANT in both directions: Java's bytes for the same JSON, shredded files, rewriting without loss."""

import json

import pyarrow as pa
import pytest
import rows
import siltstone as st

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]

TEXTS = [
    None,
    "null",
    "true",
    "-129",
    "9223372036854775807",
    "9223372036854775808",
    "0.10",
    "-123456789012345678901234567890.12345678",
    "1e300",
    "1.5E-3",
    '"short"',
    json.dumps('ä\U0001f600\n"\\' * 20, ensure_ascii=False),
    "[]",
    "{}",
    json.dumps({"b": 1, "a": {"b": [None, 2.5, {"ä": "x"}]}, "\U0001f600": [], "\uffee": 0}, ensure_ascii=False),
    json.dumps(list(range(300))),
    json.dumps({f"field {i}": i * 1000 for i in range(300)}),
]


def binaries(t):
    """Each value's two binaries, by key."""
    rows = st.open_table(t.location, options={"siltstone.variant": "binary"}).scan(["k", "v"]).to_arrow().to_pylist()
    return {row["k"]: row["v"] for row in rows}


def by_java(oracle, t, texts):
    lines = [["+I", k, text] for k, text in enumerate(texts)]
    oracle.call("apply", t.location, json.dumps({"op": "write", "rows": lines}))


def test_values_have_javas_bytes_and_java_reads_them(make, oracle):
    ours, theirs = (make({"k": "INT", "v": "VARIANT"}) for _ in range(2))
    ours.append([{"k": k, "v": text} for k, text in enumerate(TEXTS)])
    by_java(oracle, theirs, TEXTS)
    assert binaries(ours) == binaries(theirs)
    found = rows.same(oracle, ours)
    assert rows.ours(found) == rows.ours(rows.same(oracle, theirs))


def test_the_two_binaries_are_taken_and_given(make, oracle):
    source, copy = (make({"k": "INT", "v": "VARIANT"}) for _ in "sc")
    by_java(oracle, source, TEXTS)
    stored = st.open_table(source.location, options={"siltstone.variant": "binary"}).scan().to_arrow()
    assert stored.schema.field("v").type == pa.struct(
        [pa.field("value", pa.binary(), nullable=False), pa.field("metadata", pa.binary(), nullable=False)]
    )
    copy.append(stored)
    assert binaries(copy) == binaries(source)
    damaged = pa.table({"k": [1], "v": pa.array([{"value": b"\x02\x01", "metadata": b"\x01\x00\x00"}])})
    with pytest.raises(st.errors.SchemaMismatch, match="row 0"):
        copy.append(damaged)


@pytest.mark.parametrize("option", ["variant.shreddingSchema", "variant.inferShreddingSchema"])
def test_shredded_files_are_read(make, oracle, option):
    """Fields of objects in columns of their own; values that are something else, and other fields, beside them."""
    fields = [
        {"id": 0, "name": "a", "type": "BIGINT"},
        {"id": 1, "name": "b", "type": {"type": "ARRAY", "element": "STRING"}},
        {"id": 2, "name": "c", "type": {"type": "ROW", "fields": [{"id": 3, "name": "d", "type": "DOUBLE"}]}},
    ]
    column = {"id": 0, "name": "v", "type": {"type": "ROW", "fields": fields}}
    value = (
        json.dumps({"type": "ROW", "fields": [column]})
        if option.endswith("gSchema") and "infer" not in option
        else "true"
    )
    t = make({"k": "INT", "v": "VARIANT"}, **{option.replace(".", "__"): value})
    texts = (
        TEXTS[:10]
        + [
            '{"a": 1, "b": ["x", null, "y"], "c": {"d": 0.5, "e": [true]}, "f": {"g": 1}}',
            '{"a": "no number", "b": 5, "c": {"d": null}}',
            '{"b": [], "z": 1}',
            '{"a": 7, "c": {}}',
        ]
        * 3
    )
    by_java(oracle, t, texts)
    found = t.scan().to_arrow()
    assert rows.difference(oracle.call("read", t.location), found) is None
    assert found.num_rows == len(texts)
    t.compact(full=True)
    rows.same(oracle, t)


def test_what_is_written_again_is_the_same_value(make, oracle):
    """Compactions, updates and merges carry the binaries: a value is not taken through its text."""
    t = make(
        {"k": "INT", "n": "INT", "v": "VARIANT", "r": "ROW<l ARRAY<VARIANT>>"},
        ["k"],
        bucket=1,
        merge_engine="partial-update",
    )
    t.upsert([{"k": k, "n": 0, "v": text, "r": {"l": [text, None]}} for k, text in enumerate(TEXTS)])
    before = binaries(t)
    t.upsert([{"k": k, "n": k} for k in range(len(TEXTS))])
    t.compact(full=True)
    assert binaries(t) == before
    rows.same(oracle, t)
    append = make({"k": "INT", "n": "INT", "v": "VARIANT"})
    append.append([{"k": k, "n": 0, "v": text} for k, text in enumerate(TEXTS)])
    append.update({"n": "n + 1"}, where="k > 3")
    assert binaries(append) == before
    append.update({"v": "'{\"a\": [1]}'"}, where="k = 0 or v is not null and k = 2")
    found = rows.same(oracle, append).to_pylist()
    assert {row["k"]: row["v"] for row in found if row["k"] in (0, 2)} == {0: '{"a":[1]}', 2: '{"a":[1]}'}
