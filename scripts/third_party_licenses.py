"""THIRD-PARTY-LICENSES.txt: whose code is compiled into the wheels, with the texts that its licences ask for.

    python scripts/third_party_licenses.py            # write it anew
    python scripts/third_party_licenses.py --check    # fail when it is not what Cargo.lock says

Taken from `cargo metadata` for the platforms of deny.toml: what siltstone-py depends on, without build scripts,
procedural macros and tests, which are not in the library. Of licences to choose from, the first in deny.toml is taken.
"""

import json
import pathlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator

PROJECT = pathlib.Path(__file__).resolve().parents[1]
OUT = PROJECT / "THIRD-PARTY-LICENSES.txt"
DENY = tomllib.loads((PROJECT / "deny.toml").read_text(encoding="utf-8"))
ALLOWED = DENY["licenses"]["allow"]
APACHE = "Apache-2.0"
#: Where packages of others are that we have changed.
VENDORED = "/rust/vendor/"
#: Packages that came without a text: the one from the same repository that has it.
TEXT_OF = {"alloc-stdlib": "alloc-no-stdlib", "brotli": "brotli-decompressor"}
FILE = re.compile(r"(licen[cs]e|copying|copyright|notice)", re.IGNORECASE)
#: What a file's name says about its licence.
NAMES = {
    "mit": "MIT",
    "apache": APACHE,
    "bsd": "BSD",
    "zlib": "Zlib",
    "unicode": "Unicode",
    "boost": "BSL",
    "0bsd": "0BSD",
}
RULE = "=" * 100
HEAD = f"""The wheels of siltstone contain compiled code of these packages.

Packages under {APACHE} come with what their authors want to be named; the text of that licence is in the file LICENSE.
The Rust standard library ("MIT OR {APACHE}", the Rust project) is used under {APACHE}, too.
"""


def metadata() -> dict:
    """What cargo knows of all packages."""
    platforms = [f"--filter-platform={target}" for target in DENY["graph"]["targets"]]
    command = ["cargo", "metadata", "--locked", "--format-version=1", *platforms]
    return json.loads(subprocess.run(command, cwd=PROJECT, check=True, stdout=subprocess.PIPE).stdout)


def linked(found: dict) -> list[dict]:
    """The packages of others that are in the library, by name."""
    packages = {p["id"]: p for p in found["packages"]}
    nodes = {n["id"]: n for n in found["resolve"]["nodes"]}
    waiting = [i for i, p in packages.items() if p["name"] == "siltstone-py"]
    seen: set[str] = set()
    while waiting:
        package = waiting.pop()
        if package not in seen and not any("proc-macro" in t["kind"] for t in packages[package]["targets"]):
            seen.add(package)
            kinds = {d["pkg"]: [k["kind"] for k in d["dep_kinds"]] for d in nodes[package]["deps"]}
            waiting += [name for name, kind in kinds.items() if None in kind]
    others = [packages[i] for i in seen if packages[i]["source"] or VENDORED in packages[i]["manifest_path"]]
    return sorted(others, key=lambda p: (p["name"], p["version"]))


def chosen(expression: str) -> tuple[str, ...]:
    """The licences under which a package is used: each part of an AND, of an OR the one that deny.toml has first."""
    parts = expression.replace("/", " OR ").replace("(", "").replace(")", "").split(" AND ")
    taken = []
    for part in parts:
        able = [name for name in ALLOWED if name in part.split(" OR ")]
        if not able:
            raise SystemExit(f"deny.toml allows none of {part}")
        taken.append(able[0])
    return tuple(taken)


def texts(package: dict, licences: tuple[str, ...]) -> Iterator[str]:
    """What has to be said of a package: its licences but Apache's, its notices."""
    folder = pathlib.Path(package["manifest_path"]).parent
    for file in sorted(folder.rglob("*")):
        if not (file.is_file() and FILE.match(file.name) and file.suffix not in (".rs", ".html")):
            continue
        says = [licence for word, licence in NAMES.items() if word in re.split(r"[^a-z0-9]", file.name.lower())]
        if says and not any(taken.startswith(licence) for licence in says for taken in licences):
            continue
        text = "\n".join(line.rstrip() for line in file.read_text(encoding="utf-8").strip().splitlines())
        if "GNU GENERAL PUBLIC LICENSE" not in text and (rest := without_apache(text)):
            yield rest


def without_apache(text: str) -> str:
    """The text without that of the Apache licence, which stands in LICENSE."""
    start, end = re.search(r"Apache License\s+Version 2\.0", text), "END OF TERMS AND CONDITIONS"
    if not start or end not in text:
        return text
    before, after = text[: start.start()], text.split(end, 1)[1]
    appendix = re.compile(r"\s*APPENDIX: How to apply.*?limitations under the License\.", re.DOTALL)
    return (before + appendix.sub("", after)).strip()


def document() -> str:
    """The whole file. Packages with the same licences and words stand together."""
    packages = linked(metadata())
    said = {p["name"]: list(dict.fromkeys(texts(p, chosen(p["license"])))) for p in packages}
    groups: dict[tuple, list[str]] = {}
    for package in packages:
        licences = chosen(package["license"])
        words = said[package["name"]] or said.get(TEXT_OF.get(package["name"], ""), [])
        if not words and set(licences) != {APACHE}:
            raise SystemExit(f"{package['name']} has no text of {package['license']}: name one in TEXT_OF")
        groups.setdefault((licences, tuple(words)), []).append(f"{package['name']} {package['version']}")
    blocks = []
    for (licences, words), names in sorted(groups.items(), key=lambda group: (group[0][0], group[1])):
        blocks.append("\n\n".join([f"{RULE}\n{' AND '.join(licences)}: {', '.join(names)}", *words]))
    return HEAD + "\n" + "\n\n".join(blocks) + "\n"


def main() -> int:
    text = document()
    if "--check" not in sys.argv[1:]:
        OUT.write_text(text, encoding="utf-8")
    elif not OUT.exists() or OUT.read_text(encoding="utf-8") != text:
        print(f"{OUT.name} is not what Cargo.lock says: run `python scripts/third_party_licenses.py`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
