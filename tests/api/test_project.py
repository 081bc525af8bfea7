"""The project as somebody else gets it: nothing beside it is needed, and what is missing is said."""

import importlib.util
import pathlib
import re
import subprocess
import tomllib

import pytest

PROJECT = pathlib.Path(__file__).parents[2]
MAKEFILE = (PROJECT / "Makefile").read_text(encoding="utf-8")
SETTINGS = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))


def script(name):
    spec = importlib.util.spec_from_file_location(name, PROJECT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_file_names_what_lies_beside_the_project():
    """The tests against Java and the benchmarks looked for their program beside the project, where nobody else has it."""
    listed = subprocess.run(["git", "ls-files"], cwd=PROJECT, check=True, capture_output=True, text=True).stdout
    outside = re.compile(r"\.\./" + "shared|SILTSTONE_" + "ORACLE")
    for name in listed.splitlines():
        path = PROJECT / name
        if path.is_file() and not name.startswith("tests/golden/fixtures/") and path.suffix not in {".gz", ".png"}:
            found = outside.search(path.read_text(encoding="utf-8"))
            assert not found, f"{name}: {found and found[0]}"


def test_every_target_that_make_names_exists():
    named = re.findall(r'@echo "make (\w+)', MAKEFILE)
    assert {"setup", "demo", "quick", "test", "stress", "check", "bench", "wheel"} <= set(named)
    for target in named:
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target


def test_nothing_that_takes_minutes_is_silent():
    """A first `make demo` printed nothing for seven minutes, for maturin was told to be quiet."""
    assert not re.search(r"(maturin|cargo)\b.* (--quiet|-q)\b", MAKEFILE)


def look(arguments, path, **environment):
    command = ["/bin/sh", "scripts/check_machine.sh", *arguments]
    env = {"PATH": path, **environment}
    return subprocess.run(command, cwd=PROJECT, env=env, capture_output=True, text=True, check=False)


def test_an_empty_machine_is_told_everything_that_it_lacks(tmp_path):
    done = look(["python3", "java"], str(tmp_path))
    assert done.returncode == 1
    lacking = re.findall(r"^MISSING: (.*?) \(", done.stderr, re.MULTILINE)
    assert lacking == [
        "Python 3.11 or later",
        "Rust 1.90 or later",
        "a C compiler",
        "Java 17 or 21 with javac",
    ]
    assert "rustup.rs" in done.stderr and "openjdk-17" in done.stderr


@pytest.mark.parametrize("wanted", [[], ["java"]])
def test_an_absent_java_is_a_note_unless_it_is_needed(wanted, tmp_path):
    for name, says in (("python9", ""), ("cargo", "cargo 1.95.0"), ("cc", "")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {says}\n")
        (tmp_path / name).chmod(0o755)
    done = look(["python9", *wanted], f"{tmp_path}:/usr/bin:/bin", JAVA_HOME=str(tmp_path))
    assert done.returncode == len(wanted), done.stderr
    assert done.stderr.startswith("MISSING: Java" if wanted else "note: Java")


def test_licences_lie_beside_the_metadata_of_a_wheel_and_nowhere_else():
    """LICENSE and NOTICE lay in the root of site-packages, where the next package overwrites them."""
    assert set(SETTINGS["project"]["license-files"]) == script("check_wheel").LICENSES
    assert "include" not in SETTINGS["tool"]["maturin"]
    info = "siltstone-0.1.0.dist-info"
    good = ["siltstone/__init__.py", "siltstone/_core.abi3.so", "pyspark_siltstone/__init__.py", f"{info}/METADATA"]
    good += [f"{info}/licenses/{name}" for name in script("check_wheel").LICENSES]
    assert script("check_wheel").problems(good) == []
    assert script("check_wheel").problems([*good, "NOTICE"]) == ["NOTICE lies beside the packages"]
    assert script("check_wheel").problems(good[:-1]) != []
    assert script("check_wheel").problems([name for name in good if not name.endswith(".so")]) != []


def test_a_choice_of_licences_is_made_as_deny_toml_says():
    chosen = script("third_party_licenses").chosen
    assert chosen("MIT OR Apache-2.0") == chosen("MIT/Apache-2.0") == ("Apache-2.0",)
    assert chosen("(MIT OR Apache-2.0) AND Unicode-3.0") == ("Apache-2.0", "Unicode-3.0")
    assert chosen("Unlicense OR MIT") == ("MIT",)
    with pytest.raises(SystemExit, match="GPL-3.0"):
        chosen("GPL-3.0")


def test_third_party_licences_name_the_locked_versions():
    """`make lint` compares the whole text; this needs no network."""
    locked = set(
        re.findall(
            r'^name = "(.*)"\nversion = "(.*)"$', (PROJECT / "Cargo.lock").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    text = (PROJECT / "THIRD-PARTY-LICENSES.txt").read_text(encoding="utf-8")
    listed = [
        tuple(p.split(" ")) for line in re.findall(r"^=+\n.*?: (.*)$", text, re.MULTILINE) for p in line.split(", ")
    ]
    assert len(listed) > 100
    assert set(listed) <= locked


def test_the_citation_has_the_version_of_the_project():
    version = tomllib.loads((PROJECT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    assert f"\nversion: {version}\n" in (PROJECT / "CITATION.cff").read_text(encoding="utf-8")


def test_an_installed_wheel_is_tried_by_a_program_that_needs_nothing_else(capsys):
    assert script("try_wheel").main() == 0
    assert "works" in capsys.readouterr().out


def test_workflows_pin_what_they_use():
    """A tag of somebody else's action can be moved; a commit cannot."""
    for path in (PROJECT / ".github" / "workflows").glob("*.yml"):
        used = re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))
        assert used and all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", name) for name in used), path


def test_every_code_of_fsck_is_on_the_page_of_upkeep():
    """An operator had the code of a finding, and no page that said what it means."""
    sources = (PROJECT / "rust/siltstone/src/maintenance/fsck").glob("*.rs")
    texts = [path.read_text(encoding="utf-8").partition("#[cfg(test)]")[0] for path in sources]
    codes = {code for text in texts for code in re.findall(r'"([a-z]+(?:-[a-z]+)+)"', text)}
    page = (PROJECT / "docs/upkeep.md").read_text(encoding="utf-8")
    assert "missing-file" in codes
    assert {code for code in codes if f"`{code}`" not in page} == set()
