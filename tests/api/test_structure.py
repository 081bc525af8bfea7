"""The plan of the Python modules: small files, one order of imports that names every module, and no circles."""

import ast
import os
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

PROJECT = pathlib.Path(__file__).parents[2]
SOURCE = PROJECT / "python"
CONTRACTS = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
LONGEST_FILE, LONGEST_FUNCTION = 300, 100


def modules():
    """Files of the package by the names of their modules."""
    found = {}
    for path in (SOURCE / "siltstone").rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path, known):
    """Modules of the package that a file imports, anywhere in it; `siltstone._core` is none."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            inside = {name for name in names if name in known or name == "siltstone._core"}
            found |= inside | ({node.module} if inside != names else set())
    return found & known.keys()


def circles(imports):
    """Modules that reach themselves by what they import."""

    def reached(name):
        seen, left = set(), [name]
        while left:
            for other in imports[left.pop()] - seen:
                seen.add(other)
                left.append(other)
        return seen

    return sorted(name for name in imports if name in reached(name))


def unnamed(known):
    """Modules that no contract names, and names of contracts that no module has."""
    named = {"siltstone"}
    for contract in CONTRACTS:
        (container,) = contract["containers"]
        assert contract["type"] == "layers" and contract["exhaustive"], contract["name"]
        named |= {f"{container}.{name}" for layer in contract["layers"] for name in re.split(r" \| ", layer)}
    return sorted(named ^ known)


@pytest.mark.parametrize("folder", ["python", "benches", "scripts"])
def test_files_are_read_at_a_glance(folder):
    for path in (PROJECT / folder).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= LONGEST_FILE, f"{path} has more than {LONGEST_FILE} lines"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                length = node.end_lineno - node.lineno + 1
                assert length <= LONGEST_FUNCTION, f"{path}: {node.name} has {length} lines"


def test_every_module_says_what_it_holds():
    for name, path in modules().items():
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), name


def test_every_module_is_named_in_the_import_contracts():
    """Six modules were in no contract, so that nothing was asked of their imports."""
    known = set(modules())
    assert unnamed(known) == []
    assert unnamed(known | {"siltstone.forgotten", "siltstone.spark.forgotten"}) == [
        "siltstone.forgotten",
        "siltstone.spark.forgotten",
    ]
    assert unnamed(known - {"siltstone.table.reading"}) == ["siltstone.table.reading"]


def test_no_module_reaches_itself_by_its_imports():
    """Also by imports inside functions, and by the package itself, which the linter is told to overlook."""
    known = modules()
    imports = {name: imported(path, known) for name, path in known.items()}
    assert circles(imports) == []
    imports["siltstone._args"] = imports["siltstone._args"] | {"siltstone"}
    assert "siltstone._args" in circles(imports)


def test_imports_go_down():
    pytest.importorskip("importlinter")
    run = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    settings = ["--config", str(PROJECT / "pyproject.toml"), "--no-cache"]
    done = subprocess.run(
        [sys.executable, "-c", run, *settings], cwd=SOURCE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_groups_of_tests_stay_together(tmp_path):
    """A new pytest once switched them off without a word, and each process started a Spark session of its own."""
    test = """
import os, pathlib, pytest
@pytest.mark.xdist_group("g")
@pytest.mark.parametrize("n", range(8))
def test_who(n):
    pathlib.Path(__file__).with_name(os.environ["PYTEST_XDIST_WORKER"] + ".ran").touch()
"""
    (tmp_path / "test_group.py").write_text(test)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "--dist",
        "loadgroup",
        "-p",
        "no:cacheprovider",
        str(tmp_path),
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("*.ran"))) == 1
