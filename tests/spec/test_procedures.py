"""``CALL sys.*``: what is read from the text, and how arguments are bound."""

import os
import pathlib
import re
import time

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone.procedures import PROCEDURES, Call, is_call, parse_call, run_call
from siltstone.procedures.maintenance import partition_specs


@pytest.fixture
def cat(tmp_path):
    cat = st.connect(str(tmp_path))
    cat.create_database("db")
    t = cat.create_table("db.t", {"id": "INT NOT NULL"}, primary_key=["id"], options={"bucket": "1"})
    t.upsert([{"id": 1}])
    return cat


def test_a_call_is_read_with_names_quotes_numbers_and_words():
    call = parse_call(
        "CALL paimon.sys.Create_Tag(table => 'db.t', `tag` => \"it''s\", snapshot=>3L, x => TRUE, y => null);"
    )
    assert call == Call("create_tag", named={"table": "db.t", "tag": "it''s", "snapshot": 3, "x": True, "y": None})
    assert parse_call("call sys.rollback('db.t', 'it''s', -2)") == Call("rollback", ["db.t", "it's", -2])
    escapes = parse_call(r"CALL sys.x('a\tb\n\u0041\101\'\\', 'a\%b\_c', '\ud83d\ude00')")
    assert escapes.positional == ["a\tb\nAA'\\", r"a\%b\_c", "\U0001f600"]
    assert is_call(" call `sys`.x()") and not is_call("SELECT 'CALL sys.x()'")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("CALL sys.x", "followed by '('"),
        ("CALL sys.x('a'", "ends with ')'"),
        ("CALL sys.x('a' 'b')", "separated by ','"),
        ("CALL other.x()", "is not a procedure"),
        ("CALL sys.x(a => b)", "'b' is not a value"),
        ("CALL sys.x(a => ", "ends too early"),
        ("CALL sys.x(a => 1, a => 2)", "given twice"),
        ("CALL sys.x(a => 1, 2)", "come before"),
        ("CALL sys.x(a => 1) y", "'y' follows"),
        ("CALL sys.x(a => ?)", "cannot be read at '?"),
    ],
)
def test_a_call_that_cannot_be_read_says_where(text, says):
    with pytest.raises(e.InvalidArgument, match=says.replace("(", r"\(").replace(")", r"\)").replace("?", r"\?")):
        parse_call(text)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (Call("create_tags"), "did you mean sys.create_tag"),
        (Call("compact"), "needs the argument 'table'"),
        (Call("compact", ["db.t"], {"table": "db.t"}), "given twice"),
        (Call("compact", ["db.t"], {"nope": 1}), "no argument 'nope'"),
        (Call("compact_manifest", ["db.t", 1, 2]), "at most 2"),
        (Call("rollback", ["db.t"], {"snapshot": "x"}), "must be a whole number"),
        (Call("rollback", ["db.t"], {"snapshot": True}), "must be a whole number"),
        (Call("rollback", ["db.t"], {"snapshot": 1, "tag": "a"}), "needs one of"),
        (Call("rollback", ["db.t"]), "needs one of"),
        (Call("compact", ["db.t"], {"compact_strategy": "half"}), "neither 'full' nor 'minor'"),
        (Call("compact", ["db.t"], {"partitions": "a=1", "where": "a = 1"}), "not both"),
    ],
)
def test_wrong_arguments_are_named(cat, call, says):
    with pytest.raises(e.InvalidArgument) as caught:
        run_call(call, cat.table)
    assert says in str(caught.value)


def test_compaction_by_call_compacts(cat):
    for i in range(3):
        cat.table("db.t").upsert([{"id": i}])
    result = run_call(parse_call("CALL sys.compact('db.t')"), cat.table)
    assert (result.columns, result.rows) == (["result"], [(True,)])
    assert [f["level"] for f in cat.table("db.t").files()] == [5]


def test_every_procedure_has_words_of_its_own():
    for procedure in PROCEDURES.values():
        assert procedure.run.__doc__, procedure.name
        assert procedure.whole or procedure.arguments[0].name == "table", procedure.name


def test_partition_texts():
    assert partition_specs("p=0,q=1;p=1") == [{"p": "0", "q": "1"}, {"p": "1"}]
    with pytest.raises(e.InvalidArgument, match="'x' is not a partition"):
        partition_specs("p=1;x")


