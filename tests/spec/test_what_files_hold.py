"""Values that a format of data files cannot hold: refused when they come or before they are lost, whatever files hold them first."""

import datetime as dt
import decimal
import json
import pathlib

import pytest
import siltstone as st
from siltstone import errors as e

LAST_SECOND = dt.datetime(1969, 12, 31, 23, 59, 59, 500_000)


def make_sums(make, kind, decimals):
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "write-only": "true"}
    t = make({"k": "INT", "v": decimals}, ["k"], bucket=1, file__format=kind)
    alter = t.alter()
    for key, value in options.items():
        alter = alter.set_option(key, value)
    alter.commit()
    return st.open_table(t.location)


@pytest.mark.parametrize(
    ("kind", "narrow", "wide"),
    [
        ("parquet", "DECIMAL(9, 2)", "DECIMAL(12, 2)"),
        ("orc", "DECIMAL(5, 2)", "DECIMAL(6, 2)"),
        ("avro", "DECIMAL(5, 2)", "DECIMAL(6, 2)"),
        ("orc", "DECIMAL(18, 2)", "DECIMAL(19, 2)"),
    ],
)
def test_a_sum_that_files_cannot_hold_is_refused_and_its_rows_stay(make, kind, narrow, wide):
    """29999999.97 became -12949672.99 in Parquet, and ORC and Avro files that nobody could read."""
    digits, scale = (int(text) for text in narrow[8:-1].split(","))
    value = decimal.Decimal(10**digits - 1).scaleb(-scale)
    t = make_sums(make, kind, narrow)
    for _ in range(3):
        t.upsert([{"k": 1, "v": value}, {"k": 2, "v": -value}])
    total = [{"k": 1, "v": 3 * value}, {"k": 2, "v": -3 * value}]
    assert t.scan().to_arrow().to_pylist() == total
    with pytest.raises(e.LengthExceeded, match="more digits than") as raised:
        t.compact(full=True)
    assert raised.value.context["column"] == "v"
    assert t.scan().to_arrow().to_pylist() == total
    assert t.maintenance.fsck(deep=True).problems == []
    t.alter().set_type("v", wide).commit()
    t = st.open_table(t.location)
    t.compact(full=True)
    assert t.scan().to_arrow().to_pylist() == total
    assert t.maintenance.fsck(deep=True).problems == []


def test_a_decimal_of_an_avro_file_with_more_digits_than_its_column_is_null(make):
    """Java writes such sums, and shows null."""
    t = make({"k": "INT", "v": "DECIMAL(6, 2)"}, file__format="avro")
    t.append([{"k": k, "v": decimal.Decimal(text)} for k, text in enumerate(("2999.97", "-999.99", "1000.00"))])
    schema = pathlib.Path(t.location, "schema", "schema-0")
    schema.write_text(schema.read_text().replace("DECIMAL(6, 2)", "DECIMAL(5, 2)"))
    assert json.loads(schema.read_text())["fields"][1]["type"] == "DECIMAL(5, 2)"
    rows = st.open_table(t.location).scan().to_arrow().to_pylist()
    assert [row["v"] for row in rows] == [None, decimal.Decimal("-999.99"), None]


NESTED = {
    "CHAR(4)": ("CHAR(4)", lambda value: value),
    "row": ("ROW<c CHAR(4)>", lambda value: {"c": value}),
    "array": ("ARRAY<CHAR(4)>", lambda value: [value]),
    "key": ("MAP<CHAR(4), INT>", lambda value: [(value, 1)]),
    "value": ("MAP<INT, CHAR(4)>", lambda value: [(1, value)]),
}


@pytest.mark.parametrize("place", NESTED)
def test_texts_of_char_with_spaces_at_their_end_are_refused_in_orc(make, place):
    """Readers of ORC files, Java's too, take them off: "a " came back as "a"."""
    kind, within = NESTED[place]
    t = make({"c": kind}, file__format="orc")
    t.append([{"c": within("a b")}, {"c": within("")}, {"c": None}])
    before = t.scan().to_arrow().to_pylist()
    for text in ("a ", "    "):
        with pytest.raises(e.UnsupportedType, match="spaces at their end"):
            t.append([{"c": within(text)}])
    assert t.scan().to_arrow().to_pylist() == before
    for other in ("parquet", "avro"):
        t = make({"c": kind}, file__format=other)
        t.append([{"c": within("a ")}])
        assert "a " in str(t.scan().to_arrow().to_pylist())


