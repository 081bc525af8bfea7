"""Checking what cannot be opened."""

from __future__ import annotations

from siltstone import _core
from siltstone._args import flag, text
from siltstone._operation import told
from siltstone.report import Verdict


def check_directory(location: str, *, deep: bool = False) -> Verdict:
    """Check the table in a directory, even one whose newest schema is broken, so that it cannot be opened.

    Args:
        location: The table's directory.
        deep: See :meth:`siltstone.maintenance.Maintenance.fsck`.

    Raises:
        TableNotFound: No table is there.
    """
    place, is_deep = text("location", location), flag("deep", deep)
    return told("fsck", place, _core.check, place, is_deep)
