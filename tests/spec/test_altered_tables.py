"""Handles, writers and streams that were opened before somebody else's ``alter``.

They know the older columns. What they write again of newer rows would lose the new ones, without an error: it is given up.
"""

from decimal import Decimal

import pytest
from siltstone import errors as e

LONG = 2**31 + 5
WIDENED = [
    ("INT", "BIGINT", 1, LONG),
    ("VARCHAR(3)", "STRING", "abc", "abcdef"),
    ("DECIMAL(4,2)", "DECIMAL(10,2)", Decimal("1.00"), Decimal("12345.67")),
]
CHANGED = [*WIDENED, ("INT", "STRING", 1, "text")]


@pytest.fixture
def catalog(tmp_path):
    import siltstone as st

    cat = st.connect(str(tmp_path / "lake"))
    cat.create_database("d")
    return cat


def made(catalog, columns, key=("id",), **options):
    options = {name.replace("_", "-").replace("--", "."): value for name, value in options.items()}
    return catalog.create_table("d.t", columns, primary_key=list(key) or None, options=options)


def rows(catalog):
    return sorted(catalog.table("d.t").scan().to_arrow().to_pylist(), key=lambda row: row["id"])


def row(catalog, key):
    return next(row for row in rows(catalog) if row["id"] == key)


@pytest.mark.parametrize(("old", "new", "small", "large"), CHANGED)
def test_a_writer_that_compacts_leaves_newer_rows_alone(catalog, old, new, small, large):
    """Its compaction took them in under its own columns: 2147483653 was -2147483643 afterwards, and a text
    stopped the writer."""
    columns = {"id": "BIGINT", "v": old}
    t = made(catalog, columns, bucket="1", **{"num-sorted-run.compaction-trigger": "3"})
    with t.writer() as w:
        w.write([{"id": 3, "v": small}])
        w.commit()
        catalog.table("d.t").alter().set_type("v", new).add_column("n", "STRING").commit()
        quiet = catalog.table("d.t", options={"write-only": "true"})
        quiet.upsert([{"id": 2, "v": large, "n": "keep"}])
        notes = []
        for key in range(10, 16):
            w.write([{"id": key, "v": small}])
            notes += w.commit().notes
    assert any("was altered" in note for note in notes)
    assert row(catalog, 2) == {"id": 2, "v": large, "n": "keep"}
    assert [line["id"] for line in rows(catalog)] == [2, 3, *range(10, 16)]
    # whoever opens it anew compacts everything
    assert not catalog.table("d.t").compact(full=True).notes
    assert row(catalog, 2) == {"id": 2, "v": large, "n": "keep"}
    assert catalog.table("d.t").maintenance.fsck(deep=True).ok


@pytest.mark.parametrize("key", [("id",), ()])
def test_a_compaction_by_an_older_handle_is_given_up(catalog, key):
    t = made(catalog, {"id": "BIGINT", "v": "INT"}, key, bucket="1" if key else "-1", **{"write-only": "true"})
    t.append([{"id": 1, "v": 1}])
    catalog.table("d.t").alter().set_type("v", "BIGINT").commit()
    catalog.table("d.t").append([{"id": 2, "v": LONG}])
    t.append([{"id": 3, "v": 3}])
    report = t.compact(full=True)
    assert any("was altered" in note for note in report.notes)
    assert [line["v"] for line in rows(catalog)] == [1, LONG, 3]


def test_a_compaction_goes_on_when_columns_stay_as_they_were(catalog):
    """Options, comments, and columns that went are no reason to give up."""
    t = made(catalog, {"id": "BIGINT", "v": "INT", "x": "INT"}, bucket="1", **{"write-only": "true"})
    t.upsert([{"id": 1, "v": 1, "x": 1}])
    catalog.table("d.t").alter().set_option("snapshot.num-retained.max", "77").drop_column("x").commit()
    catalog.table("d.t").upsert([{"id": 2, "v": 2}])
    report = t.compact(full=True)
    assert not report.notes
    assert rows(catalog) == [{"id": 1, "v": 1}, {"id": 2, "v": 2}]


@pytest.mark.parametrize("vectors", ["false", "true"])
def test_statements_of_an_older_handle_do_not_erase_new_columns(catalog, vectors):
    """DELETE of another row rewrote the file: n was null in the rows that stayed."""
    t = made(catalog, {"id": "BIGINT", "v": "INT"}, (), bucket="-1", **{"deletion-vectors.enabled": vectors})
    t.append([{"id": 1, "v": 1}])
    catalog.table("d.t").alter().add_column("n", "STRING").commit()
    catalog.table("d.t").append([{"id": 2, "v": 2, "n": "keep"}, {"id": 3, "v": 3, "n": "gone"}])
    for statement in (lambda: t.delete("id = 3"), lambda: t.update({"v": "9"}, "id = 2")):
        with pytest.raises(e.CommitConflict, match="was altered"):
            statement()
    assert [line["n"] for line in rows(catalog)] == [None, "keep", "gone"]
    assert catalog.table("d.t").delete("id = 3").affected_rows == 1
    assert row(catalog, 2) == {"id": 2, "v": 2, "n": "keep"}


