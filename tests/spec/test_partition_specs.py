"""Partitions of an argument: what names no partition of the table is refused, and never means the whole table.

`t.commit(messages, overwrite={"f0": 1})`, a misspelt key or `{}` replaced the whole table.
"""

import datetime as dt
import decimal

import pyarrow as pa
import pytest
from siltstone import col
from siltstone import errors as e
from siltstone.procedures import Call, run_call

SCHEMA = {"dt": "STRING", "hour": "INT", "id": "INT"}


@pytest.fixture
def t(make):
    t = make(SCHEMA, ["dt", "hour", "id"], ["dt", "hour"], name="p", bucket=1, write_only="true")
    for day in ("a", "b"):
        t.upsert([{"dt": day, "hour": h, "id": 1} for h in (1, 2)])
    return t


def messages(t, *rows):
    with t.writer(overwrite=True) as w:
        w.write(list(rows))
        return w.prepare_commit()


def partitions(t):
    return sorted({(r["dt"], r["hour"]) for r in t.scan().to_arrow().to_pylist()})


ALL = [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
WRONG = {
    "a column in the place of 'partition'": {"dt": "a"},
    "a column that is not there": {"f0": 1},
    "a misspelt key": {"dynamik": True},
    "a misspelt partition": {"partitions": {"dt": "a"}},
    "nothing": {},
    "an empty partition": {"partition": {}},
    "no partition": {"partition": None},
    "no mode": {"dynamic": None},
    "both": {"partition": {"dt": "a"}, "dynamic": True},
    "a known and an unknown key": {"partition": {"dt": "a"}, "where": "id = 1"},
    "a number": 5,
    "a list": [{"dt": "a"}],
    "a partition that is a list": {"partition": [{"dt": "a"}]},
    "a mode that is a text": {"dynamic": "true"},
    "a mode that is a number": {"dynamic": 1},
    "an unknown partition column": {"partition": {"f0": 1}},
    "a column that is no partition column": {"partition": {"id": 1}},
    "a column in capitals": {"partition": {"DT": "a"}},
    "a value of another type": {"partition": {"hour": "noon"}},
    "a value that is a list": {"partition": {"dt": ["a", "b"]}},
    "a value that is half a number": {"partition": {"hour": 1.5}},
    "a value that is too large": {"partition": {"hour": 2**40}},
    "a number as a name": {"partition": {5: "a"}},
}


@pytest.mark.parametrize("overwrite", WRONG.values(), ids=WRONG)
def test_an_overwrite_that_does_not_say_what_it_replaces_is_refused(t, overwrite):
    made = messages(t, {"dt": "a", "hour": 1, "id": 7})
    with pytest.raises(e.InvalidArgument):
        t.commit(made, overwrite=overwrite)
    assert partitions(t) == ALL and t.snapshot().id == 2
    t.commit(made, overwrite={"partition": {"dt": "a", "hour": 1}})  # the messages are as good as before
    assert partitions(t) == ALL and t.scan(filter="id = 7").count() == 1


def test_the_error_names_the_partition_columns(t, make):
    for given in ({"f0": 1}, {}, 5):
        with pytest.raises(e.InvalidArgument) as caught:
            t.commit([], overwrite=given)
        assert "partition columns: dt, hour" in caught.value.hint and caught.value.table == "db.p"
    with pytest.raises(e.InvalidArgument, match="'f0' is not a partition column of db.p") as caught:
        t.commit([], overwrite={"partition": {"f0": 1}})
    assert caught.value.hint == "partition columns: dt, hour"
    with pytest.raises(e.InvalidArgument) as caught:
        make({"id": "INT"}).commit([], overwrite={"partition": {"f0": 1}})
    assert caught.value.hint == "the table is not partitioned"


def test_what_each_overwrite_replaces(t):
    row = {"dt": "a", "hour": 1, "id": 7}
    t.commit(messages(t, row), overwrite={"partition": {"dt": "a"}})
    assert partitions(t) == [("a", 1), ("b", 1), ("b", 2)]
    t.commit(messages(t, row), overwrite={"dynamic": True})
    assert partitions(t) == [("a", 1), ("b", 1), ("b", 2)]
    t.commit(messages(t, row), overwrite={"partition": {}, "dynamic": True})
    assert partitions(t) == [("a", 1), ("b", 1), ("b", 2)]
    t.commit([], overwrite={"dynamic": True})
    assert partitions(t) == [("a", 1), ("b", 1), ("b", 2)]
    t.commit(messages(t, row), overwrite={"dynamic": False})
    assert partitions(t) == [("a", 1)]


def test_rows_that_were_written_to_replace_others_are_not_added(make):
    """Their sequence numbers begin anew: the rows that were there won, and the new ones were gone."""
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, write_only="true")
    for v in range(3):
        t.upsert([{"id": 1, "v": v}])
    made = messages(t, {"id": 1, "v": 9})
    with pytest.raises(e.InvalidArgument, match="written to replace"):
        t.commit(made)
    with t.writer(overwrite=True) as w:
        w.write([{"id": 1, "v": 9}])
        with pytest.raises(e.InvalidArgument, match="written to replace"):
            w.commit()
    t.commit(made, overwrite={"dynamic": False})
    assert t.scan().to_arrow().to_pylist() == [{"id": 1, "v": 9}]


