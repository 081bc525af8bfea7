"""A file that is there when it is whole, and never through somebody else's file or link."""

from __future__ import annotations

import contextlib
import os
import pathlib
import secrets
from collections.abc import Iterator
from typing import IO

import click

from siltstone.errors import FileInTheWay, StorageError

_HINT = "name a file in a directory that is there and may be written to, on a disk with space"


@contextlib.contextmanager
def new_file(path: pathlib.Path, *, force: bool) -> Iterator[IO[bytes]]:
    """A file to write, which gets its name at the end; what has the name is replaced when ``force`` says so.

    The file has another name of its own until then: a name that can be guessed may be a link, or somebody's file.

    Raises:
        UsageError: There is something of this name.
        FileInTheWay: Somebody made a file of this name meanwhile.
        StorageError: It cannot be written.
    """
    if os.path.lexists(path) and not force:
        raise click.UsageError(f"{path} exists: --force overwrites it")
    try:
        partial = path.with_name(f".{secrets.token_hex(16)}.partial")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = open(os.open(partial, flags, 0o666), "wb")  # noqa: PTH123, SIM115  # a descriptor
    except (OSError, ValueError) as e:
        raise StorageError(f"{path} cannot be written: {e}", hint=_HINT, context={"file": str(path)}) from e
    try:
        with file:
            yield file
        _give_name(partial, path, force=force)
    except OSError as e:
        if isinstance(e, StorageError):
            raise
        raise StorageError(f"{path} cannot be written: {e}", hint=_HINT, context={"file": str(path)}) from e
    finally:
        partial.unlink(missing_ok=True)


def _give_name(partial: pathlib.Path, path: pathlib.Path, *, force: bool) -> None:
    if force:
        partial.replace(path)
        return
    try:
        path.hardlink_to(partial)
    except FileExistsError:
        text = f"{path} was made by somebody else meanwhile"
        raise FileInTheWay(text, hint="--force overwrites it", context={"file": str(path)}) from None
    except OSError:  # a file system without hard links
        partial.replace(path)
