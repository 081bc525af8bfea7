"""Commands that the pages show: each is there, with its arguments and options. A weekly job on a page once deleted nothing."""

import pathlib
import re
import shlex

import pytest
from siltstone.cli.__main__ import main

PROJECT = pathlib.Path(__file__).parents[2]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]


def commands():
    """The words behind `siltstone`, of each command in a shell block."""
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            lines = [line for line in block.splitlines() if not line.startswith(("#", "eval"))]
            for part in re.split(r"&&|\|\s|\n", "\n".join(lines)):
                if found := re.search(r"(?:^|\s)siltstone\s(?!.*\bpip\b)(.*)", part):
                    yield pytest.param(shlex.split(found[1], comments=True), id=f"{page.stem}: {found[1].strip()}")


COMMANDS = [c for c in commands() if "venv" not in c.id]


def test_there_are_commands():
    assert len(COMMANDS) > 15


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_of_a_page_has_these_arguments_and_options(words, capsys):
    main([*words, "--help"])
    assert "Usage: siltstone" in capsys.readouterr().out


def test_an_option_that_is_not_there_is_noticed():
    with pytest.raises(SystemExit):
        main(["clean", "orphans", "shop.orders", "--erase", "--help"])


def test_yes_answers_a_question(make, capsys):
    """`clean orphans --yes` without `--delete` ended with 0 and had only listed the files."""
    t = make({"id": "INT"})
    with pytest.raises(SystemExit) as ended:
        main(["clean", "orphans", t.location, "--yes"])
    assert ended.value.code == 2 and "--delete" in capsys.readouterr().err