def test_an_update_of_keys_by_an_older_handle_does_not_erase_new_columns(catalog):
    t = made(catalog, {"id": "BIGINT", "v": "INT"}, bucket="1")
    t.upsert([{"id": 1, "v": 1}])
    catalog.table("d.t").alter().add_column("n", "STRING").commit()
    catalog.table("d.t").upsert([{"id": 2, "v": 2, "n": "keep"}])
    with pytest.raises(e.CommitConflict, match="open the table again"):
        t.update({"v": "9"}, "id = 2")
    assert t.update({"v": "9"}, "id = 1").affected_rows in (0, 1)
    assert row(catalog, 2) == {"id": 2, "v": 2, "n": "keep"}


@pytest.mark.parametrize("lookup", [{"changelog-producer": "lookup"}, {"force-lookup": "true"}], ids=str)
def test_partial_updates_of_an_older_writer_keep_new_columns(catalog, lookup):
    """With `force-lookup` compactions look keys up as well: n was null in the row that they made."""
    options = {"merge-engine": "partial-update", **lookup}
    t = made(catalog, {"id": "BIGINT", "v": "INT"}, bucket="1", **options)
    with t.writer() as w:
        w.write([{"id": 1, "v": 1}])
        w.commit()
        catalog.table("d.t").alter().add_column("n", "STRING").commit()
        catalog.table("d.t").upsert([{"id": 1, "v": None, "n": "keep"}])
        w.write([{"id": 1, "v": 5}])
        w.commit()
    catalog.table("d.t").compact(full=True)
    assert rows(catalog) == [{"id": 1, "v": 5, "n": "keep"}]


@pytest.mark.parametrize(("old", "new", "small", "large"), [*WIDENED, ("INT", "STRING", 1, "zz")])
def test_a_stream_does_not_cut_values_of_a_widened_column(catalog, old, new, small, large):
    """300 was 44, and a condition passed over rows; a consumer never saw them again."""
    t = made(catalog, {"id": "BIGINT", "v": old}, (), bucket="-1")
    t.append([{"id": 1, "v": small}])
    stream = iter(t.changes(follow=True, consumer="c"))
    assert len(next(stream).to_pylist()) == 1
    catalog.table("d.t").alter().set_type("v", new).commit()
    catalog.table("d.t").append([{"id": 2, "v": large}])
    with pytest.raises(e.SchemaMismatch, match="open the table again"):
        next(stream)
    again = iter(catalog.table("d.t").changes(follow=True, consumer="c"))
    seen = []
    while not any(line["id"] == 2 for line in seen):
        seen += next(again).to_pylist()
    assert seen[-1]["v"] == large


def test_a_stream_goes_on_where_others_add_columns(catalog):
    t = made(catalog, {"id": "BIGINT", "v": "INT"}, (), bucket="-1")
    t.append([{"id": 1, "v": 1}])
    stream = iter(t.changes(follow=True))
    next(stream)
    catalog.table("d.t").alter().add_column("n", "STRING").commit()
    catalog.table("d.t").append([{"id": 2, "v": 2, "n": "x"}])
    assert [(line["id"], line["v"]) for line in next(stream).to_pylist()] == [(2, 2)]


def test_the_read_optimized_view_of_changes_has_no_rows_of_lower_levels(catalog):
    """`$ro` with `incremental-between` read level 0; Java gives no rows."""
    t = made(catalog, {"id": "BIGINT", "v": "INT"}, bucket="1", **{"write-only": "true"})
    for key in (1, 2):
        t.upsert([{"id": key, "v": key}])
    for mode in ("delta", "diff"):
        options = {"incremental-between": "1,2", "incremental-between-scan-mode": mode}
        assert catalog.table("d.t$ro", options=options).scan().to_arrow().num_rows == 0
    catalog.table("d.t").compact(full=True)
    assert catalog.table("d.t$ro").scan().to_arrow().num_rows == 2


@pytest.mark.parametrize("system", ["files", "file_key_ranges", "manifests", "partitions", "buckets"])
def test_what_lies_between_two_versions_is_refused_by_tables_of_one_version(catalog, system):
    """They gave the files of the newest version without a word."""
    t = made(catalog, {"id": "BIGINT", "v": "INT"}, bucket="1")
    t.upsert([{"id": 1, "v": 1}])
    table = catalog.table("d.t", options={"incremental-between": "0,1"})
    with pytest.raises(e.UnsupportedFeature, match="one version"):
        table.inspect(system).to_arrow()


