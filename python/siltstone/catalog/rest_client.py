"""Requests to a catalog's server: JSON both ways, tried again where that is safe (Java ``HttpClient``)."""

from __future__ import annotations

import contextlib
import email.utils
import importlib
import json
import os
import random
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from siltstone.catalog.rest_auth import Auth, Request
from siltstone.errors import (
    InvalidArgument,
    SiltstoneError,
    StorageError,
    UnsupportedFeature,
)

if TYPE_CHECKING:
    from types import ModuleType

    from urllib3 import BaseHTTPResponse, PoolManager

_TRIES = 5
_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 60.0
#: The longest pause that a server may ask for.
_LONGEST_PAUSE = 60.0
#: The server is there and has not looked at the request; so it is with 503 where the server itself says it.
_LATER = (429, 503)
_TOO_MANY = 429
_MISSING, _EXISTS = 404, 409
#: Refusals of whatever is asked for: kind of error, what is said besides, what to do.
_HINTS: dict[int, tuple[type[SiltstoneError], str, str | None]] = {
    401: (StorageError, " (401: not authorized)", "look at 'token', or at the keys of 'dlf.'; they may have expired"),
    403: (StorageError, " (403: forbidden)", "ask whoever keeps the catalog for the permission"),
    404: (InvalidArgument, "", "check that the catalog options 'uri', 'prefix' and 'warehouse' are right"),
    501: (UnsupportedFeature, "", None),
}
#: An answer that is larger is none.
_MOST_BYTES = 64 * 1024 * 1024
#: So much is taken at once: what it unpacks to is in memory, too.
_PIECE_BYTES = 16 * 1024
#: Values of an answer: each is an object of Python, of 64 bytes and more.
_MOST_VALUES = 1_000_000
#: A list that is longer has no end.
_MOST_ELEMENTS = 10_000_000


#: What became of a request without an answer.
Outcome = Callable[[], bool | None]


def _unknown() -> None:
    """Nobody knows."""


class Refusal(Exception):
    """An answer that is not a success.

    Attributes:
        status: Its code: that of the answer's text where it has one.
        kind: What it is about: DATABASE, TABLE, COLUMN, SNAPSHOT, BRANCH, TAG, VIEW or nothing.
        name: The name of that.
    """

    def __init__(self, status: int, kind: str, name: str, message: str) -> None:
        """Say what the server says."""
        super().__init__(message)
        self.status, self.kind, self.name = status, kind, name

    def error(self, server: str) -> SiltstoneError:
        """The error for people; that of a missing or existing thing is the business of who asked for it."""
        said = f"the catalog's server says: {self}"
        if self.status in _HINTS:
            kind, about, hint = _HINTS[self.status]
            return unchanged(kind(f"{said}{about}", hint=hint))
        if self.status in _LATER:
            return StorageError(f"{said} ({self.status})", hint=f"{server} is overloaded: try again later")
        if self.status < 500:  # noqa: PLR2004  # what begins with 4 is the client's fault
            return unchanged(InvalidArgument(said))
        return StorageError(f"{said} ({self.status})", hint=f"see the log of {server}")

    @property
    def is_missing(self) -> bool:
        """Whether something does not exist."""
        return self.status == _MISSING

    @property
    def is_in_the_way(self) -> bool:
        """Whether something exists already."""
        return self.status == _EXISTS


def unchanged(error: SiltstoneError) -> SiltstoneError:
    """An error that says for certain that the server has done nothing."""
    error.__dict__["without_effect"] = True
    return error


