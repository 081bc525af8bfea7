"""The tables below tests/golden/fixtures: written by real Java Paimon, with the rows that Java reads from them."""

import fnmatch
import gzip
import json
import pathlib
import tarfile

ROOT = pathlib.Path(__file__).parents[1] / "golden" / "fixtures"


def names(*patterns):
    """Fixture names; `dedup_` matches by prefix, `append_*` as a pattern, `-x` leaves out."""

    def hit(name, p):
        return fnmatch.fnmatchcase(name, p if set(p) & set("*?[") else p + "*")

    keep = [p for p in patterns if not p.startswith("-")]
    drop = [p[1:] for p in patterns if p.startswith("-")]
    found = sorted(d.name for d in ROOT.iterdir() if (d / "table.tar.gz").exists())
    return [n for n in found if any(hit(n, p) for p in keep) and not any(hit(n, p) for p in drop)]


def unpack(name, folder):
    """Extract a fixture's table below `folder` and return its directory."""
    with tarfile.open(ROOT / name / "table.tar.gz") as tar:
        tar.extractall(folder, filter="data")
    return str(pathlib.Path(folder) / "table")


def spec(name):
    return json.loads((ROOT / name / "spec.json").read_text(encoding="utf-8"))


def expected_names(name):
    return sorted({p.name.split(".jsonl")[0] for p in (ROOT / name / "expected").glob("*.jsonl*")})


def expected(name, which="latest"):
    """Rows that Java read, or None when it refused."""
    plain = ROOT / name / "expected" / f"{which}.jsonl"
    packed = plain.with_name(plain.name + ".gz")
    if plain.exists():
        text = plain.read_text(encoding="utf-8")
    elif packed.exists():
        text = gzip.decompress(packed.read_bytes()).decode()
    else:
        return None
    return [json.loads(line) for line in text.splitlines()]
