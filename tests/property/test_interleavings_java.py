"""Tables that two operations at the same time have left (``rust/siltstone/tests/it/interleavings.rs``), judged by Java.

``make test`` and ``make stress`` tell the Rust tests to keep some of them in a folder.
"""

import os
import pathlib

import pytest

TABLES = pathlib.Path(os.environ.get("SILTSTONE_INTERLEAVING_TABLES", "/nonexistent"))
MISSING = "no tables of interleavings: `make test` and `make stress` keep some in SILTSTONE_INTERLEAVING_TABLES"


@pytest.mark.java
@pytest.mark.timeout(3600)
@pytest.mark.skipif("SILTSTONE_INTERLEAVING_TABLES" not in os.environ, reason=MISSING)
def test_java_finds_nothing_wrong_with_what_two_operations_have_left(oracle):
    tables = sorted(TABLES.iterdir())
    problems = {t.name: oracle.call("fsck", str(t), check=False)[0]["problems"] for t in tables}
    print(f"{len(tables)} tables")
    assert len(tables) > 20
    assert {name: found for name, found in problems.items() if found} == {}
