"""Another number of buckets for tables and partitions that have rows."""

import pytest
import siltstone as st
from siltstone import errors as e

SCHEMA = {"p": "INT", "k": "INT", "v": "STRING"}


@pytest.fixture
def t(make):
    t = make(SCHEMA, ["p", "k"], ["p"], bucket=2)
    t.upsert([{"p": k % 2, "k": k, "v": "a"} for k in range(60)])
    return t


def rows(t):
    found = t.scan().to_arrow().to_pylist()
    by_key = {(r["p"], r["k"]): r["v"] for r in found}
    assert len(by_key) == len(found)
    return by_key


def buckets(t):
    found = {}
    for r in t.inspect("buckets").to_arrow().to_pylist():
        found.setdefault(r["partition"], set()).add(r["bucket"])
    return found


def clean(t):
    assert t.maintenance.fsck(deep=True).problems == []


def test_a_table_gets_another_number_of_buckets_and_new_rows_go_into_them(t):
    before = rows(t)
    plan = t.rescale(3, dry_run=True)
    assert (plan.snapshots, plan.rows) == ([], 60)
    assert plan.notes == [
        "the option 'bucket' would get the value 3 instead of 2",
        "p=0 would get 3 buckets instead of 2",
        "p=1 would get 3 buckets instead of 2",
    ]
    assert t.options["bucket"] == "2"
    report = t.rescale(3)
    assert (report.snapshot.kind, report.rows) == ("OVERWRITE", 60)
    assert t.options["bucket"] == "3"
    assert rows(t) == before
    assert buckets(t) == {"{0}": {0, 1, 2}, "{1}": {0, 1, 2}}
    t.upsert([{"p": 0, "k": 0, "v": "b"}, {"p": 2, "k": 0, "v": "b"}])
    t.compact(full=True)
    assert rows(t) == before | {(0, 0): "b", (2, 0): "b"}
    assert t.rescale(3).snapshots == []
    clean(t)


def test_one_partition(t):
    before = rows(t)
    report = t.rescale(5, {"p": 1})
    assert any("refused as long as the option 'bucket' is 2" in note for note in report.notes)
    assert (buckets(t)["{0}"], len(buckets(t)["{1}"]), rows(t)) == ({0, 1}, 5, before)
    with pytest.raises(e.CommitConflict, match="previous bucket num is 5") as raised:
        t.upsert([{"p": 1, "k": 1, "v": "b"}])
    assert "t.rescale(2)" in raised.value.hint
    t.upsert([{"p": 0, "k": 2, "v": "b"}])
    t.compact(full=True)
    # the rows are found by the number of their own files
    assert t.scan(filter="p = 1 AND k = 7").count() == 1
    # with the number of the option
    assert t.rescale(where="p = 1").notes == ["p=1 got 2 buckets instead of 5"]
    t.upsert([{"p": 1, "k": 1, "v": "b"}])
    assert rows(t) == before | {(0, 2): "b", (1, 1): "b"}
    clean(t)


def test_rows_are_refused_after_the_option_has_changed_until_the_table_is_rescaled(t):
    t.alter().set_option("bucket", "4").commit()
    with pytest.raises(e.CommitConflict) as raised:
        t.upsert([{"p": 1, "k": 1, "v": "b"}])
    assert "t.rescale(4)" in raised.value.hint
    t.rescale()
    t.upsert([{"p": 1, "k": 1, "v": "b"}])
    assert rows(t)[1, 1] == "b"


def test_rows_of_a_writer_that_was_opened_before_are_refused_and_not_lost(t):
    with t.writer() as w:
        w.write([{"p": 0, "k": 100, "v": "late"}])
        t.rescale(3)
        with pytest.raises(e.CommitConflict):
            w.commit()
        w.discard()
    assert len(rows(t)) == 60


