"""A PostgreSQL server of its own for tests, where one is installed."""

import contextlib
import functools
import os
import pathlib
import shutil
import socket
import subprocess
import time

import psycopg
import pytest


@functools.cache
def program(name):
    """The path of one of its programs, which Debian does not put on PATH."""
    found = [
        shutil.which(name),
        *sorted(map(str, pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}")), reverse=True),
    ]
    return next(filter(None, found), None)


def require():
    """Skip the test where there is none."""
    if not program("initdb"):
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")


@contextlib.contextmanager
def server(folder):
    """Its port; it trusts everybody on this machine, and ends with the block."""
    require()
    # it refuses to run as root
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    data = pathlib.Path(folder) / "data"
    data.mkdir()
    if user:
        for path in (data, *data.parents[:1]):
            shutil.chown(path, "nobody")
        for path in data.parents:
            path.chmod(path.stat().st_mode | 0o011)
    run = functools.partial(subprocess.run, check=True, capture_output=True, cwd="/", **user)
    run([program("initdb"), "-D", data, "-U", "siltstone", "-A", "trust", "--no-sync"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program("postgres"), "-D", data, "-p", str(port), "-c", "listen_addresses=127.0.0.1", "-k", data, "-F"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/", **user) as process:
        try:
            for _ in range(200):
                # the port answers before the server does
                with contextlib.suppress(psycopg.OperationalError):
                    psycopg.connect(f"host=127.0.0.1 port={port} user=siltstone dbname=postgres").close()
                    break
                time.sleep(0.1)
            yield port
        finally:
            process.send_signal(2)
