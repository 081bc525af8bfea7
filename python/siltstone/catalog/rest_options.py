"""Options of REST catalogs, as they are given; what the server adds is not checked."""

from __future__ import annotations

import difflib
import urllib.parse
from collections.abc import Mapping

from siltstone import _core
from siltstone.errors import InvalidOption, UnknownOption

#: Options of such a catalog, beside those of storages, those that begin so, and defaults of tables.
_KNOWN = {
    "metastore",
    "uri",
    "warehouse",
    "prefix",
    "token",
    "token.provider",
    "data-token.enabled",
    "dlf.region",
    "dlf.token-path",
    "dlf.token-loader",
    "dlf.access-key-id",
    "dlf.access-key-secret",
    "dlf.security-token",
    "dlf.signing-algorithm",
    "table.type",
    "catalog-options-table.enabled",
}
_KNOWN_PREFIXES = ("header.", "table-default.")


def headers_of(options: Mapping[str, str]) -> dict[str, str]:
    """Headers that options ask for, ``header.<name>``."""
    return {key.removeprefix("header."): value for key, value in options.items() if key.startswith("header.")}


def uri_of(options: Mapping[str, str]) -> str:
    """The URL of the server, without a slash at its end; ``http`` where it says nothing, as in Java.

    Raises:
        InvalidOption: It is missing, or is none.
    """
    uri = options.get("uri", "").rstrip("/")
    if "://" not in uri:
        uri = f"http://{uri}"
    parts = urllib.parse.urlsplit(uri)
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        # it is not repeated: there may be a password in it
        text = "is missing" if "uri" not in options else "cannot be used"
        raise InvalidOption(
            f"the catalog option 'uri' {text}",
            hint="give the server's URL, such as https://catalog.example.com; credentials go into 'token'",
            context={"option": "uri"},
        )
    return uri


def refuse_unknown(options: Mapping[str, str]) -> None:
    """Refuse what would do nothing.

    Raises:
        UnknownOption: An option that such a catalog does not have.
    """
    for key in options:
        if key in _KNOWN or key.startswith(_KNOWN_PREFIXES) or _core.is_storage_option(key):
            continue
        near = difflib.get_close_matches(key, _KNOWN, 1)
        raise UnknownOption(
            f"a rest catalog has no option '{key}'",
            hint=f"did you mean '{near[0]}'?" if near else f"it has {', '.join(sorted(_KNOWN))}",
            context={"option": key},
        )
