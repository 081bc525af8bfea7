"""Each bucket mode on Spark, classic and Connect: write twice, compact, read; killed Python workers lose and double nothing."""

import os
import pathlib
import subprocess
import sys

import bucket_modes
import pytest
import spark_session

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("master", ["local[2,4]", "connect"])
def test_a_table_lives_through_killed_workers(tmp_path, master):
    """Those that read, write, and give keys their buckets; Spark tries their tasks again."""
    spark_session.require()
    command = [sys.executable, str(pathlib.Path(bucket_modes.__file__)), str(tmp_path), master]
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1100, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split() == list(bucket_modes.MODES)
