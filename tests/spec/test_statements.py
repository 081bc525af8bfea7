"""DELETE and UPDATE: the keys that are meant, the columns that are named, the rows as they are now."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
import siltstone as st
from siltstone import errors as e


def rows(t, *columns):
    found = t.scan(list(columns) or None).to_arrow().to_pylist()
    return sorted(found, key=lambda row: str(row.values()))


DAY = dt.datetime(2024, 1, 1)
#: The type of the key, a key, and values that are none: rounded or cut they would be that key.
NO_KEYS = [
    ("BIGINT", 1, [1.7, True, "1"]),
    ("DATE", DAY.date(), [DAY.replace(hour=13)]),
    ("DECIMAL(10, 1)", Decimal("1.6"), [Decimal("1.55")]),
    ("TIMESTAMP(3)", DAY, [DAY.replace(microsecond=999)]),
    ("BIGINT", 1, [None]),
]


@pytest.mark.parametrize(("kind", "stored", "given"), NO_KEYS)
@pytest.mark.parametrize("options", [{}, {"changelog_producer": "input"}])
def test_keys_to_delete_are_values_of_the_key(make, kind, stored, given, options):
    """They were rounded and cut to the type of the column: `delete(keys=[{"id": 1.7}])` deleted the row 1."""
    t = make({"id": kind, "v": "INT"}, ["id"], bucket=1, **options)
    t.upsert([{"id": stored, "v": 1}])
    for value in given:
        with pytest.raises((e.SchemaMismatch, e.LengthExceeded, e.NullInKey)):
            t.delete(keys=pa.table({"id": pa.array([value])}))
    assert rows(t, "v") == [{"v": 1}]
    assert t.delete(keys=[{"id": stored}]).affected_rows == 1
    assert rows(t) == []


def test_an_update_of_a_partial_update_table_changes_the_named_columns(make):
    """The whole row was merged with itself: a sum that was not named doubled, and NULL and older values were ignored."""
    options = {"fields.s.sequence-group": "v", "fields.v.aggregate-function": "sum", "fields.g.sequence-group": "a,b"}
    schema = {"id": "INT", "s": "INT", "v": "INT", "g": "INT", "a": "INT", "b": "INT", "w": "STRING"}
    t = make(schema, ["id"], bucket=1, merge_engine="partial-update", **options)
    row = {"id": 1, "s": 1, "v": 10, "g": 5, "a": 1, "b": 2, "w": "x"}
    t.upsert([row])
    t.update({"w": "'y'"}, "id = 1")
    assert rows(t) == [row | {"w": "y"}]
    t.update({"a": "a + 1"}, "id = 1")
    assert rows(t) == [row | {"w": "y", "a": 2}]
    t.update({"g": "g + 1", "b": "NULL"}, "id = 1")
    assert rows(t) == [row | {"w": "y", "a": 2, "g": 6, "b": None}]
    for change in ({"v": "7"}, {"s": "2"}, {"w": "NULL"}, {"g": "g - 1"}, {"g": "NULL"}):
        with pytest.raises(e.InvalidArgument):
            t.update(change, "id = 1")
    assert rows(t) == [row | {"w": "y", "a": 2, "g": 6, "b": None}]


def test_an_update_that_would_lose_to_the_row_that_is_there_is_refused(make):
    """The report said that a row was updated, and the table kept the old one."""
    t = make({"id": "INT", "s": "INT", "v": "INT"}, ["id"], bucket=1, sequence__field="s")
    t.upsert([{"id": 1, "s": 5, "v": 10}])
    for change in ({"s": "3", "v": "99"}, {"s": "NULL"}):
        with pytest.raises(e.InvalidArgument, match="keep the old row"):
            t.update(change, "id = 1")
    t.update({"s": "s + 1", "v": "99"}, "id = 1")
    t.update({"v": "v + 1"}, "id = 1")
    assert rows(t) == [{"id": 1, "s": 6, "v": 100}]


def test_a_quotient_with_more_digits_than_it_can_have_is_an_error(make):
    """`v / 3 * 30000000` of 2.00 was 19999980.00."""
    t = make({"id": "INT", "v": "DECIMAL(10, 2)"}, ["id"], bucket=1)
    t.upsert([{"id": 1, "v": Decimal("2.00")}])
    for value in ("v / 3 * 30000000", "v / 10000000"):
        with pytest.raises(e.SchemaMismatch, match="decimal places"):
            t.update({"v": value}, "id = 1")
    t.update({"v": "v * 3 / 4"}, "id = 1")
    assert rows(t, "v") == [{"v": Decimal("1.50")}]


@pytest.mark.parametrize("key", [["id"], []])
def test_an_update_puts_no_default_in_the_place_of_a_null(make, key):
    t = make({"id": "INT", "v": "INT", "w": "INT"}, key, bucket=1 if key else -1)
    t.append([{"id": 1, "v": None, "w": 1}])
    t.alter().set_default("v", "7").commit()
    t = st.open_table(t.location)
    t.update({"w": "2"}, "id = 1")
    assert rows(t) == [{"id": 1, "v": None, "w": 2}]
    t.update({"w": "NULL", "v": "3"}, "id = 1")
    t.update({"v": "NULL"}, "id = 1")
    assert rows(t) == [{"id": 1, "v": None, "w": None}]


@pytest.mark.parametrize("options", [{"deletion_vectors__enabled": "true"}, {}])
def test_a_statement_sees_the_rows_that_wait_for_a_compaction(make, options):
    """On a table with deletion vectors it read the older row, and wrote it over the newer one."""
    t = make({"id": "INT", "a": "STRING", "b": "STRING"}, ["id"], bucket=1, **options)
    t.upsert([{"id": 1, "a": "x", "b": "old"}])
    st.open_table(t.location, options={"write-only": "true"}).upsert([{"id": 1, "a": "x", "b": "new"}])
    t.update({"a": "'y'"}, "id = 1")
    t.compact(full=True)
    assert rows(t) == [{"id": 1, "a": "y", "b": "new"}]


def test_a_delete_that_removes_nothing_is_refused(make):
    """It reported a row, kept it, and took away the columns of another group."""
    options = {"fields.g.sequence-group": "a", "fields.h.sequence-group": "b"}
    options |= {"partial-update.remove-record-on-sequence-group": "g"}
    t = make(
        {"id": "INT", "g": "INT", "a": "INT", "h": "INT", "b": "INT"},
        ["id"],
        bucket=1,
        merge_engine="partial-update",
        **options,
    )
    t.upsert([{"id": 1, "h": 1, "b": 5}, {"id": 2, "g": 1, "a": 1, "h": 1, "b": 5}])
    for call in ({"where": "id = 1"}, {"keys": [{"id": 1}]}):
        with pytest.raises(e.DeleteNotAllowed, match=r"would remove nothing(?s:.*)upsert the row with a value"):
            t.delete(**call)
    t.delete("id = 2")
    assert rows(t) == [{"id": 1, "g": None, "a": None, "h": 1, "b": 5}]


@pytest.mark.parametrize(
    "options",
    [
        {"scan.mode": "compacted-full"},
        {"scan.mode": "latest-delta"},
        {"incremental-between": "1,2"},
        {"scan.bucket": "0"},
    ],
)
def test_statements_are_refused_where_reads_see_a_part_of_the_table(make, options):
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1)
    t.upsert([{"id": 1, "v": 1}])
    t.upsert([{"id": 2, "v": 2}])
    part = st.open_table(t.location, options=options)
    for call in (lambda: part.delete("id = 1"), lambda: part.update({"v": "3"}, "id = 1")):
        with pytest.raises(e.InvalidOption):
            call()


def test_a_column_gets_one_value(make):
    t = make({"id": "INT", "i": "INT"}, ["id"], bucket=1)
    t.upsert([{"id": 1, "i": 1}])
    with pytest.raises(e.InvalidArgument, match="two values"):
        t.update({"i": "i + 1", "I": "50"}, "id = 1")
    for value in ("DATE '2024-01-01'", "TIME '12:00:00'"):
        with pytest.raises(e.InvalidArgument):
            t.update({"i": value}, "id = 1")


def test_a_message_that_is_given_twice_is_refused_and_its_files_stay(make):
    t = make({"id": "INT"}, ["id"], bucket=1)
    with t.writer() as w:
        w.write([{"id": 1}])
        messages = w.prepare_commit()
    with pytest.raises(e.InvalidArgument, match="twice"):
        t.commit(messages + messages)
    t.commit(messages)
    assert rows(t) == [{"id": 1}]


def test_rows_are_found_in_the_buckets_of_an_older_type(make):
    """The bucket was computed from the new type of the key: rows that had been written before were not found."""
    t = make({"id": "INT", "v": "INT"}, bucket=7, bucket_key="id")
    t.append([{"id": n, "v": n} for n in range(-20, 0)])
    t.alter().set_type("id", "BIGINT").commit()
    t = st.open_table(t.location)
    t.append([{"id": n, "v": n} for n in range(-40, -20)])
    for n in range(-40, 0):
        assert t.scan(filter=f"id = {n}").count() == 1, n
    assert t.delete("id IN (-1, -30)").affected_rows == 2


def test_a_split_is_read_with_the_options_of_its_scan(make):
    """A split of an older version was merged as the options of then said."""
    t = make({"id": "INT", "s": "INT", "v": "INT"}, ["id"], bucket=1, sequence__field="s", write_only="true")
    t.upsert([{"id": 1, "s": 1, "v": 1}])
    t.upsert([{"id": 1, "s": 2, "v": 2}])
    t.alter().set_option("sequence.field.sort-order", "descending").commit()
    t = st.open_table(t.location)
    t.upsert([{"id": 2, "s": 1, "v": 1}])
    scan = t.scan(version=2)
    assert [[row for b in s.read() for row in b["v"].to_pylist()] for s in scan.splits()] == [
        scan.to_arrow()["v"].to_pylist()
    ]


@pytest.mark.parametrize(
    "options",
    [{"deletion_vectors__enabled": "true"}, {"merge_engine": "first-row"}, {}],
    ids=["vectors", "first-row", "plain"],
)
def test_a_partition_is_dropped_with_the_rows_that_wait_for_a_compaction(cat, make, options):
    """Partitions with nothing above level 0 were not found: nothing was dropped, and the rows came with the next compaction."""
    columns = {"id": "INT", "dt": "STRING", "v": "INT"}
    t = make(columns, ["id", "dt"], partition_by=["dt"], bucket=1, write_only="true", **options)
    t.append([{"id": 1, "dt": "a", "v": 1}])
    t.compact(full=True)
    t.append([{"id": 2, "dt": "a", "v": 2}, {"id": 3, "dt": "b", "v": 3}, {"id": 4, "dt": "c", "v": 4}])
    report = t.delete("dt IN ('a', 'b')")
    assert report.affected_rows == (1 if "merge_engine" in options else 3)
    t.compact(full=True)
    assert t.scan().to_arrow().to_pylist() == [{"id": 4, "dt": "c", "v": 4}]


@pytest.mark.parametrize(
    "options",
    [{"scan.snapshot-id": "1"}, {"incremental-between": "1,2"}, {"scan.bucket": "0"}],
    ids=lambda o: next(iter(o)),
)
def test_statistics_are_those_of_the_newest_version(cat, make, options):
    """Those of an older version, or of a part, were committed as the newest."""
    t = make({"id": "INT"}, ["id"], bucket=2)
    for n in range(2):
        t.upsert([{"id": i} for i in range(5 * n, 5 * n + 5)])
    with pytest.raises(e.InvalidOption, match="cannot be analyzed"):
        cat.table(t.name, options=options).maintenance.analyze()
    assert t.maintenance.analyze().snapshot.kind == "ANALYZE"


def test_the_watermark_of_the_end_of_input_is_not_taken_and_forgotten(make):
    with pytest.raises(e.UnsupportedFeature, match=r"'end-input\.watermark'"):
        make({"id": "INT"}, ["id"], bucket=1, end_input__watermark="5")


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("function", ["first_value", "first_non_null_value"])
def test_a_value_that_stays_the_first_one_is_not_made_null_by_a_delete(make, function, compacted):
    """After a -D without values it stayed null, whatever was written."""
    options = {"aggregation.remove-record-on-delete": "true", "fields.a.aggregate-function": function}
    options = {key.replace(".", "__"): value for key, value in options.items()}
    t = make({"k": "INT", "a": "INT"}, ["k"], bucket=1, merge_engine="aggregation", **options)
    t.append([{"k": 1, "a": 5}])
    t.delete("k = 1")
    if compacted:
        t.compact(full=True)
    t.append([{"k": 1, "a": 3}])
    # as Java has it: what comes after a -D begins with its values
    assert rows(t) == [{"k": 1, "a": 3 if compacted else 5}]


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("by", ["condition", "keys", "merge"])
@pytest.mark.parametrize("producer", ["none", "lookup"])
@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
def test_a_deleted_row_does_not_come_back_with_the_next_one_of_its_key(make, engine, producer, by, compacted):
    """What comes after a -D begins with its values, unless a compaction was faster: so it has none."""
    options = {f"{engine}.remove-record-on-delete": "true"}
    if engine == "aggregation":
        options["fields.a.aggregate-function"] = "sum"
    t = make(
        {"k": "INT", "a": "INT", "b": "STRING NOT NULL"},
        ["k"],
        bucket=1,
        merge_engine=engine,
        changelog_producer=producer,
        **{key.replace(".", "__"): value for key, value in options.items()},
    )
    t.append([{"k": 1, "a": 5, "b": "x"}, {"k": 2, "a": 5, "b": "x"}])
    if by == "condition":
        t.delete("k = 1")
    elif by == "keys":
        t.delete(keys=[1])
    else:
        t.merge([{"k": 1}], on="k").when_matched_delete().execute()
    if compacted:
        t.compact(full=True)
    assert rows(t) == [{"k": 2, "a": 5, "b": "x"}]
    t.append([{"k": 1, "a": None, "b": "y"}, {"k": 2, "a": 1, "b": "y"}])
    assert rows(t) == [{"k": 1, "a": None, "b": "y"}, {"k": 2, "a": 6 if engine == "aggregation" else 1, "b": "y"}]


def test_a_conflict_of_the_handle_is_told_at_once(make, cat, caplog):
    """The statement was carried out eleven times, and wrote its files each time."""
    t = make({"id": "INT", "n": "INT"}, ["id"], name="old", bucket=1)
    t.upsert([{"id": 1, "n": 1}])
    cat.table("db.old").rescale(3)
    with caplog.at_level("INFO", "siltstone"), pytest.raises(e.CommitConflict):
        t.update({"n": "n + 1"}, where="id = 1")
    assert sum("others have changed the same rows" in record.message for record in caplog.records) <= 1
    t = cat.table("db.old")
    assert t.update({"n": "n + 1"}, where="id = 1").affected_rows == 1


@pytest.mark.parametrize(
    ("engine", "options", "hint"),
    [
        ("partial-update", {}, "a new table with 'partial-update.remove-record-on-delete' = 'true'"),
        ("partial-update", {"fields.b.sequence-group": "a"}, "whose 'partial-update.remove-record-on-sequence-group'"),
        ("aggregation", {}, "a new table with 'aggregation.remove-record-on-delete' = 'true'"),
    ],
)
def test_a_refused_delete_says_which_option_is_for_new_tables(make, engine, options, hint):
    """The hint said to set it, and setting it was refused: the table has snapshots. With sequence groups no table can have it."""
    t = make({"id": "INT", "a": "INT", "b": "INT"}, ["id"], bucket=1, merge_engine=engine, **options)
    t.upsert([{"id": 1, "a": 1, "b": 1}])
    with pytest.raises(e.DeleteNotAllowed) as raised:
        t.delete("id = 1")
    assert hint in raised.value.hint and "cannot change once there are snapshots" in raised.value.hint
