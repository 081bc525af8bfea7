"""Random tables of every merge engine, and the same steps carried out by us and by Java.

A drawn table is a plain dict, so that hypothesis prints it whole when an example fails. Values are small: what is
tested is which row or value wins, not arithmetic at its limits.
"""

import json

import pyarrow as pa
import rows
from hypothesis import strategies as hs

KEYS = hs.integers(0, 4)
INTS = hs.one_of(hs.none(), hs.integers(-20, 20))
SEQUENCE = hs.one_of(hs.none(), hs.integers(0, 6))
TEXTS = hs.one_of(hs.none(), hs.sampled_from(["a", "b", "cc", ""]))
FLAGS = hs.one_of(hs.none(), hs.booleans())
LISTS = hs.one_of(hs.none(), hs.lists(hs.one_of(hs.none(), hs.integers(0, 5)), max_size=3))
MAPS = hs.one_of(
    hs.none(),
    hs.dictionaries(hs.integers(0, 3), hs.sampled_from(["x", "y"]), max_size=3).map(
        lambda d: [list(p) for p in d.items()]
    ),
)
DECIMALS = hs.one_of(hs.none(), hs.integers(-999, 999).map(lambda n: f"{n / 100:.2f}"))

VALUES = {
    "INT": INTS,
    "BIGINT": INTS,
    "DOUBLE": INTS.map(lambda n: None if n is None else n / 4),
    "DECIMAL(12, 2)": DECIMALS,
    "STRING": TEXTS,
    "BOOLEAN": FLAGS,
    "ARRAY<INT>": LISTS,
    "MAP<INT, STRING>": MAPS,
}

#: functions with the types tried, and whether they take values back
FUNCTIONS = {
    "sum": (["INT", "BIGINT", "DOUBLE", "DECIMAL(12, 2)"], True),
    "max": (["INT", "STRING", "DECIMAL(12, 2)"], False),
    "min": (["INT", "STRING", "DOUBLE"], False),
    "last_value": (["INT", "STRING", "ARRAY<INT>"], True),
    "last_non_null_value": (["INT", "STRING", "MAP<INT, STRING>"], True),
    "first_value": (["INT", "STRING"], False),
    "first_non_null_value": (["INT", "STRING"], False),
    "listagg": (["STRING"], False),
    "bool_and": (["BOOLEAN"], False),
    "bool_or": (["BOOLEAN"], False),
    "collect": (["ARRAY<INT>"], True),
    "merge_map": (["MAP<INT, STRING>"], True),
}

INSERTS = ["+I", "+U"]
ALL_KINDS = ["+I", "+I", "+U", "-U", "-D"]


@hs.composite
def functions(draw, names, retracts):
    """(columns, options): a function for each name; with `retracts` all of them take values back."""
    columns, options = {}, {}
    for name in names:
        function = draw(hs.sampled_from(sorted(FUNCTIONS)))
        types, takes_back = FUNCTIONS[function]
        columns[name] = draw(hs.sampled_from(types))
        options[f"fields.{name}.aggregate-function"] = function
        if retracts and not takes_back:
            options[f"fields.{name}.ignore-retract"] = "true"
    return columns, options


@hs.composite
def deduplicate(draw):
    columns = {"v": "INT", "t": "STRING", "s": "INT"}
    options = draw(hs.sampled_from([{}, {"sequence.field": "s"}, {"sequence.field": "s,v"}, {"ignore-delete": "true"}]))
    return table("deduplicate", columns, options, ALL_KINDS)


@hs.composite
def partial_update(draw):
    columns = {"a": "INT", "b": "STRING", "g": "INT", "c": "ARRAY<INT>", "d": "INT", "h": "INT", "i": "INT"}
    groups = {"fields.g.sequence-group": "a,b", "fields.h,i.sequence-group": "c,d"}
    style = draw(hs.sampled_from(["plain", "sequence", "ignore", "remove", "groups", "remove by group", "functions"]))
    if style in ("plain", "sequence"):
        options = {} if style == "plain" else {"sequence.field": "g"}
        return table("partial-update", columns, options, INSERTS)
    if style == "ignore":
        return table("partial-update", columns, {"ignore-delete": "true"}, ALL_KINDS)
    if style == "remove":
        return table("partial-update", columns, {"partial-update.remove-record-on-delete": "true"}, ALL_KINDS)
    if style == "groups":
        return table("partial-update", columns, groups, ALL_KINDS)
    if style == "remove by group":
        name = draw(hs.sampled_from(["g", "h", "i", "g,i"]))
        return table(
            "partial-update", columns, groups | {"partial-update.remove-record-on-sequence-group": name}, ALL_KINDS
        )
    retracts = draw(hs.booleans())
    aggregated, functions_ = draw(functions(["a", "b", "c", "d"], retracts))
    kinds = ALL_KINDS if retracts else INSERTS
    return table("partial-update", columns | aggregated, groups | functions_, kinds)


