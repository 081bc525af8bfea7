"""Who asks a catalog's server: a bearer token, or requests signed as Alibaba's DLF takes them (Java ``AuthProvider``).

Secrets are read for each request where they are in a file, and stay in this process.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import json
import re
import threading
import urllib.parse
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from siltstone._args import shown
from siltstone.catalog.config_files import file_bytes, home_path
from siltstone.errors import InvalidOption, StorageError, UnsupportedFeature

#: A token that expires within this time is fetched again.
SAFE_SECONDS = 3600.0
_REGION = re.compile(r"(?:pre-)?([a-z]+-[a-z]+(?:-\d+)?)")
_SIGNED = (
    "content-md5",
    "content-type",
    "x-dlf-content-sha256",
    "x-dlf-date",
    "x-dlf-security-token",
    "x-dlf-version",
)


@dataclass(frozen=True)
class Request:
    """What is signed of a request; values of parameters are not encoded."""

    method: str
    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    body: str = ""


class Auth(Protocol):
    """Headers that say who asks."""

    def headers(self, request: Request) -> dict[str, str]:
        """The headers of one request."""


class Bearer:
    """``Authorization: Bearer <token>``."""

    def __init__(self, token: str) -> None:
        """Keep the token."""
        self._token = token

    def headers(self, request: Request) -> dict[str, str]:  # noqa: ARG002  # every request has the same
        """The same for every request."""
        return {"Authorization": f"Bearer {self._token}"}


@dataclass(frozen=True, repr=False)
class Key:
    """An access key of DLF, which may be one for some time."""

    id: str
    secret: str
    security_token: str | None = None
    expires_at: dt.datetime | None = None


class Dlf:
    """Requests signed with an access key."""

    def __init__(self, load: Callable[[], Key], sign: Callable[[Request, Key, dt.datetime], dict[str, str]]) -> None:
        """Sign with what ``load`` gives, again when that expires."""
        self._load, self._sign = load, sign
        self._lock = threading.Lock()
        self._key: Key | None = None

    def headers(self, request: Request) -> dict[str, str]:
        """The headers of one request, its signature among them."""
        now = dt.datetime.now(dt.UTC)
        return self._sign(request, self._fresh(now), now)

    def _fresh(self, now: dt.datetime) -> Key:
        with self._lock:
            key = self._key
            expires = None if key is None else key.expires_at
            if key is None or (expires is not None and (expires - now).total_seconds() < SAFE_SECONDS):
                key = self._key = self._load()
            return key


def auth_of(options: Mapping[str, str], uri: str) -> Auth:
    """The option ``token.provider``: ``bear`` or ``dlf``.

    Raises:
        InvalidOption: Neither is given whole.
        UnsupportedFeature: Another provider, or another way to load its token.
    """
    kind = options.get("token.provider")
    if kind is None and "token" in options:
        kind = "bear"
    if kind == "bear":
        return Bearer(_needed(options, "token"))
    if kind == "dlf":
        return _dlf(options, uri)
    if kind is None:
        raise InvalidOption(
            "the catalog option 'token.provider' is missing",
            hint="give 'bear' with 'token', or 'dlf' with 'dlf.access-key-id' and 'dlf.access-key-secret'",
            context={"option": "token.provider"},
        )
    raise UnsupportedFeature(
        f"the catalog option 'token.provider' = {shown(kind)} is not supported",
        hint="token providers: bear, dlf",
        context={"option": "token.provider"},
    )


def _dlf(options: Mapping[str, str], uri: str) -> Auth:
    region = options.get("dlf.region")
    if region is None:
        found = _REGION.search(uri)
        if found is None:
            raise InvalidOption("the catalog option 'dlf.region' is missing", context={"option": "dlf.region"})
        region = found[1]
    algorithm = options.get("dlf.signing-algorithm", "openapi" if "dlfnext" in uri.lower() else "default")
    host = urllib.parse.urlsplit(uri).netloc
    loader = options.get("dlf.token-loader", "local_file")
    if loader != "local_file":
        raise UnsupportedFeature(
            f"the catalog option 'dlf.token-loader' = {shown(loader)} is not supported",
            hint="token loaders: local_file, with 'dlf.token-path'; or give 'dlf.access-key-id' and its secret",
            context={"option": "dlf.token-loader"},
        )
    if algorithm not in ("default", "openapi"):
        raise InvalidOption(
            f"the catalog option 'dlf.signing-algorithm' = {shown(algorithm)} is not one",
            hint="signing algorithms: default, openapi",
            context={"option": "dlf.signing-algorithm"},
        )

    def sign(request: Request, key: Key, now: dt.datetime) -> dict[str, str]:
        return sign_default(request, key, region, now) if algorithm == "default" else sign_open(request, key, host, now)

    if path := options.get("dlf.token-path"):
        return Dlf(lambda: _key_of_file(path), sign)
    key = Key(
        _needed(options, "dlf.access-key-id"),
        _needed(options, "dlf.access-key-secret"),
        options.get("dlf.security-token"),
    )
    return Dlf(lambda: key, sign)


def _needed(options: Mapping[str, str], key: str) -> str:
    if not options.get(key):
        raise InvalidOption(f"the catalog option '{key}' is missing", context={"option": key})
    return options[key]


def _key_of_file(path: str) -> Key:
    try:
        text = json.loads(file_bytes(home_path(path)).decode("utf-8"))
        expires = text.get("Expiration")
        at = None if expires is None else dt.datetime.strptime(expires, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=dt.UTC)
        return Key(text["AccessKeyId"], text["AccessKeySecret"], text.get("SecurityToken"), at)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise StorageError(
            f"the token of DLF cannot be read from {path} ({type(e).__name__})",
            hint="'dlf.token-path' names a JSON file with AccessKeyId, AccessKeySecret and SecurityToken",
        ) from None


def sign_default(request: Request, key: Key, region: str, now: dt.datetime) -> dict[str, str]:
    """Headers by which DLF's default endpoint knows the key (Java ``DLFDefaultSigner``).

    Each key of the signature is made of the one before: date, region, product, kind of request.
    """
    time = now.strftime("%Y%m%dT%H%M%SZ")
    headers = {"x-dlf-date": time, "x-dlf-content-sha256": "UNSIGNED-PAYLOAD", "x-dlf-version": "v1"}
    if request.body:
        headers |= {"Content-Type": "application/json", "Content-MD5": _md5(request.body)}
    if key.security_token is not None:
        headers["x-dlf-security-token"] = key.security_token
    signed = {name.lower(): value.strip() for name, value in headers.items() if name.lower() in _SIGNED}
    lines = [request.method, request.path, _query(request, encoded=True)]
    lines += [f"{name}:{signed[name]}" for name in sorted(signed)]
    canonical = "\n".join([*lines, headers["x-dlf-content-sha256"]])
    scope = [time[:8], region, "DlfNext", "aliyun_v4_request"]
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    secret = f"aliyun_v4{key.secret}".encode()
    for part in [*scope, "\n".join(["DLF4-HMAC-SHA256", time, "/".join(scope), digest])]:
        secret = hmac.digest(secret, part.encode(), "sha256")
    credential = "/".join([key.id, *scope])
    headers["Authorization"] = f"DLF4-HMAC-SHA256 Credential={credential},Signature={secret.hex()}"
    return headers


def sign_open(
    request: Request, key: Key, host: str, now: dt.datetime, nonce: Callable[[], object] = uuid.uuid4
) -> dict[str, str]:
    """Headers by which the endpoints ``dlfnext`` know the key (Java ``DLFOpenApiSigner``)."""
    headers = {"Date": _http_date(now), "Accept": "application/json"}
    if request.body:
        headers |= {"Content-MD5": _md5(request.body), "Content-Type": "application/json"}
    own = {
        "x-acs-signature-method": "HMAC-SHA1",
        "x-acs-signature-nonce": str(nonce()),
        "x-acs-signature-version": "1.0",
        "x-acs-version": "2026-01-18",
    }
    if key.security_token is not None:
        own["x-acs-security-token"] = key.security_token
    query = _query(request, encoded=False)
    resource = urllib.parse.unquote_plus(request.path) + (f"?{query}" if query else "")
    lines = [request.method, headers["Accept"], headers.get("Content-MD5", ""), headers.get("Content-Type", "")]
    lines += [headers["Date"], *(f"{name}:{own[name].strip()}" for name in sorted(own)), resource]
    # the protocol has SHA-1 in it
    signature = base64.b64encode(hmac.digest(key.secret.encode(), "\n".join(lines).encode(), "sha1")).decode()
    return {**headers, **own, "Host": host, "Authorization": f"acs {key.id}:{signature}"}


def _query(request: Request, *, encoded: bool) -> str:
    def one(name: str, value: str) -> str:
        text = urllib.parse.quote_plus(value) if encoded else value
        return f"{name.strip()}={text.strip()}" if text else name.strip()

    return "&".join(one(name, request.parameters[name]) for name in sorted(request.parameters))


def _md5(text: str) -> str:
    return base64.b64encode(hashlib.md5(text.encode(), usedforsecurity=False).digest()).decode()


def _http_date(now: dt.datetime) -> str:
    """English whatever the locale is."""
    days, months = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"), "JanFebMarAprMayJunJulAugSepOctNovDec"
    month = months[3 * now.month - 3 : 3 * now.month]
    return f"{days[now.weekday()]}, {now:%d} {month} {now:%Y %H:%M:%S} GMT"
