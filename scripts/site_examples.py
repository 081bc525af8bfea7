"""A hook of mkdocs: runs the notebooks and programs of examples/, and makes pages of them; a failure ends the build."""

from __future__ import annotations

import html
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
#: Where they write: in memory where that is possible, for commits wait for the disk.
PLACE = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
#: Seconds that a cell or a program may take.
PATIENCE = 300
#: What cells made as HTML, by a name that stands for it while the page is Markdown.
MADE: dict[str, str] = {}
#: It is a page in the page, which styles of the site do not change.
HEAD = """<meta name="color-scheme" content="light dark"><style>
body { margin: 0; font: 14px/1.5 system-ui, sans-serif }
table { border-collapse: collapse } th, td { text-align: left; padding: .1em 1.2em .1em 0 }
</style>"""


def on_files(files: Any, config: Any) -> Any:
    """Add the pages."""
    from mkdocs.structure.files import File

    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    notebooks = sorted(EXAMPLES.glob("notebooks/*.ipynb"))
    programs = sorted(EXAMPLES.glob("*.py"), key=lambda program: listed.find(program.name))
    with tempfile.TemporaryDirectory(dir=PLACE) as folder, ThreadPoolExecutor(2) as pool:
        os.environ["IPYTHONDIR"] = folder  # IPython makes it where it is only imported
        pages, printed = pool.map(notebook_page, notebooks), pool.map(output_of, programs)
        for notebook, page in zip(notebooks, pages, strict=True):
            files.append(File.generated(config, notebook.stem.replace("_", "-") + ".md", content=page))
            files.append(File.generated(config, f"notebooks/{notebook.name}", content=notebook.read_bytes()))
        texts = [program_section(program, output) for program, output in zip(programs, printed, strict=True)]
    files.append(File.generated(config, "examples.md", content="\n".join([listed, *texts])))


def on_page_content(content: str, **_: Any) -> str:
    """The page as HTML, with what cells made as HTML."""
    return re.sub(r'<div id="(made-[\w-]+)"></div>', lambda found: framed(MADE[found[1]]), content)


def framed(made: str) -> str:
    """A page in the page, as high as it needs to be."""
    height = "this.height = this.contentDocument.body.offsetHeight + 20"
    style = "width: 100%; border: 0; margin: 1em 0"
    return f'<iframe srcdoc="{html.escape(HEAD + made)}" style="{style}" onload="{height}" title="output"></iframe>'


def environment(folder: str) -> dict[str, str]:
    """Variables of a process that leaves nothing behind outside of a folder."""
    return {**os.environ, "TMPDIR": folder, "NO_COLOR": "1"}


def output_of(program: pathlib.Path) -> str | None:
    """What a program prints; None where it needs Spark, with which the tests run it."""
    if "pyspark" in program.read_text(encoding="utf-8"):
        return None
    with tempfile.TemporaryDirectory(dir=PLACE) as folder:
        command, env = [sys.executable, str(program)], environment(folder)
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        raise failure(program, done.stderr)
    return done.stdout


def program_section(program: pathlib.Path, output: str | None) -> str:
    """A program and what it printed."""
    code = fenced("python", program.read_text(encoding="utf-8"))
    shown = "The tests run it." if output is None else f"It prints:\n\n{fenced('text', output)}"
    return f"## `{program.name}`\n\n{code}\n{shown}"


def notebook_page(notebook: pathlib.Path) -> str:
    """A notebook, run from its first cell to its last, as Markdown."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
    from traitlets.config import Config

    book = nbformat.read(notebook, as_version=4)
    nbformat.validate(book)
    with tempfile.TemporaryDirectory(dir=PLACE) as folder:
        place = {"metadata": {"path": folder}}
        # sockets in the folder, not ports, which others could listen to
        sockets = Config(KernelManager={"transport": "ipc", "connection_file": f"{folder}/kernel.json"})
        client = NotebookClient(book, timeout=PATIENCE, startup_timeout=PATIENCE, resources=place, config=sockets)
        try:
            client.execute(env=environment(folder))
        except CellExecutionError as error:
            raise failure(notebook, str(error)) from None
    parts = [part for cell in book.cells for part in cell_parts(notebook.stem, cell)]
    link = f'<a href="notebooks/{notebook.name}" download>{notebook.name}</a>'
    return "\n\n".join([parts[0], f"This page is a notebook: {link}", *parts[1:]])


def cell_parts(book: str, cell: Any) -> Iterator[str]:
    """A cell as Markdown: its text, or its code and what came of it."""
    if cell.cell_type != "code":
        yield cell.source
        return
    yield fenced("python", cell.source)
    for number, output in enumerate(cell.outputs):
        if output.output_type == "stream":
            yield fenced("text", output.text)
        elif "text/html" in output.data:
            name = f"made-{book}-{cell.id}-{number}"
            MADE[name] = output.data["text/html"]
            yield f'<div id="{name}"></div>'
        else:
            yield fenced("text", output.data["text/plain"])


def fenced(language: str, text: str) -> str:
    """A text as a block."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def failure(path: pathlib.Path, why: str) -> Exception:
    """An error that ends the build without a trace of mkdocs itself."""
    from mkdocs.exceptions import PluginError

    return PluginError(f"examples/{path.relative_to(EXAMPLES)} failed:\n{why}")
