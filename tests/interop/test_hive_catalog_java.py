"""The Hive catalog on a real metastore: names, locks and partitions, and Java's Hive catalog beside ours."""

import concurrent.futures
import contextlib
import datetime as dt
import itertools
import json
import pathlib
import pickle
import signal
import socket
import threading
import time

import hive_server
import java_oracle
import maven_jars
import pytest
import siltstone as st
from siltstone import errors as e

ttypes = pytest.importorskip("pymetastore.hive_metastore.ttypes")
pytestmark = [pytest.mark.java, pytest.mark.xdist_group("hive"), pytest.mark.timeout(900)]

COLUMNS = {"id": "BIGINT", "v": "STRING"}
SPEC = json.dumps(
    {
        "fields": [{"name": "id", "type": "BIGINT NOT NULL"}, {"name": "v", "type": "STRING"}],
        "primary_keys": ["id"],
        "options": {"bucket": "1"},
    }
)
NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with hive_server.server(tmp_path_factory.mktemp("hive")) as uri:
        yield uri


@pytest.fixture(scope="module")
def java_with_hive():
    with java_oracle.open_oracle(java_options=("-Xmx1g",), more_jars=maven_jars.hive_client_class_path()) as opened:
        yield opened


@pytest.fixture
def database():
    """A name of its own for each test: all of them share the metastore."""
    return f"shop{next(NUMBERS)}"


@pytest.fixture
def connected(address, tmp_path):
    """connected(**options): our catalog, in a warehouse of the test."""

    def connect(**options):
        given = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
        return st.connect(tmp_path / "lake", metastore="hive", uri=address, options=given)

    return connect


@pytest.fixture
def ours(connected, database):
    catalog = connected()
    catalog.create_database(database)
    return catalog


class Java:
    """Java's catalog with the same options."""

    def __init__(self, oracle, address, lake, **options):
        given = {"metastore": "hive", "uri": address, "warehouse": str(lake), **options}
        self._oracle, self._options = oracle, json.dumps(given)

    def __call__(self, *arguments):
        return self._oracle.call("catalog", self._options, *arguments)

    def write(self, name, *rows):
        self("apply", name, json.dumps({"op": "write", "rows": [["+I", *row] for row in rows]}))


@pytest.fixture
def java(java_with_hive, address, tmp_path):
    return Java(java_with_hive, address, tmp_path / "lake")


def asked(catalog, method, *arguments):
    """What the metastore itself says."""
    return catalog._metastore._client.call(method, *arguments)


def partitions(catalog, database, table):
    """Names of partitions, and where they are."""
    found = asked(catalog, "get_partitions", database, table, -1)
    place = asked(catalog, "get_table", database, table).sd.location
    return {"/".join(part.values): part.sd.location.removeprefix(place) for part in found}


def kept(table):
    """What the metastore has of a table, but for its name, its place and times."""
    told = {**vars(table), "sd": vars(table.sd), "serde": vars(table.sd.serdeInfo)}
    told["parameters"] = {k: v for k, v in table.parameters.items() if k != "transient_lastDdlTime"}
    told["sd"] = {k: v for k, v in told["sd"].items() if k not in ("location", "serdeInfo")}
    return {k: v for k, v in told.items() if k not in ("tableName", "createTime", "lastAccessTime")}


# ---- with Java


def test_each_sees_what_the_other_makes_renames_and_drops(connected, java, database):
    ours, theirs, mine = connected(), f"{database}_theirs", f"{database}_mine"
    java("create-database", theirs)
    ours.create_database(mine, properties={"owner": "me", "comment": "a shop", "since": "2026"})
    assert {theirs, mine} <= set(ours.databases()) and ours.databases() == java("databases")
    assert ours.database(mine) == java("database", mine)[0]
    assert ours.database(mine) | {"owner": "me", "comment": "a shop", "since": "2026"} == ours.database(mine)
    java("create-table", f"{theirs}.t", SPEC)
    ours.create_table(f"{mine}.t", COLUMNS, primary_key=["id"], options={"bucket": "1"})
    java("rename-table", f"{mine}.t", f"{mine}.t2")
    ours.rename_table(f"{theirs}.t", f"{mine}.t3")
    assert ours.tables(mine) == java("tables", mine) == ["t2", "t3"]
    for name in (f"{mine}.t2", f"{mine}.t3"):
        java.write(name, [1, "java"])
        ours.table(name).upsert([{"id": 2, "v": "ours"}])
        assert ours.table(name).scan().to_arrow().to_pylist() == java("read", name)
    ours.drop_table(f"{mine}.t3")
    java("drop-table", f"{mine}.t2")
    assert ours.tables(mine) == java("tables", mine) == []
    java("drop-database", mine)
    ours.drop_database(theirs)
    assert not {theirs, mine} & set(ours.databases())


