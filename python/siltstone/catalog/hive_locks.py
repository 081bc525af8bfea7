"""Locks of tables in a Hive metastore, as Java's ``HiveCatalogLock`` takes them."""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from typing import Any

from siltstone.catalog.hive_client import HiveClient, user_name
from siltstone.errors import SiltstoneError, StorageError

_LOG = logging.getLogger("siltstone.catalog.hive")
#: Seconds before a lock is looked at for the first time, which double.
_PAUSE_SECONDS = 0.05


class Locks:
    """Exclusive locks, which are waited for in the metastore's queue."""

    def __init__(self, client: HiveClient, patience: tuple[int, int]) -> None:
        """Milliseconds to wait for a lock, and at most between two looks."""
        self._client, self._types, self._patience = client, client.types, patience

    def take(self, database: str, table: str) -> int | None:
        """Wait for the lock of a table.

        Returns:
            Its number; None when the time was over.

        Raises:
            StorageError: The metastore does not answer, or has given it up.
        """
        timeout, longest = (millis / 1000 for millis in self._patience)
        begun, pause = time.monotonic(), _PAUSE_SECONDS
        answer = self._asked(database, table)
        number = int(answer.lockid)
        try:
            while answer.state == self._types.LockState.WAITING and time.monotonic() - begun <= timeout:
                pause = min(2 * pause, max(longest, _PAUSE_SECONDS))
                time.sleep(pause)
                answer = self._client.call("check_lock", self._types.CheckLockRequest(number))
        except BaseException:
            with contextlib.suppress(SiltstoneError):
                self.give_back(number)
            raise
        if answer.state == self._types.LockState.ACQUIRED:
            return number
        self.give_back(number)
        if answer.state == self._types.LockState.WAITING:
            return None
        raise StorageError(
            f"the Hive metastore gave the lock of '{database}.{table}' up while it was waited for", hint="try again"
        )

    def _asked(self, database: str, table: str) -> Any:
        kinds, levels = self._types.LockType, self._types.LockLevel
        what = self._types.LockComponent(kinds.EXCLUSIVE, levels.TABLE, database, table, operationType=None)
        request = self._types.LockRequest([what], user=user_name(), hostname=socket.gethostname())
        return self._client.call("lock", request)

    def give_back(self, number: int) -> None:
        """Give a lock back; one that the metastore has given up by itself is gone."""
        expired = self._types.NoSuchLockException
        try:
            self._client.call("unlock", self._types.UnlockRequest(number), expected=(expired,))
        except expired:
            _LOG.warning("the Hive metastore had given the lock %s up before it was given back", number)
