"""What is measured: tables and the phases they go through. The `bench` of tests/oracle takes the same form as JSON."""

from typing import Any

from tpch import LINEITEM_COLUMNS, ORDERS_COLUMNS

COLUMNS = {
    "id": "BIGINT NOT NULL",
    "a": "INT",
    "b": "INT",
    "c": "BIGINT",
    "x": "DOUBLE",
    "y": "DOUBLE",
    "city": "STRING",
    "code": "STRING",
    "flag": "BOOLEAN",
    "ts": "TIMESTAMP(6)",
}
# 1 KB of text in each row
LONG_COLUMNS = {"id": "BIGINT NOT NULL", "a": "INT", "text": "STRING"}
# 200 columns
BROAD_COLUMNS = {"id": "BIGINT NOT NULL"} | {
    f"{kind[0].lower()}{number}": kind
    for kind, count in {"INT": 99, "DOUBLE": 60, "STRING": 40}.items()
    for number in range(count)
}
NESTED_COLUMNS: dict[str, Any] = {
    "id": "BIGINT NOT NULL",
    "tags": {"type": "ARRAY", "element": "STRING"},
    "counts": {"type": "MAP", "key": "STRING NOT NULL", "value": "BIGINT"},
    "place": {
        "type": "ROW",
        "fields": [
            {"id": 4, "name": "x", "type": "DOUBLE"},
            {"id": 5, "name": "y", "type": "DOUBLE"},
            {"id": 6, "name": "city", "type": "STRING"},
        ],
    },
}


def _files(kind: str, number: int) -> list[str]:
    return [f"{kind}-{i}.parquet" for i in range(number)]


def _five(kind: str) -> list[str]:
    return _files(kind, 5)


def _scenario(
    name: str,
    primary_keys: list[str],
    options: dict[str, str],
    phases: list[dict],
    partition_keys: tuple[str, ...] = (),
    columns: dict[str, Any] = COLUMNS,
) -> dict:
    return {
        "name": name,
        "fields": [{"name": column, "type": kind} for column, kind in columns.items()],
        "primary_keys": primary_keys,
        "partition_keys": list(partition_keys),
        "options": {"file.format": "parquet", **options},
        "phases": phases,
    }


def _merging(inputs: list[str]) -> list[dict]:
    """Five overlapping runs: written, read merged, compacted, read again."""
    return [
        {"name": "write", "op": "write", "inputs": inputs},
        {"name": "read_merge", "op": "read"},
        {"name": "full_compact", "op": "compact", "full": True},
        {"name": "read_compacted", "op": "read"},
    ]


# A tenth of a compacted table upserted, then only as much compaction as it takes to see the rows.
_UPSERTING = [
    {"name": "load", "op": "write", "inputs": _five("base")},
    {"name": "load_compact", "op": "compact", "full": True},
    {"name": "upsert_write", "op": "write", "inputs": ["upsert.parquet"]},
    {"name": "lookup_compact", "op": "compact", "full": False},
    {"name": "read_upserted", "op": "read"},
]
# The same, but read before and after a full compaction.
_UPSERTING_AND_READING = [
    *_UPSERTING[:-1],
    {"name": "read_dv", "op": "read"},
    {"name": "full_compact", "op": "compact", "full": True},
    {"name": "read_compacted", "op": "read"},
]
# The same rows without vectors: the upserts stay where they are and the read merges them.
_MERGING_ON_READ = [*_UPSERTING[:3], {"name": "read_merge", "op": "read"}]
_ONE_BUCKET = {"bucket": "1", "write-only": "true"}
_PARTIAL = {**_ONE_BUCKET, "merge-engine": "partial-update"}
_AGGREGATES = {"a": "sum", "b": "max", "c": "sum", "x": "sum", "y": "min", "city": "last_value"}
_AGGREGATES |= {"code": "last_non_null_value", "flag": "bool_or", "ts": "max"}
_AGGREGATION = {
    **_ONE_BUCKET,
    "merge-engine": "aggregation",
    **{f"fields.{column}.aggregate-function": function for column, function in _AGGREGATES.items()},
}


def _written(kind: str) -> list[dict]:
    """Five commits, read once."""
    return [{"name": "write", "op": "write", "inputs": _five(kind)}, {"name": "read_merge", "op": "read"}]


def _refreshed(table: str) -> list[dict]:
    """A table of TPC-H, loaded and compacted; five batches of new and changed rows; compacted again."""
    return [
        {"name": "load", "op": "write", "inputs": _five(table)},
        {"name": "load_compact", "op": "compact", "full": True},
        {"name": "upsert", "op": "write", "inputs": _five(f"{table}changes")},
        *_merging([])[1:],
    ]


_DYNAMIC = {"bucket": "-1", "write-only": "true"}
# Every key is there, nearly all move to another partition. In `load` all keys are new, and no partition has more than a
# bucket takes: Java is told the bucket that its assigner would choose, because loading by it takes minutes.
_MOVING = [
    {"name": "load", "op": "write", "inputs": _files("wide", 10), "bucket": 0},
    {"name": "upsert", "op": "write", "inputs": ["moved.parquet"]},
    {"name": "read_merge", "op": "read"},
]
# Of Java only engine jobs give waiting rows their buckets.
_WAITING = [
    {"name": "write", "op": "write", "inputs": _five("merge")},
    {"name": "move", "op": "compact", "full": False, "only": ["siltstone"]},
    {"name": "read_merge", "op": "read", "only": ["siltstone"]},
]

