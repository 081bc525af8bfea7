"""Texts of conditions and of new values: none crashes the process or runs for ever, whatever constructs it nests."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import siltstone as st
from siltstone import errors as e

NESTED = {
    "interval": "interval " * 3000 + "1 = id",
    "at": "id" + " at time zone s" * 3000 + " = 1",
    "cast": "CAST(" * 45 + "id" + " AS INT)" * 45 + " = 1",
    "substring": "substring(" * 45 + "s" + " from 1)" * 45 + " = 'a'",
    "overlay": "overlay(" * 45 + "s" + " placing 'a' from 1)" * 45 + " = 'a'",
    "not": "NOT (" * 45 + "id = " + ")" * 45,
}
WAYS = {
    "scan": lambda t, text: t.scan(filter=text).count(),
    "delete": lambda t, text: t.delete(text),
    "update where": lambda t, text: t.update({"s": "'x'"}, text),
    "update set": lambda t, text: t.update({"s": text.rpartition(" = ")[0]}, "id = 1"),
    "compact": lambda t, text: t.compact(where=text),
    "inspect": lambda t, text: t.inspect("files", filter=text).count(),
    "changes": lambda t, text: list(t.changes(filter=text, start=1)),
}


@pytest.fixture
def table(make):
    t = make({"id": "BIGINT", "s": "STRING"}, ["id"], bucket=1)
    t.append([{"id": 1, "s": "a"}])
    return t


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("construct", NESTED)
def test_a_nested_construct_is_refused_wherever_a_text_is_an_expression(table, way, construct):
    """The process once died of a stack overflow, or parsed for longer than anyone waits."""
    with pytest.raises(e.InvalidArgument):
        WAYS[way](table, NESTED[construct])
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "s": "a"}]


@pytest.mark.parametrize(("column", "start", "step"), [("s", "s", "||''"), ("id", "id", "+0"), ("s", "s", "||1+1||''")])
def test_a_new_value_has_as_many_operators_as_a_condition(make, column, start, step):
    t = make({"k": "INT", "id": "BIGINT", "s": "STRING"}, ["k"], bucket=1)
    t.append([{"k": 1, "id": 7, "s": "a"}])
    many = 2000 // max(1, step.count("|") // 2 + step.count("+"))
    with pytest.raises(e.InvalidArgument, match="2000 operators"):
        t.update({column: start + step * 20_000}, "k = 1")
    if step == "||1+1||''":  # text and number in turns: refused when computed, not a crash
        with pytest.raises(e.SiltstoneError):
            t.update({column: start + step * many}, "k = 1")
    else:
        t.update({column: start + step * many}, "k = 1")
    assert t.scan().to_arrow().to_pylist() == [{"k": 1, "id": 7, "s": "a"}]


def test_a_literal_that_is_no_number_is_refused_in_a_long_chain(table):
    """Each operator once tried its left side twice: 2^60 times for the text in front."""
    with pytest.raises(e.SiltstoneError):
        table.update({"id": "'x'" + " + 1" * 60}, "s = 'a'")


def test_new_values_are_computed_from_left_to_right(make):
    t = make({"k": "INT", "i": "INT", "d": "DOUBLE", "s": "STRING"}, ["k"], bucket=1)
    t.append([{"k": 1, "i": 7, "d": 0.5, "s": "a"}])
    t.update({"i": "i - 1 - 2 * 3", "d": "d + 1.5 + i", "s": "s || 1 || '-' || i"}, "k = 1")
    assert t.scan().to_arrow().to_pylist() == [{"k": 1, "i": 0, "d": 9.0, "s": "a1-7"}]


def test_columns_named_like_words_of_sql_can_be_filtered(make):
    t = make({"interval": "INT", "position": "INT", "case": "INT"}, ["interval"], bucket=1)
    t.append([{"interval": 1, "position": 2, "case": 3}])
    assert t.scan(filter="interval = 1 AND position = 2 AND case = 3").count() == 1
    t.update({"case": "position - interval"}, "interval = 1")
    assert t.scan(filter="case = 1").count() == 1


def test_a_long_condition_is_answered_by_ctrl_c_or_done(table):
    """No text that is short enough is read for longer than a user waits."""
    script = f"""
    import siltstone as st
    t = st.open_table({table.location!r})
    try:
        print("go", flush=True)
        while True:
            t.scan(filter="id IN (" + ",".join(map(str, range(500_000))) + ")").count()
    except KeyboardInterrupt:
        print("stopped")
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "go\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=120)[0] == "stopped\n"
    finally:
        process.kill()
    assert st.open_table(table.location).scan().count() == 1


def test_a_like_within_one_long_text_is_answered_by_ctrl_c(make):
    """The matcher once asked nobody while it looked at one value: the call went on until the process was killed."""
    t = make({"s": "STRING"}, bucket=-1)
    t.append([{"s": "a" * 1_000_000}])
    script = f"""
    import siltstone as st
    t = st.open_table({t.location!r})
    try:
        print("go", flush=True)
        t.scan(filter=st.col("s").like("%" + "a" * 400_000 + "b_%")).count()
    except KeyboardInterrupt:
        print("stopped")
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "go\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[0] == "stopped\n"
    finally:
        process.kill()


def test_a_whole_number_beside_a_float_column_is_exact_and_a_fraction_the_nearest_value(make):
    """``f = 16777217`` once found 16777216.0, and ``delete`` removed it; a write refuses 16777217.

    A fraction is what a write makes of it: ``f = 0.1`` finds the row that was written as 0.1.
    """
    t = make({"f": "FLOAT", "d": "DOUBLE"}, bucket=-1)
    t.append([{"f": 16777216.0, "d": float(2**53)}, {"f": 0.1, "d": 0.1}, {"f": 0.0, "d": 0.0}])
    found = {
        "f = 16777217": 0,
        "f IN (16777217)": 0,
        "f <> 16777217": 3,
        "f < 16777217": 3,
        "f >= 16777217": 0,
        "f = 16777216": 1,
        "f = 16777217.0": 1,
        "f = 0.1": 1,
        "f < 1e-60": 1,
        "f > 1e-60": 2,
        "f < 1e39": 3,
        "d = 9007199254740993": 0,
        "d < 9007199254740993": 3,
        "d = 9007199254740992": 1,
        "d = 0.1": 1,
    }
    assert {text: t.scan(filter=text).count() for text in found} == found
    assert t.scan(filter=st.col("f") == 16777217).count() == 0
    assert t.scan(filter=st.col("f") == 16777217.0).count() == 1
    assert t.delete("f = 16777217").affected_rows == 0


def test_new_texts_that_do_not_fit_into_memory_are_an_error(make):
    """They were made without asking for the memory, and the process ended."""
    t = make({"id": "BIGINT", "s": "STRING"}, ["id"], bucket=1)
    t.append([{"id": n, "s": "x" * 200} for n in range(2000)])
    code = f"""
        import resource
        import siltstone as st
        from siltstone import errors as e
        t = st.open_table({t.location!r})
        resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))
        try:
            t.update({{"s": "(" + "||".join(["(" + "||".join(["s"] * 8) + ")"] * 200) + ")"}}, "id >= 0")
        except e.MemoryLimitExceeded as error:
            print(error)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "the new texts of a batch of rows" in run.stdout, run.stdout + run.stderr
    assert {row["s"] for row in t.scan().to_arrow().to_pylist()} == {"x" * 200}