def test_a_table_without_partitions_says_it_too(make):
    t = make({"id": "INT"}, ["id"], bucket=1)
    t.append([{"id": 1}])
    for wrong in ({}, {"partition": {}}, {"partition": {"id": 1}}):
        with pytest.raises(e.InvalidArgument):
            t.commit(messages(t, {"id": 2}), overwrite=wrong)
    t.commit(messages(t, {"id": 2}), overwrite={"dynamic": True})
    assert t.scan().to_arrow().to_pylist() == [{"id": 2}]


SPECS = {
    "an empty list": [],
    "an empty partition": {},
    "an empty partition in a list": [{}],
    "an empty partition beside another": [{"dt": "a"}, {}],
    "an unknown column": [{"f0": "a"}],
    "an unknown column beside a known one": [{"dt": "a"}, {"dt": "a", "f0": "x"}],
    "a column that is no partition column": [{"id": 1}],
    "a value of another type": [{"hour": "noon"}],
    "a value that is a list": [{"dt": ["a"]}],
    "a value that is a dict": [{"dt": {"x": "a"}}],
    "bytes that are no text": [{"dt": b"\xff"}],
    "a text": "dt=a",
    "a number": 5,
    "a list of texts": ["dt=a"],
    "half a character": [{"dt": "\ud800"}],
}


@pytest.mark.parametrize("specs", SPECS.values(), ids=SPECS)
@pytest.mark.parametrize("what", ["truncate", "plan of truncate", "compact", "plan of compact"])
def test_partitions_that_cannot_be_meant_are_refused(t, what, specs):
    use = {
        "truncate": lambda: t.truncate(specs),
        "plan of truncate": lambda: t.truncate(specs, dry_run=True),
        "compact": lambda: t.maintenance.compact(full=True, partitions=specs),
        "plan of compact": lambda: t.maintenance.plan_compaction(partitions=specs),
    }[what]
    with pytest.raises(e.InvalidArgument):
        use()
    assert partitions(t) == ALL and t.snapshot().id == 2


@pytest.mark.parametrize(
    "wrong",
    [[{"dt": "a"}, {"dt": "b"}], [], "", 0, "dt=a", {"f0": 1}, {"hour": "x"}, {"dt": ["a"]}],
    ids=repr,
)
def test_a_partition_of_an_overwrite_is_one_spec(t, wrong):
    """Of a list only the first was taken; what is false, such as an empty list, stood for the whole table."""
    with pytest.raises(e.InvalidArgument):
        t.overwrite([], partition=wrong)
    with pytest.raises(e.InvalidArgument):
        t.overwrite([], partition={"dt": "a"}, dynamic=True)
    for flag in ("false", 0):
        with pytest.raises(e.InvalidArgument, match="neither True nor False"):
            t.overwrite([], dynamic=flag)
    assert partitions(t) == ALL and t.snapshot().id == 2


def test_a_wrong_partition_is_refused_before_rows_are_written(t):
    with pytest.raises(e.InvalidArgument):
        t.overwrite([{"dt": "a", "hour": 1, "id": 1}], partition={"f0": "a"})
    assert t.maintenance.remove_orphan_files(older_than="0s").deleted_files == 0


