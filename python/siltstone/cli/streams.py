"""Standard streams that the caller has closed: the next file that is opened would take the place of one."""

from __future__ import annotations

import io
import os
import sys

from siltstone.cli import exits


class _Closed(io.RawIOBase):
    """A standard input from which nothing can be read."""

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, _buffer: object) -> int:
        """Refused: the end of a file would mean no rows, or no answer.

        Raises:
            OSError: Always.
        """
        raise OSError("standard input is closed: nothing can be read from it, and no question answered (--yes)")


def taken() -> int:
    """Take the places of streams that are closed.

    Returns:
        The exit code with which the command ends before it does anything, if it cannot say what it does.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_Closed()), encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123  # as long as the process
    if sys.stdout is None:
        sys.stderr.write("error: standard output is closed, and nothing was done: send it to a file, or to /dev/null\n")
        return exits.FAILURE
    return exits.OK
