"""A catalog of siltstone.toml behind the names of a Spark session."""

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone import spark as ss

pytest.importorskip("sqlalchemy")
pytestmark = pytest.mark.spark


@pytest.fixture
def named(tmp_path, monkeypatch):
    """The catalog, with locks: its names are in a database, and commits ask for the lock there."""
    text = f"""
    [catalogs.prod]
    warehouse = "{tmp_path / "lake"}"
    metastore = "jdbc"
    uri = "jdbc:sqlite:{tmp_path / "names.db"}"
    lock.enabled = true
    lock-acquire-timeout = "300 ms"
    lock-check-max-sleep = "20 ms"
    """
    file = tmp_path / "siltstone.toml"
    file.write_text(text)
    monkeypatch.setenv("SILTSTONE_CONFIG", str(file))
    catalog = st.connect(name="prod")
    catalog.create_database("shop")
    return catalog


@pytest.fixture
def session(spark, named):
    ss.enable(spark, catalog="prod")
    yield spark
    spark.conf.unset("spark.siltstone.warehouse")


def test_names_are_those_of_the_catalog_and_commits_take_its_lock(session, named, tmp_path):
    import sqlite3

    ss.sql(session, "CREATE TABLE shop.t (id BIGINT, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    assert named.tables("shop") == ["t"]
    frame = session.createDataFrame([(1, "a"), (2, "b")], "id long, v string")
    ss.write(frame, "shop.t")
    # Spark commits in a process of its own here, which connects to the catalog by its name
    frame.limit(1).write.format("siltstone").mode("append").save("shop.t")
    assert [tuple(row) for row in ss.sql(session, "SELECT * FROM shop.t ORDER BY id").collect()] == [(1, "a"), (2, "b")]
    with sqlite3.connect(tmp_path / "names.db") as names:
        names.execute("INSERT INTO paimon_distributed_locks (lock_id, expire_time_seconds) VALUES ('jdbc.shop.t', 60)")
    names.close()
    with pytest.raises(e.CommitRetriesExhausted):
        ss.write(frame, "shop.t")
    with pytest.raises(Exception, match="CommitRetriesExhausted"):
        frame.write.format("siltstone").mode("append").save("shop.t")
    assert len(named.table("shop.t").history()) == 2


def test_a_name_that_is_wrong_is_told_at_once(session):
    with pytest.raises(e.InvalidArgument, match="prdo"):
        ss.enable(session, catalog="prdo")
    with pytest.raises(e.InvalidArgument, match="one of them"):
        ss.enable(session, catalog="prod", warehouse="/lake")
