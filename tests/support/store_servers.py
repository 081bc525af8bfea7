"""Azurite, a process that keeps everything in memory, for who has fetched it: `make servers`.

It comes from npm, once a user, into `~/.cache/siltstone`. Tests that would use it are skipped with one line where it is not; the servers of
the tests themselves (`azure_server`, `gcs_server`) need nothing.
"""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import azure_server
import pytest

AZURITE = "3.35.0"
#: The key of its account that Azurite publishes.
PUBLISHED = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "siltstone"
AZURITE_PROGRAM = CACHE / "npm" / f"azurite-{AZURITE}" / "node_modules/azurite/dist/src/blob/main.js"


def fetch():
    """Fetches what is not there, with npm."""
    npm = "install --ignore-scripts --omit=optional --no-audit --no-fund --no-save --prefix".split()
    home = AZURITE_PROGRAM.parents[5]
    _fetched("npm", AZURITE_PROGRAM, [*npm, str(home), f"azurite@{AZURITE}"], {})


def _fetched(tool, program, arguments, env):
    if program.exists():
        print(f"{program} is there")
        return
    if not shutil.which(tool):
        print(f"{program.name} needs {tool}, which is not installed", file=sys.stderr)
        return
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([tool, *arguments], env={**os.environ, **env}, check=True)


class _Process:
    """A server on a port of its own."""

    path = "w"

    def __init__(self, program, command):
        missing = next(
            (tool for tool in (program, command[0]) if not shutil.which(tool) and not os.path.exists(tool)), None
        )
        if missing:
            pytest.skip(f"{missing} is not there: `make servers` fetches it")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [str(part).replace("PORT", str(self.port)) for part in command]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdout=quiet, stderr=quiet, stdin=quiet)
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            if self.process.poll() is not None:
                raise RuntimeError(f"{command[0]} ended with {self.process.returncode}")
            time.sleep(0.1)
        self.close()
        raise RuntimeError(f"{command[0]} did not start within a minute")

    def close(self):
        self.process.terminate()
        self.process.wait(20)


def _ask(method, url, data=None, headers=None):
    request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20) as answer:
        return answer.read()


class Azurite(_Process):
    """Azure Blob Storage, with the container `lake`."""

    secrets = (PUBLISHED,)
    wrong = azure_server.Server.wrong

    def __init__(self):
        quiet = ["--silent", "--disableTelemetry", "--skipApiVersionCheck", "--inMemoryPersistence"]
        command = ["node", AZURITE_PROGRAM, "--blobHost", "127.0.0.1", "--blobPort", "PORT", *quiet]
        super().__init__(AZURITE_PROGRAM, command)
        self.url = f"http://127.0.0.1:{self.port}/{azure_server.ACCOUNT}"
        query = {"restype": "container"}
        headers = {"x-ms-date": time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime()), "x-ms-version": "2021-12-02"}
        signed = azure_server.signature("PUT", f"/{azure_server.ACCOUNT}/lake", query, headers, PUBLISHED)
        headers["Authorization"] = f"SharedKey {azure_server.ACCOUNT}:{signed}"
        _ask("PUT", f"{self.url}/lake?restype=container", headers=headers)

    location = azure_server.Server.location

    def options(self, **others):
        key = f"fs.azure.account.key.{azure_server.ACCOUNT}.dfs.core.windows.net"
        return {key: PUBLISHED, "fs.azure.endpoint": self.url, **others}


if __name__ == "__main__":
    fetch()
