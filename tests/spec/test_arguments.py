"""Arguments of a wrong type: an exception of siltstone that quotes what was given, never a bare TypeError."""

import pytest
import siltstone as st
from siltstone import errors as e

CALLS = {
    "connect to a number": lambda cat, t: st.connect(5),
    "catalog options that are no dict": lambda cat, t: st.connect(cat.warehouse, options=5),
    "open a number": lambda cat, t: st.open_table(5),
    "options that are no dict": lambda cat, t: st.open_table(t.location, options=["a"]),
    "a branch that is no text": lambda cat, t: st.open_table(t.location, branch=5),
    "a table that is no text": lambda cat, t: cat.table(5),
    "a database that is no text": lambda cat, t: cat.tables(5),
    "a key that is one text": lambda cat, t: cat.create_table("db.x", {"id": "INT"}, primary_key="id"),
    "a key of numbers": lambda cat, t: cat.create_table("db.x", {"id": "INT"}, primary_key=[1]),
    "an option that is None": lambda cat, t: cat.create_table("db.x", {"id": "INT"}, options={"bucket": None}),
    "a comment that is no text": lambda cat, t: cat.create_table("db.x", {"id": "INT"}, comment=5),
    "columns that are no list": lambda cat, t: t.scan(5),
    "columns that are one text": lambda cat, t: t.scan("id"),
    "columns of numbers": lambda cat, t: t.scan([5]),
    "a mode that is no text": lambda cat, t: t.scan(between=(0, 1), mode=5),
    "a tag that is no text": lambda cat, t: t.scan(tag=5),
    "a size that is a list": lambda cat, t: t.scan(memory_limit=[]),
    "a consumer that is no text": lambda cat, t: t.changes(consumer=5),
    "changes of columns that are no list": lambda cat, t: t.changes(columns=5),
    "a snapshot that is no number": lambda cat, t: t.snapshot("x"),
    "files of no snapshot": lambda cat, t: t.files(version="x"),
    "a column name that is no text": lambda cat, t: t.append([{5: 1}]),
    "a user that is no text": lambda cat, t: t.writer(commit_user=5),
    "a folder that is no path": lambda cat, t: t.writer(spill_dir=5),
    "messages that are no bytes": lambda cat, t: t.commit([5]),
    "a partition that is a number": lambda cat, t: t.overwrite([], partition=5),
    "a partition column that is no text": lambda cat, t: t.overwrite([], partition={5: 1}),
    "partitions that are a number": lambda cat, t: t.truncate(5),
    "a system table that is no text": lambda cat, t: t.inspect(5),
    "full that is no flag": lambda cat, t: t.compact(full="x"),
    "a count that is a text": lambda cat, t: t.maintenance.compact(commit_every="x"),
    "a duration that is a number": lambda cat, t: t.maintenance.plan_compaction(idle=5),
    "a rollback to a number as a tag": lambda cat, t: t.rollback(tag=5),
    "a rollback to a fraction": lambda cat, t: t.rollback(version=1.5),
    "a tag without a name": lambda cat, t: t.tags.create(None),
    "a tag named by a number": lambda cat, t: t.tags.create(5),
    "a tag named by bytes": lambda cat, t: t.tags.create(b"v5"),
    "a tag of a fraction": lambda cat, t: t.tags.create("v", version=1.5),
    "a tag asked for by number": lambda cat, t: t.tags.get(5),
    "whether a number is a tag": lambda cat, t: t.tags.exists(5),
    "a tag deleted by number": lambda cat, t: t.tags.delete(5),
    "a tag renamed to a number": lambda cat, t: t.tags.rename("v", 5),
    "a tag after a number": lambda cat, t: t.tags.next(5),
    "a branch without a name": lambda cat, t: t.branches.create(None),
    "a branch named by bytes": lambda cat, t: t.branches.create(b"b5"),
    "a branch of a fraction": lambda cat, t: t.branches.create("b", version=1.5),
    "a branch of a tag that is no text": lambda cat, t: t.branches.create("b", tag=5),
    "whether a number is a branch": lambda cat, t: t.branches.exists(5),
    "a branch deleted by number": lambda cat, t: t.branches.delete(5),
    "a branch renamed to a number": lambda cat, t: t.branches.rename("b", 5),
    "main forwarded to a number": lambda cat, t: t.branches.fast_forward(5),
    "a column comment that is no text": lambda cat, t: t.alter().set_comment("v", 5),
    "a default that is no text": lambda cat, t: t.alter().set_default("v", 5),
    "a consumer reset by number": lambda cat, t: t.consumers.reset(5),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_argument_of_a_wrong_type_is_quoted(cat, make, call):
    t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=1)
    t.append([{"id": 1, "v": "a"}])
    with pytest.raises(e.InvalidArgument) as caught:
        call(cat, t)
    given = ("5", "'x'", "[]", "'id'", "None", "['a']", "1")
    assert any(text in str(caught.value) for text in given) or "bytes" in str(caught.value)
    assert t.snapshot().id == 1


