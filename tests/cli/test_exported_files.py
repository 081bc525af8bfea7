"""``siltstone export`` writes its own file and no other: it wrote into ``.NAME.partial``, over a file of somebody else and
through a link to one.
"""

import os
import stat

import pytest
import siltstone as st
from siltstone.cli.__main__ import main


@pytest.fixture
def run(tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("shop")
    cat.create_table("shop.o", {"id": "INT"}).append([{"id": 1}])

    def run(*args):
        try:
            main(["-w", cat.warehouse, "export", "shop.o", *map(str, args)])
        except SystemExit as stop:
            return stop.code
        return 0

    return run


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


NAMES = ["x.csv", "x.json", "x.parquet", "x.arrow"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("link", [True, False])
def test_a_file_or_link_of_another_is_left_alone(run, folder, tmp_path, name, link):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    other = folder / f".{name}.partial"
    if link:
        other.symlink_to(victim)
    else:
        other.write_text("mine")
    assert run(folder / name) == 0
    assert (victim.read_text(), other.read_text(), other.is_symlink()) == ("mine", "mine", link)
    assert not (folder / name).is_symlink()
    assert sorted(p.name for p in folder.iterdir()) == sorted([other.name, name])


def test_a_link_of_the_name_is_replaced_and_not_followed(run, folder, tmp_path):
    """A dangling link counted as no file."""
    victim = tmp_path / "victim"
    (folder / "x.csv").symlink_to(victim)
    assert run(folder / "x.csv") == 2
    assert run(folder / "x.csv", "--force") == 0
    assert not victim.exists()
    assert not (folder / "x.csv").is_symlink()


def test_a_file_that_comes_meanwhile_is_left_alone(run, folder, monkeypatch, capsys):
    looked = os.path.lexists
    monkeypatch.setattr(
        "siltstone.cli.new_file.os.path.lexists", lambda path: (looked(path), path.write_text("mine"))[0]
    )
    assert run(folder / "x.csv") == 1
    assert "meanwhile" in capsys.readouterr().err
    assert [p.name for p in folder.iterdir()] == ["x.csv"]
    assert (folder / "x.csv").read_text() == "mine"


def test_without_hard_links_the_file_gets_its_name_too(run, folder, monkeypatch):
    def refuse(*_):
        raise PermissionError("no hard links")

    monkeypatch.setattr("siltstone.cli.new_file.pathlib.Path.hardlink_to", refuse)
    assert run(folder / "x.csv") == 0
    assert [p.name for p in folder.iterdir()] == ["x.csv"]


def test_the_file_has_the_permissions_of_a_new_one(run, folder):
    before = os.umask(0o027)
    try:
        assert run(folder / "x.csv") == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "x.csv").stat().st_mode) == 0o640


def test_nothing_is_left_behind_by_an_export_that_failed(run, folder, capsys):
    assert run(folder / "x.xyz") == 2
    assert list(folder.iterdir()) == []
    assert run(folder / "none" / "x.csv") == 1
    assert "hint:" in capsys.readouterr().err
