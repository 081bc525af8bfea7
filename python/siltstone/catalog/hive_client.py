"""Connections to a Hive metastore: its thrift interface, and errors for people."""

from __future__ import annotations

import contextlib
import getpass
import os
import socket
import struct
import threading
import time
import weakref
from dataclasses import dataclass
from typing import Any

from siltstone._args import text
from siltstone.catalog.hive_options import HiveSettings
from siltstone.errors import StorageError, UnsupportedFeature

#: Seconds until a metastore that cannot be reached, or says nothing to a greeting, is given up.
_CONNECT_SECONDS = 8.0
#: What the metastore may claim to send in one text, and in one list.
_LONGEST_TEXT, _LONGEST_LIST = 256 << 20, 1 << 24
#: Connections that are kept while nobody needs them.
_KEPT = 4
#: What only looks, so that it is asked again when a connection breaks.
_LOOKS = ("get_", "check_")
#: What reading a damaged answer may end in.
_DAMAGED = (ValueError, TypeError, ArithmeticError, LookupError, struct.error)


@dataclass
class _Connection:
    """One connection, for one thread at a time."""

    client: Any
    transport: Any

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.transport.close()


class HiveClient:
    """The metastore of some settings; connections are opened when they are needed, anew after a fork.

    Attributes:
        types: The module with the classes of what is sent, and of errors.
    """

    def __init__(self, settings: HiveSettings) -> None:
        """Connect once, to say at once when that does not work.

        Raises:
            UnsupportedFeature: pymetastore is not installed.
            StorageError: The metastore cannot be reached, or does not answer.
        """
        try:
            from pymetastore.hive_metastore import ThriftHiveMetastore, ttypes
            from thrift import Thrift
            from thrift.transport import TSocket, TTransport
        except ImportError:
            raise UnsupportedFeature(
                "a hive catalog needs pymetastore, which is not installed", hint="pip install 'siltstone[hive]'"
            ) from None
        self.types, self._service, self._sockets, self._transports = ttypes, ThriftHiveMetastore, TSocket, TTransport
        self._refusal, self._unknown, self._broken = (
            Thrift.TException,
            Thrift.TApplicationException,
            TTransport.TTransportException,
        )
        self._settings = settings
        self._lock = threading.Lock()
        self._process, self._idle = os.getpid(), list[_Connection]()
        weakref.finalize(self, _close, self._idle)
        self._give_back(self._connected())

    def call(self, method: str, *arguments: Any, expected: tuple[type[Exception], ...] = ()) -> Any:
        """Call a method of the metastore's interface.

        Args:
            method: Its name.
            arguments: What it takes.
            expected: Refusals of the metastore that the caller wants to hear of, by their classes.

        Raises:
            StorageError: It refuses in another way, or does not answer: then nobody knows whether it has done it.
        """
        is_asked_again = method.startswith(_LOOKS)
        while True:
            connection = self._kept() or self._connected()
            in_order = False
            try:
                answer = getattr(connection.client, method)(*arguments)
                in_order = True
            except self._refusal as e:
                # an answer of the metastore leaves the connection in order
                in_order = hasattr(e, "thrift_spec")
                if isinstance(e, expected):
                    raise
                if in_order or not isinstance(e, self._broken):
                    raise self._refused(method, e) from None
                failure: Exception = e
            except (OSError, EOFError, *_DAMAGED) as e:
                failure = e
            else:
                return answer
            finally:
                self._give_back(connection) if in_order else connection.close()
            if not is_asked_again:
                raise self._lost(method, failure)
            is_asked_again = False

    def _kept(self) -> _Connection | None:
        """A connection that is still open."""
        while True:
            with self._lock:
                self._leave_to_parent()
                connection = self._idle.pop() if self._idle else None
            if connection is None or connection.transport.isOpen():
                return connection

    def _give_back(self, connection: _Connection) -> None:
        with self._lock:
            self._leave_to_parent()
            if len(self._idle) < _KEPT:
                self._idle.append(connection)
                return
        connection.close()

    def _leave_to_parent(self) -> None:
        """After a fork: the connections are those of the process that was copied."""
        if self._process != os.getpid():
            self._process = os.getpid()
            _close(self._idle)

    def _connected(self) -> _Connection:
        """A connection to the first server that answers."""
        failures = []
        until = time.monotonic() + _CONNECT_SECONDS
        for place, (host, port) in enumerate(self._settings.servers):
            share = (until - time.monotonic()) / (len(self._settings.servers) - place)
            try:
                return self._connected_to(host, port, max(share, 0.1))
            except (OSError, EOFError, self._refusal, *_DAMAGED) as e:
                failures.append(f"{host}:{port}: {_text(e)}")
        raise StorageError(
            f"the Hive metastore does not answer: {'; '.join(failures)}",
            hint="check the catalog option 'uri', that the metastore runs and can be reached from here, and that it "
            "takes plain thrift connections (no Kerberos, TLS or HTTP)",
        )

    def _connected_to(self, host: str, port: int, seconds: float) -> _Connection:
        from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated

        until = time.monotonic() + seconds
        opened = _opened(host, port, until)
        plain = self._sockets.TSocket(host, port)
        plain.setHandle(opened)
        transport = self._transports.TBufferedTransport(plain)
        limits = {"string_length_limit": _LONGEST_TEXT, "container_length_limit": _LONGEST_LIST}
        connection = _Connection(self._service.Client(TBinaryProtocolAccelerated(transport, **limits)), transport)
        try:
            plain.setTimeout(1000 * max(until - time.monotonic(), 0.1))
            self._greet(connection)
            plain.setTimeout(1000 * self._settings.answer_seconds)
        except BaseException:
            connection.close()
            raise
        return connection

    def _greet(self, connection: _Connection) -> None:
        """Say who asks, as Java's client does; what is no metastore does not answer to that."""
        try:
            connection.client.set_ugi(user_name(), [])
        except self._broken:
            raise
        except (self.types.MetaException, self._unknown):
            pass  # it knows no users

    def _lost(self, method: str, error: Exception) -> StorageError:
        return StorageError(
            f"the connection to the Hive metastore broke in '{method}': {_text(error)}",
            hint=f"check that {self._named()} runs; what was asked for may be done or not",
        )

    def _refused(self, method: str, error: Exception) -> StorageError:
        return StorageError(
            f"the Hive metastore refused '{method}': {_text(error)}", hint=f"see the log of {self._named()}"
        )

    def _named(self) -> str:
        return ", ".join(f"{host}:{port}" for host, port in self._settings.servers)


def _close(connections: list[_Connection]) -> None:
    while connections:
        connections.pop().close()


def user_name() -> str:
    """Who asks, by the name that Hadoop's programs would have."""
    named = os.environ.get("HADOOP_USER_NAME")
    if named:
        return text("$HADOOP_USER_NAME", named)
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _opened(host: str, port: int, until: float) -> socket.socket:
    """A connection to the first address of a host that takes one."""
    failure: OSError = OSError("it has no address")
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for place, (*_, address) in enumerate(addresses):
        share = (until - time.monotonic()) / (len(addresses) - place)
        try:
            return socket.create_connection((str(address[0]), port), max(share, 0.1))
        except OSError as e:
            failure = e
    raise failure


def _text(error: Exception) -> str:
    """What an error says, in one line."""
    message = getattr(error, "message", None) or str(getattr(error, "inner", None) or error)
    lines = str(message).strip().splitlines()
    return lines[0] if lines else type(error).__name__
