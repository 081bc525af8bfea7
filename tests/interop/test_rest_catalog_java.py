"""The REST catalog on the server of Paimon's own tests, beside Java's RESTCatalog on the same server."""

import contextlib
import http.server
import json
import pickle
import threading
import urllib.error
import urllib.request

import pytest
import siltstone as st
from siltstone import errors as e

pytest.importorskip("urllib3")
pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]

COLUMNS = {"id": "BIGINT", "v": "STRING"}
SPEC = json.dumps(
    {
        "fields": [{"name": "id", "type": "BIGINT NOT NULL"}, {"name": "v", "type": "STRING"}],
        "primary_keys": ["id"],
        "options": {"bucket": "1"},
    }
)
NUMBER = iter(range(1_000_000))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    from rest_server import Server

    with Server(tmp_path_factory.mktemp("rest") / "lake") as started:
        yield started


@pytest.fixture
def ours(server):
    return st.connect("wh", options=server.options())


@pytest.fixture
def db(ours):
    name = f"db{next(NUMBER)}"
    ours.create_database(name, properties={"owner": "me"})
    return name


@pytest.fixture
def java(server, oracle):
    options = json.dumps(server.options(warehouse="wh"))
    return lambda *arguments: oracle.call("catalog", options, *arguments)


def write(java, name, *rows):
    java("apply", name, json.dumps({"op": "write", "rows": [["+I", *row] for row in rows]}))


def make(ours, name, **options):
    options = {"bucket": "1", **{key.replace("_", "-"): value for key, value in options.items()}}
    return ours.create_table(name, COLUMNS, primary_key=["id"], options=options)


def rows(table):
    return table.scan().to_arrow().to_pylist()


def test_each_sees_what_the_other_makes_and_continues_its_tables(ours, java, db):
    assert db in ours.databases()
    assert db in java("databases")
    java("create-table", f"{db}.theirs", SPEC)
    t = make(ours, f"{db}.ours")
    assert t.name == f"{db}.ours"
    assert ours.tables(db) == java("tables", db) == ["ours", "theirs"]
    for name in (f"{db}.ours", f"{db}.theirs"):
        write(java, name, [1, "java"], [2, "java"])
        table = ours.table(name)
        table.upsert([{"id": 2, "v": "ours"}, {"id": 3, "v": "ours"}])
        write(java, name, [3, "java again"])
        expected = [{"id": 1, "v": "java"}, {"id": 2, "v": "ours"}, {"id": 3, "v": "java again"}]
        assert rows(table) == java("read", name) == expected
        assert table.maintenance.fsck(deep=True).problems == []
    t.compact(full=True)
    assert java("read", f"{db}.ours") == expected
    java("drop-table", f"{db}.ours")
    ours.drop_table(f"{db}.theirs")
    assert ours.tables(db) == java("tables", db) == []
    ours.drop_database(db)
    assert db not in java("databases")


def test_what_is_there_or_is_not_is_told_as_everywhere(ours, java, db):
    make(ours, f"{db}.t")
    with pytest.raises(e.DatabaseExists):
        ours.create_database(db)
    with pytest.raises(e.TableExists):
        make(ours, f"{db}.t")
    assert ours.create_table(f"{db}.t", COLUMNS, if_not_exists=True).name == f"{db}.t"
    with pytest.raises(e.TableNotFound, match="did you mean"):
        ours.table(f"{db}.tt")
    with pytest.raises(e.TableNotFound):
        ours.location(f"{db}.u")
    with pytest.raises(e.DatabaseNotFound):
        ours.tables("nowhere")
    with pytest.raises(e.InvalidArgument, match="not empty"):
        ours.drop_database(db)
    with pytest.raises(e.BranchNotFound):
        ours.table(f"{db}.t", branch="b")
    make(ours, f"{db}.u")
    with pytest.raises(e.TableExists):
        ours.rename_table(f"{db}.t", f"{db}.u")
    ours.rename_table(f"{db}.t", f"{db}.w")
    assert ours.tables(db) == java("tables", db) == ["u", "w"]
    ours.drop_database(db, cascade=True)
    assert db not in java("databases")


def test_lists_of_more_than_a_page_are_whole(ours, db):
    for k in range(102):
        make(ours, f"{db}.t{k}")
    assert len(ours.tables(db)) == 102


