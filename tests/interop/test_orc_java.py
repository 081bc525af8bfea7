"""ORC files of Java in other time zones than UTC: wall clocks and moments are those that Java has written."""

import json

import pytest
import rows
import siltstone as st
from java_oracle import open_oracle

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]

#: With and without summer time, behind and before UTC, with a fraction of an hour.
ZONES = ["UTC", "Asia/Tokyo", "America/New_York", "Asia/Kolkata"]
COLUMNS = [
    {"name": "k", "type": "INT NOT NULL"},
    {"name": "ts", "type": "TIMESTAMP(6)"},
    {"name": "ltz3", "type": "TIMESTAMP(3) WITH LOCAL TIME ZONE"},
    {"name": "ltz9", "type": "TIMESTAMP(9) WITH LOCAL TIME ZONE"},
    {"name": "c", "type": "CHAR(5)"},
    {
        "name": "r",
        "type": {
            "type": "ROW",
            "fields": [
                {"id": 6, "name": "t", "type": "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
                {"id": 7, "name": "c", "type": "CHAR(3)"},
            ],
        },
    },
]
#: Winter, summer, before 1970, and around the hours that New York has twice and not at all.
MOMENTS = ["2024-01-15T12:34:56", "2024-07-15T23:59:59", "1955-03-04T05:06:07", "2024-11-03T05:30:00", "2024-03-10T06:59:59",
           "2024-03-10T07:00:00"]  # fmt: skip


def written():
    for k, moment in enumerate(MOMENTS):
        yield ["+I", k, f"{moment}.123456", f"{moment}.123Z", f"{moment}.123456789Z", "ab", [f"{moment}.123456Z", "x"]]


@pytest.mark.parametrize("legacy", ["true", "false"])
@pytest.mark.parametrize("zone", ZONES)
def test_moments_and_wall_clocks_of_writers_in_other_zones(tmp_path, zone, legacy):
    spec = tmp_path / "spec.json"
    spec.write_text(
        json.dumps(
            {
                "name": "t",
                "fields": COLUMNS,
                "partition_keys": [],
                "primary_keys": ["k"],
                "options": {"bucket": "1", "file.format": "orc", "orc.timestamp-ltz.legacy.type": legacy},
                "steps": [{"op": "write", "rows": list(written())}],
            }
        )
    )
    with open_oracle(java_options=("-Xmx1g", f"-Doracle.zone={zone}")) as java:
        java.call("gen", spec, tmp_path / "out")
        location = next(path.parent.parent for path in (tmp_path / "out").rglob("schema/schema-0"))
        javas = java.call("read", location)
    assert [row["ltz9"] for row in javas] == [f"{moment}.123456789Z" for moment in MOMENTS]
    assert rows.difference(javas, st.open_table(location).scan().to_arrow()) is None
