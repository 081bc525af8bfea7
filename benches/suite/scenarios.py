"""What is measured: tables and the phases they go through. The Java oracle's `bench` takes the same form as JSON."""

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
INPUTS = [f"merge-{i}.parquet" for i in range(5)]
WRITE = {"name": "write", "op": "write", "inputs": INPUTS}


def _scenario(name: str, primary_keys: list[str], options: dict[str, str], phases: list[dict]) -> dict:
    return {
        "name": name,
        "fields": [{"name": column, "type": kind} for column, kind in COLUMNS.items()],
        "primary_keys": primary_keys,
        "partition_keys": [],
        "options": {"file.format": "parquet", **options},
        "phases": phases,
    }


_KEYED = [
    WRITE,
    {"name": "read_merge", "op": "read"},
    {"name": "full_compact", "op": "compact", "full": True},
    {"name": "read_compacted", "op": "read"},
]
_ONE_BUCKET = {"bucket": "1", "write-only": "true"}

SCENARIOS = {
    s["name"]: s
    for s in (
        _scenario("dedup_zstd", ["id"], _ONE_BUCKET, _KEYED),
        _scenario("dedup_snappy", ["id"], {**_ONE_BUCKET, "file.compression": "snappy"}, _KEYED),
        _scenario("append_zstd", [], {"bucket": "-1"}, [WRITE, {"name": "read", "op": "read"}]),
    )
}

# What we promise against warm Java, as a ratio of wall times (Java / siltstone).
GOALS = {("dedup_zstd", "write"): 2.0, ("dedup_zstd", "read_merge"): 1.0, ("dedup_zstd", "full_compact"): 2.5}
