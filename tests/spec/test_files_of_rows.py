"""Files as input: each of several is read by itself, and every value is stored as it is or refused."""

import datetime as dt
import json
import math
import os
import subprocess
import sys
from decimal import Decimal

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from siltstone import errors as e

WRITERS = {"parquet": pq.write_table, "orc": orc.write_table, "arrow": feather.write_feather}


def rows(t):
    return t.scan().to_arrow().to_pylist()


def two(folder, first, second, kind="parquet"):
    for name, values in (("x", first), ("y", second)):
        WRITERS[kind](pa.table(values), f"{folder}/{name}.{kind}")
    return f"{folder}/*.{kind}"


@pytest.mark.parametrize("kind", WRITERS)
def test_each_of_several_files_has_its_own_columns(make, tmp_path, kind):
    """The columns of the first file once were those of all: a column of the second one was dropped."""
    t = make({"a": "INT", "b": "INT"})
    one, other = pa.array([1], pa.int32()), pa.array([2], pa.int32())
    names = two(tmp_path, {"a": one}, {"a": other, "b": other}, kind)
    assert t.append(names).rows == 2
    assert rows(t) == [{"a": 1, "b": None}, {"a": 2, "b": 2}]
    assert len(t.history()) == 1, "one write"
    with pytest.raises(e.SchemaMismatch, match="'zz'") as caught:
        t.append(two(tmp_path, {"a": one}, {"a": other, "zz": other}, kind))
    assert "y." in caught.value.context["file"]
    assert len(t.history()) == 1, "all of the files, or none"


@pytest.mark.parametrize(
    ("column", "first", "second"),
    [
        ("INT", pa.array([1], pa.int32()), pa.array(["12"])),
        ("STRING", pa.array(["x"]), pa.array([5])),
        ("BOOLEAN", pa.array([True]), pa.array([7])),
        ("DECIMAL(10, 2)", pa.array([Decimal("1.25")]), pa.array([1.259])),
        ("DATE", pa.array([0], pa.date32()), pa.array([3600_000], pa.timestamp("ms"))),
        ("TIMESTAMP(6)", pa.array([0], pa.timestamp("us")), pa.array([0], pa.timestamp("us", "Europe/Berlin"))),
    ],
)
def test_no_file_is_cast_to_the_types_of_the_first_one(make, tmp_path, column, first, second):
    """Texts were parsed, fractions rounded and times cut on their way to the types of another file."""
    t = make({"a": column})
    names = two(tmp_path, {"a": first}, {"a": second})
    for call in (t.append, t.overwrite):
        with pytest.raises(e.SchemaMismatch, match="'a'"):
            call(names)
    assert t.snapshot() is None


def test_numbers_of_the_second_file_keep_their_digits(make, tmp_path):
    t = make({"a": "DOUBLE", "r": "ROW<x INT, y INT>"})
    first = {"a": pa.array([1.0], pa.float32()), "r": pa.array([{"x": 1}])}
    names = two(tmp_path, first, {"a": pa.array([0.1]), "r": pa.array([{"x": 1, "y": 2}])})
    for _ in range(2):
        t.overwrite(names)
        assert rows(t) == [{"a": 1.0, "r": {"x": 1, "y": None}}, {"a": 0.1, "r": {"x": 1, "y": 2}}]


def test_one_kind_for_each_row_of_several_files(make, tmp_path):
    t = make({"a": "INT"}, ["a"], bucket=1)
    t.append([{"a": 3}])
    names = two(tmp_path, {"a": pa.array([1, 2], pa.int32())}, {"a": pa.array([3], pa.int64())})
    t.append(names, row_kind=["+I", "+I", "-D"])
    assert [row["a"] for row in rows(t)] == [1, 2]
    for wrong in (["+I"], ["+I"] * 4):
        with pytest.raises(e.SiltstoneError):
            t.append(names, row_kind=wrong)


