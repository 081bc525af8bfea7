"""A hook of mkdocs: documents that lie beside docs/ become pages of the site, and links to them lead there."""

from __future__ import annotations

import pathlib
import posixpath
import re
from typing import Any

PROJECT = pathlib.Path(__file__).parents[1]

#: Documents beside docs/, and their pages.
BESIDE = {
    "README.md": "index.md",
    "SECURITY.md": "security.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "RELEASING.md": "releasing.md",
    "benches/README.md": "benches.md",
}

#: What scripts/site_examples.py makes pages of, and their pages.
EXAMPLES = {
    "examples/README.md": "examples.md",
    "examples/notebooks/first_hour.ipynb": "first-hour.md",
    "examples/notebooks/cdc_with_changelogs.ipynb": "cdc-with-changelogs.md",
    "examples/notebooks/upkeep_of_a_neglected_table.ipynb": "upkeep-of-a-neglected-table.md",
}
PAGES = BESIDE | EXAMPLES
SOURCES = {page: source for source, page in PAGES.items()}


def on_files(files: Any, config: Any) -> Any:
    """Add the documents beside docs/."""
    from mkdocs.structure.files import File

    for source, page in BESIDE.items():
        text = (PROJECT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links of a page lead to pages, wherever its source lies."""
    name = page.file.src_uri
    return with_links(markdown, SOURCES.get(name, f"docs/{name}"))


def with_links(text: str, source: str) -> str:
    """A document whose links lead to pages; to files that are no pages there are names instead of links."""
    folder = posixpath.dirname(source)

    def led(found: re.Match[str]) -> str:
        label, target, anchor = found[1], found[2], found[3] or ""
        if "://" in target:
            return found[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        if path in PAGES:
            return f"[{label}]({PAGES[path]}{anchor})"
        if path.startswith("examples/") and path.endswith(".py"):
            return f"[{label}]({EXAMPLES['examples/README.md']}#{posixpath.basename(path).replace('.', '')})"
        if path.startswith("docs/"):
            return f"[{label}]({path.removeprefix('docs/')}{anchor})"
        if not (PROJECT / path).exists():
            raise FileNotFoundError(f"{source}: {target} is not there")
        return label if "`" in label else f"`{label}`"

    parts = re.split(r"(```.*?```)", text, flags=re.DOTALL)
    links = r"\[([^\]]+)\]\(([^)#\s]+)(#[^)]*)?\)"
    return "".join(part if part.startswith("```") else re.sub(links, led, part) for part in parts)