def called(cat, text):
    return run_call(parse_call(text), cat.table, tables=cat.tables)


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        ("retain_max => 55, retain_min => 5", 55),
        ("retain_min => 5", 60),
        ("retain_max => 3, retain_min => 1", 10),  # snapshot.expire.limit is 50
        ("retain_max => 30, retain_min => 2, older_than => '2099-01-01 00:00:00'", 10),
        ("retain_min => 3, older_than => '2099-01-01 00:00:00'", 10),
        ("retain_max => 20", 20),
        ("retain_max => 20, max_deletes => 7", 53),
        ("retain_max => 20, older_than => ''", 20),
        ("options => 'snapshot.num-retained.max=20, snapshot.expire.limit=30'", 30),
        ("options => 'snapshot.time-retained=0 ms,snapshot.num-retained.min=15'", 15),
        ("", 60),
    ],
)
def test_expire_snapshots_takes_what_is_not_given_from_the_tables_options(sixty, arguments, left):
    """`ProcedureUtils.fillInSnapshotOptions`: of 60 snapshots made just now Java 1.4.2 leaves these.

    Once, numbers alone made the call forget `snapshot.time-retained` and `snapshot.expire.limit`.
    """
    text = "CALL sys.expire_snapshots(table => 'db.t'" + (f", {arguments})" if arguments else ")")
    assert called(sixty, text).rows == [(60 - left,)]
    assert len(sixty.table("db.t").history(100)) == left


def test_expire_snapshots_refuses_a_maximum_below_the_tables_minimum(sixty):
    with pytest.raises(e.InvalidArgument, match=r"retain_max \(5\) must not be less than retain_min \(10\).*db\.t"):
        called(sixty, "CALL sys.expire_snapshots(table => 'db.t', retain_max => 5)")
    with pytest.raises(e.InvalidArgument, match="retain_min=0"):
        called(sixty, "CALL sys.expire_snapshots(table => 'db.t', retain_min => 0)")
    assert len(sixty.table("db.t").history(100)) == 60


@pytest.fixture
def sixty(tmp_path):
    """`db.t` with sixty snapshots."""
    cat = st.connect(str(tmp_path))
    cat.create_database("db")
    options = {"bucket": "1", "write-only": "true"}
    t = cat.create_table("db.t", {"id": "INT NOT NULL"}, primary_key=["id"], options=options)
    with t.writer() as w:
        for i in range(60):
            w.commit(identifier=i, allow_empty=True)
    return cat


@pytest.mark.parametrize(
    "name", ["db.t", "`db`.`t`", "paimon.db.t", "Siltstone.db.`t`", "`paimon`.`db`.`t`", "lake.db.t", "db.t$branch_b"]
)
def test_tables_are_named_as_in_a_query(cat, name):
    """With quotes, and behind a catalog: `paimon`, `siltstone`, or the one that the call itself names."""
    cat.table("db.t").branches.create("b", version="latest")
    assert called(cat, f"CALL lake.sys.create_tag(table => '{name}', tag => 'x')").rows == [(True,)]
    assert cat.table("db.t$branch_b" if "$" in name else "db.t").tags.exists("x")


@pytest.mark.parametrize("name", ["a.b", "my-t", "c`d"])
def test_a_table_without_database_is_one_of_the_current_database_whatever_its_name(cat, name):
    """`` `a.b` `` was taken for the table `b` of the database `a`."""
    cat.create_table(f"db.{name}", {"id": "INT"})
    quoted = f"`{name.replace('`', '``')}`"
    for given in (quoted, f"db.{quoted}"):
        call = Call("create_tag", named={"table": given, "tag": "x"})
        with pytest.raises(e.SnapshotNotFound):
            run_call(call, cat.table, database=lambda: "db")
    call = Call("create_tag", named={"table": "t", "tag": "y"})
    assert run_call(call, cat.table, database=lambda: "db").rows == [(True,)]
    with pytest.raises(e.InvalidArgument):
        run_call(call, cat.table)


def test_a_database_has_no_dot_in_its_name(cat):
    """`` `db.a`.b `` was taken for the table `a.b` of the database `db`."""
    cat.create_table("db.a.b", {"id": "INT"})
    with pytest.raises(e.InvalidArgument, match="no database has a dot"):
        called(cat, "CALL sys.create_tag(table => '`db.a`.b', tag => 'x')")


def test_a_catalog_of_any_name_stands_before_sys():
    assert is_call("CALL `my-lake`.sys.x()") and is_call("call `a``b` . `sys`.x()")
    assert not is_call("CALL my-lake.sys.x()") and not is_call("CALL `sys.x()")


def test_names_with_another_catalog_are_not_found(cat):
    with pytest.raises(e.DatabaseNotFound, match="'other'"):
        called(cat, "CALL sys.create_tag(table => 'other.db.t', tag => 'x')")