SCENARIOS = {
    s["name"]: s
    for s in (
        _scenario("dedup_zstd", ["id"], _ONE_BUCKET, _merging(_five("merge"))),
        _scenario("dedup_snappy", ["id"], {**_ONE_BUCKET, "file.compression": "snappy"}, _merging(_five("merge"))),
        _scenario("dedup_partial_zstd", ["id"], _ONE_BUCKET, _merging(_five("partial"))),
        _scenario("partial_update_zstd", ["id"], _PARTIAL, _merging(_five("partial"))),
        _scenario("aggregation_zstd", ["id"], _AGGREGATION, _merging(_five("merge"))),
        _scenario("lookup_zstd", ["id"], {**_ONE_BUCKET, "changelog-producer": "lookup"}, _UPSERTING),
        _scenario(
            "dv_lookup_zstd", ["id"], {**_ONE_BUCKET, "deletion-vectors.enabled": "true"}, _UPSERTING_AND_READING
        ),
        _scenario("upsert_zstd", ["id"], _ONE_BUCKET, _MERGING_ON_READ),
        _scenario(
            "append_zstd",
            [],
            {"bucket": "-1"},
            [{"name": "write", "op": "write", "inputs": _five("merge")}, {"name": "read", "op": "read"}],
        ),
        # what each mode of buckets costs
        _scenario("dynamic_zstd", ["id"], _DYNAMIC, _written("known")),
        _scenario("fixed_zstd", ["id"], {**_ONE_BUCKET, "bucket": "2"}, _written("known")),
        _scenario("cross_partition_zstd", ["id"], _DYNAMIC, _MOVING, ("city",)),
        _scenario("postponed_zstd", ["id"], {"bucket": "-2", "write-only": "true"}, _WAITING),
        _scenario("spread_dynamic_zstd", ["a", "id"], _DYNAMIC, _written("spread"), ("a",)),
        _scenario("spread_fixed_zstd", ["a", "id"], _ONE_BUCKET, _written("spread"), ("a",)),
        # many small buckets, and rows of other shapes
        _scenario("partitions_zstd", ["a", "id"], _ONE_BUCKET, _merging(_five("spread")), ("a",)),
        _scenario("long_zstd", ["id"], _ONE_BUCKET, _merging(_five("long")), columns=LONG_COLUMNS),
        _scenario("broad_zstd", ["id"], _ONE_BUCKET, _merging(_five("broad")), columns=BROAD_COLUMNS),
        _scenario("nested_zstd", ["id"], _ONE_BUCKET, _merging(_five("nested")), columns=NESTED_COLUMNS),
        _scenario("tpch_orders", ["o_orderkey"], _ONE_BUCKET, _refreshed("orders"), columns=ORDERS_COLUMNS),
        _scenario(
            "tpch_lineitem",
            ["l_orderkey", "l_linenumber"],
            _ONE_BUCKET,
            _refreshed("lineitem"),
            columns=LINEITEM_COLUMNS,
        ),
    )
}

# What we promise against warm Java, as a ratio of wall times (Java / siltstone).
GOALS = {
    ("dedup_zstd", "write"): 2.0,
    ("dedup_zstd", "read_merge"): 1.0,
    ("dedup_zstd", "full_compact"): 2.5,
    ("partial_update_zstd", "full_compact"): 4.0,
    ("aggregation_zstd", "full_compact"): 4.0,
    ("lookup_zstd", "lookup_compact"): 5.0,
    ("dv_lookup_zstd", "lookup_compact"): 5.0,
    ("dynamic_zstd", "write"): 4.0,
    ("cross_partition_zstd", "upsert"): 3.0,
}

# How many MB a phase holds at most (peak RSS).
MEMORY_GOALS = {("cross_partition_zstd", "upsert"): 1024}

# What we promise against ourselves: a phase takes at most so many times as long as another one; `None` promises
# nothing, the ratio is only stated.
OWN_GOALS = {
    ("partial_update_zstd", "full_compact"): (("dedup_partial_zstd", "full_compact"), 1.3),
    ("aggregation_zstd", "full_compact"): (("dedup_zstd", "full_compact"), 1.3),
    ("dv_lookup_zstd", "read_dv"): (("dv_lookup_zstd", "read_compacted"), 1.15),
    ("upsert_zstd", "read_merge"): (("dv_lookup_zstd", "read_dv"), None),
    # at least 0.6 and 0.9 times as fast
    ("dynamic_zstd", "write"): (("fixed_zstd", "write"), 1.667),
    ("postponed_zstd", "write"): (("append_zstd", "write"), 1.111),
    ("spread_dynamic_zstd", "write"): (("spread_fixed_zstd", "write"), 2.0),
}