def test_what_one_has_the_other_does_not_make(ours, java, database):
    java("create-table", f"{database}.t", SPEC)
    with pytest.raises(e.DatabaseExists):
        ours.create_database(database)
    with pytest.raises(e.TableExists):
        ours.create_table(f"{database}.t", COLUMNS)
    ours.create_table(f"{database}.u", COLUMNS)
    for made in (["create-database", database], ["create-table", f"{database}.u", SPEC]):
        with pytest.raises(RuntimeError, match="AlreadyExist"):
            java(*made)


TYPES = [
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(12, 2)", "DECIMAL(38, 0)"),
    *("CHAR(10)", "CHAR(255)", "CHAR(256)", "VARCHAR(7)", "VARCHAR(65535)", "VARCHAR(65536)", "STRING"),
    *("BINARY(3)", "VARBINARY(3)", "BYTES", "DATE", "TIME(0)", "TIME(3)", "TIMESTAMP(0)", "TIMESTAMP(6)"),
    *("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "VARIANT"),
    {"type": "ARRAY", "element": "TIMESTAMP(3) WITH LOCAL TIME ZONE"},
    {"type": "MAP", "key": "STRING NOT NULL", "value": {"type": "ARRAY NOT NULL", "element": "DECIMAL(5, 1)"}},
    {"type": "MULTISET", "element": "VARCHAR(9)"},
    {"type": "ROW", "fields": [{"id": 90, "name": "Aa", "type": "INT"}, {"id": 91, "name": "b c", "type": "VARIANT"}]},
]


@pytest.mark.parametrize("has_partitions", ["true", "false"])
@pytest.mark.parametrize("copies", ["true", "false"])
def test_the_metastore_has_of_our_table_what_it_has_of_javas(
    connected, java_with_hive, address, tmp_path, database, has_partitions, copies
):
    catalog = connected(sync_all_properties=copies)
    java = Java(java_with_hive, address, tmp_path / "lake", **{"sync-all-properties": copies})
    catalog.create_database(database)
    fields = [{"id": n, "name": f"c{n}", "type": kind} for n, kind in enumerate(TYPES)]
    fields += [
        {"id": 50, "name": "dt", "type": "DATE NOT NULL"},
        {"id": 51, "name": "k", "type": "STRING NOT NULL"},
    ]
    options = {"bucket": "2", "metastore.partitioned-table": has_partitions, "partition.expiration-time": "9 d"}
    keys, by, comment = ["k", "dt", "c4"], ["dt", "k"], "orders of the shop"
    fields[4]["type"] += " NOT NULL"
    spec = {"fields": fields, "primary_keys": keys, "partition_keys": by, "options": options, "comment": comment}
    java("create-table", f"{database}.theirs", json.dumps(spec))
    catalog.create_table(
        f"{database}.mine", fields, primary_key=keys, partition_by=by, options=options, comment=comment
    )
    theirs, mine = (asked(catalog, "get_table", database, name) for name in ("theirs", "mine"))
    assert kept(mine) == kept(theirs)
    assert mine.sd.location.removesuffix("mine") == theirs.sd.location.removesuffix("theirs")
    assert catalog.table(f"{database}.theirs").schema == catalog.table(f"{database}.mine").schema
    assert [p.name for p in mine.partitionKeys] == (by if has_partitions == "true" else [])


def test_partitions_come_and_go_as_javas_do(ours, java, database):
    spec = json.dumps(
        {
            "fields": [
                {"name": "dt", "type": "DATE"},
                {"name": "k", "type": "STRING"},
                {"name": "id", "type": "BIGINT"},
            ],
            "partition_keys": ["dt", "k"],
            "options": {"bucket": "-1", "metastore.partitioned-table": "true"},
        }
    )
    rows = [("2026-01-01", "a/b=c d", 1), ("2026-01-02", None, 2), ("2026-01-02", "ü%", 3)]
    for name in ("theirs", "mine"):
        java("create-table", f"{database}.{name}", spec)
    java.write(f"{database}.theirs", *rows)
    mine = ours.table(f"{database}.mine")
    mine.append([{"dt": dt.date.fromisoformat(day), "k": k, "id": n} for day, k, n in rows])
    assert partitions(ours, database, "mine") == partitions(ours, database, "theirs")
    assert len(partitions(ours, database, "mine")) == 3
    # one that is committed by Java, and one whose rows we delete
    java.write(f"{database}.mine", ["2026-01-03", "x", 4])
    mine.truncate({"dt": "2026-01-02"})
    assert partitions(ours, database, "mine").keys() == {"20454/a/b=c d", "20456/x"}
    ours.rename_table(f"{database}.mine", f"{database}.moved")
    assert partitions(ours, database, "moved")["20456/x"] == "/dt=20456/k=x"
    assert ours.table(f"{database}.moved").scan().count() == java("read", f"{database}.moved").__len__() == 2


def test_both_commit_at_once_under_the_lock_and_no_row_is_lost(connected, java_with_hive, address, tmp_path, database):
    ours = connected(lock__enabled="true", lock_check_max_sleep="200 ms")
    java = Java(
        java_with_hive, address, tmp_path / "lake", **{"lock.enabled": "true", "lock-check-max-sleep": "200 ms"}
    )
    ours.create_database(database)
    name, count = f"{database}.t", 6
    t = ours.create_table(name, COLUMNS, primary_key=["id"], options={"bucket": "1", "write-only": "true"})
    failures = []

    def write_ours():
        try:
            for k in range(count):
                ours.table(name).append([{"id": k, "v": "ours"}])
        except Exception as error:
            failures.append(error)

    writing = threading.Thread(target=write_ours)
    writing.start()
    for k in range(100, 100 + count):
        java.write(name, [k, "java"])
    writing.join()
    assert not failures
    rows = t.scan().to_arrow().to_pylist()
    assert [row["id"] for row in rows] == [*range(count), *range(100, 100 + count)]
    assert rows == java("read", name)
    assert t.maintenance.fsck(deep=True).problems == []


def test_locations_may_be_kept_as_properties(connected, java_with_hive, address, tmp_path, database):
    ours = connected(location_in_properties="true")
    java = Java(java_with_hive, address, tmp_path / "lake", **{"location-in-properties": "true"})
    ours.create_database(database)
    ours.create_table(f"{database}.mine", COLUMNS, primary_key=["id"], options={"bucket": "1"})
    java("create-table", f"{database}.theirs", SPEC)
    for name in ("mine", "theirs"):
        java.write(f"{database}.{name}", [1, "java"])
        ours.table(f"{database}.{name}").upsert([{"id": 2, "v": "ours"}])
        assert ours.table(f"{database}.{name}").scan().to_arrow().to_pylist() == java("read", f"{database}.{name}")
        told = asked(ours, "get_table", database, name).parameters
        assert told["paimon_location"] == f"{tmp_path}/lake/{database}.db/{name}"
    ours.rename_table(f"{database}.mine", f"{database}.moved")
    assert java("read", f"{database}.moved") == ours.table(f"{database}.moved").scan().to_pylist()
    # Java's rename leaves such a table where it is
    java("rename-table", f"{database}.theirs", f"{database}.there")
    with pytest.raises(
        e.UnsupportedFeature, match=f"in {tmp_path}/lake/{database}.db/theirs, and this catalog has it in"
    ):
        ours.table(f"{database}.there")


# ---- the metastore


def test_a_changed_schema_is_copied(ours, database):
    t = ours.create_table(f"{database}.t", COLUMNS, options={"snapshot.num-retained.max": "20", "write-only": "true"})
    t.alter().add_column("n", "INT", comment="how many").remove_option("write-only").commit()
    t.alter().set_option("snapshot.num-retained.max", "30").commit()
    found = asked(ours, "get_table", database, "t")
    assert [(c.name, c.type, c.comment) for c in found.sd.cols][2:] == [("n", "int", "how many")]
    assert found.parameters["snapshot.num-retained.max"] == "30"
    assert "write-only" not in found.parameters


def test_columns_that_the_metastore_refuses_are_changed_all_the_same(ours, database, caplog):
    """A metastore compares columns by their places, and so refuses that one in the middle goes."""
    t = ours.create_table(f"{database}.t", {"v": "STRING", "id": "BIGINT"})
    t.alter().drop_column("v").commit()
    assert ours.table(f"{database}.t").schema.names == ["id"]
    assert [column.name for column in asked(ours, "get_table", database, "t").sd.cols] == ["v", "id"]
    assert "the catalog's copy of the table's options was not changed" in caplog.text
    ours.table(f"{database}.t").append([{"id": 1}])


def hive_table(ours, database, name, **changes):
    """Something that a program of Hive's own makes."""
    descriptor = ttypes.StorageDescriptor(
        cols=[ttypes.FieldSchema("id", "bigint", None)],
        inputFormat="org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
        outputFormat="org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
        serdeInfo=ttypes.SerDeInfo(serializationLib="org.apache.hadoop.hive.ql.io.orc.OrcSerde", parameters={}),
    )
    made = ttypes.Table(name, database, "hive", sd=descriptor, partitionKeys=[], parameters={}, **changes)
    asked(ours, "create_table", made)


def test_views_and_tables_of_hive_are_no_tables(ours, database):
    hive_table(ours, database, "v", tableType="VIRTUAL_VIEW", viewOriginalText="select 1", viewExpandedText="select 1")
    hive_table(ours, database, "o", tableType="MANAGED_TABLE")
    ours.create_table(f"{database}.t", COLUMNS)
    assert ours.tables(database) == ["t"]
    for name, what in (("v", "is a view"), ("o", "is a Hive table of another format .OrcInputFormat.")):
        with pytest.raises(e.UnsupportedFeature, match=what):
            ours.table(f"{database}.{name}")
        with pytest.raises(e.TableExists):
            ours.create_table(f"{database}.{name}", COLUMNS)
        with pytest.raises(e.TableExists):
            ours.rename_table(f"{database}.t", f"{database}.{name}")
        with pytest.raises(e.TableNotFound):
            ours.drop_table(f"{database}.{name}")
    with pytest.raises(e.InvalidArgument, match="does not drop with it: o, v"):
        ours.drop_database(database, cascade=True)
    assert ours.tables(database) == ["t"]
    ours.drop_table(f"{database}.t")
    with pytest.raises(e.InvalidArgument, match="o, v"):
        ours.drop_database(database)
    assert sorted(asked(ours, "get_all_tables", database)) == ["o", "v"]


def test_the_files_of_an_external_table_stay(ours, java, database, tmp_path):
    t = ours.create_table(f"{database}.t", COLUMNS)
    t.append([{"id": 1, "v": "a"}])
    found = asked(ours, "get_table", database, "t")
    found.tableType, found.parameters["EXTERNAL"] = "EXTERNAL_TABLE", "TRUE"
    asked(ours, "alter_table", database, "t", found)
    ours.table(f"{database}.t").append([{"id": 2, "v": "b"}])
    with pytest.raises(e.UnsupportedFeature, match="external table"):
        ours.rename_table(f"{database}.t", f"{database}.u")
    with pytest.raises(e.InvalidArgument, match="external tables"):
        ours.drop_database(database, cascade=True)
    ours.drop_table(f"{database}.t")
    assert ours.tables(database) == []
    assert st.open_table(tmp_path / "lake" / f"{database}.db" / "t").scan().count() == 2


def test_tables_elsewhere_are_not_taken_for_those_of_the_warehouse(ours, connected, address, database, tmp_path):
    other = st.connect(tmp_path / "other", metastore="hive", uri=address)
    other.create_database(f"{database}_other")
    other.create_table(f"{database}_other.t", COLUMNS)
    assert ours.tables(f"{database}_other") == ["t"]
    for refused in (ours.table, ours.drop_table, lambda name: ours.create_table(name, COLUMNS)):
        with pytest.raises(e.UnsupportedFeature, match="this catalog (has it|would have it)"):
            refused(f"{database}_other.t")
    with pytest.raises(e.InvalidArgument, match="or elsewhere"):
        ours.drop_database(f"{database}_other", cascade=True)
    with pytest.raises(e.UnsupportedFeature, match="cannot be made elsewhere"):
        ours.create_database(f"{database}_x", properties={"location": str(tmp_path / "x")})
    assert other.table(f"{database}_other.t").scan().count() == 0


def test_names_and_options_that_hive_has_no_place_for_are_refused(ours, database, tmp_path):
    for refused in (
        lambda: ours.create_database("Shop"),
        lambda: ours.create_table(f"{database}.Orders", COLUMNS),
    ):
        with pytest.raises(e.InvalidArgument, match="upper-case letters"):
            refused()
    with pytest.raises(e.UnsupportedFeature, match="tags do not become partitions"):
        ours.create_table(f"{database}.t", COLUMNS, options={"metastore.tag-to-partition": "dt"})
    assert ours.tables(database) == [] and not (tmp_path / "lake" / f"{database}.db" / "t").exists()
    ours.create_table(f"{database}.orders", COLUMNS)
    with pytest.raises(e.TableNotFound, match="orders"):
        ours.table(f"{database}.Orders")
    with pytest.raises(e.InvalidArgument, match="upper-case letters"):
        ours.rename_table(f"{database}.orders", f"{database}.Orders")
    with pytest.raises(e.DatabaseNotFound):
        ours.tables(database.upper())
    with pytest.raises(e.DatabaseNotFound):
        ours.create_table("nothing.t", COLUMNS)


def test_properties_of_a_database_change(ours, database, tmp_path):
    ours.alter_database(database, properties={"owner": "you", "since": "2026", "comment": "a shop", "for": "all"})
    ours.alter_database(database, properties={"since": "2025"}, remove=["for", "none"])
    about = {"owner": "you", "since": "2025", "comment": "a shop"}
    place = {"location": f"file:{tmp_path}/lake/{database}.db"}
    assert ours.database(database) == about | place
    ours.alter_database(database, properties={"comment": "shops"}, remove=["owner", "comment"])
    assert ours.database(database) == {"since": "2025", "comment": "shops"} | place
    with pytest.raises(e.UnsupportedFeature, match="never removes it"):
        ours.alter_database(database, remove=["comment"])
    with pytest.raises(e.UnsupportedFeature, match="location"):
        ours.alter_database(database, properties={"location": "/elsewhere"})


def test_properties_of_a_database_that_several_change_at_once_are_all_there(connected, ours, database):
    """The metastore takes all properties at once: each change wrote back what it had read of the others'."""

    def work(i):
        catalog = connected(lock_check_max_sleep="100 ms")
        for n in range(5):
            catalog.alter_database(database, properties={f"p{i}": str(n)})

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    found = ours.database(database)
    assert {key: found.get(key) for key in ("p0", "p1", "p2")} == {"p0": "4", "p1": "4", "p2": "4"}


def test_a_branch_keeps_the_partitions_that_it_has(ours, database):
    t = ours.create_table(
        f"{database}.t",
        {"dt": "STRING", "id": "INT"},
        partition_by="dt",
        options={"metastore.partitioned-table": "true"},
    )
    t.append([{"dt": "a", "id": 1}, {"dt": "b", "id": 2}])
    t.tags.create("v1")
    t.branches.create("dev", tag="v1")
    dev = ours.table(f"{database}.t$branch_dev")
    dev.append([{"dt": "c", "id": 3}])
    dev.truncate({"dt": "a"})
    t.truncate({"dt": "a"})
    t.truncate({"dt": "b"})
    assert partitions(ours, database, "t").keys() == {"b", "c"}
    # the metastore has deleted no files of partitions that went
    assert t.scan(tag="v1").count() == 2


class Proxy:
    """Passes connections on until it is told to cut them: all that there are, and the answer to the next request."""

    def __init__(self, address):
        host, _, port = address.removeprefix("thrift://").partition(":")
        self._to, self._ends, self._cuts_answer = (host, int(port)), [], False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"thrift://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near = self._listening.accept()[0]
                far = socket.create_connection(self._to)
                self._ends += [near, far]
                for one, other, is_answer in ((near, far, False), (far, near, True)):
                    threading.Thread(target=self._pass, args=(one, other, is_answer), daemon=True).start()

    def _pass(self, one, other, is_answer):
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                if is_answer and self._cuts_answer:
                    self._cuts_answer = False
                    break
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self):
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut_the_next_answer(self):
        self._cuts_answer = True

    def close(self):
        self.cut()
        for end in [self._listening, *self._ends]:
            end.close()


