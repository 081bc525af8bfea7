"""Tables whose data files are ORC or Avro, as Java writes them: read, checked, and damaged."""

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


def test_a_table_of_orc_files_is_not_written_to(tmp_path):
    table = st.open_table(ft.unpack("format_orc_zstd", tmp_path))
    with pytest.raises(e.UnsupportedFeature, match=r"file\.format"):
        table.append([dict.fromkeys(table.scan().to_arrow().column_names)])


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
