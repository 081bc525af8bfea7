"""The code blocks of README.md and the examples of all docstrings run."""

import doctest
import importlib
import pathlib
import pkgutil
import re

import pytest
import siltstone as st

PROJECT = pathlib.Path(__file__).parents[2]


def modules():
    names = [m.name for m in pkgutil.walk_packages(st.__path__, "siltstone.")]
    return ["siltstone", *[n for n in names if n != "siltstone._core" and not n.endswith("__main__")]]


@pytest.mark.parametrize("name", modules())
def test_docstring_examples(name, tmp_path):
    folders = iter(range(1000))

    def example_table():
        cat = st.connect(tmp_path / f"example{next(folders)}")
        cat.create_database("shop")
        schema = {"id": "BIGINT", "item": "STRING"}
        t = cat.create_table("shop.orders", schema, primary_key=["id"], options={"bucket": "1"})
        t.append([{"id": 1, "item": "pen"}, {"id": 2, "item": "ink"}])
        return t

    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for example in finder.find(module, name, extraglobs={"st": st, "example_table": example_table}):
        example.globs["tmp"] = str(tmp_path / f"lake{next(folders)}")
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


def blocks(language):
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_readme_python_blocks_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {}
    plain = [b for b in blocks("python") if "spark" not in b]
    assert plain
    for block in plain:
        exec(compile(block, "README.md", "exec"), space)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_readme_spark_blocks_run(tmp_path, monkeypatch, spark):
    monkeypatch.chdir(tmp_path)
    space = {"spark": spark}
    found = blocks("python")
    assert any("spark" in b for b in found)
    for block in found:
        exec(compile(block, "README.md", "exec"), space)
