"""Changes of a column's type: exactly those that Java takes, and afterwards the values that Java reads.

`tests/golden/casts.jsonl` holds, for each pair of types, whether Java 1.4.2 (in UTC) takes the change, and what it reads
from a column with the given values: `{"fails": true}` where a value makes the read fail.
"""

import datetime as dt
import decimal
import functools
import json
import pathlib
import warnings

import pyarrow as pa
import pytest
import rows as forms
from siltstone import col
from siltstone import errors as e

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "casts.jsonl"
EPOCH = dt.datetime(1970, 1, 1)
STRANGE = "a year that Python does not have, or that 64 bits of nanoseconds do not hold"


@functools.cache
def golden():
    """Values by type, and what Java makes of them by pair of types."""
    values, changes = {}, {}
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "values" in entry:
            values[entry["from"]] = entry["values"]
        else:
            changes.setdefault(entry["from"], {})[entry["to"]] = entry.get("read")
    return values, changes


def given(value, kind):
    """A value of the oracle's JSON as pyarrow takes it."""
    if value is None:
        return None
    if pa.types.is_decimal(kind):
        return decimal.Decimal(value)
    if pa.types.is_floating(kind):
        return float(value.replace("Infinity", "inf")) if isinstance(value, str) else float(value)
    if pa.types.is_binary(kind):
        return bytes.fromhex(value)
    if pa.types.is_date(kind):
        return dt.date.fromisoformat(value)
    if pa.types.is_time(kind):
        return dt.time.fromisoformat(value)
    if pa.types.is_timestamp(kind):
        return ticks(value.rstrip("Z"), kind.unit)
    if pa.types.is_map(kind):
        return [(given(k, kind.key_type), given(v, kind.item_type)) for k, v in value]
    if pa.types.is_list(kind):
        return [given(v, kind.value_type) for v in value]
    return {f.name: given(value[f.name], f.type) for f in kind} if pa.types.is_struct(kind) else value


