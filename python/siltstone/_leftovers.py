"""Files of what came to nothing."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from siltstone.errors import SiltstoneError

_LOG = logging.getLogger("siltstone.abort")


def delete_leftovers(table: Any, messages: Sequence[bytes]) -> None:
    """Delete the files of messages that are not committed.

    What happened before has an outcome, which this never replaces: where files cannot be deleted now, as beside an
    expiry, they stay as orphan files.

    Args:
        table: The table, or its handle of the core.
        messages: Serialized commit messages that nobody else can commit any more.
    """
    try:
        table.abort(list(messages))
    except SiltstoneError as error:
        _LOG.warning("files that nothing needs are left for the removal of orphan files: %s", error.message)
