"""Where a measurement ran."""

import contextlib
import os
import pathlib
import platform
import subprocess
from typing import Any

REPOSITORY = pathlib.Path(__file__).parents[2]


def machine() -> dict[str, Any]:
    """The processor, the system, the interpreter and the revision."""
    model = platform.processor()
    with contextlib.suppress(OSError):
        info = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
        model = next(s.split(":", 1)[1].strip() for s in info.splitlines() if s.startswith("model name"))
    revision = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=False, cwd=REPOSITORY, capture_output=True, text=True
    )
    return {
        "cpus": os.cpu_count(),
        "cpu": model,
        "system": platform.platform(),
        "python": platform.python_version(),
        "revision": revision.stdout.strip(),
    }
