"""The JDBC catalog: names and locks in a SQL database, files in the warehouse."""

import concurrent.futures
import pathlib
import pickle
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time

import pytest
import siltstone as st
from siltstone import errors as e

pytest.importorskip("sqlalchemy")

COLUMNS = {"id": "BIGINT", "v": "STRING"}


def connect(folder, **options):
    uri = f"jdbc:sqlite:{folder / 'names.db'}"
    return st.connect(
        folder / "lake", metastore="jdbc", uri=uri, options={k.replace("__", "."): v for k, v in options.items()}
    )


@pytest.fixture(params=["false", "true"], ids=["without locks", "with locks"])
def names(tmp_path, request):
    catalog = connect(tmp_path, lock__enabled=request.param)
    catalog.create_database("shop", properties={"owner": "me"})
    return catalog


def test_databases_have_properties_and_tables_have_names_in_the_database(names, tmp_path):
    assert names.databases() == ["shop"]
    assert names.database("shop") == {"owner": "me", "location": f"{tmp_path}/lake/shop.db"}
    t = names.create_table("shop.orders", COLUMNS, primary_key=["id"])
    t.upsert([{"id": 1, "v": "a"}])
    assert names.tables("shop") == ["orders"]
    assert names.table("shop.orders").scan().to_arrow().to_pylist() == [{"id": 1, "v": "a"}]
    assert names.table("shop.orders$snapshots").scan().count() == 1
    [row] = names.table("sys.tables").scan().to_arrow().to_pylist()
    assert (row["database_name"], row["table_name"], row["record_count"]) == ("shop", "orders", 1)
    assert connect(tmp_path).tables("shop") == ["orders"]
    assert connect(tmp_path, **{"catalog-key": "other"}).databases() == []


def test_properties_of_a_database_change(names, tmp_path):
    place = {"location": f"{tmp_path}/lake/shop.db"}
    assert names.database("shop") == {"owner": "me"} | place
    names.alter_database("shop", properties={"owner": "you", "since": "2026", "for": "all"})
    names.alter_database("shop", properties={"since": "2025"}, remove=["for", "none"])
    assert names.database("shop") == {"owner": "you", "since": "2025"} | place
    names.alter_database("shop", remove=["owner", "since"])
    assert (names.database("shop"), names.databases()) == (place, ["shop"])
    with pytest.raises(e.DatabaseNotFound):
        names.alter_database("none", properties={"a": "b"})
    plain = st.connect(tmp_path / "plain")
    plain.create_database("shop")
    with pytest.raises(e.UnsupportedFeature, match="keeps no properties"):
        plain.alter_database("shop", properties={"a": "b"})


def test_a_directory_without_a_name_is_no_table(names, tmp_path):
    st.connect(tmp_path / "lake").create_database("shop")
    st.connect(tmp_path / "lake").create_table("shop.ghost", COLUMNS)
    assert names.tables("shop") == []
    with pytest.raises(e.TableNotFound):
        names.table("shop.ghost")
    with pytest.raises(e.TableExists, match="its directory holds one"):
        names.create_table("shop.ghost", COLUMNS)


def test_a_name_without_files_can_be_dropped(names, tmp_path):
    t = names.create_table("shop.orders", COLUMNS)
    st.connect(tmp_path / "lake").drop_table("shop.orders")
    with pytest.raises(e.TableNotFound, match="its directory holds none"):
        names.table("shop.orders")
    names.drop_table("shop.orders")
    assert names.tables("shop") == []
    with pytest.raises(e.TableNotFound):
        t.append([{"id": 1}])


def test_tables_are_renamed_with_their_files(names, tmp_path):
    t = names.create_table("shop.orders", COLUMNS)
    t.append([{"id": 1, "v": "a"}])
    names.create_database("other")
    names.rename_table("shop.orders", "other.sold")
    assert names.tables("shop") == []
    assert names.table("other.sold").scan().count() == 1
    assert not pathlib.Path(t.location).exists()
    names.create_table("shop.orders", COLUMNS)
    with pytest.raises(e.TableExists):
        names.rename_table("shop.orders", "other.sold")
    with pytest.raises(e.DatabaseNotFound):
        names.rename_table("shop.orders", "nowhere.sold")


