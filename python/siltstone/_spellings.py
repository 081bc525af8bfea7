"""Names that people know from other libraries, and what they are called here."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from siltstone._pyarrow import MissingAttribute, has_pyarrow

#: By class: the name elsewhere, and the call here.
_HERE = {
    "Table": {
        # deltalake
        "version": "t.snapshot().id",
        "metadata": "t.schema, t.options and t.comment",
        "optimize": "t.compact()",
        "vacuum": "t.maintenance.remove_orphan_files() and t.expire_snapshots()",
        "restore": "t.rollback(version=...)",
        "load_as_version": "t.scan(version=...)",
        "load_version": "t.scan(version=...)",
        "to_pyarrow_table": "t.to_arrow()",
        "to_pyarrow_dataset": "t.to_dataset()",
        "file_uris": "t.files()",
        "get_add_actions": "t.files()",
        "write": "t.append(data), t.upsert(data) or t.overwrite(data)",
        "insert": "t.append(data)",
        "table_uri": "t.location",
        "repair": "t.maintenance.fsck()",
        "z_order": "t.compact()",
        # pypaimon
        "new_read_builder": "t.scan(columns, filter)",
        "new_batch_write_builder": "t.append(data), or with t.writer() as w",
        "new_stream_write_builder": "t.writer(commit_user=...), and w.commit(identifier=...)",
        "new_stream_read_builder": "t.changes(follow=True)",
        "new_update": "t.update(set, where), t.delete(where) or t.merge(source, on)",
        "create_tag": "t.tags.create(name)",
        "delete_tag": "t.tags.delete(name)",
        "list_tags": "t.tags.list()",
        "rename_tag": "t.tags.rename(name, new_name)",
        "replace_tag": "t.tags.replace(name)",
        "create_branch": "t.branches.create(name)",
        "delete_branch": "t.branches.delete(name)",
        "rollback_to": "t.rollback(version=...) or t.rollback(tag=...)",
        "rollback_to_timestamp": "t.rollback(as_of=...)",
        "copy": "t.scan(version=...), or st.open_table(path, options=...)",
        "primary_keys": "t.primary_key",
        "partition_keys": "t.partition_by",
        "table_schema": "t.schema",
        "snapshot_manager": "t.snapshot() and t.history()",
        # pyiceberg, polars, pandas
        "current_snapshot": "t.snapshot()",
        "snapshots": "t.history()",
        "properties": "t.options",
        "columns": "t.schema.names",
        "add_files": "t.append('file.parquet')",
        "update_schema": "t.alter()",
        "add_column": "t.alter().add_column(name, type).commit()",
        "drop_column": "t.alter().drop_column(name).commit()",
        "select": "t.scan(columns)",
        "filter": "t.scan(filter=...)",
        "where": "t.scan(filter=...)",
        "limit": "t.head(n)",
        "collect": "t.to_arrow()",
        "toPandas": "t.to_pandas()",
        "to_dicts": "t.to_pylist()",
        "to_list": "t.to_pylist()",
        "rows": "t.to_pylist()",
        "read": "t.scan(columns, filter)",
        "show": "print(t.explain()), t.head() or t.stats()",
        "describe": "print(t.explain()), or t.stats()",
        "write_arrow": "t.append(data)",
        "write_pandas": "t.append(frame)",
        "fields": "t.schema",
        "field_names": "t.schema.names",
        "latest_snapshot": "t.snapshot()",
        "name_mapping": "t.schema.names",
    },
    "Catalog": {
        "list_databases": "cat.databases()",
        "list_namespaces": "cat.databases()",
        "list_tables": "cat.tables(database)",
        "get_table": "cat.table('db.table')",
        "load_table": "cat.table('db.table')",
        "open_table": "cat.table('db.table')",
        "get_database": "cat.database(name)",
        "create_namespace": "cat.create_database(name)",
        "drop_namespace": "cat.drop_database(name)",
        "alter_table": "cat.table('db.table').alter()",
        "create_tag": "cat.table('db.table').tags.create(name)",
        "create_branch": "cat.table('db.table').branches.create(name)",
        "list_partitions_paged": "cat.table('db.table').partitions()",
        "drop_partitions": "cat.table('db.table').drop_partitions([...])",
        "rollback_to": "cat.table('db.table').rollback(version=...)",
        "table_exists": "'db.table' in cat",
        "database_exists": "'db' in cat",
    },
    "Scan": {
        "to_table": "scan.to_arrow()",
        "to_pyarrow_table": "scan.to_arrow()",
        "to_arrow_batch_reader": "scan.to_batches()",
        "to_record_batches": "scan.to_batches()",
        "plan": "scan.splits() or scan.explain()",
        "collect": "scan.to_arrow()",
        "select": "t.scan(columns)",
        "filter": "t.scan(filter=...)",
        "where": "t.scan(filter=...)",
        "limit": "t.scan(limit=...)",
        "num_rows": "scan.count()",
        "schema": "pa.schema(scan)",
        "columns": "pa.schema(scan).names",
    },
    "Snapshot": {
        "commit_kind": "s.kind",
        "commit_user": "s.user",
        "commit_identifier": "s.identifier",
        "time_millis": "s.time",
        "timestamp": "s.time",
        "timestamp_ms": "s.time",
        "snapshot_id": "s.id",
        "total_record_count": "s.total_rows",
        "delta_record_count": "s.delta_rows",
    },
    "TableWrite": {
        "write_arrow": "w.write(data)",
        "write_arrow_batch": "w.write(batch)",
        "write_batch": "w.write(batch)",
        "write_pandas": "w.write(frame)",
        "flush": "w.commit() or w.prepare_commit()",
        "abort": "w.discard()",
    },
    "Column": {
        "isin": ".is_in(values)",
        "isIn": ".is_in(values)",
        "startswith": ".starts_with(text)",
        "endswith": ".ends_with(text)",
        "isnull": ".is_null()",
        "isNull": ".is_null()",
        "isna": ".is_null()",
        "is_not_null": ".is_not_null()",
        "notnull": ".is_not_null()",
        "isNotNull": ".is_not_null()",
        "is_between": ".between(low, high)",
    },
    "siltstone": {
        "CatalogFactory": "st.connect(warehouse)",
        "load_catalog": "st.connect(warehouse), or st.connect(name=...)",
        "Schema": "cat.create_table(name, pyarrow_schema, primary_key=...)",
        "DeltaTable": "st.open_table(path)",
        "read": "st.open_table(path).scan(columns, filter)",
        "read_table": "st.open_table(path).to_arrow()",
        "scan": "st.open_table(path).scan(columns, filter)",
        "write": "st.open_table(path).append(rows)",
        "open": "st.open_table(path)",
        "load_table": "st.open_table(path)",
        "read_polars": "st.open_table(path).to_polars()",
    },
}


def unknown_attribute(thing: Any, name: str) -> AttributeError:
    """The error for an attribute that there is not, with what it is called here."""
    kind = type(thing)
    if name == "schema" and hasattr(kind, name) and not has_pyarrow():
        return MissingAttribute()
    text = f"a {kind.__name__} has no '{name}'"
    families = [base.__name__ for base in kind.__mro__]
    known = next((_HERE[family][name] for family in families if name in _HERE.get(family, {})), None)
    if known is None and not name.startswith("_"):
        public = [other for other in dir(kind) if not other.startswith("_")]
        near = difflib.get_close_matches(name, public, n=2)
        known = " or ".join(f".{other}" for other in near) or None
    return AttributeError(text if known is None else f"{text}: use {known}", name=name, obj=thing)


class Hinted:
    """Something that says what names of other libraries are called here."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Refuse what other libraries have under this name, and say what it is here."""
            raise unknown_attribute(self, name)