@pytest.mark.parametrize(
    "options",
    [
        {"merge_engine": "partial-update"},
        {"merge_engine": "aggregation", "fields__n__aggregate_function": "sum"},
        {"merge_engine": "aggregation", "fields__n__aggregate_function": "count"},
        {"merge_engine": "first-row"},
        {"changelog_producer": "lookup"},
        {"changelog_producer": "full-compaction"},
        {"deletion_vectors__enabled": "true"},
        {"sequence__field": "n"},
    ],
    ids=lambda options: "-".join(options.values()),
)
def test_rows_are_what_they_were(make, options):
    t = make({"k": "INT", "n": "INT", "v": "STRING"}, ["k"], bucket=2, **options)
    for turn in range(3):
        t.upsert([{"k": k % 7, "n": (turn * 5 + k) % 11, "v": f"{turn} {k}"} for k in range(turn, 9)])
    before = sorted(map(str, t.scan().to_arrow().to_pylist()))
    for number in (5, 1, 3):
        if options.get("changelog_producer") == "full-compaction":
            t.compact(full=True)  # which tells of the rows
        t.rescale(number)
        assert sorted(map(str, t.scan().to_arrow().to_pylist())) == before
        clean(t)


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_rows_of_which_a_compaction_is_to_tell_are_told_of_first(make, producer):
    """An overwrite tells of nothing: their changes were in no changelog, whatever was compacted later."""
    t = make({"k": "INT", "v": "INT"}, ["k"], bucket=1, write_only="true", changelog_producer=producer)
    t.upsert([{"k": k, "v": 100} for k in range(5)])
    t.compact(full=True)
    start = t.snapshot().id
    t.upsert([{"k": 1, "v": 5}, {"k": 9, "v": 9}])
    for plan in (True, False):
        with pytest.raises(e.InvalidArgument, match="2 records wait for a compaction") as refused:
            t.rescale(2, dry_run=plan)
    assert "t.compact(" in refused.value.hint and t.options["bucket"] == "1"
    t.compact(full=True)
    t.rescale(2)
    told = t.scan(between=(start, t.snapshot().id), mode="changelog", row_kind=True).to_pylist()
    assert {(row["k"], row["v"]) for row in told if row["rowkind"] in ("+I", "+U")} == {(1, 5), (9, 9)}
    clean(t)


@pytest.mark.parametrize("own", [{"sequence.field": "v"}, {"ignore-delete": "true"}, {"changelog-producer": "input"}])
def test_a_handle_that_may_not_write_rows_anew_leaves_the_option_alone(make, cat, own):
    """The option had its new value by then, and every writer was refused."""
    t = make({"k": "INT", "v": "INT"}, ["k"], name="own", bucket=2)
    t.upsert([{"k": 1, "v": 1}])
    for plan in (True, False):
        with pytest.raises(e.InvalidOption, match=next(iter(own))):
            cat.table("db.own", options=own).rescale(3, dry_run=plan)
    t = cat.table("db.own")
    assert t.options["bucket"] == "2"
    t.upsert([{"k": 2, "v": 2}])


def test_deleted_rows_do_not_come_back_and_an_empty_partition_changes_too(t):
    t.delete(keys=[{"p": 1, "k": k} for k in range(1, 60, 2)])
    t.delete(keys=[{"p": 0, "k": 0}])
    t.rescale(3)
    assert set(rows(t)) == {(0, k) for k in range(2, 60, 2)}
    assert set(buckets(t)) == {"{0}"}
    t.upsert([{"p": 1, "k": 1, "v": "b"}])
    assert rows(t)[1, 1] == "b"
    clean(t)


def test_append_tables_with_buckets(make):
    t = make(SCHEMA, [], ["p"], bucket=2, bucket_key="k")
    t.append([{"p": k % 2, "k": k, "v": "a"} for k in range(20)])
    t.rescale(4)
    t.append([{"p": 0, "k": 1, "v": "b"}])
    assert t.scan().count() == 21
    assert t.scan(filter="k = 1").count() == 2
    clean(t)


def test_rows_that_wait_for_buckets_stay_where_they_are(make):
    t = make(SCHEMA, ["p", "k"], ["p"], bucket=-2)
    t.upsert([{"p": k % 2, "k": k, "v": "a"} for k in range(60)])
    t.compact()
    t.upsert([{"p": 0, "k": 0, "v": "b"}])
    with pytest.raises(e.InvalidArgument, match="a number of buckets is needed"):
        t.rescale()
    report = t.rescale(3, {"p": 0})
    assert report.notes == [
        "p=0 got 3 buckets instead of 1",
        "1 rows wait in bucket-postpone and stay there: run t.compact()",
    ]
    assert (buckets(t)["{0}"] - {-2}, buckets(t)["{1}"], t.options["bucket"]) == ({0, 1, 2}, {0}, "-2")
    assert rows(t)[0, 0] == "a"
    t.compact()
    assert rows(t)[0, 0] == "b"
    assert buckets(t)["{0}"] == {0, 1, 2}
    clean(t)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda t: t.rescale(0), e.InvalidArgument, "buckets"),
        (lambda t: t.rescale(2**31), e.InvalidArgument, "2147483648"),
        (lambda t: t.rescale(3, {"k": 1}), e.InvalidArgument, "'k' is not a partition column"),
        (lambda t: t.rescale(3, where="v = 'a'"), e.InvalidArgument, "'v' is not a partition column"),
        (lambda t: t.rescale(3, []), e.InvalidArgument, "names no partition"),
    ],
)
def test_what_cannot_be_is_refused(t, call, kind, text):
    with pytest.raises(kind, match=text):
        call(t)
    assert (t.options["bucket"], len(rows(t))) == ("2", 60)


