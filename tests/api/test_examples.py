"""The code blocks of README.md and docs/, what lies in examples/, and the examples of all docstrings, run."""

import builtins
import doctest
import importlib
import importlib.util
import inspect
import json
import pathlib
import pkgutil
import re
import subprocess
import sys

import pytest
import siltstone as st

PROJECT = pathlib.Path(__file__).parents[2]


def modules():
    names = [m.name for m in pkgutil.walk_packages(st.__path__, "siltstone.")]
    return ["siltstone", *[n for n in names if n != "siltstone._core" and not n.endswith("__main__")]]


class Finder(doctest.DocTestFinder):
    """Methods with a wrapper around them are of the module that they are written in."""

    def _from_module(self, module, object):  # noqa: A002  # doctest's name
        return super()._from_module(module, inspect.unwrap(object) if inspect.isfunction(object) else object)


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

    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name not in {"ray", "daft"}:
            raise
        pytest.skip(f"{missing.name} is not installed")
    finder = Finder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for example in finder.find(module, name, extraglobs={"st": st, "example_table": example_table}):
        example.globs["tmp"] = str(tmp_path / f"lake{next(folders)}")
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


PAGES = ["README.md", *sorted(str(page.relative_to(PROJECT)) for page in PROJECT.glob("docs/*.md"))]


def blocks(page):
    """The Python blocks of a page; they run in order and share their names."""
    text = (PROJECT / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def run(page, found, space):
    for block in found:
        exec(compile(block, page, "exec"), space)


@pytest.mark.parametrize("page", [page for page in PAGES if any("spark" not in block for block in blocks(page))])
def test_python_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page, [block for block in blocks(page) if "spark" not in block], {})


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("page", [page for page in PAGES if any("spark" in block for block in blocks(page))])
def test_spark_blocks_of_a_page_run(page, tmp_path, monkeypatch, spark):
    monkeypatch.chdir(tmp_path)
    run(page, blocks(page), {"spark": spark})


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_the_first_hour_in_spark_needs_no_other_block(tmp_path, monkeypatch, spark):
    """It took its session, its table and its rows from blocks for other tastes, which a user of Spark left out."""
    monkeypatch.chdir(tmp_path)
    run("docs/quick-start.md", [block for block in blocks("docs/quick-start.md") if "spark" in block], {})


PROGRAMS = sorted(str(program.relative_to(PROJECT)) for program in PROJECT.glob("examples/*.py"))
NOTEBOOKS = sorted(str(book.relative_to(PROJECT)) for book in PROJECT.glob("examples/notebooks/*.ipynb"))