def test_a_broken_connection_is_opened_again_and_a_lost_answer_is_said(address, database, tmp_path):
    with contextlib.closing(Proxy(address)) as proxy:
        catalog = st.connect(tmp_path / "lake", metastore="hive", uri=proxy.address)
        catalog.create_database(database)
        proxy.cut()
        catalog.create_table(f"{database}.t", COLUMNS)
        # what only looks is asked again
        proxy.cut_the_next_answer()
        assert catalog.tables(database) == ["t"]
        proxy.cut_the_next_answer()
        with pytest.raises(e.StorageError, match="broke in 'create_database'.*") as lost:
            catalog._metastore.create_database(f"{database}_lost", {})
        assert "may be done or not" in lost.value.hint
        assert f"{database}_lost" in catalog.databases()


def test_threads_and_pickles_have_connections_of_their_own(ours, database):
    t = ours.create_table(f"{database}.t", COLUMNS, primary_key=["id"], options={"bucket": "1"})
    again = pickle.loads(pickle.dumps(ours))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: again.table(f"{database}.t").append([{"id": n, "v": str(n)}]), range(8)))
    assert t.scan().count() == 8


# ---- locks


def lock_of(catalog, database, table):
    """The number of a lock that another program has."""
    what = ttypes.LockComponent(ttypes.LockType.EXCLUSIVE, ttypes.LockLevel.TABLE, database, table, operationType=None)
    answer = asked(catalog, "lock", ttypes.LockRequest([what], user="somebody", hostname="elsewhere"))
    assert answer.state == ttypes.LockState.ACQUIRED
    return answer.lockid


