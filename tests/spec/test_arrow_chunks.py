"""Tables of pyarrow are taken whatever chunks their columns have.

pyarrow slices the chunks of a column where those of another one end: rows in rows were refused as broken then, and chunks without rows ended
in a panic.
"""

import pyarrow as pa
import pytest

ROWS = pa.struct([("a", pa.struct([("b", pa.int32()), ("c", pa.string())]))])
ROW = {"a": {"b": 1, "c": "x"}}
NESTED = {
    "a row in a row": (ROWS, ROW),
    "pairs of rows": (pa.list_(pa.struct([("b", pa.int32())]), 2), [{"b": 1}, {"b": 2}]),
    "a list of rows": (pa.list_(ROWS), [ROW, None]),
    "a map": (pa.map_(pa.string(), ROWS), [("k", ROW)]),
}
FLAT = {
    "string": (pa.string(), "some text"),
    "large string": (pa.large_string(), "some text"),
    "binary": (pa.binary(), b"some bytes"),
    "large binary": (pa.large_binary(), b"some bytes"),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), "some text"),
    "list": (pa.list_(pa.string()), ["a", "b"]),
}
TABLES = {
    "append": {},
    "fixed": {"primary_key": "id", "options": {"bucket": "2"}},
    "dynamic": {"primary_key": "id", "options": {"bucket": "-1"}},
}


def chunked(kind, value, lengths):
    """One column in one chunk, one in chunks of these lengths."""
    count = sum(lengths)
    ids = [pa.array(range(sum(lengths[:at]), sum(lengths[: at + 1])), pa.int32()) for at in range(len(lengths))]
    values = pa.array([value if at % 3 else None for at in range(count)], kind)
    return pa.table({"id": pa.chunked_array(ids, pa.int32()), "c": pa.chunked_array([values])})


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", [*NESTED, *FLAT])
@pytest.mark.parametrize("lengths", [(2, 3), (1, 0, 2), (0, 4), (3, 0)], ids=str)
def test_columns_with_other_chunks_than_their_neighbours_are_taken(cat, table, name, lengths):
    kind, value = (NESTED | FLAT)[name]
    given = chunked(kind, value, lengths)
    given.validate(full=True)
    flat = given.schema.field("c").type
    schema = (
        given.schema
        if not pa.types.is_dictionary(flat)
        else given.cast(pa.schema([("id", pa.int32()), ("c", pa.string())])).schema
    )
    t = cat.create_table("db.t", schema, **TABLES[table])
    t.append(given)
    with t.writer() as w:
        w.write(given.slice(1))
        w.commit()
    found = sorted(t.to_pylist(), key=lambda row: row["id"])
    expected = given.to_pylist() + (given.slice(1).to_pylist() if table == "append" else [])
    assert found == sorted(expected, key=lambda row: row["id"])