def test_values_of_every_type_name_their_partition(make):
    values = {
        "a": ("INT", 5, 7),
        "b": ("DATE", dt.date(2026, 11, 20), dt.date(2026, 11, 21)),
        "c": ("BOOLEAN", True, False),
        "d": ("DECIMAL(5, 2)", decimal.Decimal("1.50"), decimal.Decimal("2.50")),
        "e": ("TIMESTAMP(3)", dt.datetime(2026, 1, 1, 12), dt.datetime(2026, 1, 2)),
    }
    for name, (kind, first, second) in values.items():
        t = make({name: kind, "v": "INT"}, (), [name], name=f"v_{name}")
        t.append([{name: first, "v": 1}, {name: second, "v": 2}, {name: None, "v": 3}])
        t.truncate([{name: first}])
        assert sorted(t.scan(["v"]).to_arrow()["v"].to_pylist()) == [2, 3], kind
        t.truncate([{name: None}])
        t.overwrite([{name: second, "v": 4}], partition={name: second})
        assert t.scan(["v"]).to_arrow()["v"].to_pylist() == [4], kind


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(3)"])
def test_the_spec_of_a_partition_names_no_other_one_whatever_its_year(make, kind):
    """As text the years 33658 and 3658 are the same in Java: a drop by the spec of the one took the other one's rows."""
    day, cycle = 616_836, 146_097  # the days of 400 years
    days = [day, day + 75 * cycle, -719_800]
    unit = "us" if "6" in kind else "ms"
    second = {"us": 1_000_000, "ms": 1_000}[unit]
    data_type, values = pa.timestamp(unit, "UTC" if "LTZ" in kind else None), [d * 86_400 * second for d in days]
    if kind == "DATE":
        data_type, values = pa.date32(), days
    elif "0" not in kind:
        values = [value + 7 for value in values]
    t = make({"k": kind, "n": "INT"}, (), ["k"], name="years")
    for rows, value in enumerate(values, 1):
        t.append(pa.table({"k": pa.array([value] * rows, data_type), "n": pa.array([rows] * rows, pa.int32())}))
    specs = {p.rows: p.spec for p in t.partitions()}
    assert len({spec["k"] for spec in specs.values()}) == 3
    left = {1, 2, 3}
    for rows in (2, 3, 1):
        t.drop_partitions(specs[rows])
        left.discard(rows)
        assert set(t.scan(["n"]).to_arrow()["n"].to_pylist()) == left


def test_numbers_of_numpy_are_values(t):
    np = pytest.importorskip("numpy")
    t.truncate([{"hour": np.int64(1)}, {"dt": np.str_("b")}])
    assert partitions(t) == [("a", 2)]


def test_a_call_with_blank_partitions_means_all_of_them(cat, t):
    """As in Java; nothing was compacted, and the call said that it was done."""
    run_call(Call("compact", named={"table": "db.p", "partitions": " "}), cat.table)
    assert {f["level"] for f in t.files()} == {5}


@pytest.mark.parametrize(
    ("data_type", "value", "others"),
    [
        ("STRING", "", [None, "a", "__DEFAULT_PARTITION__"]),
        ("STRING", " ", [None, "", "  "]),
        ("STRING", "__DEFAULT_PARTITION__", [None, ""]),
        ("BYTES", b"\xff", ["\ufffd".encode(), None]),
        ("STRING", None, ["", "null"]),
    ],
)
def test_a_condition_on_partitions_deletes_exactly_those(make, data_type, value, others):
    """It went by the texts of directories, which do not tell all values apart: too little was deleted, or another partition."""
    # Java reads no partitions of bytes under their older names
    t = make({"dt": data_type, "id": "INT"}, partition_by=["dt"], bucket=-1, partition__legacy_name="false")
    t.append([{"dt": value, "id": 0}, *({"dt": other, "id": 1} for other in others)])
    report = t.delete(col("dt").is_null() if value is None else col("dt") == value)
    assert report.affected_rows == 1
    assert t.scan().to_arrow()["id"].to_pylist() == [1] * len(others)


MORNING = dt.datetime(2024, 1, 1)
#: Type, the value of a partition, and values that the column cannot hold: rounded or cut they would be that partition.
ROUNDED = [
    ("DECIMAL(5, 2)", decimal.Decimal("1.01"), [decimal.Decimal("1.005"), "1.005", 1.005, "1.0100001"]),
    ("FLOAT", 16777216.0, [16777217, "16777217", "16777216.0000000001"]),
    ("DOUBLE", 2.0**53, [2**53 + 1, str(2**53 + 1)]),
    ("DATE", dt.date(2024, 1, 1), [dt.datetime(2024, 1, 1, 23), "2024-01-01 23:00:00", "2024-01-01 noon"]),
    ("TIMESTAMP(3)", MORNING, [MORNING.replace(microsecond=900), "2024-01-01 00:00:00.0009"]),
    ("TIMESTAMP(0)", MORNING, [MORNING.replace(microsecond=900_000), "2024-01-01 00:00:00.9"]),
    ("TIMESTAMP(6)", MORNING, ["2024-01-01 00:00:00.000000900"]),
    ("TIMESTAMP_LTZ(3)", MORNING.replace(tzinfo=dt.UTC), [MORNING.replace(microsecond=900, tzinfo=dt.UTC)]),
    ("TIME(3)", dt.time(1), [dt.time(1, 0, 0, 900), "01:00:00.0009"]),
]