def test_a_text_that_became_a_time_is_rounded_as_java_rounds_it(catalog):
    """The fourth digit counts: 1:2:3.4565 was 01:02:03.456, and Java reads 01:02:03.457."""
    t = made(catalog, {"id": "BIGINT", "v": "STRING"}, (), bucket="-1")
    texts = ["1:2:3.4564999", "1:2:3.4565", "1:2:3.9996", "23:59:59.9996"]
    t.append([{"id": at, "v": text} for at, text in enumerate(texts)])
    catalog.table("d.t").alter().set_type("v", "TIME(3)").commit()
    times = [str(line["v"]) for line in rows(catalog)]
    assert times == ["01:02:03.456000", "01:02:03.457000", "01:02:04", "23:59:59.999000"]


RULES = {
    "sequence field": ({}, lambda a: a.set_option("sequence.field", "g"), (9, 90)),
    "sort order": (
        {"sequence.field": "g"},
        lambda a: a.set_option("sequence.field.sort-order", "descending"),
        (5, 50),
    ),
    "sequence group": (
        {"merge-engine": "partial-update"},
        lambda a: a.set_option("fields.g.sequence-group", "v"),
        (9, 90),
    ),
    "function": (
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "last_value"},
        lambda a: a.set_option("fields.v.aggregate-function", "max"),
        (5, 90),
    ),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("producer", ["none", "lookup"])
@pytest.mark.parametrize("how", ["compact", "plan", "writer", "update", "delete", "keys"])
def test_nobody_merges_by_a_rule_that_was_altered(catalog, rule, producer, how):
    """Compactions of older handles kept the row that had lost; statements of theirs changed a row that lost, and nothing."""
    options, alter, (g, v) = RULES[rule]
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "3", **options, "changelog-producer": producer}
    t = catalog.create_table("d.t", {"id": "INT", "g": "INT", "v": "INT"}, primary_key=["id"], options=options)
    writer = t.writer()
    writer.write([{"id": 8, "g": 1, "v": 1}])
    writer.commit()
    alter(catalog.table("d.t").alter()).commit()
    quiet = catalog.table("d.t", options={"write-only": "true"})
    for row_g, row_v in ((9, 90), (5, 50)):
        quiet.upsert([{"id": 1, "g": row_g, "v": row_v}])
    shown = {"id": 1, "g": g, "v": v}
    assert row(catalog, 1) == shown
    notes = []
    if how == "compact":
        notes = t.compact(full=True).notes
    elif how == "plan":
        plan = t.maintenance.plan_compaction(full=True)
        notes = t.compact(plan).notes
    elif how == "writer":
        for key in range(10, 15):
            writer.write([{"id": key, "g": 1, "v": 1}])
            notes += writer.commit().notes
    else:
        statement = {
            "update": lambda: t.update({"v": "v + 1"}, "id = 1"),
            "delete": lambda: t.delete("id = 1"),
            "keys": lambda: t.delete(keys=[{"id": 1}]),
        }[how]
        with pytest.raises(e.SiltstoneError, match="was altered|merge engine"):
            statement()
    assert any("are merged otherwise" in note for note in notes) or how in ("update", "delete", "keys")
    assert row(catalog, 1) == shown
    assert not catalog.table("d.t").compact(full=True).notes
    assert row(catalog, 1) == shown


