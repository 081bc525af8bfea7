"""Java's JDBC catalog and ours on one database at the same time."""

import json
import tempfile
import threading

import postgres
import pytest
import siltstone as st
from java_oracle import open_oracle

pytest.importorskip("sqlalchemy")
pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]

SPEC = json.dumps(
    {
        "fields": [{"name": "id", "type": "BIGINT NOT NULL"}, {"name": "v", "type": "STRING"}],
        "primary_keys": ["id"],
        "options": {"bucket": "1"},
    }
)


class Java:
    """Java's catalog with the same options."""

    def __init__(self, oracle, options):
        self._oracle, self._options = oracle, json.dumps(options)

    def __call__(self, *arguments):
        return self._oracle.call("catalog", self._options, *arguments)

    def write(self, name, *rows):
        self("apply", name, json.dumps({"op": "write", "rows": [["+I", *row] for row in rows]}))


@pytest.fixture(params=["sqlite", "postgresql"])
def both(request, oracle, tmp_path):
    """Our catalog, and Java's; with locks where Java has them."""
    if request.param == "sqlite":
        yield from pair(oracle, tmp_path, f"jdbc:sqlite:{tmp_path}/names.db", "false")
        return
    pytest.importorskip("psycopg")
    postgres.require()
    # others must be able to go through the folders above: not below pytest's
    with tempfile.TemporaryDirectory() as folder, postgres.server(folder) as port:
        uri = f"jdbc:postgresql://127.0.0.1:{port}/postgres?user=siltstone"
        yield from pair(oracle, tmp_path, uri, "true")


def pair(oracle, tmp_path, uri, locks):
    options = {"metastore": "jdbc", "uri": uri, "lock.enabled": locks}
    lake = tmp_path / "lake"
    yield st.connect(lake, options=options), Java(oracle, {**options, "warehouse": str(lake)})


def test_each_sees_what_the_other_makes_renames_and_drops(both):
    ours, java = both
    java("create-database", "theirs")
    ours.create_database("ours", properties={"owner": "me"})
    assert ours.databases() == java("databases") == ["ours", "theirs"]
    assert java("database", "ours")[0]["owner"] == "me"
    assert ours.database("theirs").keys() == {"location"}
    java("create-table", "theirs.t", SPEC)
    ours.create_table("ours.t", {"id": "BIGINT", "v": "STRING"}, primary_key=["id"], options={"bucket": "1"})
    java("rename-table", "ours.t", "ours.t2")
    ours.rename_table("theirs.t", "ours.t3")
    assert ours.tables("ours") == java("tables", "ours") == ["t2", "t3"]
    for name in ("ours.t2", "ours.t3"):
        java.write(name, [1, "java"])
        ours.table(name).upsert([{"id": 2, "v": "ours"}])
        assert ours.table(name).scan().to_arrow().to_pylist() == java("read", name)
    ours.drop_table("ours.t3")
    java("drop-table", "ours.t2")
    assert ours.tables("ours") == java("tables", "ours") == []
    java("drop-database", "ours")
    ours.drop_database("theirs")
    assert ours.databases() == java("databases") == []


def test_what_one_has_the_other_does_not_make(both):
    ours, java = both
    java("create-database", "shop")
    java("create-table", "shop.t", SPEC)
    with pytest.raises(st.errors.DatabaseExists):
        ours.create_database("shop")
    with pytest.raises(st.errors.TableExists):
        ours.create_table("shop.t", {"id": "BIGINT"})
    ours.create_table("shop.u", {"id": "BIGINT"})
    for made in (["create-database", "shop"], ["create-table", "shop.u", SPEC]):
        with pytest.raises(RuntimeError, match="AlreadyExist"):
            java(*made)


# without the lock Java's rename may replace a snapshot of ours (SECURITY.md)
@pytest.mark.parametrize("both", ["postgresql"], indirect=True)
def test_both_commit_at_once_and_no_row_is_lost(both):
    ours, java = both
    ours.create_database("shop")
    t = ours.create_table(
        "shop.t", {"id": "BIGINT", "v": "STRING"}, primary_key=["id"], options={"bucket": "1", "write-only": "true"}
    )
    failures = []

    def write_ours():
        try:
            for k in range(15):
                ours.table("shop.t").append([{"id": k, "v": "ours"}])
        except Exception as e:
            failures.append(e)

    writing = threading.Thread(target=write_ours)
    writing.start()
    for k in range(100, 115):
        java.write("shop.t", [k, "java"])
    writing.join()
    assert not failures
    rows = t.scan().to_arrow().to_pylist()
    assert [row["id"] for row in rows] == [*range(15), *range(100, 115)]
    assert rows == java("read", "shop.t")
    assert t.maintenance.fsck(deep=True).problems == []


@pytest.mark.parametrize("both", ["postgresql"], indirect=True)
def test_java_in_another_time_zone_takes_turns(both):
    ours, java = both
    ours.create_database("shop")
    t = ours.create_table("shop.t", {"id": "BIGINT", "v": "STRING"}, primary_key=["id"], options={"bucket": "1"})
    java.write("shop.t", [1, "java"])
    t.upsert([{"id": 2, "v": "ours"}])
    with open_oracle(java_options=("-Xmx1g", "-Doracle.zone=America/New_York")) as elsewhere:
        there = Java(elsewhere, json.loads(java._options))
        there.write("shop.t", [3, "elsewhere"])
    t.upsert([{"id": 4, "v": "ours"}])
    assert t.scan().count() == 4
