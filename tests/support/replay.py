"""The steps of a fixture's `spec.json`, which Java carried out when the fixture was made, carried out by siltstone.

tests/oracle/README.md lists the steps. Those that edit files by hand, and sketches as input, are for Java only.
"""

import datetime as dt
import decimal
import functools
import json
import operator
import re
import time

import pyarrow as pa
import siltstone as st

BY_HAND = {"hint", "file", "expect", "fail"}
SKETCH = re.compile(r'"(rbm32|rbm64|hll|theta):')
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def can_replay(spec):
    return not SKETCH.search(json.dumps(spec)) and not any(step["op"] in BY_HAND for step in spec["steps"])


def create(cat, name, spec):
    """The table of a specification, before its first step."""
    keys = {"primary_key": spec["primary_keys"], "partition_by": spec["partition_keys"]}
    return cat.create_table(name, spec["fields"], **keys, options=spec["options"])


def branches(spec):
    """Names of the branches that are there after the last step."""

    def named(op):
        return {step["name"] for step in spec["steps"] if step["op"] == op}

    return named("branch") - named("delete_branch")


def carry_out(location, step):
    """One step."""
    if step["op"] == "sleep":
        time.sleep(step["ms"] / 1000)
    elif step["op"] == "optional":
        try:
            carry_out(location, step["step"])
        except Exception:  # Java may refuse this one, too
            return
    else:
        dynamic = step.get("dynamic") or None
        table = st.open_table(location, branch=step.get("branch", "main"), options=dynamic)
        STEPS[step["op"]](table, step)


def _write(t, step):
    data, kinds = arrow(step["rows"], t.schema)
    user = {"commit_user": step["user"]} if "user" in step else {}
    commit = {"identifier": step["commit_id"]} if "commit_id" in step else {}
    if step.get("ignore_empty") is False:
        commit["allow_empty"] = True
    with t.writer(**user) as writer:
        writer.write(data, row_kind=kinds)
        writer.commit(**commit)


def _append_delete(t, step):
    types = {f.name: f.type for f in t.schema}
    terms = [st.col(c).is_in([value(v, types[c]) for v in values]) for c, values in step["where"].items()]
    t.delete(where=functools.reduce(operator.and_, terms))


def _tag(t, step):
    retain = {"retain": step["retain"]} if "retain" in step else {}
    t.tags.create(step["name"], version=step.get("snapshot"), **retain)


def _alter(t, step):
    changes = t.alter()
    for change in step["changes"]:
        changes = CHANGES[change["kind"]](changes, change)
    changes.commit()


def _place(change):
    return {key: change[key] for key in ("after", "first") if key in change}


def _add_column(changes, change):
    comment = {"comment": change["comment"]} if "comment" in change else {}
    return changes.add_column(change["name"], change["type"], **comment, **_place(change))


CHANGES = {
    "add_column": _add_column,
    "rename_column": lambda b, c: b.rename_column(c["name"], c["to"]),
    "drop_column": lambda b, c: b.drop_column(c["name"]),
    "update_type": lambda b, c: b.set_type(c["name"], c["type"]),
    "nullability": lambda b, c: b.set_nullable(c["name"], c["nullable"]),
    "column_comment": lambda b, c: b.set_comment(c["name"], c["comment"]),
    "default": lambda b, c: b.set_default(c["name"], c["value"]),
    "move": lambda b, c: b.move_column(c["name"], **_place(c)),
    "set_option": lambda b, c: b.set_option(c["key"], c["value"]),
    "remove_option": lambda b, c: b.remove_option(c["key"]),
    "comment": lambda b, c: b.set_table_comment(c["comment"]),
}

STEPS = {
    "write": _write,
    "overwrite": lambda t, s: t.overwrite(arrow(s["rows"], t.schema)[0], partition=s.get("partition") or None),
    "compact": lambda t, s: t.compact(full=s.get("full", False)),
    "append_delete": _append_delete,
    "tag": _tag,
    "delete_tag": lambda t, s: t.tags.delete(s["name"]),
    "rename_tag": lambda t, s: t.tags.rename(s["from"], s["to"]),
    "branch": lambda t, s: t.branches.create(s["name"], tag=s.get("tag")),
    "delete_branch": lambda t, s: t.branches.delete(s["name"]),
    "fast_forward": lambda t, s: t.branches.fast_forward(s["name"]),
    "rollback": lambda t, s: t.rollback(tag=s.get("tag"), version=s.get("snapshot")),
    "expire": lambda t, s: t.expire_snapshots(retain_max=s["retain_max"], retain_min=s["retain_min"]),
    "alter": _alter,
    "truncate": lambda t, s: t.truncate(partitions=s.get("partitions")),
    "compact_manifests": lambda t, _: t.maintenance.compact_manifests(),
    "analyze": lambda t, _: t.maintenance.analyze(),
}


def arrow(rows, schema):
    """Rows of a step as an Arrow table and their kinds; a row is an object, or a list with its kind in front."""
    kinds, columns = [], [[] for _ in schema]
    for row in rows:
        if isinstance(row, dict):
            kind, values = row.get("_kind", "+I"), [row.get(f.name) for f in schema]
        else:
            kind, values = row[0], [*row[1:], *[None] * (len(schema) - len(row) + 1)]
        kinds.append(kind)
        for column, v, field in zip(columns, values, schema):
            column.append(value(v, field.type))
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema)], schema=schema), kinds


def value(v, t):
    """A value of JSON as pyarrow takes it for its type."""
    if v is None:
        return None
    if pa.types.is_map(t):
        return [(value(key, t.key_type), value(item, t.item_type)) for key, item in v]
    if pa.types.is_list(t):
        return [value(item, t.value_type) for item in v]
    if pa.types.is_struct(t):
        values = v if isinstance(v, list) else [v.get(f.name) for f in t]
        return {f.name: value(item, f.type) for f, item in zip(t, values)}
    if pa.types.is_decimal(t):
        return decimal.Decimal(str(v)).quantize(decimal.Decimal(1).scaleb(-t.scale), context=decimal.Context(prec=60))
    if pa.types.is_timestamp(t):
        return _instant(v, t.unit)
    plain = [
        (pa.types.is_date, dt.date.fromisoformat),
        (pa.types.is_time, dt.time.fromisoformat),
        (pa.types.is_binary, bytes.fromhex),
        (pa.types.is_floating, float),
        (pa.types.is_integer, int),
    ]
    return next((parse(v) for is_type, parse in plain if is_type(t)), v)


def _instant(text, unit):
    base, _, fraction = text.rstrip("Z").partition(".")
    passed = dt.datetime.fromisoformat(base) - dt.datetime(1970, 1, 1)
    seconds, nanos = passed.days * 86400 + passed.seconds, int((fraction + "0" * 9)[:9])
    return seconds * PER_SECOND[unit] + nanos * PER_SECOND[unit] // 10**9