def ticks(text, unit):
    whole, _, fraction = text.partition(".")
    per_second = forms.PER_SECOND[unit]
    seconds = (dt.datetime.fromisoformat(whole) - EPOCH) // dt.timedelta(seconds=1)
    return seconds * per_second + (int(fraction.ljust(9, "0")) * per_second // 10**9 if fraction else 0)


def in_java(value, kind):
    if value == {"fails": True}:
        return value
    strange = pa.types.is_date(kind) and value and (value.startswith(("+", "0000")))
    nanos = pa.types.is_timestamp(kind) and kind.unit == "ns"
    strange = strange or (nanos and value and not "1678" < value < "2262")
    return STRANGE if strange else forms._expected(value, kind)


def column(values, kind):
    listed = [given(v, kind) for v in values]
    return pa.array(listed, pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else pa.array(listed, kind)


def value(scalar, kind):
    """A value in the common form; Python has no dates before the year 1 and beyond 9999."""
    try:
        return forms._value(scalar, kind)
    except OverflowError:
        return STRANGE


def read(t, name, ids):
    """The values of a column; where the whole cannot be read, each in its own partition."""

    def scanned(**scan):
        found = t.scan(["id", name], **scan).to_arrow()
        return {r["id"].as_py(): value(r[name], found.schema.field(name).type) for r in found.to_struct_array()}

    try:
        found = scanned()
    except (e.SchemaMismatch, e.UnsupportedType):
        found = {}
        for i in ids:
            try:
                found |= scanned(filter=f"id = {i}")
            except e.SchemaMismatch:
                found[i] = {"fails": True}
            except e.UnsupportedType:
                found[i] = STRANGE
    return [found[i] for i in ids]


@pytest.mark.parametrize("source", golden()[0])
def test_a_type_changes_to_what_java_takes_and_reads_as_java_reads(cat, source):
    values, changes = golden()[0][source], golden()[1][source]
    names = {f"c{i}": to for i, to in enumerate(changes)}
    t = cat.create_table("db.t", {"id": "INT", **dict.fromkeys(names, source)}, partition_by=["id"])
    kind = t.schema.field("c0").type
    ids = list(range(len(values)))
    t.append(pa.table({"id": pa.array(ids, pa.int32()), **dict.fromkeys(names, column(values, kind))}))
    differences = []
    for name, to in names.items():
        try:
            t.alter().set_type(name, to).commit()
        except e.IllegalSchemaChange:
            if changes[to] is not None:
                differences.append(f"{to}: refused, and Java takes it")
            continue
        if changes[to] is None:
            differences.append(f"{to}: taken, and Java refuses it")
            continue
        now = cat.table("db.t")
        kind = now.schema.field(name).type
        expected = [in_java(v, kind) for v in changes[to]]
        got = read(now, name, ids)
        # Java fails on the time of a day before 1970; there is one
        better = source.startswith("TIMESTAMP") and to.startswith("TIME(")
        differences += [
            f"{to}: {values[i]} is {a}, in Java {b}"
            for i, (a, b) in enumerate(zip(got, expected, strict=True))
            if a != b and not (better and b == {"fails": True})
        ]
    assert not differences, "\n".join(differences)


def test_not_null_in_a_new_type_forbids_nulls_as_set_nullable_does(make):
    t = make({"id": "INT", "v": "INT", "n": "INT NOT NULL"})
    with pytest.raises(e.IllegalSchemaChange, match="cannot become NOT NULL"):
        t.alter().set_type("v", "BIGINT NOT NULL").commit()
    t.alter().set_type("n", "BIGINT").commit()
    t.alter().set_option("alter-column-null-to-not-null.disabled", "false").commit()
    t.alter().set_type("v", "BIGINT NOT NULL").commit()
    t.append([{"id": 1, "v": 2**40, "n": 2**40}])
    for column in ("v", "n"):
        with pytest.raises(e.NullInKey, match=f"'{column}', which is BIGINT NOT NULL"):
            t.append([{"id": 1, "v": 1, "n": 1, column: None}])


def test_changes_that_are_dropped_without_a_commit_warn(make):
    t = make({"id": "INT"})
    with pytest.warns(UserWarning, match=r"dropped without commit\(\): set_type, add_column"):
        t.alter().set_type("id", "BIGINT").add_column("x", "INT")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        t.alter()
        t.alter().set_type("id", "BIGINT").commit()
        with pytest.raises(e.IllegalSchemaChange):
            t.alter().drop_column("nope").commit()


@pytest.mark.parametrize("options", [{}, {"deletion_vectors__enabled": "true"}])
def test_a_value_that_has_no_place_in_the_new_type_matters_only_while_its_row_is_there(make, options):
    """Whole files were cast before they were merged, so 'abc' stopped every read, write and compaction of a column that is INT
    now, long after its row had been replaced. Java casts the rows that win."""
    t = make({"id": "INT", "v": "STRING", "w": "INT"}, ["id"], bucket=1, **options)
    t.upsert([{"id": 1, "v": "abc"}, {"id": 2, "v": "7"}, {"id": 3, "v": "x"}])
    t.alter().set_type("v", "INT").commit()
    with pytest.raises(e.SchemaMismatch, match="the text 'abc' is not a value of INT"):
        t.scan().to_arrow()
    t.upsert([{"id": 1, "v": 5}])
    with pytest.raises(e.SchemaMismatch, match=r"(?s)the text 'x' is not a value of INT.*time travel"):
        t.scan().to_arrow()
    t.delete(keys=[{"id": 3}])
    t.maintenance.expire_snapshots(retain_max=1)
    assert t.maintenance.fsck(deep=True).ok
    for value in range(6, 12):
        t.upsert([{"id": 1, "v": value}])
    expected = [{"id": 1, "v": 11, "w": None}, {"id": 2, "v": 7, "w": None}]
    assert sorted(t.scan().to_arrow().to_pylist(), key=lambda row: row["id"]) == expected
    t.compact(full=True)
    assert sorted(t.scan().to_arrow().to_pylist(), key=lambda row: row["id"]) == expected


def test_a_deleted_row_of_an_append_table_is_not_cast(make):
    """Nor by a condition, whether its column is read or not."""
    t = make({"id": "INT", "v": "STRING"}, bucket=-1, deletion_vectors__enabled="true")
    t.append(
        [{"id": 0, "v": "8"}, {"id": 1, "v": "abc"}, {"id": 2, "v": "7"}, {"id": 3, "v": None}, {"id": 4, "v": "x"}]
    )
    t.alter().set_type("v", "INT").commit()
    t.delete("id = 1")
    with pytest.raises(e.SchemaMismatch, match="the text 'x' is not a value of INT"):
        t.scan(["id"], "v < 8").to_arrow()
    t.delete("id = 4")
    assert t.scan(["id"], "v < 8").to_arrow().to_pylist() == [{"id": 2}]
    assert t.scan(["id"], "v > 7 OR id = 3").to_arrow().to_pylist() == [{"id": 0}, {"id": 3}]
    assert t.scan(filter="v < 8").to_arrow().to_pylist() == [{"id": 2, "v": 7}]
    t.update({"v": "v + 1"}, "v = 7")
    expected = [{"id": 0, "v": 8}, {"id": 2, "v": 8}, {"id": 3, "v": None}]
    assert sorted(t.scan().to_arrow().to_pylist(), key=lambda row: row["id"]) == expected


def test_engines_that_compute_rows_look_at_every_value(make):
    """As Java does."""
    for options in ({"merge_engine": "partial-update"}, {"merge_engine": "aggregation"}):
        t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=1, **options)
        t.upsert([{"id": 1, "v": "abc"}])
        t.alter().set_type("v", "INT").commit()
        t.upsert([{"id": 1, "v": 5}])
        with pytest.raises(e.SchemaMismatch, match="the text 'abc' is not a value of INT"):
            t.scan().to_arrow()


@pytest.mark.parametrize(
    ("old", "new", "value", "shown"),
    [
        ("TIMESTAMP(1)", "TIMESTAMP(2)", dt.datetime(2024, 5, 1, 1, 2, 3, 567000), "2024-05-01 01:02:03.56"),
        ("TIMESTAMP(4)", "TIMESTAMP(5)", dt.datetime(2024, 5, 1, 1, 2, 3, 567891), "2024-05-01 01:02:03.56789"),
        ("TIMESTAMP(1)", "TIMESTAMP(3)", dt.datetime(2024, 5, 1, 1, 2, 3, 567000), "2024-05-01 01:02:03.567"),
    ],
)
def test_a_condition_finds_what_a_time_of_more_digits_is_cut_to(make, old, new, value, shown):
    """A TIMESTAMP(1) holds milliseconds: bounds of old files were taken as they are, and the values were cut."""
    t = make({"id": "INT", "ts": old}, bucket=-1)
    t.append([{"id": 1, "ts": value}])
    t.alter().set_type("ts", new).commit()
    assert t.scan(filter=f"ts = '{shown}'").count() == 1
    assert t.scan(filter=f"ts <= '{shown}' AND ts >= '{shown}' AND ts IS NOT NULL").count() == 1


def test_a_condition_finds_the_nulls_of_sums_that_the_new_type_does_not_have(make):
    options = {"merge_engine": "aggregation", "fields__v__aggregate_function": "sum"}
    t = make({"id": "INT", "v": "DECIMAL(3, 0)"}, ["id"], bucket=1, **options)
    for _ in range(12):
        t.upsert([{"id": 1, "v": decimal.Decimal(999)}])
    t.compact(full=True)
    t.alter().set_type("v", "DECIMAL(4, 0)").commit()
    assert t.scan().to_arrow().to_pylist() == [{"id": 1, "v": None}]
    assert t.scan(filter="v IS NULL").count() == 1


def changed_to_int(cat, t):
    t.alter().set_type("v", "INT").commit()
    return cat.table(t.name)


def test_a_deletion_alone_in_its_file_is_not_cast(cat, make):
    """`delete` writes the old values: a deleted row made the table unreadable. Java leaves it out."""
    t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=1, write_only="true")
    t.append([{"id": 1, "v": "abc"}, {"id": 2, "v": "5"}], row_kind=["-D", "+I"])
    t = changed_to_int(cat, t)
    expected = [{"id": 2, "v": 5}]
    assert t.scan().to_arrow().to_pylist() == expected
    assert t.scan(filter="v = 5").to_arrow().to_pylist() == expected
    assert t.scan(["id"], filter="v = 5").to_arrow().to_pylist() == [{"id": 2}]
    t.append([{"id": 0, "v": 4}])
    t = cat.table(t.name, options={"write-only": "false"})
    t.compact(full=True)
    assert t.scan().to_arrow().to_pylist() == [{"id": 0, "v": 4}, *expected]


