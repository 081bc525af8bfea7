"""What a Hive metastore has of a table of Paimon: a copy of columns and options, as in Java's ``HiveCatalog``."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from siltstone import _core
from siltstone.catalog.hive_client import user_name
from siltstone.errors import TableNotFound, UnsupportedType

_INPUT, _OUTPUT = "org.apache.paimon.hive.mapred.PaimonInputFormat", "org.apache.paimon.hive.mapred.PaimonOutputFormat"
_SERDE, _HANDLER = "org.apache.paimon.hive.PaimonSerDe", "org.apache.paimon.hive.PaimonStorageHandler"
#: Where locations are that the metastore does not look at.
_LOCATION = "paimon_location"
#: Longest texts of Hive's CHAR and VARCHAR; longer ones are STRING.
_LONGEST_CHAR, _LONGEST_VARCHAR = 255, 65535
_FOREVER = 2**31 - 1
_PLAIN = {
    "BOOLEAN": "boolean",
    "TINYINT": "tinyint",
    "SMALLINT": "smallint",
    "INT": "int",
    "INTEGER": "int",
    "BIGINT": "bigint",
    "FLOAT": "float",
    "DOUBLE": "double",
    "STRING": "string",
    "BINARY": "binary",
    "VARBINARY": "binary",
    "BYTES": "binary",
    "BLOB": "binary",
    "DATE": "date",
    "TIME": "string",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP WITH LOCAL TIME ZONE": "timestamp with local time zone",
    "TIMESTAMP_LTZ": "timestamp with local time zone",
    "VARIANT": "struct<value:binary,metadata:binary>",
}
_TYPE = re.compile(r"([A-Z_]+)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*(WITH LOCAL TIME ZONE)?\s*(NOT NULL)?")


@dataclass(frozen=True)
class Definition:
    """The newest schema of a table.

    Attributes:
        fields: Its columns, in Paimon's JSON.
        partition_keys: Partition columns.
        options: Its options.
        removed: Options that the schema before had.
        comment: Its comment.
    """

    fields: list[dict[str, Any]]
    partition_keys: list[str]
    options: dict[str, str]
    removed: list[str]
    comment: str | None


def definition_at(location: str, storage: Mapping[str, str]) -> Definition:
    """What the files of a table say.

    Raises:
        TableNotFound: There is no table.
    """
    from siltstone._pyarrow import pa

    table = _core.Table.open(location, dict(storage), "main")
    rows: list[dict[str, Any]] = []
    for batch in table.inspect("schemas", {"columns": None, "filter": None, "limit": None}).read():
        rows += pa.record_batch(batch).to_pylist()
    rows.sort(key=lambda row: row["schema_id"])
    if not rows:
        raise TableNotFound(f"there is no table in {location}")
    options = json.loads(rows[-1]["options"])
    before = json.loads(rows[-2]["options"]) if len(rows) > 1 else {}
    return Definition(
        fields=json.loads(rows[-1]["fields"]),
        partition_keys=json.loads(rows[-1]["partition_keys"]),
        options=options,
        removed=[key for key in before if key not in options],
        comment=rows[-1]["comment"] or None,
    )


def hive_type(kind: Any) -> str:
    """The type of Hive that stands for one of Paimon's schema JSON.

    Raises:
        UnsupportedType: Hive has no such type.
    """
    if isinstance(kind, Mapping):
        return _nested(kind)
    found = _TYPE.fullmatch(str(kind).strip())
    name = " ".join(part for part in (found[1], found[4]) if part) if found else ""
    length = int(found[2]) if found and found[2] else 1
    if found and name == "DECIMAL":
        return f"decimal({found[2] or 10},{found[3] or 0})"
    if name == "CHAR":
        return f"char({length})" if length <= _LONGEST_CHAR else "string"
    if name == "VARCHAR":
        return f"varchar({length})" if length <= _LONGEST_VARCHAR else "string"
    if name not in _PLAIN:
        raise UnsupportedType(f"Hive has no type for {kind}")
    return _PLAIN[name]


def _nested(kind: Mapping[str, Any]) -> str:
    name = str(kind.get("type", "")).removesuffix(" NOT NULL")
    if name == "ARRAY":
        return f"array<{hive_type(kind['element'])}>"
    if name == "MULTISET":
        return f"map<{hive_type(kind['element'])},int>"
    if name == "MAP":
        return f"map<{hive_type(kind['key'])},{hive_type(kind['value'])}>"
    if name == "ROW":
        fields = [f"{field['name']}:{hive_type(field['type'])}" for field in kind["fields"]]
        return f"struct<{','.join(fields)}>"
    raise UnsupportedType(f"Hive has no type for {name}")


class Tables:
    """Tables and their places as the metastore keeps them."""

    def __init__(self, types: Any, *, copies: bool, in_properties: bool) -> None:
        """With the classes of the metastore's interface, and two options of the catalog."""
        self._types, self._copies, self._in_properties = types, copies, in_properties

    def new(self, database: str, name: str, found: Definition, properties: Mapping[str, str], location: str) -> Any:
        """A table that is to be made."""
        now = int(time.time())
        table = self._types.Table(
            tableName=name,
            dbName=database,
            owner=user_name(),
            createTime=now,
            lastAccessTime=now,
            retention=_FOREVER,
            sd=self._types.StorageDescriptor(serdeInfo=self._types.SerDeInfo(parameters={})),
            partitionKeys=[],
            parameters={"table_type": "PAIMON", "storage_handler": _HANDLER},
            tableType="MANAGED_TABLE",
        )
        self.change(table, found, properties, location)
        kept = ("partition.expiration-time", "data-file.path-directory")
        table.parameters.update({key: found.options[key] for key in kept if key in found.options})
        return table

    def change(self, table: Any, found: Definition, properties: Mapping[str, str], location: str) -> None:
        """Bring the copy of columns and options up to a schema."""
        descriptor = table.sd
        descriptor.inputFormat, descriptor.outputFormat = _INPUT, _OUTPUT
        descriptor.serdeInfo.serializationLib = _SERDE
        columns = [self._types.FieldSchema(f["name"], hive_type(f["type"]), f.get("description")) for f in found.fields]
        by_name = {column.name: column for column in columns}
        if found.partition_keys and found.options.get("metastore.partitioned-table", "").lower() == "true":
            table.partitionKeys = [by_name.pop(key) for key in found.partition_keys]
        descriptor.cols = list(by_name.values())
        if self._copies:
            table.parameters.update(properties)
        else:
            own = {key.removeprefix("hive."): value for key, value in properties.items() if key.startswith("hive.")}
            table.parameters.update(own)
        for key in found.removed:
            table.parameters.pop(key, None)
        if found.comment is not None:
            table.parameters["comment"] = found.comment
        self.move(table, location)

    def move(self, table: Any, location: str) -> None:
        """Write down another location of a table."""
        if self._in_properties:
            table.parameters[_LOCATION] = location
        else:
            table.sd.location = location

    def place(self, table: Any) -> str:
        """Where a table is."""
        own = (table.parameters or {}).get(_LOCATION) if self._in_properties else None
        return own or table.sd.location or ""

    def partition(self, table: Any, values: list[str], location: str) -> Any:
        """A partition that is to be made."""
        now = int(time.time())
        made = self._types.Partition(
            values=values,
            dbName=table.dbName,
            tableName=table.tableName,
            createTime=now,
            lastAccessTime=now,
            sd=self._types.StorageDescriptor(**vars(table.sd)),
            parameters={},
        )
        self.move_partition(made, location)
        return made

    def move_partition(self, partition: Any, location: str) -> None:
        """Write down another location of a partition."""
        if self._in_properties:
            partition.parameters[_LOCATION] = location
        else:
            partition.sd.location = location

    def partition_place(self, partition: Any) -> str:
        """Where a partition is."""
        own = (partition.parameters or {}).get(_LOCATION) if self._in_properties else None
        return own or partition.sd.location or ""

    def move_database(self, database: Any, location: str) -> None:
        """Write down where a database is."""
        if self._in_properties:
            database.parameters[_LOCATION] = location
        else:
            database.locationUri = location

    def database_place(self, database: Any) -> str:
        """Where a database is."""
        own = (database.parameters or {}).get(_LOCATION) if self._in_properties else None
        return own or database.locationUri or ""


