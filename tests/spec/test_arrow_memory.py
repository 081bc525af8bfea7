"""Arrow data at odd addresses, and arrays whose own numbers contradict each other: read, or refused; never a crash."""

import ctypes
import decimal
import struct

import numpy as np
import pyarrow as pa
import pytest
from siltstone import errors as e

SCHEMA = {
    "id": "BIGINT", "s": "STRING", "b": "BYTES", "l": "ARRAY<STRING>", "m": "MAP<STRING, INT>", "r": "ROW<a STRING>",
    "d": "DECIMAL(20, 2)", "ts": "TIMESTAMP(6)",
}  # fmt: skip
ROW = {
    "id": 1, "s": "ab", "b": b"x", "l": ["a", "bc"], "m": [("k", 1)], "r": {"a": "z"}, "d": decimal.Decimal("1.25"),
    "ts": None,
}  # fmt: skip


@pytest.fixture
def table(make):
    return make(SCHEMA, ["id"], bucket=1)


def at_odd_address(data):
    """The data as an IPC stream inside of a larger message gives it."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, data.schema) as stream:
        stream.write_table(data)
    return pa.ipc.open_stream(pa.py_buffer(b"X" + sink.getvalue().to_pybytes())[1:])


TYPES = {
    "s": [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.string_view()],
    "b": [pa.binary(), pa.large_binary()],
    "l": [pa.list_(pa.string()), pa.large_list(pa.large_string())],
    "m": [pa.map_(pa.string(), pa.int32())],
    "r": [pa.struct([("a", pa.large_string())])],
    "d": [pa.decimal128(20, 2)],
    "id": [pa.int64()],
}


@pytest.mark.parametrize(("column", "kind"), [(c, k) for c, kinds in TYPES.items() for k in kinds], ids=str)
@pytest.mark.parametrize("form", ["table", "reader", "batch"])
def test_buffers_at_odd_addresses_are_read(table, column, kind, form):
    """Reading their offsets once aborted the process, in builds that check the alignment."""
    rows = [ROW | {"id": n} for n in range(3)]
    columns = {"id": pa.array([r["id"] for r in rows]), column: pa.array([r[column] for r in rows], kind)}
    reader = at_odd_address(pa.table(columns))
    data = reader if form == "reader" else reader.read_all()
    if form != "reader":
        buffers = [b for c in data.columns for chunk in c.chunks for b in chunk.buffers() if b is not None and b.size]
        assert any(b.address % 2 for b in buffers)
    table.append(data.to_batches()[0] if form == "batch" else data)
    found = table.scan().to_arrow().sort_by("id").to_pylist()
    assert [(r["id"], r[column]) for r in found] == [(r["id"], r[column]) for r in rows]


def test_slices_at_odd_addresses_are_read(table):
    offsets = np.arange(1001, dtype=np.int32).tobytes()
    text = pa.Array.from_buffers(
        pa.string(), 1000, [None, pa.py_buffer(b"\0" + offsets)[1:], pa.py_buffer(b"x" * 1000)]
    )  # fmt: skip
    table.append(pa.table({"id": range(1000), "s": text}).slice(3, 990))
    assert table.scan(filter="s = 'x'").count() == 990


class CArray(ctypes.Structure):
    _fields_ = (("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                ("rest", ctypes.c_char * 64))  # fmt: skip


class CSchema(ctypes.Structure):
    _fields_ = (("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("rest", ctypes.c_char * 128))


capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Export:
    """An array in the structures of the C data interface, whose numbers a test changes."""

    def __init__(self, array):
        self.array, self.schema, self.kept = CArray(), CSchema(), array
        array._export_to_c(ctypes.addressof(self.array), ctypes.addressof(self.schema))

    def __arrow_c_array__(self, requested_schema=None):
        return (
            capsule(ctypes.addressof(self.schema), b"arrow_schema", None),
            capsule(ctypes.addressof(self.array), b"arrow_array", None),
        )


@pytest.mark.parametrize(("member", "value"), [("length", 5), ("length", 2**62), ("length", -1), ("offset", -1)])
def test_a_struct_that_is_not_as_long_as_its_columns_is_refused(table, member, value):
    """Five rows of columns with four values once were read behind their end."""
    data = Export(pa.record_batch({"id": [1, 2, 3, 4], "s": ["a", "b", "c", "d"]}))
    setattr(data.array, member, value)
    with pytest.raises(e.InvalidArgument):
        table.append(data)
    assert table.snapshot() is None


@pytest.mark.parametrize("inside", [False, True])
def test_a_name_that_is_not_utf_8_is_refused(table, inside):
    """It once was a UnicodeDecodeError, from whatever looked at the names first."""
    values = pa.array(["a"])
    batch = pa.record_batch({"id": [1], "xname": pa.StructArray.from_arrays([values], ["xname"]) if inside else values})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    message = sink.getvalue().to_pybytes().replace(b"xname", b"\xff\xfeame")
    with pytest.raises(e.InvalidArgument, match="not UTF-8"):
        table.append(pa.ipc.open_stream(message))
    with pytest.raises(e.InvalidArgument, match="not UTF-8"):
        table.append(pa.ipc.open_stream(message).read_all())
    assert table.snapshot() is None


def view(index, offset, length, prefix=b"xxxx"):
    """A text that lies, and one that does not; pyarrow looks at what it makes, so it is spoiled afterwards."""
    views = bytearray(32)
    buffers = [None, pa.py_buffer(views), pa.py_buffer(b"x" * 20)]
    array = pa.Array.from_buffers(pa.string_view(), 2, buffers)
    views[:] = struct.pack("<i4sii", length, prefix, index, offset) + struct.pack("<i12s", 1, b"y")
    return array, views


@pytest.mark.parametrize(
    "at",
    [(0, 19, 20), (7, 0, 20), (0, -5, 20), (0, 0, -3), (0, 0, 2_000_000_000), (0, 0, 20, b"ZZZZ")],
    ids=["behind the buffer", "no such buffer", "before the buffer", "a negative length", "too long", "other text"],
)
@pytest.mark.parametrize("form", ["table", "reader", "nested"])
def test_views_that_lead_elsewhere_are_refused(table, at, form):
    """pyarrow's cast followed them before anybody looked: memory of the process was stored, or it ended."""
    texts, _kept = view(*at)
    column = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), texts) if form == "nested" else texts
    data = pa.table({"id": [1, 2], "l" if form == "nested" else "s": column})
    with pytest.raises(e.InvalidArgument, match="is not valid Arrow data"):
        table.append(data.to_reader() if form == "reader" else data)
    assert table.scan().count() == 0


def odd(values):
    memory = bytearray(b"?" + np.array(values, np.int32).tobytes())
    return memory, pa.py_buffer(memoryview(memory)[1:])


@pytest.mark.parametrize("nested", [False, True], ids=["", "nested"])
def test_a_dictionary_at_an_odd_address_is_read(table, nested):
    """Its buffers are not among those of the array: reading its offsets aborted the process."""
    _memory, offsets = odd([0, 2, 4])
    texts = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"abcd")])
    column = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int32()), texts)
    if nested:
        column = pa.StructArray.from_arrays([column], ["a"])
    table.append(pa.table({"id": [1, 2], "r" if nested else "s": column}))
    found = table.scan().to_arrow().sort_by("id").to_pylist()
    assert [row["r"]["a"] if nested else row["s"] for row in found] == ["cd", "ab"]


def test_offsets_at_an_odd_address_are_looked_at_before_they_are_copied(table):
    memory, offsets = odd([0, 3, 6])
    texts = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"abcdef")])
    data = pa.table({"id": [1, 2], "s": texts})
    memory[1:] = np.array([0, 3, 2_000_000_000], np.int32).tobytes()
    with pytest.raises(e.InvalidArgument, match="column 's' of the input is not valid Arrow data"):
        table.append(data)