@pytest.mark.parametrize(
    ("options", "wins"),
    [
        ({"changelog_producer": "lookup"}, 1),
        ({"changelog_producer": "full-compaction"}, 1),
        ({"force_lookup": "true"}, 1),
        ({"merge_engine": "first-row"}, 0),
        ({"deletion_vectors__enabled": "true", "deletion_vectors__merge_on_read": "true"}, 1),
    ],
)
def test_a_replaced_row_is_not_cast_where_levels_matter(cat, make, options, wins):
    """Tables that look keys up, and whose compactions tell of changes, failed until Java compacted them."""
    t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=1, write_only="true", **options)
    texts = ["7", "abc"] if wins == 0 else ["abc", "7"]
    for text in texts:
        t.upsert([{"id": 1, "v": text}])
    t = cat.table(changed_to_int(cat, t).name, options={"write-only": "false"})
    t.compact(full=True)
    assert t.scan().to_arrow().to_pylist() == [{"id": 1, "v": 7}]


@pytest.mark.parametrize("options", [{"changelog_producer": "lookup"}, {"changelog_producer": "full-compaction"}, {}])
def test_a_row_that_wins_is_cast_where_levels_matter(cat, make, options):
    t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=1, write_only="true", **options)
    t.upsert([{"id": 1, "v": "7"}, {"id": 2, "v": "8"}])
    t.upsert([{"id": 1, "v": "abc"}])
    t = cat.table(changed_to_int(cat, t).name, options={"write-only": "false"})
    for read in (lambda: t.compact(full=True), lambda: t.scan().to_arrow()):
        with pytest.raises(e.SchemaMismatch, match="the text 'abc' is not a value of INT"):
            read()


