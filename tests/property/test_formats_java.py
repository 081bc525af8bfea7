"""Random schemas, rows and alterations, in each format of data files: Java reads what we write, we what Java goes on to write."""

import datetime as dt
import decimal
import itertools
import json

import pyarrow as pa
import pytest
import rows
from hypothesis import given, settings
from hypothesis import strategies as some

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(7200)]

#: few in each run, many in long searches
EXAMPLES = max(5, settings.default.max_examples // 4)
NUMBER = itertools.count()
#: what a column may become, and keeps its values
WIDER = {
    "TINYINT": ["SMALLINT", "INT", "BIGINT"],
    "SMALLINT": ["INT", "BIGINT"],
    "INT": ["BIGINT"],
    "FLOAT": ["DOUBLE"],
    "DECIMAL(9, 2)": ["DECIMAL(20, 2)"],
    "TIMESTAMP(3)": ["TIMESTAMP(6)"],
}


def integers(bits):
    return some.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def decimals(digits, scale):
    return some.integers(-(10**digits) + 1, 10**digits - 1).map(lambda n: decimal.Decimal(n).scaleb(-scale))


def moments(step):
    """From 1970 on: what ORC files do to older ones has tests of its own."""
    start = dt.datetime(1970, 1, 1)
    return some.integers(0, 4 * 10**9 * 10**6 // step).map(lambda n: start + dt.timedelta(microseconds=n * step))


PLAIN = {
    "BOOLEAN": some.booleans(),
    "TINYINT": integers(8),
    "SMALLINT": integers(16),
    "INT": integers(32),
    "BIGINT": integers(64),
    "FLOAT": some.floats(width=32, allow_nan=False),
    "DOUBLE": some.floats(allow_nan=False),
    "DECIMAL(9, 2)": decimals(9, 2),
    "DECIMAL(20, 2)": decimals(20, 2),
    "DECIMAL(38, 10)": decimals(38, 10),
    "DATE": some.dates(dt.date(1970, 1, 1), dt.date(2200, 1, 1)),
    "TIMESTAMP(3)": moments(1000),
    "TIMESTAMP(6)": moments(1),
    "STRING": some.text(some.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
    "BYTES": some.binary(max_size=9),
}


class Kind:
    """A type and its values."""

    def __init__(self, text, values):
        self.text, self.values = text, some.none() | values

    def __repr__(self):
        return self.text


def pairs(key, value):
    return some.dictionaries(PLAIN[key], value.values, max_size=3).map(lambda found: list(found.items()))


def row_of(fields):
    values = some.fixed_dictionaries({name: kind.values for name, kind in fields.items()})
    return Kind(f"ROW<{', '.join(f'{name} {kind}' for name, kind in fields.items())}>", values)


def nested(inner):
    names = some.lists(some.sampled_from("abcdef"), min_size=1, max_size=3, unique=True)
    fields = names.flatmap(lambda names: some.fixed_dictionaries(dict.fromkeys(names, inner)))
    return (
        inner.map(lambda kind: Kind(f"ARRAY<{kind}>", some.lists(kind.values, max_size=3)))
        | some.tuples(some.sampled_from(["STRING", "INT"]), inner).map(
            lambda both: Kind(f"MAP<{both[0]}, {both[1]}>", pairs(*both))
        )
        | fields.map(row_of)
    )


PLAIN_KINDS = some.sampled_from(sorted(PLAIN)).map(lambda text: Kind(text, PLAIN[text]))
KINDS = PLAIN_KINDS | some.recursive(PLAIN_KINDS, nested, max_leaves=5)


class Turns:
    """A table that both write to in turns, and that is altered in between."""

    def __init__(self, cat, oracle, draw, file_format):
        self.draw, self.oracle, self.columns, self.names = draw, oracle, {}, itertools.count()
        for _ in range(draw(some.integers(1, 5))):
            self.columns[f"c{next(self.names)}"] = draw(KINDS)
        self.name = f"db.t{next(NUMBER)}"
        self.cat = cat
        schema = {"k": "INT", **{name: kind.text for name, kind in self.columns.items()}}
        options = {"file.format": file_format}
        if draw(some.booleans()):
            cat.create_table(self.name, schema, options=options)
        else:
            cat.create_table(
                self.name, {**schema, "k": "INT NOT NULL"}, primary_key=["k"], options={**options, "bucket": "1"}
            )

    def data(self):
        some_rows = some.fixed_dictionaries({name: kind.values for name, kind in self.columns.items()})
        found = self.draw(some.lists(some_rows, min_size=1, max_size=6))
        keys = self.draw(some.lists(integers(4), min_size=len(found), max_size=len(found), unique=True))
        return [{"k": key, **row} for key, row in zip(keys, found)]

    def ours(self):
        self.cat.table(self.name).append(self.data())

    def theirs(self):
        """The values in the JSON of the oracle are those that comparisons have."""
        t = self.cat.table(self.name)
        found = pa.Table.from_pylist(self.data(), t.schema)
        values = [["+I", *json.loads(text, parse_float=decimal.Decimal).values()] for text in self.as_json(found)]
        self.oracle.call("apply", t.location, json.dumps({"op": "write", "rows": values}, default=float))

    def as_json(self, table):
        columns = [[rows._value(s, f.type) for s in column] for column, f in zip(table.columns, table.schema)]
        return [json.dumps(dict(zip(table.column_names, row)), default=str) for row in zip(*columns)]

    def altered(self):
        alter = self.cat.table(self.name).alter()
        name = self.draw(some.sampled_from(sorted(self.columns)))
        wider = WIDER.get(self.columns[name].text, [])
        which = self.draw(some.sampled_from(["add", "drop", "rename", *["widen"] * len(wider)]))
        if which == "add" or (which == "drop" and len(self.columns) == 1):
            name, kind = f"c{next(self.names)}", self.draw(KINDS)
            self.columns[name] = kind
            alter.add_column(name, kind.text).commit()
        elif which == "drop":
            del self.columns[name]
            alter.drop_column(name).commit()
        elif which == "rename":
            new = f"c{next(self.names)}"
            self.columns = {new if old == name else old: kind for old, kind in self.columns.items()}
            alter.rename_column(name, new).commit()
        else:
            text = self.draw(some.sampled_from(wider))
            self.columns[name] = Kind(text, PLAIN[text])
            alter.set_type(name, text).commit()


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_both_read_what_either_wrote_whatever_the_columns_are(cat, oracle, file_format):
    @settings(max_examples=EXAMPLES)
    @given(some.data())
    def run(data):
        turns = Turns(cat, oracle, data.draw, file_format)
        for step in data.draw(some.lists(some.sampled_from(["ours", "theirs", "altered"]), min_size=2, max_size=5)):
            getattr(turns, step)()
        turns.ours()
        rows.same(oracle, cat.table(turns.name))
        cat.table(turns.name).compact(full=True)
        rows.same(oracle, cat.table(turns.name))

    run()