def test_an_overwrite_by_files_replaces_what_one_file_would(make, tmp_path):
    t = make({"a": "INT", "p": "STRING"}, [], ["p"])
    t.append([{"a": 9, "p": "x"}, {"a": 9, "p": "z"}])
    names = two(tmp_path, {"a": [1], "p": ["x"]}, {"p": ["y"], "a": [2]})
    t.overwrite(names)
    assert sorted((row["p"], row["a"]) for row in rows(t)) == [("x", 1), ("y", 2), ("z", 9)]
    t.overwrite(names, dynamic=False)
    assert sorted((row["p"], row["a"]) for row in rows(t)) == [("x", 1), ("y", 2)]
    with pytest.raises(e.InvalidArgument):
        t.overwrite(names, {"p": "x"})


def test_one_stream_of_files_with_different_columns_is_refused(make, tmp_path):
    t = make({"a": "INT", "b": "INT"}, ["a"], bucket=1)
    t.append([{"a": 1, "b": 1}, {"a": 2, "b": 2}])
    with pytest.raises(e.SchemaMismatch, match="different columns"):
        t.merge(two(tmp_path, {"a": [1], "b": [5]}, {"a": [2]}), on="a").when_matched_update_all().execute()
    t.merge(two(tmp_path, {"a": [1], "b": [5]}, {"a": [2], "b": [7]}), on="a").when_matched_update_all().execute()
    assert sorted((row["a"], row["b"]) for row in rows(t)) == [(1, 5), (2, 7)]


def test_a_value_that_only_a_folder_has_is_not_lost(make, tmp_path):
    t = make({"a": "INT", "day": "INT"})
    (tmp_path / "day=3").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "day=3" / "x.parquet")
    with pytest.raises(e.SchemaMismatch, match="day=3"):
        t.append(f"{tmp_path}/day=*/*.parquet")


TAKEN = [
    ("DECIMAL(20, 2)", "12345678901234567.89", Decimal("12345678901234567.89")),
    ("DECIMAL(20, 18)", "0.123456789012345678", Decimal("0.123456789012345678")),
    ("FLOAT", "16777216", 16777216.0),
    ("DOUBLE", "0.1", 0.1),
    ("DOUBLE", "1e22", 1e22),
    ("BIGINT", "9223372036854775807", 2**63 - 1),
    ("INT", "1e2", 100),
]
REFUSED = [
    ("FLOAT", "16777217"), ("FLOAT", "1e300"), ("FLOAT", "1e-300"), ("DOUBLE", "9007199254740993"),
    ("DOUBLE", "1e400"), ("DOUBLE", "1e-400"), ("INT", "1.5"), ("INT", "2147483648"), ("DECIMAL(5, 2)", "1.239"),
    ("BIGINT", "1e99999999999999999999"),
]  # fmt: skip


def texts(value):
    return {"x.csv": f"a\n{value}\n", "x.ndjson": f'{{"a": {value}}}\n', "x.json": f'[{{"a": {value}}}]'}


@pytest.mark.parametrize(("column", "text", "value"), TAKEN)
def test_numbers_of_texts_keep_their_digits(make, tmp_path, column, text, value):
    """A list of JSON once went through floats: 12345678901234567.89 became ...568.00."""
    t = make({"a": column})
    for name, content in texts(text).items():
        (tmp_path / name).write_text(content)
        t.overwrite(str(tmp_path / name))
        assert rows(t) == [{"a": value}], name


@pytest.mark.parametrize(("column", "text"), REFUSED)
def test_numbers_that_a_column_does_not_have_are_refused(make, tmp_path, column, text):
    """1e300 in a FLOAT once was infinite, 9007199254740993 in a DOUBLE another number."""
    t = make({"a": column})
    for name, content in texts(text).items():
        (tmp_path / name).write_text(content)
        with pytest.raises(e.SchemaError, match="row 0 does not fit column 'a'"):
            t.append(str(tmp_path / name))
    assert t.snapshot() is None


