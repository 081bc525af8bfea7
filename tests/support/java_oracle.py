"""Finds the oracle that drives real Java Paimon.

It is looked for in $SILTSTONE_ORACLE, else beside the project. Without it the tests marked `java` are skipped; with
CI=true that is a failure, so that CI never passes without having asked Java.
"""

import contextlib
import importlib.util
import os
import pathlib

import pytest

PROJECT = pathlib.Path(__file__).parents[2]


def oracle_home():
    given = os.environ.get("SILTSTONE_ORACLE")
    return pathlib.Path(given) if given else PROJECT.parent / "shared" / "oracle"


def load(name):
    """A Python module of the oracle's folder."""
    import sys

    home = str(oracle_home())
    if home not in sys.path:
        sys.path.insert(0, home)
    spec = importlib.util.spec_from_file_location(name, oracle_home() / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def require():
    if (oracle_home() / "run").exists():
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI must run the tests against real Java, but there is no oracle at {oracle_home()}")
    pytest.skip("the oracle (real Java Paimon) is not here")


@contextlib.contextmanager
def open_oracle(version="1.4.2"):
    require()
    with load("oracle").Oracle(version) as o:
        try:
            yield o
        finally:
            o.p.stdin.close()
            o.p.wait()
            o.p.stdout.close()