@contextlib.contextmanager
def held_lock(catalog, database, table):
    """A lock that another program has and keeps, until the block or the program ends it."""
    number = lock_of(catalog, database, table)
    ended = threading.Event()

    def keep():
        with contextlib.suppress(e.StorageError):  # it was given back
            while not ended.wait(1):
                asked(catalog, "heartbeat", ttypes.HeartbeatRequest(lockid=number))

    keeping = threading.Thread(target=keep)
    keeping.start()
    try:
        yield number
    finally:
        ended.set()
        keeping.join()


def test_a_commit_waits_for_the_lock_of_its_table(connected, database):
    catalog = connected(lock__enabled="true", lock_acquire_timeout="1 s", lock_check_max_sleep="100 ms")
    catalog.create_database(database)
    t, other = (catalog.create_table(f"{database}.{name}", COLUMNS) for name in ("t", "other"))
    with held_lock(catalog, database, "t") as number:
        with pytest.raises(e.CommitRetriesExhausted, match="held the catalog's lock"):
            t.append([{"id": 1, "v": "a"}])
        other.append([{"id": 1, "v": "a"}])
        # who gave up is not in the queue any more
        waiting = asked(catalog, "show_locks", ttypes.ShowLocksRequest(database, "t")).locks
        assert [lock.lockid for lock in waiting] == [number]
    asked(catalog, "unlock", ttypes.UnlockRequest(number))
    t.append([{"id": 2, "v": "b"}])
    assert t.scan(["id"]).to_pylist() == [{"id": 2}]
    assert asked(catalog, "show_locks", ttypes.ShowLocksRequest(database, "t")).locks == []


