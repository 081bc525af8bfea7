"""Arrow data that another library broke: refused by column, whatever is wrong with it, and the process goes on."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from siltstone import errors as e

SPOIL = []


def later(values, kind=np.int32):
    """A buffer that gets these values when all is made, because pyarrow looks at what it makes."""
    memory = np.zeros(len(values), kind)
    SPOIL.append(lambda: np.copyto(memory, np.array(values, kind)))
    return pa.py_buffer(memory)


def spoil():
    while SPOIL:
        SPOIL.pop()()


def text(offsets, data, kind=None, validity=None):
    width = np.int64 if kind == pa.large_string() else np.int32
    buffers = [validity and pa.py_buffer(validity), later(offsets, width), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind or pa.string(), len(offsets) - 1, buffers)


def listed(offsets):
    return pa.Array.from_buffers(pa.list_(pa.int64()), 2, [None, later(offsets)], children=[pa.array([1, 2, 3])])


def dictionary(index):
    return pa.DictionaryArray.from_arrays(pa.array([0, index], pa.int32()), pa.array(["a"]), safe=False)


def miscounted():
    buffers = [pa.py_buffer(b"\x01"), pa.py_buffer(np.arange(2).tobytes())]
    return pa.Array.from_buffers(pa.int64(), 2, buffers, null_count=2)


def words():
    return text([0, 3, 6], b"\xff\xfe\xfdabc")


BROKEN = {
    "invalid UTF-8": ("s", words),
    "half a character": ("s", lambda: text([0, 1, 2], "é".encode())),
    "invalid UTF-8 in a large string": ("s", lambda: text([0, 3, 6], b"\xff\xfe\xfdabc", pa.large_string())),
    "offsets that go back": ("s", lambda: text([0, 5, 3], b"abcdef")),
    "offsets beyond the data": ("s", lambda: text([0, 3, 2_000_000_000], b"abcdef")),
    "negative offsets": ("s", lambda: text([-4, 0, 3], b"abcdef")),
    "a negative last offset": ("s", lambda: text([0, 3, -1], b"abcdef")),
    "list offsets that go back": ("l", lambda: listed([0, 3, 1])),
    "list offsets beyond the values": ("l", lambda: listed([0, 1, 9])),
    "indices outside of a dictionary": ("s", lambda: dictionary(7)),
    "negative indices of a dictionary": ("s", lambda: dictionary(-7)),
    "a wrong count of nulls": ("id", miscounted),
    "invalid UTF-8 in a list": ("m", lambda: pa.ListArray.from_arrays([0, 1, 2], words())),
    "invalid UTF-8 in a dictionary": (
        "s",
        lambda: pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int32()), words()),
    ),
}


class Hidden:
    """An object with an Arrow stream and nothing else, so that only what crosses the interface can be checked."""

    def __init__(self, data):
        self.data = data

    def __arrow_c_stream__(self, requested_schema=None):
        return self.data.__arrow_c_stream__(requested_schema)


@pytest.fixture
def t(make):
    t = make({"id": "BIGINT", "s": "STRING", "l": "ARRAY<BIGINT>", "m": "ARRAY<STRING>"}, ["id"], bucket=1)
    t.upsert([{"id": 1, "s": "good"}])
    return t


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("through", ["table", "reader", "stream"])
def test_broken_arrow_data_is_refused_and_changes_nothing(t, name, through):
    column, make_broken = BROKEN[name]
    if through == "stream" and name == "offsets beyond the data":
        pytest.skip("lengths of buffers do not cross the C data interface")
    broken = make_broken()
    data = pa.table({"id": broken} if column == "id" else {"id": pa.array(range(len(broken))), column: broken})
    spoil()
    data = {"table": lambda d: d, "reader": pa.Table.to_reader, "stream": Hidden}[through](data)
    with pytest.raises(e.InvalidArgument):
        t.upsert(data)
    assert t.scan(["id", "s"]).to_arrow().to_pylist() == [{"id": 1, "s": "good"}]
    t.compact(full=True)
    assert t.maintenance.fsck(deep=True).ok


def test_the_error_names_the_column_and_what_is_wrong(t):
    data = Hidden(pa.table({"id": [1, 2], "s": words()}))
    spoil()
    with pytest.raises(e.InvalidArgument, match="column 's' of the input .*: the text of row 0 is not UTF-8") as raised:
        t.upsert(data)
    assert raised.value.context["column"] == "s"


def test_bytes_behind_nulls_and_beside_slices_do_not_count(t):
    hidden = text([0, 3, 6], b"\xff\xfe\xfdabc", validity=b"\x02")
    beside = words().slice(1, 1)
    spoil()
    t.upsert(pa.table({"id": [2, 3], "s": hidden}))
    t.upsert(pa.table({"id": [4], "s": beside}))
    assert sorted(r["s"] or "" for r in t.scan(["s"]).to_arrow().to_pylist()) == ["", "abc", "abc", "good"]


@pytest.mark.parametrize(
    "data", [7, object(), "x", b"x", [1], [[1]], {"id": 1}, None, float("nan")], ids=lambda data: type(data).__name__
)
def test_what_holds_no_rows_is_a_wrong_argument(t, data):
    with pytest.raises(e.InvalidArgument):
        t.upsert(data)


def test_capsules_of_another_kind_and_used_ones_are_wrong_arguments(t):
    class Fake:
        def __init__(self, capsule):
            self.capsule = capsule

        def __arrow_c_stream__(self, requested_schema=None):
            return self.capsule

    used = pa.table({"id": [5]}).__arrow_c_stream__()
    t.upsert(Fake(used))
    for capsule in (pa.array([1]).__arrow_c_array__()[1], 7, used):
        with pytest.raises(e.InvalidArgument):
            t.upsert(Fake(capsule))


@pytest.mark.parametrize("around", ["row", "fixed", "list", "map"])
def test_slices_of_rows_in_rows_are_their_own_rows(make, around):
    """arrow-rs applied the offset of the outer rows twice: a panic, told as broken data."""
    inner = pa.struct([("r", pa.struct([("a", pa.int32()), ("s", pa.string())]))])
    rows = [{"r": {"a": i, "s": f"s{i}"}} if i % 3 else {"r": None} for i in range(10)]
    types = {"row": "ROW<r ROW<a INT, s STRING>>", "list": "ARRAY<ROW<r ROW<a INT, s STRING>>>"}
    types["map"] = "MAP<INT, ROW<r ROW<a INT, s STRING>>>"
    types["fixed"] = "ROW<r ARRAY<ROW<a INT, s STRING>>>"
    if around == "row":
        values = pa.array(rows, inner)
    elif around == "fixed":
        pairs = pa.struct([("r", pa.list_(pa.struct([("a", pa.int32()), ("s", pa.string())]), 2))])
        values = pa.array([{"r": row["r"] and [row["r"], None]} for row in rows], pairs)
    elif around == "list":
        parts = pa.array(rows, inner)[2:8]
        values = pa.ListArray.from_arrays(pa.array([0, 2, 2, 5, 6], pa.int32()), parts)
    else:
        parts = pa.array(rows, inner)[2:8]
        values = pa.MapArray.from_arrays(pa.array([0, 2, 2, 5, 6], pa.int32()), pa.array(range(6), pa.int32()), parts)
    whole = pa.table({"v": values})
    t = make({"v": types[around]}, bucket=-1)
    expected = []
    for start in range(len(whole)):
        part = whole.slice(start, 3)
        expected += part.to_pylist()
        t.append(part)
    assert sorted(map(repr, t.scan().to_arrow().to_pylist())) == sorted(map(repr, expected))


def test_fields_that_are_longer_than_their_struct_are_sliced_once(make):
    """A slice in a struct of fewer rows, also in list views and dictionaries: told as broken data, or other rows."""
    inner = pa.StructArray.from_arrays([pa.array(range(10), pa.int32())], ["a"]).slice(3)
    fields = pa.struct([("r", inner.type)])
    rows = pa.Array.from_buffers(fields, 4, [None], children=[inner])
    views = pa.ListViewArray.from_arrays(pa.array([2, 0], pa.int32()), pa.array([2, 1], pa.int32()), rows)
    fixed = pa.Array.from_buffers(pa.list_(inner.type, 2), 2, [None], children=[inner])
    row = "ROW<r ROW<a INT>>"
    t = make({"r": row, "l": f"ARRAY<{row}>", "f": "ARRAY<ROW<a INT>>"}, bucket=-1)
    t.append(pa.table({"r": rows.slice(1, 2), "l": views, "f": fixed}))
    read = t.scan().to_arrow().to_pylist()
    assert [line["r"] for line in read] == [{"r": {"a": 4}}, {"r": {"a": 5}}]
    assert [line["l"] for line in read] == [[{"r": {"a": 5}}, {"r": {"a": 6}}], [{"r": {"a": 3}}]]
    assert [line["f"] for line in read] == [[{"a": 3}, {"a": 4}], [{"a": 5}, {"a": 6}]]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_lists_without_elements_may_have_a_slice_of_texts(make, kind):
    """Of no rows at an offset: "its offsets go back or lead out of the values"."""
    texts = pa.array(["aaaa", "b", "c"]).cast(kind).slice(2, 0)
    lists = pa.ListArray.from_arrays(pa.array([0, 0, 0], pa.int32()), texts)
    t = make({"l": "ARRAY<BYTES>" if "binary" in str(kind) else "ARRAY<STRING>"}, bucket=-1)
    t.append(pa.table({"l": lists}))
    assert t.scan().to_arrow().to_pylist() == [{"l": []}, {"l": []}]


@pytest.mark.parametrize("inner", ["list", "map"])
@pytest.mark.parametrize("outer", ["list", "map"])
def test_lists_without_elements_may_have_a_slice_of_lists(make, outer, inner):
    """Valid maps without entries were refused: the lists in them, of which there were none, began behind the first value."""
    at = pa.array([2], pa.int32())
    none = {
        "list": pa.ListArray.from_arrays(at, pa.array([1, 2, 3])),
        "map": pa.MapArray.from_arrays(at, pa.array(["a", "b", "c"]), pa.array([1, 2, 3])),
    }[inner]
    twice = pa.array([0, 0, 0], pa.int32())
    lists = {
        "list": lambda: pa.ListArray.from_arrays(twice, none),
        "map": lambda: pa.MapArray.from_arrays(twice, pa.array([], pa.string()), none),
    }[outer]()
    lists.validate(full=True)
    kind = {"list": "ARRAY<BIGINT>", "map": "MAP<STRING, BIGINT>"}[inner]
    t = make({"l": f"ARRAY<{kind}>" if outer == "list" else f"MAP<STRING, {kind}>"}, bucket=-1)
    t.append(pa.table({"l": lists}))
    assert t.scan().to_arrow().to_pylist() == [{"l": []}, {"l": []}]


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize("sliced", [0, 1])
def test_lists_without_maps_may_have_maps_of_sliced_rows(make, sliced, runs):
    """The copy that its slice of rows needs left maps of no rows behind the first one: an internal error. A copy of lists refused runs."""
    values = pa.array([1] * 10, pa.int32())
    rows = pa.StructArray.from_arrays([pc.run_end_encode(values) if runs else values], ["a"]).slice(sliced)
    keys = pa.array([str(at) for at in range(len(rows))])
    maps = pa.MapArray.from_arrays(pa.array([2, 3, 4, 5], pa.int32()), keys, rows)
    lists = pa.ListArray.from_arrays(pa.array([2, 4, 7], pa.int32()), rows)
    t = make({"m": "ARRAY<MAP<STRING, ROW<a INT>>>", "l": "ARRAY<ARRAY<ROW<a INT>>>"})
    for at in (0, 2):
        none = pa.array([at, at], pa.int32())
        t.append(pa.table({"m": pa.ListArray.from_arrays(none, maps), "l": pa.ListArray.from_arrays(none, lists)}))
    assert t.to_pylist() == [{"m": [], "l": []}] * 2
    t = make({"l": "ARRAY<ROW<a INT>>"})
    t.append(pa.table({"l": lists.slice(2, 0)}))
    t.append(pa.table({"l": lists.slice(1, 1)}))
    assert t.to_pylist() == [{"l": [{"a": 1}] * 3}]


@pytest.mark.parametrize("depth", ["row", "list"])
def test_a_field_that_a_struct_has_twice_is_refused(make, depth):
    """As a column is that occurs twice: the values of the second one were dropped."""
    struct = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    values = struct if depth == "row" else pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), struct)
    row = "ROW<a INT, b INT>"
    t = make({"v": row if depth == "row" else f"ARRAY<{row}>"}, bucket=-1)
    with pytest.raises(e.SchemaMismatch, match="field 'a' of column '.*' is in the input twice"):
        t.append(pa.table({"v": values}))


def test_values_below_a_null_row_are_no_values(make):
    """Any mask of a struct leaves them there: the write failed with "the value toolong of row 0 does not fit"."""
    values = [pa.array(["toolong", "ok"]), pa.array([1000, 1]), pa.array([None, 7000], pa.timestamp("ns"))]
    rows = pa.StructArray.from_arrays(values, ["s", "n", "t"], mask=pa.array([True, False]))
    row = "ROW<s VARCHAR(2) NOT NULL, n TINYINT, t TIMESTAMP(9) NOT NULL>"
    t = make({"k": "INT", "r": row, "l": f"ARRAY<{row}>", "m": f"MAP<INT, {row}>"}, ["k"], bucket=1)
    ones, keys = pa.array([0, 1, 2], pa.int32()), pa.array([1, 2], pa.int32())
    lists, maps = pa.ListArray.from_arrays(ones, rows), pa.MapArray.from_arrays(ones, keys, rows)
    batch = pa.table({"k": keys, "r": rows, "l": lists, "m": maps})

    def stored():
        table = t.scan().to_arrow().sort_by("k").combine_chunks()
        list_rows, map_rows = (table.column(name).chunk(0) for name in "lm")
        return [table.column("r").chunk(0), list_rows.flatten(), map_rows.items]

    t.append(batch)
    t.append(batch)
    for found in (stored(), t.maintenance.compact(full=True) and stored()):
        for read in found:
            assert read.is_null().to_pylist() == [True, False]
            last = [read.field(at)[1] for at in range(3)]
            assert [last[0].as_py(), last[1].as_py(), last[2].value] == ["ok", 1, 7000]


@pytest.mark.parametrize("view", [pa.string_view(), pa.binary_view()])
@pytest.mark.parametrize("through", ["table", "batch", "reader"])
def test_slices_of_runs_beside_views_are_their_own_rows(make, view, through):
    """pyarrow forgets the offset of runs that it casts to the type that they have: the values of other rows were stored."""
    runs = pc.run_end_encode(pa.array([1, 2, 2, None, 5, 6])).slice(2)
    views = pa.array(["a", "b", "c", "d"]).cast(view)
    given = pa.record_batch({"v": views, "r": runs})
    expected = [(text, number) for text, number in zip(views.to_pylist(), [2, None, 5, 6], strict=True)]
    t = make({"v": "STRING" if view == pa.string_view() else "BYTES", "r": "BIGINT"}, bucket=-1)
    if through == "table":
        given = pa.Table.from_batches([given])
    if through == "reader":
        given = pa.RecordBatchReader.from_batches(given.schema, [given])
    t.append(given)
    assert [(row["v"], row["r"]) for row in t.scan().to_arrow().to_pylist()] == expected


@pytest.mark.parametrize("cuts", [(1, 1, 3), (0, 3), (3, 3), (1, 2, 2, 2, 3)])
def test_chunks_without_rows_are_no_broken_data(cat, cuts):
    """A column in one chunk beside one with an empty chunk in the middle comes in slices of no rows, and was refused as broken."""
    t = cat.create_table("db.t", {"id": "INT", "s": "STRING", "l": "ARRAY<STRING>"})
    ids, texts = pa.array([1, 2, 3], pa.int32()), pa.array(["a" * 20, "b" * 20, "c" * 21])
    lists = pa.array([["x"], ["y", "z"], []])
    parts = [ids.slice(first, last - first) for first, last in zip((0, *cuts), cuts, strict=False)]
    rows = pa.table({"id": pa.chunked_array(parts, ids.type), "s": texts, "l": lists})
    rows.validate(full=True)
    t.append(rows)
    assert t.to_pylist() == rows.to_pylist()


@pytest.mark.parametrize("depth", [65, 3000])
@pytest.mark.parametrize("outer", ["struct", "list"])
def test_types_that_are_too_deep_are_refused_before_they_are_imported(cat, outer, depth):
    """Some thousand types in one another ended the process, hundreds took minutes."""
    values = pa.array([1], pa.int32())
    for _ in range(depth):
        is_list = outer == "list"
        values = pa.ListArray.from_arrays([0, 1], values) if is_list else pa.StructArray.from_arrays([values], ["a"])
    data = pa.table({"id": values})
    with pytest.raises(e.UnsupportedType, match="in one another, at most 31"):
        cat.create_table("db.deep", data.schema)
    t = cat.create_table("db.flat", {"id": "INT"}, primary_key="id")
    ways = {
        "table": lambda: t.upsert(data),
        "batch": lambda: t.upsert(data.to_batches()[0]),
        "stream": lambda: t.upsert(data.to_reader()),
        "get": lambda: t.get(data),
        "merge": lambda: t.merge(data, on="id").when_not_matched_insert_all().execute(),
    }
    for name, call in ways.items():
        with pytest.raises(e.UnsupportedType, match="in one another, at most 31"):
            call()
        assert t.snapshot() is None, name