def test_tables_without_a_number_of_buckets_are_refused(make):
    for key, name in ((["k"], "dynamic"), ([], "append")):
        t = make({"k": "INT"}, key, name=name)
        with pytest.raises(e.InvalidArgument, match="no number of buckets"):
            t.rescale(3)


def test_a_handle_with_a_number_of_its_own_leaves_option_and_files_agreed(t):
    """The files got the handle's number and the option kept its own; or the handle could not write any more."""
    own = st.open_table(t.location, options={"bucket": "3"})
    for call in (lambda: own.rescale(4), lambda: own.rescale(4, dry_run=True)):
        with pytest.raises(e.InvalidArgument, match="'bucket' = 3 for itself") as raised:
            call()
        assert "'bucket' = '4'" in raised.value.hint
    assert own.rescale().notes[0] == "the option 'bucket' got the value 3 instead of 2"
    for handle in (own, st.open_table(t.location)):
        handle.upsert([{"p": 1, "k": 1, "v": "b"}])
    assert buckets(t) == {"{0}": {0, 1, 2}, "{1}": {0, 1, 2}}
    # partitions get any number
    own.rescale(5, {"p": 1})
    clean(t)


def test_partitions_that_are_not_there_are_said(t):
    for report in (t.rescale(5, {"p": 7}), t.rescale(5, where="p > 7", dry_run=True)):
        assert report.notes == ["no partition with files is among those that were named: nothing is rescaled"]
    assert "nothing is rescaled" not in str(t.rescale(2, {"p": 1}).notes)


def test_a_rollback_over_a_rescale_says_that_option_and_files_disagree(t):
    t.rescale(3)
    t.upsert([{"p": 5, "k": 1, "v": "b"}])
    assert not any("numbers of buckets" in note for note in t.rollback(version=2, dry_run=True).notes)
    expected = "2 partitions have other numbers of buckets than the option 'bucket', which stays 3"
    for dry_run in (True, False):
        assert any(note.startswith(expected) for note in t.rollback(version=1, dry_run=dry_run).notes)
    with pytest.raises(e.CommitConflict, match="previous bucket num is 2"):
        t.upsert([{"p": 1, "k": 1, "v": "b"}])
    t.rescale()
    t.upsert([{"p": 1, "k": 1, "v": "b"}])
    clean(t)


def test_rows_have_no_routes_without_a_number_of_buckets(make):
    for key, part, bucket, text in (
        (["id"], [], -1, "dynamic"),
        (["id"], ["p"], -1, "cross-partition"),
        (["id"], [], -2, "postponed"),
        ([], [], -1, "unaware"),
    ):
        t = make({"id": "INT", "p": "INT"}, key, part, name=f"routes_{text.partition('-')[0]}", bucket=bucket)
        with pytest.raises(e.InvalidArgument, match=text) as raised:
            t.routes([{"id": 1, "p": 1}])
        assert raised.value.hint


def test_an_overwrite_after_the_option_has_changed_rescales_its_partitions(t):
    """Java's INSERT OVERWRITE."""
    t.alter().set_option("bucket", "4").commit()
    t = st.open_table(t.location)
    t.overwrite([{"p": 0, "k": k, "v": "b"} for k in range(60)], partition={"p": 0})
    t.upsert([{"p": 0, "k": 99, "v": "b"}])
    with pytest.raises(e.CommitConflict, match="previous bucket num is 2"):
        t.upsert([{"p": 1, "k": 99, "v": "b"}])
    assert buckets(t) == {"{0}": {0, 1, 2, 3}, "{1}": {0, 1}}
    clean(t)


def test_rows_of_append_tables_are_refused_too(make):
    t = make(SCHEMA, [], ["p"], bucket=2, bucket_key="k")
    t.append([{"p": 0, "k": k, "v": "a"} for k in range(20)])
    t.alter().set_option("bucket", "4").commit()
    with pytest.raises(e.CommitConflict) as raised:
        t.append([{"p": 0, "k": 99, "v": "a"}])
    assert "t.rescale(4)" in raised.value.hint