def test_a_warehouse_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "lake").write_text("not a lake")
    with pytest.raises(e.InvalidArgument, match="is a file") as caught:
        st.connect(tmp_path / "lake")
    assert caught.value.context["file"].endswith("lake")


@pytest.mark.parametrize("version", [True, False, 1.0, 7.5, b"1"])
def test_a_rollback_to_what_is_no_version_is_a_wrong_argument(make, version):
    """It once was a tag that was not found: 'True', '7.5'."""
    t = make({"id": "INT"}, ["id"], bucket=1)
    t.append([{"id": 1}])
    with pytest.raises(e.InvalidArgument, match="neither a snapshot id"):
        t.rollback(version=version)
    with pytest.raises(e.InvalidArgument, match="neither a snapshot id"):
        t.scan(version=version)


def test_a_name_with_half_a_character_is_a_wrong_argument(make):
    """A lone surrogate cannot be written as UTF-8; it once was a UnicodeEncodeError."""
    t = make({"id": "INT"}, ["id"], bucket=1)
    t.append([{"id": 1}])
    half = "v" + chr(0xD800)
    for call in (t.tags.create, t.tags.get, t.tags.delete, t.branches.create, t.branches.delete):
        with pytest.raises(e.InvalidArgument, match="lone surrogate"):
            call(half)
    with pytest.raises(e.InvalidArgument, match="lone surrogate"):
        t.scan(tag=half)
    t.tags.create("v" + chr(0x1F600))
    assert t.scan(tag="v" + chr(0x1F600)).count() == 1


@pytest.mark.parametrize("age", ["99999999999999d", "9" * 5000 + "ms", 2**63, -(2**63) - 1])
def test_an_age_that_no_clock_can_hold_is_a_wrong_argument(make, age):
    """It once was an OverflowError."""
    t = make({"id": "INT"}, ["id"], bucket=1)
    with pytest.raises(e.InvalidArgument):
        t.maintenance.remove_orphan_files(older_than=age)
    with pytest.raises(e.InvalidArgument):
        t.maintenance.expire_consumers(older_than=age)
    assert t.maintenance.remove_orphan_files(older_than="100000000000d").deleted_files == 0


def test_a_retention_without_unit_is_milliseconds_as_in_java(make):
    """`TimeUtils.parseDuration`: an empty unit is milliseconds, as in CALL sys.create_tag(time_retained => '1')."""
    t = make({"id": "INT"}, ["id"], bucket=1)
    t.append([{"id": 1}])
    assert t.tags.create("v", retain="1500").time_retained.total_seconds() == 1.5
    with pytest.raises(e.InvalidArgument, match="retention as '30 d'"):
        t.tags.create("w", retain="1 year")


@pytest.mark.parametrize("kinds", [{"+I", "-D"}, {"+I": 0, "-D": 1}, frozenset(("+I", "-D"))])
def test_kinds_of_rows_without_an_order_are_refused(make, kinds):
    """Which row was deleted went by the order of a set, which differs from process to process."""
    t = make({"id": "BIGINT", "s": "STRING"}, ["id"], bucket=1)
    with pytest.raises(e.InvalidRowKind, match="nor a list of them"):
        t.append([{"id": 1, "s": "a"}, {"id": 2, "s": "b"}], row_kind=kinds)


@pytest.mark.parametrize("where", ["start", "end"])
def test_a_place_beyond_all_numbers_is_a_wrong_argument(make, where):
    t = make({"id": "BIGINT"}, bucket=-1)
    t.append([{"id": 1}])
    with pytest.raises(e.InvalidArgument, match=where):
        list(t.changes(**{where: 10**30}))
