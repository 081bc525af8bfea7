"""The demo, on a few rows a month; the whole year is `make demo`."""

import os
import subprocess
import sys

import pytest


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_the_demo_finds_every_row_right(tmp_path):
    command = [
        sys.executable,
        "-m",
        "siltstone.cli",
        "-o",
        "json",
        "demo",
        "--rows",
        "40",
        "--keep",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"wrong": 0' in done.stdout