def test_what_exists_and_what_does_not_says_so(names):
    names.create_table("shop.orders", COLUMNS)
    assert names.create_table("shop.orders", COLUMNS, if_not_exists=True).name == "shop.orders"
    for kind, call in [
        (e.DatabaseExists, lambda: names.create_database("shop")),
        (e.TableExists, lambda: names.create_table("shop.orders", COLUMNS)),
        (e.DatabaseNotFound, lambda: names.tables("shp")),
        (e.TableNotFound, lambda: names.table("shop.order")),
        (e.InvalidArgument, lambda: names.drop_database("shop")),
        (e.DatabaseNotFound, lambda: names.database("shp")),
    ]:
        with pytest.raises(kind):
            call()
    names.create_database("shop", if_not_exists=True)
    names.drop_database("shop", cascade=True)
    assert names.databases() == []
    names.drop_database("shop", if_exists=True)


def rows_of(tmp_path, table):
    with sqlite3.connect(tmp_path / "names.db") as database:
        return database.execute(f"SELECT * FROM {table}").fetchall()


def test_options_of_tables_are_copied_and_follow_every_alteration(tmp_path):
    names = connect(tmp_path)
    names.create_database("shop")
    t = names.create_table("shop.orders", COLUMNS, primary_key=["id"], options={"bucket": "2"})
    # opened by its directory alone it is a table of the catalog, too
    st.open_table(t.location).alter().set_option("snapshot.num-retained.min", "3").commit()
    copied = {row[-2:] for row in rows_of(tmp_path, "paimon_table_properties")}
    expected = {("bucket", "2"), ("primary-key", "id"), ("bucket-key", "id"), ("snapshot.num-retained.min", "3")}
    assert copied == expected
    names.rename_table("shop.orders", "shop.sold")
    assert {row[2] for row in rows_of(tmp_path, "paimon_table_properties")} == {"sold"}
    names.drop_table("shop.sold")
    assert rows_of(tmp_path, "paimon_table_properties") == []
    other = connect(tmp_path, **{"sync-all-properties": "false"})
    other.create_table("shop.plain", COLUMNS, options={"bucket": "2", "bucket-key": "id"})
    assert rows_of(tmp_path, "paimon_table_properties") == []


def test_commits_wait_for_the_lock_of_their_table(tmp_path):
    names = connect(tmp_path, lock__enabled="true")
    names.create_database("shop")
    t = names.create_table("shop.orders", COLUMNS)
    other = names.create_table("shop.other", COLUMNS)
    with sqlite3.connect(tmp_path / "names.db") as database:
        lock = ("jdbc.shop.orders", 480)
        database.execute("INSERT INTO paimon_distributed_locks (lock_id, expire_time_seconds) VALUES (?, ?)", lock)
    other.append([{"id": 1}])
    done = threading.Event()
    writing = threading.Thread(target=lambda: (t.append([{"id": 1}]), done.set()))
    writing.start()
    assert not done.wait(1)
    assert st.open_table(t.location).scan().count() == 0
    with sqlite3.connect(tmp_path / "names.db") as database:
        database.execute("DELETE FROM paimon_distributed_locks")
    writing.join(30)
    assert t.scan().count() == 1
    assert rows_of(tmp_path, "paimon_distributed_locks") == []


def test_a_lock_that_is_held_too_long_ends_the_commit_without_effect(tmp_path):
    names = connect(tmp_path, lock__enabled="true", **{"lock-acquire-timeout": "1 s", "lock-check-max-sleep": "100 ms"})
    names.create_database("shop")
    t = names.create_table("shop.orders", COLUMNS)
    with sqlite3.connect(tmp_path / "names.db") as database:
        lock = ("jdbc.shop.orders", 480)
        database.execute("INSERT INTO paimon_distributed_locks (lock_id, expire_time_seconds) VALUES (?, ?)", lock)
    with pytest.raises(e.CommitRetriesExhausted, match="lock"):
        t.append([{"id": 1}])
    assert t.scan().count() == 0
    assert t.snapshot() is None


def test_the_lock_of_somebody_who_died_expires(tmp_path):
    names = connect(tmp_path, lock__enabled="true")
    names.create_database("shop")
    t = names.create_table("shop.orders", COLUMNS)
    with sqlite3.connect(tmp_path / "names.db") as database:
        taken = "INSERT INTO paimon_distributed_locks VALUES ('jdbc.shop.orders', datetime('now', '-20 seconds'), 10)"
        database.execute(taken)
    t.append([{"id": 1}])
    assert t.scan().count() == 1
    assert rows_of(tmp_path, "paimon_distributed_locks") == []