def test_csv_has_nan_and_empty_texts_apart_from_null(make, tmp_path):
    """NaN once was null, and null the empty text."""
    t = make({"f": "DOUBLE", "s": "STRING", "n": "INT"})
    (tmp_path / "x.csv").write_text('f,s,n\nNaN,NA,1\n-inf,"",\n,,3\n')
    t.append(str(tmp_path / "x.csv"))
    found = rows(t)
    assert math.isnan(found[0]["f"])
    assert [(row["f"], row["s"], row["n"]) for row in found[1:]] == [(-math.inf, "", None), (None, None, 3)]
    (tmp_path / "x.csv").write_text("n\n1\nNA\n")
    with pytest.raises(e.SchemaMismatch, match="'NA' of row 1"):
        t.append(str(tmp_path / "x.csv"))
    (tmp_path / "d.tsv").mkdir()
    (tmp_path / "d.tsv" / "x.csv").write_text("n,s\n1,a\n")
    assert t.append(str(tmp_path / "d.tsv" / "x.csv")).rows == 1


@pytest.mark.parametrize(
    "row", ['{"a": 1, "a": 2}', '{"r": {"x": 1, "x": 2}}', '{"r": {"x": 1, "zz": 2}}', '{"zz": 1}']
)
@pytest.mark.parametrize("form", ["%s\n", "[%s]"])
def test_json_with_a_key_twice_or_an_unknown_one_is_refused(make, tmp_path, row, form):
    """Of two values the last one won, and fields that the table does not have were left out."""
    t = make({"a": "INT", "r": "ROW<x INT>"})
    (tmp_path / "x.json").write_text(form % row)
    with pytest.raises((e.InvalidArgument, e.SchemaMismatch), match="twice|zz"):
        t.append(str(tmp_path / "x.json"))
    assert t.snapshot() is None


def test_values_of_json_at_any_depth(make, tmp_path):
    t = make({"m": "MAP<INT, DATE>", "r": "ROW<t TIMESTAMP(9), b BYTES, f FLOAT>", "l": "ARRAY<TIME(3)>"})
    row = {
        "m": [[1, "2026-01-01"]],
        "r": {"t": "2026-01-01T00:00:00.123456789", "b": "AP8=", "f": "-Infinity"},
        "l": ["08:30:00.500", None],
    }
    (tmp_path / "x.json").write_text(json.dumps(row))
    t.append(str(tmp_path / "x.json"))
    table = t.scan().to_arrow()
    assert table["m"].to_pylist() == [[(1, dt.date(2026, 1, 1))]]
    assert table["r"].combine_chunks().field("t").cast(pa.int64()).to_pylist() == [1767225600123456789]
    assert table["r"].combine_chunks().field("b").to_pylist() == [b"\0\xff"]
    assert table["l"].to_pylist() == [[dt.time(8, 30, 0, 500000), None]]
    for column in ({"r": {"b": "no base64"}}, {"l": ["25:00"]}, {"r": {"t": "2026-02-30"}}, {"m": {"1": None}}):
        (tmp_path / "x.json").write_text(json.dumps(column))
        with pytest.raises(e.SchemaMismatch, match="row 0"):
            t.append(str(tmp_path / "x.json"))


def test_a_column_may_come_late_in_a_file_of_many_pieces(make, tmp_path):
    t = make({"a": "INT", "b": "INT"})
    lines = [f'{{"a": {at}}}' for at in range(40_000)]
    (tmp_path / "x.json").write_text("\n".join([*lines, '{"a": 1, "b": 2}']))
    assert t.append(str(tmp_path / "x.json")).rows == 40_001
    assert t.scan(filter="b = 2").count() == 1
    (tmp_path / "x.json").write_text("\n".join([*lines, '{"a": "x"}']))
    with pytest.raises(e.SchemaMismatch, match="of row 40000 "):
        t.append(str(tmp_path / "x.json"))


