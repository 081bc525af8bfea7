"""Commands of the command line, in this process."""

import io

from siltstone.cli.__main__ import main


def runner(lake, capsys, monkeypatch):
    """run(*args, stdin=""): the exit code of a command over a warehouse, what it printed, and what it told."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*args, stdin=""):
        raw = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))
        code = 0
        try:
            main(["-w", str(lake), *args])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        return code, out, err

    return run
