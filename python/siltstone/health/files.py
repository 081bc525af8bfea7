"""Figures of the newest version's files, computed by Arrow over the system tables: no loop looks at single files."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from siltstone.health.figures import Bucket, LargePartition, Level, PartitionClass, SizeClass, Totals

if TYPE_CHECKING:
    import pyarrow as pa

    Table = Any

#: Buckets and partitions that are named one by one.
SHOWN = 30
#: Ages of partitions: the names of the classes, and the hours at which each ends.
AGES = (("1 hour", 1), ("1 day", 24), ("1 week", 168), ("1 month", 730), ("1 year", 8766), ("older", None))

FILES = ["partition", "bucket", "level", "record_count", "file_size_in_bytes", "deleteRowCount"]


def files_of(table: Table, version: int | None) -> pa.Table:
    """What the figures need of the data files of a snapshot."""
    return table.inspect("files", [*FILES, "file_path"], version=version).to_arrow()


def levels_of(files: pa.Table, *, keyed: bool) -> tuple[list[Level], pa.Table]:
    """Figures of each level; and a table of what each bucket has on each level."""
    import pyarrow.compute as pc

    keys = ["partition", "bucket", "level"]
    sums = [("record_count", "sum"), ("file_size_in_bytes", "sum"), ("level", "count")]
    parts = files.group_by(keys).aggregate(sums)
    one = pc.min_element_wise(parts["level_count"], 1)
    runs = pc.if_else(pc.equal(parts["level"], 0), parts["level_count"], one) if keyed else pc.multiply(one, 0)
    parts = parts.append_column("runs", runs)
    wanted = ["level_count", "record_count_sum", "file_size_in_bytes_sum", "runs"]
    levels = parts.group_by("level").aggregate([(name, "sum") for name in wanted]).sort_by("level")
    names = ["level", *(f"{name}_sum" for name in wanted)]
    return [Level(*row) for row in _tuples(levels.select(names))], parts


def buckets_of(parts: pa.Table, deleted: pa.Table) -> tuple[int, list[Bucket]]:
    """How many buckets there are, and those with the most runs, and then bytes.

    Args:
        parts: What each bucket has on each level.
        deleted: Rows that deletion vectors delete, by bucket.
    """
    sums = [("level_count", "sum"), ("record_count_sum", "sum"), ("file_size_in_bytes_sum", "sum"), ("runs", "sum")]
    keys = ["partition", "bucket"]
    whole = parts.group_by(keys).aggregate(sums)
    order = [
        ("runs_sum", "descending"),
        ("file_size_in_bytes_sum_sum", "descending"),
        *((k, "ascending") for k in keys),
    ]
    top = whole.sort_by(order).slice(0, SHOWN)
    levels: dict[tuple[str, int], dict[int, int]] = {}
    columns = ["partition", "bucket", "level", "file_size_in_bytes_sum"]
    held = parts.join(top.select(keys), keys, join_type="inner").select(columns).sort_by("level")
    for partition, bucket, level, size in _tuples(held):
        levels.setdefault((partition, bucket), {})[level] = size
    gone = {(p, b): n for p, b, n in _tuples(deleted.join(top.select(keys), keys, join_type="inner"))}
    names = [*keys, "level_count_sum", "record_count_sum_sum", "file_size_in_bytes_sum_sum", "runs_sum"]
    found = [Bucket(*row) for row in _tuples(top.select(names))]
    places = [(bucket.partition, bucket.bucket) for bucket in found]
    return whole.num_rows, [
        replace(b, deleted_rows=gone.get(at, 0), levels=levels[at]) for b, at in zip(found, places, strict=True)
    ]


def deleted_of(table: Table, version: int | None) -> pa.Table:
    """Rows that deletion vectors delete: partition, bucket, rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = ["partition", "bucket", "dv_ranges"]
    found = (
        table.inspect("table_indexes", wanted, "index_type = 'DELETION_VECTORS'", version=version)
        .to_arrow()
        .combine_chunks()
    )
    ranges = found["dv_ranges"].combine_chunks()
    owners = pc.list_parent_indices(ranges)
    rows = pc.struct_field(pc.list_flatten(ranges), "_CARDINALITY")
    flat = pa.table(
        {
            "partition": found["partition"].take(owners),
            "bucket": found["bucket"].take(owners),
            "deleted": rows.cast(pa.int64()),
        }
    )
    return flat.group_by(["partition", "bucket"]).aggregate([("deleted", "sum")])