def is_paimon(table: Any) -> bool:
    """Whether something in a metastore is a table of Paimon, by what Java looks at."""
    return table.sd is not None and (table.sd.inputFormat, table.sd.outputFormat) == (_INPUT, _OUTPUT)


def kind_of(table: Any) -> str:
    """What has the name of a table and is none of Paimon's."""
    if (table.tableType or "").endswith("_VIEW"):
        return "view" if table.tableType == "VIRTUAL_VIEW" else "materialized view"
    named = (table.parameters or {}).get("table_type")
    said = named or (table.sd.inputFormat or "").rpartition(".")[2] if table.sd is not None else named
    return f"Hive table of another format ({said})" if said else "Hive table of another format"


def is_external(table: Any) -> bool:
    """Whether the files of a table are somebody else's business, also when it is dropped."""
    return bool(table.tableType == "EXTERNAL_TABLE")


def is_same_place(one: str, other: str) -> bool:
    """Whether two texts name the same directory: the metastore writes ``file:/data`` for ``/data``."""
    return _plain_place(one) == _plain_place(other)


def _plain_place(place: str) -> str:
    scheme, separator, rest = place.rstrip("/").partition(":")
    if not separator:
        return scheme
    if scheme == "file":
        return "/" + rest.lstrip("/")
    return f"{'s3' if scheme in ('s3a', 's3n') else scheme}:{rest}"