class Client:
    """A server, by its URL."""

    def __init__(self, uri: str, auth: Auth) -> None:
        """Ask nothing yet.

        Raises:
            UnsupportedFeature: urllib3 is not installed.
        """
        self._http = _urllib3()
        self._uri, self._auth = uri, auth
        self._base: dict[str, str] = {}
        self._pools: dict[int, PoolManager] = {}
        self.server = urllib.parse.urlsplit(uri).netloc

    def add_headers(self, headers: Mapping[str, str]) -> None:
        """Send these with every request."""
        self._base.update(headers)

    def get(self, path: str, parameters: Mapping[str, str] | None = None) -> dict[str, Any]:
        """What is at a path."""
        return self._ask(Request("GET", path, parameters or {}))

    def post(self, path: str, body: Mapping[str, Any], outcome: Outcome = _unknown) -> dict[str, Any]:
        """Send JSON; see :meth:`delete` for ``outcome``."""
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return self._ask(Request("POST", path, {}, text), outcome)

    def delete(self, path: str, outcome: Outcome) -> dict[str, Any]:
        """Delete what is at a path.

        Args:
            path: Where it is.
            outcome: Asked when no answer came: True, it is done; False, it is not, and goes again; None: nobody knows.
                What is there by then may be another one of that name, which somebody has made since.
        """
        return self._ask(Request("DELETE", path), outcome)

    def pages(self, path: str, key: str) -> Iterator[Any]:
        """The elements of a list, page after page."""
        token: str | None = None
        elements = 0
        while True:
            page = self.get(path, {} if token is None else {"pageToken": token})
            found = page.get(key) or []
            yield from found
            elements += len(found)
            before, token = token, page.get("nextPageToken")
            if not token or not found:
                return
            if token == before or elements > _MOST_ELEMENTS:
                raise StorageError(f"{self.server} answers with a list that has no end (after {elements} elements)")

    def _ask(self, request: Request, outcome: Outcome = lambda: False) -> dict[str, Any]:
        for left in reversed(range(_TRIES)):
            response = None
            try:
                response, data = self._send(request)
            except self._http.exceptions.HTTPError as e:
                is_hopeless = self._was_not_sent(e) or isinstance(e, self._http.exceptions.SSLError)
                done = None if not left or is_hopeless else outcome()
                if done is None:
                    self._failed(e)
            else:
                if response.status not in _LATER or not left:
                    return self._answer(response, data)
                done = False if response.status == _TOO_MANY or _is_own(data) else outcome()
                if done is None:
                    raise StorageError(
                        f"a gateway before the server {self.server} answered {response.status} {response.reason}",
                        hint="it may have passed the request on: look whether it was done before you try again",
                    )
            if done:
                return {}
            _pause(left, None if response is None else response.headers.get("Retry-After"))
        raise AssertionError

    def _send(self, request: Request) -> tuple[BaseHTTPResponse, bytes | None]:
        url = self._uri + request.path
        if request.parameters:
            url += "?" + urllib.parse.urlencode(request.parameters)
        headers = {**self._base, **self._auth.headers(request)}
        if request.body:
            headers.setdefault("Content-Type", "application/json")
        timeout = self._http.Timeout(connect=_CONNECT_SECONDS, read=_ANSWER_SECONDS)
        body = request.body.encode() or None
        response = self._pool().urlopen(
            request.method,
            url,
            body=body,
            headers=headers,
            retries=False,
            redirect=False,
            timeout=timeout,
            preload_content=False,
        )
        return response, _content(response)

    def _pool(self) -> PoolManager:
        process = os.getpid()
        pool = self._pools.get(process)
        if pool is None:
            self._pools = {process: (pool := self._http.PoolManager(maxsize=16))}
        return pool

    def _was_not_sent(self, error: Exception) -> bool:
        """Whether nobody can have got the request; asking again within seconds would not help."""
        kinds = self._http.exceptions
        return isinstance(error, (kinds.NewConnectionError, kinds.ConnectTimeoutError))

    def _failed(self, error: Exception) -> NoReturn:
        what = str(error).rpartition(": ")[2] or type(error).__name__
        failed = StorageError(
            f"the catalog's server {self.server} cannot be asked: {what}",
            hint="check that the catalog option 'uri' is right, and that the server is running",
        )
        raise (unchanged(failed) if self._was_not_sent(error) else failed) from None

    def _answer(self, response: BaseHTTPResponse, data: bytes | None) -> dict[str, Any]:
        parsed: Any = None
        if data is not None and sum(map(data.count, (b",", b"[", b"{"))) <= _MOST_VALUES:
            try:
                # not by json.loads: it takes half characters in UTF-8, and UTF-16
                parsed = json.loads(data.decode()) if data else {}
                if b"\\u" in data:
                    # half a surrogate pair is no text: it can be neither sent nor shown
                    json.dumps(parsed, ensure_ascii=False).encode()
            except (ValueError, RecursionError):
                parsed = None
        if 200 <= response.status < 300:  # noqa: PLR2004  # successes
            if isinstance(parsed, dict):
                return parsed
            raise StorageError(
                f"{self.server} did not answer with a JSON object",
                hint="check that the catalog option 'uri' is the URL of a REST catalog",
            )
        said = parsed if isinstance(parsed, dict) else {"message": (data or b"")[:200].decode(errors="replace")}
        kind, name = str(said.get("resourceType") or ""), str(said.get("resourceName") or "")
        code = said.get("code")
        status = code if isinstance(code, int) else response.status
        about = f"{kind.lower()} '{name}', {status}" if kind else f"{response.reason} ({status})"
        raise Refusal(status, kind, name, str(said.get("message") or about))


def _is_own(data: bytes | None) -> bool:
    """Whether an error is of the server itself: what stands before it may have passed the request on."""
    with contextlib.suppress(ValueError, RecursionError):
        said = json.loads((data or b"").decode())
        return isinstance(said, dict) and isinstance(said.get("code"), int)
    return False


def _content(response: BaseHTTPResponse) -> bytes | None:
    """The unpacked content; None where there is too much of it, which is not read to its end."""
    content = bytearray()
    for piece in response.stream(_PIECE_BYTES):
        content += piece
        if len(content) > _MOST_BYTES:
            response.close()
            return None
    response.release_conn()
    return bytes(content)


def _pause(left: int, asked: str | None) -> None:
    """Longer from try to try, or as the server asks."""
    seconds = 0.25 * 2.0 ** (_TRIES - 1 - left) * (1 + 0.1 * random.random())  # noqa: S311  # not a secret
    if asked is not None and asked.isdecimal():
        seconds = float(asked)
    elif asked is not None and (date := email.utils.parsedate_tz(asked)) is not None:
        with contextlib.suppress(ValueError, OverflowError):  # no time that there is
            seconds = max(email.utils.mktime_tz(date) - time.time(), 0.0)
    time.sleep(min(seconds, _LONGEST_PAUSE))


def _urllib3() -> ModuleType:
    try:
        return importlib.import_module("urllib3")
    except ImportError:
        raise UnsupportedFeature(
            "a rest catalog needs urllib3, which is not installed", hint="pip install 'siltstone[rest]'"
        ) from None
