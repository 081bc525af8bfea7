"""Ctrl-C while the files of a dropped table go: the table is dropped, and who stopped it learns what is left."""

import pathlib
import subprocess
import sys

#: Presses Ctrl-C when the table has no name any more; its files are many.
DROP = """
import os, pathlib, signal, sys, threading, time
import siltstone as st

cat = st.connect(sys.argv[1])
table = pathlib.Path(sys.argv[1], "db.db", "t")

def stop():
    while table.exists():
        time.sleep(0.0005)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=stop, daemon=True).start()
try:
    cat.drop_table("db.t")
    time.sleep(5)
except KeyboardInterrupt as stopped:
    print("\\n".join(getattr(stopped, "__notes__", [])))
"""


def test_who_stops_a_drop_is_told_where_the_files_are_that_are_left(cat):
    """It was a bare KeyboardInterrupt, and the command line said that nothing else was changed."""
    t = cat.create_table("db.t", {"id": "INT"})
    t.append([{"id": 1}])
    folder = pathlib.Path(t.location.removeprefix("file:"))
    for n in range(60_000):
        (folder / "bucket-0" / f"none-{n}").touch()
    lake = folder.parent.parent
    done = subprocess.run([sys.executable, "-c", DROP, lake], capture_output=True, text=True, timeout=120, check=True)
    assert not cat.tables("db"), "it was dropped"
    hidden = [path for path in folder.parent.iterdir() if path.name.startswith(".t.")]
    if not done.stdout.strip():
        assert not hidden, "all files had gone before"
        return
    assert "'t' was deleted; some of its files are left" in done.stdout
    assert "delete this directory" in done.stdout
    assert all(str(path) in done.stdout for path in hidden)