@pytest.mark.parametrize(("kind", "stored", "given"), ROUNDED, ids=[kind for kind, _, _ in ROUNDED])
def test_a_value_that_the_column_cannot_hold_names_no_other_partition(make, kind, stored, given):
    """`truncate({"p": Decimal("1.005")})` removed the partition 1.01, and an overwrite replaced it: values were rounded."""
    t = make({"p": kind, "v": "INT"}, partition_by=["p"])
    t.append([{"p": stored, "v": 1}])
    for value in given:
        for use in (
            lambda value=value: t.truncate({"p": value}),
            lambda value=value: t.truncate([{"p": value}], dry_run=True),
            lambda value=value: t.overwrite([], partition={"p": value}),
            lambda value=value: t.commit([], overwrite={"partition": {"p": value}}),
            lambda value=value: t.maintenance.compact(full=True, partitions=[{"p": value}]),
        ):
            with pytest.raises(e.InvalidArgument) as caught:
                use()
            assert caught.value.context["column"] == "p", value
    assert t.scan().count() == 1 and t.snapshot().id == 1
    t.truncate({"p": stored})
    assert t.scan().count() == 0


@pytest.mark.parametrize(
    ("kind", "stored", "given"),
    [
        ("FLOAT", 0.1, [0.1, "0.1", 0.10000000149011612, "1e-1"]),
        ("FLOAT", float("-inf"), [float("-inf"), "-Infinity"]),
        ("DOUBLE", 0.1, [0.1, "0.10", ".1"]),
        ("DECIMAL(5, 2)", decimal.Decimal("1.50"), [decimal.Decimal("1.5"), "1.500", 1.5, "15e-1"]),
        ("DATE", dt.date(2024, 1, 1), ["2024-1-1", "19723", MORNING]),
        ("TIMESTAMP(1)", MORNING.replace(microsecond=10_000), ["2024-01-01T00:00:00.01"]),
        ("TIME(0)", dt.time(1, 0, 0, 500_000), [dt.time(1, 0, 0, 500_000), "01:00:00.5"]),
    ],
)
def test_other_forms_of_a_value_name_its_partition(make, kind, stored, given):
    """Refusing what is rounded must not refuse the forms that mean the same value."""
    t = make({"p": kind, "v": "INT"}, partition_by=["p"])
    for value in [stored, *given]:
        t.append([{"p": stored, "v": 1}])
        t.truncate({"p": value})
        assert t.scan().count() == 0, value


@pytest.mark.parametrize("kind", ["BYTES", "BINARY(2)"])
def test_bytes_that_are_no_text_are_never_taken_for_others(make, kind):
    """Java shows all of them as U+FFFD, and so do we: what is shown of one dropped nothing, or the partition that has these
    characters as its bytes."""
    t = make({"p": kind, "v": "INT"}, [], ["p"], partition__legacy_name="false")
    values = [b"\xff", b"ab", "\ufffd".encode()[:2]] + ([] if kind == "BINARY(2)" else ["\ufffd".encode()])
    t.append([{"p": value, "v": at} for at, value in enumerate(values)])
    for partition in (t.partitions()[-1].spec, {"p": "\ufffd"}, {"p": b"\xff"}):
        for use in (
            lambda spec: t.drop_partitions(spec),
            lambda spec: t.compact(partitions=[spec]),
            lambda spec: t.overwrite([{"p": b"ab", "v": 9}], partition=spec),
        ):
            with pytest.raises(e.InvalidArgument) as refused:
                use(partition)
            assert "p = X'ff" in str(refused.value)
    assert t.count() == len(values) and t.snapshot().id == 1
    for value in values:
        t.delete(f"p = X'{value.hex()}'")
        assert value not in t.scan().to_arrow()["p"].to_pylist()
    assert t.snapshot().id == 1 + len(values) and t.snapshot().kind == "OVERWRITE"


def test_bytes_that_are_a_text_are_named_by_it(make):
    t = make({"p": "BYTES", "v": "INT"}, [], ["p"], partition__legacy_name="false")
    t.append([{"p": value, "v": 1} for value in (b"ab", "\u65e5".encode())])
    t.drop_partitions({"p": b"ab"})
    t.drop_partitions(t.partitions()[0].spec)
    assert t.count() == 0
