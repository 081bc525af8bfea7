"""The code blocks of README.md and docs/, and the examples of all docstrings, run."""

import builtins
import doctest
import importlib
import importlib.util
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

    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name not in {"ray", "daft"}:
            raise
        pytest.skip(f"{missing.name} is not installed")
    finder = doctest.DocTestFinder(exclude_empty=True)
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


@pytest.mark.parametrize(
    "page",
    [*PAGES, "ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "RELEASING.md", "benches/README.md"],
)
def test_links_of_a_page_lead_somewhere(page):
    text = (PROJECT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    near = [link for link in links if "://" not in link]
    assert [link for link in near if not (PROJECT / page).parent.joinpath(link).exists()] == []


def test_the_readme_is_short():
    assert len((PROJECT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


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
    with pytest.raises(FileNotFoundError, match=r"nothing\.md"):
        hook.with_links("[e](../nothing.md)", "docs/x.md")


def test_every_page_is_in_the_navigation_of_the_site():
    listed = set(re.findall(r"([\w-]+\.md)", (PROJECT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert {page.name for page in PROJECT.glob("docs/*.md")} <= listed
