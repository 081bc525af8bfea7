"""Files that people write to configure catalogs: small ones, read whole; and paths that may begin with ``~``."""

from __future__ import annotations

import os
import pathlib
import stat

from siltstone._args import shown
from siltstone.errors import InvalidArgument

#: Bytes of a file of configuration, at most; parsers take seconds and much memory for more.
MOST_BYTES = 64 << 10


def home_path(text: str) -> pathlib.Path:
    """A path; ``~`` is the home directory.

    Raises:
        InvalidArgument: There is no such home directory.
    """
    try:
        return pathlib.Path(text).expanduser()
    except (RuntimeError, ValueError) as e:
        raise InvalidArgument(
            f"{shown(text)} names no home directory that this machine knows: {e}",
            hint="write the whole path, or ./~name for a directory whose name begins with ~",
        ) from None


def whole_path(text: str) -> pathlib.Path:
    """A path from the root on; ``~`` is the home directory.

    Raises:
        InvalidArgument: There is no such home directory, or no working directory any more.
    """
    try:
        return home_path(text).absolute()
    except OSError as e:
        raise InvalidArgument(
            f"{shown(text)} begins in the working directory, which cannot be used: {e}",
            hint="write the whole path, or change into a directory that is there",
        ) from None


def is_file(path: pathlib.Path) -> bool:
    """Whether a file is there, and may be looked at."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def file_bytes(path: pathlib.Path, most: int = MOST_BYTES) -> bytes:
    """All bytes of a file of configuration, which has so many at most.

    Raises:
        OSError: It cannot be read, is no regular file (a pipe would be waited for), or is longer than such files are.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123  # a descriptor
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is no regular file")
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(f"it has more than {most >> 10} KiB")
    return data
