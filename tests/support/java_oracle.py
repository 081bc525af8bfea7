"""Real Java Paimon for the tests marked `java` (tests/oracle).

Without Java they are skipped; with CI=true that is a failure, so that CI never passes without having asked Java.
"""

import contextlib
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "oracle"))
import java_paimon

#: Tests ask for little at a time: the quick compiler alone costs less than what the thorough one would gain.
OF_TESTS = ("-Xmx2g", "-XX:TieredStopAtLevel=1")


def require():
    """Skip the test, or fail it, where real Java Paimon cannot run."""
    why = java_paimon.missing()
    if why and os.environ.get("CI") == "true":
        pytest.fail(f"CI must ask real Java Paimon: {why}")
    if why:
        pytest.skip(why)


@contextlib.contextmanager
def open_oracle(release=java_paimon.DEFAULT_RELEASE, java_options=OF_TESTS, more_jars=()):
    require()
    with java_paimon.Oracle(release, java_options, more_jars) as opened:
        yield opened
