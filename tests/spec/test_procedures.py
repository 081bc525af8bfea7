"""``CALL sys.*``: what is read from the text, and how arguments are bound."""

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone.procedures import PROCEDURES, Call, is_call, parse_call, run_call
from siltstone.procedures.care import partition_specs


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
        (Call("compact_manifest", ["db.t", 1, 2]), "at most 1"),
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
        assert procedure.run.__doc__ and procedure.arguments[0].name == "table", procedure.name


def test_partition_texts():
    assert partition_specs("p=0,q=1;p=1") == [{"p": "0", "q": "1"}, {"p": "1"}]
    with pytest.raises(e.InvalidArgument, match="'x' is not a partition"):
        partition_specs("p=1;x")
