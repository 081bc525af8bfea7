"""Texts of tables on a terminal: nothing in them is obeyed, and every output can be written."""

import io
import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import click
import pytest
import siltstone as st
from siltstone.cli.__main__ import cli, main

#: Escape sequences, control characters of one and two bytes, marks of direction, separators of lines.
HOSTILE = "a\x1b[31m\x1b]52;c;aGk=\x07\n\t\r\x00\x7f\x9b5A\u202eb\u2066\u2028\u200b\ufeff\U000e0041\\z"
KIND = "Größe 表 \U0001f600 \u200d"


@pytest.fixture
def lake(tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("shop")
    columns = {"id": "INT", "s": "STRING", "m": "MAP<STRING, STRING>", "r": "ROW<a STRING>"}
    t = cat.create_table("shop.o", columns, primary_key=["id"], options={"bucket": "1", "my.note": HOSTILE})
    t.append([{"id": 1, "s": HOSTILE, "m": {HOSTILE: HOSTILE}, "r": {"a": HOSTILE}}, {"id": 2, "s": KIND}])
    return str(tmp_path / "lake")


@pytest.fixture
def run(lake, monkeypatch):
    """Runs a command whose output has an encoding: its exit code, output and errors."""
    monkeypatch.setenv("COLUMNS", "400")

    def run(*args, encoding="utf-8"):
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n", write_through=True) for _ in "oe")
        err.reconfigure(errors="backslashreplace")
        code = 0
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            try:
                main(["-w", lake, *args])
            except SystemExit as stop:
                code = stop.code
        return code, out.buffer.getvalue(), err.buffer.getvalue()

    return run


def hidden(text):
    """Characters that a terminal would obey, besides the ends of lines."""
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return [c for c in text if unicodedata.category(c) in kinds and c not in "\n\u200d"]


COMMANDS = [
    ["cat", "shop.o"],
    ["show", "shop.o"],
    ["changes", "shop.o"],
    ["cat", "shop.o$options"],
    ["files", "shop.o"],
]


@pytest.mark.parametrize("form", ["table", "json"])
@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_characters_that_a_terminal_obeys_are_printed_as_escapes(run, args, form):
    """`siltstone cat` sent escape sequences of stored texts to the terminal: colours, its clipboard, other lines."""
    code, out, _ = run("-o", form, *args)
    assert code == 0
    assert hidden(out.decode()) == []


@pytest.mark.parametrize("args", [["count", HOSTILE.replace("\x00", "")], ["create", "k=\u202ev", "--schema", "x"]])
def test_an_error_about_arguments_repeats_them_as_escapes(run, args):
    code, _, err = run(*args)
    assert code != 0
    assert hidden(err.decode()) == []


@pytest.mark.parametrize("command", ["compact", "count", "show", "report"])
def test_a_name_that_is_no_text_is_wrong_usage(run, command):
    """A name of bytes that are not UTF-8 ended in a traceback."""
    code, _, err = run(command, "shop.\udcff")
    assert code == 2
    assert "half a character" in err.decode()


def test_a_table_shows_a_row_on_its_line_and_json_says_what_is_stored(run):
    text = run("cat", "shop.o", "-s", "id,s")[1].decode()
    assert len(text.splitlines()) == 3
    assert "a\\x1b[31m" in text and "\\x07\\n\\t\\r\\x00\\x7f\\x9b5A\\u202eb\\u2066\\u2028" in text
    assert KIND in text
    rows = [json.loads(line) for line in run("-o", "json", "cat", "shop.o")[1].decode().splitlines()]
    assert [row["s"] for row in rows] == [HOSTILE, KIND]
    assert rows[0]["r"] == {"a": HOSTILE}


def test_warnings_repeat_no_escape_sequences(lake):
    """A time zone that is not known is repeated in a warning of each commit, as it stands in the options."""
    t = st.connect(lake).create_table("shop.w", {"id": "INT"}, primary_key=["id"], options={"bucket": "1"})
    # such an option is refused when a table is made
    schema = Path(t.location, "schema", "schema-0")
    content = json.loads(schema.read_text())
    content["options"] |= {"tag.automatic-creation": "process-time", "sink.process-time-zone": "\x1b[31mMars"}
    schema.write_text(json.dumps(content))
    t = st.open_table(t.location)
    t.append([{"id": 1}])
    t.append([{"id": 2}])
    command = [sys.executable, "-m", "siltstone.cli", "-w", lake, "compact", "shop.w", "--full"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert b"Mars" in done.stderr
    assert hidden(done.stderr.decode()) == []


def test_errors_repeat_no_escape_sequences(run):
    code, _, err = run("cat", "shop.o", "-s", HOSTILE.replace("\x00", ""))
    assert code != 0
    assert hidden(err.decode()) == []


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437", "utf-8"])
@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_what_the_output_cannot_encode_is_printed_as_escapes(run, args, encoding):
    """A console of another code page ended in a traceback (UnicodeEncodeError) where a text had an emoji."""
    code, out, err = run(*args, encoding=encoding)
    assert (code, err) == (0, b"")
    out.decode(encoding)
    code, out, err = run("-o", "json", *args, encoding=encoding)
    assert (code, err) == (0, b"")
    rows = [json.loads(line) for line in out.decode(encoding).splitlines()]
    if args == ["cat", "shop.o"]:
        assert [row["s"] for row in rows] == [HOSTILE, KIND]


def test_a_table_keeps_what_the_encoding_has(run):
    out = run("cat", "shop.o", "-s", "id,s", encoding="latin-1")[1].decode("latin-1")
    assert "Größe \\u8868 \\U0001f600" in out


def commands(group=cli, path=()):
    for name, command in group.commands.items():
        if not command.hidden:
            yield (*path, name), command
            if isinstance(command, click.Group):
                yield from commands(command, (*path, name))


def test_the_list_of_commands_cuts_no_sentence():
    pages = [cli.get_help(click.Context(cli, info_name="siltstone"))]
    pages += [c.get_help(click.Context(c)) for _, c in commands() if isinstance(c, click.Group)]
    assert [line for page in pages for line in page.splitlines() if line.endswith("...") and "Usage:" not in line] == []


@pytest.mark.parametrize("path", [" ".join(path) for path, _ in commands()])
def test_each_option_says_what_it_does(path):
    command = dict(commands())[tuple(path.split())]
    assert command.help
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.name
            assert option.help[0].isupper(), option.help
            assert option.help.endswith((".", "]")), option.help
