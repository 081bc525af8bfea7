"""Statements on rows that have values which their columns would not take: other programs, and older types, left them.

Java writes texts of any length into a VARCHAR(3), and sums with a digit more than their DECIMAL.
"""

from decimal import Decimal

import pytest
import siltstone as st
from forging import edit
from siltstone import errors as e

LONG = "abcdef"


def shortened(t, types):
    """The table with other types in its schema, as if another program had written its rows without looking at lengths."""

    def change(schema):
        for field in schema["fields"]:
            kind = field["type"]
            if isinstance(kind, dict) and "fields" in kind:
                change(kind)
            elif isinstance(kind, dict):
                kind["element"] = types.get(field["name"], kind["element"])
            else:
                field["type"] = types.get(field["name"], kind)

    edit(f"{t.location}/schema/schema-0", change)
    return st.open_table(t.location)


def rows(t):
    return sorted(t.scan().to_arrow().to_pylist(), key=lambda row: row["id"])


KINDS = {
    "append": {"bucket": -1},
    "append, vectors": {"bucket": -1, "deletion_vectors__enabled": "true"},
    "append, fixed buckets": {"bucket": 2, "bucket_key": "id"},
    "key": {"bucket": 1},
    "key, vectors": {"bucket": 1, "deletion_vectors__enabled": "true"},
    "key, lookup": {"bucket": 1, "changelog_producer": "lookup"},
    "key, input": {"bucket": 1, "changelog_producer": "input"},
    "partial-update": {
        "bucket": 1,
        "merge_engine": "partial-update",
        "fields.g.sequence-group": "s,b,n",
        "partial-update.remove-record-on-sequence-group": "g",
    },
}


def written(make, kind):
    key = ["id"] if kind.startswith(("key", "partial")) else []
    columns = {"id": "INT", "s": "STRING", "b": "BYTES", "n": "ROW<x STRING, l ARRAY<STRING>>", "g": "INT", "v": "INT"}
    t = make(columns, key, **KINDS[kind])
    row = {"s": LONG, "b": LONG.encode(), "n": {"x": LONG, "l": [LONG, None]}, "g": 1, "v": 1}
    t.append([{"id": n, **row} for n in range(1, 5)])
    return shortened(t, {"s": "VARCHAR(3)", "b": "VARBINARY(3)", "x": "CHAR(2)", "l": "VARCHAR(1)"}), row


@pytest.mark.parametrize("kind", KINDS)
def test_rows_with_texts_that_are_too_long_are_updated_and_deleted(make, kind):
    """DELETE, and UPDATE of another column, ended with LengthExceeded: the rows could not be had out of the table."""
    t, row = written(make, kind)
    old = [{"id": n, **row} for n in range(1, 5)]
    assert rows(t) == old
    assert t.update({"v": "v + 1"}, "id = 1").affected_rows == 1
    assert t.delete("id = 2").affected_rows == 1
    assert rows(t) == [old[0] | {"v": 2}, old[2], old[3]]
    assert t.delete(f"s = '{LONG}' AND v = 2").affected_rows == 1
    if kind.startswith("key"):
        assert t.delete(keys=[{"id": 3}]).affected_rows == 1
        assert rows(t) == [old[3]]
    t.compact(full=True)
    assert rows(t)[-1] == old[3]
    assert t.maintenance.fsck(deep=True).ok


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", ["'abcd'", "s", "s || ''", "coalesce(NULL, s)", "upper(s)"])
def test_what_a_statement_sets_is_as_long_as_its_column(make, kind, value):
    t, row = written(make, kind)
    with pytest.raises(e.LengthExceeded, match="column: s") as raised:
        t.update({"s": value, "v": "2"}, "id = 1")
    assert raised.value.table == t.name
    assert rows(t)[0] == {"id": 1, **row}
    t.update({"s": "'abc'"}, "id = 1")
    assert rows(t)[0] == {"id": 1, **row, "s": "abc"}


def test_the_row_of_a_value_that_does_not_fit_counts_over_the_rows_of_the_statement(make):
    t = make({"id": "INT", "w": "STRING", "s": "VARCHAR(3)"}, ["id"], bucket=1)
    t.append([{"id": n, "w": "abcd" if n == 4 else "abc"} for n in range(6)])
    with pytest.raises(e.LengthExceeded, match="the value abcd of row 3 does not fit column 's'"):
        t.update({"s": "w"}, "id > 0")


@pytest.mark.parametrize("options", [{"changelog_producer": "input"}, {"sequence__field": "q"}, {}], ids=str)
def test_rows_with_keys_that_are_too_long_are_deleted(make, options):
    """A key that is looked for was compared with checked ones: any long key in the table ended the statement."""
    t = make({"k": "STRING", "q": "STRING", "id": "INT"}, ["k"], bucket=1, **options)
    t.append([{"k": LONG, "q": LONG, "id": 1}, {"k": "abc", "q": "x", "id": 2}, {"k": LONG * 2, "q": LONG, "id": 3}])
    t = shortened(t, {"k": "VARCHAR(3) NOT NULL", "q": "VARCHAR(3)"})
    assert t.delete(keys=[{"k": "abc"}]).affected_rows == 1
    t.update({"id": "id + 10"}, "id = 1")
    assert t.delete(f"k = '{LONG * 2}'").affected_rows == 1
    assert rows(t) == [{"k": LONG, "q": LONG, "id": 11}]


def test_bytes_and_nested_values_that_became_text_are_kept_by_statements(make):
    """Java cuts neither when it casts them, and they are longer than their new column."""
    t = make({"id": "INT", "b": "BYTES", "n": "ARRAY<INT>", "v": "INT"}, ["id"], bucket=1)
    t.append([{"id": n, "b": b"abcdef", "n": [1, 2, 3], "v": n} for n in (1, 2)])
    t.alter().set_type("b", "VARCHAR(3)").set_type("n", "VARCHAR(2)").commit()
    t = st.open_table(t.location)
    t.delete("id = 2")
    t.update({"v": "7"}, "id = 1")
    assert rows(t) == [{"id": 1, "b": "abcdef", "n": "[1, 2, 3]", "v": 7}]


def test_a_row_whose_sum_has_a_digit_more_than_its_column_is_deleted(make):
    options = {"fields.d.aggregate-function": "sum", "aggregation.remove-record-on-delete": "true"}
    t = make({"id": "INT", "d": "DECIMAL(4, 2)"}, ["id"], bucket=1, merge_engine="aggregation", **options)
    t.append([{"id": 1, "d": Decimal("99.99")}, {"id": 2, "d": Decimal(1)}])
    t.append([{"id": 1, "d": Decimal("99.99")}])
    assert rows(t)[0]["d"] == Decimal("199.98")
    assert t.delete("id = 1").affected_rows == 1
    assert rows(t) == [{"id": 2, "d": Decimal("1.00")}]
