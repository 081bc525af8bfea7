"""Arguments of a wrong type: an exception of siltstone that quotes what was given, never a bare TypeError."""

import fractions

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone._args import shown
from siltstone.compaction import run_task
from siltstone.procedures import Call, parse_call, run_call

CALLS = {
    "connect to a number": lambda cat, t: st.connect(5),
    "catalog options that are no dict": lambda cat, t: st.connect(cat.warehouse, options=5),
    "open a number": lambda cat, t: st.open_table(5),
    "options that are no dict": lambda cat, t: st.open_table(t.location, options=["a"]),
    "a branch that is no text": lambda cat, t: st.open_table(t.location, branch=5),
    "a table that is no text": lambda cat, t: cat.table(5),
    "a database that is no text": lambda cat, t: cat.tables(5),
    "a key of bytes": lambda cat, t: cat.create_table("db.x", {"id": "INT"}, primary_key=b"id"),
    "a key of numbers": lambda cat, t: cat.create_table("db.x", {"id": "INT"}, primary_key=[1]),
    "an option that is None": lambda cat, t: cat.create_table("db.x", {"id": "INT"}, options={"bucket": None}),
    "a comment that is no text": lambda cat, t: cat.create_table("db.x", {"id": "INT"}, comment=5),
    "columns that are no list": lambda cat, t: t.scan(5),
    "columns that are bytes": lambda cat, t: t.scan(b"id"),
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
    with pytest.raises(e.InvalidArgument, match="duration such as '30 d'"):
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


HUGE = 10**5000
DIGITS = "9" * 5000

HUGE_CALLS = {
    "a version": lambda cat, t: t.scan(version=HUGE),
    "a version of a system table": lambda cat, t: t.inspect("files", version=HUGE),
    "a snapshot": lambda cat, t: t.snapshot(HUGE),
    "a limit": lambda cat, t: t.scan(limit=HUGE),
    "a limit of a system table": lambda cat, t: t.inspect("files", limit=HUGE),
    "a limit of a table of the catalog": lambda cat, t: cat.table("sys.tables").scan(limit=HUGE),
    "a limit below zero": lambda cat, t: t.scan(limit=-HUGE),
    "a batch size": lambda cat, t: t.scan(batch_size=HUGE),
    "threads": lambda cat, t: t.scan(threads=HUGE),
    "threads of a task": lambda cat, t: run_task(b"", threads=HUGE),
    "a memory limit": lambda cat, t: t.scan(memory_limit=HUGE),
    "a time": lambda cat, t: t.scan(as_of=HUGE),
    "a history": lambda cat, t: t.history(HUGE),
    "two versions": lambda cat, t: t.scan(between=(HUGE, HUGE)),
    "a version and a tag": lambda cat, t: t.scan(between=(HUGE, "x")),
    "a start that is no version": lambda cat, t: t.scan(between=[HUGE]),
    "columns that are no list": lambda cat, t: t.scan(HUGE),
    "a column": lambda cat, t: t.scan([HUGE]),
    "a flag": lambda cat, t: t.scan(row_kind=HUGE),
    "a condition": lambda cat, t: t.scan(filter=HUGE),
    "a value of a condition": lambda cat, t: t.scan(filter=st.col("id") == HUGE),
    "a bound of a condition": lambda cat, t: t.scan(filter=st.col("id") > -HUGE),
    "one of the values of a condition": lambda cat, t: t.scan(filter=st.col("id").is_in([1, HUGE])),
    "a pattern": lambda cat, t: t.scan(filter=st.col("v").like(HUGE)),
    "a column of a condition": lambda cat, t: t.scan(filter=st.col(HUGE) == 1),
    "a start of changes": lambda cat, t: t.changes(HUGE),
    "a next snapshot": lambda cat, t: t.consumers.reset("c", HUGE),
    "an identifier": lambda cat, t: t.commit([], identifier=HUGE),
    "a watermark below zero": lambda cat, t: t.commit([], watermark=-HUGE),
    "an overwrite": lambda cat, t: t.commit([], overwrite={"partition": [HUGE]}),
    "an overwrite's key": lambda cat, t: t.commit([], overwrite={HUGE: 1}),
    "a partition": lambda cat, t: t.truncate({"p": HUGE}),
    "a partition in a list": lambda cat, t: t.truncate([{"p": HUGE}, {"p": 1}]),
    "a partition column": lambda cat, t: t.truncate({HUGE: 1}),
    "a partition that is a list": lambda cat, t: t.truncate({"p": [1, HUGE]}),
    "partitions that are numbers": lambda cat, t: t.truncate([HUGE]),
    "what to keep": lambda cat, t: t.expire_snapshots(retain_max=HUGE),
    "an age": lambda cat, t: t.maintenance.remove_orphan_files(older_than=HUGE),
    "a duration": lambda cat, t: t.maintenance.compact(idle=HUGE),
    "a tag": lambda cat, t: t.tags.create(HUGE),
    "a tag's version": lambda cat, t: t.tags.create("x", version=HUGE),
    "a branch": lambda cat, t: st.open_table("db.t", catalog=cat, branch=HUGE),
    "an option": lambda cat, t: t.alter().set_option("snapshot.num-retained.max", HUGE),
    "an option's key": lambda cat, t: t.alter().set_option(HUGE, 1),
    "an option that is a list": lambda cat, t: t.alter().set_option("bucket", [HUGE]),
    "an option of a new table": lambda cat, t: cat.create_table("db.x", {"id": "INT"}, options={"bucket": HUGE}),
    "a type of a new table": lambda cat, t: cat.create_table("db.x", {"id": HUGE}),
    "a field of a new table": lambda cat, t: cat.create_table("db.x", [{"name": "id", "type": "INT", "id": HUGE}]),
    "a comment": lambda cat, t: t.alter().set_comment("v", HUGE),
    "a warehouse": lambda cat, t: st.connect(HUGE),
    "an argument of a procedure": lambda cat, t: procedure(cat, Call("create_tag", named={"table": "db.t", "tag": HUGE})),
    "a number of a procedure": lambda cat, t: procedure(
        cat, Call("create_tag", named={"table": "db.t", "tag": "x", "snapshot": HUGE})
    ),
}  # fmt: skip


def procedure(cat, call):
    return run_call(call, cat.table)


@pytest.fixture
def partitioned(make):
    t = make({"id": "INT", "v": "STRING", "p": "INT"}, partition_by=["p"], name="t")
    t.append([{"id": 1, "v": "a", "p": 1}])
    return t


@pytest.mark.parametrize("call", HUGE_CALLS.values(), ids=HUGE_CALLS)
def test_an_integer_that_python_does_not_write_is_a_wrong_argument(cat, partitioned, call):
    """Python writes no integer of more than 4300 digits. Whoever made the message failed first: a bare ValueError
    about Python's settings, or an OverflowError, came in place of the error of the argument."""
    with pytest.raises(e.InvalidArgument, match="integer of 16610 bits") as caught:
        call(cat, partitioned)
    assert len(str(caught.value)) < 400
    assert partitioned.snapshot().id == 1


def test_a_kind_of_row_that_python_does_not_write_is_refused_by_name(partitioned):
    for kinds in (HUGE, [HUGE], [[HUGE]], {HUGE}):
        with pytest.raises(e.InvalidRowKind, match="integer of 16610 bits"):
            partitioned.append([{"id": 1, "v": "a", "p": 1}], row_kind=kinds)


LONG_CALLS = {
    "a size": lambda cat, t: t.scan(memory_limit=DIGITS),
    "a size with a unit": lambda cat, t: t.scan(memory_limit=DIGITS + "gb"),
    "a size for a writer": lambda cat, t: t.writer(memory_limit="1" + "0" * 4000),
    "a time": lambda cat, t: t.scan(as_of=DIGITS),
    "an age": lambda cat, t: t.maintenance.remove_orphan_files(older_than=DIGITS + "d"),
    "a number in a call": lambda cat, t: procedure(cat, parse_call(f"CALL sys.rollback('db.t', snapshot => {DIGITS})")),
    "a number of a procedure": lambda cat, t: procedure(
        cat, Call("rollback", named={"table": "db.t", "snapshot": DIGITS})
    ),
}


@pytest.mark.parametrize("call", LONG_CALLS.values(), ids=LONG_CALLS)
def test_a_text_of_more_digits_than_python_reads_is_a_wrong_argument(cat, partitioned, call):
    """`int()` refuses such a text with a bare ValueError: how many digits there are is looked at before."""
    with pytest.raises(e.InvalidArgument) as caught:
        call(cat, partitioned)
    assert len(str(caught.value)) < 400


def test_a_bucket_of_more_digits_than_python_reads_is_no_bucket(cat, partitioned):
    with pytest.raises(e.InvalidArgument, match="is not a bucket number"):
        procedure(cat, Call("compact", named={"table": "db.t", "buckets": f"0,{DIGITS}"}))


def test_a_version_of_more_digits_than_python_reads_is_none_of_the_table(cat, partitioned):
    with pytest.raises(e.VersionError):
        procedure(cat, Call("rollback", named={"table": "db.t", "version": DIGITS}))


class Unwritable:
    def __repr__(self):
        raise RuntimeError("no text")


SELF = []
SELF.append(SELF)

SHOWN = [
    ("a", "'a'"),
    (10**30, str(10**30)),
    (HUGE, "an integer of 16610 bits"),
    (-HUGE, "a negative integer of 16610 bits"),
    ({"p": [HUGE, None]}, "{'p': [an integer of 16610 bits, None]}"),
    ({HUGE: ("a", True)}, "{an integer of 16610 bits: ('a', True)}"),
    (Unwritable(), "an object of the type Unwritable"),
    ([1, Unwritable()], "[1, an object of the type Unwritable]"),
    (fractions.Fraction(HUGE), "an object of the type Fraction"),
    (type("dict", (), {})(), "an object of the type dict"),
    (SELF, "[[[[[...]]]]]"),
    ([0] * 1000, "[" + "0, " * 32 + "..."),
]


@pytest.mark.parametrize(("value", "text"), SHOWN, ids=[text for _, text in SHOWN])
def test_messages_show_whatever_was_given(value, text):
    """A value is shown without an error of its own, and never at length."""
    assert shown(value) == text
    assert len(shown("x" * 10**6)) == len(shown(["x" * 10**6] * 9)) == 100