@pytest.mark.parametrize("options", [{}, {"changelog_producer": "lookup"}])
def test_a_replaced_row_is_not_cast_where_runs_are_spilled(cat, make, options):
    """More runs than a merge holds are merged in part; an error named the file of such a part."""
    t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=1, write_only="true", **options)
    for at in range(12):
        t.upsert([{"id": 1, "v": "abc" if at < 11 else "7"}, {"id": 2, "v": "8" if at < 11 else "xyz"}])
    t = changed_to_int(cat, t)
    with pytest.raises(e.SchemaMismatch, match="the text 'xyz' is not a value of INT") as failed:
        t.scan(memory_limit="1mb").to_arrow()
    assert "spill" not in str(failed.value)
    t.upsert([{"id": 2, "v": 9}])
    expected = [{"id": 1, "v": 7}, {"id": 2, "v": 9}]
    assert t.scan(memory_limit="1mb").to_arrow().to_pylist() == expected
    t = cat.table(t.name, options={"write-only": "false"})
    t.compact(full=True)
    assert t.scan().to_arrow().to_pylist() == expected


def test_a_value_that_becomes_null_in_a_not_null_column_has_no_place_there(cat, make):
    """The null was taken for one of the file, which was called damaged, and that of a replaced row stopped every read."""
    columns = {"id": "INT", "v": "DECIMAL(10, 2) NOT NULL"}
    t = make(columns, bucket=-1)
    t.append([{"id": 1, "v": decimal.Decimal("12345.00")}, {"id": 2, "v": decimal.Decimal("1.00")}])
    t.alter().set_type("v", "DECIMAL(4, 2)").commit()
    with pytest.raises(e.SchemaMismatch, match=r"12345\.00 is not a value of DECIMAL\(4, 2\) NOT NULL") as failed:
        t.scan().to_arrow()
    assert failed.value.context["column"] == "v"
    keyed = make(columns, ["id"], bucket=1, write_only="true")
    keyed.upsert([{"id": 1, "v": decimal.Decimal("12345.00")}])
    keyed.alter().set_type("v", "DECIMAL(4, 2)").commit()
    keyed = cat.table(keyed.name, options={"write-only": "false"})
    keyed.upsert([{"id": 1, "v": decimal.Decimal("1.00")}])
    expected = [{"id": 1, "v": decimal.Decimal("1.00")}]
    assert keyed.scan().to_arrow().to_pylist() == expected
    keyed.compact(full=True)
    assert keyed.scan().to_arrow().to_pylist() == expected