@hs.composite
def aggregation(draw):
    style = draw(hs.sampled_from(["inserts", "retracts", "remove", "default"]))
    if style == "default":
        default = {
            "fields.default-aggregate-function": draw(hs.sampled_from(["max", "last_value", "last_non_null_value"]))
        }
        return table("aggregation", {"a": "INT", "b": "INT", "c": "BIGINT"}, default, INSERTS)
    columns, options = draw(functions(["a", "b", "c", "d"], style == "retracts"))
    if draw(hs.booleans()):
        columns["s"] = "INT"
        options["sequence.field"] = "s"
    if style == "remove":
        options["aggregation.remove-record-on-delete"] = "true"
        return table("aggregation", columns, options, [*INSERTS, "-D"])
    return table("aggregation", columns, options, ALL_KINDS if style == "retracts" else INSERTS)


@hs.composite
def first_row(draw):
    ignore = draw(hs.booleans())
    options = {"ignore-delete": "true"} if ignore else {}
    return table("first-row", {"v": "INT", "t": "STRING"}, options, ALL_KINDS if ignore else INSERTS)


ENGINES = {
    "deduplicate": deduplicate(),
    "partial-update": partial_update(),
    "aggregation": aggregation(),
    "first-row": first_row(),
}


def table(engine, columns, options, kinds):
    return {"engine": engine, "columns": columns, "options": {"merge-engine": engine} | options, "kinds": kinds}


def is_associative(drawn):
    """Whether merging some rows first changes nothing: functions do not depend on an order other than arrival."""
    orders = [key for key in drawn["options"] if key == "sequence.field" or key.endswith(".sequence-group")]
    return not orders or not any(key.endswith(".aggregate-function") for key in drawn["options"])


def writes(drawn, partitions=("p",)):
    """Rows of one commit: kind, partition, key, values."""
    values = [VALUES[t] for t in drawn["columns"].values()]
    row = hs.tuples(hs.sampled_from(drawn["kinds"]), hs.sampled_from(list(partitions)), KEYS, *values)
    return hs.lists(row, min_size=1, max_size=8)


@hs.composite
def steps(draw, drawn, count=(2, 6), partitions=("p",)):
    """Commits of a few rows, with compactions in between: [("write", rows) | ("compact", full)]."""
    write = hs.tuples(hs.just("write"), writes(drawn, partitions))
    # which runs a compaction takes depends on their sizes, and results of functions in groups on what was merged before
    full = hs.booleans() if is_associative(drawn) else hs.just(True)
    step = hs.one_of(write, write, write, hs.tuples(hs.just("compact"), full))
    return [draw(write), *draw(hs.lists(step, min_size=count[0] - 1, max_size=count[1] - 1))]


def create(cat, name, drawn, partitioned=False, **options):
    keys, parts = (["p", "k"], ["p"]) if partitioned else (["k"], [])
    more = {k.replace("__", ".").replace("_", "-"): str(v) for k, v in options.items()}
    columns = {"p": "STRING", "k": "INT"} | drawn["columns"]
    return cat.create_table(
        name, columns, primary_key=keys, partition_by=parts, options={"bucket": "1"} | drawn["options"] | more
    )


def ours(t, step):
    """The step by us."""
    if step[0] == "compact":
        t.compact(full=step[1])
        return
    data = [pa.array([value(v, f.type) for v in c], f.type) for c, f in zip(zip(*[r[1:] for r in step[1]]), t.schema)]
    t.append(pa.table(data, schema=t.schema), row_kind=[row[0] for row in step[1]])


def javas(oracle, location, step):
    """The step by Java."""
    if step[0] == "compact":
        oracle.call("compact", location, *(["--full"] if step[1] else []))
        return
    oracle.call("apply", location, json.dumps({"op": "write", "rows": [list(row) for row in step[1]]}))


def value(v, t):
    import decimal

    if v is None:
        return None
    return decimal.Decimal(v) if pa.types.is_decimal(t) else [tuple(p) for p in v] if pa.types.is_map(t) else v


def same(java_rows, arrow):
    """None when equal; else the first difference in words."""
    return rows.difference(java_rows, arrow)