def test_the_server_changes_schemas(ours, java, db):
    t = make(ours, f"{db}.t")
    t.upsert([{"id": 1, "v": "a"}])
    t.alter().add_column("w", "INT", after="id", comment="more").set_option("snapshot.num-retained.max", "30").commit()
    assert t.schema.names == ["id", "w", "v"]
    write(java, f"{db}.t", [2, 5, "java"])
    expected = [{"id": 1, "w": None, "v": "a"}, {"id": 2, "w": 5, "v": "java"}]
    assert rows(ours.table(f"{db}.t")) == java("read", f"{db}.t") == expected
    assert ours.table(f"{db}.t").options["snapshot.num-retained.max"] == "30"
    # refused by the rules of both, before the server is asked
    with pytest.raises(e.IllegalSchemaChange):
        t.alter().set_option("bucket", "-1").commit()


@contextlib.contextmanager
def before_the_alter(server, others):
    """Options that lead to the server through a proxy, which lets others come before the next change of a table is sent on."""
    left = [others]

    class Proxy(http.server.BaseHTTPRequestHandler):
        def pass_on(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
            if self.command == "POST" and b"setOption" in (body or b"") and left:
                left.pop()()
            headers = {key: value for key, value in self.headers.items() if key.lower() != "host"}
            request = urllib.request.Request(server.url.rstrip("/") + self.path, body, headers, method=self.command)
            try:
                with urllib.request.urlopen(request) as answer:
                    status, said = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                status, said = error.code, error.read()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = do_DELETE = pass_on

        def log_message(self, *_):
            pass

    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        yield {**server.options(), "uri": f"http://127.0.0.1:{proxy.server_port}"}
        assert not left
    finally:
        proxy.shutdown()
        proxy.server_close()


def test_an_alter_of_what_levels_mean_is_set_back_where_others_have_made_several(server, ours, db):
    """The server has no schemas that are pending: the key was there twice."""
    options = {"write_only": "true", "num_levels": "5", "num-sorted-run.compaction-trigger": "2"}
    t = make(ours, f"{db}.t", **options, **{"deletion-vectors.modifiable": "true"})
    t.upsert([{"id": k, "v": "base"} for k in range(3000)])
    t.compact(full=True)

    def two_levels():
        other = ours.table(f"{db}.t")
        for v in ("a", "b"):
            other.upsert([{"id": 1, "v": v}])
        other.compact()
        assert len({f["level"] for f in other.files()}) == 2

    with before_the_alter(server, two_levels) as through, pytest.raises(e.IllegalSchemaChange, match="several levels"):
        st.connect("wh", options=through).table(f"{db}.t").alter().set_option(
            "deletion-vectors.enabled", "true"
        ).commit()
    t = ours.table(f"{db}.t")
    assert "deletion-vectors.enabled" not in t.options
    t.upsert([{"id": 2, "v": "c"}])
    assert t.to_pylist(filter="id = 1") == [{"id": 1, "v": "b"}] and t.count() == 3000
    t.compact(full=True)
    t.alter().set_option("deletion-vectors.enabled", "true").commit()
    assert ours.table(f"{db}.t").to_pylist(filter="id = 1") == [{"id": 1, "v": "b"}]


def test_tags_branches_and_rollback_are_the_servers_too(ours, java, db):
    t = make(ours, f"{db}.t")
    t.upsert([{"id": 1, "v": "a"}])
    t.tags.create("v1")
    t.upsert([{"id": 2, "v": "b"}])
    t.branches.create("fix", tag="v1")
    with pytest.raises(e.BranchExists):
        t.branches.create("fix", tag="v1")
    fix = ours.table(f"{db}.t", branch="fix")
    fix.upsert([{"id": 9, "v": "fixed"}])
    assert java("read", f"{db}.t$branch_fix") == rows(fix) == [{"id": 1, "v": "a"}, {"id": 9, "v": "fixed"}]
    report = t.rollback(tag="v1", dry_run=True)
    assert report.dry_run
    assert java("read", f"{db}.t") == [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}]
    assert t.rollback(version=1).details["current_snapshot"] == 1
    assert java("read", f"{db}.t") == rows(t) == [{"id": 1, "v": "a"}]
    t.upsert([{"id": 3, "v": "c"}])
    assert java("read", f"{db}.t") == rows(t) == [{"id": 1, "v": "a"}, {"id": 3, "v": "c"}]
    t.branches.fast_forward("fix")
    assert java("read", f"{db}.t") == rows(ours.table(f"{db}.t")) == [{"id": 1, "v": "a"}, {"id": 9, "v": "fixed"}]
    t.branches.delete("fix")
    assert t.branches.list() == []
    with pytest.raises(e.UnsupportedFeature, match="snapshot"):
        t.branches.create("other", version="latest")


