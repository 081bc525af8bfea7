"""Progress bars and questions, in a pseudo-terminal."""

import json
import os
import pty
import re
import subprocess
import sys
import threading

import pytest
import siltstone as st
from siltstone.errors import InvalidArgument

ROWS = {"id": list(range(1000))}
#: What a terminal obeys.
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.fixture
def lake(tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("db")
    t = cat.create_table("db.t", {"id": int}, primary_key="id", options={"bucket": "2"})
    for _ in range(3):
        t.append(ROWS)
    t.to_polars().write_parquet(tmp_path / "rows.parquet")
    return tmp_path / "lake"


def terminal(*command, answer="", env=None, stderr_only=True):
    """Runs a command whose stderr (or all of it) is a terminal: code, stdout, and what the terminal showed."""
    ours, theirs = pty.openpty()
    shown = []

    def read():
        while True:
            try:
                data = os.read(ours, 1 << 16)
            except OSError:  # nobody has the other end any more
                return
            if not data:
                return
            shown.append(data)

    given = {k: v for k, v in os.environ.items() if k not in {"CI", "SILTSTONE_PROGRESS", "NO_COLOR", "COLUMNS"}}
    reader = threading.Thread(target=read)
    process = subprocess.Popen(
        [sys.executable, *map(str, command)],
        stdin=subprocess.PIPE if stderr_only else theirs,
        stdout=subprocess.PIPE if stderr_only else theirs,
        stderr=theirs,
        env=given | {"TERM": "xterm", "COLUMNS": "120"} | (env or {}),
    )
    os.close(theirs)
    reader.start()
    if answer and not stderr_only:
        os.write(ours, answer.encode())
    out, _ = process.communicate(answer.encode() if stderr_only else None, timeout=120)
    reader.join(60)
    os.close(ours)
    return process.returncode, (out or b"").decode(), CONTROL.sub("", b"".join(shown).decode())


def siltstone(lake, *args, **how):
    return terminal("-m", "siltstone", "-w", lake, *args, **how)


def test_a_terminal_sees_how_far_a_compaction_is_and_a_pipe_gets_the_result(lake):
    code, out, seen = siltstone(lake, "-o", "json", "compact", "db.t", "--full")
    assert code == 0
    assert json.loads(out)["tasks"] == 2
    sizes = re.findall(r"db\.t: compact .*?([\d.]+ \w?i?B) of ([\d.]+ KiB) 0:00:0", seen)
    assert sizes[-1][0] == sizes[-1][1], "all bytes of all tasks at the end"


def test_rows_of_an_import_are_counted_against_the_footers_of_its_files(lake):
    _, _, seen = siltstone(lake, "write", "db.t", lake.parent / "rows.parquet")
    assert "db.t: write" in seen
    assert "1,000 of 1,000 rows" in seen


def test_where_nobody_knows_how_long_it_takes_the_time_goes_on(lake):
    _, _, seen = siltstone(lake, "fsck", "db.t")
    assert re.search(r"db\.t: fsck 0:00:0", seen)
    assert "%" not in seen


@pytest.mark.parametrize(
    ("flags", "env"),
    [((), {"CI": "true"}), ((), {"SILTSTONE_PROGRESS": "0"}), (("--no-progress",), {"SILTSTONE_PROGRESS": "1"})],
)
def test_bars_can_be_turned_off(lake, flags, env):
    assert siltstone(lake, *flags, "compact", "db.t", "--full", env=env)[2].strip() == ""


def test_python_shows_bars_on_demand(lake):
    code = (
        f"import siltstone as st; t = st.open_table({str(lake / 'db.db/t')!r}); rows = {{'id': list(range(2000))}}\n"
        "t.append(rows)\nprint('quiet', flush=True)\n"
        "with st.progress():\n    t.append(rows); t.to_arrow(); print('bars', flush=True)\n"
        "with st.progress(False):\n    t.append(rows)\n"
        "t.compact(full=True, progress=True)\n"
    )
    _, out, seen = terminal("-c", code)
    assert out.split() == ["quiet", "bars"]
    assert seen.index("2,000 of 2,000 rows") < seen.index("db.t: scan") < seen.index("db.t: compact")
    assert "quiet" not in seen
    assert "bars" not in seen
    assert "db.t: append" in terminal("-c", code, env={"SILTSTONE_PROGRESS": "1"})[2]


def test_what_is_neither_yes_nor_no_is_told(monkeypatch, lake):
    monkeypatch.setenv("SILTSTONE_PROGRESS", "maybe")
    with pytest.raises(InvalidArgument, match="SILTSTONE_PROGRESS"):
        st.open_table(lake / "db.db/t").append({"id": [1]})
    with pytest.raises(InvalidArgument, match="True or False"), st.progress("yes"):
        pass


@pytest.mark.parametrize(("answer", "left"), [("y\n", 1), ("n\n", 3)])
def test_a_terminal_is_asked_before_files_go(lake, answer, left):
    t = st.open_table(lake / "db.db/t")
    t.compact(full=True)
    t.expire_snapshots(retain_max=3)
    code, _, seen = siltstone(
        lake, "expire", "snapshots", "db.t", "--retain-max", "1", answer=answer, stderr_only=False
    )
    assert re.search(r"delete \d+ files\? \[y/N\]", seen)
    assert (code == 0) == (left == 1)
    assert len(t.history()) == left