def test_values_of_another_type_are_not_compared_as_what_they_were(catalog):
    """Readers gave 10 from the alter on, and the compaction of an older handle 9, which is the greater text."""
    options = {"bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "max", "write-only": "true"}
    t = catalog.create_table("d.t", {"id": "INT", "v": "STRING"}, primary_key=["id"], options=options)
    for value in ("10", "9"):
        t.upsert([{"id": 1, "v": value}])
    plan = t.maintenance.plan_compaction(full=True)
    messages = [task.run() for task in plan.tasks]
    catalog.table("d.t").alter().set_type("v", "INT").commit()
    assert row(catalog, 1) == {"id": 1, "v": 10}
    assert any("with 'v', records of one key are merged otherwise" in note for note in t.compact(full=True).notes)
    for handle in (t, catalog.table("d.t")):
        assert handle.maintenance.commit_compaction(messages).notes
        assert row(catalog, 1) == {"id": 1, "v": 10}
    assert not catalog.table("d.t").compact(full=True).notes
    assert row(catalog, 1) == {"id": 1, "v": 10}


@pytest.mark.parametrize("key", [("id",), ()])
@pytest.mark.parametrize("how", ["handle", "writer", "messages", "messages of others"])
def test_nulls_are_not_committed_into_a_column_that_became_not_null(catalog, key, how):
    """The commit was reported, and from then on the column could not be read any more, by anybody."""
    options = {"bucket": "1" if key else "-1", "alter-column-null-to-not-null.disabled": "false"}
    t = catalog.create_table("d.t", {"id": "INT", "v": "INT"}, primary_key=list(key) or None, options=options)
    t.append([{"id": 1, "v": 1}])
    writer = t.writer()

    def prepared(value):
        with t.writer() as w:
            w.write([{"id": 2, "v": value}])
            return w.prepare_commit()

    messages = {value: prepared(value) for value in (None, 2)}
    catalog.table("d.t").alter().set_nullable("v", False).commit()

    def commit(value):
        if how == "handle":
            return t.append([{"id": 2, "v": value}])
        if how == "writer":
            writer.write([{"id": 2, "v": value}])
            return writer.commit()
        return (t if how == "messages" else catalog.table("d.t")).commit(messages[value])

    with pytest.raises(e.CommitConflict, match="column 'v' was made NOT NULL"):
        commit(None)
    writer.discard()
    commit(2)
    assert rows(catalog) == [{"id": 1, "v": 1}, {"id": 2, "v": 2}]
    t.delete("id = 1")
    assert rows(catalog) == [{"id": 2, "v": 2}]


@pytest.mark.parametrize("producer", ["input", "lookup", "full-compaction"])
def test_a_stream_says_that_the_changelog_has_ended(catalog, producer):
    """It went on without the rows of later commits, and its consumer, too: nobody was handed them."""
    t = catalog.create_table(
        "d.t", {"id": "INT"}, primary_key=["id"], options={"bucket": "1", "changelog-producer": producer}
    )
    t.upsert([{"id": 1}])
    t.compact(full=True)
    stream = t.changes(start="full", consumer="c", follow=True)
    assert next(stream).to_pylist() == [{"rowkind": "+I", "id": 1}]
    catalog.table("d.t").alter().set_option("changelog-producer", "none").commit()
    catalog.table("d.t").upsert([{"id": 2}])
    with pytest.raises(e.SchemaMismatch, match="'changelog-producer' is another one"):
        next(stream)
    again = catalog.table("d.t").changes(consumer="c")
    assert [found["id"] for batch in again for found in batch.to_pylist()] == [2]


def test_rows_do_not_come_without_the_changelog_that_a_table_asks_for(catalog):
    """The writer of an older handle went on without one: streams never saw its rows."""
    t = catalog.create_table("d.t", {"id": "INT"}, primary_key=["id"], options={"bucket": "1"})
    t.upsert([{"id": 1}])
    catalog.table("d.t").alter().set_option("changelog-producer", "input").commit()
    with pytest.raises(e.CommitConflict, match="'changelog-producer' became 'input'"):
        t.upsert([{"id": 2}])
    catalog.table("d.t").upsert([{"id": 3}])
    assert [line["id"] for line in rows(catalog)] == [1, 3]


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_a_compaction_by_an_older_handle_leaves_rows_to_one_that_tells_of_them(catalog, producer):
    t = catalog.create_table("d.t", {"id": "INT"}, primary_key=["id"], options={"bucket": "1"})
    t.upsert([{"id": 1}])
    catalog.table("d.t").alter().set_option("changelog-producer", producer).commit()
    quiet = catalog.table("d.t", options={"write-only": "true"})
    quiet.upsert([{"id": 2}])
    assert t.compact(full=True).notes
    catalog.table("d.t").compact(full=True)
    seen = [found["id"] for batch in catalog.table("d.t").changes(start=2) for found in batch.to_pylist()]
    assert 2 in seen


def test_tasks_of_one_spark_job_write_under_one_schema(catalog):
    """Each took the newest one: columns of some rows ended up in other columns than those of the rest."""
    pytest.importorskip("pyspark")
    import pickle

    import pyarrow as pa
    from siltstone.spark.source_writer import Writer

    t = catalog.create_table("d.t", {"id": "INT", "v": "INT", "x": "INT"})
    writer = Writer(t, None, None)

    def task():
        batch = pa.record_batch(
            {"id": [1], "v": [1], "x": [10]}, pa.schema(dict.fromkeys(("id", "v", "x"), pa.int32()))
        )
        return pickle.loads(pickle.dumps(writer)).write(iter([batch]))

    task()
    alter = catalog.table("d.t").alter()
    alter.rename_column("v", "y").rename_column("x", "v").rename_column("y", "x").commit()
    with pytest.raises(e.CommitConflict, match="altered while the job ran"):
        task()
