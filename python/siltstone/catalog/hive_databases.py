"""Databases of a Hive metastore, and what has a name in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from siltstone.catalog.hive_client import HiveClient
from siltstone.catalog.hive_options import HiveSettings
from siltstone.catalog.hive_tables import Tables, is_external, is_paimon, is_same_place
from siltstone.errors import InvalidArgument, UnsupportedFeature

#: Tables that are asked for in one request.
_AT_ONCE = 300


class HiveDatabases:
    """The part of a Hive catalog that is about databases."""

    def __init__(self, settings: HiveSettings) -> None:
        """Connect to the metastore."""
        self._settings = settings
        self._client = HiveClient(settings)
        self._types = self._client.types
        self._gone = (self._types.NoSuchObjectException, self._types.UnknownDBException)
        self._tables = Tables(self._types, copies=settings.copies, in_properties=settings.in_properties)

    def databases(self) -> list[str]:
        """All of them, also those without tables of Paimon."""
        return [str(name) for name in self._client.call("get_all_databases")]

    def database(self, name: str) -> dict[str, str] | None:
        """Its parameters, with comment, owner and location."""
        found = self._database(name)
        if found is None:
            return None
        about = {"comment": found.description, "owner": found.ownerName, "location": found.locationUri}
        return {**(found.parameters or {}), **{key: value for key, value in about.items() if value}}

    def create_database(self, name: str, properties: Mapping[str, str]) -> bool:
        """Add one, whose directory the metastore makes."""
        check_lower("database", name)
        place = self._place_of_database(name)
        if not is_same_place(properties.get("location", place), place):
            raise UnsupportedFeature(
                f"the database '{name}' cannot be made elsewhere than in {place}",
                hint="connect to the warehouse that is to have it",
                context={"database": name},
            )
        kept = {key: value for key, value in properties.items() if key not in ("comment", "owner", "location")}
        made = self._types.Database(name, properties.get("comment"), parameters=kept, ownerName=properties.get("owner"))
        self._tables.move_database(made, place)
        try:
            self._client.call("create_database", made, expected=(self._types.AlreadyExistsException,))
        except self._types.AlreadyExistsException:
            return False
        return True

    def alter_database(self, name: str, properties: Mapping[str, str], removed: Sequence[str]) -> None:
        """Change its parameters, comment and owner."""
        found = self._database(name)
        if found is None:
            return
        if "location" in {*properties, *removed}:
            raise UnsupportedFeature("the location of a database cannot be changed", context={"database": name})
        if found.description and "comment" in removed and "comment" not in properties:
            raise UnsupportedFeature(
                "a Hive metastore changes the comment of a database, and never removes it",
                hint="give another comment",
                context={"database": name},
            )
        changes: dict[str, str | None] = {**dict.fromkeys(removed), **properties}
        for key, attribute in (("comment", "description"), ("owner", "ownerName")):
            if key in changes:
                setattr(found, attribute, changes.pop(key))
        found.parameters = {key: value for key, value in (found.parameters or {}).items() if key not in changes}
        found.parameters.update({key: value for key, value in changes.items() if value is not None})
        self._client.call("alter_database", name, found)

    def drop_database(self, name: str) -> bool:
        """Remove one that is empty: the metastore looks."""
        if self._database(name) is None:
            return True
        full = self._types.InvalidOperationException
        try:
            self._client.call("drop_database", name, False, False, expected=(full, *self._gone))
        except self._gone:
            return True
        except full:
            raise self._not_empty(name) from None
        return True

    def check_drop(self, name: str) -> None:
        """Refuse a database with more than this catalog's own tables before anything of it is dropped.

        Raises:
            InvalidArgument: It has views, tables of other formats or elsewhere, or external tables.
        """
        others = [table.tableName for table in self._objects(name) if not self._is_own(table) or is_external(table)]
        if others:
            raise self._not_empty(name, others)

    def _not_empty(self, name: str, others: Sequence[str] = ()) -> InvalidArgument:
        named = ", ".join(sorted(others or [table.tableName for table in self._objects(name)])[:10])
        return InvalidArgument(
            f"the database '{name}' has objects that this catalog does not drop with it: {named}",
            hint="they are views, tables of other formats or elsewhere, or external tables: drop them first",
            context={"database": name},
        )

    def _database(self, name: str) -> Any | None:
        try:
            found = self._client.call("get_database", name, expected=self._gone)
        except self._gone:
            return None
        # the metastore finds shop for Shop
        return found if found.name == name else None

    def _place_of_database(self, name: str) -> str:
        return f"{self._settings.warehouse}/{name}.db"

    def _objects(self, database: str) -> list[Any]:
        """All that has a name in a database."""
        names = self._client.call("get_all_tables", database)
        parts = [names[begin : begin + _AT_ONCE] for begin in range(0, len(names), _AT_ONCE)]
        return [table for part in parts for table in self._client.call("get_table_objects_by_name", database, part)]

    def _place(self, database: str, table: str) -> str:
        return f"{self._place_of_database(database)}/{table}"

    def _is_own(self, table: Any) -> bool:
        place = self._place(table.dbName, table.tableName)
        return is_paimon(table) and is_same_place(self._tables.place(table), place)


def check_lower(what: str, name: str) -> None:
    """Refuse a name with letters that the metastore changes.

    Raises:
        InvalidArgument: It has upper-case letters.
    """
    if name != name.lower():
        raise InvalidArgument(
            f"the {what} name '{name}' has upper-case letters, which a Hive metastore does not keep",
            hint=f"call it '{name.lower()}'",
            context={what: name},
        )