def test_orphan_files_of_a_whole_database(cat):
    """`db.*`: all tables, their numbers added up; mode and parallelism change nothing of the result."""
    cat.create_table("db.u", {"id": "INT"}, options={"bucket": "-1"}).append([{"id": 1}])
    for name in ("t", "u"):
        orphan = pathlib.Path(cat.table(f"db.{name}").location) / "bucket-0" / "data-lost.parquet"
        orphan.write_bytes(b"lost")
        os.utime(orphan, (0, 0))
    more = "dry_run => true, parallelism => 2, mode => 'LOCAL'"
    assert called(cat, f"CALL sys.remove_orphan_files(table => 'db.*', {more})").rows == [(2, 8)]
    assert called(cat, "CALL sys.remove_orphan_files('db.t', null, true, 4, 'distributed')").rows == [(1, 4)]
    assert called(cat, "CALL sys.remove_orphan_files('`db`.*')").rows == [(2, 8)]
    cat.create_database("none")
    assert called(cat, "CALL sys.remove_orphan_files('none.*')").rows == [(0, 0)]


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("remove_orphan_files('db.t', mode => 'spark')", e.InvalidArgument, "the mode 'spark' is neither"),
        ("remove_orphan_files('db.t', parallelism => 0)", e.InvalidArgument, "parallelism=0"),
        ("expire_snapshots('db.*')", e.InvalidArgument, "takes one table"),
        ("compact('db.t', order_strategy => 'zorder', order_by => 'id')", e.UnsupportedFeature, "primary key"),
        ("compact('db.t', order_strategy => 'zorder')", e.InvalidArgument, "needs 'order_by'"),
        ("compact('db.t', order_strategy => 'random')", e.InvalidArgument, "'random'"),
        ("compact('db.t', order_by => 'id')", e.InvalidArgument, "only with an order_strategy"),
        ("compact('db.t', buckets => '0,x')", e.InvalidArgument, "'x' is not a bucket"),
        ("compact('db.t', options => 'num-sorted-run')", e.InvalidArgument, "'num-sorted-run' is not an option"),
        ("compact('db.t', options => 'scan.nope=1')", e.UnknownOption, "'scan.nope'"),
        ("compact_manifest('db.t', options => 'merge-engine=first-row')", e.InvalidOption, "'merge-engine'"),
    ],
)
def test_what_a_procedure_cannot_honour_is_refused_by_name(cat, text, error, says):
    with pytest.raises(error) as caught:
        called(cat, f"CALL sys.{text}")
    assert says in str(caught.value)


def test_dynamic_options_of_a_call_hold_for_it_alone(cat):
    for i in range(3):
        cat.table("db.t").upsert([{"id": i}])
    assert called(cat, "CALL sys.compact_manifest('db.t', options => 'manifest.target-file-size=1 kb')").rows == [
        (True,)
    ]
    options = "table => 'db.t', options => 'target-file-size=1 kb, num-levels = 3', order_strategy => 'none'"
    seen = []
    text = f"CALL sys.compact({options})"
    nothing = st.report.CompactionReport()
    run_call(parse_call(text), cat.table, compact=lambda t, **how: seen.append((t.dynamic_options, how)) or nothing)
    assert seen == [({"target-file-size": "1 kb", "num-levels": "3"}, {"full": True, "where": None})]
    assert "target-file-size" not in cat.table("db.t").options


def test_compaction_of_some_buckets(make, cat):
    t = make({"id": "INT NOT NULL"}, ["id"], name="many", bucket=4, write_only=True)
    for _ in range(2):
        t.upsert([{"id": i} for i in range(40)])
    called(cat, "CALL sys.compact(table => 'db.many', buckets => '1, 3')")
    assert {f["bucket"]: f["level"] for f in t.files()} == {0: 0, 1: 5, 2: 0, 3: 5}


def test_what_an_operation_has_to_say_is_said_by_its_procedure(cat, caplog):
    """Java's columns have no place for it, so it was dropped."""
    cat.table("db.t").branches.create("b", version="latest")
    said = cat.table("db.t").branches.delete("b", dry_run=True).notes
    result = called(cat, "CALL sys.delete_branch(table => 'db.t', branch => 'b')")
    assert result.rows == [(True,)] and result.notes == said and said
    assert [record.getMessage() for record in caplog.records] == [f"sys.delete_branch: {note}" for note in said]
    assert called(cat, "CALL sys.create_tag(table => 'db.t', tag => 'x')").notes == []


