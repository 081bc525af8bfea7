"""Two executors: killed workers and executors, tasks that run twice, jobs on one table at the same time."""

import os
import pathlib
import subprocess
import sys

import cluster_jobs
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.mark.timeout(1500)
def test_jobs_lose_no_row_and_write_none_twice(spark, tmp_path):  # the session says whether there is a Spark
    command = [sys.executable, str(pathlib.Path(cluster_jobs.__file__)), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1400, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split() == ["worker", "speculation", "executor", "two"]
