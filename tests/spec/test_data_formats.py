"""Tables whose data files are ORC or Avro: read as Java writes them, checked, damaged, and written."""

import datetime as dt
import decimal
import pathlib
import random

import fixture_tables as ft
import pyarrow as pa
import pytest
import siltstone as st
from siltstone import errors as e

#: All formats of compression, kinds of tables and types.
TABLES = ft.names(
    *"format_orc_ types_all_append_orc types_all_pk_orc types_nested_append_orc dv_pk_orc evolve_append_orc".split(),
    *"format_avro_ types_all_append_avro types_all_pk_avro types_nested_append_avro dv_pk_avro evolve_append_avro".split(),
)


def files(path):
    return sorted(f for f in pathlib.Path(path).rglob("*") if f.suffix in {".orc", ".avro"})


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_such_files_is_whole(name, tmp_path):
    table = st.open_table(ft.unpack(name, tmp_path))
    assert files(table.location)
    assert table.maintenance.fsck(deep=True).problems == []


@pytest.mark.parametrize("name", TABLES)
def test_each_column_alone_and_few_rows_at_a_time_are_the_same_rows(name, tmp_path):
    table = st.open_table(ft.unpack(name, tmp_path))
    whole = table.scan().to_arrow()
    # as texts: NaN is not equal to itself
    assert str(table.scan(batch_size=3).to_arrow().to_pylist()) == str(whole.to_pylist())
    assert sum(pa.record_batch(b).num_rows for s in table.scan().splits() for b in s.read()) == whole.num_rows
    for column in whole.column_names:
        alone = table.scan([column]).to_arrow()
        assert str(alone.column(0).to_pylist()) == str(whole.column(column).to_pylist()), column
    assert table.scan([]).to_arrow().num_rows == whole.num_rows == table.scan().count()