def test_only_the_row_of_an_element_that_has_no_place_fails(cat, make):
    t = make({"id": "INT", "l": "ARRAY<STRING>"}, ["id"], bucket=1, write_only="true")
    t.upsert([{"id": 1, "l": ["abc"]}, {"id": 2, "l": ["5", None]}])
    t.alter().set_type(["l", "element"], "INT").commit()
    t = cat.table(t.name)
    t.upsert([{"id": 1, "l": [7]}])
    assert t.scan().to_arrow().to_pylist() == [{"id": 1, "l": [7]}, {"id": 2, "l": [5, None]}]


@pytest.mark.parametrize("path", [["r", "x"], ["l", "element"], ["m", "value"]])
def test_nulls_of_a_nested_field_that_became_not_null_are_named(cat, make, path):
    """They were an internal error."""
    columns = {"id": "INT", "r": "ROW<x INT, y STRING>", "l": "ARRAY<INT>", "m": "MAP<STRING, INT>"}
    t = make(columns, bucket=-1, alter_column_null_to_not_null__disabled="false")
    t.append([{"id": 1, "r": {"x": None, "y": "a"}, "l": [None], "m": {"a": None}}])
    t.alter().set_nullable(path, False).commit()
    for _ in range(2):
        with pytest.raises(e.CorruptFile, match=r"(?s)NOT NULL has null values.*make it nullable again") as failed:
            cat.table(t.name).scan().to_arrow()
        assert (failed.value.context["column"], failed.value.context["field"]) == tuple(path)
        # the second time values of the column are cast, too
        cat.table(t.name).alter().set_type(path, "BIGINT NOT NULL").commit()


def test_null_rows_have_no_fields_that_could_be_null(cat, make):
    t = make({"id": "INT", "r": "ROW<x INT, y STRING>"}, bucket=-1, alter_column_null_to_not_null__disabled="false")
    t.append([{"id": 1, "r": None}, {"id": 2, "r": {"x": 2, "y": None}}])
    t.alter().set_nullable(["r", "x"], False).commit()
    assert cat.table(t.name).scan().to_arrow()["r"].to_pylist() == [None, {"x": 2, "y": None}]


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_LTZ"])
def test_a_condition_finds_whole_seconds_of_which_a_fraction_is_stored(cat, make, kind):
    """Java keeps 03.567 in a TIMESTAMP(0) of milliseconds, and in its bounds; what is shown is 03."""
    t = make({"id": "INT", "ts": f"{kind}(3)"}, bucket=2, bucket_key="ts")
    moment = dt.datetime(2024, 5, 1, 1, 2, 3, 567000, None if kind == "TIMESTAMP" else dt.UTC)
    t.append([{"id": 1, "ts": moment}])
    schema = pathlib.Path(t.location) / "schema" / "schema-0"
    text = schema.read_text(encoding="utf-8")
    schema.write_text(text.replace("(3)", "(0)"), encoding="utf-8")
    t = cat.table(t.name)
    shown = moment.replace(microsecond=0)
    assert t.scan().to_arrow()["ts"].to_pylist() == [shown]
    assert t.scan(filter=col("ts") == shown).count() == 1
    assert t.scan(filter=(col("ts") <= shown) & (col("id") == 1)).to_arrow()["id"].to_pylist() == [1]
    assert t.scan(filter=col("ts") > shown).count() == 0
    assert t.maintenance.fsck(deep=True).ok


