"""The command line with a warehouse on a store: the environment says how it is reached."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.stores


def test_tables_are_made_written_and_read(s3, bucket):
    environment = {
        **os.environ,
        "AWS_ACCESS_KEY_ID": "test-key",
        "AWS_SECRET_ACCESS_KEY": "test-secret-value",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": s3.url,
    }

    def siltstone(*arguments):
        command = [sys.executable, "-m", "siltstone", "-w", f"s3://{bucket}/lake", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    siltstone("create", "shop.orders", "--create-database", "--column", "id BIGINT", "--primary-key", "id")
    shown = json.loads(siltstone("--output", "json", "show", "shop.orders"))
    assert shown["location"] == f"s3://{bucket}/lake/shop.db/orders"
    siltstone("fsck", f"s3a://{bucket}/lake/shop.db/orders")