@pytest.mark.parametrize("name", ["format_orc_zstd", "format_avro_zstd"])
def test_conditions_choose_rows_of_such_files(name, tmp_path):
    table = st.open_table(ft.unpack(name, tmp_path))
    rows = table.scan().to_arrow().to_pylist()
    column = next(name for name, value in rows[0].items() if isinstance(value, int))
    middle = sorted(row[column] for row in rows)[len(rows) // 2]
    for condition, holds in [("<", lambda v: v < middle), (">=", lambda v: v >= middle), ("<>", lambda v: v != middle)]:
        found = table.scan(filter=f"{column} {condition} {middle}").to_arrow().to_pylist()
        # as texts: NaN is not equal to itself
        assert str(found) == str([row for row in rows if holds(row[column])]), condition


EVERY_TYPE = {
    "k": "INT NOT NULL",
    "b": "BOOLEAN",
    "i1": "TINYINT",
    "i2": "SMALLINT",
    "i8": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "dec": "DECIMAL(38, 9)",
    "day": "DATE",
    "t": "TIME(3)",
    "ts": "TIMESTAMP(6)",
    "ltz": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "c": "CHAR(4)",
    "s": "STRING",
    "y": "BYTES",
    "arr": "ARRAY<ROW<x INT, y STRING>>",
    "m": "MAP<STRING, BIGINT>",
    "mi": "MAP<INT, ARRAY<STRING>>",
    "r": "ROW<a DECIMAL(5, 2), deep ROW<z DATE>>",
}


def row(k, chance):
    """A row with nulls here and there, runs of equal and of rising numbers, and extremes."""
    at = dt.datetime(1, 1, 1) + dt.timedelta(
        days=chance.randrange(1_000_000), microseconds=chance.randrange(86_400 * 10**6)
    )
    values = {
        "b": chance.random() < 0.5,
        "i1": chance.randrange(-128, 128),
        "i2": k // 20,
        "i8": chance.choice([-(2**63), 2**63 - 1, 0, k, chance.randrange(2**40)]),
        "f": chance.choice([-0.0, 0.5, float("inf"), 1e-30]),
        "d": chance.random(),
        "dec": decimal.Decimal(chance.randrange(-(10**30), 10**30)).scaleb(-9),
        "day": at.date(),
        "t": dt.time(at.hour, at.minute, at.second, at.microsecond // 1000 * 1000),
        "ts": at,
        "ltz": at.replace(microsecond=at.microsecond // 1000 * 1000, tzinfo=dt.UTC),
        "c": "é" * (k % 5),
        "s": chance.choice(["", "x", "long " * 100, chr(0x1F600 + k % 50)]),
        "y": bytes(chance.randrange(256) for _ in range(k % 4)),
        "arr": [None, {"x": k, "y": None}, {"x": None, "y": "z"}][: k % 4],
        "m": [("a", k), ("b", None)][: k % 3],
        "mi": [(k, ["p", None, "q"]), (-k, None)][: k % 3],
        "r": chance.choice([{"a": None, "deep": {"z": at.date()}}, {"a": decimal.Decimal("1.25"), "deep": None}]),
    }
    return {"k": k} | {name: None if chance.random() < 0.1 else value for name, value in values.items()}


@pytest.mark.parametrize("key", [["k"], []])
@pytest.mark.parametrize("kind", ["orc", "avro"])
def test_what_is_written_is_read(make, kind, key):
    """Rows of every type, in small files and stripes, before and after a compaction, as Parquet files give them."""
    chance = random.Random(5)
    written = [row(k, chance) for k in range(3000)]
    small = {"target_file_size": "64kb", "file__block_size": "20kb"}
    t = make(EVERY_TYPE, key, file__format=kind, **small, **({"bucket": 1} if key else {}))
    parquet = make(EVERY_TYPE)
    parquet.append(written)
    expected = parquet.scan().to_arrow()
    t.append(written[:2000])
    t.append(written[2000:])
    for _ in range(2):
        assert t.scan().to_arrow().sort_by("k") == expected
        assert t.maintenance.fsck(deep=True).problems == []
        middle = t.scan(["k"], "k >= 1000 AND k < 1010").to_arrow()
        assert sorted(middle["k"].to_pylist()) == list(range(1000, 1010))
        assert t.scan(filter="s = 'x'").count() == sum(r["s"] == "x" for r in written)
        t.compact(full=True)
    assert len({r["file_path"] for r in t.inspect("files").to_arrow().to_pylist()}) > 1
    assert {r["file_format"] for r in t.inspect("files").to_arrow().to_pylist()} == {kind}


def test_columns_that_a_format_cannot_have_are_refused_by_name(make):
    for schema in [{"v": "TIMESTAMP(9)"}, {"v": "TIME(6)"}, {"a b": "INT"}]:
        with pytest.raises(e.UnsupportedFeature, match="in Avro files"):
            make(schema, file__format="avro")
        with pytest.raises(e.UnsupportedFeature, match="in Avro files"):
            make({"k": "INT", **schema}, ["k"], bucket=1, file__format__per__level="0:avro")
        make(schema, file__format="orc")
    t = make({"k": "INT"}, file__format="avro")
    with pytest.raises(e.UnsupportedFeature, match="in Avro files"):
        t.alter().add_column("v", "TIMESTAMP(9)").commit()
    with pytest.raises(e.UnsupportedFeature, match="csv"):
        make({"k": "INT"}, file__format="csv")
    for kind, codec in [("avro", "lz4"), ("avro", "Snappy"), ("orc", "gzip"), ("orc", "lzo")]:
        with pytest.raises(e.InvalidOption, match=codec):
            make({"k": "INT"}, file__format=kind, file__compression=codec)


def test_a_time_that_orc_readers_show_otherwise_is_refused(make):
    """Java writes it, and shows it one second later."""
    t = make({"ts": "TIMESTAMP(6)"}, file__format="orc")
    t.append(
        [{"ts": dt.datetime(1969, 12, 31, 23, 59, 58, 500_000)}, {"ts": dt.datetime(1969, 12, 31, 23, 59, 59, 999)}]
    )
    with pytest.raises(e.UnsupportedType, match="1969"):
        t.append([{"ts": dt.datetime(1969, 12, 31, 23, 59, 59, 500_000)}])
    assert t.scan().count() == 2


@pytest.mark.parametrize("kind", ["parquet", "orc"])
@pytest.mark.parametrize(
    ("column", "unit"),
    [("TIMESTAMP(9)", "ns"), ("TIMESTAMP(6)", "us"), ("TIMESTAMP_LTZ(6)", "us"), ("TIMESTAMP_LTZ(3)", "ms")],
)
def test_the_first_and_the_last_times_of_a_type_are_read_as_they_were_written(make, kind, column, unit):
    """ORC files hold whole seconds: the one in which the first time lies begins before it, and no reader took it."""
    zone = "UTC" if "LTZ" in column else None
    ends = [-(2**63) + 1, -(2**63) + 2, 0, 2**63 - 1]
    times = pa.array(ends, pa.int64()).cast(pa.timestamp(unit, zone))
    t = make({"id": "INT", "ts": column}, ["id"], bucket=1, file__format=kind)
    t.upsert(pa.table({"id": pa.array(range(4), pa.int32()), "ts": times}))
    t.compact(full=True)
    assert t.scan().to_arrow().sort_by("id").column("ts").cast(pa.int64()).to_pylist() == ends


DAMAGED = ft.names(
    *"format_orc_none format_orc_zlib format_orc_snappy types_nested_append_orc".split(),
    *"format_avro_null format_avro_deflate format_avro_snappy format_avro_zstd types_nested_append_avro".split(),
)


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_named_or_gives_rows_and_never_ends_the_process(name, tmp_path):
    table = st.open_table(ft.unpack(name, tmp_path))
    file = files(table.location)[0]
    whole = file.read_bytes()
    chance = random.Random(7)
    damaged = 0
    for _ in range(300):
        broken = bytearray(whole)
        for _ in range(chance.choice([1, 1, 2, 8])):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        file.write_bytes(broken)
        try:
            table.scan().to_arrow()
        except e.CorruptFile as error:
            damaged += file.name in str(error)
        except (e.UnsupportedFeature, e.MemoryLimitExceeded):
            damaged += 1
    assert damaged > 50
    for end in [*range(0, len(whole), max(1, len(whole) // 40)), len(whole) - 1]:
        file.write_bytes(whole[:end])
        with pytest.raises((e.CorruptFile, e.FileMissing), match=file.name):
            table.scan().to_arrow()
