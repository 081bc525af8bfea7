"""Tables whose buckets have files of several levels, and alters of what these mean."""

OLDER = range(10, 3000)
FIXED = {"bucket": "1", "write-only": "true", "num-sorted-run.compaction-trigger": "2", "num-levels": "5"}
SUM = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
PARTIAL = {"merge-engine": "partial-update"}
DEDUPLICATE = {"deletion-vectors.modifiable": "true"}


def row_1(t):
    return [(row["v"], row["w"]) for row in t.to_pylist(filter="id = 1")]


def levels(t):
    return {f["level"] for f in t.files()}


def table(cat, options, name="db.t"):
    """Key 1 in the highest level."""
    columns = {"id": "INT", "v": "INT", "w": "STRING"}
    t = cat.create_table(name, columns, primary_key="id", options=FIXED | options)
    t.upsert([{"id": i, "v": 100, "w": "base"} for i in (1, *OLDER)])
    t.compact(full=True)
    return t


def of_two_levels(cat, options, name="db.t"):
    t = table(cat, options, name)
    for v in (1, 2):
        t.upsert([{"id": 1, "v": v, "w": None}])
    t.compact()
    assert len(levels(t)) == 2 and 0 not in levels(t)
    return t


ALTERED = {
    "sum gets lookups": (SUM, "changelog-producer", "lookup"),
    "partial update gets lookups": (PARTIAL | {"changelog-producer": "input"}, "changelog-producer", "lookup"),
    "sum loses lookups": (SUM | {"changelog-producer": "lookup"}, "changelog-producer", "none"),
    "vectors": (DEDUPLICATE, "deletion-vectors.enabled", "true"),
}
