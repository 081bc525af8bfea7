"""Options of storages that a catalog's server lends for some time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from siltstone.catalog.rest_auth import SAFE_SECONDS


class Tokens:
    """Options of storages that a server lends for some time, by table."""

    def __init__(self, load: Callable[[str, str], tuple[dict[str, str], float]]) -> None:
        """``load`` asks for those of a table, and until when they hold (epoch seconds)."""
        self._load = load
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], tuple[dict[str, str], float]] = {}

    def of(self, database: str, table: str) -> dict[str, str]:
        """What is known, or asked for again an hour before it expires, or when half of a shorter time is over."""
        now = time.time()
        with self._lock:
            options, until = self._known.get((database, table), ({}, 0.0))
            if now >= until:
                options, expires = self._load(database, table)
                until = expires - min(SAFE_SECONDS, max(expires - now, 0.0) / 2)
                self._known[database, table] = options, until
            return options