def printed(program, *arguments):
    """What a program of examples/ prints."""
    command = [sys.executable, str(PROJECT / program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", [program for program in PROGRAMS if "spark" not in program])
def test_a_program_runs(program, tmp_path, monkeypatch):
    """Without a directory it leaves nothing behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert printed(program).strip()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("program", [p for p in PROGRAMS if "spark" not in p and "writers" not in p])
def test_a_program_may_run_again_in_its_directory(program, tmp_path):
    st.connect(tmp_path).create_database("other")
    printed(program, tmp_path)
    printed(program, tmp_path)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_the_pipeline_in_spark_runs(tmp_path):
    from spark_session import require

    require()
    assert "zone 3 earned 29298.00" in printed("examples/spark_pipeline.py", tmp_path)


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_notebook_is_kept_without_what_its_cells_made(notebook):
    """As Jupyter writes it, so that a diff shows what was changed; `make docs` asks nbformat, too."""
    text = (PROJECT / notebook).read_text(encoding="utf-8")
    book = json.loads(text)
    assert text == json.dumps(book, indent=1, ensure_ascii=False) + "\n"
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert set(book["metadata"]) == {"kernelspec", "language_info"}
    names = [cell["id"] for cell in book["cells"]]
    assert all(re.fullmatch(r"[a-z][a-z0-9-]{0,63}", name) for name in names) and len(set(names)) == len(names)
    for cell in book["cells"]:
        assert cell["metadata"] == {} and all(isinstance(line, str) for line in cell["source"])
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, cell["id"]
        else:
            assert cell["cell_type"] == "markdown" and "outputs" not in cell, cell["id"]


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_the_cells_of_a_notebook_run_in_order(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    book = json.loads((PROJECT / notebook).read_text(encoding="utf-8"))
    run(notebook, ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"], {})


def test_every_example_is_listed():
    listed = (PROJECT / "examples" / "README.md").read_text(encoding="utf-8")
    site = (PROJECT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [name for name in [*PROGRAMS, *NOTEBOOKS] if f"({name.removeprefix('examples/')})" not in listed] == []
    pages = [pathlib.Path(name).stem.replace("_", "-") + ".md" for name in NOTEBOOKS]
    assert [page for page in [*pages, "examples.md"] if page not in site] == []


@pytest.mark.parametrize(
    "page",
    [
        *PAGES,
        *[f"{name}.md" for name in ("ARCHITECTURE", "SECURITY", "CONTRIBUTING", "CHANGELOG", "RELEASING")],
        "benches/README.md",
        "examples/README.md",
        *NOTEBOOKS,
    ],
)
def test_links_of_a_page_lead_somewhere(page):
    text = (PROJECT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    near = [link for link in links if "://" not in link]
    assert [link for link in near if not (PROJECT / page).parent.joinpath(link).exists()] == []


def test_the_readme_is_short():
    assert len((PROJECT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def kinds(text):
    """Rows of the tables of docs/errors.md: class, what it also is, code, meaning."""
    return {
        found[1]: (found[2], found[3], found[4])
        for found in re.finditer(r"^\| `(\w+)`(?:, a `(\w+)`)? \| `([\w-]+)` \| (.*?) \| .+ \|$", text, re.MULTILINE)
    }


def test_the_page_of_errors_names_every_kind():
    """With its code and meaning as the class has them, so that a new kind is a page that does not hold."""
    shown = kinds((PROJECT / "docs" / "errors.md").read_text(encoding="utf-8"))
    classes = {name: c for name, c in vars(st.errors).items() if isinstance(c, type) and name != "SiltstoneError"}
    assert set(shown) == set(classes)
    for name, (also, code, meaning) in shown.items():
        assert code == classes[name].code
        assert not also or issubclass(classes[name], getattr(builtins, also))
        own = " ".join(classes[name].__doc__.split()).replace("``", "`").rstrip(".")
        assert meaning in {own, "the kinds below"}, name


def test_links_of_the_site_lead_to_pages():
    """Documents beside docs/ are pages of the site; to other files there are names instead of links."""
    site = importlib.util.spec_from_file_location("site_hook", PROJECT / "scripts" / "site.py")
    hook = importlib.util.module_from_spec(site)
    site.loader.exec_module(hook)
    text = "[a](../SECURITY.md#what) [b](types.md) [c](https://x.y) [d](../Makefile)\n```text\n[e](nothing.md)\n```"
    assert hook.with_links(text, "docs/x.md") == (
        "[a](security.md#what) [b](types.md) [c](https://x.y) `d`\n```text\n[e](nothing.md)\n```"
    )
    assert hook.with_links("[a](../upkeep_job.py) [b](first_hour.ipynb)", "examples/notebooks/x.ipynb") == (
        "[a](examples.md#upkeep_jobpy) [b](first-hour.md)"
    )
    with pytest.raises(FileNotFoundError, match=r"nothing\.md"):
        hook.with_links("[e](../nothing.md)", "docs/x.md")


def test_every_page_is_in_the_navigation_of_the_site():
    listed = set(re.findall(r"([\w-]+\.md)", (PROJECT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert {page.name for page in PROJECT.glob("docs/*.md")} <= listed


def test_the_page_of_aggregation_names_all_functions(cat):
    options = {"merge-engine": "aggregation", "fields.b.aggregate-function": "?"}
    with pytest.raises(st.errors.InvalidOption) as refused:
        cat.create_table("db.t", {"a": "INT", "b": "INT"}, primary_key=["a"], options=options)
    names = refused.value.hint.removeprefix("use one of: ").split(", ")
    page = (PROJECT / "docs/engine-aggregation.md").read_text(encoding="utf-8")
    listed = page[page.index("The functions are") : page.index("Columns without a function")]
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted(names)