def test_what_a_cast_fills_up_with_spaces_has_true_bounds_in_orc(make):
    t = make({"k": "INT", "c": "VARCHAR(4)"}, ["k"], bucket=1, file__format="orc")
    t.upsert([{"k": 1, "c": "a"}, {"k": 2, "c": ""}, {"k": 3, "c": "abcd"}])
    t.alter().set_type("c", "CHAR(6)").commit()
    t = st.open_table(t.location)
    t.upsert([{"k": 4, "c": "b"}])
    t.compact(full=True)
    assert sorted(row["c"] for row in t.scan().to_arrow().to_pylist()) == ["", "a", "abcd", "b"]
    assert [t.scan(filter=f"c = '{text}'").count() for text in ("", "a", "b", "z")] == [1, 1, 1, 0]
    assert t.maintenance.fsck(deep=True).problems == []


@pytest.mark.parametrize(
    "options", [{"bucket": -2}, {"bucket": 1, "file__format__per__level": "0:avro"}, {"bucket": 1}]
)
def test_rows_that_a_later_compaction_could_not_write_are_refused_when_they_come(make, options):
    """They were taken into Avro files, after which no compaction of the table could be done."""
    t = make({"k": "INT", "r": "ROW<at TIMESTAMP(6)>"}, ["k"], file__format="orc", **options)
    t.upsert([{"k": 1, "r": {"at": dt.datetime(1969, 12, 31, 23, 59, 58, 500_000)}}, {"k": 2, "r": None}])
    with pytest.raises(e.UnsupportedType, match="1969") as raised:
        t.upsert([{"k": 3, "r": {"at": LAST_SECOND}}])
    assert raised.value.context["column"] == "r"
    t.compact(full=True)
    assert t.scan().count() == 2


#: Letters that compress to less than one byte in a thousand.
LONG = "x" * (20 << 20)


@pytest.mark.parametrize(
    ("schema", "options"),
    [
        ({"k": "STRING", "v": "INT"}, {"bucket": 1}),
        ({"k": "STRING", "v": "INT"}, {"bucket": -1}),
        ({"k": "INT", "v": "STRING"}, {"bucket": 1, "metadata__stats_mode": "full"}),
        ({"k": "INT", "v": "STRING"}, {"bucket": 1, "file__format": "avro"}),
        ({"k": "INT", "v": "STRING"}, {"bucket": 1, "file__format": "avro", "file__compression": "deflate"}),
        ({"k": "INT", "v": "STRING"}, {"bucket": -2}),
    ],
)
def test_long_texts_that_compress_well_are_read_again(make, schema, options):
    """Readers took the block of a manifest, or of an Avro file, for a bomb: the whole table was gone."""
    t = make(schema, ["k"], **options)
    rows = [{name: LONG if kind == "STRING" else at for name, kind in schema.items()} for at in range(2)]
    for row in rows:
        t.upsert([row])
    t.compact(full=True)
    expected = {row["k"]: row["v"] for row in rows}
    assert {row["k"]: row["v"] for row in t.scan().to_arrow().to_pylist()} == expected
    assert t.maintenance.fsck(deep=True).problems == []


@pytest.mark.parametrize("options", [{"bucket": 1, "file__format": "avro"}, {"bucket": -2}])
def test_rows_of_many_columns_and_levels_are_read_again(make, options):
    """Schemas of their Avro files were taken for bombs when they were read."""
    deep, value = "INT", 7
    for level in range(20):
        deep, value = (f"ARRAY<{deep}>", [value]) if level % 2 else (f"ROW<r {deep}>", {"r": value})
    wide = {f"c{at}": "INT" for at in range(7000)}
    t = make({"k": "INT", "deep": deep, **wide}, ["k"], **options)
    t.upsert([{"k": 1, "deep": value, "c6999": 5}])
    t.compact(full=True)
    rows = t.scan(["deep", "c6999"]).to_arrow().to_pylist()
    assert rows == [{"deep": value, "c6999": 5}]


def test_levels_that_avro_cannot_have_are_refused_by_name(make):
    deep = "INT"
    for _ in range(31):
        deep = f"ROW<r {deep}>"
    with pytest.raises(e.UnsupportedFeature, match="in Avro files"):
        make({"k": "INT", "deep": deep}, ["k"], bucket=1, file__format="avro")
    # waiting rows have the table's format then
    t = make({"k": "INT", "deep": deep}, ["k"], bucket=-2)
    t.upsert([{"k": 1}])
    t.compact()
    assert t.scan().count() == 1