def test_an_answer_that_is_lost_is_found_out(server, ours, java, db):
    t = make(ours, f"{db}.t")
    t.upsert([{"id": 1, "v": "a"}])
    server.lose_the_next_answer()
    report = t.upsert([{"id": 2, "v": "b"}])
    assert report.snapshot.id == 2
    assert [snapshot.id for snapshot in t.history()] == [2, 1]
    assert java("read", f"{db}.t") == [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}]


def test_both_commit_at_once_and_no_row_is_lost(ours, java, db):
    t = make(ours, f"{db}.t", write_only="true")
    failures = []

    def write_ours():
        try:
            for k in range(8):
                ours.table(f"{db}.t").append([{"id": k, "v": "ours"}])
        except Exception as error:
            failures.append(error)

    writing = threading.Thread(target=write_ours)
    writing.start()
    for k in range(100, 108):
        write(java, f"{db}.t", [k, "java"])
    writing.join()
    assert not failures
    found = rows(t)
    assert [row["id"] for row in found] == [*range(8), *range(100, 108)]
    assert found == java("read", f"{db}.t")


def test_the_server_is_told_what_a_commit_changes_of_each_partition(server, ours, db):
    t = ours.create_table(
        f"{db}.p",
        {"dt": "STRING", "id": "BIGINT"},
        primary_key=["dt", "id"],
        partition_by=["dt"],
        options={"bucket": "1", "metastore.partitioned-table": "true"},
    )
    t.upsert([{"dt": "a", "id": 1}, {"dt": "a", "id": 2}, {"dt": "b", "id": 3}])
    t.upsert([{"dt": "a", "id": 4}])
    asked = urllib.request.Request(
        f"{server.url}v1/paimon/databases/{db}/tables/p/partitions",
        headers={"Authorization": f"Bearer {server.options()['token']}"},
    )
    found = json.load(urllib.request.urlopen(asked))["partitions"]
    sums = {p["spec"]["dt"]: (p["recordCount"], p["fileCount"], p["totalBuckets"]) for p in found}
    assert sums == {"a": (3, 2, 1), "b": (1, 1, 1)}
    [(_, size)] = [(p["spec"]["dt"], p["fileSizeInBytes"]) for p in found if p["spec"]["dt"] == "b"]
    assert size == t.inspect("files").to_arrow().to_pylist()[-1]["file_size_in_bytes"]


def test_views_and_format_tables_are_no_tables(server, ours, java, db):
    def post(what, body):
        asked = urllib.request.Request(
            f"{server.url}v1/paimon/databases/{db}/{what}",
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {server.options()['token']}"},
        )
        urllib.request.urlopen(asked).close()

    fields = [{"id": 0, "name": "id", "type": "BIGINT"}]
    view = {"fields": fields, "query": "SELECT 1", "dialects": {}, "comment": None, "options": {}}
    post("views", {"identifier": {"database": db, "object": "v"}, "schema": view})
    schema = {"fields": fields, "partitionKeys": [], "primaryKeys": [], "comment": None}
    schema["options"] = {"type": "format-table", "file.format": "csv"}
    post("tables", {"identifier": {"database": db, "object": "f"}, "schema": schema})
    make(ours, f"{db}.t")
    with pytest.raises(e.UnsupportedFeature, match="is a view"):
        ours.table(f"{db}.v")
    with pytest.raises(e.UnsupportedFeature, match="is a format table"):
        ours.table(f"{db}.f")
    found = ours.table("sys.tables").scan().to_arrow().to_pylist()
    assert [row["table_name"] for row in found if row["database_name"] == db] == ["t"]


def test_another_process_that_does_not_know_the_server_commits_nothing(server, ours, db):
    import subprocess
    import sys

    t = make(ours, f"{db}.t")
    t.upsert([{"id": 1, "v": "a"}])
    code = (
        "import pickle, sys\n"
        "t = pickle.loads(bytes.fromhex(sys.argv[1]))\n"
        "print(t.scan().count())\n"
        "t.upsert([{'id': 2, 'v': 'b'}])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, pickle.dumps(t).hex()], capture_output=True, text=True, check=False
    )
    assert done.stdout == "1\n"
    assert "UnsupportedFeature" in done.stderr and "connect" in done.stderr
    assert rows(t) == [{"id": 1, "v": "a"}]