def test_control_c_ends_the_wait_for_a_lock(tmp_path):
    program = f"""
        import _thread, sqlite3, sys, threading, time
        import siltstone as st
        names = st.connect({str(tmp_path / "lake")!r}, metastore="jdbc", uri="jdbc:sqlite:{tmp_path}/names.db",
                           options={{"lock.enabled": "true"}})
        names.create_database("shop")
        t = names.create_table("shop.orders", {{"id": "BIGINT"}})
        with sqlite3.connect({str(tmp_path / "names.db")!r}) as database:
            database.execute("INSERT INTO paimon_distributed_locks (lock_id, expire_time_seconds) VALUES "
                             "('jdbc.shop.orders', 480)")
        threading.Timer(1, _thread.interrupt_main).start()
        try:
            t.append([{{"id": 1}}])
        except KeyboardInterrupt:
            print("stopped", t.scan().count())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    assert done.stdout == "stopped 0\n", done.stderr


def test_threads_that_commit_under_locks_lose_nothing(tmp_path):
    names = connect(tmp_path, lock__enabled="true", **{"lock-check-max-sleep": "100 ms"})
    names.create_database("shop")
    t = names.create_table("shop.orders", COLUMNS, primary_key=["id"], options={"bucket": "1"})

    def write(number):
        for k in range(5):
            names.table("shop.orders").upsert([{"id": number * 100 + k, "v": "x"}])

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert t.scan().count() == 20
    assert rows_of(tmp_path, "paimon_distributed_locks") == []
    assert t.maintenance.fsck(deep=True).problems == []


def test_catalogs_travel_without_their_secrets(tmp_path):
    names = connect(tmp_path, jdbc__user="me")
    names.create_database("shop")
    assert pickle.loads(pickle.dumps(names)).databases() == ["shop"]
    secret = st.connect(
        tmp_path / "lake",
        metastore="jdbc",
        uri=f"jdbc:sqlite:{tmp_path / 'names.db'}",
        options={"jdbc.password": "very-secret", "catalog-options-table.enabled": "true"},
    )
    assert b"very-secret" not in pickle.dumps(secret)
    assert "very-secret" not in repr(secret)
    shown = secret.table("sys.catalog_options").scan().to_arrow().to_pylist()
    assert "jdbc.password" not in {row["key"] for row in shown}


@pytest.mark.parametrize(
    ("uri", "kind", "text"),
    [
        (None, e.InvalidOption, "'uri' is missing"),
        ("sqlite:/x", e.InvalidOption, "'uri' cannot be used"),
        ("jdbc:oracle:thin:@host", e.InvalidOption, "'uri' cannot be used"),
        ("jdbc:sqlite:/nonexistent/folder/names.db", e.StorageError, "unable to open"),
        ("jdbc:postgresql://me:pa55word@127.0.0.1:1/db?ssl=true", e.InvalidOption, "'ssl'"),
    ],
)
def test_uris_that_cannot_be_used_are_told(tmp_path, uri, kind, text):
    with pytest.raises(kind) as caught:
        st.connect(tmp_path, metastore="jdbc", uri=uri)
    assert text in str(caught.value)
    assert "pa55word" not in str(caught.value)


def test_a_server_that_is_not_there_is_told_soon_and_without_the_password(tmp_path):
    pytest.importorskip("psycopg")
    begun = time.monotonic()
    with pytest.raises(e.StorageError) as caught:
        st.connect(tmp_path, metastore="jdbc", uri="jdbc:postgresql://me:pa55word@127.0.0.1:1/db")
    assert time.monotonic() - begun < 10
    assert "pa55word" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"metastore": "glue"}, e.UnsupportedFeature),
        ({"metastore": "jdbc", "lock.enabled": "maybe"}, e.InvalidOption),
        ({"metastore": "jdbc", "lock.type": "zookeeper"}, e.UnsupportedFeature),
        ({"metastore": "jdbc", "lock-key-max-length": "-3"}, e.InvalidOption),
        ({"metastore": "jdbc", "lock-acquire-timeout": "soon"}, e.SiltstoneError),
        ({"metastore": "jdbc", "table.type": "external"}, e.UnsupportedFeature),
        ({"metastore": "jdbc", "lock.enable": "true"}, e.UnknownOption),
        ({"metastore": "jdbc", "case-sensitive": "true"}, e.UnknownOption),
        ({"metastore": "jdbc", "jdbc.journal_mode": "wal"}, e.InvalidOption),
    ],
)
def test_options_that_cannot_be_honoured_are_refused(tmp_path, options, kind):
    with pytest.raises(kind):
        st.connect(tmp_path, uri=f"jdbc:sqlite:{tmp_path}/names.db", options=options)


def test_an_argument_and_an_option_that_differ_are_refused(tmp_path):
    with pytest.raises(e.InvalidArgument):
        st.connect(tmp_path, metastore="filesystem", options={"metastore": "jdbc"})
