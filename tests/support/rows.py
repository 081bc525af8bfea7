"""Rows in one comparable form, whatever side they come from.

The expected files hold JSON as tests/oracle writes it: DECIMAL as text, bytes as hex, times and instants as ISO text,
maps as lists of pairs. Values that we read are brought to the same form from Arrow.
"""

import datetime as dt
import decimal
import json
import math
import re
import struct

import pyarrow as pa

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def ours(table):
    """Our rows, sorted."""
    return sorted(in_order(table))


def in_order(table):
    """Our rows as they come."""
    columns = [[_value(s, f.type) for s in column] for column, f in zip(table.columns, table.schema)]
    names = ["_kind" if n == "rowkind" else n for n in table.column_names]
    return [_text(dict(zip(names, row))) for row in zip(*columns)] if table.num_rows else []


def theirs(rows, schema):
    """Expected rows, sorted."""
    return sorted(theirs_in_order(rows, schema))


def theirs_in_order(rows, schema):
    """Expected rows as they come."""
    types = {f.name: f.type for f in schema}
    return [_text({k: _expected(v, types.get(k)) for k, v in row.items()}) for row in rows]


def difference(expected, table):
    """None when equal, else the first difference in words."""
    left, right = theirs(expected, table.schema), ours(table)
    if left == right:
        return None
    missing = next((x for x in left if x not in right), None)
    extra = next((x for x in right if x not in left), None)
    return f"{len(left)} rows expected, {len(right)} read; missing {missing}; extra {extra}"


def same(oracle, table):
    """Our rows of the table, which Java reads, too; both find nothing wrong with it."""
    found = table.scan().to_arrow()
    assert difference(oracle.call("read", table.location), found) is None
    assert oracle.call("fsck", table.location, check=False)[0]["problems"] == []
    assert table.maintenance.fsck(deep=True).problems == []
    return found


def _text(row):
    return json.dumps(row, sort_keys=True, ensure_ascii=False, default=str)


def _value(scalar, t):
    if not scalar.is_valid:
        return None
    if pa.types.is_timestamp(t):
        return _instant(scalar.value, t.unit)
    if pa.types.is_map(t):
        pairs = zip(scalar.values.field(0), scalar.values.field(1)) if len(scalar.values) else []
        return _pairs([[_value(k, t.key_type), _value(v, t.item_type)] for k, v in pairs])
    if pa.types.is_list(t):
        return [_value(v, t.value_type) for v in scalar.values]
    if pa.types.is_struct(t):
        return {f.name: _value(scalar[f.name], f.type) for f in t}
    value = scalar.as_py()
    if pa.types.is_decimal(t):
        return _decimal(value)
    if pa.types.is_binary(t):
        return value.hex()
    if pa.types.is_time(t):
        return _time(value.isoformat())
    if pa.types.is_date(t):
        return value.isoformat()
    return _float(value) if pa.types.is_floating(t) else value


def _expected(value, t):
    if value is None or t is None:
        return value
    if pa.types.is_map(t):
        return _pairs([[_expected(k, t.key_type), _expected(v, t.item_type)] for k, v in value])
    if pa.types.is_list(t):
        return [_expected(v, t.value_type) for v in value]
    if pa.types.is_struct(t):
        return {f.name: _expected(value[f.name], f.type) for f in t}
    if pa.types.is_decimal(t):
        return _decimal(decimal.Decimal(value))
    if pa.types.is_float32(t) and not isinstance(value, str):
        return _float(struct.unpack("f", struct.pack("f", value))[0])
    if pa.types.is_floating(t):
        return _float(float(value))
    if pa.types.is_timestamp(t):
        return _time(value.rstrip("Z"))
    return _time(value) if pa.types.is_time(t) else value


def _instant(value, unit):
    seconds, fraction = divmod(value, PER_SECOND[unit])
    base = (dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)).isoformat()
    digits = len(str(PER_SECOND[unit])) - 1
    return _time(f"{base}.{fraction:0{digits}d}" if digits else base)


def _time(text):
    return re.sub(r"\.?0*$", "", text) if "." in text else text


def _decimal(value):
    return format(value.normalize(decimal.Context(prec=80)), "f") if value else "0"


def _float(value):
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return f"{value:.12g}" if value else "0"


def _pairs(pairs):
    return sorted(pairs, key=lambda p: json.dumps(p[0], sort_keys=True, default=str))