@pytest.mark.parametrize(
    "content",
    [b"[1, 2]", b"5", b"null", b'"abc"', b"[[1]]", b'{"a": 1},\n', b'[{"a": 1} {"a": 2}]', b"[", b'[{"a": 1}] x',
     b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", b'{"a": "\xff"}'],
    ids=range(11),
)  # fmt: skip
def test_what_is_no_row_of_json_is_a_wrong_argument(make, tmp_path, content):
    """TypeError and RecursionError once came out."""
    t = make({"a": "INT"})
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(e.InvalidArgument, match="cannot be read"):
        t.append(str(tmp_path / "x.json"))


def test_a_mark_of_the_byte_order_is_no_part_of_the_rows(make, tmp_path):
    t = make({"a": "INT"})
    for content in (b'{"a": 1}', b'[{"a": 1}]'):
        (tmp_path / "x.json").write_bytes(b"\xef\xbb\xbf" + content)
        t.append(str(tmp_path / "x.json"))
    assert t.count() == 2


@pytest.mark.parametrize("name", ["x.csv", "x.json", "x.parquet"])
def test_only_regular_files_are_opened(make, tmp_path, name):
    """A pipe once was waited for, without an end."""
    t = make({"a": "INT"})
    os.mkfifo(tmp_path / name)
    with pytest.raises(e.InvalidArgument, match="regular"):
        t.append(str(tmp_path / name))
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(e.InvalidArgument, match="regular"):
        t.append(str(tmp_path / name))
    with pytest.raises(e.FileMissing):
        t.append(f"{tmp_path}/none-{name}")


def test_an_empty_line_of_one_column_is_a_row_with_null(make, tmp_path):
    """The row was lost: readers of CSV pass over empty lines."""
    (tmp_path / "one.csv").write_text("v\n1\n\n3\n")
    t = make({"v": "INT"}, bucket=-1)
    t.append(tmp_path / "one.csv")
    assert t.scan().to_arrow().column("v").to_pylist() == [1, None, 3]


def test_a_float_is_the_nearest_one_to_its_text(make, tmp_path):
    """And not the nearest to the nearest DOUBLE."""
    (tmp_path / "f.csv").write_text("v\n7.038531e-26\n0.1\n")
    (tmp_path / "f.json").write_text('{"v": 7.038531e-26}\n{"v": 0.1}\n')
    for name in ("f.csv", "f.json"):
        t = make({"v": "FLOAT"}, name=name[-3:], bucket=-1)
        t.append(tmp_path / name)
        assert t.scan().to_arrow().column("v").equals(pa.chunked_array([["7.038531e-26", "0.1"]]).cast(pa.float32()))


def test_nothing_may_follow_the_last_comma_of_a_list(make, tmp_path):
    (tmp_path / "x.json").write_text('[{"v": 1}, ]')
    t = make({"v": "INT"}, bucket=-1)
    with pytest.raises(e.InvalidArgument, match="nothing follows the comma behind row 0"):
        t.append(tmp_path / "x.json")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is limited on Linux only")
@pytest.mark.parametrize("more", [10, 20])
def test_a_file_of_parquet_is_read_where_no_thread_can_be_started(make, tmp_path, more):
    """A scan of pyarrow waited for ever then, and columns that it read side by side ended the process."""
    t = make({"id": "BIGINT", "s": "STRING"}, [], bucket=-1)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"id": range(300_000), "s": [f"text {i}" for i in range(300_000)]}), path)
    code = f"""
import resource, sys, pyarrow.dataset, pyarrow.parquet, siltstone as st
t = st.open_table(sys.argv[1])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + {more}_000_000
resource.setrlimit(resource.RLIMIT_AS, (used, resource.RLIM_INFINITY))
try:
    t.append(sys.argv[2])
    print(300_000)
except st.errors.SiltstoneError as e:
    print(0)
"""
    call = [sys.executable, "-c", code, t.location, str(path)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert t.count() == int(done.stdout)
