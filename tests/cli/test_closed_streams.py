"""Standard streams that whoever starts a command has closed."""

import os
import subprocess
import sys

import pytest
import siltstone as st

pytestmark = pytest.mark.skipif(os.name != "posix", reason="closes streams by number")

#: Commands that only print, and commands that change the table.
PRINTING = ["cat", "show", "history", "count", "fsck", "report", "partitions"]
CLOSED = "standard output is closed, and nothing was done"


@pytest.fixture
def table(tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("db")
    t = cat.create_table("db.t", {"k": "BIGINT", "s": "STRING"})
    t.append([{"k": 1, "s": "a"}])
    (tmp_path / "rows.json").write_text('{"k": 2, "s": "b"}\n')
    return t


def run(*args, closed, given=""):
    """Exit code, stdout and stderr of a command without the streams of these numbers."""

    def close():
        for number in closed:
            os.close(number)

    command = [sys.executable, "-m", "siltstone", *map(str, args)]
    done = subprocess.run(  # noqa: PLW1509  # nothing else runs in between
        command, input=given, capture_output=True, text=True, check=False, preexec_fn=close, timeout=120
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", PRINTING)
def test_a_command_that_cannot_print_says_so(table, command):
    """``siltstone cat db.t >&-`` ended with an AttributeError, and ``siltstone ls >&-`` with 0, as if somebody had read it."""
    code, _, err = run(command, table.location, closed=[1])
    assert (code, err.count("\n")) == (1, 1) and CLOSED in err
    assert run(command, table.location, closed=[1, 2])[0] == 1


@pytest.mark.parametrize("closed", [[1], [1, 2], [0, 1, 2]])
def test_a_command_that_could_not_report_changes_nothing(table, tmp_path, closed):
    """The rows were there, and who got the exit code 1 for the report wrote them again."""
    for command in (
        ["write", table.location, tmp_path / "rows.json"],
        ["delete", table.location, "--where", "true", "-y"],
    ):
        code, _, err = run(*command, closed=closed)
        assert code == 1 and (CLOSED in err) == (2 not in closed)
    assert table.snapshot().id == 1


def test_rows_of_a_closed_stream_are_an_error(table):
    """RuntimeError of click: Was not able to determine binary stream for sys.stdin."""
    code, out, err = run("write", table.location, "-", "--format", "json", closed=[0])
    assert (code, out) == (1, "") and "error: standard input is closed" in err
    assert run("write", table.location, "-", "--format", "json", closed=[0, 2])[0] == 1
    assert table.snapshot().id == 1


def test_a_question_that_nobody_can_answer_changes_nothing(table):
    code, _, err = run("delete", table.location, "--where", "true", closed=[0])
    assert code == 1 and "standard input is closed" in err and "--yes" in err
    assert run("delete", table.location, "--where", "true", closed=[0, 2])[0] == 1
    assert table.snapshot().id == 1


def test_without_stderr_the_exit_code_says_all(table, tmp_path):
    """Files that were opened got the number of stderr, and warnings would have been written into them."""
    code, out, err = run("-o", "json", "cat", table.location, closed=[2])
    assert (code, out, err) == (0, '{"k": 1, "s": "a"}\n', "")
    assert run("-v", "-o", "json", "write", table.location, tmp_path / "rows.json", closed=[0, 2])[0] == 0
    assert run("cat", tmp_path / "none", closed=[2])[:2] == (3, "")
    assert run("nonsense", closed=[0, 2])[:2] == (2, "")
    assert table.count() == 2 and table.maintenance.fsck().problems == []