def test_a_tag_from_a_time_is_told_as_java_tells_it(cat):
    """Java's text of a watermark that is absent is `null`; a snapshot that only a tag keeps counts, too."""
    t = cat.table("db.t")
    t.tags.create("first")
    time.sleep(0.01)
    t.upsert([{"id": 2}])
    t.expire_snapshots(retain_max=1)
    at = t.tags.get("first").snapshot.raw["timeMillis"]
    result = called(cat, f"CALL sys.create_tag_from_timestamp(table => 'db.t', tag => 'x', timestamp => {at})")
    assert result.rows == [("x", 1, at, "null")]
    assert called(cat, f"CALL sys.create_tag_from_timestamp('db.t', 'y', {at + 1})").rows[0][:2] == ("y", 2)


def test_consumers_are_reset_and_cleared(cat, make):
    t = make({"id": "INT"}, name="c")
    t.append([{"id": 1}])
    for name in ("one", "two", "three"):
        assert called(cat, f"CALL sys.reset_consumer('db.c', '{name}', 1)").rows == [(True,)]
    called(cat, "CALL sys.clear_consumers(table => 'db.c', includingConsumers => 't.*', excludingConsumers => 'three')")
    assert [c.id for c in t.consumers.list()] == ["one", "three"]
    called(cat, "CALL sys.reset_consumer(table => 'db.c', consumerId => 'one')")
    called(cat, "CALL sys.clear_consumers(table => 'db.c')")
    assert t.consumers.list() == []
    with pytest.raises(e.InvalidArgument, match="regular expression"):
        called(cat, "CALL sys.clear_consumers(table => 'db.c', includingConsumers => '(')")


def test_partitions_expire_by_name_of_their_time(cat, make):
    t = make({"dt": "STRING", "id": "INT"}, partition_by=["dt"], name="p")
    t.append([{"dt": d, "id": 1} for d in ("2020-01-01", "2020-01-02", "2999-01-01")])
    call = (
        "CALL sys.expire_partitions(table => 'db.p', expiration_time => '1 d', timestamp_formatter => 'yyyy-MM-dd'{})"
    )
    assert len(called(cat, call.format(", max_expires => 1")).rows) == 1
    assert len(called(cat, call.format("")).rows) == 1
    assert called(cat, call.format("")).rows == [("No expired partitions.",)]
    assert t.scan(["dt"]).to_arrow().column(0).to_pylist() == ["2999-01-01"]


def test_a_table_goes_back_to_a_watermark(cat, make):
    t = make({"id": "INT"}, name="w")
    for i, watermark in enumerate((10, 20, 30)):
        with t.writer() as w:
            w.write([{"id": i}])
            w.commit(watermark=watermark)
    assert called(cat, "CALL sys.rollback_to_watermark('db.w', 25)").rows == [(3, 2)]
    with pytest.raises(e.SnapshotNotFound, match="watermark"):
        called(cat, "CALL sys.rollback_to_watermark('db.w', 5)")


def test_all_tables_of_databases_are_compacted(cat, make):
    keyed = [make({"id": "INT"}, primary_key=["id"], name=n, bucket=1, write_only="true") for n in ("a", "b", "other")]
    for t in keyed:
        for _ in range(2):
            t.append([{"id": 1}])
    call = "CALL sys.compact_database(including_databases => 'd.*', including_tables => {}, excluding_tables => 'db.b')"
    asked = parse_call(call.format("'db[.][ab]'"))
    found = run_call(asked, cat.table, tables=cat.tables, databases=cat.databases)
    assert found.rows == [("Success: 1 tables were compacted.",)]
    assert [len(t.files()) for t in keyed] == [1, 2, 2]
    with pytest.raises(e.InvalidArgument, match="no catalog"):
        called(cat, "CALL sys.compact_database()")


def test_procedures_without_a_meaning_are_refused_with_what_to_do(cat):
    for name, says in (("migrate_table", "siltstone.spark.write"), ("repair", "directories"), ("copy", "LIKE")):
        with pytest.raises(e.UnsupportedFeature, match=f"sys.{name}") as raised:
            called(cat, f"CALL sys.{name}(table => 'db.t')")
        assert says in raised.value.hint


def test_every_procedure_is_on_the_page_with_its_arguments():
    """The page said that they take Java's arguments, and named none; only a misspelt name brought a list."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")
    rows = page.partition("### Procedures")[2].partition("The arguments are")[0].splitlines()
    assert set(re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in rows if "|" in row))) - {"table"} == set(
        PROCEDURES
    )
    for name, known in PROCEDURES.items():
        row = next(row for row in rows if f"`{name}`" in row)
        asked = {argument.name for argument in known.arguments} - {"table"}
        assert asked <= set(re.findall(r"`(\w+)`", row.split("|")[2])), name
