"""What is in a wheel: the packages, and the licences beside its metadata. `make wheel` looks.

python scripts/check_wheel.py dist/siltstone-*.whl
"""

import sys
import zipfile

LICENSES = {"LICENSE", "NOTICE", "THIRD-PARTY-LICENSES.txt"}
PACKAGES = {"siltstone", "pyspark_siltstone"}


def problems(names: list[str]) -> list[str]:
    """What is wrong with the files of a wheel, in words."""
    tops = {name.split("/")[0] for name in names}
    infos = {top for top in tops if top.endswith(".dist-info")}
    found = [f"{top} lies beside the packages" for top in sorted(tops - infos - PACKAGES)]
    found += [f"the package {name} is missing" for name in sorted(PACKAGES - tops)]
    kept = {name.split("/")[-1] for name in names if ".dist-info/licenses/" in name}
    found += [f"{name} is missing in dist-info" for name in sorted(LICENSES - kept)]
    if not any(name.startswith("siltstone/_core.") and name.endswith((".so", ".pyd")) for name in names):
        found.append("the extension module is missing")
    return found


def main() -> int:
    wrong = [(path, problem) for path in sys.argv[1:] for problem in problems(zipfile.ZipFile(path).namelist())]
    for path, problem in wrong:
        print(f"{path}: {problem}", file=sys.stderr)
    return int(bool(wrong) or not sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
