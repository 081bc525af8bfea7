"""Each bucket mode on Spark, classic and Connect: write twice, compact, read; a killed Python worker loses and doubles nothing."""

import os
import pathlib
import subprocess
import sys

import bucket_modes
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.mark.parametrize("mode", bucket_modes.MODES)
def test_a_table_lives_through_killed_workers(spark, tmp_path, mode):
    bucket_modes.live(spark, tmp_path, mode)


@pytest.mark.timeout(1200)
def test_over_connect_as_well(tmp_path):
    command = [sys.executable, str(pathlib.Path(bucket_modes.__file__)), str(tmp_path)]
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1100, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split() == list(bucket_modes.MODES)
