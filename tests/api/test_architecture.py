"""ARCHITECTURE.md names modules, functions and files that exist."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
NAMES = sorted({name for name in re.findall(r"`([^`\n]+)`", TEXT) if "…" not in name and "<" not in name})
PATHS = [name for name in NAMES if re.fullmatch(r"[\w.-]+(/[\w.*{},-]+)*(/|\.(rs|py|md|toml))", name)]
ITEMS = [name for name in NAMES if re.fullmatch(r"\w+(::\w+)+", name)]
#: Where paths begin, or lie anywhere below.
PLACES = [ROOT / place for place in (".", "rust", "rust/siltstone", "tests")]
SOURCES = [ROOT / place for place in ("rust/siltstone/src", "rust/siltstone/tests/it", "python/siltstone")]
DEFINED = re.compile(
    r"\b(?:fn|struct|enum|trait|type|const|static|mod|macro_rules!)\s+(\w+)|^\s+([A-Z]\w+)\s*[,({]", re.MULTILINE
)


@pytest.fixture(scope="module")
def defined():
    """Names of modules, items and variants of the crates."""
    names = {"siltstone", "crate"}
    for file in (ROOT / "rust").rglob("*.rs"):
        names.add(file.parent.name if file.stem == "mod" else file.stem)
        names.update(name for found in DEFINED.findall(file.read_text()) for name in found if name)
    return names


@pytest.mark.parametrize("name", ITEMS)
def test_items_exist(defined, name):
    assert [part for part in name.split("::") if part not in defined] == []


@pytest.mark.parametrize("name", PATHS)
def test_files_exist(name):
    pattern = re.sub(r"\{[^}]*\}", "*", name).rstrip("/")
    found = [found for place in PLACES for found in place.glob(pattern)]
    assert found or [found for source in SOURCES for found in source.rglob(pattern)]
