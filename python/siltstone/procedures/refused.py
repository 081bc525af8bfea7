"""Procedures of Java's that are not here, and what to do instead."""

from __future__ import annotations

from siltstone.errors import UnsupportedFeature

_NO_GLOBAL_INDEX = "global indexes are neither written nor read; file indexes are: sys.rewrite_file_index"
_NO_FUNCTIONS = "functions are kept by no catalog here; register them in Spark: spark.udf.register(...)"
_NO_MIGRATION = "tables of other formats are read by Spark and written by siltstone.spark.write(frame, name)"
#: The reason for each of them.
REFUSED = {
    "alter_function": _NO_FUNCTIONS,
    "alter_view_dialect": "views are kept by no catalog here",
    "compact_chain_table": "chain tables are not supported",
    "copy": "use CREATE TABLE ... LIKE, then INSERT INTO ... SELECT",
    "create_function": _NO_FUNCTIONS,
    "create_global_index": _NO_GLOBAL_INDEX,
    "drop_function": _NO_FUNCTIONS,
    "drop_partition": "use ALTER TABLE db.t DROP PARTITION (dt = '2026-11-20')",
    "drop_global_index": _NO_GLOBAL_INDEX,
    "mark_partition_done": "no markers of finished partitions are written",
    "materialize_deletion_vectors": "sys.compact rewrites files whose rows deletion vectors delete",
    "merge_branch": "use sys.fast_forward, or INSERT INTO db.t SELECT * FROM db.t$branch_b",
    "migrate_database": _NO_MIGRATION,
    "migrate_table": _NO_MIGRATION,
    "purge_files": "use TRUNCATE TABLE, then sys.expire_snapshots",
    "reassign_row_id": "ids of rows are given once",
    "remove_unexisting_files": "siltstone fsck says which files are missing; roll back to a version that has all",
    "repair": "a catalog of directories has nothing to repair: its tables are its directories",
    "repair_earliest_snapshot": "siltstone fsck says what is wrong with the snapshots",
}


def refuse(name: str) -> None:
    """Refuse a procedure of Java's that is not here.

    Raises:
        UnsupportedFeature: It is one.
    """
    if name in REFUSED:
        raise UnsupportedFeature(f"sys.{name} is not supported", hint=REFUSED[name])
