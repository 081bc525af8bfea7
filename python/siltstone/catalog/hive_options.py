"""Options of Hive catalogs: as they are given, and what ``hive-site.xml`` says besides."""

from __future__ import annotations

import difflib
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass

from siltstone import _core
from siltstone._args import shown
from siltstone.catalog.config_files import file_bytes, home_path
from siltstone.errors import InvalidOption, UnknownOption, UnsupportedFeature

#: Bytes of a hive-site.xml, at most; the one with all of Hive's properties has a tenth of it.
_MOST_BYTES = 4 << 20
#: Where a metastore listens when nobody says so.
_PORT = 9083
#: Options of such a catalog, beside those of storages and defaults of tables.
_KNOWN = {
    "metastore",
    "uri",
    "warehouse",
    "hive-conf-dir",
    "lock.enabled",
    "lock.type",
    "lock-acquire-timeout",
    "lock-check-max-sleep",
    "sync-all-properties",
    "location-in-properties",
    "case-sensitive",
    "table.type",
    "catalog-options-table.enabled",
}
#: Properties of Hive that are looked at, given or in ``hive-site.xml``; there also by their names without ``hive.``.
_URIS, _TIMEOUT = "hive.metastore.uris", "hive.metastore.client.socket.timeout"
#: Properties that ask for another way to speak to the metastore, what it is, and their harmless value.
_WAYS = {
    "hive.metastore.sasl.enabled": ("Kerberos (SASL)", "false"),
    "hive.metastore.use.SSL": ("TLS", "false"),
    "hive.metastore.client.auth.mode": ("passwords", "nosasl"),
    "hive.metastore.client.thrift.transport.mode": ("HTTP", "binary"),
    "hive.metastore.thrift.framed.transport.enabled": ("framed messages", "false"),
    "hive.metastore.thrift.compact.protocol.enabled": ("compact messages", "false"),
}
_PROPERTIES = {_URIS, _TIMEOUT, *_WAYS}
#: Options that Java reads from ``hive-site.xml``, too.
_SHARED = {"lock-acquire-timeout", "lock-check-max-sleep", "location-in-properties"}
_CONF_VARIABLE = "HIVE_CONF_DIR"
_URI = re.compile(r"thrift://(\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+)(?::(\d{1,5}))?/?")
_LOCAL = {"file", "hdfs", "viewfs"}


@dataclass(frozen=True)
class HiveSettings:
    """What the options of a Hive catalog say.

    Attributes:
        warehouse: Where the catalog makes databases.
        servers: Hosts and ports of the metastore, tried one after the other.
        answer_seconds: How long an answer is waited for.
        locks: Whether commits take the metastore's locks.
        patience: Milliseconds to wait for a lock, and at most between two looks.
        copies: Whether all options of a table are copied to the metastore.
        in_properties: Whether locations are kept as properties, which the metastore does not look at.
        storage: Options of the storage.
    """

    warehouse: str
    servers: tuple[tuple[str, int], ...]
    answer_seconds: float
    locks: bool
    patience: tuple[int, int]
    copies: bool
    in_properties: bool
    storage: Mapping[str, str]


def settings_of(options: Mapping[str, str]) -> HiveSettings:
    """The settings.

    Raises:
        UnknownOption: An option that such a catalog does not have: it would do nothing.
        InvalidOption: An option is missing, or has a value that is none.
        UnsupportedFeature: The metastore is to be spoken to in a way that is not known here, such as with Kerberos.
    """
    _refuse_unknown(options)
    given = {**_site(options.get("hive-conf-dir")), **options}
    _refuse_ways(given)
    for key, only in (("lock.type", "hive"), ("case-sensitive", "false")):
        if given.get(key, only).lower() != only:
            raise UnsupportedFeature(
                f"the catalog option '{key}' = '{given[key]}' is not supported",
                hint=f"a hive catalog has '{key}' = '{only}'",
                context={"option": key},
            )
    warehouse = options["warehouse"].rstrip("/")
    return HiveSettings(
        warehouse=warehouse,
        servers=_servers(given),
        answer_seconds=_seconds(given.get(_TIMEOUT, "60s")),
        # as Java's: object stores have no other way to commit there
        locks=_flag(given, "lock.enabled", default=_is_object_store(warehouse)),
        patience=(
            _core.duration_millis("lock-acquire-timeout", given.get("lock-acquire-timeout", "8 min")),
            _core.duration_millis("lock-check-max-sleep", given.get("lock-check-max-sleep", "8 s")),
        ),
        copies=_flag(given, "sync-all-properties", default=True),
        in_properties=_flag(given, "location-in-properties", default=False),
        storage={key: value for key, value in options.items() if _core.is_storage_option(key)},
    )


