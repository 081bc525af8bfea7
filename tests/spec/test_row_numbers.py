"""A row that an error names is counted from the first row that the call was given, wherever its batches end."""

import numpy as np
import pyarrow as pa
import pytest
from siltstone import errors as e


def in_two(first, second):
    """One input of two batches of two rows each."""
    schema = first.schema
    return pa.Table.from_batches([first, second.cast(schema)])


def batch(ids, **more):
    columns = {"id": pa.array(ids, pa.int32()), **more}
    return pa.record_batch(list(columns.values()), names=list(columns))


GOOD = batch([1, 2])
KINDS = {"text": ["+I", "+I"], "bad": ["+I", "?"], "deletes": ["+I", "-D"]}


def with_text(ids, values):
    return batch(ids, s=pa.array(values, pa.string()))


def half():
    """A text that is not UTF-8 in the last row."""
    buffers = [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"a\xff")]
    return pa.Array.from_buffers(pa.string(), 2, buffers)


def lists(values):
    offsets = pa.py_buffer(np.array([0, 0, 2], np.int32))
    return pa.Array.from_buffers(pa.list_(pa.string()), 2, [None, offsets], children=[values])


def append(t, data):
    t.append(data)


def stream(t, data):
    t.append(data.to_reader())


def overwrite(t, data):
    t.overwrite(data, dynamic=False)


def write_twice(t, data):
    """The rows of an earlier call do not count."""
    with t.writer() as w:
        w.write([{"id": 0}])
        w.write(data)


@pytest.mark.parametrize("call", [append, stream, overwrite, write_twice])
def test_values_and_texts_count_over_batches(make, call):
    t = make({"id": "INT NOT NULL", "s": "STRING", "l": "ARRAY<STRING>", "n": "TINYINT"}, ["id"], bucket=1)
    with pytest.raises(e.NullInKey, match="row 3 has null"):
        call(t, in_two(GOOD, batch([3, None])))
    wide = batch([1, 2], n=pa.array([1, 2], pa.int64()))
    with pytest.raises(e.SchemaMismatch, match="of row 3 does not fit"):
        call(t, in_two(wide, batch([3, 4], n=pa.array([1, 1000], pa.int64()))))
    with pytest.raises(e.InvalidArgument, match="text of row 3 is not UTF-8"):
        call(t, in_two(with_text([1, 2], ["a", "b"]), batch([3, 4], s=half())))
    plain = batch([1, 2], l=lists(pa.array(["a", "b"])))
    with pytest.raises(e.InvalidArgument, match="text of row 3 is not UTF-8"):
        call(t, in_two(plain, batch([3, 4], l=lists(half()))))


@pytest.mark.parametrize("call", [append, stream, overwrite])
def test_row_kinds_of_a_column_count_over_batches(make, call):
    t = make({"id": "INT", "s": "STRING"}, ["id"], bucket=1, rowkind__field="s")
    with pytest.raises(e.InvalidRowKind) as caught:
        call(t, in_two(with_text([1, 2], KINDS["text"]), with_text([3, 4], KINDS["bad"])))
    assert caught.value.context["row"] == "3"
    assert caught.value.context["key"] == "id=4"


def test_refused_kinds_count_over_batches_and_with_the_rows_that_are_ignored(make):
    t = make({"id": "INT"}, bucket=-1)
    with pytest.raises(e.DeleteNotAllowed, match="row 3 is -D"):
        t.append(in_two(GOOD, batch([3, 4])), row_kind=["+I", "+I", "+I", "-D"])
    t = make({"id": "INT"}, ["id"], bucket=1, merge_engine="first-row", ignore_update_before="true")
    with pytest.raises(e.DeleteNotAllowed, match="row 3 is -D"):
        t.append(in_two(GOOD, batch([3, 4])), row_kind=["+I", "+I", "-U", "-D"])


def test_sketches_count_over_batches(make):
    t = make(
        {"id": "INT", "b": "BYTES"}, ["id"], bucket=1, merge_engine="aggregation", fields__b__aggregate_function="rbm32"
    )
    empty = pa.array([None, None], pa.binary())
    with pytest.raises(e.InvalidArgument, match="row 3: the bytes in 'b'"):
        t.append(in_two(batch([1, 2], b=empty), batch([3, 4], b=pa.array([None, b"no bitmap"], pa.binary()))))


def test_keys_to_delete_count_over_batches(make):
    t = make({"id": "INT"}, ["id"], bucket=1)
    t.append(GOOD)
    with pytest.raises(e.NullInKey, match="row 3 has null"):
        t.delete(keys=in_two(GOOD, batch([3, None])))