def test_ctrl_c_ends_the_wait_for_a_lock_and_leaves_its_queue(connected, database, monkeypatch):
    catalog = connected(lock__enabled="true")
    catalog.create_database(database)
    t = catalog.create_table(f"{database}.t", COLUMNS)

    class Pressed:
        monotonic = time.monotonic

        def sleep(_seconds):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("siltstone.catalog.hive_locks.time", Pressed)
    with held_lock(catalog, database, "t") as number:
        with pytest.raises(KeyboardInterrupt):
            t.append([{"id": 1, "v": "a"}])
        left = asked(catalog, "show_locks", ttypes.ShowLocksRequest(database, "t")).locks
        assert [lock.lockid for lock in left] == [number]
    assert t.scan().count() == 0


def test_the_lock_of_a_dead_holder_is_free_after_the_metastores_time(connected, database):
    catalog = connected(lock__enabled="true", lock_acquire_timeout="4 min", lock_check_max_sleep="200 ms")
    catalog.create_database(database)
    t = catalog.create_table(f"{database}.t", COLUMNS)
    begun = time.monotonic()
    lock_of(catalog, database, "t")
    t.append([{"id": 1, "v": "a"}])
    assert time.monotonic() - begun >= hive_server.LOCK_SECONDS - 1
    assert t.scan().count() == 1


def test_hive_site_says_where_the_metastore_is(address, tmp_path, monkeypatch):
    site = (
        f"<configuration><property><name>hive.metastore.uris</name><value>{address}</value></property></configuration>"
    )
    pathlib.Path(tmp_path, "hive-site.xml").write_text(site)
    given = st.connect(tmp_path / "lake", metastore="hive", options={"hive-conf-dir": str(tmp_path)})
    assert "default" in given.databases()
    monkeypatch.setenv("HIVE_CONF_DIR", str(tmp_path))
    assert "default" in st.connect(tmp_path / "lake", metastore="hive").databases()
    later = f"thrift://127.0.0.1:1,{address}"
    assert "default" in st.connect(tmp_path / "lake", metastore="hive", uri=later).databases()