def _refuse_unknown(options: Mapping[str, str]) -> None:
    known = _KNOWN | _PROPERTIES
    for key in options:
        if key in known or key.startswith("table-default.") or _core.is_storage_option(key):
            continue
        near = difflib.get_close_matches(key, known, 1)
        raise UnknownOption(
            f"a hive catalog has no option '{key}'",
            hint=f"did you mean '{near[0]}'?" if near else f"it has {', '.join(sorted(_KNOWN))}",
            context={"option": key},
        )


def _refuse_ways(given: Mapping[str, str]) -> None:
    for key, (way, harmless) in _WAYS.items():
        if given.get(key, harmless).lower() != harmless:
            raise UnsupportedFeature(
                f"'{key}' = '{given[key]}' asks for {way}, which a hive catalog of siltstone does not speak",
                hint="connect to a metastore that takes plain thrift connections, or open tables by their directories",
                context={"option": key},
            )


def _site(folder: str | None) -> dict[str, str]:
    """What ``hive-site.xml`` says of the metastore; other properties, secrets among them, are not kept."""
    source = "the catalog option 'hive-conf-dir'" if folder else f"${_CONF_VARIABLE}"
    folder = folder or os.environ.get(_CONF_VARIABLE)
    if not folder:
        return {}
    path = home_path(folder) / "hive-site.xml"
    try:
        root = ET.fromstring(file_bytes(path, _MOST_BYTES))  # noqa: S314  # the user's own configuration
    except (OSError, ET.ParseError, ValueError, LookupError) as e:  # LookupError: an encoding that Python does not have
        raise InvalidOption(
            f"{source} names {shown(folder)}, whose hive-site.xml cannot be read: {e}",
            hint="name a folder with a hive-site.xml that Hadoop's own programs read",
            context={"option": "hive-conf-dir"},
        ) from None
    found = {}
    for element in root.iterfind("property"):
        name, value = element.findtext("name", "").strip(), element.findtext("value", "").strip()
        if name in _PROPERTIES or name in _SHARED:
            found[name] = value
        elif f"hive.{name}" in _PROPERTIES or name == "metastore.thrift.uris":
            found.setdefault(_URIS if name == "metastore.thrift.uris" else f"hive.{name}", value)
    return {name: value for name, value in found.items() if value}


def _servers(given: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    text = given.get("uri") or given.get(_URIS, "")
    found = [_URI.fullmatch(uri.strip()) for uri in text.split(",")]
    servers = [(match[1].strip("[]"), int(match[2] or _PORT)) for match in found if match]
    if len(servers) < len(found) or any(not 0 < port < 2**16 for _, port in servers):
        # it is not repeated: there may be a password in it
        raise InvalidOption(
            f"the catalog option 'uri' {'cannot be used' if text else 'is missing'}",
            hint="give the metastore's address, such as thrift://metastore.example.com:9083, or several with commas "
            "between them; or 'hive-conf-dir', a folder with a hive-site.xml that has hive.metastore.uris",
            context={"option": "uri"},
        )
    return tuple(servers)


def _is_object_store(warehouse: str) -> bool:
    scheme, separator, _ = warehouse.partition("://")
    return bool(separator) and scheme.lower() not in _LOCAL


def _seconds(text: str) -> float:
    """A duration as Hive writes it: without a unit it is in seconds."""
    millis = _core.duration_millis(_TIMEOUT, f"{text} s" if text.strip().isdecimal() else text)
    if not millis:
        raise InvalidOption(f"'{_TIMEOUT}' = '{text}' leaves no time for an answer", context={"option": _TIMEOUT})
    return millis / 1000


def _flag(options: Mapping[str, str], key: str, *, default: bool) -> bool:
    value = options.get(key, str(default)).lower()
    if value not in ("true", "false"):
        raise InvalidOption(
            f"the catalog option '{key}' = '{options[key]}' is neither true nor false", context={"option": key}
        )
    return value == "true"