def test_a_type_that_does_not_hold_every_value_is_told(make, caplog):
    """100000 became -31072, and after a compaction it was so for good: nothing had said a word."""
    t = make({"k": "INT", "v": "BIGINT", "d": "DECIMAL(10, 2)"}, ["k"], bucket=1)
    change = t.alter().set_type("v", "SMALLINT")
    assert change.losses() == []
    change.commit()
    t.alter().set_type("v", "BIGINT").commit()
    assert caplog.messages == []
    t.append([{"k": 1, "v": 100_000, "d": decimal.Decimal("1234.56")}])
    change = t.alter().set_type("v", "SMALLINT").set_type("d", "DECIMAL(5, 2)")
    told = change.losses()
    assert [text.partition(":")[0] for text in told] == [
        "column 'v' was BIGINT and becomes SMALLINT",
        "column 'd' was DECIMAL(10, 2) and becomes DECIMAL(5, 2)",
    ]
    assert all(text.endswith("a compaction makes it so for good") for text in told)
    assert t.to_pylist() == [{"k": 1, "v": 100_000, "d": decimal.Decimal("1234.56")}]
    change.commit()
    assert [message.partition(" table=")[0] for message in caplog.messages] == told
    assert t.to_pylist() == [{"k": 1, "v": -31_072, "d": None}]
    caplog.clear()
    t.alter().set_type("v", "BIGINT").set_type("d", "DECIMAL(12, 2)").commit()
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("chain", "again"),
    [
        (["INT", "STRING", "BYTES"], "STRING"),
        (["DATE", "STRING", "VARCHAR(4)"], None),
        (["INT", "BIGINT", "STRING"], None),
    ],
)
def test_a_chain_of_changes_whose_ends_have_no_cast_is_told(make, chain, again):
    """Each change was allowed by itself, the table could not be read any more, and nothing had said so."""
    value = {"INT": 7, "DATE": dt.date(2024, 1, 2)}[chain[0]]
    t = make({"id": "INT", "c": chain[0]})
    t.append([{"id": 1, "c": value}])
    t.alter().set_type("c", chain[1]).commit()
    change = t.alter().set_type("c", chain[2])
    told = [text for text in change.losses() if "are not read" in text]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        change.commit()
    try:
        t.scan().to_arrow()
    except e.UnsupportedFeature as error:
        assert told, chain
        assert "set the type back" in error.hint
    else:
        assert not told, chain
    if again is not None:
        t.alter().set_type("c", again).commit()
        assert t.scan().to_pylist()[0]["c"] == str(value)


@pytest.mark.parametrize("nested", [False, True], ids=["top level", "in a row"])
@pytest.mark.parametrize(
    "chain", [["INT", "STRING", "BYTES"], ["DATE", "STRING", "VARCHAR(4)"], ["INT", "BIGINT", "STRING"]]
)
def test_a_chain_of_changes_within_one_commit_is_told_as_well(make, caplog, chain, nested):
    """Only schemas before the newest one were looked at, and the files have this one."""
    first, *others = chain
    value = {"INT": 7, "DATE": dt.date(2024, 1, 2)}[first]
    t = make({"id": "INT", "c": f"ROW<x {first}>" if nested else first})
    t.append([{"id": 1, "c": {"x": value} if nested else value}])
    change = t.alter()
    for kind in others:
        change.set_type(["c", "x"] if nested else "c", kind)
    told = [text for text in change.losses() if "are not read" in text]
    caplog.clear()
    change.commit()
    assert told == [message.partition(" table=")[0] for message in caplog.messages if "are not read" in message]
    try:
        t.scan().to_arrow()
    except e.UnsupportedFeature:
        assert told, chain
    else:
        assert not told, chain
