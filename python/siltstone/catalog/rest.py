"""The REST catalog: a server keeps names, schemas and snapshots of tables (Java's ``RESTCatalog``, Paimon's OpenAPI).

Files are written and read here; the server makes tables and publishes snapshots, for Java's catalog, too.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from siltstone import _core
from siltstone.catalog.rest_auth import auth_of
from siltstone.catalog.rest_client import Client, Refusal, unchanged
from siltstone.catalog.rest_options import headers_of, refuse_unknown, uri_of
from siltstone.catalog.rest_tokens import Tokens
from siltstone.errors import (
    BranchExists,
    BranchNotFound,
    IllegalSchemaChange,
    SiltstoneError,
    SnapshotNotFound,
    TableNotFound,
    TagNotFound,
    UnsupportedFeature,
)

T = TypeVar("T")

#: Things that a server says are missing, and the errors for that.
_MISSING: dict[str, type[SiltstoneError]] = {
    "TABLE": TableNotFound,
    "COLUMN": IllegalSchemaChange,
    "SNAPSHOT": SnapshotNotFound,
    "TAG": TagNotFound,
    "BRANCH": BranchNotFound,
}
_EXISTING: dict[str, type[SiltstoneError]] = {"BRANCH": BranchExists, "COLUMN": IllegalSchemaChange}

#: Location, id, whether it is external, the option ``type``, options of the storage or None (ask for them each time).
Described = tuple[str, str, bool, str | None, dict[str, str] | None]


class RestMetastore:
    """A catalog behind a server.

    Attributes:
        keeps_tables: The server keeps the tables, not only their names.
    """

    keeps_tables = True

    def __init__(self, options: Mapping[str, str]) -> None:
        """Ask the server for its part of the options.

        Raises:
            UnknownOption: An option that such a catalog does not have: it would do nothing.
            InvalidOption: An option is missing, or has a value that is none.
            UnsupportedFeature: urllib3 is not installed, or a way to sign that is not known.
            StorageError: The server does not answer, or does not know who asks.
        """
        refuse_unknown(options)
        uri = uri_of(options)
        self._client = Client(uri, auth_of(options, uri))
        self._client.add_headers(headers_of(options))
        warehouse = options.get("warehouse")
        parameters = {"warehouse": warehouse} if warehouse else {}
        config = self._asked(lambda: self._client.get("/v1/config", parameters))
        merged = {**_texts(config.get("defaults")), **options, **_texts(config.get("overrides"))}
        self._client.add_headers(headers_of(merged))
        self._options = merged
        self._root = "/".join(["/v1", *([_encoded(merged["prefix"])] if merged.get("prefix") else [])])
        self._storage = {key: value for key, value in merged.items() if _core.is_storage_option(key)}
        self._has_tokens = merged.get("data-token.enabled", "false").lower() == "true"
        self._tokens = Tokens(self._token)

    def options(self) -> dict[str, str]:
        """The options with those of the server: its defaults below, its overrides on top."""
        return dict(self._options)

    # ---- names

    def databases(self) -> list[str]:
        """All pages of them."""
        return self._asked(lambda: [str(name) for name in self._client.pages(self._path(), "databases")])

    def database(self, name: str) -> dict[str, str] | None:
        """Its options, with its location and owner."""
        found = self._if_there(lambda: self._client.get(self._path(name)))
        if found is None:
            return None
        kept = ("location", "owner", "createdAt", "createdBy", "updatedAt", "updatedBy")
        about = {key: str(found[key]) for key in kept if found.get(key) is not None}
        return {**_texts(found.get("options")), **about}

    def create_database(self, name: str, properties: Mapping[str, str]) -> bool:
        """Ask for a new one."""
        return self._unless_there(lambda: self._client.post(self._path(), {"name": name, "options": dict(properties)}))

    def alter_database(self, name: str, properties: Mapping[str, str], removed: Sequence[str]) -> None:
        """Send what changes."""
        self._if_there(lambda: self._client.post(self._path(name), {"removals": [*removed], "updates": {**properties}}))

    def drop_database(self, name: str) -> bool:
        """Let the server drop it with all that is in it, whatever that is."""
        self._delete_this_one(self._path(name))
        return True

    def tables(self, database: str) -> list[str]:
        """All pages of them; format tables are among them."""
        path = self._path(database, "tables")
        return self._if_there(lambda: [str(name) for name in self._client.pages(path, "tables")]) or []

    def has_table(self, database: str, table: str) -> bool:
        """Whether the server has it."""
        return self._if_there(lambda: self._client.get(self._path(database, "tables", table))) is not None

    def other_object(self, database: str, table: str) -> str | None:
        """A view."""
        found = self._if_there(lambda: self._client.get(self._path(database, "views", table)))
        return None if found is None else "view"

    def create_table(self, database: str, table: str, properties: Mapping[str, str]) -> bool:  # noqa: ARG002  # of the interface
        """Refused: :meth:`make_table` makes tables, with their schemas."""
        raise UnsupportedFeature(
            "a REST catalog takes no table without its schema", context={"table": f"{database}.{table}"}
        )

    def drop_table(self, database: str, table: str) -> bool:
        """Let the server drop it with its files; those of an external table stay."""
        return self._delete_this_one(self._path(database, "tables", table))

    def rename_table(self, database: str, table: str, new_database: str, new_table: str) -> bool:
        """Let the server give it another name."""
        body = {"source": _identifier(database, table), "destination": _identifier(new_database, new_table)}
        return self._if_there(lambda: self._client.post(f"{self._root}/tables/rename", body)) is not None

    def alter_table(self, database: str, table: str, properties: Mapping[str, str]) -> None:
        """Nothing: the server has made the newer schema."""

    def patience(self) -> tuple[int, int] | None:
        """None: the server needs no locks."""
        return None

    def try_lock(self, database: str, table: str) -> str | None:
        """Refused: the server publishes, and has no locks."""
        raise UnsupportedFeature("a REST catalog has no locks", context={"table": f"{database}.{table}"})

    def unlock(self, database: str, table: str, taken: str) -> None:  # noqa: ARG002  # of the interface
        """Refused: the server publishes, and has no locks."""
        raise UnsupportedFeature("a REST catalog has no locks", context={"table": f"{database}.{table}"})

    # ---- tables

    def table(self, database: str, name: str) -> Described | None:
        """Where a table or branch is, and how its storage is reached."""
        found = self._if_there(lambda: self._client.get(self._path(database, "tables", name)))
        if found is None:
            return None
        try:
            path, identity = str(found["path"]), str(found["id"])
        except KeyError as e:
            raise UnsupportedFeature(f"the catalog's server does not say the {e} of a table") from None
        is_external = bool(found.get("isExternal"))
        kind = _texts((found.get("schema") or {}).get("options")).get("type")
        has_tokens = self._has_tokens and not is_external
        return path, identity, is_external, kind, None if has_tokens else dict(self._storage)

    def storage(self, database: str, table: str) -> dict[str, str]:
        """How the storage of a table is reached for some time; asked for again when that is over."""
        return {**self._storage, **self._tokens.of(database, table)}

    def make_table(self, database: str, table: str, schema: str) -> bool:
        """Let the server make a table of this schema."""
        body = {"identifier": _identifier(database, table), "schema": json.loads(schema)}
        return self._unless_there(lambda: self._client.post(self._path(database, "tables"), body))

    def change_schema(self, database: str, table: str, changes: str) -> None:
        """Let the server change the schema."""
        path = self._path(database, "tables", table)
        self._asked(lambda: self._client.post(path, {"changes": json.loads(changes)}))

    def commit(self, database: str, table: str, identity: str, snapshot: str, statistics: str) -> bool:
        """Let the server publish a snapshot; False when its id is taken."""
        path = self._path(database, "tables", table, "commit")
        body = {"tableId": identity, "snapshot": json.loads(snapshot), "statistics": json.loads(statistics)}
        # a snapshot that is there already is found by who asks
        success = self._asked(lambda: self._client.post(path, body, lambda: False)).get("success")
        if not isinstance(success, bool):
            raise UnsupportedFeature("the catalog's server does not say whether it has published the snapshot")
        return success

    def rollback(self, database: str, table: str, snapshot: int | None, tag: str | None) -> None:
        """Let the server go back to a snapshot or tag."""
        path = self._path(database, "tables", table, "rollback")
        instant = {"type": "snapshot", "snapshotId": snapshot} if tag is None else {"type": "tag", "tagName": tag}
        self._asked(lambda: self._client.post(path, {"instant": instant}))

    def create_branch(self, database: str, table: str, branch: str, tag: str | None) -> None:
        """Let the server make a branch."""
        path = self._path(database, "tables", table, "branches")
        self._asked(lambda: self._client.post(path, {"branch": branch, "fromTag": tag}))

    def drop_branch(self, database: str, table: str, branch: str) -> None:
        """Let the server delete a branch."""
        branches = self._path(database, "tables", table, "branches")

        def outcome() -> bool | None:  # a branch has no id: one that is there may be another one by now
            return True if branch not in self._client.pages(branches, "branches") else None

        self._asked(lambda: self._client.delete(f"{branches}/{_encoded(branch)}", outcome))

    def rename_branch(self, database: str, table: str, branch: str, new: str) -> None:
        """Let the server give a branch another name."""
        path = self._path(database, "tables", table, "branches", branch, "rename")
        self._asked(lambda: self._client.post(path, {"toBranch": new}))

    def forward_branch(self, database: str, table: str, branch: str) -> None:
        """Let the server make main what a branch is."""
        path = self._path(database, "tables", table, "branches", branch, "forward")
        self._asked(lambda: self._client.post(path, {}))

    # ---- requests

    def _delete_this_one(self, path: str) -> bool:
        """Delete what is at a path now, and nothing that somebody makes there while an answer does not come."""

        def identity() -> object:
            found = self._if_there(lambda: self._client.get(path))
            return None if found is None else found.get("id") or found

        this = identity()

        def outcome() -> bool | None:
            there = identity()
            return True if there is None or there != this else False if isinstance(this, str) else None

        return this is not None and self._if_there(lambda: self._client.delete(path, outcome)) is not None

    def _path(self, *names: str) -> str:
        return "/".join([self._root, "databases", *map(_encoded, names)])

    def _token(self, database: str, table: str) -> tuple[dict[str, str], float]:
        """Options of the storage that hold for one table, and until when."""
        found = self._asked(lambda: self._client.get(self._path(database, "tables", table, "token")))
        options = {key: value for key, value in _texts(found.get("token")).items() if _core.is_storage_option(key)}
        return options, float(found.get("expiresAtMillis") or 0) / 1000

    def _asked(self, ask: Callable[[], T]) -> T:
        """An answer, or an error for people."""
        try:
            return ask()
        except Refusal as refusal:
            kinds = _MISSING if refusal.is_missing else _EXISTING if refusal.is_in_the_way else {}
            kind = kinds.get(refusal.kind)
            if kind is None:
                raise refusal.error(self._client.server) from None
            raise unchanged(kind(f"the catalog's server says: {refusal}")) from None

    def _if_there(self, ask: Callable[[], T]) -> T | None:
        """None when what was asked for does not exist."""

        def asked() -> T | None:
            try:
                return ask()
            except Refusal as refusal:
                if refusal.is_missing:
                    return None
                raise

        return self._asked(asked)

    def _unless_there(self, make: Callable[[], object]) -> bool:
        """False when what is to be made exists."""

        def made() -> bool:
            try:
                make()
            except Refusal as refusal:
                if refusal.is_in_the_way:
                    return False
                raise
            return True

        return self._asked(made)


def _encoded(name: str) -> str:
    return urllib.parse.quote_plus(name)


def _identifier(database: str, table: str) -> dict[str, str]:
    return {"database": database, "object": table}


def _texts(found: object) -> dict[str, str]:
    """A JSON object of texts; what has no value is left out."""
    items = found.items() if isinstance(found, dict) else ()
    return {str(key): str(value) for key, value in items if value is not None}