def sizes_of(files: pa.Table, *, keyed: bool) -> list[SizeClass]:
    """Files by the powers of two that their sizes lie between."""
    import pyarrow as pa
    import pyarrow.compute as pc

    power = _powers(files["file_size_in_bytes"])
    fresh = pc.equal(files["level"], 0) if keyed else pa.repeat(False, files.num_rows)
    counts = pa.table({"power": power, "fresh": fresh}).group_by(["power", "fresh"]).aggregate([([], "count_all")])
    found: dict[int, dict[bool, int]] = {}
    for exponent, is_fresh, count in _tuples(counts.select(["power", "fresh", "count_all"])):
        found.setdefault(exponent, {})[is_fresh] = count
    return [SizeClass(2**p, kinds.get(False, 0), kinds.get(True, 0)) for p, kinds in sorted(found.items())]


def totals_of(files: pa.Table, deleted: pa.Table, buckets: int, partitions: int, *, skips_level_0: bool) -> Totals:
    """Sums over all files."""
    import pyarrow.compute as pc

    waits = pc.less(files["bucket"], 0)
    if skips_level_0:
        waits = pc.or_(waits, pc.equal(files["level"], 0))

    def total(column: pa.ChunkedArray) -> int:
        return pc.sum(column).as_py() or 0

    return Totals(
        files=files.num_rows,
        rows=total(files["record_count"]),
        bytes=total(files["file_size_in_bytes"]),
        retractions=total(files["deleteRowCount"]),
        deleted_rows=total(deleted["deleted_sum"]),
        waiting_rows=total(files.filter(waits)["record_count"]),
        buckets=buckets,
        partitions=partitions,
    )


def partitions_of(
    table: Table, version: int | None, now: dt.datetime
) -> tuple[int, list[PartitionClass], list[LargePartition]]:
    """How many partitions there are, those of like age and size together, and the largest ones.

    Args:
        table: The table.
        version: The snapshot.
        now: The local time, without a zone, as system tables have it.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not table.partition_by:
        return 0, [], []
    columns = ["partition", "file_count", "record_count", "file_size_in_bytes", "last_update_time"]
    found = table.inspect("partitions", columns, version=version).to_arrow()
    written = found["last_update_time"].cast(pa.timestamp("ms"))
    hours = pc.divide(pc.milliseconds_between(written, pa.scalar(now, pa.timestamp("ms"))), 3_600_000)
    age: Any = pa.repeat(len(AGES) - 1, found.num_rows)
    for at, (_, end) in reversed(list(enumerate(AGES[:-1]))):
        age = pc.if_else(pc.fill_null(pc.less(hours, end), False), at, age)
    sizes = found["file_size_in_bytes"]
    flat = pa.table({"age": age, "power": _powers(sizes), "bytes": sizes})
    classes = flat.group_by(["age", "power"]).aggregate([([], "count_all"), ("bytes", "sum")])
    rows = _tuples(
        classes.sort_by([("age", "ascending"), ("power", "ascending")]).select(
            ["age", "power", "count_all", "bytes_sum"]
        )
    )
    order = [("file_size_in_bytes", "descending"), ("partition", "ascending")]
    largest = _tuples(found.sort_by(order).slice(0, SHOWN).select(columns))
    named = [LargePartition(p, files, rows, size, at and at.astimezone()) for p, files, rows, size, at in largest]
    return found.num_rows, [PartitionClass(a, 2**p, n, size) for a, p, n, size in rows], named


def _powers(sizes: pa.ChunkedArray) -> pa.ChunkedArray:
    """The whole part of the binary logarithm of each size; of 0 it is 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.floor(pc.log2(pc.max_element_wise(sizes, 1).cast(pa.float64()))).cast(pa.int64())


def _tuples(rows: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