#: What takes the conditions of other libraries.
_CONDITIONS = {
    "pyarrow": "t.to_dataset().to_table(filter=...) takes expressions of pyarrow",
    "polars": "st.scan_polars(t).filter(...) takes expressions of polars",
}


def condition_hint(value: object) -> str | None:
    """Where a condition of another library is taken."""
    return _CONDITIONS.get(type(value).__module__.partition(".")[0])


def unknown_name(name: str, public: Sequence[str]) -> AttributeError:
    """The error for a name that the package does not have."""
    text = f"siltstone has no '{name}'"
    known = _HERE["siltstone"].get(name)
    if known is None and not name.startswith("_"):
        known = " or ".join(f"st.{other}" for other in difflib.get_close_matches(name, public, n=2)) or None
    return AttributeError(text if known is None else f"{text}: use {known}", name=name)


P = ParamSpec("P")
R = TypeVar("R")


def known_as(**elsewhere: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Refuse arguments by the names that other libraries have for them, and say what they are called here.

    Args:
        elsewhere: The argument here, by its name elsewhere.
    """

    def with_hints(method: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(method)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs.keys() & elsewhere.keys():
                raise TypeError(f"{method.__name__}() has no argument '{name}': use {elsewhere[name]}")
            return method(*args, **kwargs)

        return checked

    return with_hints
