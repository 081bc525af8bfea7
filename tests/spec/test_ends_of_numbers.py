"""Ids at the end of their numbers: nothing is published that no reader finds, and no column gets an id of Paimon's own columns."""

import json
import os

import pytest
import siltstone as st
from siltstone import errors as e

LAST = 2**63 - 2
"""The largest id of a snapshot or schema."""

SYSTEM_IDS = 1073741823


@pytest.fixture
def t(make):
    t = make({"id": "BIGINT", "s": "STRING"}, ["id"], bucket=1, write_only="true")
    for n in range(2):
        t.upsert([{"id": n, "s": "a"}])
    return t


def moved(location, kind, number):
    """The newest file of a kind under another id."""
    directory = f"{location}/{kind}"
    newest = max(name for name in os.listdir(directory) if name.startswith(f"{kind}-"))
    with open(f"{directory}/{newest}") as file:
        content = json.load(file) | {"id": number}
    if kind == "snapshot":
        os.remove(f"{directory}/{newest}")
        with open(f"{directory}/LATEST", "w") as file:
            file.write(str(number))
    with open(f"{directory}/{kind}-{number}", "w") as file:
        json.dump(content, file)


def with_schema(location, change):
    path = f"{location}/schema/schema-0"
    with open(path) as file:
        schema = json.load(file)
    change(schema)
    with open(path, "w") as file:
        json.dump(schema, file)


def test_no_snapshot_is_published_after_the_last_id(t):
    moved(t.location, "snapshot", LAST)
    before = sorted(os.listdir(t.location + "/snapshot"))
    for operation in (lambda t: t.upsert([{"id": 9, "s": "n"}]), lambda t: t.truncate()):
        with pytest.raises(e.CorruptFile, match=str(LAST)):
            operation(st.open_table(t.location))
    assert sorted(os.listdir(t.location + "/snapshot")) == before
    assert st.open_table(t.location).scan().count() == 2


def test_the_last_snapshot_id_is_used(t):
    moved(t.location, "snapshot", LAST - 1)
    t = st.open_table(t.location)
    assert t.upsert([{"id": 9, "s": "n"}]).snapshots[0].id == LAST
    assert st.open_table(t.location).scan().count() == 3


def test_no_schema_is_published_after_the_last_id(t):
    moved(t.location, "schema", LAST)
    before = sorted(os.listdir(t.location + "/schema"))
    with pytest.raises(e.IllegalSchemaChange, match=str(LAST)):
        st.open_table(t.location).alter().add_column("q", "INT").commit()
    assert sorted(os.listdir(t.location + "/schema")) == before


@pytest.mark.parametrize("number", [SYSTEM_IDS, 2147483645, 2147483646])
def test_a_column_with_the_id_of_a_system_column_is_damage(t, number):
    def change(schema):
        schema["fields"][1]["id"] = schema["highestFieldId"] = number

    with_schema(t.location, change)
    for operation in (
        lambda t: t.scan().to_arrow(),
        lambda t: t.upsert([{"id": 1, "s": "x"}]),
        lambda t: t.compact(full=True),
    ):
        with pytest.raises(e.CorruptFile, match=str(number)):
            operation(st.open_table(t.location))


@pytest.mark.parametrize("highest", [SYSTEM_IDS - 1, 2147483644, 2147483645, 2147483647])
def test_no_new_column_gets_the_id_of_a_system_column(t, highest):
    with_schema(t.location, lambda schema: schema.update(highestFieldId=highest))
    t = st.open_table(t.location)
    with pytest.raises(e.IllegalSchemaChange, match="q"):
        t.alter().add_column("q", "TINYINT").commit()
    assert os.listdir(t.location + "/schema") == ["schema-0"]
    t.upsert([{"id": 1, "s": "x"}])
    t.compact(full=True)
    assert st.open_table(t.location).scan().to_arrow().num_rows == 2
